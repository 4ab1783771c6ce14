//! A shell in a real terminal of a fixed size: tmux with a server of its own.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use windlass_testkit::Scratch;

use super::screen::Screen;

/// Longer than any step takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at the screen.
const PAUSE: Duration = Duration::from_millis(40);
/// A screen that looks the same in so many looks in a row has come to rest.
const LOOKS: usize = 5;
const PROMPT: &str = "$";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub columns: u16,
    pub rows: u16,
}

pub struct Terminal<'h> {
    home: &'h Scratch,
}

impl<'h> Terminal<'h> {
    /// In this directory, with the binary of the home in `PATH`.
    pub fn open(home: &'h Scratch, dir: &Path, size: Size) -> Self {
        let terminal = Self { home };
        let (columns, rows) = (size.columns.to_string(), size.rows.to_string());
        let mut command = terminal.command();
        // Before the session begins: a status line would take one of its rows.
        command.args(["start-server", ";", "set-option", "-g", "status", "off", ";"]);
        command.args(["new-session", "-d", "-x", &columns, "-y", &rows, "-c"]).arg(dir).arg("exec sh");
        ran(command);
        terminal.settles(|screen| screen.line_from_end(0) == PROMPT);
        terminal
    }

    pub fn type_line(&self, line: &str) {
        let mut command = self.command();
        command.args(["send-keys", "-l", line, ";", "send-keys", "Enter"]);
        ran(command);
    }

    /// Ends what runs in the foreground.
    pub fn interrupt(&self) {
        let mut command = self.command();
        command.args(["send-keys", "C-c"]);
        ran(command);
        self.settles(|screen| screen.line_from_end(0) == PROMPT);
    }

    /// The first screen at rest of which this is true.
    pub fn settles(&self, is_wanted: impl Fn(&Screen) -> bool) -> Screen {
        let end = Instant::now() + PATIENCE;
        let (mut last, mut looks) = (None, 0);
        loop {
            let screen = self.screen();
            looks = if last.as_ref() == Some(&screen) { looks + 1 } else { 1 };
            if looks >= LOOKS && is_wanted(&screen) {
                return screen;
            }
            assert!(Instant::now() < end, "the awaited screen did not come:\n{}", screen.text());
            last = Some(screen);
            std::thread::sleep(PAUSE);
        }
    }

    fn screen(&self) -> Screen {
        let mut command = self.command();
        command.args(["capture-pane", "-e", "-p"]);
        Screen::read(&ran(command))
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        self.home.isolate(command.args(["-u", "-L", "captures", "-f", "/dev/null"]));
        let binary = self.home.binary().parent().expect("a file lies in a directory");
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", binary.display())).env("TMUX_TMPDIR", self.home.tmp());
        command.env("TERM", "xterm-256color").env("SHELL", "/bin/sh").env("PS1", format!("{PROMPT} "));
        command
    }
}

impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        // It fails only when the server has ended.
        let _ = self.command().arg("kill-server").output();
    }
}

fn ran(mut command: Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("start {command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}: {said}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}
