//! The same as somebody who is not root.

use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;

use crate::stage::{Stage, WARDEN};

const NOBODY: u32 = 65534;

/// Runs the small supervisor as nobody. `None`, and said so, where that cannot be done.
pub fn as_nobody(stage: &Stage, settings: &[&str], script: &str) -> Option<String> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("not run: only root can become another user (the other tests run as this one)");
        return None;
    }
    let binary = stage.path().join("warden");
    // Once: a warden of the last run may still be on its way out, and what is being run cannot be written.
    if !binary.exists() {
        std::fs::copy(WARDEN, &binary).unwrap();
    }
    std::fs::set_permissions(stage.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = stage.shell(script);
    for owned in [&program.dir, &stage.work()] {
        chown(owned, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"])
        .arg(&binary)
        .args(["supervise", &format!("dir={}", program.dir.display()), &format!("marker={}", program.marker)])
        .args(settings)
        .arg("--")
        .args(&program.argv)
        .current_dir("/")
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => {
            eprintln!("not run: setpriv: {error}");
            return None;
        }
    };
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    let of = |name| std::fs::read_to_string(program.dir.join(name)).unwrap_or_default();
    let text = format!("{printed}{}{}", of("stdout"), of("stderr"));
    assert_eq!(crate::stage::given(&program.marker), Vec::<String>::new());
    Some(text)
}

pub fn user_namespaces_work(stage: &Stage) -> bool {
    let cwd = format!("cwd={}", stage.work().display());
    as_nobody(stage, &[&cwd], "true").is_some_and(|text| {
        let work = text.contains("containment=PidNamespace");
        if !work {
            eprintln!("not run: no user namespace for an ordinary user");
        }
        work
    })
}

#[test]
fn an_ordinary_user_gets_a_namespace_and_stays_who_they_are() {
    let stage = Stage::new();
    if !user_namespaces_work(&stage) {
        return;
    }
    let cwd = format!("cwd={}", stage.work().display());
    let script = "id -u; id -g; grep CapEff /proc/self/status; echo $$; touch mine; setsid sleep 60 & exit 4";
    let text = as_nobody(&stage, &[&cwd], script).unwrap();
    assert!(text.contains("exit=Code(4)\ncontainment=PidNamespace\nstrays=1 survivors=0\n"), "{text}");
    assert!(text.contains("65534\n65534\nCapEff:\t0000000000000000\n2\n"), "{text}");
}

#[test]
fn an_ordinary_user_is_contained_without_a_namespace() {
    let stage = Stage::new();
    let cwd = format!("cwd={}", stage.work().display());
    let Some(text) = as_nobody(&stage, &[&cwd, "containment=subreaper"], "setsid sleep 60 & exit 4") else {
        return;
    };
    assert!(text.contains("exit=Code(4)\ncontainment=Subreaper\nstrays=1 survivors=0\n"), "{text}");
}

#[test]
fn an_ordinary_user_gets_a_throwaway_tree() {
    let stage = Stage::new();
    if !user_namespaces_work(&stage) {
        return;
    }
    let made = |name: &str| {
        let dir = stage.path().join(name);
        std::fs::create_dir(&dir).unwrap();
        chown(&dir, Some(NOBODY), Some(NOBODY)).unwrap();
        dir.display().to_string()
    };
    let (lower, at, upper) = (made("lower"), made("at"), made("upper"));
    std::fs::write(format!("{lower}/kept"), "original").unwrap();
    chown(format!("{lower}/kept"), Some(NOBODY), Some(NOBODY)).unwrap();
    let settings =
        [format!("cwd={at}"), format!("lower={lower}"), format!("at={at}"), format!("upper={upper}")];
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let script =
        format!("echo changed >kept; cat kept; mkdir d && chmod 000 d; rm kept; ls -A '{lower}' . | wc -l");
    let text = as_nobody(&stage, &settings, &script).unwrap();
    assert!(text.contains("exit=Code(0)\n") && text.contains("discarded=Some(Ok(()))"), "{text}");
    assert!(text.contains("changed\n4\n"), "{text}");
    assert_eq!(std::fs::read_to_string(format!("{lower}/kept")).unwrap(), "original");
}
