//! The operator's project: found, described, never changed here.

use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use windlass_core::id::{CommitId, TreeId};
use windlass_core::plain::shell_word;

use crate::git::{Git, GitError, Invocation};

/// Who commits are made by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub name: String,
    pub email: String,
}

/// Where an identity came from, so that a fallback can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdentitySource {
    Configured,
    Fallback,
}

#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    #[error("{path} is not inside a git repository; run `git init` and commit there first")]
    NotARepository { path: PathBuf },
    #[error("{path} is a bare repository; windlass needs a checkout")]
    Bare { path: PathBuf },
    #[error("{path} has no commits on its current branch; commit something first")]
    NoCommits { path: PathBuf },
    #[error("{path} uses the {format} object format; windlass works with sha1 repositories only")]
    ObjectFormat { path: PathBuf, format: String },
    #[error(
        "commit {commit} is not complete in {path}: {missing} objects are missing; fetch them with `{remedy}`"
    )]
    MissingObjects { path: PathBuf, commit: CommitId, missing: usize, remedy: String },
    #[error("{rev:?} names no commit in {path}")]
    UnknownRevision { path: PathBuf, rev: String },
    #[error("cannot read {path}: {source}")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Git(#[from] GitError),
}

/// The operator's repository as it was when looked at.
#[derive(Clone, Debug)]
pub struct Repository {
    git: Git,
    pub toplevel: PathBuf,
    /// The directory shared by all worktrees, canonical.
    pub common_dir: PathBuf,
    /// Of this worktree; the same as `common_dir` outside linked worktrees.
    pub git_dir: PathBuf,
    pub head: CommitId,
    pub head_tree: TreeId,
    /// The full ref name, absent when HEAD is detached.
    pub branch: Option<String>,
    /// Changed and untracked files that are not part of HEAD.
    pub dirty_files: Vec<String>,
    pub shallow: bool,
    pub partial: bool,
    pub identity: Identity,
    pub identity_source: IdentitySource,
    /// The operator's global ignore file, if there is one.
    pub global_excludes: Option<PathBuf>,
}

impl Repository {
    pub fn discover(git: &Git, path: &Path) -> Result<Self, DiscoverError> {
        let places = Places::find(git, path)?;
        let head = head_of(git, &places)?;
        let (identity, identity_source) = identity(git, &places.toplevel)?;
        let ask = |words: &[&str]| git.as_operator(&places.toplevel).args(words);
        let head_tree =
            ask(&["rev-parse", "--verify", "--end-of-options", &format!("{head}^{{tree}}")]).text()?;
        let dirty_files = changed_paths(
            &ask(&["status", "--porcelain=v1", "-z", "--untracked-files=normal", "--ignore-submodules=all"])
                .run()?
                .stdout,
        );
        Ok(Self {
            branch: optional(ask(&["symbolic-ref", "--quiet", "HEAD"]))?,
            shallow: ask(&["rev-parse", "--is-shallow-repository"]).text()? == "true",
            partial: optional(ask(&[
                "config",
                "--get-regexp",
                r"^(remote\..*\.promisor|extensions\.partialclone)$",
            ]))?
            .is_some(),
            global_excludes: global_excludes(git, &places.toplevel)?,
            head: CommitId::new(head),
            head_tree: TreeId::new(head_tree),
            dirty_files,
            identity,
            identity_source,
            toplevel: places.toplevel,
            common_dir: places.common_dir,
            git_dir: places.git_dir,
            git: git.clone(),
        })
    }

    /// The commit a revision names (`main`, `HEAD~2`, a tag, an id).
    pub fn resolve(&self, rev: &str) -> Result<CommitId, DiscoverError> {
        let wanted = format!("{rev}^{{commit}}");
        let found = optional(self.quiet(&["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted]))?;
        found.map(CommitId::new).ok_or_else(|| DiscoverError::UnknownRevision {
            path: self.toplevel.clone(),
            rev: rev.to_owned(),
        })
    }

    /// Refuses a commit whose tree is not wholly here, naming the remedy. Only
    /// a partial clone can lack objects, so only there it costs anything.
    pub fn require_complete(&self, commit: &CommitId) -> Result<(), DiscoverError> {
        if !self.partial {
            return Ok(());
        }
        let missing = self.missing_objects(commit)?;
        if missing == 0 {
            return Ok(());
        }
        let remote = optional(self.quiet(&["config", "--get", "extensions.partialclone"]))?;
        Err(DiscoverError::MissingObjects {
            path: self.toplevel.clone(),
            commit: commit.clone(),
            missing,
            remedy: format!(
                "git -C {} fetch --refetch --no-filter {}",
                shell_word(&self.toplevel.to_string_lossy()),
                remote.unwrap_or_else(|| "origin".to_owned())
            ),
        })
    }

    /// The tree of a commit, as this repository has it.
    pub fn tree_of(&self, commit: &CommitId) -> Result<TreeId, DiscoverError> {
        let wanted = format!("{commit}^{{tree}}");
        let found = optional(self.quiet(&["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted]))?;
        found.map(TreeId::new).ok_or_else(|| DiscoverError::UnknownRevision {
            path: self.toplevel.clone(),
            rev: commit.to_string(),
        })
    }

    /// How many objects of a commit's tree are not here.
    pub fn missing_objects(&self, commit: &CommitId) -> Result<usize, DiscoverError> {
        let tree = format!("{commit}^{{tree}}");
        let words = ["rev-list", "--objects", "--missing=print", "--no-object-names", &tree];
        let listed = self.quiet(&words).run()?.stdout;
        Ok(listed.split(|byte| *byte == b'\n').filter(|line| line.starts_with(b"?")).count())
    }

    pub(crate) fn git(&self) -> &Git {
        &self.git
    }

    /// Git in the operator's repository, where discovery already accepted its
    /// ownership, with no configuration but the repository's.
    pub(crate) fn quiet(&self, words: &[&str]) -> Invocation {
        self.git.isolated(&self.toplevel).args(words)
    }
}

struct Places {
    toplevel: PathBuf,
    common_dir: PathBuf,
    git_dir: PathBuf,
}

impl Places {
    fn find(git: &Git, path: &Path) -> Result<Self, DiscoverError> {
        let start = path
            .canonicalize()
            .map_err(|source| DiscoverError::Unreadable { path: path.to_owned(), source })?;
        let not_a_repository = |error: GitError| {
            let denied =
                matches!(&error, GitError::Failed { stderr, .. } if stderr.contains("not a git repository"));
            if denied {
                DiscoverError::NotARepository { path: start.clone() }
            } else {
                DiscoverError::Git(error)
            }
        };
        let ask = |words: &[&str]| git.as_operator(&start).args(words);
        let facts = ask(&["rev-parse", "--is-bare-repository", "--show-object-format"]).text();
        let facts = facts.map_err(not_a_repository)?;
        let (bare, format) = facts.split_once('\n').unwrap_or((facts.as_str(), "sha1"));
        if format != "sha1" {
            return Err(DiscoverError::ObjectFormat { path: start, format: format.to_owned() });
        }
        if bare == "true" {
            return Err(DiscoverError::Bare { path: start });
        }
        let place = |words: &[&str]| -> Result<PathBuf, DiscoverError> {
            let mut bytes = ask(words).run().map_err(not_a_repository)?.stdout;
            if bytes.last() == Some(&b'\n') {
                bytes.pop();
            }
            let path = start.join(PathBuf::from(std::ffi::OsString::from_vec(bytes)));
            path.canonicalize().map_err(|source| DiscoverError::Unreadable { path, source })
        };
        Ok(Self {
            toplevel: place(&["rev-parse", "--show-toplevel"])?,
            common_dir: place(&["rev-parse", "--git-common-dir"])?,
            git_dir: place(&["rev-parse", "--absolute-git-dir"])?,
        })
    }
}

fn head_of(git: &Git, places: &Places) -> Result<String, DiscoverError> {
    let ask = git.as_operator(&places.toplevel).args(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]);
    optional(ask)?.ok_or_else(|| DiscoverError::NoCommits { path: places.toplevel.clone() })
}

fn identity(git: &Git, dir: &Path) -> Result<(Identity, IdentitySource), DiscoverError> {
    let read = |key: &str| optional(git.as_operator(dir).args(["config", "--get", key]));
    let filled = |value: Option<String>| value.filter(|text| !text.trim().is_empty());
    Ok(match (filled(read("user.name")?), filled(read("user.email")?)) {
        (Some(name), Some(email)) => (Identity { name, email }, IdentitySource::Configured),
        (name, email) => {
            let name = name.unwrap_or_else(|| "windlass".to_owned());
            let email = email.unwrap_or_else(|| "windlass@localhost".to_owned());
            (Identity { name, email }, IdentitySource::Fallback)
        }
    })
}

fn global_excludes(git: &Git, dir: &Path) -> Result<Option<PathBuf>, DiscoverError> {
    let configured =
        optional(git.as_operator(dir).args(["config", "--type=path", "--get", "core.excludesFile"]))?;
    let env = git.operator_env();
    let default = || {
        let config_home =
            env.config_home.clone().or_else(|| env.home.as_ref().map(|home| home.join(".config")));
        config_home.map(|home| home.join("git/ignore"))
    };
    let file = configured.map(|text| dir.join(text)).or_else(default);
    Ok(file.filter(|file| file.is_file()))
}

/// Git's exit code 1 without a word means "there is none".
fn optional(run: Invocation) -> Result<Option<String>, GitError> {
    match run.text() {
        Ok(text) => Ok(Some(text)),
        Err(GitError::Failed { status, .. }) if status.code() == Some(1) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A rename takes two fields in `-z` output but is one change.
fn changed_paths(status: &[u8]) -> Vec<String> {
    let mut fields = status.split(|byte| *byte == 0).filter(|field| !field.is_empty());
    let mut paths = Vec::new();
    while let Some(field) = fields.next() {
        // Two letters and a space stand before each path.
        paths.push(String::from_utf8_lossy(field.get(3..).unwrap_or_default()).into_owned());
        if matches!(field.first(), Some(b'R' | b'C')) {
            fields.next();
        }
    }
    paths
}

impl Repository {
    /// Whether a commit has something at a path.
    pub fn has_path(&self, commit: &CommitId, path: &str) -> Result<bool, DiscoverError> {
        let spec = format!("{commit}:{path}");
        match self.quiet(&["cat-file", "-e", "--end-of-options", &spec]).run() {
            Ok(_) => Ok(true),
            Err(GitError::Failed { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Every path of a commit.
    pub fn paths(&self, commit: &CommitId) -> Result<Vec<Vec<u8>>, DiscoverError> {
        let listed =
            self.quiet(&["ls-tree", "-r", "-z", "--name-only", "--full-tree", commit.as_str()]).run()?;
        let paths = listed.stdout.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(paths.map(<[u8]>::to_vec).collect())
    }

    /// Whether a commit has a file, or a link, at a path.
    pub fn has_file(&self, commit: &CommitId, path: &str) -> Result<bool, DiscoverError> {
        let spec = format!("{commit}:{path}");
        match self.quiet(&["cat-file", "-t", "--end-of-options", &spec]).run() {
            Ok(kind) => Ok(kind.stdout.trim_ascii() == b"blob"),
            Err(GitError::Failed { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl Repository {
    /// Whether some attributes file of a commit names a filter.
    pub fn has_filters(&self, commit: &CommitId) -> Result<bool, DiscoverError> {
        let words = ["grep", "--quiet", "--extended-regexp", "[[:space:]]filter="];
        match self.quiet(&words).args([commit.as_str(), "--", ":(glob)**/.gitattributes"]).run() {
            Ok(_) => Ok(true),
            Err(GitError::Failed { status, .. }) if status.code() == Some(1) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

/// A new repository with one commit of everything that is there.
pub fn make_repository(git: &Git, dir: &Path) -> Result<(), GitError> {
    git.as_operator(dir).args(["init", "--quiet", "--initial-branch=main"]).run()?;
    make_first_commit(git, dir)
}

/// A commit of whatever is there, be it nothing, in a repository that has none.
pub fn make_first_commit(git: &Git, dir: &Path) -> Result<(), GitError> {
    let who = ["-c", "user.name=windlass", "-c", "user.email=windlass@localhost"];
    git.as_operator(dir).args(["add", "--all"]).run()?;
    git.as_operator(dir).args(who).args(["commit", "--quiet", "--allow-empty", "-m", "Begin"]).run()?;
    Ok(())
}
