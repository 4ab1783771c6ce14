//! A gate, run.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;
use windlass_core::id::BlobId;
use windlass_core::policy::{CheckPolicy, CheckWhen};
use windlass_core::time::Millis;
use windlass_gate::{Checked, GateRun, run};
use windlass_process::{Canceller, Confinement, Spawner, ThrowawayTree};
use windlass_redact::{Redactor, Secret};

struct Stage {
    root: TempDir,
    checks: Vec<CheckPolicy>,
    env: Vec<(OsString, OsString)>,
    confinement: Confinement,
    spawner: Spawner,
}

impl Stage {
    fn new(runs: &[&str]) -> Self {
        let root = tempfile::tempdir().unwrap();
        for dir in ["tree", "attempts", "at", "upper"] {
            fs::create_dir(root.path().join(dir)).unwrap();
        }
        fs::write(root.path().join("tree/file"), "base\n").unwrap();
        let check = |(index, run): (usize, &&str)| CheckPolicy {
            name: format!("check{}", index + 1),
            run: (*run).to_owned(),
            when: CheckWhen::Both,
            timeout: Millis::minutes(1),
            ..CheckPolicy::default()
        };
        Self {
            root,
            checks: runs.iter().enumerate().map(check).collect(),
            env: vec![("PATH".into(), "/usr/bin:/bin".into()), ("LANG".into(), "C".into())],
            confinement: Confinement::none(),
            spawner: Spawner::with_warden(env!("CARGO_BIN_EXE_gate-warden")),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn run(&self) -> Vec<Checked> {
        self.run_with(&mut |_| {}).unwrap()
    }

    fn run_with(&self, started: &mut dyn FnMut(Canceller)) -> Option<Vec<Checked>> {
        let cwd = match &self.confinement.tree {
            Some(tree) => tree.at.clone(),
            None => self.path("tree"),
        };
        let gate = GateRun {
            resources: windlass_core::policy::ResourcePolicy::default(),
            checks: &self.checks,
            cwd: &cwd,
            env: &self.env,
            confinement: &self.confinement,
            attempts: &self.path("attempts"),
            name: "gate-7",
            marker: "0123",
            spawner: &self.spawner,
            redactor: &Redactor::new(&[Secret { name: "KEY".to_owned(), value: b"s3cret-value-1".to_vec() }]),
            shell: "/bin/sh".as_ref(),
        };
        run(&gate, started)
    }
}

#[test]
fn checks_run_in_order_also_after_a_red_one() {
    let stage = Stage::new(&["cat file", "echo out; echo err >&2; exit 3", "test -f file", "kill -9 $$"]);
    let checked = stage.run();
    let ends: Vec<_> = checked.iter().map(|c| (c.check.as_str(), c.exit_code, c.signal)).collect();
    assert_eq!(
        ends,
        [
            ("check1", Some(0), None),
            ("check2", Some(3), None),
            ("check3", Some(0), None),
            ("check4", None, Some(9))
        ]
    );
    assert_eq!(checked[0].excerpt, "base");
    assert_eq!(checked[1].excerpt, "stdout:\nout\nstderr:\nerr");
    assert_eq!(fs::read_to_string(&checked[1].stderr.as_ref().unwrap().path).unwrap(), "err\n");
    assert_eq!(checked[1].stdout.as_ref().unwrap().path, stage.path("attempts/gate-7-2/stdout"));
    assert!(checked[0].result(BlobId::new("b")).exited_well());
    assert!(!checked[1].result(BlobId::new("b")).exited_well());
    assert_eq!(checked[3].result(BlobId::new("b")).ending(), "ended by signal 9");
}

#[test]
fn a_check_has_only_the_environment_it_is_given_and_no_input() {
    let stage = Stage::new(&["env | sort; cat; pwd"]);
    let cwd = stage.path("tree").display().to_string();
    let excerpt = &stage.run()[0].excerpt;
    let names: Vec<&str> = excerpt.lines().filter_map(|line| line.split_once('=')).map(|(n, _)| n).collect();
    assert_eq!(names, ["INVOCATION_ID", "LANG", "PATH", "PWD"], "{excerpt}");
    assert!(excerpt.ends_with(&cwd), "{excerpt}");
}

#[test]
fn a_check_past_its_time_is_red_and_dead() {
    let mut stage = Stage::new(&["echo begun; trap '' TERM; sleep 600", "exit 0"]);
    stage.checks[0].timeout = Millis(300);
    let checked = stage.run();
    assert!(checked[0].timed_out && checked[0].exit_code.is_none());
    assert_eq!((checked[0].survivors, checked[0].excerpt.as_str()), (0, "begun"));
    let result = checked[0].result(BlobId::new("b"));
    assert!(!result.exited_well() && result.duration_ms.0 >= 300);
    assert!(checked[0].duration < Duration::from_secs(30));
    assert_eq!(checked[1].exit_code, Some(0));
}

#[test]
fn what_a_check_leaves_running_is_ended_and_counted() {
    let checked = Stage::new(&["setsid sleep 600 >/dev/null 2>&1 & exit 0"]).run();
    assert_eq!((checked[0].exit_code, checked[0].strays), (Some(0), 1));
}

#[test]
fn a_cancelled_gate_reports_nothing_and_goes_no_further() {
    let stage = Stage::new(&["exit 0", "sleep 600", "touch third"]);
    let mut begun = 0;
    let none = stage.run_with(&mut |canceller| {
        begun += 1;
        if begun == 2 {
            canceller.cancel();
        }
    });
    assert!(none.is_none());
    assert_eq!(begun, 2);
    assert!(!stage.path("tree/third").exists());
}

#[test]
fn a_check_that_cannot_start_is_red_with_the_reason() {
    let stage = Stage::new(&["exit 0"]);
    fs::remove_dir_all(stage.path("tree")).unwrap();
    let checked = stage.run();
    let error = checked[0].error.clone().unwrap();
    assert!(error.contains("cannot enter"), "{error}");
    assert_eq!((checked[0].exit_code, &checked[0].excerpt), (None, &error));
    assert!(!checked[0].result(BlobId::new("b")).exited_well());
    fs::write(stage.path("attempts/gate-7-1/left"), "by an earlier one").unwrap();
    fs::create_dir(stage.path("tree")).unwrap();
    assert_eq!(stage.run()[0].exit_code, Some(0), "a used directory is cleared");
    assert!(!stage.path("attempts/gate-7-1/left").exists());
}

#[test]
fn a_flood_becomes_an_excerpt() {
    let checked = Stage::new(&["yes 'a line of noise' | head -c 20000000; echo the end"]).run();
    assert!(checked[0].excerpt.starts_with("… more than "), "{}", checked[0].excerpt);
    assert!(
        checked[0].excerpt.ends_with("a line of noise\nthe end") || checked[0].excerpt.ends_with("the end")
    );
    assert!(checked[0].excerpt.len() <= 4096);
    assert!(checked[0].stdout.as_ref().unwrap().truncated);
}

/// An excerpt may begin in the middle of a line, where half a secret would not be known for one.
#[test]
fn what_a_check_prints_is_cleaned_before_an_excerpt_is_cut_from_it() {
    let words = "s3cret-value-1 ".repeat(10_000);
    let stage = Stage::new(&["cat ../words"]);
    fs::write(stage.path("words"), words).unwrap();
    let done = stage.run();
    assert_eq!(done[0].exit_code, Some(0), "{}", done[0].excerpt);
    assert!(done[0].excerpt.contains("[redacted:KEY] [redacted:KEY]"), "{}", done[0].excerpt);
    assert!(!done[0].excerpt.contains("value-1"), "{}", done[0].excerpt);
    let kept = fs::read_to_string(&done[0].stdout.as_ref().unwrap().path).unwrap();
    assert_eq!(kept, "[redacted:KEY] ".repeat(10_000));
}

#[test]
fn every_check_begins_with_the_tree_as_it_was() {
    let mut stage = Stage::new(&["echo changed > file; touch new", "cat file; ls"]);
    if !stage.spawner.probe(&stage.path("upper")).overlay {
        eprintln!("not run: no overlay can be mounted here");
        return;
    }
    stage.confinement = Confinement::none_with(Some(ThrowawayTree {
        over: Vec::new(),
        shown_at: None,
        lower: stage.path("tree"),
        at: stage.path("at"),
        upper: stage.path("upper"),
        hide: vec![stage.path("tree")],
        read_only: Vec::new(),
    }));
    let checked = stage.run();
    assert_eq!(checked[0].exit_code, Some(0), "{:?}", checked[0]);
    assert_eq!(checked[1].excerpt, "base\nfile");
    assert_eq!(fs::read_to_string(stage.path("tree/file")).unwrap(), "base\n");
    assert_eq!(fs::read_dir(stage.path("upper")).unwrap().count(), 0);
}
