//! One loop in one scratch repository: its task files, its policy in the form
//! the contract has, its agents as shell scripts, and a look at everything a
//! run may have touched once it has ended.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use windlass_testkit::scratch::Running;
use windlass_testkit::{Fingerprint, Ran, Repo, Scratch, alive, capability, fingerprint, poll};

use crate::history::History;
use crate::shape;

/// Longer than any step of a test takes on a busy machine.
pub const LONG: Duration = Duration::from_secs(60);
/// Longer than any run of a loop takes on a busy machine.
pub const RUN: Duration = Duration::from_secs(180);

/// The best level this machine has, be it none.
const BEST: &str = "best";

pub const LOOP: &str = "demo1";

/// What the base's own test wants: 42 in `answer.txt`.
pub const TEST: &str = "test \"$(cat answer.txt)\" = 42\n";

/// What every agent script begins with: the nonce, the brief kept beside the
/// repository, a number for the turn, and `say` for the report.
const PRELUDE: &str = r#"IFS= read -r line
nonce=${line#nonce: }
n=$(($(cat "$side/$WINDLASS_ROLE" 2>/dev/null || echo 0) + 1))
cat >"$side/$WINDLASS_ROLE-$n.brief"
echo "$n" >"$side/$WINDLASS_ROLE.new" && mv "$side/$WINDLASS_ROLE.new" "$side/$WINDLASS_ROLE"
say() { printf '{"nonce":"%s",%s}' "$nonce" "$1" >"$WINDLASS_REPORT"; }
complete() { say '"status":"complete","summary":"it is done","blockers":[],"next":[]'; }
accept() { say '"verdict":"accept","summary":"it holds","findings":[],"resolved":[],"pending":[],"blocker":""'; }
hold() { while [ ! -e "$side/go" ]; do sleep 0.05; done; }
"#;

/// A loop before it is committed.
pub struct Setup {
    repo: Repo,
    agent: String,
    reviewer: String,
    timeout: String,
    agent_keys: String,
    checks: String,
    protects: String,
    review: String,
    /// `BEST`, or what `WINDLASS_TEST_LEVEL` says, unless the test has its own.
    level: String,
    /// The level itself unless there is another.
    minimum: Option<String>,
    sandbox_keys: String,
    more: String,
    tasks: usize,
    home: Option<Scratch>,
}

/// A loop that can be run.
pub struct Case {
    pub repo: Repo,
    pub home: Scratch,
    before: Fingerprint,
    refs: String,
}

/// A loop after a run of it.
pub struct Seen {
    pub ran: Ran,
    pub view: Value,
    pub log: History,
    pub findings: Value,
}

impl Setup {
    /// One task, one check, and this author, a shell script.
    pub fn new(agent: &str) -> Self {
        Self::on(Repo::empty(), agent)
    }

    /// The same in a repository that is there already.
    pub fn on(repo: Repo, agent: &str) -> Self {
        repo.file("test.sh", TEST).file("answer.txt", "0\n").file("README.md", "# A question\n");
        Self {
            repo,
            agent: agent.to_owned(),
            reviewer: "accept\n".to_owned(),
            timeout: "60s".to_owned(),
            agent_keys: String::new(),
            checks: "[[gate.check]]\nname = \"test\"\nrun = \"sh ./test.sh\"\n".to_owned(),
            protects: "protect = [\"test.sh\"]\n".to_owned(),
            review: "tasks = false\nfinal = false\n".to_owned(),
            level: std::env::var("WINDLASS_TEST_LEVEL").unwrap_or_else(|_| BEST.to_owned()),
            minimum: None,
            sandbox_keys: String::new(),
            more: String::new(),
            tasks: 0,
            home: None,
        }
    }

    /// At this level whatever the others run at.
    pub fn level(mut self, level: &str) -> Self {
        self.level = level.to_owned();
        self
    }

    /// Without a sandbox, because of what the test does.
    pub fn unconfined(self, _because: &str) -> Self {
        self.level("none")
    }

    pub fn minimum(mut self, level: &str) -> Self {
        self.minimum = Some(level.to_owned());
        self
    }

    /// Further lines of `[sandbox]`.
    pub fn sandbox_keys(mut self, lines: &str) -> Self {
        self.sandbox_keys.push_str(lines);
        self
    }

    pub fn timeout(mut self, span: &str) -> Self {
        self.timeout = span.to_owned();
        self
    }

    /// Further lines of `[agent]`.
    pub fn agent_keys(mut self, lines: &str) -> Self {
        self.agent_keys = lines.to_owned();
        self
    }

    pub fn reviewer(mut self, script: &str) -> Self {
        self.reviewer = script.to_owned();
        self
    }

    /// The lines of `[review]`.
    pub fn review(mut self, lines: &str) -> Self {
        self.review = lines.to_owned();
        self
    }

    /// Every `[[gate.check]]`, in place of the usual one.
    pub fn checks(mut self, tables: &str) -> Self {
        self.checks = tables.to_owned();
        self
    }

    /// The whole of `[gate]` with its checks, in place of the usual one.
    pub fn gate(mut self, lines: &str) -> Self {
        self.checks = lines.to_owned();
        self.protects = String::new();
        self
    }

    /// The lines of `[loop]`.
    pub fn limits(self, lines: &str) -> Self {
        self.more(&format!("[loop]\n{lines}\n"))
    }

    /// Further tables.
    pub fn more(mut self, tables: &str) -> Self {
        self.more.push_str(tables);
        self
    }

    pub fn task(mut self, id: &str, text: &str) -> Self {
        self.tasks += 1;
        self.repo.file(format!("tasks/{id}.md"), text);
        self
    }

    pub fn file(self, path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) -> Self {
        self.repo.file(path, bytes);
        self
    }

    /// A home, with its binary, other than the usual one.
    pub fn home(mut self, home: Scratch) -> Self {
        self.home = Some(home);
        self
    }

    /// Commits everything.
    pub fn ready(self) -> Case {
        let case = self.uncommitted();
        case.repo.commit("first");
        case.looked_at()
    }

    /// Everything is in the checkout, nothing is committed.
    pub fn uncommitted(mut self) -> Case {
        if self.tasks == 0 {
            self = self.task("answer", "# Write the answer\n\nMake the test pass.\n");
        }
        let home = self.home.take().unwrap_or_else(|| Scratch::new(env!("CARGO_BIN_EXE_windlass")));
        let side = side(&self.repo);
        fs::create_dir_all(&side).expect("beside the repository is room");
        write_script(&side, "agent.sh", &self.agent);
        write_script(&side, "reviewer.sh", &self.reviewer);
        self.repo.file("windlass.toml", self.policy(&side));
        let before = fingerprint(self.repo.path());
        Case { repo: self.repo, home, before, refs: String::new() }
    }

    fn policy(&self, side: &Path) -> String {
        let Self { timeout, agent_keys, checks, protects, review, level, sandbox_keys, more, .. } = self;
        let side = side.display();
        let (level, usual) = match level.as_str() {
            BEST => ("auto", "none"),
            "auto" => ("auto", "landlock"),
            level => (level, level),
        };
        let minimum = self.minimum.as_deref().unwrap_or(usual);
        format!(
            r#"[agent]
use = "command"
command = ["sh", "{side}/agent.sh"]
timeout = "{timeout}"
{agent_keys}
[role.reviewer]
use = "command"
command = ["sh", "{side}/reviewer.sh"]
[plan]
source = "tasks/"
[gate]
{protects}{checks}
[review]
{review}
[sandbox]
level = "{level}"
minimum = "{minimum}"
extra_write = ["{side}"]
{sandbox_keys}
{more}"#
        )
    }
}

impl Case {
    /// With everything in the repository but the policy, which is written and committed here.
    pub fn of(repo: Repo, policy: &str) -> Self {
        repo.file("windlass.toml", policy);
        repo.commit("first");
        let home = Scratch::new(env!("CARGO_BIN_EXE_windlass"));
        let before = fingerprint(repo.path());
        Self { repo, home, before, refs: String::new() }.looked_at()
    }

    /// Takes the picture of the repository that later ones are compared with.
    pub fn looked_at(mut self) -> Self {
        self.before = fingerprint(self.repo.path());
        self.refs = self.foreign_refs();
        self
    }

    /// The directory beside the repository where scripts leave what they saw.
    pub fn side(&self) -> PathBuf {
        side(&self.repo)
    }

    /// What a script wrote beside the repository; empty when it did not.
    pub fn left(&self, name: &str) -> String {
        let bytes = fs::read(self.side().join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub fn leave(&self, name: &str) {
        fs::write(self.side().join(name), "").expect("beside the repository is room");
    }

    /// Puts another author in place of the one there is.
    pub fn agent(&self, script: &str) {
        write_script(&self.side(), "agent.sh", script);
    }

    /// The same for the reviewer.
    pub fn reviewer(&self, script: &str) {
        write_script(&self.side(), "reviewer.sh", script);
    }

    /// Runs the binary in the repository.
    #[track_caller]
    pub fn windlass(&self, args: &[&str]) -> Ran {
        self.home.start(self.command(args)).finish(RUN)
    }

    pub fn command(&self, args: &[&str]) -> Command {
        self.home.command(self.repo.path(), args)
    }

    /// Runs the loop to its end, and looks at everything.
    #[track_caller]
    pub fn run(&self) -> Seen {
        let ran = self.windlass(&["run", "--name", LOOP]);
        self.look(ran)
    }

    /// Starts the loop and leaves it running.
    #[track_caller]
    pub fn start(&self) -> Running {
        self.home.start(self.command(&["run", "--name", LOOP]))
    }

    /// Starts the loop and waits until an agent of this role is in its nth turn.
    #[track_caller]
    pub fn start_until(&self, role: &str, turn: u32) -> Running {
        let mut running = self.start();
        let reached = poll::until(LONG, || running.has_ended() || self.turns(role) >= turn);
        let (out, err) = (running.stdout(), running.stderr());
        assert!(reached && !running.has_ended(), "no turn {turn} of the {role}\n{out}\n{err}");
        running
    }

    /// How many turns an agent of this role has begun.
    pub fn turns(&self, role: &str) -> u32 {
        self.left(role).trim().parse().unwrap_or(0)
    }

    /// Everything that holds after any run, whatever its outcome.
    #[track_caller]
    pub fn look(&self, ran: Ran) -> Seen {
        assert!(ran.status.code().is_some(), "{ran}");
        let left = alive::carrying(&self.token());
        assert!(left.is_empty(), "alive after the end: {left:?}\n{ran}");
        self.untouched();
        let seen = self.seen(ran);
        self.says_if_unconfined(&seen.view);
        if seen.view["outcome"]["kind"] == "completed" {
            self.proves();
        }
        seen
    }

    /// The best level of a machine can be none at all.
    fn says_if_unconfined(&self, view: &Value) {
        let policy = fs::read_to_string(self.repo.path().join("windlass.toml")).unwrap_or_default();
        if view["sandbox"] == "none" && policy.contains("level = \"auto\"\nminimum = \"none\"") {
            capability::not_run(&format!("in a sandbox, only without one: {}", view["sandbox_missed"]));
        }
    }

    /// Whatever completes has a proof that holds.
    #[track_caller]
    fn proves(&self) {
        let ran = self.windlass(&["prove", LOOP]);
        assert_eq!(ran.status.code(), Some(0), "{ran}");
    }

    /// What the reading commands say.
    #[track_caller]
    pub fn seen(&self, ran: Ran) -> Seen {
        let view = self.view(&ran);
        let log = self.log();
        log.check();
        log.agrees_with(&view);
        let findings = self.windlass(&["findings", LOOP, "--all", "--json"]).expect_code(0).json();
        self.branch_is_as_told(&view);
        Seen { ran, view, log, findings }
    }

    #[track_caller]
    fn view(&self, ran: &Ran) -> Value {
        let told = self.windlass(&["status", LOOP, "--json"]);
        assert_eq!(told.status.code(), Some(0), "{told}\n=== after\n{ran}");
        let view = told.json();
        shape::check(&view);
        view
    }

    #[track_caller]
    pub fn status(&self) -> Value {
        self.windlass(&["status", LOOP, "--json"]).expect_code(0).json()
    }

    #[track_caller]
    pub fn log(&self) -> History {
        History::read(&self.windlass(&["log", LOOP, "--json"]).expect_code(0).stdout)
    }

    /// The user's repository is as it was, but for what a loop may add.
    #[track_caller]
    pub fn untouched(&self) {
        let changes = self.before.changes(&fingerprint(self.repo.path()));
        assert!(changes.is_empty(), "the user's repository changed:\n{}", changes.join("\n"));
        assert_eq!(self.foreign_refs(), self.refs, "refs of the user");
    }

    /// Nothing at all was written: no trail, no record, no branch.
    #[track_caller]
    pub fn nothing_was_made(&self) {
        self.untouched();
        assert!(!self.repo.path().join(".windlass").exists(), ".windlass was made");
        let state = self.home.state();
        let made: Vec<_> =
            fs::read_dir(&state).map(|entries| entries.flatten().collect()).unwrap_or_default();
        assert!(made.is_empty(), "records were made: {made:?}");
        assert_eq!(self.repo.git(["for-each-ref", "refs/heads/windlass"]), "");
    }

    /// What every process of this case carries in its environment: its home.
    pub fn token(&self) -> String {
        self.home.path().display().to_string()
    }

    /// Every process of this case dies, also those of a supervisor that was killed.
    #[track_caller]
    pub fn all_die(&self) {
        let left = alive::left_after(LONG, &self.token());
        assert!(left.is_empty(), "still alive: {left:?}");
    }

    /// The base's own test, on a fresh clone of the branch.
    #[track_caller]
    pub fn branch_passes_the_base_test(&self) {
        let clone = self.home.path().join("fresh clone");
        let from = self.repo.path().display().to_string();
        let branch = format!("windlass/{LOOP}");
        let to = clone.display().to_string();
        self.repo.git(["clone", "--quiet", "--branch", &branch, &from, &to]);
        let base = self.repo.git(["show", "HEAD:test.sh"]);
        let script = self.home.path().join("base-test.sh");
        fs::write(&script, base).expect("a scratch home is writable");
        let ran = Command::new("sh").arg(&script).current_dir(&clone).status().expect("sh starts");
        assert!(ran.success(), "the base's test is red on {branch}");
    }

    /// The text of a file on the loop's branch.
    #[track_caller]
    pub fn landed(&self, path: &str) -> String {
        self.repo.show(&format!("windlass/{LOOP}"), path)
    }

    #[track_caller]
    fn branch_is_as_told(&self, view: &Value) {
        let head =
            self.repo.try_git(["rev-parse", "--verify", "--quiet", &format!("refs/heads/windlass/{LOOP}")]);
        let head = String::from_utf8_lossy(&head.stdout).trim().to_owned();
        let Some(commit) = view["commit"].as_str() else { return };
        // A drive that died between the ref and its record says so when it goes on.
        if view["status"] == "ended" {
            assert_eq!(head, commit, "the branch head is what the view says");
            assert_eq!(self.repo.rev(&format!("{head}^{{tree}}")), view["tree"], "and so is its tree");
        }
    }

    /// Every ref but the loop's own branches.
    fn foreign_refs(&self) -> String {
        let all = self.repo.git(["for-each-ref", "--format=%(refname) %(objectname)"]);
        let foreign: Vec<_> = all.lines().filter(|line| !line.starts_with("refs/heads/windlass/")).collect();
        foreign.join("\n")
    }
}

impl Seen {
    /// The run ended like this.
    #[track_caller]
    pub fn ended(&self, code: i32, kind: &str, reason: &str) -> &Self {
        let outcome = &self.view["outcome"];
        assert_eq!(
            (self.ran.status.code(), outcome["kind"].as_str(), outcome["reason"].as_str()),
            (Some(code), Some(kind), Some(reason)),
            "{}\n=== view\n{:#}\n=== log\n{}",
            self.ran,
            self.view,
            self.log
        );
        assert_eq!(self.view["status"], "ended");
        assert!(self.view["ended_at"].is_string(), "{:#}", self.view);
        self
    }

    /// Completed and proven, exit 0.
    #[track_caller]
    pub fn completed(&self) -> &Self {
        self.ended(0, "completed", "proven")
    }

    /// The only task is blocked for this reason, and so is the run: exit 3.
    #[track_caller]
    pub fn blocked(&self, reason: &str) -> &Self {
        self.ended(3, "blocked", reason);
        self.task_is("answer", "blocked", Some(reason))
    }

    #[track_caller]
    pub fn task_is(&self, id: &str, status: &str, reason: Option<&str>) -> &Self {
        let task = self.task(id);
        assert_eq!(
            (task["status"].as_str(), task["reason"].as_str()),
            (Some(status), reason),
            "{task:#}\n{}",
            self.log
        );
        self
    }

    #[track_caller]
    pub fn task(&self, id: &str) -> &Value {
        let tasks = self.view["tasks"].as_array().expect("tasks is a list");
        tasks.iter().find(|task| task["id"] == id).unwrap_or_else(|| panic!("no task {id}: {:#}", self.view))
    }

    /// Findings about this file, whatever became of them.
    pub fn findings_in(&self, file: &str) -> Vec<&Value> {
        let all = self.findings.as_array().expect("findings is a list");
        all.iter().filter(|finding| finding["file"] == file).collect()
    }
}

fn side(repo: &Repo) -> PathBuf {
    repo.beside("side")
}

fn write_script(side: &Path, name: &str, body: &str) {
    let text = format!("side='{}'\n{PRELUDE}{body}\n", side.display());
    fs::write(side.join(name), text).unwrap_or_else(|error| panic!("write {name}: {error}"));
}
