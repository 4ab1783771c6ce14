//! A program that goes on when whoever started it is gone: in a session of its own, deaf to hangups, with its
//! output in a file. It is a second windlass, not an attempt: nothing stands over it.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub struct DetachedProgram<'a> {
    pub program: &'a Path,
    pub arguments: &'a [OsString],
    pub cwd: &'a Path,
    /// Both streams, in place of what was there; readable for its owner alone.
    pub log: &'a Path,
}

/// Only for a process that does little else: it forks.
pub fn start_detached(of: &DetachedProgram<'_>) -> io::Result<Child> {
    match std::fs::remove_file(of.log) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let out = File::options().append(true).create_new(true).mode(0o600).open(of.log)?;
    let err = out.try_clone()?;
    let mut command = Command::new(of.program);
    command.args(of.arguments).current_dir(of.cwd).stdin(Stdio::null()).stdout(out).stderr(err);
    // SAFETY: between fork and exec it makes two system calls and allocates nothing.
    unsafe { command.pre_exec(crate::sys::leave_session) };
    command.spawn()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_a_session_of_its_own_and_ignores_the_hangup() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        std::fs::write(&log, "of before").unwrap();
        let script = "kill -HUP $$; cut -d' ' -f6 /proc/$$/stat; echo $$";
        let arguments = ["-c".into(), script.into()];
        let program = Path::new("/bin/sh");
        let of = DetachedProgram { program, arguments: &arguments, cwd: dir.path(), log: &log };
        assert!(start_detached(&of).unwrap().wait().unwrap().success(), "the hangup did not end it");
        let said = std::fs::read_to_string(&log).unwrap();
        let [session, id] = said.lines().collect::<Vec<_>>()[..] else { panic!("{said}") };
        assert_eq!(session, id);
    }
}
