//! A tree that may be changed, and whose changes do not last.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use windlass_core::policy::SandboxLevel;
use windlass_process::{Confinement, Containment, Program, ProgramExit, Reach, Spawner, ThrowawayTree};

use crate::stage::{Stage, WARDEN, overlay_works, run, spawner, stderr, stdout};

struct Trees {
    stage: Stage,
    tree: ThrowawayTree,
}

impl Trees {
    fn new(name: &str) -> Trees {
        Trees::below(OsString::from(name))
    }

    fn below(name: OsString) -> Trees {
        let stage = Stage::new();
        let root = stage.path().join(name);
        let made = |name: &str| -> PathBuf {
            std::fs::create_dir_all(root.join(name)).unwrap();
            root.join(name)
        };
        let tree = ThrowawayTree {
            over: Vec::new(),
            shown_at: None,
            lower: made("lower"),
            at: made("at"),
            upper: made("upper"),
            hide: vec![made("lower")],
            read_only: Vec::new(),
        };
        std::fs::create_dir(tree.lower.join("sub")).unwrap();
        std::fs::write(tree.lower.join("kept"), "original").unwrap();
        std::fs::write(tree.lower.join("sub/file"), "deep").unwrap();
        Trees { stage, tree }
    }

    fn shell(&self, script: &str) -> Program {
        let mut program = self.stage.shell(script);
        program.cwd = self.tree.at.clone();
        program.confinement = Confinement::none_with(Some(self.tree.clone()));
        program.env.push(("LOWER".into(), self.tree.lower.clone().into()));
        program
    }

    fn run(&self, script: &str) -> ProgramExit {
        run(&self.shell(script), Containment::PidNamespace).exit
    }

    fn lower_is_unchanged(&self) -> bool {
        let names = std::fs::read_dir(&self.tree.lower).unwrap().count();
        names == 2
            && std::fs::read(self.tree.lower.join("kept")).unwrap() == b"original"
            && std::fs::read(self.tree.lower.join("sub/file")).unwrap() == b"deep"
    }
}

impl Drop for Trees {
    fn drop(&mut self) {
        self.tree.discard().unwrap();
    }
}

#[test]
fn changes_are_seen_by_the_program_and_by_nobody_else() {
    if !overlay_works() {
        return;
    }
    let trees = Trees::new("plain");
    let script = "cat kept sub/file; echo changed >kept; rm sub/file; mv sub moved; mkdir new; echo x >new/file; \
        chmod 000 new; cat kept";
    let finished = run(&trees.shell(script), Containment::PidNamespace);
    assert_eq!(finished.exit, ProgramExit::Code(0), "{}", stderr(&finished));
    assert!(stdout(&finished).starts_with("originaldeepchanged\n"), "{}", stdout(&finished));
    assert!(trees.lower_is_unchanged());
    assert_eq!(std::fs::read_dir(&trees.tree.at).unwrap().count(), 0, "the mount is gone with the namespace");
    trees.tree.discard().unwrap();
    assert_eq!(std::fs::read_dir(&trees.tree.upper).unwrap().count(), 0);
    assert_eq!(trees.run("test \"$(cat kept)\" = original && test ! -e new"), ProgramExit::Code(0));
}

#[test]
fn hidden_paths_are_empty_and_cannot_be_written() {
    if !overlay_works() {
        return;
    }
    let mut trees = Trees::new("plain");
    let secret = trees.stage.path().join("secret");
    std::fs::write(&secret, "secret").unwrap();
    trees.tree.hide.push(secret.clone());
    let script = format!(
        "test -z \"$(ls -A \"$LOWER\")\" || exit 1; test ! -e \"$LOWER/kept\" || exit 2; touch \"$LOWER/new\" && exit 3; \
         test -z \"$(cat '{}')\" || exit 4; test -e kept || exit 5",
        secret.display()
    );
    assert_eq!(trees.run(&script), ProgramExit::Code(0));
    assert!(trees.lower_is_unchanged());
}

#[test]
fn any_name_will_do() {
    if !overlay_works() {
        return;
    }
    let odd = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
    let long = [b'n'; 250];
    for name in
        [odd(b"a,b:c\\d\\,e"), odd(b"new\nline tab\t"), odd(b"not\xffutf8"), odd(b"-upperdir=x"), odd(&long)]
    {
        let trees = Trees::below(name.clone());
        assert_eq!(trees.run("echo changed >kept && test -e sub/file"), ProgramExit::Code(0), "{name:?}");
        assert!(trees.lower_is_unchanged(), "{name:?}");
    }
}

#[test]
fn a_tree_that_cannot_be_mounted_starts_nothing() {
    if !overlay_works() {
        return;
    }
    let said = |trees: &Trees| match trees.run("touch ran") {
        ProgramExit::NotStarted { why } => why,
        other => panic!("{other:?}"),
    };
    let mut trees = Trees::new("absent");
    trees.tree.lower = trees.stage.path().join("no-lower");
    assert!(said(&trees).contains("no-lower"));

    let mut trees = Trees::new("inside");
    trees.tree.hide = vec![trees.stage.path().to_path_buf()];
    assert!(said(&trees).contains("inside it"));

    let mut trees = Trees::new("unhidden");
    trees.tree.hide = vec![trees.stage.path().join("nothing-there")];
    assert!(said(&trees).contains("nothing-there"));

    let trees = Trees::new("used");
    assert_eq!(trees.run("touch stale"), ProgramExit::Code(0));
    assert!(said(&trees).contains("must not exist"), "what an earlier program changed must not be seen");

    let trees = Trees::new("subreaper");
    let finished = spawner(Containment::Subreaper).start(&trees.shell("touch ran")).unwrap().wait();
    assert!(matches!(finished.exit, ProgramExit::NotStarted { .. }), "{:?}", finished.exit);
}

#[test]
fn a_tree_may_go_on_from_what_was_left_when_told_so() {
    if !overlay_works() {
        return;
    }
    let trees = Trees::new("chain");
    assert_eq!(trees.run("echo one >made; rm kept; echo changed >sub/file"), ProgramExit::Code(0));
    assert_eq!(std::fs::read_to_string(trees.tree.changes().join("made")).unwrap(), "one\n");
    trees.tree.go_on().unwrap();
    let goes_on = "test \"$(cat made)\" = one && test ! -e kept && test \"$(cat sub/file)\" = changed";
    assert_eq!(trees.run(goes_on), ProgramExit::Code(0));
    assert!(matches!(trees.run("true"), ProgramExit::NotStarted { .. }), "it holds for one program");
    trees.tree.discard().unwrap();
    assert_eq!(
        trees.run("test ! -e made && test -e kept"),
        ProgramExit::Code(0),
        "and what is discarded is gone"
    );

    let trees = Trees::new("filled");
    let changes = trees.tree.go_on().unwrap();
    std::fs::write(changes.join("given"), "x").unwrap();
    assert_eq!(trees.run("test -e given && test -e kept"), ProgramExit::Code(0));
    trees.tree.go_on().unwrap();
    trees.tree.discard().unwrap();
    assert_eq!(trees.run("test ! -e given"), ProgramExit::Code(0));
    assert!(trees.lower_is_unchanged());
}

#[test]
fn a_probe_leaves_nothing_and_remembers() {
    let stage = Stage::new();
    let spawner = Spawner::with_warden(WARDEN);
    let found = spawner.probe(stage.path());
    assert_eq!(std::fs::read_dir(stage.path()).unwrap().count(), 2, "only the stage's own directories");
    assert!(found.pid_namespace || !found.overlay);
    assert_eq!(spawner.probe(stage.path()), found);
    let nowhere = Spawner::with_warden(stage.path().join("no-warden")).probe(stage.path());
    assert!(!nowhere.pid_namespace && !nowhere.overlay, "nothing is assumed");
}

/// Each is tried on what is read-only, and on the directory around it.
const TO_CHANGE: [&str; 9] = [
    "echo x >around/tests/file",
    "touch around/tests/new",
    "rm around/tests/file",
    "chmod 777 around/tests/file",
    "ln around/tests/file linked",
    "mv around/tests moved",
    "perl -e 'exit !rename \"around\", \"moved\"'",
    "rm -r around",
    "umount around/tests",
];

#[test]
fn what_is_read_only_cannot_be_written_moved_or_removed() {
    if !overlay_works() {
        return;
    }
    let mut trees = Trees::new("closed");
    std::fs::create_dir_all(trees.tree.lower.join("around/tests")).unwrap();
    std::fs::write(trees.tree.lower.join("around/tests/file"), "judge").unwrap();
    let script = |change: &str| {
        format!(
            "{change} 2>/dev/null; test \"$(cat around/tests/file)\" = judge && test ! -e around/tests/new && test ! -e linked && echo x >around/free"
        )
    };
    for level in [SandboxLevel::None, SandboxLevel::Namespaces] {
        for change in TO_CHANGE {
            trees.tree.read_only = vec!["around/tests".into()];
            let mut program = trees.shell(&script(change));
            program.confinement.level = level;
            program.confinement.reach = Reach::system();
            let finished = run(&program, Containment::PidNamespace);
            // Whoever is root and not confined may unmount it.
            let may = level == SandboxLevel::None && change.starts_with("umount");
            assert!(
                may || finished.exit == ProgramExit::Code(0),
                "{level:?} {change}: {}",
                stderr(&finished)
            );
            trees.tree.discard().unwrap();
        }
    }
    trees.tree.read_only = Vec::new();
    assert_eq!(trees.run(&script(TO_CHANGE[0])), ProgramExit::Code(1), "without it the file is changed");
    trees.tree.discard().unwrap();
    assert_eq!(std::fs::read(trees.tree.lower.join("around/tests/file")).unwrap(), b"judge");
    std::fs::remove_dir_all(trees.tree.lower.join("around")).unwrap();
}
