//! Playing a case as a person would who has no more than `windlass init`, and finding out what it needs.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use windlass_testkit::{Repo, Scratch};

use super::case::{Case, Ending};
use super::cases;
use crate::hostile::after::After;
use crate::hostile::stage::{LOOP, Launch, Scene, agent_script, put};
use crate::surroundings::Surroundings;
use crate::tools;

/// Longer than any run here takes on a busy machine.
const RUN: Duration = Duration::from_secs(600);
const REVIEWER: &str = r#"say '"verdict":"accept","summary":"it holds","criteria":[{"text":"Changed terms: needed","met":"yes","where":"the diff"}],"findings":[],"resolved":[],"pending":[],"blocker":""'"#;

/// What a person grants beyond the policy that `init` wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Granted {
    reviewer: bool,
    /// Paths of the task's `allow`.
    allow: Vec<String>,
}

/// How often the check ran after the baseline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    pub gate: u64,
    pub control: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Played {
    pub ending: Ending,
    pub runs: Runs,
}

/// Where the cases are played.
pub struct Place<'p> {
    pub windlass: &'p Path,
    environment: Vec<(String, String)>,
}

impl<'p> Place<'p> {
    /// Cases find the machine's own tools, Rust, and what their projects are tested with.
    pub fn new(around: &Surroundings, windlass: &'p Path) -> Self {
        let mut environment = around.toolchain();
        let usual = environment.iter_mut().find(|(name, _)| name == "PATH");
        if let (Some((_, path)), Some(go)) = (usual, tools::find("go")) {
            let dir = go.parent().unwrap_or(Path::new("/usr/bin"));
            *path = format!("{path}:{}", dir.display());
        }
        Self { windlass, environment }
    }

    /// With as little help as it takes: none, then a reviewer, then the task's `allow`.
    pub fn play(&self, case: &Case) -> Played {
        let alone = self.run(case, &Granted::default());
        if is_proven(&alone) {
            return Played { ending: Ending::Alone, runs: runs(&alone) };
        }
        if alone.finding_of("terms_changed").is_ok() {
            let reviewed = self.run(case, &Granted { reviewer: true, allow: Vec::new() });
            if is_proven(&reviewed) {
                return Played { ending: Ending::Reviewer, runs: runs(&reviewed) };
            }
        }
        let mut named = files(&alone.findings);
        named.extend(case.allowed.iter().map(|path| (*path).to_owned()));
        if !named.is_empty() {
            let allowed = self.run(case, &Granted { reviewer: false, allow: named });
            if is_proven(&allowed) {
                return Played { ending: Ending::Allow, runs: runs(&allowed) };
            }
        }
        Played { ending: Ending::FalseAlarm(said(&alone)), runs: runs(&alone) }
    }

    fn run(&self, case: &Case, granted: &Granted) -> After {
        let repo = Repo::empty();
        for (path, text) in case.files(cases::project_files(case.project)) {
            repo.file(path, text);
        }
        repo.commit("first");
        put(&repo.beside("agent.sh"), &agent_script(&case.agent()));
        put(&repo.beside("reviewer.sh"), &agent_script(REVIEWER));
        let home = Scratch::exactly(self.windlass);
        for number in 1..=case.tasks {
            repo.file(format!("tasks/{number}-work.md"), task(case.work, &granted.allow));
        }
        let mut init = home.command(repo.path(), ["init", "--no-try"]);
        init.envs(self.environment.iter().cloned());
        home.start(init).finish(RUN).expect_code(0);
        let file = repo.path().join("windlass.toml");
        let proposed = fs::read_to_string(&file).unwrap_or_else(|error| panic!("windlass.toml: {error}"));
        repo.file("windlass.toml", policy(&proposed, &repo, granted));
        repo.commit("the policy and a task");
        let scene = Scene::plain(repo, home);
        let launch = Launch::with(self.environment.clone());
        let begun = Instant::now();
        let ran = scene.home.start(scene.launch(&launch)).finish(RUN);
        scene.look(ran, begun.elapsed())
    }
}

fn task(work: &str, allow: &[String]) -> String {
    match allow {
        [] => format!("# {work}\n"),
        [_, ..] => format!("---\nallow: {allow:?}\n---\n# {work}\n"),
    }
}

/// What `init` proposed, with this agent in place of the one that it found, and with a reviewer or none.
fn policy(proposed: &str, repo: &Repo, granted: &Granted) -> String {
    let script = |name: &str| format!("command = [\"sh\", {:?}]", repo.beside(name).display().to_string());
    let mut lines: Vec<String> = Vec::new();
    for line in proposed.lines() {
        match line {
            line if line.starts_with("use = ") => {
                lines.push("use = \"command\"".to_owned());
                lines.push(script("agent.sh"));
            }
            line if line.starts_with("command = ") => {}
            "tasks = true" | "final = true" if !granted.reviewer => {
                lines.push(line.replace("true", "false"));
            }
            line => lines.push(line.to_owned()),
        }
    }
    if granted.reviewer {
        lines.extend(["[role.reviewer]", "use = \"command\""].map(str::to_owned));
        lines.push(script("reviewer.sh"));
    }
    lines.join("\n") + "\n"
}

/// Called done, and the proof holds when it is looked at again.
fn is_proven(after: &After) -> bool {
    after.called_done().is_some() && after.stage.windlass(&["prove", LOOP]).status.success()
}

fn runs(after: &After) -> Runs {
    let judged = |event: &&&Value| event["purpose"] != "baseline";
    let checks = after.events("check_finished");
    let control = |event: &&Value| event["result"]["broken_tests"]["runs"].as_u64().unwrap_or_default();
    let gate = u64::try_from(checks.iter().filter(judged).count()).unwrap_or_default();
    Runs { gate, control: checks.iter().map(control).sum() }
}

/// What the findings are about.
fn files(findings: &[Value]) -> Vec<String> {
    let mut files: Vec<String> =
        findings.iter().filter_map(|finding| finding["file"].as_str()).map(str::to_owned).collect();
    files.sort();
    files.dedup();
    files
}

fn said(after: &After) -> String {
    let findings: Vec<String> =
        after.findings.iter().map(|found| format!("{}: {}", found["file"], found["description"])).collect();
    let excerpts: Vec<&str> = after
        .events("check_finished")
        .iter()
        .filter_map(|event| event["result"]["excerpt"].as_str())
        .collect();
    let last = excerpts.last().copied().unwrap_or_default();
    format!("{}\n{last}\n{}", findings.join("\n"), after.ran)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_proposal_is_kept_but_for_agent_and_reviews() {
        let repo = Repo::empty();
        let proposed =
            "[agent]\nuse = \"codex\"\n[gate]\nprotect = []\n[review]\ntasks = true\nfinal = true\n";
        let beside = repo.beside("").display().to_string();
        let shown = |granted: &Granted| policy(proposed, &repo, granted).replace(&beside, "/");
        assert_eq!(
            shown(&Granted::default()),
            "[agent]\nuse = \"command\"\ncommand = [\"sh\", \"/agent.sh\"]\n[gate]\nprotect = []\n\
             [review]\ntasks = false\nfinal = false\n"
        );
        let reviewed = shown(&Granted { reviewer: true, allow: Vec::new() });
        assert!(
            reviewed.ends_with(
                "final = true\n[role.reviewer]\nuse = \"command\"\ncommand = [\"sh\", \"/reviewer.sh\"]\n"
            ),
            "{reviewed}"
        );
    }

    #[test]
    fn a_task_allows_what_is_granted() {
        assert_eq!(task("x", &[]), "# x\n");
        assert_eq!(task("x", &["a".to_owned(), "b".to_owned()]), "---\nallow: [\"a\", \"b\"]\n---\n# x\n");
    }
}
