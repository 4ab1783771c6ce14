//! The git program: found once, run with a scrubbed environment, bounded in
//! output and time. It is never run in a git directory that an agent could
//! have written.
#![allow(clippy::disallowed_methods, reason = "runs git, and bounds its own wait for it")]

use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

const OLDEST: (u32, u32) = (2, 38);
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);
const DEFAULT_OUTPUT: usize = 64 << 20;
const STDERR_KEPT: usize = 16 << 10;

/// What git may see of the operator's environment. The caller reads it; this
/// crate reads no environment variable.
#[derive(Clone, Debug, Default)]
pub struct OperatorEnv {
    pub path: OsString,
    pub home: Option<PathBuf>,
    pub config_home: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git is not in PATH ({path:?}); install git {}.{} or newer", OLDEST.0, OLDEST.1)]
    Missing { path: OsString },
    #[error("{program} is git {found}; windlass needs {}.{} or newer", OLDEST.0, OLDEST.1)]
    TooOld { program: PathBuf, found: String },
    #[error("cannot run {argv}: {source}")]
    Spawn { argv: String, source: io::Error },
    #[error("{argv} ended with {status}: {stderr}")]
    Failed { argv: String, status: ExitStatus, stderr: String },
    /// Git says so in words only; its cause is of the kind that any other full disk has.
    #[error("{argv} ended with {status}: {stderr}")]
    DiskFull { argv: String, status: ExitStatus, stderr: String, source: io::Error },
    #[error("{argv} did not end within {} s", limit.as_secs())]
    TimedOut { argv: String, limit: Duration },
    #[error("{argv} printed more than {limit} bytes")]
    TooMuchOutput { argv: String, limit: usize },
}

/// A git program that has been found and is new enough.
#[derive(Clone, Debug)]
pub struct Git {
    program: PathBuf,
    version: (u32, u32),
    operator: OperatorEnv,
}

impl Git {
    /// Takes the first `git` in absolute directories of the given PATH, so
    /// that a `git` planted in a working directory is never run.
    pub fn locate(operator: OperatorEnv) -> Result<Self, GitError> {
        let program = std::env::split_paths(&operator.path)
            .filter(|dir| dir.is_absolute())
            .map(|dir| dir.join("git"))
            .find(|file| is_executable(file))
            .ok_or_else(|| GitError::Missing { path: operator.path.clone() })?;
        let mut git = Self { program, version: OLDEST, operator };
        let said = git.isolated(Path::new("/")).args(["version"]).text()?;
        match parse_version(&said) {
            Some(version) if version >= OLDEST => git.version = version,
            Some(_) | None => return Err(GitError::TooOld { program: git.program, found: said }),
        }
        Ok(git)
    }

    pub fn program(&self) -> &Path {
        &self.program
    }

    pub fn version(&self) -> (u32, u32) {
        self.version
    }

    pub(crate) fn operator_env(&self) -> &OperatorEnv {
        &self.operator
    }

    /// For windlass's own repositories: no configuration but theirs.
    pub(crate) fn isolated(&self, dir: &Path) -> Invocation {
        let mut run = Invocation::new(&self.program, dir);
        run.command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1");
        run.config("safe.directory=*")
    }

    /// For the operator's own repository, where the operator's configuration
    /// (identity, excludes, filters of a checkout) is meant to count.
    pub(crate) fn as_operator(&self, dir: &Path) -> Invocation {
        let mut run = Invocation::new(&self.program, dir);
        run.command.env("PATH", &self.operator.path);
        if let Some(home) = &self.operator.home {
            run.command.env("HOME", home);
        }
        if let Some(home) = &self.operator.config_home {
            run.command.env("XDG_CONFIG_HOME", home);
        }
        run
    }
}

/// One run of git, being described.
pub(crate) struct Invocation {
    command: Command,
    words: Vec<OsString>,
    timeout: Duration,
    output: usize,
    stdin: Vec<u8>,
    truncate: bool,
    /// An exit code that is an answer and no failure.
    answer: Option<i32>,
}

/// What a run printed; `truncated` only where the caller asked for a cut.
pub(crate) struct Printed {
    pub stdout: Vec<u8>,
    pub truncated: bool,
    /// It ended with the exit code that the caller took for an answer.
    pub answered: bool,
}

impl Invocation {
    fn new(program: &Path, dir: &Path) -> Self {
        let mut command = Command::new(program);
        command
            .current_dir(dir)
            .env_clear()
            .env("LC_ALL", "C")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_DEFAULT_HASH", "sha1")
            .env("GIT_DEFAULT_REF_FORMAT", "files")
            .env("GIT_ALLOW_PROTOCOL", "none")
            .process_group(0);
        let run = Self {
            command,
            words: Vec::new(),
            timeout: DEFAULT_TIMEOUT,
            output: DEFAULT_OUTPUT,
            stdin: Vec::new(),
            truncate: false,
            answer: None,
        };
        run.config("core.hooksPath=/dev/null")
            .config("core.fsmonitor=false")
            .config("gc.auto=0")
            .config("maintenance.auto=false")
            .config("commit.gpgSign=false")
            .config("submodule.recurse=false")
            .config("advice.detachedHead=false")
    }

    pub(crate) fn config(self, setting: &str) -> Self {
        self.args(["-c", setting])
    }

    pub(crate) fn args<S: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = S>) -> Self {
        for word in words {
            self.words.push(word.as_ref().to_owned());
        }
        self
    }

    pub(crate) fn arg(self, word: impl AsRef<OsStr>) -> Self {
        self.args([word])
    }

    pub(crate) fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(key, value);
        self
    }

    /// A few bytes only: they must fit the pipe, since nobody reads the
    /// output while they are written.
    pub(crate) fn stdin(mut self, bytes: Vec<u8>) -> Self {
        debug_assert!(bytes.len() <= 4096);
        self.stdin = bytes;
        self
    }

    pub(crate) fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// Keep the first `limit` bytes and end the run there, instead of failing.
    pub(crate) fn keep_first(mut self, limit: usize) -> Self {
        self.output = limit;
        self.truncate = true;
        self
    }

    /// This exit code is an answer, like 0.
    pub(crate) fn or_answer(mut self, code: i32) -> Self {
        self.answer = Some(code);
        self
    }

    pub(crate) fn text(self) -> Result<String, GitError> {
        let bytes = self.run()?.stdout;
        Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
    }

    pub(crate) fn run(mut self) -> Result<Printed, GitError> {
        let stdin = std::mem::take(&mut self.stdin);
        let input = if stdin.is_empty() { Stdio::null() } else { Stdio::piped() };
        self.command.args(&self.words).stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = self.command.spawn().map_err(|source| spawn_error(&self.argv(), source))?;
        self.finish(child, &stdin)
    }

    fn finish(self, mut child: Child, stdin: &[u8]) -> Result<Printed, GitError> {
        let argv = self.argv();
        if let Some(mut pipe) = child.stdin.take()
            && let Err(source) = pipe.write_all(stdin)
            && source.kind() != io::ErrorKind::BrokenPipe
        {
            end(&mut child);
            return Err(spawn_error(&argv, source));
        }
        let began = Instant::now();
        let ended = self.follow(&mut child);
        let status = ended.as_ref().ok().and_then(|followed| followed.status);
        tracing::debug!(argv, code = status.and_then(|status| status.code()), took = ?began.elapsed(), "git ended");
        match ended {
            Ok(Followed { stdout, status: Some(status), .. }) if status.success() => {
                Ok(Printed { stdout, truncated: false, answered: false })
            }
            Ok(Followed { stdout, status: Some(status), .. })
                if self.answer.is_some() && status.code() == self.answer =>
            {
                Ok(Printed { stdout, truncated: false, answered: true })
            }
            Ok(Followed { stderr, status: Some(status), .. }) => {
                let stderr = String::from_utf8_lossy(&stderr).trim_end().to_owned();
                Err(match full_disk(&stderr) {
                    Some(source) => GitError::DiskFull { argv, status, stderr, source },
                    None => GitError::Failed { argv, status, stderr },
                })
            }
            Ok(Followed { stdout, status: None, .. }) => {
                end(&mut child);
                if self.truncate {
                    return Ok(Printed { stdout, truncated: true, answered: false });
                }
                Err(GitError::TooMuchOutput { argv, limit: self.output })
            }
            Err(Unfollowed::Deadline) => {
                end(&mut child);
                Err(GitError::TimedOut { argv, limit: self.timeout })
            }
            Err(Unfollowed::Io(source)) => {
                end(&mut child);
                Err(GitError::Spawn { argv, source })
            }
        }
    }

    /// The words a person would recognise: without the fixed `-c` settings.
    fn argv(&self) -> String {
        let mut said = String::from("git");
        let mut words = self.words.iter().peekable();
        while let Some(word) = words.next() {
            if word == "-c" {
                words.next();
                continue;
            }
            said.push(' ');
            said.push_str(&word.to_string_lossy());
        }
        said
    }

    fn follow(&self, child: &mut Child) -> Result<Followed, Unfollowed> {
        let deadline = Instant::now() + self.timeout;
        let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let mut buffer = vec![0_u8; 64 << 10];
        while out.is_some() || err.is_some() {
            let (out_ready, err_ready) = wait_readable(out.as_ref(), err.as_ref(), deadline)?;
            if out_ready && drain(&mut out, &mut stdout, &mut buffer)? && stdout.len() > self.output {
                stdout.truncate(self.output);
                return Ok(Followed { stdout, stderr, status: None });
            }
            if err_ready {
                drain(&mut err, &mut stderr, &mut buffer)?;
                if stderr.len() > STDERR_KEPT {
                    stderr.drain(..stderr.len() - STDERR_KEPT);
                }
            }
        }
        let status = wait_until(child, deadline)?;
        Ok(Followed { stdout, stderr, status: Some(status) })
    }
}

struct Followed {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    status: Option<ExitStatus>,
}

enum Unfollowed {
    Deadline,
    Io(io::Error),
}

impl From<io::Error> for Unfollowed {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

fn wait_readable(
    out: Option<&impl AsFd>,
    err: Option<&impl AsFd>,
    deadline: Instant,
) -> Result<(bool, bool), Unfollowed> {
    let left = deadline.checked_duration_since(Instant::now()).ok_or(Unfollowed::Deadline)?;
    let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) as _ };
    let mut fds = Vec::with_capacity(2);
    fds.extend(out.map(|fd| PollFd::new(fd, PollFlags::IN)));
    fds.extend(err.map(|fd| PollFd::new(fd, PollFlags::IN)));
    match poll(&mut fds, Some(&timeout)) {
        Ok(0) => return Err(Unfollowed::Deadline),
        Ok(_) => {}
        Err(rustix::io::Errno::INTR) => return Ok((false, false)),
        Err(error) => return Err(Unfollowed::Io(error.into())),
    }
    let ready: Vec<bool> = fds.iter().map(|fd| !fd.revents().is_empty()).collect();
    let out_ready = out.is_some() && ready[0];
    let err_ready = err.is_some() && ready[ready.len() - 1];
    Ok((out_ready, err_ready))
}

/// True when bytes came; the pipe is dropped at its end.
fn drain(pipe: &mut Option<impl Read>, kept: &mut Vec<u8>, buffer: &mut [u8]) -> io::Result<bool> {
    let Some(open) = pipe else { return Ok(false) };
    match open.read(buffer) {
        Ok(0) => {
            *pipe = None;
            Ok(false)
        }
        Ok(n) => {
            kept.extend_from_slice(&buffer[..n]);
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(error) => Err(error),
    }
}

/// Both pipes are closed, so the process is at its exit: the pauses are short
/// and few.
fn wait_until(child: &mut Child, deadline: Instant) -> Result<ExitStatus, Unfollowed> {
    let mut pause = Duration::from_micros(20);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() >= deadline {
            return Err(Unfollowed::Deadline);
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

fn end(child: &mut Child) {
    if let Some(group) = rustix::process::Pid::from_raw(child.id() as i32) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// The words of strerror(3) in the locale C, which every run of git has.
fn full_disk(stderr: &str) -> Option<io::Error> {
    const WORDS: [(&str, io::ErrorKind); 2] = [
        ("No space left on device", io::ErrorKind::StorageFull),
        ("Disk quota exceeded", io::ErrorKind::QuotaExceeded),
    ];
    WORDS.iter().find(|(words, _)| stderr.contains(words)).map(|(_, kind)| (*kind).into())
}

fn spawn_error(argv: &str, source: io::Error) -> GitError {
    GitError::Spawn { argv: argv.to_owned(), source }
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

fn parse_version(said: &str) -> Option<(u32, u32)> {
    let mut numbers = said.strip_prefix("git version ")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pretend(dir: &Path, script: &str) -> Git {
        let file = dir.join("git");
        let script = format!("#!/bin/sh\n[ \"$#\" -gt 0 ] && for w; do last=$w; done\n{script}\n");
        std::fs::write(&file, script).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        Git { program: file, version: OLDEST, operator: OperatorEnv::default() }
    }

    #[test]
    fn a_run_that_hangs_is_ended_with_its_children() {
        let dir = tempfile::TempDir::new().unwrap();
        let git = pretend(dir.path(), "/bin/sleep 600 & wait");
        let start = Instant::now();
        let run = git.isolated(dir.path()).arg("x").timeout(Duration::from_millis(200)).run();
        assert!(matches!(run, Err(GitError::TimedOut { .. })));
        assert!(start.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn output_is_bounded_and_failures_say_what_was_run() {
        let dir = tempfile::TempDir::new().unwrap();
        let git = pretend(dir.path(), "while :; do echo 0123456789; done");
        let cut = git.isolated(dir.path()).keep_first(100).run().unwrap();
        assert!(cut.truncated && cut.stdout.len() == 100);
        let git = pretend(dir.path(), "echo oops >&2; exit 3");
        match git.isolated(dir.path()).args(["show", "HEAD"]).run() {
            Err(GitError::Failed { argv, stderr, .. }) => {
                assert_eq!((argv.as_str(), stderr.as_str()), ("git show HEAD", "oops"))
            }
            Ok(_) | Err(_) => panic!("it failed otherwise, or not at all"),
        }
    }

    #[test]
    fn a_full_disk_that_git_tells_of_is_an_error_of_its_own_kind() {
        let dir = tempfile::TempDir::new().unwrap();
        let script = "echo 'error: unable to write file x: No space left on device' >&2; exit 128";
        let git = pretend(dir.path(), script);
        match git.isolated(dir.path()).args(["show", "HEAD"]).run() {
            Err(GitError::DiskFull { source, stderr, .. }) => {
                assert_eq!(source.kind(), io::ErrorKind::StorageFull);
                assert!(stderr.contains("unable to write"), "{stderr}");
            }
            Ok(_) | Err(_) => panic!("it failed otherwise, or not at all"),
        }
    }

    #[test]
    fn nothing_of_our_own_environment_reaches_git() {
        let dir = tempfile::TempDir::new().unwrap();
        let git = pretend(dir.path(), "/usr/bin/env");
        let text = git.isolated(dir.path()).text().unwrap();
        assert!(!text.contains("\nHOME=") && !text.contains("CARGO"), "{text}");
        assert!(text.contains("GIT_CONFIG_GLOBAL=/dev/null"));
    }
}
