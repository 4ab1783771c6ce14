//! Caches: filled by the baseline, copied for each check, never written back.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use windlass_gate::{Cache, CacheCopied, CacheCopy};

struct Stage {
    root: tempfile::TempDir,
    cache: Cache,
}

impl Stage {
    fn new(names: &[&str]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let cache = Cache::new(root.path().join("caches/demo"), &names);
        for dir in ["tree", "layer"] {
            fs::create_dir(root.path().join(dir)).unwrap();
        }
        cache.clear().unwrap();
        Self { root, cache }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn file(&self, path: &str, text: &str) -> &Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn seeded(&self) -> &Self {
        self.file("built/target/debug/app", "built").file("built/target/.fingerprint/x", "1");
        self.cache.keep(&self.path("built")).unwrap();
        self.cache.seal().unwrap();
        self
    }

    fn copy(&self, changed: &[&str]) -> CacheCopied {
        let changed: Vec<PathBuf> = changed.iter().map(PathBuf::from).collect();
        let (to, tree) = (self.path("layer"), self.path("tree"));
        self.cache.copy(CacheCopy { to: &to, tree: &tree, changed: &changed }).unwrap()
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.path(path)).ok()
    }
}

fn set_time(path: &Path, seconds: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    fs::File::open(path).unwrap().set_modified(time).unwrap();
}

const LONG_AGO: u64 = 1_000_000_000;
const FAR_AHEAD: u64 = 10_000_000_000;

#[test]
fn a_copy_is_private_and_keeps_its_times() {
    let stage = Stage::new(&["target"]);
    stage.file("built/target/debug/app", "built");
    set_time(&stage.path("built/target/debug/app"), LONG_AGO);
    let then = fs::metadata(stage.path("built/target/debug/app")).unwrap().modified().unwrap();
    stage.cache.keep(&stage.path("built")).unwrap();
    stage.cache.seal().unwrap();
    assert!(!stage.path("built/target").exists(), "taken away, not copied");
    assert_eq!(stage.copy(&[]), CacheCopied::Copied);
    assert_eq!(fs::metadata(stage.path("layer/target/debug/app")).unwrap().modified().unwrap(), then);
    stage.file("layer/target/debug/app", "poisoned");
    fs::remove_dir_all(stage.path("layer")).unwrap();
    fs::create_dir(stage.path("layer")).unwrap();
    stage.copy(&[]);
    assert_eq!(stage.read("layer/target/debug/app").as_deref(), Some("built"));
}

#[test]
fn nothing_is_lent_before_the_baseline_is_over() {
    let stage = Stage::new(&["target"]);
    stage.file("built/target/x", "1");
    stage.cache.keep(&stage.path("built")).unwrap();
    assert_eq!(stage.copy(&[]), CacheCopied::Nothing, "a baseline that was cut short seals nothing");
    stage.cache.seal().unwrap();
    assert_eq!(stage.copy(&[]), CacheCopied::Copied);
    stage.cache.clear().unwrap();
    assert_eq!(stage.copy(&[]), CacheCopied::Nothing);
}

#[test]
fn a_changed_file_that_looks_older_than_the_cache_forbids_it() {
    let stage = Stage::new(&["target"]);
    stage.seeded().file("tree/src/lib.rs", "broken");
    set_time(&stage.path("tree/src/lib.rs"), FAR_AHEAD);
    assert_eq!(stage.copy(&["src/lib.rs", "src/deleted.rs"]), CacheCopied::Copied);
    fs::remove_dir_all(stage.path("layer/target")).unwrap();
    set_time(&stage.path("tree/src/lib.rs"), LONG_AGO);
    assert_eq!(stage.copy(&["src/lib.rs"]), CacheCopied::Stale("src/lib.rs".into()));
    assert!(!stage.path("layer/target").exists());
    assert_eq!(stage.copy(&[]), CacheCopied::Copied, "what is as in the base may be older");
}

#[test]
fn the_work_is_never_covered_by_the_cache() {
    let stage = Stage::new(&["target", "web/modules"]);
    stage.file("built/web/modules/a/index.js", "cached").file("built/target/y", "cached");
    stage.seeded();
    stage.file("tree/target/debug/app", "of the tree");
    std::os::unix::fs::symlink("/etc", stage.path("tree/web")).unwrap();
    assert_eq!(stage.copy(&[]), CacheCopied::Copied);
    assert_eq!(stage.read("layer/target/debug/app"), None, "the tree's own shows through");
    assert_eq!(stage.read("layer/target/.fingerprint/x").as_deref(), Some("1"));
    assert!(!stage.path("layer/web").exists(), "a link in the way is left alone");
    fs::remove_file(stage.path("tree/web")).unwrap();
    stage.file("tree/web/modules", "a file of the tree");
    stage.copy(&[]);
    assert!(!stage.path("layer/web").exists(), "and so is a file");
}

#[test]
fn links_and_locked_directories_are_copied_as_they_are() {
    use std::os::unix::fs::PermissionsExt;
    let stage = Stage::new(&["target"]);
    stage.file("built/target/locked/file", "x");
    std::os::unix::fs::symlink("/nowhere", stage.path("built/target/link")).unwrap();
    let locked = stage.path("built/target/locked");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o555)).unwrap();
    stage.cache.keep(&stage.path("built")).unwrap();
    stage.cache.seal().unwrap();
    stage.copy(&[]);
    assert_eq!(fs::read_link(stage.path("layer/target/link")).unwrap(), Path::new("/nowhere"));
    assert_eq!(stage.read("layer/target/locked/file").as_deref(), Some("x"));
    stage.cache.clear().unwrap();
    assert_eq!(fs::read_dir(stage.path("caches/demo")).unwrap().count(), 0);
}
