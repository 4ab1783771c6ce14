//! A plan that an agent proposes: what its answer must hold, and the task files that it becomes. What is wrong
//! with it is said in words that the agent can act on.

use serde::Deserialize;
use serde_json::Value;
use windlass_core::id::TaskId;
use windlass_core::task::task_slug;

use crate::front_matter::FrontMatter;

/// More tasks than these in one answer are not one plan that a person can read.
pub const MOST_PROPOSED: usize = 100;
const LONGEST_TEXT: usize = 64 * 1024;
const LONGEST_LINE: usize = 1_000;
const LONGEST_ID: usize = 60;
const MOST_ITEMS: usize = 50;

/// An answer whose parts are well formed. Whether its tasks make a plan, reading their files shows.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanProposal {
    #[serde(rename = "nonce")]
    _nonce: Option<String>,
    pub title: String,
    pub spec: String,
    pub plan: String,
    pub tasks: Vec<ProposedTask>,
    #[serde(default)]
    pub checks: Vec<ProposedCheck>,
    #[serde(default)]
    pub protect: Vec<String>,
    /// Tasks of the plan so far that are to go.
    #[serde(default)]
    pub drop: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProposedTask {
    pub id: String,
    pub title: String,
    pub text: String,
    #[serde(default)]
    pub depends_on: Vec<String>,
    #[serde(default)]
    pub acceptance: Vec<String>,
    #[serde(default)]
    pub allow: Vec<String>,
    #[serde(default)]
    pub checks: Vec<String>,
    #[serde(default)]
    pub mode: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProposedCheck {
    pub name: String,
    pub run: String,
}

impl PlanProposal {
    /// Everything that is wrong, so that one more answer can mend it.
    pub fn read(answer: &Value) -> Result<Self, Vec<String>> {
        let read: Self = Self::deserialize(answer).map_err(|error| {
            vec![format!("the answer does not have the form that was asked for: {error}")]
        })?;
        let mut problems = Vec::new();
        read.find_problems(&mut problems);
        if problems.is_empty() { Ok(read) } else { Err(problems) }
    }

    fn find_problems(&self, problems: &mut Vec<String>) {
        line("`title`", &self.title, problems);
        for (what, text) in [("`spec`", &self.spec), ("`plan`", &self.plan)] {
            body(what, text, problems);
        }
        if self.tasks.is_empty() && self.drop.is_empty() {
            problems.push("there is no task".to_owned());
        }
        if self.tasks.len() > MOST_PROPOSED {
            problems.push(format!(
                "{} tasks are more than the {MOST_PROPOSED} that one answer may have",
                self.tasks.len()
            ));
        }
        for (at, task) in self.tasks.iter().enumerate() {
            task.find_problems(problems);
            if self.tasks[..at].iter().any(|other| other.id == task.id) {
                problems.push(format!("two tasks have the id {:?}", task.id));
            }
        }
        for (at, check) in self.checks.iter().enumerate() {
            let what = format!("check {:?}", check.name);
            name(&what, &check.name, problems);
            line(&format!("`run` of {what}"), &check.run, problems);
            if self.checks[..at].iter().any(|other| other.name == check.name) {
                problems.push(format!("two checks have the name {:?}", check.name));
            }
        }
        items("`protect`", &self.protect, problems);
        items("`drop`", &self.drop, problems);
    }
}

impl ProposedTask {
    fn find_problems(&self, problems: &mut Vec<String>) {
        let what = format!("task {:?}", self.id);
        name(&what, &self.id, problems);
        line(&format!("`title` of {what}"), &self.title, problems);
        body(&format!("`text` of {what}"), &self.text, problems);
        for (key, listed) in [
            ("depends_on", &self.depends_on),
            ("acceptance", &self.acceptance),
            ("allow", &self.allow),
            ("checks", &self.checks),
        ] {
            items(&format!("`{key}` of {what}"), listed, problems);
        }
        if self.acceptance.is_empty() {
            problems.push(format!("{what} has no acceptance: nobody could say when it is done"));
        }
    }

    pub fn file_name(&self) -> String {
        format!("{}.md", self.id)
    }

    pub fn task_id(&self) -> TaskId {
        TaskId::new(&*self.id)
    }

    /// The task file. What only an operator writes there stays as it was in `before`.
    pub fn render(&self, before: Option<&FrontMatter>) -> String {
        let mut text = String::from("---\n");
        let mut put = |key: &str, value: String| text.push_str(&format!("{key}: {value}\n"));
        put("title", quoted(&self.title));
        for (key, listed) in
            [("depends_on", &self.depends_on), ("allow", &self.allow), ("checks", &self.checks)]
        {
            if !listed.is_empty() {
                put(key, list(listed));
            }
        }
        if let Some(mode) = self.mode.as_deref().filter(|mode| *mode != "implement" && !mode.is_empty()) {
            put("mode", quoted(mode));
        }
        if let Some(before) = before {
            if before.priority != 0 {
                put("priority", before.priority.to_string());
            }
            if let Some(scope) = before.scope.as_yaml() {
                put("scope", scope);
            }
        }
        text.push_str("acceptance:\n");
        for item in &self.acceptance {
            let check = before.and_then(|before| {
                before.acceptance.iter().find(|known| known.text == *item)?.check.as_ref()
            });
            text.push_str(&match check {
                Some(check) => format!("  - text: {}\n    check: {}\n", quoted(item), quoted(&check.value)),
                None => format!("  - {}\n", quoted(item)),
            });
        }
        text.push_str(&format!("---\n\n{}\n", self.text.trim()));
        text
    }
}

/// The words of a title as the name of a file.
pub fn file_words(title: &str) -> String {
    task_slug(title).map_or_else(|| "plan".to_owned(), |id| id.to_string())
}

/// A text of JSON is one of YAML too, but for the characters that YAML takes for unprintable.
pub(crate) fn quoted(text: &str) -> String {
    let mut written = String::new();
    for c in Value::String(text.to_owned()).to_string().chars() {
        match c {
            '\u{7f}'..='\u{9f}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                written.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            _ => written.push(c),
        }
    }
    written
}

fn list(items: &[String]) -> String {
    let items: Vec<String> = items.iter().map(|item| quoted(item)).collect();
    format!("[{}]", items.join(", "))
}

/// It names a file, and is typed by people.
fn name(what: &str, name: &str, problems: &mut Vec<String>) {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    let starts = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    if !starts || !name.chars().all(is_plain) || name.len() > LONGEST_ID {
        problems.push(format!(
            "{what}: a name has a-z, 0-9, hyphens and underscores, at most {LONGEST_ID}, and starts with a letter or digit"
        ));
    }
}

fn line(what: &str, text: &str, problems: &mut Vec<String>) {
    if text.trim().is_empty() {
        problems.push(format!("{what} is empty"));
    } else if text.contains(char::is_control) || text.len() > LONGEST_LINE {
        problems.push(format!("{what} is not one line of at most {LONGEST_LINE} bytes"));
    }
}

fn body(what: &str, text: &str, problems: &mut Vec<String>) {
    let is_foreign = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if text.trim().is_empty() {
        problems.push(format!("{what} is empty"));
    } else if text.len() > LONGEST_TEXT {
        problems.push(format!("{what} is longer than {} KiB", LONGEST_TEXT / 1024));
    } else if text.contains(is_foreign) {
        problems.push(format!("{what} has control characters in it"));
    }
}

fn items(what: &str, listed: &[String], problems: &mut Vec<String>) {
    if listed.len() > MOST_ITEMS {
        problems.push(format!("{what} has more than {MOST_ITEMS} items"));
    }
    for item in listed.iter().take(MOST_ITEMS) {
        line(&format!("an item of {what}"), item, problems);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::front_matter::read_front_matter;

    fn answer() -> Value {
        json!({
            "nonce": "n", "title": "Dates", "spec": "What dates are.", "plan": "First parse.",
            "tasks": [{
                "id": "001-parse", "title": "Parse: \"dates\" & *more*", "text": "# Do it\n\nWell.",
                "depends_on": [], "acceptance": ["`1d` is: a day", "- no dash"], "allow": ["tests/*.py"],
                "checks": [], "mode": null,
            }],
            "checks": [{"name": "dates", "run": "sh dates.sh"}], "protect": [],
        })
    }

    #[test]
    fn a_task_file_says_what_was_proposed() {
        let read = PlanProposal::read(&answer()).unwrap();
        let text = read.tasks[0].render(None);
        let front = read_front_matter(&text).unwrap();
        assert_eq!(front.title.as_deref(), Some("Parse: \"dates\" & *more*"));
        let acceptance: Vec<&str> = front.acceptance.iter().map(|of| of.text.as_str()).collect();
        assert_eq!(acceptance, ["`1d` is: a day", "- no dash"]);
        assert_eq!(front.allow[0].value, "tests/*.py");
        assert!(text.ends_with("---\n\n# Do it\n\nWell.\n"), "{text}");
    }

    #[test]
    fn what_only_the_operator_writes_is_kept() {
        let before = "---\npriority: 3\nscope:\n  files_changed: 2\n  within: [src/**]\nacceptance:\n  - text: \"`1d` is: a day\"\n    check: sh day.sh\n---\nold\n";
        let before = read_front_matter(before).unwrap();
        let text = PlanProposal::read(&answer()).unwrap().tasks[0].render(Some(&before));
        let front = read_front_matter(&text).unwrap();
        assert_eq!(front.priority, 3);
        assert_eq!(front.scope.files_changed.as_ref().map(|of| of.value), Some(2));
        assert_eq!(front.scope.within[0].value, "src/**");
        assert_eq!(front.acceptance[0].check.as_ref().map(|of| of.value.as_str()), Some("sh day.sh"));
        assert_eq!(front.acceptance[1].check, None);
    }

    #[test]
    fn every_problem_is_told() {
        let mut bad = answer();
        bad["title"] = "".into();
        bad["tasks"][0]["id"] = "../x".into();
        bad["tasks"][0]["acceptance"] = json!([]);
        bad["checks"][0]["run"] = "a\nb".into();
        let problems = PlanProposal::read(&bad).unwrap_err();
        assert_eq!(problems.len(), 4, "{problems:#?}");
        let mut other = answer();
        other["tasks"][0]["id"] = Value::Null;
        assert_eq!(PlanProposal::read(&other).unwrap_err().len(), 1);
        let mut more = answer();
        more["windlass"] = "yes".into();
        assert!(PlanProposal::read(&more).is_err());
    }

    #[test]
    fn the_same_id_twice_is_a_problem() {
        let mut twice = answer();
        let task = twice["tasks"][0].clone();
        twice["tasks"].as_array_mut().unwrap().push(task);
        assert_eq!(PlanProposal::read(&twice).unwrap_err(), ["two tasks have the id \"001-parse\""]);
    }
}
