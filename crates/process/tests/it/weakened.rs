//! Each defence switched off lets its own attack through: what stops it is that defence and no other.

use std::os::unix::fs::PermissionsExt as _;

use windlass_core::policy::SandboxLevel::{self, Landlock, Namespaces};

use crate::confined::{Ground, Ran, on_each};

fn weakly(ground: &mut Ground, off: &str, script: &str) -> Ran {
    ground.environment =
        vec![("WINDLASS_WEAKEN".into(), off.into()), ("PLANTED".into(), "of the supervisor".into())];
    ground.run(script)
}

/// The script goes well without the defences, and not with them.
fn goes_through(levels: &[SandboxLevel], off: &str, script: impl Fn(&Ground) -> String) {
    on_each(levels, |mut ground| {
        let script = script(&ground);
        let kept = weakly(&mut ground, "", &script);
        assert_ne!(kept.exit, "Code(0)", "{:?} {:?}: {}", ground.who, ground.level, kept.text);
        let let_through = weakly(&mut ground, off, &script);
        assert_eq!(let_through.exit, "Code(0)", "{:?} {:?}: {}", ground.who, ground.level, let_through.text);
    });
}

#[test]
fn files() {
    goes_through(&[Landlock, Namespaces], "fs", |ground| {
        let secret = ground.file("secret", "text");
        format!("cat '{0}' && echo changed >'{0}'", secret.display())
    });
}

#[test]
fn landlock() {
    goes_through(&[Landlock], "landlock", |ground| {
        format!("cat '{}'", ground.file("secret", "text").display())
    });
}

#[test]
fn network() {
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    if windlass_testkit::capability::program("bash").is_none() {
        return;
    }
    on_each(&[Landlock, Namespaces], |mut ground| {
        ground.set("network", "none");
        let script = format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'");
        assert_ne!(weakly(&mut ground, "", &script).exit, "Code(0)");
        assert_eq!(
            weakly(&mut ground, "net", &script).exit,
            "Code(0)",
            "{:?} {:?}",
            ground.who,
            ground.level
        );
    });
}

#[test]
fn system_calls() {
    on_each(&[Landlock, Namespaces], |mut ground| {
        let binary = ground.at("warden");
        ground.set("read", &binary);
        let script = format!(
            "{} call {} 0 0 | grep 'Bad file descriptor\\|Invalid'",
            binary.display(),
            libc::SYS_setns
        );
        assert_ne!(weakly(&mut ground, "", &script).exit, "Code(0)");
        let ran = weakly(&mut ground, "seccomp", &script);
        assert_eq!(ran.exit, "Code(0)", "{:?} {:?}: {}", ground.who, ground.level, ran.text);
    });
}

#[test]
fn environment() {
    goes_through(&[Landlock, Namespaces], "env", |_| "test \"$PLANTED\" = 'of the supervisor'".to_owned());
}

#[test]
fn capabilities() {
    if !windlass_testkit::capability::root() {
        return;
    }
    let ground = || Ground::new(crate::confined::Who::ThisUser, Namespaces);
    let script = "grep -q 'CapEff:.*0000000000000000' /proc/self/status && exit 1; touch f && chown 12345 f";
    assert_ne!(weakly(&mut ground(), "", script).exit, "Code(0)");
    assert_eq!(weakly(&mut ground(), "caps", script).exit, "Code(0)");
}

#[test]
fn descriptors() {
    let leaked = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 40).unwrap();
    rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).unwrap();
    let number = std::os::fd::AsRawFd::as_raw_fd(&leaked);
    goes_through(&[Landlock, Namespaces], "fds", |_| format!("test -e /proc/self/fd/{number}"));
}

#[test]
fn processes() {
    on_each(&[Landlock, Namespaces], |mut ground| {
        let script =
            "flock lock sh -c 'touch up; sleep 60' >/dev/null 2>&1 & while ! test -e up; do :; done; rm up";
        let lock = ground.file("work/lock", "");
        let free = || {
            let file = std::fs::File::open(&lock).unwrap();
            rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok()
        };
        assert_eq!(weakly(&mut ground, "", script).exit, "Code(0)");
        assert!(free());
        ground.leaves_strays = true;
        let ran = weakly(&mut ground, "pid", script);
        assert_eq!(ran.exit, "Code(0)", "{:?} {:?}: {}", ground.who, ground.level, ran.text);
        assert!(!free(), "{:?} {:?}", ground.who, ground.level);
        ground.end_strays();
    });
}

/// What the refusal is for: Landlock has no right for modes, so a program of root's could leave a set-uid one.
#[test]
fn the_refusal_of_root_at_level_landlock() {
    if !windlass_testkit::capability::root() {
        return;
    }
    let mut ground = Ground::new(crate::confined::Who::ThisUser, Landlock);
    let shell = ground.file("shell", "");
    let is_set_uid = || std::fs::metadata(&shell).unwrap().permissions().mode() & 0o4000 != 0;
    let script = format!("chmod 4755 '{}'", shell.display());
    let kept = weakly(&mut ground, "", &script);
    assert!(kept.exit.contains("NotStarted") && kept.exit.contains("refused as root"), "{}", kept.exit);
    assert!(!is_set_uid());
    let ran = weakly(&mut ground, "root", &script);
    assert_eq!((ran.exit.as_str(), is_set_uid()), ("Code(0)", true), "{}", ran.text);
}
