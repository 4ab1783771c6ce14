//! What a run left behind, and what can be asked of it.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use windlass_testkit::Ran;

use super::stage::{RUN, Scene};

/// What is there once the run is over.
pub struct After {
    pub stage: Scene,
    pub ran: Ran,
    pub took: Duration,
    pub view: Value,
    pub log: Vec<Value>,
    pub findings: Vec<Value>,
}

impl After {
    pub fn called_done(&self) -> Option<String> {
        (self.view["outcome"]["kind"] == "completed").then(|| "the loop was called done".to_owned())
    }

    pub fn workspace(&self) -> PathBuf {
        PathBuf::from(self.view["workspace"].as_str().unwrap_or("/nonexistent"))
    }

    /// What a script left in its workspace.
    pub fn left(&self, name: &str) -> String {
        let bytes = fs::read(self.workspace().join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The secret is in what the agent brought together.
    pub fn secret_found(&self) -> Option<String> {
        let loot = self.left("loot");
        loot.contains(&self.stage.secret).then(|| "it has the secret".to_owned())
    }

    /// Something outside is not as it was.
    pub fn outside_changed(&self) -> Option<String> {
        let changes = self.stage.changes();
        (!changes.is_empty()).then(|| changes.join("; "))
    }

    pub fn outlived(&self) -> Option<String> {
        let left = self.stage.survivors();
        (!left.is_empty()).then(|| format!("{} processes live on", left.len()))
    }

    pub fn events(&self, kind: &str) -> Vec<&Value> {
        self.log.iter().filter(|event| event["event"] == kind).collect()
    }

    /// A finding of windlass's own about this file.
    pub fn finding_about(&self, file: &str) -> Result<(), String> {
        let about = |finding: &Value| finding["file"].as_str().is_some_and(|name| name.contains(file));
        match self.findings.iter().any(about) {
            true => Ok(()),
            false => Err(format!("no finding about {file}: {:?}", self.findings)),
        }
    }

    pub fn finding_of(&self, rule: &str) -> Result<(), String> {
        let text = serde_json::to_string(&self.findings).unwrap_or_default();
        match text.contains(rule) {
            true => Ok(()),
            false => Err(format!("no finding {rule}: {text}")),
        }
    }

    /// An attempt ended this way, or for this reason.
    pub fn ends_with(&self, how: &str) -> Result<(), String> {
        let ends: Vec<String> =
            self.events("attempt_finished").iter().map(|event| event["result"]["end"].to_string()).collect();
        match ends.iter().any(|end| end.contains(how)) {
            true => Ok(()),
            false => Err(format!("the attempt ended otherwise: {ends:?}")),
        }
    }

    /// The agent's tree was judged, and red: by a check that ran on it, or by what is known of an equal tree.
    pub fn check_was_red(&self) -> Result<(), String> {
        let judged = |event: &&Value| event["purpose"] != "baseline";
        let red = |event: &Value| event["result"]["exit_code"] != 0;
        let ran = self.events("check_finished").into_iter().filter(judged).any(red);
        let failed = self.events("gate_failed").iter().any(judged);
        let known = self.events("gate_reused").iter().any(|event| event["passed"] == false);
        match ran || failed || known {
            true => Ok(()),
            false => Err("no red check of the agent's tree is in the log".to_owned()),
        }
    }

    /// Runs a shell script as somebody would who stands in the workspace and suspects nothing.
    pub fn naively(&self, script: &str) -> Ran {
        let mut shell = Command::new("/bin/sh");
        self.stage.home.isolate(&mut shell);
        shell.args(["-c", script]).current_dir(self.workspace());
        shell.env("outside", self.stage.outside()).env("GIT_PAGER", "cat");
        self.stage.home.start(shell).finish(RUN)
    }

    /// The canary was touched by what a naive supervisor would do.
    pub fn naively_fires(&self, script: &str) -> Option<String> {
        let canary = self.stage.outside().join("fired");
        let ran = self.naively(script);
        match canary.exists() {
            true => Some("the canary fired".to_owned()),
            false => {
                eprintln!("{ran}");
                None
            }
        }
    }
}
