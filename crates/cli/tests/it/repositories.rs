//! Repositories as people have them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use windlass_testkit::{Repo, repo};

use crate::case::{Case, LOOP, Setup};

const HONEST: &str = "echo 42 >answer.txt\ncomplete";

/// The branch differs from the base by the answer, and by nothing else.
#[track_caller]
fn only_the_answer_changed(case: &Case) {
    let raw = case.repo.git(["diff-tree", "-r", "--no-renames", "HEAD", &format!("windlass/{LOOP}")]);
    assert_eq!(raw.lines().count(), 1, "{raw}");
    assert!(raw.ends_with("M\tanswer.txt"), "{raw}");
}

#[test]
fn names_of_every_kind() {
    let setup = Setup::new("echo 42 >answer.txt\nprintf x >'fresh\nline'\nprintf x >-new\nprintf x >\"$(printf 'new\\351')\"\ncomplete")
        .file("with space.txt", "1\n")
        .file("new\nline/inner\ttab", "2\n")
        .file("-leading-dash", "3\n")
        .file("--", "4\n")
        .file(":(glob)*", "5\n")
        .file(Path::new(OsStr::from_bytes(b"caf\xe9.txt")), "6\n")
        .file("wei\u{df}/\u{1f980}", "7\n")
        .file("\"quoted\" \\ back", "8\n");
    let case = setup.ready();
    case.run().completed();
    let diff = case.repo.git(["diff-tree", "-r", "-z", "--name-status", "HEAD", &format!("windlass/{LOOP}")]);
    assert_eq!(diff.matches("A\0").count(), 3, "{diff:?}");
    assert_eq!(diff.matches("M\0").count(), 1, "{diff:?}");
    assert_eq!(diff.matches("D\0").count(), 0, "{diff:?}");
}

#[test]
fn links_and_executables_keep_their_kind() {
    let setup = Setup::new(
        "test -x tool && test -L link && test -L dangling && test -L up && echo fine >\"$side/kinds\"\nchmod +x README.md\necho 42 >answer.txt\ncomplete",
    );
    let case = setup.uncommitted();
    case.repo
        .executable("tool", "#!/bin/sh\n")
        .symlink("link", "answer.txt")
        .symlink("dangling", "nowhere")
        .symlink("dir/up", "../README.md")
        .symlink("up", "dir");
    case.repo.commit("first");
    let case = case.looked_at();
    case.run().completed();
    assert_eq!(case.left("kinds").trim(), "fine");
    let raw = case.repo.git(["diff-tree", "-r", "HEAD", &format!("windlass/{LOOP}")]);
    assert_eq!(raw.lines().count(), 2, "{raw}");
    assert!(raw.contains(":100644 100755") && raw.contains("README.md"), "{raw}");
}

#[test]
fn ignored_files_stay_out_unless_they_are_tracked() {
    let agent = "echo 42 >answer.txt\necho x >debug.log\nmkdir -p build && echo x >build/out\necho changed >kept.log\ncomplete";
    let case = Setup::new(agent).file(".gitignore", "*.log\nbuild/\n").uncommitted();
    case.repo.file("kept.log", "tracked\n");
    case.repo.git(["add", "--force", "kept.log"]);
    case.repo.commit("first");
    let case = case.looked_at();
    case.run().completed();
    let names = case.repo.git(["diff", "--name-only", "HEAD", &format!("windlass/{LOOP}")]);
    assert_eq!(names, "answer.txt\nkept.log");
}

#[test]
fn a_submodule_stays_what_it_is() {
    let inner = Repo::with(&[("lib.txt", "inner\n")]);
    let case = Setup::new(HONEST).uncommitted();
    let url = inner.path().display().to_string();
    case.repo.git(["submodule", "--quiet", "add", &url, "vendor"]);
    case.repo.commit("first");
    let case = case.looked_at();
    let seen = case.run();
    seen.completed();
    only_the_answer_changed(&case);
    assert!(case.repo.git(["ls-tree", &format!("windlass/{LOOP}"), "vendor"]).starts_with("160000 commit"));
}

#[test]
fn text_attributes_normalise_what_the_agent_writes() {
    let agent = "printf '42\\r\\n' >answer.txt\nprintf 'a\\r\\nb\\r\\n' >new.txt\nprintf 'a\\r\\n' >raw.bin\ncomplete";
    let case = Setup::new(agent)
        .file(".gitattributes", "*.txt text\n*.bin -text\n")
        .file("test.sh", "test \"$(tr -d '\\r' <answer.txt)\" = 42\n")
        .ready();
    case.run().completed();
    let show = |path: &str| case.repo.git(["cat-file", "blob", &format!("windlass/{LOOP}:{path}")]);
    assert_eq!(show("answer.txt"), "42");
    assert_eq!(show("new.txt"), "a\nb");
    assert_eq!(show("raw.bin"), "a\r");
}

#[test]
fn a_file_stored_with_crlf_keeps_it() {
    let case = Setup::new(HONEST)
        .file("dos.txt", "one\r\ntwo\r\n")
        .file(".gitattributes", "*.bat eol=crlf\n")
        .file("run.bat", "echo\n")
        .ready();
    case.run().completed();
    only_the_answer_changed(&case);
}

const POINTER: &str = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";

/// Without git-lfs: the attribute is there, the filter is not.
#[test]
fn an_lfs_pointer_stays_a_pointer() {
    let case = Setup::new(HONEST)
        .file(".gitattributes", "*.psd filter=lfs diff=lfs merge=lfs -text\n")
        .file("art.psd", POINTER)
        .ready();
    let seen = case.run();
    seen.completed();
    only_the_answer_changed(&case);
    let said = format!("{}{}", seen.ran.stdout, seen.ran.stderr);
    assert!(
        said.contains("filter") || said.contains("lfs") || said.contains("LFS"),
        "a warning at the start: {said}"
    );
}

#[test]
fn a_changed_lfs_path_is_a_finding() {
    let case = Setup::new("echo 42 >answer.txt\necho pixels >art.psd\ncomplete")
        .file(".gitattributes", "*.psd filter=lfs diff=lfs merge=lfs -text\n")
        .file("art.psd", POINTER)
        .limits("max_no_progress = 2")
        .ready();
    let seen = case.run();
    seen.blocked("no_progress");
    assert_eq!(seen.findings_in("art.psd").len(), 1, "{}", seen.findings);
}

#[test]
fn a_dirty_checkout_is_left_alone_and_said() {
    let case = Setup::new("cat README.md >\"$side/readme\"\necho 42 >answer.txt\ncomplete").ready();
    case.repo
        .file("README.md", "# Half an edit\n")
        .file("untracked.txt", "mine\n")
        .file("staged.txt", "mine too\n");
    case.repo.git(["add", "staged.txt"]);
    let case = case.looked_at();
    let seen = case.run();
    seen.completed();
    assert_eq!(case.left("readme"), "# A question\n", "the base is HEAD");
    let said = format!("{}{}", seen.ran.stdout, seen.ran.stderr);
    let files = "without the changed files in your checkout: README.md, staged.txt, untracked.txt";
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("the loop starts from HEAD") && said.contains(files), "it is said: {said}");
    only_the_answer_changed(&case);
}

#[test]
fn the_agents_own_program_is_read_from_the_checkout_and_not_called_left_out() {
    let repo = windlass_testkit::Repo::empty();
    repo.file("README.md", "# A question\n");
    let policy = "[agent]\nuse = \"command\"\ncommand = [\"sh\", \"./agent.sh\"]\n\
                  [review]\ntasks = false\nfinal = false\n\
                  [[gate.check]]\nname = \"test\"\nrun = \"grep -qx 42 answer.txt\"\n";
    let case = Case::of(repo, policy);
    case.repo.file("agent.sh", "cat >/dev/null\necho 42 >answer.txt\n");
    let goal = "Write the answer";
    let ran = case.windlass(&["run", goal, "--name", "one"]).expect_code(0);
    assert!(!ran.stdout.contains("without the changed files"), "{ran}");
    case.repo.file("more.txt", "mine\n");
    let ran = case.windlass(&["run", "Write it again", "--name", "two"]).expect_code(0);
    let said = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("in your checkout: more.txt"), "{ran}");
}

#[test]
fn a_detached_head_is_a_base_like_any_other() {
    let case = Setup::new(HONEST).ready();
    case.repo.git(["checkout", "--quiet", "--detach"]);
    let case = case.looked_at();
    case.run().completed();
    only_the_answer_changed(&case);
}

#[test]
fn another_base_than_head() {
    let case = Setup::new("cp README.md \"$side/readme\"\necho 42 >answer.txt\ncomplete").ready();
    let old = case.repo.rev("HEAD");
    case.repo.file("README.md", "# Newer\n");
    case.repo.commit("second");
    let case = case.looked_at();
    let ran = case.windlass(&["run", "--name", LOOP, "--base", "HEAD~1"]);
    let seen = case.look(ran);
    seen.completed();
    assert_eq!(seen.view["base"], old);
    assert_eq!(case.left("readme"), "# A question\n");
}

#[test]
fn a_shallow_clone_works() {
    let upstream = Setup::new(HONEST).ready();
    for number in 0..3 {
        upstream.repo.file("more.txt", format!("{number}\n"));
        upstream.repo.commit("more");
    }
    let clone = Repo::empty();
    let url = format!("file://{}", upstream.repo.path().display());
    clone.git(["fetch", "--quiet", "--depth=1", &url, "main"]);
    clone.git(["reset", "--quiet", "--hard", "FETCH_HEAD"]);
    let case = Setup::on(clone, HONEST).ready();
    assert!(case.repo.path().join(".git/shallow").exists(), "it is shallow");
    case.run().completed();
    only_the_answer_changed(&case);
    assert_eq!(case.repo.git(["fsck", "--no-dangling"]), "");
}

/// The base's files are all here; those of older commits are not.
#[test]
fn a_partial_clone_with_the_bases_files_works() {
    let upstream = Setup::new(HONEST).ready();
    upstream.repo.git(["config", "uploadpack.allowFilter", "true"]);
    for number in 0..3 {
        upstream.repo.file("more.txt", format!("{number}\n"));
        upstream.repo.commit("more");
    }
    let clone = Repo::empty();
    let url = format!("file://{}", upstream.repo.path().display());
    clone.git(["remote", "add", "origin", &url]);
    clone.git(["fetch", "--quiet", "--filter=blob:none", "origin", "main"]);
    clone.git(["reset", "--quiet", "--hard", "FETCH_HEAD"]);
    let case = Setup::on(clone, HONEST).ready();
    let missing = case.repo.git(["rev-list", "--objects", "--all", "--missing=print"]);
    assert!(missing.lines().any(|line| line.starts_with('?')), "it is partial: {missing}");
    std::fs::rename(upstream.repo.path(), upstream.repo.beside("moved")).unwrap();
    case.run().completed();
    only_the_answer_changed(&case);
}

#[test]
fn a_linked_worktree_is_a_project() {
    let case = Setup::new(HONEST).ready();
    let tree = case.repo.beside("linked");
    case.repo.git(["worktree", "add", "--quiet", "-b", "side-branch", &tree.display().to_string()]);
    let case = case.looked_at();
    let ran = case.windlass(&["-C", &tree.display().to_string(), "run", "--name", LOOP]).expect_code(0);
    let seen = case.look(ran);
    seen.completed();
    assert!(!case.repo.path().join(".windlass").exists(), "the trail is in the worktree");
    assert!(tree.join(".windlass").exists(), "the trail is in the worktree");
    let status = repo::git(&tree, ["status", "--porcelain"]);
    assert_eq!(status, "", "and git does not see it");
    only_the_answer_changed(&case);
}

#[test]
fn a_project_is_found_from_below_and_from_elsewhere() {
    let case = Setup::new(HONEST).file("deep/er/file", "x\n").ready();
    let below = case.repo.path().join("deep/er");
    case.home.run(&below, ["run", "--name", LOOP]).expect_code(0);
    let ran =
        case.home.run(Path::new("/"), ["-C", &below.display().to_string(), "status", LOOP]).expect_code(0);
    let seen = case.look(ran);
    seen.completed();
    assert!(case.repo.path().join(".windlass").is_dir() && !below.join(".windlass").exists(), "at the top");
}

#[test]
fn the_trail_is_readable_and_git_does_not_see_it() {
    let case = Setup::new(HONEST).ready();
    let seen = case.run();
    seen.completed();
    assert_eq!(case.repo.git(["status", "--porcelain"]), "");
    let trail = case.repo.path().join(".windlass").join("loops").join(LOOP);
    for name in ["state.json", "events.jsonl", "summary.md", "status.txt", "findings.json"] {
        assert!(trail.join(name).is_file(), "{name} is missing in {}", trail.display());
    }
    let events = std::fs::read_to_string(trail.join("events.jsonl")).unwrap();
    assert_eq!(events.lines().count(), seen.log.len(), "the trail is the whole log");
}

#[test]
fn hooks_and_filters_of_the_user_do_not_run() {
    let case = Setup::new(HONEST).ready();
    let ran = case.side().join("hook-ran");
    for hook in [
        "reference-transaction",
        "post-checkout",
        "pre-commit",
        "post-commit",
        "pre-push",
        "post-index-change",
    ] {
        case.repo.executable(
            format!(".git/hooks/{hook}"),
            format!("#!/bin/sh\necho {hook} >>'{}'\n", ran.display()),
        );
    }
    let case = case.looked_at();
    let _ = std::fs::remove_file(&ran);
    let ended = case.windlass(&["run", "--name", LOOP]).expect_code(0);
    assert!(!ran.exists(), "{}: {ended}", std::fs::read_to_string(&ran).unwrap_or_default());
}

#[test]
fn a_large_plan_and_an_empty_file_and_a_deep_path() {
    let deep = "d/".repeat(60) + "leaf";
    let case = Setup::new(HONEST).file("empty", "").file(deep, "x\n").ready();
    case.run().completed();
    only_the_answer_changed(&case);
}
