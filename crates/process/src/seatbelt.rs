//! The profile and the command line that confine a program on macOS. Text only: it is written, and tested,
//! on every platform; only macOS has the `sandbox-exec` that takes it.
//!
//! Everything is denied that is not named. Later rules override earlier ones, so what is hidden comes last.
//! What a profile cannot do: hide the names of other processes, end a daemon, or limit resources. And it
//! does not nest: a program that would confine itself by seatbelt fails inside.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::sandbox::{Network, Reach};

/// Where macOS has it; never looked for in PATH.
pub const SANDBOX_EXEC: &str = "/usr/bin/sandbox-exec";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    #[error("the path {path:?} cannot be written into a seatbelt profile: {why}")]
    Path { path: PathBuf, why: &'static str },
    #[error(
        "network.allow needs the port of a proxy at level seatbelt, and {0:?} is none: start the proxy first"
    )]
    Proxy(u16),
}

/// What a dynamic linker, a shell and a toolchain need of the system, and nothing of a user's.
const SYSTEM: &[&str] = &[
    "/System",
    "/Library/Apple",
    "/Library/Developer",
    "/Library/Frameworks",
    "/Library/Preferences/Logging",
    "/Applications/Xcode.app",
    "/bin",
    "/sbin",
    "/usr",
    "/opt/homebrew",
    "/private/etc",
    "/private/var/db/dyld",
    "/private/var/db/timezone",
    "/private/var/select",
];

const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Looked up by name, these would act for the program outside of its sandbox: open applications and
/// documents, read the pasteboard and the keychain, see the screen, start jobs.
const NEVER_LOOKED_UP: &[&str] = &[
    "com.apple.coreservices.appleevents",
    "com.apple.coreservices.launchservicesd",
    "com.apple.lsd.mapdb",
    "com.apple.lsd.open",
    "com.apple.pasteboard.1",
    "com.apple.pbs.fetch_services",
    "com.apple.SecurityServer",
    "com.apple.securityd",
    "com.apple.security.agent",
    "com.apple.tccd",
    "com.apple.windowserver.active",
    "com.apple.windowmanager.server",
    "com.apple.screencapture.interactive",
    "com.apple.xpc.launchd.domain.user",
    "com.apple.ServiceManagement.launchd",
];

/// What programs need to know who they run as, what time it is and whom to trust.
const LOOKED_UP: &[&str] = &[
    "com.apple.system.logger",
    "com.apple.system.notification_center",
    "com.apple.system.opendirectoryd.libinfo",
    "com.apple.system.opendirectoryd.membership",
    "com.apple.logd",
    "com.apple.diagnosticd",
    "com.apple.bsd.dirhelper",
    "com.apple.FSEvents",
];

/// For a program with a network: names and certificates.
const LOOKED_UP_FOR_NETWORK: &[&str] = &[
    "com.apple.mDNSResponder",
    "com.apple.dnssd.service",
    "com.apple.trustd",
    "com.apple.trustd.agent",
    "com.apple.SystemConfiguration.configd",
    "com.apple.SystemConfiguration.DNSConfiguration",
    "com.apple.networkd",
];

/// The profile, in SBPL. `proxy_port` is where our proxy listens, for [`Network::Allow`].
pub fn profile(reach: &Reach, network: &Network, proxy_port: u16) -> Result<String, ProfileError> {
    let mut text = String::from("(version 1)\n(deny default)\n");
    text.push_str("(allow process-fork process-exec)\n");
    text.push_str("(allow signal (target same-sandbox))\n");
    text.push_str("(allow process-info* (target same-sandbox))\n");
    text.push_str("(allow sysctl-read)\n");
    text.push_str("(allow ipc-posix-sem ipc-posix-shm-read* ipc-posix-shm-write*)\n");
    // The names and sizes of things are everywhere looked at on the way to a path.
    text.push_str("(allow file-read-metadata)\n(allow file-read* (literal \"/\"))\n");
    let system: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
    rule(&mut text, "allow file-read*", "subpath", &system)?;
    let devices: Vec<PathBuf> = DEVICES.iter().map(PathBuf::from).collect();
    rule(&mut text, "allow file-read* file-write-data file-ioctl", "literal", &devices)?;
    rule(&mut text, "allow file-read*", "subpath", &reach.read)?;
    let writable: Vec<PathBuf> = reach.write.iter().chain(&reach.scratch).cloned().collect();
    rule(&mut text, "allow file-read* file-write*", "subpath", &writable)?;
    let read_only: Vec<PathBuf> =
        reach.read.iter().filter(|path| is_inside_one_of(path, &writable)).cloned().collect();
    rule(&mut text, "deny file-write*", "subpath", &read_only)?;
    network_rules(&mut text, network, proxy_port)?;
    names(&mut text, "deny mach-lookup (with no-log)", NEVER_LOOKED_UP);
    rule(&mut text, "deny file-read* file-write* (with no-log)", "subpath", &reach.hide)?;
    Ok(text)
}

/// `sandbox-exec` around a command. The profile is an argument: it holds paths, and no secrets.
pub fn command_line(profile: &str, argv: &[OsString]) -> Vec<OsString> {
    [SANDBOX_EXEC, "-p", profile, "--"].into_iter().map(OsString::from).chain(argv.iter().cloned()).collect()
}

/// Whether this machine confines: a profile that denies everything must keep even `true` from starting, and
/// one that allows everything must not.
#[cfg(target_os = "macos")]
pub fn works() -> std::io::Result<bool> {
    let starts = |profile: &str| {
        std::process::Command::new(SANDBOX_EXEC)
            .args(["-p", profile, "--", "/usr/bin/true"])
            .env_clear()
            .status()
    };
    Ok(starts("(version 1)(allow default)")?.success() && !starts("(version 1)(deny default)")?.success())
}

/// A path is readable inside a writable one: it was named to stay as it is.
fn is_inside_one_of(path: &Path, writable: &[PathBuf]) -> bool {
    writable.iter().any(|outer| path != outer && path.starts_with(outer))
}

fn network_rules(text: &mut String, network: &Network, proxy_port: u16) -> Result<(), ProfileError> {
    names(text, "allow mach-lookup", LOOKED_UP);
    match network {
        Network::Open => {
            text.push_str("(allow network-outbound network-inbound network-bind)\n(allow system-socket)\n");
            names(text, "allow mach-lookup", LOOKED_UP_FOR_NETWORK);
            // Sockets with a path are other programs of this user: agents of keys, engines, daemons.
            text.push_str("(deny network-outbound (remote unix-socket))\n");
            text.push_str("(allow network-outbound (literal \"/private/var/run/mDNSResponder\"))\n");
        }
        Network::Loopback => {
            text.push_str("(allow system-socket)\n");
            text.push_str("(allow network-bind network-inbound (local ip \"localhost:*\"))\n");
            text.push_str("(allow network-outbound (remote ip \"localhost:*\"))\n");
        }
        Network::None => text.push_str("(deny network*)\n"),
        Network::Allow(_) if proxy_port == 0 => return Err(ProfileError::Proxy(proxy_port)),
        Network::Allow(_) => {
            text.push_str("(allow system-socket)\n");
            text.push_str(&format!("(allow network-outbound (remote ip \"localhost:{proxy_port}\"))\n"));
        }
    }
    Ok(())
}

/// One rule over several paths; none at all over none, which would mean every path.
fn rule(text: &mut String, verb: &str, filter: &str, paths: &[PathBuf]) -> Result<(), ProfileError> {
    if paths.is_empty() {
        return Ok(());
    }
    let (verb, modifier) = match verb.split_once(" (with") {
        Some((verb, rest)) => (verb, format!("\n  (with{rest}")),
        None => (verb, String::new()),
    };
    text.push_str(&format!("({verb}"));
    for path in paths {
        text.push_str(&format!("\n  ({filter} {})", quoted(path)?));
    }
    text.push_str(&format!("{modifier})\n"));
    Ok(())
}

fn names(text: &mut String, verb: &str, names: &[&str]) {
    let (verb, modifier) = match verb.split_once(" (with") {
        Some((verb, rest)) => (verb, format!("\n  (with{rest}")),
        None => (verb, String::new()),
    };
    text.push_str(&format!("({verb}"));
    for name in names {
        text.push_str(&format!("\n  (global-name \"{name}\")"));
    }
    text.push_str(&format!("{modifier})\n"));
}

/// A string of SBPL, which is Scheme: a quote and a backslash are escaped, and nothing else needs to be.
fn quoted(path: &Path) -> Result<String, ProfileError> {
    let refused = |why| ProfileError::Path { path: path.to_path_buf(), why };
    let text = path.to_str().ok_or(refused("it is not UTF-8"))?;
    if !path.is_absolute() {
        return Err(refused("it is not absolute"));
    }
    if text.chars().any(char::is_control) {
        return Err(refused("it holds a control character"));
    }
    if path.components().any(|part| part == std::path::Component::ParentDir) {
        return Err(refused("it holds `..`"));
    }
    // A rule for a path with a slash at its end matches nothing.
    let text = if text.len() > 1 { text.trim_end_matches('/') } else { text };
    Ok(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    fn reach() -> Reach {
        Reach {
            read: vec!["/Users/me/.cargo/bin".into(), "/spaces/a/vendor".into()],
            write: vec!["/spaces/a".into()],
            hide: vec!["/spaces/a/.git".into()],
            scratch: Some("/scratch/7/".into()),
        }
    }

    /// What a parser of Scheme would see: every opening parenthesis closed, outside of strings.
    fn balanced(text: &str) -> bool {
        let (mut depth, mut inside, mut escaped) = (0i32, false, false);
        for c in text.chars() {
            match c {
                _ if escaped => escaped = false,
                '\\' if inside => escaped = true,
                '"' => inside = !inside,
                '(' if !inside => depth += 1,
                ')' if !inside => depth -= 1,
                _ => {}
            }
            if depth < 0 {
                return false;
            }
        }
        depth == 0 && !inside
    }

    #[test]
    fn what_is_not_named_is_denied_and_what_is_hidden_comes_last() {
        let text = profile(&reach(), &Network::None, 0).unwrap();
        assert!(text.starts_with("(version 1)\n(deny default)\n"), "{text}");
        assert!(text.contains("(allow signal (target same-sandbox))\n"));
        assert!(text.contains(
            "(allow file-read*\n  (subpath \"/Users/me/.cargo/bin\")\n  (subpath \"/spaces/a/vendor\"))\n"
        ));
        assert!(text.contains(
            "(allow file-read* file-write*\n  (subpath \"/spaces/a\")\n  (subpath \"/scratch/7\"))\n\
             (deny file-write*\n  (subpath \"/spaces/a/vendor\"))\n(allow mach-lookup"
        ));
        assert!(text.contains("(deny network*)\n") && !text.contains("allow network"));
        assert!(
            text.ends_with(
                "(deny file-read* file-write*\n  (subpath \"/spaces/a/.git\")\n  (with no-log))\n"
            )
        );
        for never in NEVER_LOOKED_UP {
            assert!(!LOOKED_UP.contains(never) && !LOOKED_UP_FOR_NETWORK.contains(never));
            assert!(text.contains(&format!("(global-name \"{never}\")")));
        }
        assert!(balanced(&text));
    }

    #[test]
    fn every_network_has_its_rules() {
        let rules = |network: &Network, port: u16| {
            let text = profile(&reach(), network, port).unwrap();
            assert!(balanced(&text), "{text}");
            let about = |line: &&str| line.contains("network") && !line.contains("global-name");
            text.lines().filter(about).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(rules(&Network::None, 0), ["(deny network*)"]);
        assert_eq!(
            rules(&Network::Loopback, 0),
            [
                "(allow network-bind network-inbound (local ip \"localhost:*\"))",
                "(allow network-outbound (remote ip \"localhost:*\"))"
            ]
        );
        assert_eq!(
            rules(&Network::Open, 0),
            [
                "(allow network-outbound network-inbound network-bind)",
                "(deny network-outbound (remote unix-socket))",
                "(allow network-outbound (literal \"/private/var/run/mDNSResponder\"))"
            ]
        );
        let allow = Network::Allow(vec!["a.org:443".to_owned()]);
        assert_eq!(rules(&allow, 4711), ["(allow network-outbound (remote ip \"localhost:4711\"))"]);
        assert_eq!(profile(&reach(), &allow, 0), Err(ProfileError::Proxy(0)));
    }

    #[test]
    fn a_path_cannot_leave_its_string() {
        let odd = [
            ("/a \"b\"", r#""/a \"b\"""#),
            ("/a\\", r#""/a\\""#),
            ("/a\\\") (allow default) (\"", r#""/a\\\") (allow default) (\"""#),
            ("/é (b)", "\"/é (b)\""),
            ("/", "\"/\""),
            ("/a//", "\"/a\""),
        ];
        for (path, wanted) in odd {
            assert_eq!(quoted(Path::new(path)).unwrap(), wanted);
            let reach = Reach { write: vec![path.into()], scratch: Some("/s".into()), ..Reach::default() };
            assert!(balanced(&profile(&reach, &Network::None, 0).unwrap()), "{path}");
        }
        for bad in ["/a\nb", "/a\r", "/a\tb", "/a\0b", "relative", "/a/../b", ""] {
            assert!(quoted(Path::new(bad)).is_err(), "{bad:?}");
        }
        assert!(quoted(Path::new(OsStr::from_bytes(b"/\xff"))).is_err());
    }

    #[test]
    fn no_paths_make_no_rule() {
        let reach = Reach { scratch: Some("/s".into()), ..Reach::default() };
        let text = profile(&reach, &Network::None, 0).unwrap();
        assert!(text.contains("(allow file-read* file-write*\n  (subpath \"/s\"))\n"));
        assert!(!text.contains("(deny file-"), "{text}");
    }

    #[test]
    fn the_command_comes_behind_the_profile() {
        let argv = ["sh".into(), "-c".into(), "exit 0".into()];
        let line = command_line("(version 1)", &argv);
        assert_eq!(line, ["/usr/bin/sandbox-exec", "-p", "(version 1)", "--", "sh", "-c", "exit 0"]);
    }
}
