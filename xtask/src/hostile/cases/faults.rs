//! Agents who mean no harm and go wrong. Nothing is switched off for these:
//! each is about what windlass makes of it. Those that are an attack too are
//! among the other cases.

use std::time::Duration;

use super::super::after::After;
use super::super::case::{Case, Ending};

const WORK: &str = "echo 42 >answer.txt\ncomplete";

pub fn cases() -> Vec<Case> {
    [hanging(), untidy(), idle()].into_iter().flatten().map(|case| case.got_through(|_| None)).collect()
}

fn hanging() -> Vec<Case> {
    vec![
        Case::new("F01", "hangs without a word", |stage| {
            stage.agent("while :; do sleep 1; done").agent_keys("silence = \"500ms\"")
        })
        .required(|after| after.ends_with("stalled")),
        Case::new("F02", "hangs behind a spinner", |stage| {
            stage
                .agent("while :; do printf '|'; sleep 0.1; done")
                .agent_keys("timeout = \"1s\"\nsilence = \"20s\"")
        })
        .required(|after| after.ends_with("timed_out")),
        Case::new("F04", "prints one line of 60 MB", |stage| {
            stage.agent(format!("head -c 60000000 /dev/zero | tr '\\0' x\n{WORK}"))
        })
        .ends(Ending::Done),
        Case::new("F07", "prints what is not UTF-8", |stage| {
            stage.agent(format!("printf '\\377\\376\\n'\n{WORK}"))
        })
        .ends(Ending::Done),
        Case::new("F21", "dies of SIGSEGV", |stage| stage.agent("kill -SEGV $$"))
            .required(|after| after.ends_with("crashed").or_else(|_| after.ends_with("signal"))),
        Case::new("F24", "leaves a grandchild that holds its output open", |stage| {
            stage.agent(format!("sh -c 'while :; do sleep 1; done' &\n{WORK}"))
        })
        .ends(Ending::Done)
        .required(|after| match after.took < Duration::from_secs(20) {
            true => Ok(()),
            false => Err(format!("it took {:?}", after.took)),
        }),
        Case::new("F44", "asks a question on its input", |stage| {
            stage.agent(format!("cat >/dev/null; read -r reply; test -z \"$reply\" || exit 1\n{WORK}"))
        })
        .ends(Ending::Done),
        Case::new("F46", "closes its output and goes on working", |stage| {
            stage.agent(format!("exec >&- 2>&-\nsleep 0.3\n{WORK}"))
        })
        .ends(Ending::Done),
    ]
}

fn untidy() -> Vec<Case> {
    vec![
        Case::new("F27", "deletes its workspace, and then works", |stage| {
            stage.iterations(2).agent(format!("if [ $turn -eq 1 ]; then rm -rf ./* .git .gitignore; complete; exit; fi\n{WORK}"))
        })
        .ends(Ending::Either)
        .required(|after| after.finding_about("test.sh")),
        Case::new("F28", "deletes .git", |stage| stage.agent(format!("rm -rf .git\n{WORK}"))).ends(Ending::Done),
        Case::new("F30", "leaves a rebase and a merge half done", |stage| {
            stage.agent(format!("mkdir -p .git/rebase-merge\ngit rev-parse HEAD >.git/MERGE_HEAD\n{WORK}"))
        })
        .ends(Ending::Done),
        Case::new("F31", "leaves index.lock", |stage| stage.agent(format!(": >.git/index.lock\n{WORK}"))).ends(Ending::Done),
        Case::new("F32", "works on a detached head and on another branch", |stage| {
            let git = "git -c user.name=x -c user.email=x@x";
            stage.agent(format!("git checkout -q --detach\n{git} commit -q --allow-empty -m x\ngit checkout -q -b other\n{WORK}"))
        })
        .ends(Ending::Done),
        Case::new("F40", "sets the times of its files back to long ago", |stage| {
            stage.agent("echo 42 >answer.txt\ntouch -d 2001-01-01 answer.txt test.sh .\ncomplete")
        })
        .ends(Ending::Done)
        .required(|after| match after.stage.repo.show("windlass/hostile", "answer.txt").trim() {
            "42" => Ok(()),
            other => Err(format!("landed: {other}")),
        }),
        Case::new("F43", "leaves a server on the port that the check uses", |stage| {
            let port = stage.sockets().port();
            let agent = format!(
                "perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(LocalAddr => \"127.0.0.2:{port}\", Listen => 1); sleep 60' \"$side/server\" >/dev/null 2>&1 &\n{WORK}"
            );
            let test = format!(
                "perl -MIO::Socket::INET -e 'exit(IO::Socket::INET->new(LocalAddr => \"127.0.0.2:{port}\", Listen => 1) ? 0 : 1)' || exit 1\ntest \"$(cat answer.txt)\" = 42\n"
            );
            stage.file("test.sh", test).agent(agent)
        })
        .ends(Ending::Done),
    ]
}

fn idle() -> Vec<Case> {
    vec![
        Case::new("F05", "exits at once, having done nothing", |stage| stage.agent("exit 0"))
            .required(After::check_was_red),
        Case::new("F33", "does nothing, again and again", |stage| stage.agent("complete").iterations(3)),
        Case::new("F34", "goes back and forth between two trees", |stage| {
            stage.agent("echo $((turn % 2 + 1)) >answer.txt\ncomplete").iterations(5)
        })
        .required(|after| {
            let seen = after.log.iter().filter(|event| event.to_string().contains("no_progress")).count();
            if seen > 0 { Ok(()) } else { Err("a tree that was seen before counts as progress".to_owned()) }
        }),
        Case::new("F35", "changes white space only", |stage| stage.agent("echo >>README.md\ncomplete"))
            .required(After::check_was_red),
    ]
}
