//! Repositories where a loop cannot go on: it says so and harms nothing.

use windlass_testkit::Repo;

use crate::case::{Case, LOOP, RUN, Seen, Setup};

const HONEST: &str = "echo 42 >answer.txt\ncomplete";
const HELD: &str = "hold\necho 42 >answer.txt\ncomplete";

#[track_caller]
fn paused_for_the_branch(case: &Case, seen: &Seen) {
    assert_eq!(seen.ran.code(), 6, "{}", seen.ran);
    assert_eq!(seen.view["status"], "paused", "{:#}", seen.view);
    let paused = seen.log.of("paused");
    assert_eq!(paused.last().map(|line| &line["why"]), Some(&"branch_moved".into()), "{}", seen.log);
    assert_eq!(case.windlass(&["status", LOOP, "--json"]).json()["paused"]["why"], "branch_moved");
}

/// A branch named `windlass` leaves no room for `windlass/<loop>`.
#[test]
fn a_branch_in_the_way_pauses() {
    let case = Setup::new(HONEST).ready();
    case.repo.git(["branch", "windlass"]);
    let head = case.repo.rev("windlass");
    // The fingerprint takes everything below refs/heads/windlass for the loop's.
    let case = case.looked_at();
    let seen = case.look(case.windlass(&["run", "--name", LOOP]));
    paused_for_the_branch(&case, &seen);
    assert_eq!(case.repo.rev("refs/heads/windlass"), head);

    case.repo.git(["branch", "-m", "windlass", "mine"]);
    let case = case.looked_at();
    case.windlass(&["resume", LOOP]).expect_code(0);
    case.run().completed();
    assert_eq!(case.turns("author"), 1, "the work was not done twice");
}

#[test]
fn a_branch_that_no_loop_made_is_refused_before_anything_starts() {
    let case = Setup::new(HONEST).ready();
    let branch = format!("windlass/{LOOP}");
    case.repo.git(["branch", &branch]);
    case.repo.git(["pack-refs", "--all"]);
    for words in [&["run", "--name", LOOP][..], &["run", "--name", LOOP, "--dry-run"]] {
        let refused = case.windlass(words).expect_code(2).stderr;
        assert!(
            refused.contains(&format!("branch {branch} is there already, and no loop made it")),
            "{refused}"
        );
        assert!(refused.contains(&format!("`git branch -m {branch} OTHER-NAME`")), "{refused}");
    }
    assert_eq!(case.turns("author"), 0);
    assert_eq!(case.windlass(&["list", "--json"]).expect_code(0).json(), serde_json::json!([]));
    let mine = case.repo.rev("HEAD");
    case.repo.git(["branch", "-m", &branch, "mine"]);
    let case = case.looked_at();
    case.run().completed();
    assert_eq!(case.repo.rev("mine"), mine);
}

#[test]
fn a_goal_takes_a_name_whose_branch_is_free() {
    let case = Setup::new(HONEST).ready();
    case.repo.git(["branch", "windlass/make-the-tests-pass"]);
    let told = case.windlass(&["run", "make the tests pass", "--json"]).expect_code(0).json();
    assert_eq!(told["loop"], "make-the-tests-pass-2", "{told:#}");
    assert_eq!(case.repo.rev("windlass/make-the-tests-pass"), case.repo.rev("HEAD"));
}

#[test]
fn a_branch_that_is_checked_out_pauses() {
    let case = Setup::new(HELD).task("a", "# A\n").task("b", "# B\n").ready();
    case.agent(
        "echo 42 >answer.txt\necho $WINDLASS_TASK >>log.txt\nif [ $n -eq 2 ]; then hold; fi\ncomplete",
    );
    let running = case.start_until("author", 2);
    let tree = case.repo.beside("looking");
    case.repo.git(["worktree", "add", "--quiet", &tree.display().to_string(), &format!("windlass/{LOOP}")]);
    let landed = case.repo.rev(&format!("windlass/{LOOP}"));
    let case = case.looked_at();
    case.leave("go");
    let seen = case.look(running.finish(RUN));
    paused_for_the_branch(&case, &seen);
    assert_eq!(case.repo.rev(&format!("windlass/{LOOP}")), landed, "what is checked out does not move");

    case.repo.git(["worktree", "remove", "--force", &tree.display().to_string()]);
    let case = case.looked_at();
    case.windlass(&["resume", LOOP]).expect_code(0);
    case.run().completed();
}

#[test]
fn a_branch_that_was_moved_pauses() {
    let case = Setup::new(HELD).ready();
    let running = case.start_until("author", 1);
    case.repo.git(["branch", &format!("windlass/{LOOP}"), "HEAD"]);
    let moved = case.repo.git(["commit-tree", "-p", "HEAD", "-m", "mine", "HEAD^{tree}"]);
    case.repo.git(["update-ref", &format!("refs/heads/windlass/{LOOP}"), &moved]);
    let case = case.looked_at();
    case.leave("go");
    let seen = case.look(running.finish(RUN));
    paused_for_the_branch(&case, &seen);
    let detail = seen.view["paused"]["detail"].as_str().unwrap();
    let said = format!("windlass/{LOOP} exists, and this loop did not make it; rename or delete it");
    assert!(detail.contains(&said) && !detail.contains(&moved), "{detail}");
    assert_eq!(case.repo.rev(&format!("windlass/{LOOP}")), moved, "the user's commit stays");

    case.repo.git(["update-ref", "-d", &format!("refs/heads/windlass/{LOOP}")]);
    case.windlass(&["resume", LOOP]).expect_code(0);
    case.run().completed();
}

/// Nothing of it is left in the user's repository, and the command that is told brings it back.
#[test]
fn a_branch_that_was_deleted_has_a_way_back() {
    let case = Setup::new(HELD).task("a", "# A\n").task("b", "# B\n").ready();
    case.agent(
        "echo 42 >answer.txt\necho $WINDLASS_TASK >>log.txt\nif [ $n -eq 2 ]; then hold; fi\ncomplete",
    );
    let running = case.start_until("author", 2);
    let landed = case.repo.rev(&format!("windlass/{LOOP}"));
    case.repo.git(["branch", "-D", &format!("windlass/{LOOP}")]);
    case.repo.git(["reflog", "expire", "--expire=now", "--all"]);
    case.repo.git(["gc", "--quiet", "--prune=now"]);
    let case = case.looked_at();
    case.leave("go");
    let seen = case.look(running.finish(RUN));
    paused_for_the_branch(&case, &seen);
    let detail = seen.view["paused"]["detail"].as_str().unwrap().to_owned();
    let told =
        detail.split('`').find(|part| part.starts_with("git branch ")).unwrap_or_else(|| panic!("{detail}"));
    assert_eq!(told, format!("git branch windlass/{LOOP} {landed}"));
    case.repo.git(told.split(' ').skip(1));
    case.windlass(&["resume", LOOP]).expect_code(0);
    case.run().completed();
    assert_eq!(case.turns("author"), 2, "the work was not done twice");
}

#[test]
fn a_lock_that_a_killed_git_left_pauses_and_is_named() {
    let case = Setup::new(HELD).ready();
    let running = case.start_until("author", 1);
    let dir = case.repo.path().join(".git/refs/heads/windlass");
    std::fs::create_dir_all(&dir).unwrap();
    let lock = dir.join(format!("{LOOP}.lock"));
    std::fs::write(&lock, "").unwrap();
    let case = case.looked_at();
    case.leave("go");
    let seen = case.look(running.finish(RUN));
    paused_for_the_branch(&case, &seen);
    let detail = seen.view["paused"]["detail"].as_str().unwrap();
    assert!(detail.contains(&format!("is locked by {}", lock.display())), "{detail}");
    assert!(lock.exists(), "it is the user's to delete");
    std::fs::remove_file(&lock).unwrap();
    let case = case.looked_at();
    case.windlass(&["resume", LOOP]).expect_code(0);
    case.run().completed();
    assert_eq!(case.turns("author"), 1, "the work was not done twice");
}

/// What `next:` names first takes the cause away; to resume alone would lead back to the same pause.
#[test]
fn next_names_what_mends_the_branch() {
    let case = Setup::new("echo 42 >answer.txt\necho $n >count.txt\ncomplete")
        .task("first", "# The first\n")
        .task("second", "# The second\n")
        .ready();
    case.windlass(&["run", "--name", LOOP, "--task", "first"]).expect_code(0);
    case.repo.git(["checkout", "--quiet", &format!("windlass/{LOOP}")]);
    case.windlass(&["run", LOOP]).expect_code(6);
    let page = case.windlass(&["status", LOOP]).expect_code(0).stdout;
    let next = page.lines().find(|line| line.starts_with("next: ")).unwrap_or_else(|| panic!("{page}"));
    let command = next.trim_start_matches("next: ").split("   (").next().unwrap();
    assert!(command.starts_with("git -C ") && command.ends_with(" switch --detach"), "{page}");
    case.repo.git(command.split(' ').skip(1));
    case.windlass(&["resume", LOOP]).expect_code(0);
    case.windlass(&["run", LOOP]).expect_code(0);
}

#[test]
fn a_sha256_repository_is_refused_clearly() {
    let case = Setup::on(Repo::init(&["--object-format=sha256"]), HONEST).ready();
    let ran = case.windlass(&["run", "--name", LOOP]);
    if ran.status.code() == Some(0) {
        case.look(ran).completed();
        return;
    }
    let ran = ran.expect_code(2);
    assert!(ran.stderr.contains("sha256") || ran.stderr.contains("SHA-256"), "{ran}");
    case.nothing_was_made();
}

/// What was left out of a partial clone has to be fetched by its owner: windlass has no credentials.
#[test]
fn a_partial_clone_without_the_bases_files_is_refused_with_the_remedy() {
    let upstream = Setup::new(HONEST).ready();
    upstream.repo.git(["config", "uploadpack.allowFilter", "true"]);
    let clone = Repo::empty();
    let url = format!("file://{}", upstream.repo.path().display());
    clone.git(["remote", "add", "origin", &url]);
    clone.git(["fetch", "--quiet", "--filter=blob:none", "origin", "main"]);
    clone.git(["update-ref", "refs/heads/main", "FETCH_HEAD"]);
    let case = Setup::on(clone, HONEST).uncommitted().looked_at();
    let ran = case.windlass(&["run", "--name", LOOP]).expect_code(2);
    assert!(ran.stderr.contains("fetch") && ran.stderr.contains("origin"), "{ran}");
    case.nothing_was_made();
    assert_eq!(case.turns("author"), 0);
}

#[test]
fn an_orphan_branch_without_commits_is_refused() {
    let case = Setup::new(HONEST).ready();
    case.repo.git(["checkout", "--quiet", "--orphan", "empty"]);
    let case = case.looked_at();
    let ran = case.windlass(&["run", "--name", LOOP]).expect_code(2);
    assert!(ran.stderr.contains("commit"), "{ran}");
    case.nothing_was_made();
}
