//! The commands by which a loop is operated, in one session from its start to its removal. The guide to them
//! prints nothing that is not in here.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use windlass_testkit::poll;

use super::capture_set::{CaptureSet, LOOP, PATIENCE};
use super::screen::Screen;

pub const FILE: &str = "session.txt";

/// Holds in its first task, and does not do its second one before it is let.
const AGENT: &str = r#"case $WINDLASS_TASK in
001-units) echo 'I write a table of numerals.'; hold; write_units; report 'units are written' 1240 310 0.02 ;;
002-tens) if [ -e "$side/may-write-tens" ]; then write_tens; else echo ": try $WINDLASS_ITERATION" >>roman.sh; fi
    report 'tens are written' 1480 350 0.03 ;;
esac"#;

/// A command, and the exit code that it must have.
struct Step(&'static str, i32);

pub fn play(windlass: &Path) -> String {
    let set = CaptureSet::new(windlass, &["units", "tens"], AGENT);
    let mut session = Session { set: &set, text: String::new() };
    session.type_all(&[Step("windlass run --name roman --set loop.max_iterations=3 --detach", 0)]);
    session.wait_until(|view| !view["attempt"].is_null());
    session.type_all(&[
        Step("windlass log roman -n 3", 0),
        Step("windlass steer roman \"Use a table, not a loop.\"", 0),
        Step("windlass pause roman", 0),
    ]);
    set.go();
    session.wait_until(|view| view["status"] == "paused" && view["attempt"].is_null());
    session.type_all(&[Step("windlass status roman", 0), Step("windlass resume roman", 0)]);
    // It comes back when nobody drives the loop, with the exit code of the run.
    set.windlass(&["attach", LOOP]).expect_code(4);
    session.type_all(&[
        Step("windlass status roman", 0),
        Step("windlass set roman loop.max_iterations=20", 0),
        Step("windlass restart roman", 0),
        Step("windlass run roman", 3),
        Step("windlass unblock roman 002-tens", 0),
    ]);
    set.leave("may-write-tens");
    session.type_all(&[
        Step("windlass run roman", 0),
        Step("windlass rm roman", 2),
        Step("windlass take roman", 0),
        Step("windlass take roman --attempt 2", 0),
        Step("windlass rm roman", 0),
    ]);
    set.names_no_path(&session.text);
    session.text
}

struct Session<'s> {
    set: &'s CaptureSet,
    text: String,
}

impl Session<'_> {
    fn type_all(&mut self, steps: &[Step]) {
        for Step(line, code) in steps {
            let binary = self.set.home.binary().display().to_string();
            let mut shell = Command::new("sh");
            let script = line.replacen("windlass", &format!("'{binary}'"), 1);
            shell.args(["-c", &format!("exec 2>&1; {script}")]).current_dir(self.set.repo.path());
            self.set.home.isolate(&mut shell);
            let ran = self.set.home.start(shell).finish(PATIENCE).expect_code(*code);
            let printed = Screen::read(&ran.stdout).text();
            self.text.push_str(&format!("$ {line}\n{printed}"));
            if *code != 0 {
                self.text.push_str(&format!("[exit code {code}]\n"));
            }
            self.text.push('\n');
        }
    }

    fn wait_until(&self, is_so: impl Fn(&Value) -> bool) {
        let came = poll::until(PATIENCE, || is_so(&self.set.windlass(&["status", LOOP, "--json"]).json()));
        assert!(came, "{}", self.set.windlass(&["log", LOOP]));
    }
}

#[cfg(test)]
mod tests {
    const GUIDE: &str = include_str!("../../../docs/guide/operating.md");
    const SESSION: &str = include_str!("../../../docs/captures/session.txt");
    const SCREEN: &str = include_str!("../../../docs/captures/run-80x24.txt");

    /// What stands between lines that are left out.
    const ELISION: &str = "…";

    fn is_played(block: &str) -> bool {
        [SESSION, SCREEN].iter().any(|played| is_in(played, block))
    }

    /// Whether the lines follow one another there, but for those left out.
    fn is_in(played: &str, block: &str) -> bool {
        let mut rest = played;
        block.split(&format!("{ELISION}\n")).all(|part| {
            let Some(at) = rest.find(part.trim_end()) else { return false };
            rest = &rest[at + part.trim_end().len()..];
            true
        })
    }

    #[test]
    fn the_guide_prints_what_the_session_printed() {
        let blocks: Vec<&str> =
            GUIDE.split("```console\n").skip(1).filter_map(|after| after.split("```").next()).collect();
        assert!(blocks.len() >= 6, "{}", blocks.len());
        let made_up: Vec<&&str> = blocks.iter().filter(|block| !is_played(block)).collect();
        assert!(made_up.is_empty(), "{made_up:#?}");
        assert!(!is_played("$ windlass rm roman\nroman is gone.\n"));
    }
}
