//! Which processes of a test are alive: found by a text that only they carry,
//! in their environment, their arguments, or the names of what they hold open.
//! Linux only; elsewhere nothing is found.

use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::Duration;

use crate::poll;

/// A living process, zombies excepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pub id: u32,
    pub argv: String,
}

/// Every process but this one that carries `token`; the more unusual the text,
/// the truer the answer. A temporary directory's path is a good one.
pub fn carrying(token: &str) -> Vec<Process> {
    assert!(token.len() > 8, "{token:?} may be carried by anyone");
    let (me, own) = (std::process::id(), program(std::process::id()));
    // A child another thread has just forked holds everything the test holds, until it runs its program.
    let other = |id: &u32| *id != me && (own.is_none() || program(*id) != own);
    ids().into_iter().filter(other).filter_map(|id| carries(id, token)).collect()
}

/// Waits until nothing carries `token`; what still does at the deadline is returned.
#[must_use = "a process that is left is a failed test"]
pub fn left_after(deadline: Duration, token: &str) -> Vec<Process> {
    let mut left = Vec::new();
    let _ = poll::until(deadline, || {
        left = carrying(token);
        left.is_empty()
    });
    left
}

/// The living children of a process.
pub fn children(parent: u32) -> Vec<u32> {
    let is_child = |id: &u32| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        // The state and the parent follow the name, which may hold a parenthesis.
        let rest = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
        let mut fields = rest.split_whitespace();
        let alive = fields.next().is_some_and(|state| !matches!(state, "Z" | "X"));
        alive && fields.next() == Some(parent.to_string().as_str())
    };
    ids().into_iter().filter(is_child).collect()
}

/// The wardens of a windlass.
pub fn wardens(windlass: u32) -> Vec<u32> {
    let name = |id: &u32| fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
    children(windlass).into_iter().filter(|id| name(id).trim() == "windlass-warden").collect()
}

/// The most memory a process ever held, in KiB; none once it is gone.
pub fn peak_kib(id: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// The program a process runs; none once it is gone, or if it is another user's.
pub fn program(id: u32) -> Option<std::path::PathBuf> {
    fs::read_link(format!("/proc/{id}/exe")).ok()
}

fn carries(id: u32, token: &str) -> Option<Process> {
    let dir = format!("/proc/{id}");
    let read = |name: &str| fs::read(Path::new(&dir).join(name)).unwrap_or_default();
    let argv = read("cmdline");
    let found = contains(&argv, token) || contains(&read("environ"), token) || holds(&dir, token);
    if !found || is_dead(&dir) {
        return None;
    }
    let argv: Vec<_> =
        argv.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    Some(Process { id, argv: argv.join(" ").trim_end().to_owned() })
}

/// A warden has neither an environment nor telling arguments, but a lock and files.
fn holds(dir: &str, token: &str) -> bool {
    let names = |link: &Path| fs::read_link(link).is_ok_and(|to| contains(to.as_os_str().as_bytes(), token));
    let files = fs::read_dir(format!("{dir}/fd")).into_iter().flatten().flatten();
    names(&Path::new(dir).join("cwd")) || files.into_iter().any(|file| names(&file.path()))
}

fn contains(bytes: &[u8], token: &str) -> bool {
    bytes.windows(token.len()).any(|window| window == token.as_bytes())
}

/// A zombie has ended; only its parent has not asked yet.
fn is_dead(dir: &str) -> bool {
    let stat = fs::read_to_string(format!("{dir}/stat")).unwrap_or_default();
    // The name before the state may itself hold a parenthesis.
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    matches!(state, None | Some('Z' | 'X'))
}

fn ids() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.id, self.argv)
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn finds_a_process_by_whatever_it_carries() {
        let token = format!("windlass-alive-{}", std::process::id());
        let mut by_argument =
            Command::new("sh").args(["-c", "read line; :", &token]).stdin(Stdio::piped()).spawn().unwrap();
        let found = carrying(&token);
        assert!(
            found.iter().any(|process| process.id == by_argument.id() && process.argv.contains(&token)),
            "{found:?}"
        );
        assert!(peak_kib(by_argument.id()).is_some_and(|kib| kib > 0));
        assert!(children(std::process::id()).contains(&by_argument.id()));
        by_argument.kill().unwrap();
        by_argument.wait().unwrap();
        assert_eq!(left_after(LONG, &token), []);

        let mut by_environment = Command::new("sh")
            .args(["-c", "read line; :"])
            .env("MARK", &token)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        assert!(poll::until(LONG, || carrying(&token)
            .iter()
            .any(|process| process.id == by_environment.id())));
        by_environment.kill().unwrap();
        // Not waited for: a zombie is not alive.
        assert_eq!(left_after(LONG, &token), []);
        by_environment.wait().unwrap();

        let dir = tempfile::Builder::new().prefix(&token).tempdir().unwrap();
        let mut by_place = Command::new("sh")
            .args(["-c", "read line; :"])
            .current_dir(dir.path())
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        assert!(poll::until(LONG, || carrying(&token).iter().any(|process| process.id == by_place.id())));
        by_place.kill().unwrap();
        by_place.wait().unwrap();
        assert_eq!(left_after(LONG, &token), []);
    }
}
