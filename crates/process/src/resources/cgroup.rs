//! A cgroup of the attempt's own, where this machine lets us make one.
//!
//! With version 2 that is a place whose controllers were delegated: the nearest cgroup above us that we may
//! write and that hands `memory` or `pids` on to its children. On a host that still has version 1, root can
//! use those controllers; a version 2 group beside them, even without controllers, is what kills at once.
//! Version 1 stays for the virtual machines and containers that CI services run on, which have nothing else.
//! Nothing of the host's own configuration is changed.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Access, access, statfs};
use rustix::process::{Pid, Signal};
use windlass_core::policy::ResourcePolicy;

use super::Trip;
use crate::procfs::ProcessId;

/// From `linux/magic.h`: a path that looks right may be an ordinary directory.
const CGROUP2_MAGIC: i64 = 0x6367_7270;
const CGROUP1_MAGIC: i64 = 0x0027_e0eb;

const PREFIX: &str = "windlass";
/// For killed processes to leave, and for an empty group to be removed.
const PATIENCE: Duration = Duration::from_secs(2);

/// What of an attempt is in groups; empty where none can be made.
#[derive(Debug, Default)]
pub struct Group {
    memory: Option<Part>,
    processes: Option<Part>,
    /// Where `cgroup.kill` is.
    killer: Option<PathBuf>,
    /// Every directory that was made.
    made: Vec<PathBuf>,
}

#[derive(Clone, Debug)]
struct Part {
    dir: PathBuf,
    version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Controller {
    Memory,
    Processes,
}

impl Controller {
    fn name(self) -> &'static str {
        match self {
            Controller::Memory => "memory",
            Controller::Processes => "pids",
        }
    }
}

impl Group {
    /// What cannot be had is left out: rlimits take its place.
    pub fn make(resources: &ResourcePolicy) -> Group {
        let mut group = Group::default();
        if resources.memory_bytes == 0 && resources.processes == 0 {
            return group;
        }
        let (Ok(mounts), Ok(own), Some(name)) = (
            std::fs::read_to_string("/proc/self/mountinfo"),
            std::fs::read_to_string("/proc/self/cgroup"),
            own_name(),
        ) else {
            return group;
        };
        let host = Host { mounts: &mounts, own: &own, magic: magic_of };
        let wanted: Vec<Controller> = [
            (resources.memory_bytes > 0, Controller::Memory),
            (resources.processes > 0, Controller::Processes),
        ]
        .into_iter()
        .filter_map(|(wanted, controller)| wanted.then_some(controller))
        .collect();
        let two = host.best_place(&wanted);
        for &controller in &wanted {
            let Some(part) = group.part(&host, two.as_ref(), controller, &name) else { continue };
            match controller {
                Controller::Memory => {
                    group.memory = part.limit_memory(resources.memory_bytes).is_ok().then_some(part);
                }
                Controller::Processes => {
                    // The namespace's init is in the group too.
                    let most = resources.processes.saturating_add(1).to_string();
                    group.processes = write(&part.dir.join("pids.max"), &most).is_ok().then_some(part);
                }
            }
        }
        if group.memory.is_some() || group.processes.is_some() {
            group.killer = group.killer(&host, &name);
        }
        group
    }

    pub fn limits_memory(&self) -> bool {
        self.memory.is_some()
    }

    pub fn limits_processes(&self) -> bool {
        self.processes.is_some()
    }

    /// Every group of version 2 counts its CPU time, whatever its controllers.
    pub fn counts_cpu(&self) -> bool {
        self.killer.as_ref().is_some_and(|dir| dir.join("cpu.stat").exists())
    }

    pub fn cpu(&self) -> Option<Duration> {
        let text = std::fs::read_to_string(self.killer.as_ref()?.join("cpu.stat")).ok()?;
        let used = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
        Some(Duration::from_micros(used.trim().parse().ok()?))
    }

    pub fn join(&self, leader: Pid) -> Result<(), String> {
        let pid = leader.as_raw_pid().to_string();
        self.made.iter().try_for_each(|dir| {
            write(&dir.join("cgroup.procs"), &pid)
                .map_err(|error| format!("cannot put the program into {}: {error}", dir.display()))
        })
    }

    pub fn kill(&self) {
        // A bomb that may still fork would fill every gap that a signal makes.
        if let Some(part) = &self.processes {
            write(&part.dir.join("pids.max"), "0").ok();
        }
        if let Some(dir) = &self.killer {
            write(&dir.join("cgroup.kill"), "1").ok();
            return;
        }
        for process in self.made.iter().flat_map(|dir| members(dir)) {
            process.signal(Signal::KILL).ok();
        }
    }

    /// The number of processes that cannot be killed.
    pub fn wait_until_empty(&self) -> u32 {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = self.made.iter().map(|dir| population(dir)).max().unwrap_or(0);
            if left == 0 || Instant::now() >= deadline {
                return left;
            }
            self.kill();
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub fn trips(&self) -> Vec<Trip> {
        let counted = |part: &Option<Part>, file: &str, key: &str| {
            part.as_ref().is_some_and(|part| event(&part.dir.join(file), key) > 0)
        };
        let memory = counted(&self.memory, "memory.events", "oom_kill")
            || counted(&self.memory, "memory.oom_control", "oom_kill");
        let processes = counted(&self.processes, "pids.events", "max");
        [(memory, Trip::Memory), (processes, Trip::Processes)]
            .into_iter()
            .filter_map(|(reached, trip)| reached.then_some(trip))
            .collect()
    }

    /// What cannot be removed is swept by the next warden.
    pub fn remove(&self) {
        let deadline = Instant::now() + PATIENCE;
        for dir in &self.made {
            while remove_tree(dir).is_err() && dir.exists() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    fn part(
        &mut self,
        host: &Host<'_>,
        two: Option<&DelegatedGroup>,
        controller: Controller,
        name: &str,
    ) -> Option<Part> {
        let (parent, version) = match two.filter(|place| place.controllers.contains(&controller)) {
            Some(place) => (place.dir.clone(), Version::Two),
            None => (host.version_one(controller)?, Version::One),
        };
        let dir = self.child(&parent, name)?;
        Some(Part { dir, version })
    }

    fn killer(&mut self, host: &Host<'_>, name: &str) -> Option<PathBuf> {
        let of_two = |part: &Option<Part>| {
            part.as_ref().filter(|part| part.version == Version::Two).map(|part| part.dir.clone())
        };
        let dir = match of_two(&self.memory).or_else(|| of_two(&self.processes)) {
            Some(dir) => dir,
            None => self.child(&host.version_two()?, name)?,
        };
        dir.join("cgroup.kill").exists().then_some(dir)
    }

    /// The same child for every controller that lives in one hierarchy.
    fn child(&mut self, parent: &Path, name: &str) -> Option<PathBuf> {
        let dir = parent.join(name);
        if !self.made.contains(&dir) {
            sweep(parent);
            std::fs::create_dir(&dir).ok()?;
            self.made.push(dir.clone());
        }
        Some(dir)
    }
}

impl Part {
    fn limit_memory(&self, bytes: u64) -> io::Result<()> {
        let bytes = bytes.to_string();
        match self.version {
            Version::Two => {
                write(&self.dir.join("memory.max"), &bytes)?;
                // Absent where the kernel has no swap.
                write(&self.dir.join("memory.swap.max"), "0").ok();
            }
            Version::One => {
                write(&self.dir.join("memory.limit_in_bytes"), &bytes)?;
                // Memory and swap together, absent where swap is not counted.
                write(&self.dir.join("memory.memsw.limit_in_bytes"), &bytes).ok();
            }
        }
        Ok(())
    }
}

/// A cgroup of version 2 in which we may make another, with these controllers.
struct DelegatedGroup {
    dir: PathBuf,
    controllers: Vec<Controller>,
}

/// What /proc says about this machine's cgroups.
struct Host<'a> {
    mounts: &'a str,
    own: &'a str,
    /// Of the file system a directory is on.
    magic: fn(&Path) -> Option<i64>,
}

impl Host<'_> {
    fn version_two(&self) -> Option<PathBuf> {
        let own = self.own.lines().find_map(|line| line.strip_prefix("0::"))?;
        let dir = self.place("cgroup2", own, |_| true)?;
        ((self.magic)(&dir)? == CGROUP2_MAGIC).then_some(dir)
    }

    /// One place for as many of these as one has: a process is in one group of version 2 only.
    fn best_place(&self, wanted: &[Controller]) -> Option<DelegatedGroup> {
        let place = |controllers: &[Controller]| {
            let dir = self.delegated(controllers)?;
            Some(DelegatedGroup { dir, controllers: controllers.to_vec() })
        };
        place(wanted).or_else(|| wanted.chunks(1).find_map(place))
    }

    /// The nearest place above us that hands these on, and lets us make a child and move into it. A limit on
    /// memory that somebody set on the way is not left behind.
    fn delegated(&self, controllers: &[Controller]) -> Option<PathBuf> {
        let own = self.version_two()?;
        let mut dir = own.as_path();
        loop {
            let handed_on = std::fs::read_to_string(dir.join("cgroup.subtree_control")).ok()?;
            let writable = |path: &Path| access(path, Access::WRITE_OK).is_ok();
            let has =
                |controller: &Controller| handed_on.split_whitespace().any(|name| name == controller.name());
            if controllers.iter().all(has) && writable(dir) && writable(&dir.join("cgroup.procs")) {
                return Some(dir.to_path_buf());
            }
            let limit = std::fs::read_to_string(dir.join("memory.max")).unwrap_or_default();
            if !matches!(limit.trim(), "" | "max") {
                return None;
            }
            dir = dir.parent()?;
        }
    }

    fn version_one(&self, controller: Controller) -> Option<PathBuf> {
        let own = self.own.lines().find_map(|line| {
            let (names, path) = line.split_once(':')?.1.split_once(':')?;
            names.split(',').any(|name| name == controller.name()).then_some(path)
        })?;
        let has = |options: &str| options.split(',').any(|option| option == controller.name());
        let dir = self.place("cgroup", own, has)?;
        let right = (self.magic)(&dir)? == CGROUP1_MAGIC;
        (right && access(&dir, Access::WRITE_OK).is_ok()).then_some(dir)
    }

    /// Where the cgroup `own` can be seen: `… root mount-point … - type source options`.
    fn place(&self, kind: &str, own: &str, wanted: impl Fn(&str) -> bool) -> Option<PathBuf> {
        self.mounts.lines().find_map(|line| {
            let (front, back) = line.split_once(" - ")?;
            let mut back = back.split(' ');
            if back.next()? != kind || !wanted(back.nth(1)?) {
                return None;
            }
            let mut front = front.split(' ').skip(3);
            let (root, at) = (unescape(front.next()?), unescape(front.next()?));
            let below = Path::new(own).strip_prefix(&root).ok()?;
            Some(if below.as_os_str().is_empty() { PathBuf::from(at) } else { Path::new(&at).join(below) })
        })
    }
}

fn magic_of(dir: &Path) -> Option<i64> {
    statfs(dir).ok().map(|found| found.f_type)
}

/// Blanks in mountinfo are written as octal numbers.
fn unescape(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

/// Says whose group it is: a process, and the PID namespace in which its number holds.
fn own_name() -> Option<String> {
    let me = ProcessId::of(std::process::id() as i32)?;
    Some(format!("{PREFIX}-{}-{}-{}", pid_namespace()?, me.pid, me.start_time))
}

fn owner(name: &str) -> Option<(u64, ProcessId)> {
    let mut numbers = name.strip_prefix(PREFIX)?.strip_prefix('-')?.split('-');
    let namespace = numbers.next()?.parse().ok()?;
    let id = ProcessId { pid: numbers.next()?.parse().ok()?, start_time: numbers.next()?.parse().ok()? };
    numbers.next().is_none().then_some((namespace, id))
}

fn pid_namespace() -> Option<u64> {
    let link = std::fs::read_link("/proc/self/ns/pid").ok()?;
    link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()
}

/// Removes what wardens left that were killed: whoever is in there is theirs, and is to be dead.
fn sweep(parent: &Path) {
    let Some(namespace) = pid_namespace() else { return };
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some((where_known, id)) = name.to_str().and_then(owner) else { continue };
        if where_known == namespace && !id.is_living() {
            let group = Group {
                killer: entry.path().join("cgroup.kill").exists().then(|| entry.path()),
                made: vec![entry.path()],
                ..Group::default()
            };
            if group.wait_until_empty() == 0 {
                remove_tree(&entry.path()).ok();
            }
        }
    }
}

/// The group's own directory and those a program made in it; its files cannot be removed and need not be.
fn remove_tree(dir: &Path) -> io::Result<()> {
    for below in subgroups(dir) {
        remove_tree(&below)?;
    }
    std::fs::remove_dir(dir)
}

fn subgroups(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect()
}

fn members(dir: &Path) -> Vec<ProcessId> {
    let text = std::fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default();
    let mut found: Vec<ProcessId> =
        text.lines().filter_map(|line| line.parse().ok()).filter_map(ProcessId::of).collect();
    found.extend(subgroups(dir).iter().flat_map(|below| members(below)));
    found
}

fn population(dir: &Path) -> u32 {
    match std::fs::read_to_string(dir.join("cgroup.events")) {
        Ok(events) if events.lines().any(|line| line == "populated 0") => 0,
        Ok(_) => members(dir).len().max(1) as u32,
        Err(_) => members(dir).iter().filter(|process| process.is_living()).count() as u32,
    }
}

fn event(file: &Path, key: &str) -> u64 {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok());
    value.unwrap_or(0)
}

fn write(file: &Path, text: &str) -> io::Result<()> {
    use std::io::Write as _;
    std::fs::File::options().write(true).open(file)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
        35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
        39 31 0:36 / /sys/fs/cgroup/pids rw,relatime shared:7 - cgroup cgroup rw,pids\n\
        41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

    #[test]
    fn a_place_is_found_below_its_mount() {
        let host = Host { mounts: HYBRID, own: "8:pids:/\n4:memory:/a/b\n0::/\n", magic: magic_of };
        let found = |kind: &str, own: &str, option: &str| {
            host.place(kind, own, |options| options.split(',').any(|have| have == option))
        };
        assert_eq!(found("cgroup", "/a/b", "memory"), Some(PathBuf::from("/sys/fs/cgroup/memory/a/b")));
        assert_eq!(found("cgroup", "/", "pids"), Some(PathBuf::from("/sys/fs/cgroup/pids")));
        assert_eq!(found("cgroup", "/", "cpu"), None);
        assert_eq!(host.place("cgroup2", "/", |_| true), Some(PathBuf::from("/sys/fs/cgroup/unified")));
        let contained = "30 1 0:28 /docker/x /sys/fs/cgroup rw - cgroup2 cgroup rw\n";
        let host = Host { mounts: contained, own: "0::/docker/x/y\n", magic: magic_of };
        assert_eq!(host.place("cgroup2", "/docker/x/y", |_| true), Some(PathBuf::from("/sys/fs/cgroup/y")));
        assert_eq!(host.place("cgroup2", "/elsewhere", |_| true), None);
    }

    #[test]
    fn an_ordinary_directory_is_no_cgroup() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("cgroup.subtree_control"), "memory pids").unwrap();
        std::fs::write(dir.path().join("cgroup.procs"), "").unwrap();
        let mounts = format!("30 1 0:28 / {} rw - cgroup2 cgroup rw\n", dir.path().display());
        let host = Host { mounts: &mounts, own: "0::/\n", magic: magic_of };
        assert_eq!(host.delegated(&[Controller::Memory]), None);
    }

    /// A tree like a user's session, with what each level hands on.
    #[test]
    fn the_nearest_place_that_hands_on_what_is_wanted_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        let level = |path: &str, hands_on: &str, limit: &str| {
            let dir = dir.path().join(path);
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(dir.join("cgroup.subtree_control"), hands_on).unwrap();
            std::fs::write(dir.join("cgroup.procs"), "").unwrap();
            std::fs::write(dir.join("memory.max"), limit).unwrap();
            dir
        };
        let user = level("user", "cpu memory pids\n", "max\n");
        let app = level("user/app", "pids\n", "max\n");
        level("user/app/shell", "\n", "max\n");
        level("user/app/bounded", "\n", "1073741824\n");
        let mounts = format!("30 1 0:28 / {} rw - cgroup2 cgroup rw\n", dir.path().display());
        let found = |own: &str, wanted: &[Controller]| {
            let host = Host { mounts: &mounts, own, magic: |_| Some(CGROUP2_MAGIC) };
            host.best_place(wanted).map(|place| (place.dir, place.controllers.len()))
        };
        let both = [Controller::Memory, Controller::Processes];
        assert_eq!(found("0::/user/app/shell\n", &[Controller::Processes]), Some((app, 1)));
        assert_eq!(found("0::/user/app/shell\n", &both), Some((user, 2)));
        assert_eq!(found("0::/user/app/bounded\n", &both), None, "a limit is not left behind");
        assert_eq!(found("0::/elsewhere\n", &both), None);
    }

    #[test]
    fn a_group_names_its_owner() {
        let name = own_name().unwrap();
        let (namespace, id) = owner(&name).unwrap();
        assert_eq!(namespace, pid_namespace().unwrap());
        assert_eq!(id, ProcessId::of(std::process::id() as i32).unwrap());
        for other in ["windlass", "windlass-1-2", "windlass-1-2-3-4", "windlass-a-2-3", "user.slice"] {
            assert!(owner(other).is_none(), "{other}");
        }
    }
}
