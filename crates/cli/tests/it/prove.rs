//! `windlass prove`: a completed loop proves, and whatever is broken
//! afterwards is found and named.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rusqlite::Connection;
use serde_json::Value;
use windlass_core::id::{LoopName, Seq};
use windlass_core::time::Timestamp;
use windlass_store::chain::{ChainHash, Link};
use windlass_testkit::Ran;

use crate::case::{Case, LOOP, Setup, TEST};

/// Its check is red as soon as a file `red` lies beside the repository.
fn completed() -> Case {
    let case =
        Setup::new("echo 42 >answer.txt\ncomplete").review("tasks = true\nfinal = true\n").uncommitted();
    let red = case.side().join("red").display().to_string();
    case.repo.file("test.sh", format!("test ! -e '{red}' || exit 7\necho green as ever\n{TEST}"));
    case.repo.commit("first");
    let case = case.looked_at();
    case.run().completed();
    case
}

pub fn vault(case: &Case) -> PathBuf {
    let vaults = case.home.state().join("windlass/vaults");
    fs::read_dir(&vaults).unwrap().next().unwrap().unwrap().path()
}

pub fn database(case: &Case) -> Connection {
    Connection::open(vault(case).join("windlass.db")).unwrap()
}

/// A forger who cares takes away what says how far the log went.
pub fn forget(case: &Case) {
    fs::remove_file(vault(case).join("receipts")).unwrap();
}

fn branch() -> String {
    format!("refs/heads/windlass/{LOOP}")
}

#[track_caller]
pub fn holds(case: &Case) -> Value {
    let proof = case.windlass(&["prove", LOOP, "--json"]).expect_code(0).json();
    assert_eq!(proof["holds"], true, "{proof:#}");
    let steps = proof["steps"].as_array().unwrap();
    assert!(steps.len() >= 11 && steps.iter().all(|step| step["holds"] == true), "{proof:#}");
    proof
}

/// Exit 1, this step and no other, with these words, in text and in JSON.
#[track_caller]
pub fn broken(case: &Case, step: &str, words: &[&str]) -> Ran {
    broken_with(case, &[], step, words)
}

#[track_caller]
fn broken_with(case: &Case, more: &[&str], step: &str, words: &[&str]) -> Ran {
    let json = case.windlass(&[&["prove", LOOP, "--json"], more].concat()).expect_code(1);
    let proof = json.json();
    assert_eq!(proof["holds"], false, "{proof:#}");
    let steps = proof["steps"].as_array().unwrap();
    let names: Vec<&str> = steps
        .iter()
        .filter(|step| step["holds"] == false)
        .map(|step| step["step"].as_str().unwrap())
        .collect();
    assert_eq!(names, [step], "{proof:#}");
    let detail = steps.iter().find(|found| found["step"] == step).unwrap()["detail"].as_str().unwrap();
    let text = case.windlass(&[&["prove", LOOP], more].concat()).expect_code(1);
    let flat = text.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in words {
        assert!(detail.contains(word), "{word}: {detail}");
        assert!(flat.contains(word), "{word}: {text}");
    }
    assert!(flat.contains(&format!("BROKEN {step}")), "{text}");
    fits(&text.stdout);
    text
}

#[track_caller]
pub fn fits(text: &str) {
    let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(long.is_empty(), "wider than 80 columns: {long:#?}");
}

#[test]
fn a_completed_loop_proves() {
    let case = completed();
    let proof = holds(&case);
    assert_eq!(proof["schema"], "windlass.proof.v1");
    let record = &proof["record"];
    assert_eq!(record["landed"]["commit"], case.repo.rev(&branch()));
    assert_eq!(record["landed"]["tree"], case.repo.rev(&format!("{}^{{tree}}", branch())));
    assert_eq!(record["base"]["commit"], case.repo.rev("HEAD"));
    assert_eq!(record["checks"][0]["exit_code"], 0);
    assert_eq!(record["checks"][0]["tree"], record["landed"]["tree"]);
    assert_eq!(record["tasks"][0]["checks"][0]["exit_code"], 0);
    assert_eq!(record["reviews"][0]["verdict"], "accept");
    assert_eq!(record["findings"].as_array().map(Vec::len), Some(0));
    assert_eq!(record["gate"]["hash"].as_str().map(str::len), Some(64));
    assert!(record["gate"]["definition"].as_str().unwrap().contains("sh ./test.sh"));
    let files = record["protected"]["files"].as_array().unwrap();
    let test = files.iter().find(|file| file["path"] == "test.sh").unwrap();
    assert_eq!(test["blob"], case.repo.rev("HEAD:test.sh"));
    let text = case.windlass(&["prove", LOOP]).expect_code(0);
    assert!(text.stdout.contains("the proof of completion holds"), "{text}");
    fits(&text.stdout);
    case.untouched();
}

#[test]
fn an_accept_of_the_last_task_is_not_one_of_the_whole() {
    let work = "echo 42 >answer.txt\necho $WINDLASS_TASK >>done.txt\ncomplete";
    for (last, strength, words) in [
        ("final = false\n", "weaker", "2 of 2 tasks accepted, not the whole"),
        ("final = true\n", "full", "accepted as a whole"),
    ] {
        let setup = Setup::new(work).task("answer", "# Write the answer\n").task("more", "# Write more\n");
        let case = setup.review(&format!("tasks = true\n{last}")).ready();
        case.run().completed();
        let proof = holds(&case);
        let grades = proof["grades"].as_array().unwrap();
        let review = grades.iter().find(|grade| grade["of"] == "review").unwrap();
        assert_eq!((&review["strength"], &review["words"]), (&strength.into(), &words.into()), "{last}");
    }
}

#[test]
fn the_gate_runs_again_and_leaves_no_record() {
    let case = completed();
    let before = case.windlass(&["log", LOOP, "--json"]).expect_code(0).stdout;
    let proof = case.windlass(&["prove", LOOP, "--rerun", "--json"]).expect_code(0).json();
    assert_eq!(proof["rerun"][0]["exit_code"], 0, "{proof:#}");
    assert_eq!(proof["rerun"][0]["check"], "test");
    case.leave("red");
    broken_with(&case, &["--rerun"], "rerun", &["check test, run again: exit 7; recorded: exit 0"]);
    holds(&case);
    assert_eq!(case.windlass(&["log", LOOP, "--json"]).expect_code(0).stdout, before);
    case.untouched();
}

#[test]
fn a_loop_that_is_not_completed_has_no_proof() {
    let case = Setup::new("echo 41 >answer.txt\ncomplete").limits("max_iterations = 1").ready();
    case.run();
    let ran = case.windlass(&["prove", LOOP]).expect_code(1);
    assert_eq!(ran.stdout, "", "{ran}");
    let told = format!("windlass: {LOOP} is not completed yet: there is nothing to prove");
    let hint = format!("  hint: windlass status {LOOP}");
    assert_eq!(ran.stderr.lines().collect::<Vec<_>>(), [told, hint]);
    let proof = case.windlass(&["prove", LOOP, "--json"]).expect_code(1).json();
    assert_eq!(proof["holds"], false, "{proof:#}");
    assert_eq!(proof["record"]["outcome"]["kind"], "limit", "{proof:#}");
}

#[test]
fn a_branch_that_moved() {
    let case = completed();
    let (landed, base) = (case.repo.rev(&branch()), case.repo.rev("HEAD"));
    case.repo.git(["update-ref", &branch(), &base]);
    broken(&case, "branch", &[&format!("is at {base}, not at the landed {landed}")]);
    case.repo.git(["update-ref", &branch(), &landed]);
    holds(&case);
}

#[test]
fn a_branch_that_was_deleted() {
    let case = completed();
    case.repo.git(["update-ref", "-d", &branch()]);
    broken(&case, "branch", &["the branch windlass/demo1 is not in the repository"]);
}

#[test]
fn a_record_that_was_altered() {
    let case = completed();
    let changed = database(&case)
        .execute(
            "UPDATE records SET body = replace(body, '\"exit_code\":0', '\"exit_code\":1') WHERE seq > 1",
            [],
        )
        .unwrap();
    assert!(changed > 0);
    broken(&case, "log", &["is not what was stored (the hash chain breaks)"]);
}

#[test]
fn a_log_that_was_cut_short() {
    let case = completed();
    let database = database(&case);
    database.execute("DELETE FROM records WHERE seq = (SELECT max(seq) FROM records)", []).unwrap();
    broken(&case, "log", &["missing"]);
    // Also with the loop's row made to fit what is left, and the receipt taken away.
    forget(&case);
    database
        .execute(
            "UPDATE loops SET head_seq = (SELECT max(seq) FROM records),
             head_hash = (SELECT hash FROM records ORDER BY seq DESC LIMIT 1)",
            [],
        )
        .unwrap();
    broken(&case, "log", &["events, the loop's row says"]);
}

#[test]
fn an_output_that_was_altered() {
    let case = completed();
    let output = holds(&case)["record"]["checks"][0]["output"].as_str().unwrap().to_owned();
    let altered = "UPDATE blobs SET bytes = CAST('red' AS BLOB) WHERE hash = unhex(?1)";
    assert_eq!(database(&case).execute(altered, [&output]).unwrap(), 1);
    broken(&case, "outputs", &["the output of check test", &output, "does not match its name"]);
}

#[test]
fn an_output_that_was_deleted() {
    let case = completed();
    let output = holds(&case)["record"]["checks"][0]["output"].as_str().unwrap().to_owned();
    assert_eq!(database(&case).execute("DELETE FROM blobs WHERE hash = unhex(?1)", [&output]).unwrap(), 1);
    broken(&case, "outputs", &["the output of check test", &output, "is not in the vault"]);
}

#[test]
fn an_object_that_the_vault_lost() {
    let case = completed();
    let objects = vault(&case).join("vault.git/objects");
    let answer = case.repo.rev(&format!("{}:answer.txt", branch()));
    unpack(&vault(&case).join("vault.git"));
    holds(&case);
    fs::remove_file(objects.join(&answer[..2]).join(&answer[2..])).unwrap();
    broken(&case, "commits", &[&format!("object {answer} is missing")]);
}

#[test]
fn a_vault_that_is_gone_is_not_made_anew() {
    let case = completed();
    let vault = vault(&case).join("vault.git");
    fs::remove_dir_all(&vault).unwrap();
    let ran = case.windlass(&["prove", LOOP]).expect_code(1);
    assert!(ran.stderr.contains(&format!("{} is gone", vault.display())), "{ran}");
    assert!(!vault.exists());
}

#[test]
fn a_view_that_was_altered() {
    let case = completed();
    let altered = "UPDATE loops SET view = replace(view, '\"open_bugs\":0', '\"open_bugs\":3')";
    assert_eq!(database(&case).execute(altered, []).unwrap(), 1);
    broken(&case, "log", &["the stored view is not what the log folds to"]);
}

/// Every object in a file of its own.
fn unpack(vault: &Path) {
    let packs = vault.join("objects/pack");
    let aside = vault.with_extension("aside");
    fs::rename(&packs, &aside).unwrap();
    fs::create_dir(&packs).unwrap();
    for entry in fs::read_dir(&aside).unwrap().flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "pack") {
            let pack = fs::File::open(entry.path()).unwrap();
            let done =
                in_vault(vault).args(["unpack-objects", "-q"]).stdin(Stdio::from(pack)).status().unwrap();
            assert!(done.success());
        }
    }
}

fn in_vault(vault: &Path) -> Command {
    let mut git = Command::new("git");
    git.env("GIT_DIR", vault).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    git
}

/// A log that was forged with care: its chain is whole, everything it names is there, and only the landed tree
/// is one in which the test was changed.
#[test]
fn a_protected_file_that_differs_in_what_landed() {
    let case = completed();
    let record = holds(&case)["record"].clone();
    let (commit, tree) =
        (record["landed"]["commit"].as_str().unwrap(), record["landed"]["tree"].as_str().unwrap());
    let (forged_commit, forged_tree) = forge_commit(&case);
    let forged = |text: &str| text.replace(commit, &forged_commit).replace(tree, &forged_tree);
    rewrite_log(&case, &forged);
    forget(&case);
    let vault = vault(&case).join("vault.git");
    let from = case.repo.path().join(".git");
    let fetched = in_vault(&vault).arg("fetch").arg("-q").arg(&from).arg(&forged_commit).status().unwrap();
    assert!(fetched.success());
    case.repo.git(["update-ref", &branch(), &forged_commit]);
    let proof = case.windlass(&["prove", LOOP, "--json"]).expect_code(1).json();
    let told = |step: &str| {
        let steps = proof["steps"].as_array().unwrap().iter();
        let broken = steps.filter(|found| found["holds"] == false).find(|found| found["step"] == step);
        broken.unwrap_or_else(|| panic!("{step} holds: {proof:#}"))["detail"].as_str().unwrap().to_owned()
    };
    assert!(told("protected").contains("changes the protected path test.sh"), "{proof:#}");
    assert!(told("terms").contains("was not judged on the terms that were trusted"), "{proof:#}");
}

fn forge_commit(case: &Case) -> (String, String) {
    let easy = case.home.path().join("easy.sh");
    fs::write(&easy, "true\n").unwrap();
    let blob = case.repo.git(["hash-object", "-w", &easy.display().to_string()]).trim().to_owned();
    let index = case.home.path().join("index").display().to_string();
    let with_index = |args: &[&str]| {
        let mut git = Command::new("git");
        let done =
            git.args(args).current_dir(case.repo.path()).env("GIT_INDEX_FILE", &index).output().unwrap();
        assert!(done.status.success(), "{args:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    };
    with_index(&["read-tree", &branch()]);
    with_index(&["update-index", "--cacheinfo", &format!("100644,{blob},test.sh")]);
    let tree = with_index(&["write-tree"]);
    let commit = case.repo.git(["commit-tree", "-p", "HEAD", "-m", "forged", &tree]).trim().to_owned();
    case.repo.git(["update-ref", "refs/heads/forged", &commit]);
    (commit, tree)
}

/// Every record changed, every hash made anew.
pub fn rewrite_log(case: &Case, change: &dyn Fn(&str) -> String) {
    let database = database(case);
    let rows: Vec<(u64, i64, u32, u64, String)> = database
        .prepare("SELECT seq, at, format, events, body FROM records ORDER BY seq")
        .unwrap()
        .query_map([], |row| {
            Ok((
                row.get::<_, i64>(0)? as u64,
                row.get(1)?,
                row.get(2)?,
                row.get::<_, i64>(3)? as u64,
                row.get(4)?,
            ))
        })
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let name = LoopName::new(LOOP).unwrap();
    let mut previous = ChainHash::GENESIS;
    for (seq, at, format, events, body) in rows {
        let body = change(&body);
        let link =
            Link { previous, name: &name, seq: Seq(seq), at: Timestamp(at), format, events, body: &body };
        previous = link.hash();
        database
            .execute(
                "UPDATE records SET body = ?2, hash = ?3 WHERE seq = ?1",
                (seq as i64, &body, previous.as_bytes()),
            )
            .unwrap();
    }
    let view: String = database.query_row("SELECT view FROM loops", [], |row| row.get(0)).unwrap();
    database
        .execute("UPDATE loops SET view = ?1, head_hash = ?2", (change(&view), previous.as_bytes()))
        .unwrap();
}
