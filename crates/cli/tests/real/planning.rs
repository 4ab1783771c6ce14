//! From a prompt to a proven loop with the real agents: the planner's first answer has a circle in it, its second
//! names a check that does not exist, its third is good.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use windlass_testkit::model::Server;
use windlass_testkit::{Ran, Repo, Scratch};

use crate::play::{Cli, cli, serve};

const PROMPT: &str = "Write the answer down, then its double";
/// Longer than any command of these takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(400);

const SCRIPT: &str = r#"
[[rule]]
name = "a circle"
role = "planner"
attempt = 1
turns = [
  { say = "I look at the repository.", run = "ls" },
  { report = { nonce = "$nonce", title = "The answer", spec = "It is 42.", plan = "One, then two.", tasks = [
    { id = "001-answer", title = "The answer", text = "Write 42.", depends_on = ["002-double"], acceptance = ["it is 42"] },
    { id = "002-double", title = "Its double", text = "Write 84.", depends_on = ["001-answer"], acceptance = ["it is 84"] },
  ] } },
]

[[rule]]
name = "an unknown check"
role = "planner"
attempt = 2
turns = [{ report = { nonce = "$nonce", title = "The answer", spec = "It is 42.", plan = "One, then two.", tasks = [
  { id = "001-answer", title = "The answer", text = "Write 42.", acceptance = ["it is 42"], checks = ["tset"] },
] } }]

[[rule]]
name = "a plan"
role = "planner"
turns = [{ report = { nonce = "$nonce", title = "The answer", spec = "It is 42.", plan = "One, then two.", tasks = [
  { id = "001-answer", title = "The answer", text = "Write 42 into src/answer.txt.", acceptance = ["src/answer.txt says 42"] },
  { id = "002-double", title = "Its double", text = "Write 84 into src/double.txt.", depends_on = ["001-answer"], acceptance = ["src/double.txt says 84"] },
], checks = [{ name = "answer", run = "sh ./check-answer.sh" }] } }]

[[rule]]
name = "review"
role = "reviewer"
turns = [{ report = { nonce = "$nonce", verdict = "accept", summary = "It says so." } }]

[[rule]]
name = "the answer"
when = "task 001-answer"
turns = [
  { run = "echo 42 > src/answer.txt" },
  { report = { nonce = "$nonce", status = "complete", summary = "It is written." } },
]

[[rule]]
name = "the double"
when = "task 002-double"
turns = [
  { run = "echo 84 > src/double.txt" },
  { report = { nonce = "$nonce", status = "complete", summary = "It is written." } },
]
"#;

struct Planned {
    home: Scratch,
    repo: Repo,
    vars: Vec<(&'static str, OsString)>,
}

impl Planned {
    fn new(agent: &Cli, server: &Server, files: usize) -> Self {
        let home = Scratch::new(env!("CARGO_BIN_EXE_windlass"));
        let mut path: Vec<PathBuf> = vec![agent.program.parent().unwrap().to_owned()];
        path.extend(["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from));
        let mut vars = vec![("PATH", std::env::join_paths(path).unwrap())];
        match agent.name {
            "claude" => vars.extend([
                ("ANTHROPIC_API_KEY", "test-key".into()),
                ("ANTHROPIC_BASE_URL", format!("{}/claude", server.url).into()),
            ]),
            _ => {
                let keys = agent.keys(server).lines().skip(1).collect::<Vec<_>>().join("\n");
                std::fs::create_dir_all(home.config().join("windlass")).unwrap();
                let own = format!("[agent]\n{keys}\n");
                std::fs::write(home.config().join("windlass/config.toml"), own).unwrap();
            }
        }
        Self { home, repo: repository(files), vars }
    }

    #[track_caller]
    fn types(&self, args: &[&str]) -> Ran {
        let mut command = self.home.command(self.repo.path(), args);
        command.envs(self.vars.iter().cloned());
        self.home.start(command).finish(PATIENCE).expect_code(0)
    }

    fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.repo.path().join(path)).unwrap_or_default()
    }
}

fn repository(files: usize) -> Repo {
    let repo = Repo::empty();
    repo.file("Makefile", "test:\n\ttest -d src\n");
    repo.file("check-answer.sh", "test \"$(cat src/answer.txt)\" = 42\n");
    for n in 0..files {
        repo.file(format!("src/d{:02}/f{n}.txt", n % 50), format!("{n}\n"));
    }
    repo.commit("first");
    repo
}

fn a_prompt_becomes_proven_work(name: &'static str, files: usize) {
    let Some(agent) = cli(name) else { return };
    let server = serve(SCRIPT);
    let of = Planned::new(&agent, &server, files);
    let init = of.types(&["init", PROMPT]);
    for part in [
        &format!("asking {name} for a plan") as &str,
        "001-answer → 002-double → 001-answer",
        "names the check \"tset\", which does not exist",
        "new check answer: red on the head",
        "the plan: 2 tasks",
    ] {
        assert!(init.stdout.contains(part), "{part}: {init}");
    }
    let policy = of.text("windlass.toml");
    assert!(policy.contains(&format!("use = \"{name}\"")), "{policy}");
    assert!(policy.contains("name = \"answer\"\nrun = \"sh ./check-answer.sh\""), "{policy}");
    assert_eq!(of.text("spec/001-the-answer.md"), "It is 42.\n");
    assert_eq!(of.text("plan/001-the-answer.md"), "One, then two.\n");
    let shown = of.types(&["run", "--name", "demo", "--dry-run"]).stdout;
    assert!(shown.contains("Write 42 into src/answer.txt."), "{shown}");
    let run = of.types(&["run", "--name", "demo"]);
    let view = of.types(&["status", "demo", "--json"]).json();
    let ended = [&view["outcome"]["kind"], &view["outcome"]["reason"]].map(Value::as_str);
    assert_eq!(ended, [Some("completed"), Some("proven")], "{run}");
}

#[test]
fn claude_plans_in_a_repository_of_5000_files() {
    a_prompt_becomes_proven_work("claude", 5_000);
}

#[test]
fn codex_plans() {
    a_prompt_becomes_proven_work("codex", 50);
}
