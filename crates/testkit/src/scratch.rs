//! A home directory of its own for running the real binary: nothing of the
//! user is read, nothing of the user is written.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tempfile::TempDir;

use crate::{poll, repo};

/// Names another binary to test than the one beside the test: an ordinary user
/// may not be able to reach the directory cargo built into.
pub const BINARY: &str = "WINDLASS_TEST_BIN";

/// Longer than any honest run in a test, shorter than a person's patience.
const DEADLINE: Duration = Duration::from_secs(120);

/// A temporary home with its XDG directories, deleted when dropped.
#[derive(Debug)]
pub struct Scratch {
    dir: TempDir,
    binary: PathBuf,
    runs: AtomicU32,
}

/// How a program ended, and what it printed.
#[derive(Debug)]
pub struct Ran {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

/// A program under way. It is killed when dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    argv: String,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Scratch {
    /// `binary` is `env!("CARGO_BIN_EXE_windlass")` of the calling test.
    #[track_caller]
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        Self::exactly(std::env::var_os(BINARY).map_or_else(|| binary.into(), PathBuf::from))
    }

    /// For one binary and no other, whatever the environment names.
    #[track_caller]
    pub fn exactly(binary: impl Into<PathBuf>) -> Self {
        let dir = tempfile::Builder::new().prefix("windlass-home-").tempdir().expect("temporary directory");
        let binary = binary.into();
        let scratch = Self { dir, binary, runs: AtomicU32::new(0) };
        for place in [scratch.home(), scratch.state(), scratch.config(), scratch.tmp(), scratch.logs()] {
            fs::create_dir_all(&place).unwrap_or_else(|error| panic!("mkdir {}: {error}", place.display()));
        }
        let identity = format!("[user]\n\tname = {}\n\temail = {}\n", repo::NAME, repo::EMAIL);
        fs::write(scratch.home().join(".gitconfig"), identity).expect("a fresh home is writable");
        scratch
    }

    /// With a copy of the binary in this home, for a user who may not reach the original.
    #[track_caller]
    pub fn with_own_binary(mut self) -> Self {
        let copy = self.path().join("windlass");
        fs::copy(&self.binary, &copy)
            .unwrap_or_else(|error| panic!("copy {}: {error}", self.binary.display()));
        self.binary = copy;
        self
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    /// `XDG_STATE_HOME`.
    pub fn state(&self) -> PathBuf {
        self.home().join(".local/state")
    }

    /// `XDG_CONFIG_HOME`.
    pub fn config(&self) -> PathBuf {
        self.home().join(".config")
    }

    /// `TMPDIR`.
    pub fn tmp(&self) -> PathBuf {
        self.path().join("tmp")
    }

    /// The binary under test.
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// The binary under test as a command in `project`, to be changed before
    /// it is started with [`Scratch::start`].
    pub fn command<S: AsRef<OsStr>>(&self, project: &Path, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(&self.binary);
        self.isolate(command.args(args).current_dir(project));
        command
    }

    /// Lets any command see this home and no other part of the environment
    /// than `PATH`.
    pub fn isolate<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .envs([
                ("HOME", self.home()),
                ("XDG_STATE_HOME", self.state()),
                ("XDG_CONFIG_HOME", self.config()),
                ("XDG_CACHE_HOME", self.home().join(".cache")),
                ("XDG_DATA_HOME", self.home().join(".local/share")),
                ("TMPDIR", self.tmp()),
            ])
            .envs([
                ("LC_ALL", "C.UTF-8"),
                ("TZ", "UTC"),
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("GIT_TERMINAL_PROMPT", "0"),
            ])
            .stdin(Stdio::null())
    }

    /// Runs the binary to its end.
    #[track_caller]
    pub fn run<S: AsRef<OsStr>>(&self, project: &Path, args: impl IntoIterator<Item = S>) -> Ran {
        self.start(self.command(project, args)).finish(DEADLINE)
    }

    /// Starts a command with its output going to files of this scratch.
    #[track_caller]
    pub fn start(&self, mut command: Command) -> Running {
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        let output = |stream: &str| {
            let path = self.logs().join(format!("{number:03}.{stream}"));
            let file =
                File::create(&path).unwrap_or_else(|error| panic!("create {}: {error}", path.display()));
            (path, file)
        };
        let ((stdout, out), (stderr, err)) = (output("stdout"), output("stderr"));
        command.stdout(out).stderr(err);
        let argv = format!("{command:?}");
        let child = command.spawn().unwrap_or_else(|error| panic!("start {argv}: {error}"));
        Running { child, argv, stdout, stderr }
    }

    fn logs(&self) -> PathBuf {
        self.path().join("logs")
    }
}

impl Running {
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Everything printed so far.
    pub fn stdout(&self) -> String {
        read(&self.stdout)
    }

    pub fn stderr(&self) -> String {
        read(&self.stderr)
    }

    /// Sends a signal; a program that has ended already does not mind.
    #[track_caller]
    pub fn signal(&self, signal: rustix::process::Signal) {
        let id = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        let id = id.expect("a child's id is a positive i32");
        match rustix::process::kill_process(id, signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => panic!("signal {}: {error}", self.argv),
        }
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("our own child can be waited for").is_some()
    }

    /// `kill -9`, then the end.
    #[track_caller]
    pub fn kill(mut self) -> Ran {
        self.child.kill().unwrap_or_else(|error| panic!("kill {}: {error}", self.argv));
        self.finish(DEADLINE)
    }

    /// Waits for the end; a program that outlives the deadline fails the test.
    #[track_caller]
    pub fn finish(mut self, deadline: Duration) -> Ran {
        let ended = poll::value(deadline, || self.child.try_wait().expect("our own child can be waited for"));
        let (stdout, stderr) = (self.stdout(), self.stderr());
        match ended {
            Some(status) => Ran { status, stdout, stderr },
            None => panic!("{} did not end within {deadline:?}\n{stdout}\n{stderr}", self.argv),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only when the child has ended and was waited for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ran {
    /// The exit code; a program ended by a signal fails the test.
    #[track_caller]
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("{self}"))
    }

    /// Asserts the exit code, showing what was printed where it differs.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "{self}");
        self
    }

    /// The whole of stdout as one JSON value.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("not JSON: {error}: {self}"))
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}\n--- stdout\n{}\n--- stderr\n{}", self.status, self.stdout, self.stderr)
    }
}

fn read(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("read {}: {error}", path.display()));
    String::from_utf8_lossy(&bytes).into_owned()
}
