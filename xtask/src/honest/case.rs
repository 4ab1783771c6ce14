//! One piece of honest work: the project it is done in, what the agent does, and how it must end.

use std::fmt::Write as _;

pub struct Case {
    pub id: &'static str,
    pub project: ProjectKind,
    /// What is done, in words.
    pub work: &'static str,
    pub ending: Ending,
    /// Played in every run of the suite.
    pub is_quick: bool,
    base: Vec<(&'static str, String)>,
    absent: Vec<&'static str>,
    /// What the agent does at each of its turns; at later ones what it did at the last.
    turns: Vec<String>,
    /// What a person would allow who is told of no path.
    pub allowed: Vec<&'static str>,
    /// How many tasks it is, with a turn for each.
    pub tasks: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectKind {
    PythonFlat,
    PythonSrc,
    Node,
    RustCrate,
    RustWorkspace,
    Make,
    Go,
}

/// What the work needed of a person before it was called done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    Alone,
    /// Red without terms that it changed, and a reviewer accepted those.
    Reviewer,
    /// A line in the task's file.
    Allow,
    /// None of these helped: what windlass said.
    FalseAlarm(String),
}

impl ProjectKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::PythonFlat => "Python, flat",
            Self::PythonSrc => "Python, src",
            Self::Node => "Node",
            Self::RustCrate => "Rust, crate",
            Self::RustWorkspace => "Rust, workspace",
            Self::Make => "C with make",
            Self::Go => "Go",
        }
    }

    /// A program without which it cannot be tested.
    pub fn needs(self) -> &'static str {
        match self {
            Self::PythonFlat | Self::PythonSrc => "pytest-3",
            Self::Node => "npm",
            Self::RustCrate | Self::RustWorkspace => "cargo",
            Self::Make => "make",
            Self::Go => "go",
        }
    }
}

impl Ending {
    pub fn words(&self) -> &'static str {
        match self {
            Self::Alone => "alone",
            Self::Reviewer => "reviewer",
            Self::Allow => "`allow`",
            Self::FalseAlarm(_) => "FALSE ALARM",
        }
    }
}

impl Case {
    pub fn new(id: &'static str, project: ProjectKind, work: &'static str) -> Self {
        let (base, absent, turns) = (Vec::new(), Vec::new(), vec![String::new()]);
        Self {
            id,
            project,
            work,
            ending: Ending::Alone,
            is_quick: false,
            base,
            absent,
            turns,
            allowed: Vec::new(),
            tasks: 1,
        }
    }

    /// A file of the base, in place of that of its project or beside them.
    pub fn base(mut self, path: &'static str, text: impl Into<String>) -> Self {
        self.base.push((path, text.into()));
        self
    }

    /// A file that the base does not have, though others of its project do.
    pub fn absent(mut self, path: &'static str) -> Self {
        self.absent.push(path);
        self
    }

    pub fn writes(self, path: &str, text: &str) -> Self {
        self.puts(">", path, text)
    }

    pub fn appends(self, path: &str, text: &str) -> Self {
        self.puts(">>", path, text)
    }

    pub fn runs(mut self, script: &str) -> Self {
        let turn = self.turns.last_mut().expect("there is a first turn");
        writeln!(turn, "{script}").expect("writing to a text cannot fail");
        self
    }

    /// What follows is done in the next iteration.
    pub fn next_turn(mut self) -> Self {
        self.turns.push(String::new());
        self
    }

    /// What follows is another task.
    pub fn next_task(mut self) -> Self {
        self.tasks += 1;
        self.next_turn()
    }

    pub fn ends(mut self, ending: Ending) -> Self {
        self.ending = ending;
        self
    }

    /// It ends with these paths in the task's file, of which no finding tells.
    pub fn allows(mut self, path: &'static str) -> Self {
        self.allowed.push(path);
        self.ends(Ending::Allow)
    }

    pub fn quick(mut self) -> Self {
        self.is_quick = true;
        self
    }

    fn puts(self, how: &str, path: &str, text: &str) -> Self {
        assert!(text.ends_with('\n'), "{}: {path} is a text of whole lines", self.id);
        self.runs(&format!("mkdir -p \"$(dirname '{path}')\"\ncat {how}'{path}' <<'END'\n{text}END"))
    }

    /// The files of the base: those of the project, but for the case's own.
    pub fn files(&self, of_project: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
        let replaced =
            |path: &str| self.absent.contains(&path) || self.base.iter().any(|(own, _)| *own == path);
        let kept = of_project.iter().filter(|(path, _)| !replaced(path));
        kept.map(|(path, text)| (*path, (*text).to_owned())).chain(self.base.iter().cloned()).collect()
    }

    pub fn agent(&self) -> String {
        let mut script = "set -e\n".to_owned();
        let last = self.turns.len();
        for (at, turn) in (1..).zip(&self.turns) {
            let when = if at == last { "-ge" } else { "-eq" };
            writeln!(script, "if [ \"$turn\" {when} {at} ]; then\n:\n{turn}fi")
                .expect("writing to a text cannot fail");
        }
        script + "complete"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_replaces_files_of_its_project() {
        let case = Case::new("X", ProjectKind::Make, "x").base("a", "mine\n").absent("b").base("d", "new\n");
        let files = case.files(&[("a", "theirs\n"), ("b", "b\n"), ("c", "c\n")]);
        let shown: Vec<String> = files.iter().map(|(path, text)| format!("{path}={}", text.trim())).collect();
        assert_eq!(shown, ["c=c", "a=mine", "d=new"]);
    }

    #[test]
    fn the_last_turn_is_done_at_every_later_one() {
        let case = Case::new("X", ProjectKind::Make, "x").runs("one").next_turn().runs("two");
        assert_eq!(
            case.agent(),
            "set -e\nif [ \"$turn\" -eq 1 ]; then\n:\none\nfi\nif [ \"$turn\" -ge 2 ]; then\n:\ntwo\nfi\ncomplete"
        );
    }
}
