//! Places that lack namespaces, Landlock or both: what is said, and what runs.
//! Each is played as this user and, where this is root, as an ordinary one.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use windlass_testkit::capability::{self, not_run};
use windlass_testkit::denial::{self, Denied};
use windlass_testkit::{Ran, Scratch, alive};

use crate::case::{Case, LOOP, RUN, Setup};

const HONEST: &str = "echo 42 >answer.txt\ncomplete";
const NAMESPACES: &[Denied] = &[Denied::Namespaces];
const BOTH: &[Denied] = &[Denied::Namespaces, Denied::Landlock];

const NO_NAMESPACE: &str =
    "no confinement at level namespaces: no PID namespace: Operation not permitted (os error 1)";
const NO_LANDLOCK: &str = "no confinement at level landlock: there is no Landlock: its system call gives Function not \
                           implemented (os error 38)";
const LIMITS: &str =
    "sandbox level is landlock: agents and checks can change the modes and access lists of all your files";
const FILTERED: &str = "windlass was started under a system call filter that refuses it: of another sandbox, or of a \
                        service manager (systemd: RestrictNamespaces=, SystemCallFilter=). Start it outside of that.";

/// Somebody who starts windlass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    ThisUser,
    Nobody,
}

fn everybody() -> Vec<Who> {
    if denial::can_be_nobody() { vec![Who::ThisUser, Who::Nobody] } else { vec![Who::ThisUser] }
}

fn ordinary_users() -> impl Iterator<Item = Who> {
    everybody().into_iter().filter(|who| !who.is_root())
}

impl Who {
    fn is_root(self) -> bool {
        self == Self::ThisUser && rustix::process::geteuid().is_root()
    }

    /// A home with a binary, both within this user's reach.
    fn home(self) -> Scratch {
        let home = Scratch::new(env!("CARGO_BIN_EXE_windlass"));
        if self == Self::ThisUser {
            return home;
        }
        let home = home.with_own_binary();
        denial::give_to_nobody(home.path());
        home
    }

    fn case(self, setup: Setup) -> Case {
        let case = setup.home(self.home()).ready();
        if self == Self::Nobody {
            denial::give_to_nobody(case.repo.path().parent().unwrap());
        }
        case
    }

    /// Starts a command of this home, and sees it through.
    fn run(self, home: &Scratch, denied: &[Denied], mut command: Command) -> Ran {
        if self == Self::Nobody {
            denial::as_nobody(&mut command);
        }
        denial::under(denied, || home.start(command)).finish(RUN)
    }

    /// What the steps come to for one who is denied `what` here.
    fn steps(self, what: &str) -> String {
        let of_containers = ["/.dockerenv", "/run/.containerenv", "/var/run/secrets/kubernetes.io"];
        if !of_containers.iter().any(|path| Path::new(path).exists()) {
            return FILTERED.to_owned();
        }
        format!(
            "This container has no {what}. Start it with `docker run --cap-add SYS_ADMIN --security-opt \
             seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined …`, or run \
             windlass outside of it."
        )
    }

    fn namespaces(self) -> &'static str {
        if self.is_root() { "namespaces" } else { "user namespaces" }
    }
}

/// Whether a setting of this machine would be named instead of what a test denies.
fn is_restricted() -> bool {
    let is = |name: &str, value: &str| {
        fs::read_to_string(format!("/proc/sys/{name}")).is_ok_and(|text| text.trim() == value)
    };
    let yes = is("user/max_user_namespaces", "0")
        || is("kernel/unprivileged_userns_clone", "0")
        || is("kernel/apparmor_restrict_unprivileged_userns", "1");
    if yes {
        not_run("this machine restricts user namespaces itself");
    }
    yes
}

/// Landlock is what is left where namespaces are denied, for all but root.
fn has_landlock() -> bool {
    let Some(who) = ordinary_users().next() else { return false };
    let home = who.home();
    let ran = who.run(&home, &[], home.command(home.path(), ["doctor", "--json"]));
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    let rows = found["checks"].as_array().unwrap();
    let row = rows.iter().find(|row| row["what"] == "sandbox landlock").unwrap();
    if row["ok"] != true {
        not_run(&row["detail"].to_string());
    }
    row["ok"] == true
}

/// No agent ran, and nothing was written.
#[track_caller]
fn nothing_was_made(case: &Case) {
    assert_eq!(case.turns("author"), 0);
    assert!(!case.repo.path().join(".windlass").exists());
    assert_eq!(fs::read_dir(case.home.state()).unwrap().count(), 0, "records were made");
}

#[test]
fn with_neither_nothing_starts_and_both_reasons_are_told() {
    if is_restricted() {
        return;
    }
    for who in everybody() {
        let case = who.case(Setup::new(HONEST).level("auto"));
        let ran = who.run(&case.home, BOTH, case.command(&["run", "--name", LOOP]));
        assert_eq!(
            (ran.status.code(), ran.stderr.as_str()),
            (
                Some(1),
                format!(
                    "windlass: this machine cannot provide sandbox.minimum = \"landlock\"; nothing was started\n  \
                     hint: level namespaces does not hold here: {NO_NAMESPACE}\n{}\n  \
                     hint: level landlock does not hold here: {NO_LANDLOCK}\n{}\n",
                    who.steps(who.namespaces()),
                    who.steps("system calls of Landlock")
                )
                .as_str()
            ),
            "{who:?}"
        );
        nothing_was_made(&case);
    }
}

#[test]
fn doctor_tells_both_reasons_and_fails() {
    if is_restricted() {
        return;
    }
    for who in everybody() {
        let case = who.case(Setup::new(HONEST));
        let ran = who.run(&case.home, BOTH, case.command(&["doctor", "--json"])).expect_code(1);
        let found = ran.json();
        assert_eq!(found["ok"], false);
        for (level, why, what) in [
            ("namespaces", NO_NAMESPACE, who.namespaces()),
            ("landlock", NO_LANDLOCK, "system calls of Landlock"),
        ] {
            let rows = found["checks"].as_array().unwrap();
            let row = rows.iter().find(|row| row["what"] == format!("sandbox {level}")).unwrap();
            assert_eq!((&row["ok"], &row["needed"]), (&Value::Bool(false), &Value::Bool(true)), "{who:?}");
            let said = format!("level {level} does not hold here: {why}\n{}", who.steps(what));
            assert_eq!(row["detail"], said, "{who:?}");
        }
    }
}

#[test]
fn without_namespaces_a_run_goes_on_at_landlock_and_says_so() {
    if is_restricted() || !has_landlock() {
        return;
    }
    for who in ordinary_users() {
        let case = who.case(Setup::new(HONEST).level("auto"));
        let steps = who.steps(who.namespaces());
        let dry = who.run(&case.home, NAMESPACES, case.command(&["run", "--name", LOOP, "--dry-run"]));
        let warning = format!("warning: the sandbox is landlock, not namespaces: {NO_NAMESPACE}\n");
        assert!(dry.stdout.contains(&format!("  {warning}           {steps}\n")), "{dry}");
        let ran = who.run(&case.home, NAMESPACES, case.command(&["run", "--name", LOOP])).expect_code(0);
        assert!(ran.stdout.starts_with(&format!("warning: {LIMITS}\n")), "{ran}");
        assert!(ran.stdout.contains(&format!("{warning}         {steps}\n")), "{ran}");

        let asked = |args: &[&str]| who.run(&case.home, &[], case.command(args)).expect_code(0);
        let status = asked(&["status", LOOP]);
        let told = format!(
            "  sandbox   landlock\n  warning   not namespaces: {NO_NAMESPACE}\n            {steps}\n"
        );
        assert!(status.stdout.contains(&told), "{status}");
        let view = asked(&["status", LOOP, "--json"]).json();
        let missed = serde_json::json!([{ "level": "namespaces", "why": NO_NAMESPACE, "remedy": steps }]);
        assert_eq!((&view["sandbox"], &view["sandbox_missed"]), (&"landlock".into(), &missed));
        let log = asked(&["log", LOOP]).stdout;
        assert!(log.contains(&format!("sandbox landlock, not namespaces: {NO_NAMESPACE}\n")), "{log}");
        let proof = asked(&["prove", LOOP, "--json"]).json();
        assert_eq!(proof["record"]["sandbox"]["missed"], missed, "{proof:#}");
    }
}

#[test]
fn root_is_refused_at_level_landlock_and_told_the_way_out() {
    let who = Who::ThisUser;
    if !who.is_root() || !has_landlock() {
        return not_run("only root is refused, and only where there is Landlock");
    }
    let case = who.case(Setup::new(HONEST).level("landlock"));
    let ran = who.run(&case.home, &[], case.command(&["run", "--name", LOOP])).expect_code(1);
    let expected = "windlass: this machine cannot provide sandbox.minimum = \"landlock\"; nothing was started\n  \
                    hint: level landlock does not hold here: no confinement at level landlock: it is refused as root: a \
                    program could change the modes of every file of the machine, and leave a set-uid program of root's \
                    behind\n\
                    Run windlass as an ordinary user (in a container: `docker run --user 1000:1000 …`), or give root \
                    what level namespaces needs.\n";
    assert_eq!(ran.stderr, expected);
    nothing_was_made(&case);
}

#[test]
fn at_the_best_level_there_is_nothing_to_warn_of() {
    let case = Setup::new(HONEST).level("auto").ready();
    let ran = case.run();
    if ran.view["sandbox"] != "namespaces" {
        return not_run("this machine has no namespaces");
    }
    assert_eq!(ran.view["sandbox_missed"], serde_json::json!([]));
    assert!(!ran.ran.stdout.contains("warning:"), "{}", ran.ran);
}

#[test]
fn whoever_allows_no_confinement_is_told_what_is_missing() {
    if is_restricted() {
        return;
    }
    let who = Who::ThisUser;
    let case = who.case(Setup::new(HONEST).level("auto"));
    let args = ["run", "--name", LOOP, "--set", "sandbox.minimum=none"];
    let ran = who.run(&case.home, BOTH, case.command(&args)).expect_code(0);
    for (level, why) in [("namespaces", NO_NAMESPACE), ("landlock", NO_LANDLOCK)] {
        assert!(
            ran.stdout.contains(&format!("warning: the sandbox is none, not {level}: {why}\n")),
            "{level}: {ran}"
        );
    }
    assert!(ran.stdout.contains("agents and checks can reach everything you can"), "{ran}");
}

/// Inside a user namespace whose own limit is zero; the machine's stays as it is.
#[test]
fn a_limit_of_no_user_namespaces_is_named() {
    let (Some(unshare), Some(_)) = (capability::program("unshare"), capability::program("setpriv")) else {
        return;
    };
    for who in everybody() {
        let case = who.case(Setup::new(HONEST).level("namespaces"));
        let inside = |program: &Path, args: &[&str]| {
            let mut command = Command::new(&unshare);
            command
                .args(["--user", "--map-user=1000", "--map-group=1000", "--keep-caps", "sh", "-c"])
                .arg(
                    "echo 0 >/proc/sys/user/max_user_namespaces || exit 99
exec setpriv --ambient-caps=-all --inh-caps=-all --bounding-set=-all -- \"$@\"",
                )
                .arg("sh")
                .arg(program)
                .args(args)
                .current_dir(case.repo.path());
            case.home.isolate(&mut command);
            who.run(&case.home, &[], command)
        };
        if inside(Path::new("true"), &[]).status.code() != Some(0) {
            not_run("no user namespace, or one whose limit cannot be set");
            continue;
        }
        let ran = inside(case.home.binary(), &["run", "--name", LOOP]);
        let expected = "windlass: this machine cannot provide sandbox.minimum = \"namespaces\"; nothing was started\n  \
                        hint: level namespaces does not hold here: no confinement at level namespaces: no PID \
                        namespace: No space left on device (os error 28)\n\
                        An administrator switched off user namespaces for ordinary users (user.max_user_namespaces). \
                        To switch them on, now and after a restart:\n  \
                        sudo sysctl user.max_user_namespaces=15000\n  \
                        echo 'user.max_user_namespaces=15000' | sudo tee /etc/sysctl.d/90-windlass.conf\n";
        assert_eq!((ran.status.code(), ran.stderr.as_str()), (Some(1), expected), "{who:?}");
        nothing_was_made(&case);
    }
}

#[test]
fn the_demo_passes_for_an_ordinary_user() {
    if !denial::can_be_nobody() {
        return;
    }
    let home = Who::Nobody.home();
    let ran = Who::Nobody.run(&home, &[], home.command(&home.home(), ["demo"])).expect_code(0);
    assert!(ran.stdout.contains("every check green on exactly this tree"), "{ran}");
    demo_left_nothing(&home);
}

#[test]
fn the_demo_passes_without_namespaces_and_says_the_level_and_why() {
    if is_restricted() || !has_landlock() {
        return;
    }
    for who in ordinary_users() {
        let home = who.home();
        let ran = who.run(&home, NAMESPACES, home.command(&home.home(), ["demo"])).expect_code(0);
        let told = format!("warning: the sandbox is landlock, not namespaces: {NO_NAMESPACE}\n");
        assert!(ran.stdout.contains(&told) && ran.stdout.contains("  sandbox   landlock\n"), "{who:?} {ran}");
        assert!(ran.stdout.contains("every check green on exactly this tree"), "{who:?} {ran}");
        demo_left_nothing(&home);
    }
}

#[track_caller]
fn demo_left_nothing(home: &Scratch) {
    let left = alive::carrying(&home.path().display().to_string());
    assert!(left.is_empty(), "{left:?}");
    assert_eq!(fs::read_dir(home.tmp()).unwrap().count(), 0, "no temporary file is left");
    assert_eq!(fs::read_dir(home.state()).unwrap().count(), 0, "no record is left");
}
