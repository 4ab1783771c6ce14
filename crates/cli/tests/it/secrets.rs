//! A secret of the operator's environment that an agent, a reviewer and a check
//! print and report in every way they can: nothing of windlass's records and
//! nothing of the trail holds it.

use std::fs;
use std::path::Path;

use windlass_testkit::Ran;

use crate::case::{Case, LOOP, RUN, Setup};

/// In two halves wherever it stands in a file of the repository or a script:
/// only what a program puts together is the secret.
const HALVES: (&str, &str) = ("Zx9-first-", "8f7e6d5c4b-last");
const BASE64: &str = "Wng5LWZpcnN0";

fn secret() -> String {
    format!("{}{}", HALVES.0, HALVES.1)
}

const AUTHOR: &str = r#"
t=$DEPLOY_TOKEN
test -n "$t" || exit 9
printf 'it is %s' "${t%-last}"; sleep 0.2; printf -- '-last, as you see\n'
printf '%s\n' "$t" >&2
printf '%s' "$t" | base64
printf 'user:%s' "$t" | base64
if [ $n -eq 1 ]; then
    ln -s /etc/hostname "link-$t"
    echo 41 >answer.txt
    say '"status":"continue","summary":"I saw '"$t"'","blockers":["'"$t"'"],"next":["use '"$t"'"]'
else
    rm -f "link-$t"
    echo 42 >answer.txt
    echo "$n" >turn.txt
    say '"status":"complete","summary":"'"$t"'","blockers":[],"next":[]'
fi
"#;

const REVIEWER: &str = r#"
t=Zx9-first-; t=${t}8f7e6d5c4b-last
printf '%s' "$t"
if [ $n -eq 1 ]; then
    say '"verdict":"reject","summary":"'"$t"'","findings":[{"file":"'"$t"'.txt","line":1,"severity":"bug","description":"it prints '"$t"'","scenario":"'"$t"'"}],"resolved":[],"pending":["hide '"$t"'"],"blocker":""'
else
    say '"verdict":"accept","summary":"'"$t"'","findings":[],"resolved":["F2"],"pending":[],"blocker":""'
fi
"#;

fn leaking() -> Case {
    let check = format!("printf {}; sleep 0.1; echo {}; {}", HALVES.0, HALVES.1, crate::case::TEST);
    Setup::new(AUTHOR)
        .agent_keys("env = [\"DEPLOY_TOKEN\"]")
        .reviewer(REVIEWER)
        .review("tasks = true\nfinal = false\n")
        .file("test.sh", check)
        .ready()
}

fn run_with_token(case: &Case, weaken: Option<&str>) -> Ran {
    let mut command = case.command(&["run", "--name", LOOP]);
    command.env("DEPLOY_TOKEN", secret());
    if let Some(weaken) = weaken {
        command.env("WINDLASS_WEAKEN", weaken);
    }
    case.home.start(command).finish(RUN)
}

/// Every file whose name or content holds one of these. The workspace, the gate's checkout and the objects of
/// vault.git are the work itself.
fn holding(dir: &Path, wanted: &[&str], found: &mut Vec<String>) {
    let work = ["vault.git", "spaces", "checkouts"];
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if work.iter().any(|work| name == *work) {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            holding(&path, wanted, found);
        }
        let mut bytes = name.as_encoded_bytes().to_owned();
        bytes.extend(fs::read(&path).unwrap_or_default());
        let holds = |text: &&str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
        if let Some(text) = wanted.iter().find(|text| holds(text)) {
            found.push(format!("{}: {text}", path.display()));
        }
    }
}

fn leaks(case: &Case) -> Vec<String> {
    let mut found = Vec::new();
    let secret = secret();
    let wanted = [secret.as_str(), &secret[4..16], BASE64];
    holding(&case.home.state(), &wanted, &mut found);
    holding(&case.repo.path().join(".windlass"), &wanted, &mut found);
    found
}

#[test]
fn a_secret_is_in_no_record_and_no_trail() {
    let case = leaking();
    let ran = run_with_token(&case, None);
    assert!(!ran.stdout.contains(HALVES.1) && !ran.stderr.contains(HALVES.1), "{ran}");
    let seen = case.look(ran);
    seen.completed();
    assert_eq!(leaks(&case), [""; 0]);
    let mark = "[redacted:DEPLOY_TOKEN]";
    let shown = case.windlass(&["show", LOOP, "attempt:1"]).expect_code(0);
    assert!(shown.stdout.contains(&format!("it is {mark}, as you see")), "{shown}");
    assert!(shown.stdout.contains("---- stderr ----"), "{shown}");
    let log = seen.log.to_string();
    for said in [
        format!("I saw {mark}"),
        format!("use {mark}"),
        format!("it prints {mark}"),
        format!("hide {mark}"),
        format!("link-{mark}"),
        format!("{mark}.txt"),
    ] {
        assert!(log.contains(&said), "{said}\n{log}");
    }
    let excerpt = seen.log.of("check_finished");
    assert!(
        excerpt
            .iter()
            .any(|event| event["result"]["excerpt"].as_str().is_some_and(|text| text.contains(mark))),
        "{log}"
    );
    for brief in ["author-2.brief", "author-3.brief"] {
        assert!(!case.left(brief).contains(HALVES.1), "{brief}");
    }
}

/// The same with the defence switched off: it is the one that holds.
#[cfg(feature = "weaken")]
#[test]
fn without_redaction_the_secret_is_kept() {
    let case = leaking();
    case.look(run_with_token(&case, Some("redact"))).completed();
    assert!(!leaks(&case).is_empty());
}
