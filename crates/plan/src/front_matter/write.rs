//! The text of a task file that says something else than before. Only the lines of the keys that change are
//! others; what cannot be changed line by line is refused.

use windlass_core::scope::OwnScope;
use windlass_core::task::{Task, TaskMode};

use super::Block;
use crate::place::LineIndex;
use crate::yaml::{Shape, YamlSource};

/// A value as front matter has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrontValue {
    Text(String),
    Number(i64),
    List(Vec<String>),
}

/// Why the keys of a text cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its front matter does not have a line for each key")]
pub struct UnwritableFrontMatter;

/// The same text with these keys; a text without front matter gets one.
pub fn with_keys(text: &str, keys: &[(&str, FrontValue)]) -> Result<String, UnwritableFrontMatter> {
    let (mark, text) = match text.strip_prefix('\u{feff}') {
        Some(rest) => ("\u{feff}", rest),
        None => ("", text),
    };
    let end_of_line = if text.split_inclusive('\n').next().is_some_and(|line| line.ends_with("\r\n")) {
        "\r\n"
    } else {
        "\n"
    };
    let line = |(key, value): &(&str, FrontValue)| format!("{key}: {}{end_of_line}", shown(value));
    let Some(block) = Block::of(text).map_err(|_| UnwritableFrontMatter)? else {
        let lines: String = keys.iter().map(line).collect();
        let gap = if text.starts_with(['\n', '\r']) { "" } else { end_of_line };
        return Ok(format!("{mark}---{end_of_line}{lines}---{end_of_line}{gap}{text}"));
    };
    let mut front = text[block.start..block.end].to_owned();
    for set in keys {
        front = with_line(&front, set.0, &line(set))?;
    }
    Ok(format!("{mark}{}{front}{}", &text[..block.start], &text[block.end..]))
}

/// `front` is what stands between the `---` lines.
fn with_line(front: &str, key: &str, line: &str) -> Result<String, UnwritableFrontMatter> {
    let index = LineIndex::new(front);
    let source = YamlSource { text: front, start: 0, end: front.len(), index: &index };
    let entries = match source.read().map_err(|_| UnwritableFrontMatter)?.shape {
        Shape::Map(entries) => entries,
        Shape::Nothing => Vec::new(),
        Shape::Plain(_) | Shape::Quoted(_) | Shape::List(_) => return Err(UnwritableFrontMatter),
    };
    let lines: Vec<usize> = entries.iter().map(|(key, _)| key.line).collect();
    let has_own_line = entries.iter().all(|(key, _)| key.column == 1) && lines.is_sorted_by(|a, b| a < b);
    if !has_own_line {
        return Err(UnwritableFrontMatter);
    }
    let Some(at) = entries.iter().position(|(known, _)| known.value == key) else {
        return Ok(format!("{front}{line}"));
    };
    let start = index.line_start(lines[at]);
    let next = lines.get(at + 1).map_or(front.len(), |next| index.line_start(*next));
    let end = start + said(&front[start..next]);
    Ok(format!("{}{line}{}", &front[..start], &front[end..]))
}

/// How much of these lines is the value: comments and blank lines at their end belong to what follows.
fn said(lines: &str) -> usize {
    let mut end = 0;
    let mut at = 0;
    for line in lines.split_inclusive('\n') {
        at += line.len();
        let is_comment = line.trim_start().starts_with('#');
        if !line.trim().is_empty() && !is_comment {
            end = at;
        }
    }
    end
}

/// A whole task file: front matter for what the body does not say.
pub fn task_text(task: &Task, body: &str) -> String {
    let mut lines = String::new();
    let mut key = |name: &str, value: FrontValue| {
        lines.push_str(&format!("{name}: {}\n", shown(&value)));
    };
    let own_title = crate::task_of_text(&task.id, body).map(|read| read.title);
    if own_title.as_ref() != Some(&task.title) {
        key("title", FrontValue::Text(task.title.clone()));
    }
    let names = |ids: &[windlass_core::id::TaskId]| ids.iter().map(ToString::to_string).collect();
    if !task.depends_on.is_empty() {
        key("depends_on", FrontValue::List(names(&task.depends_on)));
    }
    if task.priority != 0 {
        key("priority", FrontValue::Number(task.priority));
    }
    for (name, list) in [("allow", &task.allow), ("checks", &task.checks)] {
        if !list.is_empty() {
            key(name, FrontValue::List(list.clone()));
        }
    }
    if task.mode != TaskMode::Implement {
        key("mode", FrontValue::Text(task.mode.name().to_owned()));
    }
    lines.push_str(&scope_lines(&task.scope));
    lines.push_str(&acceptance_lines(task));
    let body = body.trim();
    if lines.is_empty() { format!("{body}\n") } else { format!("---\n{lines}---\n\n{body}\n") }
}

fn scope_lines(scope: &OwnScope) -> String {
    let limit = |name: &str, limit: Option<u64>| limit.map(|limit| format!("  {name}: {limit}\n"));
    let within = (!scope.within.is_empty())
        .then(|| format!("  within: {}\n", shown(&FrontValue::List(scope.within.clone()))));
    let lines: String = [
        limit("files_changed", scope.files_changed),
        limit("lines_written", scope.lines_written),
        limit("files_read", scope.files_read),
        within,
    ]
    .into_iter()
    .flatten()
    .collect();
    if lines.is_empty() { lines } else { format!("scope:\n{lines}") }
}

fn acceptance_lines(task: &Task) -> String {
    let line = |(number, text): (u32, &String)| {
        let check = task.criterion_checks.iter().find(|check| check.criterion == number);
        match check {
            Some(check) => format!("  - text: {}\n    check: {}\n", quoted(text), quoted(&check.run)),
            None => format!("  - {}\n", quoted(text)),
        }
    };
    let lines: String = (1..).zip(&task.acceptance).map(line).collect();
    if lines.is_empty() { lines } else { format!("acceptance:\n{lines}") }
}

fn shown(value: &FrontValue) -> String {
    match value {
        FrontValue::Text(text) => scalar(text, " -_.,/()!?'"),
        FrontValue::Number(number) => number.to_string(),
        FrontValue::List(items) => {
            let items: Vec<String> = items.iter().map(|item| scalar(item, "-_.")).collect();
            format!("[{}]", items.join(", "))
        }
    }
}

/// Without quotes where YAML cannot take it for anything but this text.
fn scalar(text: &str, harmless: &str) -> String {
    const WORDS: [&str; 7] = ["null", "true", "false", "yes", "no", "on", "off"];
    let is_plain = text.starts_with(char::is_alphanumeric)
        && text.trim() == text
        && text.chars().all(|c| c.is_alphanumeric() || harmless.contains(c))
        && !WORDS.contains(&text.to_lowercase().as_str());
    if is_plain { text.to_owned() } else { quoted(text) }
}

/// What JSON quotes, YAML reads as the same text.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use windlass_core::acceptance::CriterionCheck;
    use windlass_core::id::{BlobId, TaskId};

    use super::*;
    use crate::front_matter::read_front_matter;

    fn set(text: &str, key: &'static str, value: FrontValue) -> String {
        with_keys(text, &[(key, value)]).unwrap()
    }

    fn list(items: &[&str]) -> FrontValue {
        FrontValue::List(items.iter().map(|item| (*item).to_owned()).collect())
    }

    #[test]
    fn only_the_lines_of_a_key_change() {
        let text =
            "---\n# mine\ntitle: 'A: b' # why\ndepends_on:\n- x\n- y\n\n# then\npriority: 3\n---\nbody\n";
        assert_eq!(
            set(text, "depends_on", list(&["z", "a b"])),
            "---\n# mine\ntitle: 'A: b' # why\ndepends_on: [z, \"a b\"]\n\n# then\npriority: 3\n---\nbody\n"
        );
        assert_eq!(
            set(text, "priority", FrontValue::Number(-1)),
            "---\n# mine\ntitle: 'A: b' # why\ndepends_on:\n- x\n- y\n\n# then\npriority: -1\n---\nbody\n"
        );
        let added = set("---\ntitle: T\n---\n", "priority", FrontValue::Number(1));
        assert_eq!(added, "---\ntitle: T\npriority: 1\n---\n");
        assert_eq!(set("---\n---\nx", "priority", FrontValue::Number(1)), "---\npriority: 1\n---\nx");
    }

    #[test]
    fn a_text_without_front_matter_gets_one_and_keeps_its_line_ends() {
        assert_eq!(set("# T\n", "priority", FrontValue::Number(1)), "---\npriority: 1\n---\n\n# T\n");
        let windows = set("\u{feff}# T\r\nx\r\n", "priority", FrontValue::Number(1));
        assert_eq!(windows, "\u{feff}---\r\npriority: 1\r\n---\r\n\r\n# T\r\nx\r\n");
        let windows = set(&windows, "priority", FrontValue::Number(2));
        assert_eq!(windows, "\u{feff}---\r\npriority: 2\r\n---\r\n\r\n# T\r\nx\r\n");
    }

    #[test]
    fn what_has_no_line_of_its_own_is_refused() {
        for text in [
            "---\n{title: a, priority: 1}\n---\n",
            "---\n- a\n---\n",
            "---\nnever closed\n",
            "---\na: [\n---\n",
        ] {
            assert_eq!(with_keys(text, &[("priority", FrontValue::Number(1))]), Err(UnwritableFrontMatter));
        }
    }

    #[test]
    fn what_is_written_is_read_as_it_was_meant() {
        let strange = [
            "plain title",
            "# x",
            "a: b",
            "'quoted'",
            "\"q\" \\ `",
            "null",
            "{a}",
            "é — テスト",
            "*x",
            "1",
            "a, b #c",
            "[",
            "- a",
        ];
        for title in strange {
            let text = set("body\n", "title", FrontValue::Text(title.to_owned()));
            assert_eq!(read_front_matter(&text).unwrap().title.as_deref(), Some(title), "{text}");
            let text = set("body\n", "depends_on", list(&[title, "x"]));
            let read = read_front_matter(&text).unwrap().depends_on;
            assert_eq!(read.iter().map(|on| on.value.as_str()).collect::<Vec<_>>(), [title, "x"], "{text}");
        }
    }

    #[test]
    fn a_whole_task_is_written_and_read() {
        let task = Task {
            depends_on: vec![TaskId::new("a")],
            priority: 2,
            allow: vec!["tests/*.rs".to_owned()],
            checks: vec!["test".to_owned()],
            acceptance: vec!["it: works".to_owned(), "`x` is 1".to_owned()],
            criterion_checks: vec![CriterionCheck { criterion: 2, run: "sh ./x.sh \"1\"".to_owned() }],
            mode: TaskMode::Explore,
            scope: OwnScope {
                files_changed: Some(3),
                within: vec!["src/**".to_owned()],
                ..OwnScope::default()
            },
            ..Task::plain(TaskId::new("b"), "The title: B".to_owned(), BlobId::new("text"))
        };
        let text = task_text(&task, "# B\n\nDo it.\n");
        let read = crate::task_of_text(&TaskId::new("b"), &text).unwrap();
        let read = read.into_task(|_| Ok::<_, ()>(BlobId::new("text"))).unwrap();
        assert_eq!(Task { depends_on: task.depends_on.clone(), ..read }, task);
        assert_eq!(read_front_matter(&text).unwrap().depends_on[0].value, "a");
        assert!(text.ends_with("---\n\n# B\n\nDo it.\n"), "{text}");
        let plain = Task::plain(TaskId::new("b"), "B".to_owned(), BlobId::new("text"));
        assert_eq!(task_text(&plain, "# B\n\nDo it.\n"), "# B\n\nDo it.\n", "its heading is its title");
    }
}
