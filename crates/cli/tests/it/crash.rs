//! What the crash tests share: a loop of three tasks with a final review, and
//! what must hold of it however often it died on the way.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use windlass_testkit::{Scratch, capability};

use crate::case::{Case, LOOP, Setup};

/// Whoever takes a turn holds the lock as long as any process of the turn
/// lives: the descriptor is inherited.
const TURN: &str = r#"exec 9>"$side/lock"
flock -n 9 || echo "$WINDLASS_ROLE $n beside another" >>"$side/violations"
if [ "$WINDLASS_ROLE" = reviewer ]; then
    say '"verdict":"accept","summary":"","findings":[],"resolved":[],"pending":[],"blocker":"","usage":{"input_tokens":7}'
    exit 0
fi
echo "$WINDLASS_TASK" >"$WINDLASS_TASK.txt"
say '"status":"complete","summary":"","blockers":[],"next":[],"usage":{"input_tokens":7}'"#;

const WORDS: &str = r#"for word in one two three; do
    [ ! -e $word.txt ] || [ "$(cat $word.txt)" = $word ] || exit 1
done
test -e one.txt
"#;

/// What the same loop comes to when nobody disturbs it.
pub struct Undisturbed {
    /// Every path it changed, with what is there; the policy names a
    /// directory of each case, so whole trees differ from case to case.
    pub change: String,
    pub took: Duration,
}

pub fn undisturbed() -> &'static Undisturbed {
    static ONCE: OnceLock<Undisturbed> = OnceLock::new();
    ONCE.get_or_init(|| {
        let case = three_tasks(Scratch::new(env!("CARGO_BIN_EXE_windlass")));
        let begun = Instant::now();
        let ran = case.windlass(&["run", "--name", LOOP]);
        let took = begun.elapsed();
        case.look(ran).completed();
        Undisturbed { change: change(&case), took }
    })
}

pub fn three_tasks(home: Scratch) -> Case {
    Setup::new(TURN)
        .reviewer(TURN)
        .review("tasks = false\nfinal = true\n")
        .file("test.sh", WORDS)
        .task("one", "# The first word\n")
        .task("two", "---\ndepends_on: [one]\n---\n# The second word\n")
        .task("three", "---\ndepends_on: [two]\n---\n# The third word\n")
        .home(home)
        .ready()
}

/// Directories in which a run tries what the machine can do.
fn probes(below: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(below).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let found = directories.flat_map(|entry| {
        let is_probe = entry.file_name().to_string_lossy().starts_with("probe-");
        if is_probe { vec![entry.path()] } else { probes(&entry.path()) }
    });
    found.collect()
}

fn change(case: &Case) -> String {
    case.repo.git(["diff-tree", "-r", "HEAD", &format!("windlass/{LOOP}")])
}

pub fn has_flock() -> bool {
    capability::program("flock").is_some()
}

/// Runs the loop once more: the same end as if nothing had happened.
#[track_caller]
pub fn ends_the_same(case: &Case, how: &str) {
    let before = case.windlass(&["status", LOOP, "--json"]);
    let was_over = before.status.code() == Some(0) && before.json()["status"] == "ended";
    let seen = case.run();
    seen.completed();
    let why = || format!("{how}\n{}", seen.log);
    assert_eq!(change(case), undisturbed().change, "the same final tree: {}", why());
    assert_eq!(seen.log.count("iteration_opened"), 3, "each iteration once: {}", why());
    assert_eq!(seen.log.count("task_done"), 3, "{}", why());
    assert_eq!(seen.log.count("run_started"), 1, "the same run: {}", why());
    assert_eq!(case.repo.git(["rev-list", "--count", &format!("HEAD..windlass/{LOOP}")]), "3", "{}", why());
    assert_eq!(case.left("violations"), "", "never a second agent beside a first: {}", why());
    for line in seen.log.of("attempt_finished") {
        let used = line["result"]["usage"]["input_tokens"].as_u64();
        let end = &line["result"]["end"]["kind"];
        let lost = end == "lost" || end == "interrupted";
        assert_eq!(used, (!lost).then_some(7), "a report is counted once, a lost one as unknown: {}", why());
    }
    if was_over {
        // Nobody drives a loop that has ended; its trail is written anew on demand.
        case.windlass(&["export", LOOP]).expect_code(0);
    }
    let trail = case.repo.path().join(".windlass/loops").join(LOOP).join("events.jsonl");
    let trail =
        std::fs::read_to_string(&trail).unwrap_or_else(|error| panic!("{}: {error}", trail.display()));
    assert_eq!(trail, case.windlass(&["log", LOOP, "--json"]).stdout, "the trail is the whole log: {how}");
    let litter = probes(&case.home.state());
    assert!(litter.is_empty(), "a later run clears up after a dead one: {litter:?} {how}");
    for task in ["one", "two", "three"] {
        assert_eq!(seen.task(task)["failures"], 0, "a crash spends no failure: {}", why());
    }
}
