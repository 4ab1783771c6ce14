//! Processes of one program that try to look into one another, and what that costs those who do not.

use windlass_core::policy::SandboxLevel::{self, Landlock, Namespaces};
use windlass_testkit::capability;

use crate::confined::{Ground, Ran, on_each};

const BOTH: [SandboxLevel; 2] = [Landlock, Namespaces];

/// A judge: starts what it judges, and is red unless somebody changes its mind. What comes out of a pipe of its
/// own is what it said.
const JUDGE: &str = r#"
import ctypes, os, subprocess, sys
mind = ctypes.create_string_buffer(b"red  ")
secret = ctypes.create_string_buffer(sys.stdin.readline().strip().encode())
read, write = os.pipe()
product = [sys.executable, "product.py", sys.argv[1], str(ctypes.addressof(mind)), str(ctypes.addressof(secret)), str(write)]
subprocess.run(product)
os.set_blocking(read, False)
try:
    said = os.read(read, 100)
except BlockingIOError:
    said = b""
print("mind", mind.value.decode(), "said", said.decode(), flush=True)
"#;

/// The judged: does to its parent what its first argument names.
const PRODUCT: &str = r#"
import ctypes, os, sys
way, mind, secret, fd = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
judge, libc = os.getppid(), ctypes.CDLL(None, use_errno=True)
class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
def call(*words):
    returned = libc.syscall(*[ctypes.c_long(word) if isinstance(word, int) else word for word in words])
    if returned == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return returned
def vector(number, address, buffer):
    ours, theirs = Part(ctypes.addressof(buffer), len(buffer)), Part(address, len(buffer))
    call(number, judge, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)
    return buffer.raw
def write_mem():
    with open(f"/proc/{judge}/mem", "r+b", buffering=0) as memory:
        memory.seek(mind)
        memory.write(b"green")
def read_mem():
    with open(f"/proc/{judge}/mem", "rb", buffering=0) as memory:
        memory.seek(secret)
        return memory.read(8)
def ptrace():
    call(101, 16, judge, 0, 0)
    os.waitpid(judge, 0x40000000)
    call(101, 4, judge, mind, int.from_bytes(b"green\0\0\0", "little"))
    call(101, 17, judge, 0, 0)
def read_tracing():
    call(101, 0x4206, judge, 0, 0)
    return read_mem()
def reopen():
    os.write(os.open(f"/proc/{judge}/fd/{fd}", os.O_WRONLY), b"forged")
def take():
    os.write(call(438, os.pidfd_open(judge), fd, 0), b"forged")
ways = {
    "write mem": write_mem,
    "write vector": lambda: vector(311, mind, ctypes.create_string_buffer(b"green", 5)),
    "ptrace": ptrace,
    "read mem": read_mem,
    "read vector": lambda: vector(310, secret, ctypes.create_string_buffer(8)),
    "read tracing": read_tracing,
    "reopen": reopen,
    "take": take,
    "environ": lambda: open(f"/proc/{judge}/environ", "rb").read()[:4],
    "maps": lambda: open(f"/proc/{judge}/maps", "rb").read()[:4],
}
print("way", way, ways[way](), flush=True)
"#;

fn judged(ground: &mut Ground, way: &str, off: &str) -> Ran {
    ground.environment = vec![("WINDLASS_WEAKEN".into(), off.into())];
    // Through a chain of programs, as agents and runners are started.
    ground.run(&format!("echo hush-hush | env python3 judge.py '{way}' 2>&1"))
}

/// Every way, as the word that shows that it was gone.
const WAYS: [(&str, &str); 10] = [
    ("write mem", "mind green"),
    ("write vector", "mind green"),
    ("ptrace", "mind green"),
    ("read mem", "b'hush-hus'"),
    ("read vector", "b'hush-hus'"),
    ("read tracing", "b'hush-hus'"),
    ("reopen", "said forged"),
    ("take", "said forged"),
    ("environ", "way environ b'"),
    ("maps", "way maps b'"),
];

#[test]
fn the_judged_neither_reads_nor_changes_its_judge() {
    if capability::program("python3").is_none() {
        return;
    }
    on_each(&BOTH, |mut ground| {
        ground.file("work/judge.py", JUDGE);
        ground.file("work/product.py", PRODUCT);
        for (way, got) in WAYS {
            let held = judged(&mut ground, way, "");
            let told = format!("{way} {:?} {:?}: {}", ground.who, ground.level, held.text);
            assert!(held.text.contains("mind red   said \n") && !held.text.contains(got), "{told}");
            assert!(held.text.contains("Error: [Errno "), "{told}");
        }
    });
}

/// At level landlock the rules alone keep /proc from being written, so they are off, too.
#[cfg(feature = "weaken")]
#[test]
fn without_the_defence_every_way_leads_into_the_judge() {
    if capability::program("python3").is_none() {
        return;
    }
    on_each(&BOTH, |mut ground| {
        ground.file("work/judge.py", JUDGE);
        ground.file("work/product.py", PRODUCT);
        for (way, got) in WAYS {
            let off = if ground.level == Landlock { "apart,landlock" } else { "apart" };
            let ran = judged(&mut ground, way, off);
            assert!(ran.text.contains(got), "{way} {:?} {:?}: {}", ground.who, ground.level, ran.text);
        }
    });
}

#[test]
fn who_may_need_a_debugger_may_trace() {
    if capability::program("python3").is_none() {
        return;
    }
    on_each(&BOTH, |mut ground| {
        ground.file("work/judge.py", JUDGE);
        ground.file("work/product.py", PRODUCT);
        ground.set("inspection", "allowed");
        let ran = judged(&mut ground, "ptrace", "");
        assert!(ran.text.contains("mind green"), "{:?} {:?}: {}", ground.who, ground.level, ran.text);
    });
}

/// Stops, signals, threads and programs that become others are as they are without a tracer.
#[test]
fn a_program_that_looks_into_nobody_notices_nothing() {
    if capability::program("python3").is_none() {
        return;
    }
    let script = r#"
import os, signal, subprocess, sys, threading, time
got = []
signal.signal(signal.SIGUSR1, lambda number, frame: got.append(number))
for _ in range(50):
    os.kill(os.getpid(), signal.SIGUSR1)
assert len(got) == 50, got
child = subprocess.Popen(["sleep", "60"])
os.kill(child.pid, signal.SIGSTOP)
_, status = os.waitpid(child.pid, os.WUNTRACED)
assert os.WIFSTOPPED(status) and os.WSTOPSIG(status) == signal.SIGSTOP, status
os.kill(child.pid, signal.SIGCONT)
_, status = os.waitpid(child.pid, os.WCONTINUED)
assert os.WIFCONTINUED(status), status
child.terminate()
assert child.wait() == -signal.SIGTERM
threads = [threading.Thread(target=lambda: subprocess.run(["true"], check=True)) for _ in range(20)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert os.posix_spawn("/bin/false", ["false"], {}) > 0 and os.waitstatus_to_exitcode(os.wait()[1]) == 1
assert subprocess.run(["sh", "-c", "kill -SEGV $$"]).returncode == -signal.SIGSEGV
assert open("/proc/self/status").read() and os.listdir("/proc/self/fd") and open("/proc/self/maps").read()
assert subprocess.run("cat <(echo through a pipe) /dev/stdin", shell=True, executable="/bin/bash", input=b"x", stdout=subprocess.PIPE).stdout == b"through a pipe\nx"
became = "import os, threading; threading.Thread(target=lambda: os.execv('/bin/sh', ['sh', '-c', 'exit 7'])).start(); import time; time.sleep(60)"
assert subprocess.run([sys.executable, "-c", became]).returncode == 7
print("fine")
"#;
    on_each(&BOTH, |ground| {
        ground.file("work/ordinary.py", script);
        let ran = ground.run("python3 ordinary.py");
        assert_eq!(ran.text, "fine\n", "{:?} {:?}", ground.who, ground.level);
        assert_eq!(ran.exit, "Code(0)");
    });
}

/// Twice forked, in a session of its own and without a variable by which it could be found.
#[test]
fn nothing_outlives_a_killed_warden() {
    on_each(&BOTH, |ground| {
        let lock = ground.file("work/lock", "");
        let script = "(setsid env -i /usr/bin/flock lock /bin/sh -c 'echo >up; sleep 60' </dev/null >/dev/null 2>&1 &); \
                      while ! test -e up; do :; done; echo >ready; sleep 60";
        let (mut supervisor, program) = ground.start(script);
        ground.stage.await_file("ready");
        let free = || {
            let file = std::fs::File::open(&lock).unwrap();
            rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok()
        };
        assert!(!free(), "{:?} {:?}", ground.who, ground.level);
        crate::stage::kill_warden_of(&program);
        crate::stage::eventually("the daemon is gone", free);
        supervisor.kill().ok();
        supervisor.wait().unwrap();
    });
}

/// A warden that traces nobody leaves what it was killed over to its supervisor.
#[test]
fn orphans_of_a_killed_warden_are_found_by_the_supervisor() {
    on_each(&[Landlock], |mut ground| {
        ground.set("inspection", "allowed");
        let (free, told) = orphaned(&mut ground, "");
        crate::stage::eventually("the daemon is gone", free);
        assert!(told.contains("WardenLost") && told.contains("survivors=0"), "{:?}: {told}", ground.who);
    });
}

#[cfg(feature = "weaken")]
#[test]
fn without_that_they_live_on() {
    on_each(&[Landlock], |mut ground| {
        ground.set("inspection", "allowed");
        let (free, told) = orphaned(&mut ground, "pid");
        assert!(!free() && told.contains("survivors=0"), "{:?}: {told}", ground.who);
        std::fs::write(ground.at("work/end"), "").unwrap();
        crate::stage::eventually("the daemon of this test is gone", free);
    });
}

/// Leaves a daemon without a variable, kills the warden, and waits for the supervisor, whose words are returned.
fn orphaned(ground: &mut Ground, off: &str) -> (impl Fn() -> bool + use<>, String) {
    ground.environment = vec![("WINDLASS_WEAKEN".into(), off.into())];
    let lock = ground.file("work/lock", "");
    let script = "(setsid env -i /usr/bin/flock lock /bin/sh -c 'echo >up; while ! test -e end; do sleep 0.1; done' \
                  </dev/null >/dev/null 2>&1 &); while ! test -e up; do :; done; echo >ready; sleep 60";
    let (supervisor, program) = ground.start(script);
    ground.stage.await_file("ready");
    let free = move || {
        let file = std::fs::File::open(&lock).unwrap();
        rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive).is_ok()
    };
    assert!(!free(), "{:?}", ground.who);
    crate::stage::kill_warden_of(&program);
    let told = supervisor.wait_with_output().unwrap();
    (free, String::from_utf8(told.stdout).unwrap())
}
