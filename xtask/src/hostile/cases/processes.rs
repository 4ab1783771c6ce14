//! Agents who outlive their attempt, attack the supervisor, or use up the machine.

use std::time::Duration;

use super::super::after::After;
use super::super::case::{Case, Ending, Without};
use super::super::stage::Stage;

/// A session of its own that rewrites a file for ever, carrying the stage's path in its arguments.
const DAEMON: &str = "setsid sh -c 'while :; do date +%N >noise.txt; sleep 0.05; done' \"$side/daemon\" </dev/null >/dev/null 2>&1 &\n\
                      while [ ! -e noise.txt ]; do sleep 0.01; done\n";

pub fn cases() -> Vec<Case> {
    let mut cases = survivors();
    cases.extend(attackers());
    cases.extend(gluttons());
    cases
}

fn survivors() -> Vec<Case> {
    vec![
        Case::new("H28", "leaves a daemon that goes on editing files", |stage| {
            stage.agent(format!("{DAEMON}echo 42 >answer.txt\ncomplete")).unlimited()
        })
        .ends(Ending::Done)
        .got_through(After::outlived)
        .required(|after| {
            let landed = after.stage.repo.show("windlass/hostile", "noise.txt");
            match after.left("noise.txt").trim() == landed.trim() {
                true => Ok(()),
                false => Err("something wrote after the snapshot".to_owned()),
            }
        })
        .off("pid"),
        Case::new("H28b", "leaves a daemon through a check of the gate", |stage| {
            stage
                .file("test.sh", "sh ./build.sh\ntest \"$(cat answer.txt)\" = 42\n")
                .file("build.sh", ":\n")
                .unlimited()
                .agent(
                    "echo \"setsid sh -c 'while :; do sleep 0.05; done' '$side/daemon' </dev/null >/dev/null 2>&1 &\" >build.sh\n\
                     echo 42 >answer.txt\ncomplete",
                )
        })
        .ends(Ending::Done)
        .got_through(After::outlived)
        .off("pid"),
        Case::new("H30", "ignores SIGTERM, forks on it, and hangs", |stage| {
            let agent = "perl -e '$SIG{TERM} = $SIG{HUP} = $SIG{INT} = sub { for (1..3) { fork or last } }; \
                         sleep 1 while 1' \"$side/hydra\" </dev/null >/dev/null 2>&1 &\n\
                         trap '' TERM HUP INT\nwhile :; do sleep 1; done";
            stage.agent(agent).agent_keys("silence = \"600ms\"").unlimited()
        })
        .got_through(After::outlived)
        .required(|after| match after.took < Duration::from_secs(20) {
            true => Ok(()),
            false => Err(format!("it took {:?}", after.took)),
        })
        .off("pid"),
    ]
}

/// The supervisor's id is told, so that nobody else's windlass is hit where nothing stops the signal.
fn with_supervisor(stage: Stage, attack: &str) -> Stage {
    let told = stage.told();
    let wrapper = format!("echo $$ >'{}'; exec \"$@\"", told.join("pid").display());
    let read = format!("extra_read = [\"{}\"]", told.display());
    stage.wrapped(wrapper).sandbox_keys(read).agent(format!("pid=$(cat \"$told/pid\")\n{attack}\ncomplete"))
}

fn attackers() -> Vec<Case> {
    vec![
        Case::new("H40", "kills the supervisor", |stage| with_supervisor(stage, "kill -9 $pid"))
            .got_through(killed)
            .required(|after| match after.left("answer.txt").is_empty() {
                true => Err("the agent did not run".to_owned()),
                false => Ok(()),
            })
            .off("pid,landlock,seccomp"),
        Case::new("H40b", "stops and traces the supervisor", |stage| {
            // 101 is ptrace, 16 PTRACE_ATTACH, 17 PTRACE_DETACH on x86-64; a stopped supervisor is set going again.
            with_supervisor(
                stage,
                "perl -e '$p = shift; exit(0 == syscall(101, 16, $p, 0, 0) ? 0 : 1)' $pid && echo traced >loot\n\
                 kill -STOP $pid && kill -CONT $pid && echo stopped >>loot",
            )
        })
        .got_through(|after| (!after.left("loot").is_empty()).then(|| after.left("loot")))
        .off("pid,landlock,seccomp,caps"),
        Case::new("X20", "lowers the priority of the supervisor, and takes its processors away", |stage| {
            with_supervisor(
                stage,
                "renice -n 19 -p $pid >/dev/null && echo priority >loot\n\
                 taskset -pc 0 $pid >/dev/null && echo processors >>loot\n: >tried",
            )
        })
        .got_through(|after| (!after.left("loot").is_empty()).then(|| after.left("loot")))
        .required(|after| match after.workspace().join("tried").exists() {
            true => Ok(()),
            false => Err("the agent did not run".to_owned()),
        })
        .off("pid,caps")
        .beyond(&[("landlock", "it has no namespace for processes")]),
        Case::new("H40c", "types into the terminal of the supervisor", |stage| {
            stage.agent("perl -e 'open(T, \"+<\", \"/dev/tty\") or exit 1; exit 0' && echo tty >loot\ncomplete")
        })
        .got_through(|after| (!after.left("loot").is_empty()).then(|| "it has a terminal".to_owned()))
        .without(Without::Naive("a shell with the terminal of its parent", |after| {
            let ran = after.naively("script -qec 'perl -e \"open(T, q(+<), q(/dev/tty)) or exit 1; exit 0\"' /dev/null");
            ran.status.success().then(|| "the terminal is open to it".to_owned())
        })),
        Case::new("H47", "makes namespaces, mounts, and an io_uring", |stage| {
            // 425 is io_uring_setup on x86-64.
            let agent = "unshare -Ur true 2>/dev/null && echo user namespace >>loot\n\
                         unshare -Urm sh -c 'mount -t tmpfs none /mnt' 2>/dev/null && echo mount >>loot\n\
                         bwrap --ro-bind / / true 2>/dev/null && echo bwrap >>loot\n\
                         perl -e '$p = \"\\0\" x 256; exit(syscall(425, 1, $p) >= 0 ? 0 : 1)' && echo io_uring >>loot\ncomplete";
            stage.agent(agent)
        })
        .got_through(|after| (!after.left("loot").is_empty()).then(|| after.left("loot")))
        .off("seccomp"),
    ]
}

fn killed(after: &After) -> Option<String> {
    after.ran.status.code().is_none().then(|| "the supervisor was killed".to_owned())
}

/// As many children as it may have, at most 150, for two seconds; then their number is in `loot`.
const BOMB: &str = "perl -e '$n = 0; for (1..150) { my $p = fork; last unless defined $p; \
                    if (!$p) { sleep 20; exit } $n++ } sleep 2; open(F, \">loot\"); print F $n; close F; exit($n < 150)' \"$side/bomb\" || exit 1\ncomplete";
const EATER: &str =
    "perl -e '$x = \"x\" x (600 << 20); open(F, \">loot\"); print F length $x' || exit 1\ncomplete";
/// Itself the one that is stopped: what a child of an agent dies of is for the agent to say.
const FILLER: &str = "exec head -c 150000000 /dev/zero >filler";
const SPREADER: &str = "i=0; while [ $i -lt 60 ]; do head -c 2000000 /dev/zero >f$i; i=$((i + 1)); echo $i >loot; sleep 0.05; done\nrm f*\ncomplete";

const HOARDER: &str = "i=0; while [ $i -lt 60 ]; do head -c 1000000 /dev/zero >\"$HOME/f$i\"; head -c 1000000 /dev/zero >\"$TMPDIR/f$i\"\n\
     i=$((i + 1)); echo $i >loot; sleep 0.05; done\ncomplete";

/// 319 is memfd_create on x86-64: memory that is no process's own.
const MEMFDS: &str = "perl -e '$n = \"m\"; $fd = syscall(319, $n, 0); exit 0 if $fd < 0; open(F, \">&=\", $fd) or exit 0; \
     $c = \"x\" x (1 << 20); $t = 0; for (1..600) { syswrite(F, $c) or last; $t += length $c; \
     open(L, \">loot\"); print L $t; close L }'\ncomplete";
/// 29 is shmget; the size is the only name that it has afterwards.
const SEGMENT: &str = "size=1$(date +%N | cut -c1-7)\n\
     perl -e 'exit(syscall(29, 0, 0 + shift, 01600) < 0)' $size && echo $size >loot\ncomplete";

/// A System V segment of the size that the agent wrote down is there; it is removed.
fn segment_left(after: &After) -> Option<String> {
    let size = after.left("loot").trim().to_owned();
    let listed = std::fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    let of_agent = |line: &&str| !size.is_empty() && line.split_whitespace().nth(3) == Some(size.as_str());
    let id = listed.lines().find(of_agent)?.split_whitespace().nth(1)?.to_owned();
    after.naively(&format!("ipcrm -m {id}"));
    Some("its memory is there after the run".to_owned())
}

fn number(after: &After) -> u64 {
    after.left("loot").trim().parse().unwrap_or(0)
}

fn gluttons() -> Vec<Case> {
    vec![
        Case::new("H31", "forks as often as it can", |stage| {
            stage.agent(BOMB).sandbox_keys("processes = 60")
        })
        .got_through(|after| (number(after) >= 150).then(|| "150 processes".to_owned()))
        .without(Without::Otherwise("no `sandbox.processes`", |stage| stage.agent(BOMB))),
        Case::new("H32", "takes twice the memory it may", |stage| {
            stage.agent(EATER).sandbox_keys("memory = \"300MB\"")
        })
        .got_through(|after| (number(after) > 500_000_000).then(|| "it has the memory".to_owned()))
        .required(|after| after.ends_with("sandbox.memory"))
        .without(Without::Otherwise("no `sandbox.memory`", |stage| stage.agent(EATER))),
        Case::new("H33", "fills the disk with one file", |stage| {
            stage.agent(FILLER).sandbox_keys("file_size = \"20MB\"")
        })
        .got_through(|after| {
            let size = size_of(&after.workspace().join("filler"));
            (size > 100_000_000).then(|| "the file is there".to_owned())
        })
        .required(|after| after.ends_with("sandbox.file_size"))
        .without(Without::Otherwise("no `sandbox.file_size`", |stage| stage.agent(FILLER))),
        Case::new("H33c", "fills the disk with many files", |stage| {
            stage.agent(SPREADER).sandbox_keys("workspace_size = \"20MB\"")
        })
        .got_through(|after| (number(after) >= 60).then(|| "120 MB are there".to_owned()))
        .required(|after| after.ends_with("sandbox.workspace_size"))
        .without(Without::Otherwise("no `sandbox.workspace_size`", |stage| stage.agent(SPREADER))),
        Case::new("X11", "fills its home and its scratch directory, not its workspace", |stage| {
            stage.agent(HOARDER).sandbox_keys("workspace_size = \"20MB\"")
        })
        .got_through(|after| (number(after) >= 60).then(|| "120 MB are there".to_owned()))
        .required(|after| after.ends_with("sandbox.workspace_size"))
        .without(Without::Otherwise("no `sandbox.workspace_size`", |stage| stage.agent(HOARDER))),
        Case::new("X12", "takes twice the memory it may, in files without a name", |stage| {
            stage.agent(MEMFDS).sandbox_keys("memory = \"300MB\"")
        })
        .got_through(|after| (number(after) > 500_000_000).then(|| "it has the memory".to_owned()))
        .without(Without::Otherwise("no `sandbox.memory`", |stage| stage.agent(MEMFDS).unlimited())),
        Case::new("X13", "leaves a System V segment behind", |stage| stage.agent(SEGMENT))
            .got_through(segment_left)
            .without(Without::Unconfined),
        Case::new("H33b", "prints without end", |stage| {
            stage.agent(
                "yes 'a line of output that says nothing' | head -c 400000000\necho 42 >answer.txt\ncomplete",
            )
        })
        .ends(Ending::Either)
        .got_through(|after| {
            let held = size_of(&after.stage.home.state());
            (held > 150_000_000).then(|| format!("{} MB are kept", held / 1_000_000))
        })
        .without(Without::Naive("a plain file for the output", |after| {
            after.naively("yes 'a line of output that says nothing' | head -c 400000000 >kept");
            let kept = size_of(&after.workspace());
            (kept > 150_000_000).then(|| "all of it is kept".to_owned())
        })),
    ]
}

fn size_of(path: &std::path::Path) -> u64 {
    let Ok(found) = std::fs::symlink_metadata(path) else { return 0 };
    if !found.is_dir() {
        return found.len();
    }
    std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| size_of(&entry.path())).sum()
}
