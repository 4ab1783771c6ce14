//! A small repository with a vault and a workspace made from it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use windlass_core::id::{CommitId, TreeId};
use windlass_workspace::{
    BString, CommitText, Depth, Git, Identity, OperatorEnv, ReadFiles, Repository, SnapshotRequest,
    SnapshotRules, Space, SpaceError, StoredSnapshot, Vault,
};

pub struct Lab {
    pub tmp: TempDir,
    pub git: Git,
    pub repo: PathBuf,
}

pub struct Bench {
    pub vault: Vault,
    pub space: Space,
    pub base: CommitId,
    pub rules: SnapshotRules,
}

impl Lab {
    pub fn new() -> Self {
        let tmp = TempDir::new().unwrap();
        let home = tmp.path().join("home");
        std::fs::create_dir(&home).unwrap();
        std::fs::write(home.join(".gitconfig"), "[user]\n\tname = Op Erator\n\temail = op@example.org\n")
            .unwrap();
        let git = Git::locate(OperatorEnv {
            path: std::env::var_os("PATH").unwrap(),
            home: Some(home),
            config_home: None,
        })
        .unwrap();
        let repo = tmp.path().join("project");
        std::fs::create_dir(&repo).unwrap();
        let lab = Self { tmp, git, repo };
        lab.run(&lab.repo, &["init", "-q", "-b", "main"]);
        lab
    }

    /// A lab whose repository has one commit of these files.
    pub fn with(files: &[(&str, &str)]) -> Self {
        let lab = Self::new();
        for (path, content) in files {
            write(&lab.repo, path, content);
        }
        lab.commit("base");
        lab
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.tmp.path().join(name)
    }

    pub fn commit(&self, message: &str) -> CommitId {
        self.run(&self.repo, &["add", "-A"]);
        self.run(&self.repo, &["commit", "-q", "--allow-empty", "-m", message]);
        CommitId::new(self.run(&self.repo, &["rev-parse", "HEAD"]))
    }

    pub fn repository(&self) -> Repository {
        Repository::discover(&self.git, &self.repo).unwrap()
    }

    pub fn vault(&self) -> Vault {
        Vault::open_or_create(&self.git, &self.path("state/vault.git")).unwrap()
    }

    pub fn bench(&self) -> Bench {
        let repository = self.repository();
        let vault = self.vault();
        vault.import(&repository, &repository.head, Depth::Commits(50)).unwrap();
        let mut space = Space::new(&self.path("state/space"), &self.path("state/space.stat"));
        space.create(&vault, &repository.head, &repository.identity).unwrap();
        let rules = SnapshotRules::new(repository.head_tree.clone());
        Bench { vault, space, base: repository.head, rules }
    }

    /// Plain git, as the operator would run it.
    pub fn run<S: AsRef<OsStr>>(&self, dir: &Path, args: &[S]) -> String {
        let output = self.command(dir, args).output().unwrap();
        assert!(output.status.success(), "git failed: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    pub fn command<S: AsRef<OsStr>>(&self, dir: &Path, args: &[S]) -> Command {
        let mut command = Command::new(self.git.program());
        command.args(args).current_dir(dir).env("HOME", self.path("home")).env("GIT_CONFIG_NOSYSTEM", "1");
        command.env_remove("GIT_DIR").env_remove("XDG_CONFIG_HOME");
        command
    }

    /// The tree git itself makes of a directory, starting from a base commit
    /// of the operator's repository.
    pub fn tree_by_git(&self, files: &Path, base: &str) -> String {
        let index = self.path("index-by-git");
        let _ = std::fs::remove_file(&index);
        let go = |args: &[&str]| {
            let output = self
                .command(files, args)
                .env("GIT_DIR", self.repo.join(".git"))
                .env("GIT_WORK_TREE", files)
                .env("GIT_INDEX_FILE", &index)
                .output()
                .unwrap();
            assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
        };
        go(&["read-tree", base]);
        go(&["add", "-A"]);
        go(&["write-tree"])
    }
}

impl Bench {
    pub fn root(&self) -> PathBuf {
        self.space.root().to_owned()
    }

    pub fn snapshot(&mut self) -> StoredSnapshot {
        self.try_snapshot(ReadFiles::Changed).unwrap()
    }

    pub fn try_snapshot(&mut self, reading: ReadFiles) -> Result<StoredSnapshot, SpaceError> {
        let parents = [self.base.clone()];
        let text = text("a snapshot");
        let request = SnapshotRequest { rules: &self.rules, parents: &parents, text: &text, reading };
        self.space.snapshot(&self.vault, &request)
    }

    pub fn file(&self, tree: &TreeId, path: &str) -> Option<String> {
        let bytes = self.vault.read_blob(tree, path.as_bytes()).unwrap()?;
        Some(String::from_utf8(bytes).unwrap())
    }

    pub fn paths(&self, tree: &TreeId) -> Vec<String> {
        self.vault.list_paths(tree).unwrap().into_iter().map(|(path, _)| path.to_string()).collect()
    }
}

pub fn text(message: &str) -> CommitText {
    CommitText { message: message.to_owned(), author: author(), date_ms: 1_700_000_000_123 }
}

pub fn author() -> Identity {
    Identity { name: "Op Erator".to_owned(), email: "op@example.org".to_owned() }
}

pub fn write(root: &Path, path: impl AsRef<[u8]>, content: impl AsRef<[u8]>) {
    let file = root.join(OsStr::from_bytes(path.as_ref()));
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, content).unwrap();
}

pub fn bytes(text: &str) -> BString {
    BString::from(text)
}

pub fn chmod(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}
