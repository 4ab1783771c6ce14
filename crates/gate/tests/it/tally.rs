//! Tests, counted in junit files of real shapes and of hostile ones.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use windlass_core::id::BlobId;
use windlass_core::tally::{Counts, Earlier, Tally};
use windlass_gate::{Before, Counted, JunitFiles};

fn shape(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/junit").join(name)).unwrap()
}

fn count(bytes: &[u8]) -> Result<Counted, String> {
    Counted::of(&[("out.xml".to_owned(), bytes.to_vec())])
}

fn counts(bytes: &[u8]) -> Counts {
    count(bytes).unwrap().counts(BlobId::new("n"), None)
}

fn numbers(counts: &Counts) -> [u32; 4] {
    [counts.tests, counts.failures, counts.errors, counts.skipped]
}

#[test]
fn every_runner_is_counted_alike() {
    for (file, expected) in [
        ("pytest.xml", [6, 1, 1, 2]),
        ("nextest.xml", [4, 1, 0, 0]),
        ("jest.xml", [4, 1, 0, 1]),
        ("surefire.xml", [4, 1, 1, 1]),
        ("go.xml", [4, 1, 0, 1]),
        ("googletest.xml", [3, 0, 0, 2]),
    ] {
        assert_eq!(numbers(&counts(&shape(file))), expected, "{file}");
    }
    assert_eq!(counts(&shape("nextest.xml")).failed.first, ["calc::it::divides"]);
    let names = count(&shape("pytest.xml")).unwrap().names();
    assert_eq!(
        names,
        "r tests.test_calc::test_add\nr tests.test_calc::test_div[0-<zero>]\ns tests.test_calc::test_known\n\
         s tests.test_calc::test_later\nr tests.test_db.TestOpen::test_close\nr tests.test_db.TestOpen::test_open\n"
    );
}

#[test]
fn several_files_are_one_tally() {
    let files = ["go.xml", "googletest.xml"].map(|name| (name.to_owned(), shape(name)));
    let all = Counted::of(&files).unwrap();
    assert_eq!(numbers(&all.counts(BlobId::new("n"), None)), [7, 1, 0, 3]);
    let bad = Counted::of(&[files[0].clone(), ("b.xml".to_owned(), b"<testsuite>".to_vec())]);
    assert_eq!(bad.unwrap_err(), "b.xml ends in the middle");
}

#[test]
fn a_suite_that_fails_outside_of_its_tests_has_failed() {
    let text = r#"<testsuite name="s" tests="1" errors="1" failures="0"><testcase name="a"/></testsuite>"#;
    let counts = counts(text.as_bytes());
    assert_eq!(numbers(&counts), [1, 0, 1, 0]);
    assert!(Tally::Counted(counts).red_reason().is_some());
}

#[test]
fn what_is_compared_is_names() {
    let earlier = "r a\nr b\nr c\ns d\nr twice\nr twice\n";
    let now = r#"<testsuite><testcase name="a"/><testcase name="c"><skipped/></testcase><testcase name="d">
        <skipped/></testcase><testcase name="twice"/><testcase name="new"><skipped/></testcase></testsuite>"#;
    let compared =
        count(now.as_bytes()).unwrap().counts(BlobId::new("n"), Some((Earlier::Accepted, earlier)));
    let compared = compared.compared.unwrap();
    assert_eq!((compared.tests, compared.with), (6, Earlier::Accepted));
    assert_eq!(compared.vanished.first, ["b"]);
    assert_eq!(compared.newly_skipped.first, ["c"], "d was skipped before, and new is new");
}

#[test]
fn what_is_no_junit_file_is_said() {
    let deep = format!("<testsuite>{}", "<a>".repeat(100_000));
    let nested = "<testsuite><testcase name='a'><testcase name='b'/></testcase></testsuite>";
    let laughs = "<!DOCTYPE l [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;\">]><testsuite name=\"&b;\"/>";
    for (text, what) in [
        ("", "is empty"),
        ("   \n", "is empty"),
        ("<html></html>", "is no junit file"),
        ("{\"tests\": 3}", "is empty"),
        ("<testsuite>", "ends in the middle"),
        ("<testsuite></testsuites>", "is not well formed"),
        ("<testsuite/><testsuite/>", "is no junit file"),
        (laughs, "declares a document type"),
        ("<testsuite name=\"&b;\"/>", "has a bad attribute"),
        (&deep, "deep"),
        (nested, "a test within a test"),
    ] {
        let why = count(text.as_bytes()).unwrap_err();
        assert!(why.contains(what), "{}: {why}", text.chars().take(40).collect::<String>());
    }
    assert!(count(b"<testsuite name='\xff'/>").unwrap_err().contains("UTF-8"));
}

/// Linear, whatever is in it: the bound on the size is then a bound on the time.
#[test]
fn a_large_hostile_file_takes_no_longer_than_its_size() {
    let many = |what: &str, times| format!("<testsuite name='s'>{}</testsuite>", what.repeat(times));
    let attributes: String = (0..300_000).map(|n| format!(" a{n}='x'")).collect();
    for text in [
        many("<testcase name='a'/>", 500_000),
        many("<testcase name='a'><failure/></testcase>", 200_000),
        many("&amp;", 1_000_000),
        format!("<testsuite{attributes}/>"),
        format!("<testsuite name='{}'/>", "&amp;".repeat(1_000_000)),
        format!("<testsuite><!--{}--></testsuite>", "-".repeat(10)),
    ] {
        let begun = Instant::now();
        let _ = count(text.as_bytes());
        assert!(begun.elapsed() < Duration::from_secs(30), "{} bytes", text.len());
    }
}

struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, path: &str, bytes: &[u8]) -> &Self {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        self
    }

    fn read(&self, glob: &str) -> Result<Vec<String>, String> {
        self.read_since(glob, &Before::default())
    }

    fn read_since(&self, glob: &str, before: &Before) -> Result<Vec<String>, String> {
        let files = JunitFiles::new(glob).unwrap().read(self.0.path(), before)?;
        Ok(files.into_iter().map(|(path, _)| path).collect())
    }
}

#[test]
fn files_are_found_by_name_and_by_glob() {
    let tree = Tree::new();
    tree.file("out.xml", b"1").file("a/TEST-x.xml", b"2").file("a/b/TEST-y.xml", b"3").file("a/other", b"4");
    tree.file(".git/TEST-z.xml", b"5");
    assert_eq!(tree.read("out.xml").unwrap(), ["out.xml"]);
    assert_eq!(tree.read("./out.xml").unwrap(), ["out.xml"]);
    assert_eq!(tree.read("a/TEST-*.xml").unwrap(), ["a/TEST-x.xml"]);
    assert_eq!(tree.read("**/TEST-*.xml").unwrap(), ["a/TEST-x.xml", "a/b/TEST-y.xml"]);
    assert_eq!(tree.read("none.xml").unwrap_err(), "it wrote no file none.xml");
    assert_eq!(tree.read("no/dir/*.xml").unwrap_err(), "it wrote no file no/dir/*.xml");
    for bad in ["", "/etc/passwd", "../out.xml", "a/../b", "a[", "."] {
        assert!(JunitFiles::new(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_file_that_was_there_before_is_no_word_of_the_check() {
    let tree = Tree::new();
    tree.file("r/a.xml", b"old").file("r/b.xml", b"old");
    let before = JunitFiles::new("r/*.xml").unwrap().before(tree.0.path());
    assert_eq!(tree.read_since("r/*.xml", &before).unwrap_err(), "it wrote no file r/*.xml");
    fs::remove_file(tree.0.path().join("r/b.xml")).unwrap();
    tree.file("r/b.xml", b"old").file("r/c.xml", b"new");
    assert_eq!(tree.read_since("r/*.xml", &before).unwrap(), ["r/b.xml", "r/c.xml"]);
}

#[test]
fn only_a_regular_file_inside_the_tree_is_read_and_nothing_blocks() {
    let secret = tempfile::NamedTempFile::new().unwrap();
    let begun = Instant::now();
    let refused = |make: &dyn Fn(&Path), glob: &str| {
        let tree = Tree::new();
        make(tree.0.path());
        tree.read(glob).unwrap_err()
    };
    let link = |root: &Path| symlink(secret.path(), root.join("out.xml")).unwrap();
    assert_eq!(refused(&link, "out.xml"), "out.xml is no regular file");
    assert_eq!(refused(&link, "*.xml"), "out.xml is no regular file");
    let pipe = |root: &Path| {
        let mode = rustix::fs::Mode::RWXU;
        rustix::fs::mknodat(rustix::fs::CWD, root.join("out.xml"), rustix::fs::FileType::Fifo, mode, 0)
            .unwrap();
    };
    assert_eq!(refused(&pipe, "out.xml"), "out.xml is no regular file");
    let outside = secret.path().parent().unwrap();
    let through = |root: &Path| symlink(outside, root.join("r")).unwrap();
    assert!(refused(&through, "r/out.xml").contains("cannot be opened as a directory"));
    assert!(refused(&through, "r/*.xml").contains("cannot be opened as a directory"));
    assert_eq!(refused(&through, "**/*.xml"), "it wrote no file **/*.xml", "no link is followed");
    let sparse = |root: &Path| {
        fs::File::create(root.join("out.xml")).unwrap().set_len(10 << 30).unwrap();
    };
    assert_eq!(refused(&sparse, "out.xml"), "out.xml is too large: 64 MiB are read in all");
    let many = |root: &Path| {
        for n in 0..3 {
            fs::File::create(root.join(format!("{n}.xml"))).unwrap().set_len(30 << 20).unwrap();
        }
    };
    assert_eq!(refused(&many, "*.xml"), "2.xml is too large: 64 MiB are read in all");
    let dir = |root: &Path| fs::create_dir(root.join("out.xml")).unwrap();
    assert_eq!(refused(&dir, "out.xml"), "it wrote no file out.xml");
    assert!(begun.elapsed() < Duration::from_secs(10), "refused at once");
}

#[test]
fn a_deep_tree_is_walked_only_so_far() {
    let tree = Tree::new();
    let deep = "d/".repeat(200);
    fs::create_dir_all(tree.0.path().join(&deep)).unwrap();
    tree.file(&format!("{deep}out.xml"), b"x");
    assert_eq!(tree.read("**/out.xml").unwrap_err(), "it wrote no file **/out.xml");
}
