//! The scene of one case: a repository with one task, a home with secrets in
//! it, things outside that must stay as they are, and the agents as scripts.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use windlass_testkit::{Fingerprint, Ran, Repo, Scratch, alive, fingerprint};

use super::after::After;

pub const LOOP: &str = "hostile";
/// Longer than any run here takes on a busy machine.
pub const RUN: Duration = Duration::from_secs(120);
/// Within this nothing of a session may be alive any more.
const DEATH: Duration = Duration::from_secs(2);

/// What every script begins with. Nothing in it writes anywhere but to the report.
const PRELUDE: &str = r#"IFS= read -r line
nonce=${line#nonce: }
turn=$WINDLASS_ITERATION
say() { printf '{"nonce":"%s",%s}' "$nonce" "$1" >"$WINDLASS_REPORT"; }
complete() { say '"status":"complete","summary":"it is done","blockers":[],"next":[]'; }
verdict() { [ "$1" = accept ] || nonce=$(printf %.16s "$nonce"); say '"verdict":"'"$1"'","summary":"so it is","findings":[],"resolved":[],"pending":[],"blocker":""'; }
"#;

pub struct Stage {
    pub repo: Repo,
    pub home: Scratch,
    pub secret: String,
    level: &'static str,
    agent: String,
    reviewer: String,
    agent_keys: String,
    gate_keys: String,
    checks: String,
    review: String,
    sandbox_keys: String,
    iterations: u32,
    environment: Vec<(String, String)>,
    /// A shell command that becomes windlass at its end, by `exec "$@"`.
    wrapper: Option<String>,
    sockets: Option<super::sockets::Sockets>,
}

/// A stage that was played on, and what it looked like before.
pub struct Scene {
    pub repo: Repo,
    pub home: Scratch,
    pub secret: String,
    pub sockets: Option<super::sockets::Sockets>,
    project: Fingerprint,
    outside: Picture,
    weakened: Option<String>,
}

type Picture = BTreeMap<PathBuf, String>;

impl Stage {
    pub fn new(level: &'static str, binary: &Path) -> Self {
        let repo = Repo::empty();
        repo.file("test.sh", "test \"$(cat answer.txt)\" = 42\n");
        repo.file("answer.txt", "0\n").file("README.md", "# A question\n");
        repo.file("tasks/answer.md", "# Write the answer\n\nMake the test pass.\n");
        let home = Scratch::exactly(binary);
        let unique = repo.path().display().to_string();
        let secret = format!(
            "sesame{:08x}",
            unique.bytes().fold(7u32, |sum, byte| sum.wrapping_mul(31) + u32::from(byte))
        );
        let mut stage = Self {
            repo,
            home,
            secret,
            level,
            agent: "complete".to_owned(),
            reviewer: "verdict accept".to_owned(),
            agent_keys: String::new(),
            gate_keys: String::new(),
            checks: "[[gate.check]]\nname = \"test\"\nrun = \"sh ./test.sh\"\n".to_owned(),
            review: "tasks = false\nfinal = false\n".to_owned(),
            sandbox_keys: String::new(),
            iterations: 1,
            environment: Vec::new(),
            wrapper: None,
            sockets: None,
        };
        stage.plant();
        stage
    }

    /// Secrets in the home, a neighbour's repository, and a directory that is nobody's business.
    fn plant(&mut self) {
        let secret = self.secret.clone();
        let secrets =
            [".ssh/id_ed25519", ".aws/credentials", ".netrc", ".config/browser/Cookies", ".git-credentials"];
        for name in secrets {
            put(&self.home.home().join(name), &format!("{secret}\n"));
        }
        put(&self.home.home().join(".bashrc"), "# of the user\n");
        put(&self.other().join("notes.txt"), &format!("{secret}\n"));
        put(&self.outside().join("canary"), "untouched\n");
        put(&self.outside().join("victim/precious"), "precious\n");
        for dir in [self.side(), self.told()] {
            fs::create_dir_all(dir).expect("beside the repository is room");
        }
        self.environment.push(("API_KEY".to_owned(), secret));
        self.sockets = Some(super::sockets::Sockets::open(&self.outside()));
    }

    pub fn outside(&self) -> PathBuf {
        self.repo.beside("outside")
    }

    pub fn other(&self) -> PathBuf {
        self.repo.beside("other")
    }

    /// Where the scripts are: not where an agent may write.
    pub fn side(&self) -> PathBuf {
        self.repo.beside("side")
    }

    /// What an agent is told while it runs, and may read where the policy says so.
    pub fn told(&self) -> PathBuf {
        self.repo.beside("told")
    }

    pub fn agent(mut self, script: impl Into<String>) -> Self {
        self.agent = script.into();
        self
    }

    pub fn reviewer(mut self, script: impl Into<String>) -> Self {
        self.reviewer = script.into();
        self.review = "tasks = true\nfinal = false\n".to_owned();
        self
    }

    /// Lines of `[agent]`.
    pub fn agent_keys(mut self, lines: impl AsRef<str>) -> Self {
        self.agent_keys.push_str(lines.as_ref());
        self.agent_keys.push('\n');
        self
    }

    /// Lines of `[gate]`, before the checks.
    pub fn gate_keys(mut self, lines: impl AsRef<str>) -> Self {
        self.gate_keys.push_str(lines.as_ref());
        self.gate_keys.push('\n');
        self
    }

    /// Every `[[gate.check]]`, in place of the usual one.
    pub fn checks(mut self, tables: impl Into<String>) -> Self {
        self.checks = tables.into();
        self
    }

    /// Lines of `[sandbox]`.
    pub fn sandbox_keys(mut self, lines: impl AsRef<str>) -> Self {
        self.sandbox_keys.push_str(lines.as_ref());
        self.sandbox_keys.push('\n');
        self
    }

    /// Without limits on resources, whose means end processes as well.
    pub fn unlimited(self) -> Self {
        self.sandbox_keys("memory = 0\nprocesses = 0\nworkspace_size = 0")
    }

    pub fn iterations(mut self, most: u32) -> Self {
        self.iterations = most;
        self
    }

    pub fn file(self, path: &str, text: impl AsRef<[u8]>) -> Self {
        self.repo.file(path, text);
        self
    }

    pub fn executable(self, path: &str, text: &str) -> Self {
        self.repo.executable(path, text);
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Relative and foreign entries before the usual ones.
    pub fn path(self, first: &str) -> Self {
        let usual = std::env::var("PATH").unwrap_or_default();
        self.env("PATH", &format!("{first}:{usual}"))
    }

    pub fn wrapped(mut self, script: impl Into<String>) -> Self {
        self.wrapper = Some(script.into());
        self
    }

    /// Listeners on the host: TCP, a Unix socket with a path, and an abstract one.
    pub fn sockets(&self) -> &super::sockets::Sockets {
        self.sockets.as_ref().expect("planted with the stage")
    }

    pub fn unconfined(mut self) -> Self {
        self.level = "none";
        self
    }

    /// Commits everything, and takes the pictures that later ones are compared with.
    pub fn set(self, weakened: Option<String>) -> (Scene, Launch) {
        self.script("agent.sh", &self.agent);
        self.script("reviewer.sh", &self.reviewer);
        self.repo.file("windlass.toml", self.policy());
        self.repo.commit("first");
        let launch = Launch { environment: self.environment.clone(), wrapper: self.wrapper.clone() };
        let project = fingerprint(self.repo.path());
        let mut scene = Scene {
            repo: self.repo,
            home: self.home,
            secret: self.secret,
            sockets: self.sockets,
            project,
            outside: Picture::new(),
            weakened,
        };
        scene.outside = scene.picture();
        (scene, launch)
    }

    fn script(&self, name: &str, body: &str) {
        let lines = [
            ("outside", self.outside()),
            ("other", self.other()),
            ("home", self.home.home()),
            ("state", self.home.state()),
            ("project", self.repo.path().to_owned()),
            ("side", self.side()),
            ("told", self.told()),
        ];
        let known: String =
            lines.iter().map(|(name, path)| format!("{name}='{}'\n", path.display())).collect();
        put(&self.side().join(name), &format!("{known}{}", agent_script(body)));
    }

    fn policy(&self) -> String {
        let Self { agent_keys, gate_keys, checks, review, sandbox_keys, iterations, level, .. } = self;
        let side = self.side();
        let side = side.display();
        let protect = if gate_keys.contains("protect") { "" } else { "protect = [\"test.sh\"]\n" };
        let timeout = if agent_keys.contains("timeout") { "" } else { "timeout = \"30s\"\n" };
        let grace = if agent_keys.contains("grace") { "" } else { "grace = \"300ms\"\n" };
        format!(
            "[loop]\nmax_iterations = {iterations}\nmax_no_progress = 0\nmax_task_failures = 0\nmax_stalls = 1\n\
             [agent]\nuse = \"command\"\ncommand = [\"sh\", \"{side}/agent.sh\"]\n{timeout}{grace}{agent_keys}\
             [role.reviewer]\nuse = \"command\"\ncommand = [\"sh\", \"{side}/reviewer.sh\"]\n\
             [plan]\nsource = \"tasks/\"\n[gate]\ntimeout = \"30s\"\n{protect}{gate_keys}{checks}\n[review]\n{review}\
             [sandbox]\nlevel = \"{level}\"\nminimum = \"{level}\"\n{sandbox_keys}"
        )
    }
}

/// What a script of an agent is, with the means to report.
pub fn agent_script(body: &str) -> String {
    format!("{PRELUDE}{body}\n")
}

/// How windlass is started.
pub struct Launch {
    environment: Vec<(String, String)>,
    wrapper: Option<String>,
}

impl Launch {
    /// With these beside the environment that every scene has.
    pub fn with(environment: Vec<(String, String)>) -> Self {
        Self { environment, wrapper: None }
    }
}

impl Scene {
    /// A committed repository as it is, with nothing in it or beside it that an attacker could be after.
    pub fn plain(repo: Repo, home: Scratch) -> Self {
        let project = fingerprint(repo.path());
        let (secret, sockets, weakened) = (String::new(), None, None);
        Self { repo, home, secret, sockets, project, outside: Picture::new(), weakened }
    }

    pub fn command(&self, args: &[&str]) -> Command {
        self.home.command(self.repo.path(), args)
    }

    pub fn windlass(&self, args: &[&str]) -> Ran {
        self.home.start(self.command(args)).finish(RUN)
    }

    /// `windlass run`, ready to be started.
    pub fn launch(&self, launch: &Launch) -> Command {
        let args = ["run", "--name", LOOP];
        let mut command = match &launch.wrapper {
            None => self.command(&args),
            Some(script) => {
                let mut shell = Command::new("/bin/sh");
                self.home.isolate(&mut shell);
                shell.args(["-c", script, "sh"]).arg(self.home.binary()).args(args);
                shell.current_dir(self.repo.path());
                shell
            }
        };
        command.envs(launch.environment.iter().map(|(name, value)| (name, value)));
        command.envs(self.weakened.iter().map(|words| ("WINDLASS_WEAKEN", words)));
        command
    }

    /// Runs the loop to its end and reads what the records say.
    pub fn run(self, launch: &Launch) -> After {
        let begun = Instant::now();
        let ran = self.home.start(self.launch(launch)).finish(RUN);
        self.look(ran, begun.elapsed())
    }

    pub fn look(self, ran: Ran, took: Duration) -> After {
        let lines = |text: &str| text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        let view = value(&self.windlass(&["status", LOOP, "--json"]).stdout);
        let log = lines(&self.windlass(&["log", LOOP, "--json"]).stdout);
        let findings = value(&self.windlass(&["findings", LOOP, "--all", "--json"]).stdout);
        let findings = findings.as_array().cloned().unwrap_or_default();
        After { stage: self, ran, took, view, log, findings }
    }

    pub fn outside(&self) -> PathBuf {
        self.repo.beside("outside")
    }

    /// Everything that no agent may change, but for the project, which has a picture of its own.
    fn picture(&self) -> Picture {
        let mut taken = Picture::new();
        // windlass's own records; that they are sound is asked of windlass.
        let own = self.home.state();
        let mut picture_of = |root: &Path| picture_of(root, &own, &mut taken);
        for root in [self.repo.beside("outside"), self.repo.beside("other"), self.repo.beside("side")] {
            picture_of(&root);
        }
        picture_of(&self.home.home());
        taken
    }

    /// What changed outside of the workspace, a line each.
    pub fn changes(&self) -> Vec<String> {
        let mut found = self.project.changes(&fingerprint(self.repo.path()));
        let now = self.picture();
        found.extend(self.outside.iter().filter(|(path, was)| now.get(*path) != Some(was)).map(
            |(path, _)| {
                let what = if now.contains_key(path) { "changed" } else { "gone" };
                format!("{what}: {}", path.display())
            },
        ));
        let new = now.keys().filter(|path| !self.outside.contains_key(*path));
        found.extend(new.map(|path| format!("new: {}", path.display())));
        found
    }

    /// What only processes of this stage carry.
    pub fn tokens(&self) -> [String; 2] {
        let above = |path: &Path| path.parent().unwrap_or(path).display().to_string();
        [above(self.repo.path()), self.home.path().display().to_string()]
    }

    /// Those of the session that outlive it.
    pub fn survivors(&self) -> Vec<alive::Process> {
        self.tokens().iter().flat_map(|token| alive::left_after(DEATH, token)).collect()
    }

    /// Ends what a weakened run left; only processes that carry this stage's own paths.
    pub fn end_survivors(&self) {
        let still = || self.tokens().iter().flat_map(|token| alive::carrying(token)).collect::<Vec<_>>();
        let ended = windlass_testkit::poll::until(Duration::from_secs(20), || {
            let left = still();
            for process in &left {
                let id = i32::try_from(process.id).ok().and_then(rustix::process::Pid::from_raw);
                if let Some(id) = id {
                    // It may have ended meanwhile.
                    let _ = rustix::process::kill_process(id, rustix::process::Signal::KILL);
                }
            }
            left.is_empty()
        });
        if !ended {
            eprintln!("still alive: {:?}", still());
        }
    }
}

pub fn put(path: &Path, text: &str) {
    let above = path.parent().expect("a file has a directory");
    fs::create_dir_all(above).unwrap_or_else(|error| panic!("mkdir {}: {error}", above.display()));
    fs::write(path, text).unwrap_or_else(|error| panic!("write {}: {error}", path.display()));
}

fn picture_of(path: &Path, but: &Path, into: &mut Picture) {
    if path == but {
        return;
    }
    let Ok(found) = fs::symlink_metadata(path) else { return };
    let content = if found.is_symlink() {
        format!("{:?}", fs::read_link(path).ok())
    } else if found.is_file() {
        format!("{:?}", fs::read(path).ok())
    } else {
        String::new()
    };
    into.insert(path.to_owned(), format!("{:o} {content}", found.mode()));
    if found.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            picture_of(&entry.path(), but, into);
        }
    }
}
