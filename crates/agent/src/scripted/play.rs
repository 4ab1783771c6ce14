//! The program side: plays one turn in its current directory. Runs in a process of its own, as an agent.
#![allow(clippy::disallowed_methods, reason = "this is the agent's side, under a warden, not windlass's own")]

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use super::SCRIPTED_ARG;
use super::script::{self, Action, WantedTurn};

/// Words behind [`SCRIPTED_ARG`].
pub const PLAY: &str = "play";
const DAEMON: &str = "daemon";

pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.collect();
    let played = match args.as_slice() {
        [word, script, task, role, nth, report] if word == PLAY => {
            let text = |word: &OsString| word.to_string_lossy().into_owned();
            let turn = ScriptPlay { script: script.into(), report: report.into() };
            turn.play(&text(task), &text(role), text(nth).parse().unwrap_or(0))
        }
        [word, shell] if word == DAEMON => become_daemon(shell),
        _ => Err("not the arguments of a scripted agent".to_owned()),
    };
    match played {
        Ok(code) => ExitCode::from(code),
        Err(what) => {
            // Nobody may be reading.
            writeln!(io::stderr(), "scripted agent: {what}").ok();
            ExitCode::from(2)
        }
    }
}

struct ScriptPlay {
    script: PathBuf,
    report: PathBuf,
}

impl ScriptPlay {
    fn play(&self, task: &str, role: &str, nth: u32) -> Result<u8, String> {
        let script = script::read(&self.script).map_err(|error| error.to_string())?;
        let actions = script
            .turn(&WantedTurn { task, role, nth })
            .ok_or_else(|| format!("no turn for task {task:?}, {role}, attempt {nth}"))?;
        let nonce = nonce()?;
        for action in actions {
            if let Some(code) = self.act(action, &nonce)? {
                return Ok(code);
            }
        }
        Ok(0)
    }

    /// The exit code, where the action ends the turn.
    fn act(&self, action: &Action, nonce: &str) -> Result<Option<u8>, String> {
        match action {
            Action::Write { path, text } => write(path, text, fs::OpenOptions::new().truncate(true))?,
            Action::Append { path, text } => write(path, text, fs::OpenOptions::new().append(true))?,
            Action::Delete { path } => delete(path)?,
            Action::Run { shell } => return run(shell),
            Action::Daemon { shell } => start_daemon(shell)?,
            Action::Say { text } => {
                let mut stdout = io::stdout();
                writeln!(stdout, "{text}")
                    .and_then(|()| stdout.flush())
                    .map_err(|error| error.to_string())?;
            }
            Action::Claim(fields) | Action::Verdict(fields) => self.report(fields, nonce)?,
            Action::Sleep { ms } => std::thread::sleep(Duration::from_millis(*ms)),
            Action::Exit { code } => return Ok(Some(*code)),
        }
        Ok(None)
    }

    fn report(&self, fields: &toml::Table, nonce: &str) -> Result<(), String> {
        let mut fields = fields.clone();
        fields.entry("nonce").or_insert_with(|| nonce.into());
        let text = serde_json::to_vec(&fields).map_err(|error| error.to_string())?;
        fs::write(&self.report, text).map_err(|error| named(&self.report, &error))
    }
}

fn nonce() -> Result<String, String> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(|error| format!("cannot read the brief: {error}"))?;
    let nonce = line.trim_end().strip_prefix("nonce: ");
    nonce.map(str::to_owned).ok_or_else(|| "the brief does not begin with a nonce".to_owned())
}

fn write(path: &Path, text: &str, how: &mut fs::OpenOptions) -> Result<(), String> {
    let path = inside(path)?;
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        fs::create_dir_all(parent).map_err(|error| named(parent, &error))?;
    }
    let mut file = how.create(true).write(true).open(path).map_err(|error| named(path, &error))?;
    file.write_all(text.as_bytes()).map_err(|error| named(path, &error))
}

fn delete(path: &Path) -> Result<(), String> {
    let path = inside(path)?;
    let found = fs::symlink_metadata(path).map_err(|error| named(path, &error))?;
    let removed = if found.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.map_err(|error| named(path, &error))
}

fn inside(path: &Path) -> Result<&Path, String> {
    let plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    let is_inside = plain && path.components().next().is_some();
    is_inside.then_some(path).ok_or_else(|| format!("{} leads out of the workspace", path.display()))
}

fn run(shell: &str) -> Result<Option<u8>, String> {
    let status = Command::new("/bin/sh").arg("-c").arg(shell).stdin(Stdio::null()).status();
    let status = status.map_err(|error| format!("cannot run {shell:?}: {error}"))?;
    if status.success() {
        return Ok(None);
    }
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(Some(u8::try_from(code).unwrap_or(u8::MAX)))
}

/// By way of this binary, since a process can leave its session only by itself.
fn start_daemon(shell: &str) -> Result<(), String> {
    let spawned = Command::new("/proc/self/exe")
        .args([SCRIPTED_ARG, DAEMON, shell])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    spawned.map(drop).map_err(|error| format!("cannot start {shell:?}: {error}"))
}

fn become_daemon(shell: &OsString) -> Result<u8, String> {
    rustix::process::setsid().map_err(|error| format!("cannot leave the session: {error}"))?;
    Err(Command::new("/bin/sh").arg("-c").arg(shell).exec().to_string())
}

fn named(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}
