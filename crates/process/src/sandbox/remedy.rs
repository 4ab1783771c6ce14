//! What to do on this very host so that a level holds.

use std::path::PathBuf;

use rustix::process::{Resource, getrlimit};
use windlass_core::policy::{MissedLevel, SandboxLevel};

use crate::sandbox::SandboxProof;
use crate::sys;

/// The first kernel with `mount_setattr`, by which a whole tree is made read-only at once.
const NAMESPACES_SINCE: (u32, u32) = (5, 12);
const LANDLOCK_SINCE: (u32, u32) = (5, 13);
const CAP_SYS_ADMIN: u64 = 1 << 21;
/// A root directory is made with many of its parts open at once.
const ENOUGH_OPEN_FILES: u64 = 128;

/// Why a level does not hold here, and the exact steps on this host, in lines. `None` for a proof that held.
pub fn missed_level(proof: &SandboxProof) -> Option<MissedLevel> {
    (!proof.held).then(|| advise(proof, &Host::look()))
}

/// The same in words. Empty for a proof that held.
pub fn remedy(proof: &SandboxProof) -> String {
    missed_level(proof).map_or_else(String::new, |missed| in_words(&missed))
}

fn in_words(missed: &MissedLevel) -> String {
    let MissedLevel { level, why, remedy } = missed;
    format!("level {} does not hold here: {why}\n{remedy}", level.name())
}

/// What decides whether a level can be made, as far as a program may look.
#[derive(Clone, Debug, Default)]
struct Host {
    kernel: String,
    is_root: bool,
    effective_capabilities: u64,
    is_container: bool,
    /// A system call filter of somebody else's is over this process.
    is_filtered: bool,
    /// Of `user.max_user_namespaces`, `kernel.unprivileged_userns_clone` and
    /// `kernel.apparmor_restrict_unprivileged_userns`, where the kernel has them.
    max_user_namespaces: Option<u64>,
    unprivileged_userns_clone: Option<u64>,
    apparmor_restricts: Option<u64>,
    landlock_version: i32,
    /// The security modules that are switched on.
    modules: Option<String>,
    binary: PathBuf,
    /// How many a process may have; `None` for as many as it likes.
    open_files: Option<u64>,
}

impl Host {
    fn look() -> Host {
        let text = |path: &str| std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
        let number = |path: &str| text(path).and_then(|text| text.parse().ok());
        let status = text("/proc/self/status").unwrap_or_default();
        let capabilities = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
        let of_containers = ["/.dockerenv", "/run/.containerenv", "/var/run/secrets/kubernetes.io"];
        let filter = status.lines().find_map(|line| line.strip_prefix("Seccomp:"));
        let groups = text("/proc/self/cgroup").unwrap_or_default();
        Host {
            kernel: text("/proc/sys/kernel/osrelease").unwrap_or_default(),
            is_root: rustix::process::geteuid().is_root(),
            effective_capabilities: capabilities
                .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok())
                .unwrap_or(0),
            is_container: of_containers.iter().any(|path| std::path::Path::new(path).exists())
                || ["docker", "kubepods", "libpod", "lxc"].iter().any(|name| groups.contains(name)),
            is_filtered: filter.is_some_and(|mode| mode.trim() == "2"),
            max_user_namespaces: number("/proc/sys/user/max_user_namespaces"),
            unprivileged_userns_clone: number("/proc/sys/kernel/unprivileged_userns_clone"),
            apparmor_restricts: number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
            landlock_version: sys::landlock_version(),
            modules: text("/sys/kernel/security/lsm"),
            binary: std::fs::canonicalize("/proc/self/exe")
                .unwrap_or_else(|_| "/usr/local/bin/windlass".into()),
            open_files: getrlimit(Resource::Nofile).current,
        }
    }

    /// `6.8.0-45-generic` is (6, 8).
    fn version(&self) -> (u32, u32) {
        let mut numbers =
            self.kernel.split(|c: char| !c.is_ascii_digit()).map(|word| word.parse().unwrap_or(0));
        (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
    }
}

fn advise(proof: &SandboxProof, host: &Host) -> MissedLevel {
    let why = match &proof.refused {
        Some(why) => why.clone(),
        None => broken(proof),
    };
    let short = proof.refused.as_ref().and_then(|why| is_short_of(host, why));
    let remedy = short.unwrap_or_else(|| for_level(proof, host, &why));
    MissedLevel { level: proof.level, why, remedy }
}

fn for_level(proof: &SandboxProof, host: &Host, why: &str) -> String {
    match proof.level {
        SandboxLevel::None => {
            "SandboxLevel none confines nothing; ask for landlock or namespaces.".to_owned()
        }
        SandboxLevel::Landlock => for_landlock(host),
        SandboxLevel::Container => FOR_CONTAINER.to_owned(),
        SandboxLevel::Namespaces if proof.refused.is_some() => for_namespaces(host, why),
        SandboxLevel::Namespaces => "Report this: the level was made, and did not hold.".to_owned(),
    }
}

const FOR_CONTAINER: &str = "Look at how the engine is set up: `docker info` or `podman info`, and that a container of the \
                             image can be started by this user. Or use a level of windlass's own: sandbox.level = \
                             \"auto\".";

/// What keeps every level from being made, whatever the machine can do.
fn is_short_of(host: &Host, why: &str) -> Option<String> {
    let says = |numbers: &[i32]| numbers.iter().any(|number| why.contains(&format!("(os error {number})")));
    if let Some(most) = host.open_files.filter(|most| *most < ENOUGH_OPEN_FILES) {
        return Some(format!(
            "windlass may have no more than {most} files open, and needs {ENOUGH_OPEN_FILES}. In the shell that starts it: \
             `ulimit -n 1024`; in a systemd unit: `LimitNOFILE=1024`."
        ));
    }
    if says(&[libc::EMFILE, libc::ENFILE]) {
        return Some(
            "Too many files are open, here or on the whole machine: `ulimit -n 1024`, or see \
                     `cat /proc/sys/fs/file-nr`."
                .to_owned(),
        );
    }
    // The kernel says the same of a namespace too many.
    let of_namespaces = why.contains("namespace");
    (says(&[libc::ENOSPC, libc::EDQUOT]) && !of_namespaces)
        .then(|| "There is no room left where the level is put to the test. Free some space there (`df -h`, `df -i`).".to_owned())
}

fn broken(proof: &SandboxProof) -> String {
    let broken = proof.attempts.iter().filter(|attempt| !attempt.held);
    let list: Vec<String> =
        broken.map(|attempt| format!("could {} ({})", attempt.what, attempt.detail)).collect();
    format!("a program {}", list.join("; "))
}

fn for_namespaces(host: &Host, why: &str) -> String {
    if host.version() < NAMESPACES_SINCE {
        return newer_kernel(host, NAMESPACES_SINCE);
    }
    if why.contains("/proc") && host.is_container {
        return "This container covers parts of /proc, so no process in it may mount its own. Start it with \
                `docker run --security-opt systempaths=unconfined …` (Kubernetes: `procMount: Unmasked`)."
            .to_owned();
    }
    if host.is_root {
        return match host.effective_capabilities & CAP_SYS_ADMIN {
            0 if host.is_container => container_without("CAP_SYS_ADMIN"),
            0 => ROOT_IN_NAME_ONLY.to_owned(),
            _ => refused_by_others(host, "namespaces"),
        };
    }
    if host.max_user_namespaces == Some(0) {
        return sysctl("user.max_user_namespaces", "15000");
    }
    if host.unprivileged_userns_clone == Some(0) {
        return sysctl("kernel.unprivileged_userns_clone", "1");
    }
    if host.apparmor_restricts == Some(1) {
        return apparmor_profile(host);
    }
    refused_by_others(host, "user namespaces")
}

/// When no setting of the kernel explains it.
fn refused_by_others(host: &Host, what: &str) -> String {
    if host.is_container {
        container_without(what)
    } else if host.is_filtered {
        FILTERED.to_owned()
    } else {
        kernel_refused(host)
    }
}

const ROOT_IN_NAME_ONLY: &str = "windlass runs as root and has no CAP_SYS_ADMIN: whoever started it took that away. \
                                 Start it with all capabilities of root, or as an ordinary user.";

const FILTERED: &str = "windlass was started under a system call filter that refuses it: of another sandbox, or of a \
                        service manager (systemd: RestrictNamespaces=, SystemCallFilter=). Start it outside of that.";

const AS_ROOT: &str = "Run windlass as an ordinary user (in a container: `docker run --user 1000:1000 …`), or give root \
                       what level namespaces needs.";

fn for_landlock(host: &Host) -> String {
    if host.version() < LANDLOCK_SINCE {
        return newer_kernel(host, (6, 12));
    }
    match host.landlock_version {
        1.. if host.version() < (6, 12) => newer_kernel(host, (6, 12)),
        1.. if host.is_root => AS_ROOT.to_owned(),
        1.. => "Report this: the kernel has what the level needs.".to_owned(),
        version if version == -libc::EOPNOTSUPP => switch_on_landlock(host),
        _ if host.is_container => container_without("system calls of Landlock"),
        _ if host.is_filtered => FILTERED.to_owned(),
        _ => format!(
            "The kernel {} was built without it. Use one built with CONFIG_SECURITY_LANDLOCK=y and \"landlock\" in \
             CONFIG_LSM, as those of Debian, Ubuntu, Fedora and Arch are.",
            host.kernel
        ),
    }
}

fn newer_kernel(host: &Host, needed: (u32, u32)) -> String {
    let (major, minor) = needed;
    format!("This kernel is {}; the level needs Linux {major}.{minor} or newer.", host.kernel)
}

fn sysctl(name: &str, value: &str) -> String {
    format!(
        "An administrator switched off user namespaces for ordinary users ({name}). To switch them on, now and after a \
         restart:\n  sudo sysctl {name}={value}\n  echo '{name}={value}' | sudo tee /etc/sysctl.d/90-windlass.conf"
    )
}

/// A profile that allows what it names and confines nothing else, as distributions ship for browsers.
fn apparmor_profile(host: &Host) -> String {
    // One line for each file, so that it can be copied from wherever it is shown.
    let binary = host.binary.display().to_string().replace('\'', r"'\''");
    format!(
        "AppArmor keeps programs without a profile from making user namespaces \
         (kernel.apparmor_restrict_unprivileged_userns=1). To give windlass one:\n  \
         printf '%s\\n' 'abi <abi/4.0>,' 'include <tunables/global>' \
         'profile windlass \"{binary}\" flags=(unconfined) {{ userns, }}' | sudo tee /etc/apparmor.d/windlass\n  \
         sudo apparmor_parser -r /etc/apparmor.d/windlass"
    )
}

fn container_without(what: &str) -> String {
    format!(
        "This container has no {what}. Start it with `docker run --cap-add SYS_ADMIN --security-opt seccomp=unconfined \
         --security-opt apparmor=unconfined --security-opt systempaths=unconfined …`, or run windlass outside of it."
    )
}

fn switch_on_landlock(host: &Host) -> String {
    let others = host.modules.as_deref().unwrap_or("lockdown,yama,integrity,apparmor");
    format!(
        "Landlock is in the kernel but not switched on. Add `lsm=landlock,{others}` to the kernel's command line (with \
         GRUB: GRUB_CMDLINE_LINUX in /etc/default/grub, then `sudo update-grub`) and restart."
    )
}

fn kernel_refused(host: &Host) -> String {
    format!(
        "The kernel {} refuses it, and none of the usual settings says so. Look for a security policy of this machine: \
         `sudo dmesg | grep -iE 'denied|userns'`.",
        host.kernel
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::Attempted;

    fn said(level: SandboxLevel, why: &str, host: Host) -> String {
        let proof = SandboxProof { level, held: false, refused: Some(why.to_owned()), attempts: Vec::new() };
        in_words(&advise(&proof, &host))
    }

    fn laptop() -> Host {
        Host {
            kernel: "6.8.0-45-generic".to_owned(),
            max_user_namespaces: Some(96343),
            binary: "/home/ada/.cargo/bin/windlass".into(),
            landlock_version: 4,
            ..Host::default()
        }
    }

    #[test]
    fn each_switch_that_forbids_user_namespaces_is_named_with_its_command() {
        let why = "no PID namespace: Operation not permitted (os error 1)";
        let host = Host { max_user_namespaces: Some(0), ..laptop() };
        let text = said(SandboxLevel::Namespaces, why, host);
        assert!(text.contains(why) && text.contains("sudo sysctl user.max_user_namespaces=15000"), "{text}");
        let host = Host { unprivileged_userns_clone: Some(0), ..laptop() };
        let text = said(SandboxLevel::Namespaces, why, host);
        assert!(text.contains("sudo sysctl kernel.unprivileged_userns_clone=1"), "{text}");
        let host = Host { apparmor_restricts: Some(1), unprivileged_userns_clone: Some(1), ..laptop() };
        let text = said(SandboxLevel::Namespaces, why, host);
        let profile = "'profile windlass \"/home/ada/.cargo/bin/windlass\" flags=(unconfined) { userns, }' | sudo tee \
             /etc/apparmor.d/windlass\n";
        assert!(
            text.contains(profile) && text.contains("apparmor_parser -r /etc/apparmor.d/windlass"),
            "{text}"
        );
    }

    #[test]
    fn what_the_process_is_short_of_comes_before_what_the_machine_lacks() {
        let host = Host { is_container: true, is_root: true, ..laptop() };
        let few = Host { open_files: Some(64), ..host.clone() };
        for level in [SandboxLevel::Namespaces, SandboxLevel::Landlock] {
            let text = said(level, "the test of the level ended with Code(70): ", few.clone());
            assert!(text.contains("no more than 64 files") && text.contains("ulimit -n 1024"), "{text}");
            let text = said(level, "cannot make a pipe: Too many open files (os error 24)", host.clone());
            assert!(text.contains("ulimit -n 1024") && !text.contains("docker"), "{text}");
            let full = "cannot prepare a test of the level in /tmp: No space left on device (os error 28)";
            let text = said(level, full, host.clone());
            assert!(text.contains("no room left") && text.contains("/tmp"), "{text}");
        }
        let why = "no PID namespace: No space left on device (os error 28)";
        assert!(said(SandboxLevel::Namespaces, why, host).contains("has no CAP_SYS_ADMIN"));
    }

    #[test]
    fn a_container_is_told_apart_from_a_machine() {
        let why = "no PID namespace: Operation not permitted (os error 1)";
        let host = Host { is_container: true, is_root: true, ..laptop() };
        assert!(said(SandboxLevel::Namespaces, why, host.clone()).contains("has no CAP_SYS_ADMIN"));
        let host = Host { is_root: false, ..host };
        assert!(said(SandboxLevel::Namespaces, why, host.clone()).contains("has no user namespaces"));
        let text =
            said(SandboxLevel::Namespaces, "cannot mount a /proc for the program's own namespace: x", host);
        assert!(text.contains("systempaths=unconfined"), "{text}");
        let text = said(SandboxLevel::Namespaces, why, laptop());
        assert!(text.contains("6.8.0-45-generic") && text.contains("dmesg"), "{text}");
    }

    #[test]
    fn a_filter_of_others_is_told_apart_from_the_kernel() {
        let why = "no PID namespace: Operation not permitted (os error 1)";
        let host = Host { is_filtered: true, kernel: "6.14.2".to_owned(), ..laptop() };
        assert!(said(SandboxLevel::Namespaces, why, host.clone()).ends_with(FILTERED));
        let root = Host { is_root: true, effective_capabilities: CAP_SYS_ADMIN, ..host.clone() };
        assert!(said(SandboxLevel::Namespaces, why, root.clone()).ends_with(FILTERED));
        let powerless = Host { effective_capabilities: 0, ..root };
        assert!(said(SandboxLevel::Namespaces, why, powerless).ends_with(ROOT_IN_NAME_ONLY));
        let absent = Host { landlock_version: -libc::ENOSYS, ..host.clone() };
        assert!(said(SandboxLevel::Landlock, "x", absent.clone()).ends_with(FILTERED));
        let contained = Host { is_container: true, ..absent };
        assert!(said(SandboxLevel::Landlock, "x", contained).contains("has no system calls of Landlock"));
        // What the operator can change comes first.
        let switched_off = Host { max_user_namespaces: Some(0), ..host };
        assert!(said(SandboxLevel::Namespaces, why, switched_off).contains("user.max_user_namespaces=15000"));
    }

    #[test]
    fn an_old_kernel_is_named_with_the_one_that_is_needed() {
        let old = Host { kernel: "5.4.0-150-generic".to_owned(), ..laptop() };
        assert!(
            said(SandboxLevel::Namespaces, "x", old.clone())
                .contains("5.4.0-150-generic; the level needs Linux 5.12")
        );
        assert!(said(SandboxLevel::Landlock, "x", old).contains("needs Linux 6.12"));
        assert!(
            said(SandboxLevel::Landlock, "x", laptop())
                .contains("6.8.0-45-generic; the level needs Linux 6.12")
        );
    }

    #[test]
    fn landlock_that_is_off_or_not_there_says_how_to_get_it() {
        let newer = Host { kernel: "6.14.2".to_owned(), ..laptop() };
        let modules = Some("lockdown,capability,yama,apparmor".to_owned());
        let off = Host { landlock_version: -libc::EOPNOTSUPP, modules, ..newer.clone() };
        assert!(
            said(SandboxLevel::Landlock, "x", off)
                .contains("`lsm=landlock,lockdown,capability,yama,apparmor`")
        );
        let absent = Host { landlock_version: -libc::ENOSYS, ..newer };
        assert!(said(SandboxLevel::Landlock, "x", absent).contains("CONFIG_SECURITY_LANDLOCK=y"));
    }

    #[test]
    fn what_went_through_is_listed() {
        let attempt = |what: &str, held| Attempted { what: what.to_owned(), held, detail: "how".to_owned() };
        let attempts = vec![attempt("read a secret", false), attempt("write", true)];
        let proof = SandboxProof { level: SandboxLevel::Landlock, held: false, refused: None, attempts };
        assert!(in_words(&advise(&proof, &laptop())).contains("a program could read a secret (how)\n"));
    }

    #[test]
    fn a_level_that_holds_needs_no_remedy() {
        let proof =
            SandboxProof { level: SandboxLevel::Landlock, held: true, refused: None, attempts: Vec::new() };
        assert_eq!(missed_level(&proof), None);
    }
}
