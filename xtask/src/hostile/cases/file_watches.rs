//! An agent who takes every inotify instance of the account while another loop is judged.
//!
//! Everything happens in a user namespace with few instances of its own, so nobody beside this play has fewer.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::super::after::After;
use super::super::case::{Case, Played, Setting, ensure, is_documented};
use super::super::stage::{LOOP, Stage, put};
use super::watched;

pub fn cases() -> Vec<Case> {
    vec![Case::own("X19", "takes every inotify instance of the account while another loop is judged", taken)]
}

/// As much as two runs need, several times over.
const INSTANCES: u32 = 24;
const NEIGHBOUR: &str = "neighbour";

/// Root stays root in it. Anybody else stays who it is, with no more rights than it had.
fn few_instances() -> String {
    let limit = format!("echo {INSTANCES} >/proc/sys/user/max_inotify_instances || exit 99");
    match rustix::process::geteuid().is_root() {
        true => format!("exec unshare -U --map-root-user sh -c '{limit}; exec \"$@\"' sh \"$@\""),
        false => format!(
            "exec unshare -U --map-current-user --keep-caps sh -c \
             '{limit}; exec setpriv --ambient-caps=-all --inh-caps=-all \"$@\"' sh \"$@\""
        ),
    }
}

/// The neighbour's agent leaves its work undone and has the test written while it runs. 294 is inotify_init1 on
/// x86-64.
fn takes_all(stage: Stage) -> Stage {
    let told = stage.told();
    let told = told.display();
    let agent = format!(
        "if [ \"$WINDLASS_LOOP\" = {NEIGHBOUR} ]; then\n{}\nexit\nfi\n\
         perl -e '$n++ while syscall(294, 0) >= 0; open(F, \">\", $ARGV[0]); print F $n; close F; \
         select(undef, undef, undef, 0.05) until -e $ARGV[1]' \"$told/taken\" \"$told/go\"\ncomplete",
        watched::agent("cp -p answer.case src/k; echo true >answer.case", "cat src/k >answer.case; rm src/k")
    );
    let both = format!(
        "\"$@\" >'{told}/first' 2>&1 &\nfirst=$!\n\
         n=0; until [ -s '{told}/taken' ] || [ $n -gt 1000 ]; do sleep 0.05; n=$((n + 1)); done\n\
         \"$1\" status {LOOP} >'{told}/status' 2>&1; echo $? >'{told}/status-code'\n\
         \"$1\" run --name {NEIGHBOUR}; code=$?\n: >'{told}/go'\nwait $first; echo $? >'{told}/first-code'\nexit $code\n"
    );
    let script = stage.side().join("both.sh");
    put(&script, &both);
    watched::in_place(stage)
        .agent(agent)
        .agent_keys("timeout = \"100s\"")
        .sandbox_keys(format!("extra_write = [\"{told}\"]"))
        .wrapped(format!("set -- sh '{}' \"$@\"\n{}", script.display(), few_instances()))
}

/// What the neighbour came to while nothing was left.
struct Neighbour {
    done: bool,
    log: String,
    findings: String,
}

fn neighbour(after: &After) -> Result<Neighbour, String> {
    let told = |name: &str| {
        let text = fs::read_to_string(after.stage.repo.beside("told").join(name)).unwrap_or_default();
        text.trim().to_owned()
    };
    let taken = told("taken").parse::<u32>().unwrap_or(0);
    ensure(taken > 0, || format!("none was taken: {}\n{}", told("first"), after.ran))?;
    ensure(told("status-code") == "0", || told("status"))?;
    ensure(told("first-code") == "4", || told("first"))?;
    ensure(is_documented(&after.ran), || after.ran.to_string())?;
    let json = |words: &[&str]| {
        let ran = after.stage.windlass(words);
        serde_json::from_str::<Value>(&ran.stdout).map_err(|error| format!("{error}: {ran}"))
    };
    let view = json(&["status", NEIGHBOUR, "--json"])?;
    let findings = json(&["findings", NEIGHBOUR, "--all", "--json"])?.to_string();
    let log = after.stage.windlass(&["log", NEIGHBOUR]).stdout;
    Ok(Neighbour { log, done: view["outcome"]["kind"] == "completed", findings })
}

const SEEN: &str = "was written while it ran";
const UNSEEN: &str = "fs.inotify.max_user_instances";

/// A namespace leaves half of them to others. Where the attempt has none of its own, what cannot be watched is red.
fn taken(setting: &Setting) -> Played {
    let confined = Command::new("sh").args(["-c", &few_instances(), "sh", "true"]).output();
    if !confined.is_ok_and(|ran| ran.status.success()) {
        return Played::not_run("no user namespace can be made in which instances are few");
    }
    let bounded = setting.level == "namespaces" && !rustix::process::geteuid().is_root();
    let held = neighbour(&super::super::play::defended(takes_all, setting)).and_then(|found| {
        let said = if bounded { SEEN } else { UNSEEN };
        // The base's own check is red, and what it wrote is free for the others: that too could not be seen.
        let baseline = found.log.split("iteration 1 opened").next().unwrap_or_default();
        let told = baseline.contains(UNSEEN) != bounded;
        ensure(!found.done && found.findings.contains(said) && told, || found.log)
    });
    let off = if bounded { "watches" } else { "watch" };
    let without = neighbour(&super::super::play::weakened(takes_all, setting, off)).and_then(|found| {
        let worked = if bounded { found.findings.contains(UNSEEN) } else { found.done };
        ensure(worked, || found.findings)
    });
    Played::both(held, without, &format!("`{off}`"))
}
