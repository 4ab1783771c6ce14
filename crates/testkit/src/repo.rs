//! A real git repository in a temporary directory, made the same way on every
//! machine: no configuration of the user or the system, fixed identity and dates.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// Everybody who commits in a test.
pub const NAME: &str = "Ada Operator";
pub const EMAIL: &str = "ada@example.invalid";
const DATE: &str = "2026-01-31T08:00:00+00:00";

/// A repository on branch `main`, deleted when dropped.
#[derive(Debug)]
pub struct Repo {
    dir: TempDir,
    path: PathBuf,
}

impl Repo {
    /// An empty repository: `main` is not born yet.
    #[track_caller]
    pub fn empty() -> Self {
        Self::init(&[])
    }

    /// A repository whose first commit holds these files.
    #[track_caller]
    pub fn with(files: &[(&str, &str)]) -> Self {
        let repo = Self::empty();
        for (path, text) in files {
            repo.file(path, text);
        }
        repo.commit("first");
        repo
    }

    /// An empty repository made with further arguments of `git init`.
    #[track_caller]
    pub fn init(args: &[&str]) -> Self {
        let dir = tempfile::Builder::new().prefix("windlass-repo-").tempdir().expect("temporary directory");
        // The project has a name of its own: paths derived from it stay readable.
        let path = dir.path().canonicalize().expect("temporary directory has a path").join("project");
        fs::create_dir(&path).expect("a fresh directory is writable");
        let repo = Self { dir, path };
        repo.git([&["init", "--quiet", "--initial-branch=main", "--template="], args].concat());
        repo
    }

    /// The checkout.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A directory beside the checkout, for what must outlive nothing else.
    pub fn beside(&self, name: &str) -> PathBuf {
        self.path.with_file_name(name)
    }

    /// Writes a file, and the directories above it.
    #[track_caller]
    pub fn file(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> &Self {
        let file = self.place(path.as_ref());
        fs::write(&file, bytes).unwrap_or_else(|error| panic!("write {}: {error}", file.display()));
        self
    }

    #[track_caller]
    pub fn executable(&self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> &Self {
        self.file(&path, bytes);
        let file = self.path.join(path);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755))
            .unwrap_or_else(|error| panic!("chmod {}: {error}", file.display()));
        self
    }

    #[track_caller]
    pub fn symlink(&self, path: impl AsRef<Path>, target: impl AsRef<Path>) -> &Self {
        let link = self.place(path.as_ref());
        symlink(target, &link).unwrap_or_else(|error| panic!("symlink {}: {error}", link.display()));
        self
    }

    /// Commits everything in the checkout, ignored files excepted, and returns the commit.
    #[track_caller]
    pub fn commit(&self, message: &str) -> String {
        self.git(["add", "--all"]);
        self.git(["commit", "--quiet", "--allow-empty", "--no-verify", "-m", message]);
        self.rev("HEAD")
    }

    /// The object a revision names: `HEAD`, `main^{tree}`, …
    #[track_caller]
    pub fn rev(&self, revision: &str) -> String {
        self.git(["rev-parse", "--verify", "--quiet", revision])
    }

    /// The text of a file at a revision.
    #[track_caller]
    pub fn show(&self, revision: &str, path: &str) -> String {
        self.git(["show", &format!("{revision}:{path}")])
    }

    /// Runs git in the checkout and returns its output without the last newline.
    #[track_caller]
    pub fn git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> String {
        git(&self.path, args)
    }

    /// Runs git in the checkout and returns whatever happened.
    #[track_caller]
    pub fn try_git<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Output {
        run(&mut command(&self.path, args))
    }

    /// Keeps the directory for a look after the test, and says where it is.
    pub fn keep(self) -> PathBuf {
        let _ = self.dir.keep();
        self.path
    }

    fn place(&self, path: &Path) -> PathBuf {
        let file = self.path.join(path);
        let above = file.parent().expect("a path inside the checkout has a parent");
        fs::create_dir_all(above).unwrap_or_else(|error| panic!("mkdir {}: {error}", above.display()));
        file
    }
}

/// Runs git in any directory, isolated as for [`Repo`]; panics when it fails.
#[track_caller]
pub fn git<S: AsRef<OsStr>>(dir: &Path, args: impl IntoIterator<Item = S>) -> String {
    let mut command = command(dir, args);
    let output = run(&mut command);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{command:?} in {}: {}\n{text}{}",
        dir.display(),
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    text.strip_suffix('\n').unwrap_or(&text).to_owned()
}

fn command<S: AsRef<OsStr>>(dir: &Path, args: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new("git");
    command
        .current_dir(dir)
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .envs([
            ("HOME", "/nonexistent"),
            ("LC_ALL", "C"),
            ("TZ", "UTC"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_AUTHOR_NAME", NAME),
            ("GIT_AUTHOR_EMAIL", EMAIL),
            ("GIT_AUTHOR_DATE", DATE),
            ("GIT_COMMITTER_NAME", NAME),
            ("GIT_COMMITTER_EMAIL", EMAIL),
            ("GIT_COMMITTER_DATE", DATE),
        ])
        // A detached `gc` or `maintenance` would change the repository behind the test.
        .args(["-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "protocol.file.allow=always"])
        .args(args);
    command
}

#[track_caller]
fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| panic!("start {command:?}: {error}"))
}
