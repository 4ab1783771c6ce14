//! The level *container*: a program inside docker or podman, in an image that the policy names.
//!
//! [`command_line`] only writes a command line; a warden runs it as it runs any program. The engine's client
//! dies with its warden, the container does not: the warden calls [`Client::end`] afterwards, and recovery does
//! where the warden was killed.
//!
//! The program's environment goes through a file. As `--env NAME` it would have to be the client's own
//! environment too, and a `HOME` of the agent's would let it configure the client; in the command line every
//! user of the machine could read it.

mod client;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub use client::{Client, ClientError};
use serde::{Deserialize, Serialize};
use windlass_core::policy::{NetworkKind, ResourcePolicy};

use crate::program::Program;
use crate::sandbox::Reach;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    Docker,
    Podman,
}

/// An image, and the client of the engine that has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    pub client: Client,
    /// By its id, so that what was proven is what is run.
    pub id: String,
}

/// One program in one container.
#[derive(Clone, Copy, Debug)]
pub struct Container<'a> {
    pub engine: Engine,
    /// Must be there already: nothing is pulled while an attempt runs.
    pub image: &'a str,
    /// Unique on this machine; letters, digits, `_`, `.` and `-`.
    pub name: &'a str,
    /// Whose files the program's are.
    pub user: (u32, u32),
    /// Its `argv`, `cwd`, `env` and `limits.resources`, and `dir` for the files of the engine.
    pub program: &'a Program,
    pub reach: &'a Reach,
    pub network: NetworkKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine {
    /// The engine's name first; give it the path of the client that was tried.
    pub argv: Vec<OsString>,
    /// To be written, readable by this user only, before `argv` is run.
    pub env_file: PathBuf,
    pub env_text: Vec<u8>,
    /// Must not exist; the engine writes the container's id there.
    pub cid_file: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ContainerError {
    #[error("there is no command to run")]
    NoCommand,
    #[error("{0:?} is not the name of an image: set sandbox.image to one that the engine has")]
    Image(String),
    #[error("{0:?} cannot be the name of a container")]
    Name(String),
    #[error("the path {path:?} cannot be mounted into a container: {why}")]
    Path { path: PathBuf, why: &'static str },
    #[error("the variable {name:?} cannot be given to a container: {why}")]
    Variable { name: String, why: &'static str },
    #[error(
        "network.allow does not work at level container: use network = \"none\" or \"open\", or level namespaces"
    )]
    AllowList,
}

impl Engine {
    pub fn name(self) -> &'static str {
        match self {
            Engine::Docker => "docker",
            Engine::Podman => "podman",
        }
    }
}

/// Looks at the file system only to tell hidden files from hidden directories.
pub fn command_line(container: &Container<'_>) -> Result<CommandLine, ContainerError> {
    let Container { engine, image, name, program, .. } = *container;
    let (first, rest) = program.argv.split_first().ok_or(ContainerError::NoCommand)?;
    check_image(image)?;
    check_name(name)?;
    let env_file = program.dir.join("container.env");
    let cid_file = program.dir.join("container.id");
    let mut line = Line(vec![engine.name().into(), "run".into()]);
    line.flags(&["--rm", "--init", "--interactive"]);
    line.pair("--pull", "never");
    line.pair("--name", name);
    line.pair("--cidfile", &cid_file);
    line.pair("--env-file", &env_file);
    line.confine(container)?;
    line.limit(&program.limits.resources);
    line.mount(container.reach)?;
    line.pair("--workdir", absolute(&program.cwd)?);
    // The image's own entry point is not ours to run.
    line.pair("--entrypoint", first);
    line.0.push(image.into());
    line.0.extend(rest.iter().cloned());
    Ok(CommandLine { argv: line.0, env_text: env_text(program)?, env_file, cid_file })
}

struct Line(Vec<OsString>);

impl Line {
    fn flags(&mut self, flags: &[&str]) {
        self.0.extend(flags.iter().map(OsString::from));
    }

    /// As one word, so that no value can be taken for a flag.
    fn pair(&mut self, flag: &str, value: impl AsRef<OsStr>) {
        let mut word = OsString::from(flag);
        word.push("=");
        word.push(value);
        self.0.push(word);
    }

    fn confine(&mut self, container: &Container<'_>) -> Result<(), ContainerError> {
        let (uid, gid) = container.user;
        self.flags(&["--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--ipc=private"]);
        self.pair("--user", format!("{uid}:{gid}"));
        match container.engine {
            Engine::Docker => {}
            // Without root, podman would otherwise give the user's files to another one inside. And where
            // SELinux rules, nothing but a relabelled tree could be read; ours are not relabelled.
            Engine::Podman if uid != 0 => {
                self.flags(&["--userns=keep-id", "--security-opt=label=disable"]);
            }
            Engine::Podman => self.flags(&["--security-opt=label=disable"]),
        }
        match container.network {
            NetworkKind::Open => {}
            // A container without a network still has a loopback of its own.
            NetworkKind::Loopback | NetworkKind::None => self.flags(&["--network=none"]),
            NetworkKind::Allow => return Err(ContainerError::AllowList),
        }
        // What it prints is kept by the warden, not once more by the engine.
        self.flags(&["--hostname=windlass", "--log-driver=none"]);
        Ok(())
    }

    fn limit(&mut self, resources: &ResourcePolicy) {
        self.flags(&["--ulimit=core=0:0"]);
        if resources.memory_bytes > 0 {
            self.pair("--memory", resources.memory_bytes.to_string());
            // Memory and swap together: no swap.
            self.pair("--memory-swap", resources.memory_bytes.to_string());
        }
        if resources.processes > 0 {
            // The engine's init is counted too.
            self.pair("--pids-limit", resources.processes.saturating_add(1).to_string());
        }
        if resources.open_files > 0 {
            self.pair("--ulimit", format!("nofile={0}:{0}", resources.open_files));
        }
        if resources.file_bytes > 0 {
            self.pair("--ulimit", format!("fsize={0}:{0}", resources.file_bytes));
        }
    }

    /// The outer path first: an engine mounts in the order of the paths, and so do we.
    fn mount(&mut self, reach: &Reach) -> Result<(), ContainerError> {
        self.flags(&["--tmpfs=/tmp:rw,nosuid,nodev,mode=1777"]);
        let writable = reach.write.iter().chain(&reach.scratch).map(|path| (path, Access::Write));
        let readable = reach.read.iter().map(|path| (path, Access::Read));
        let mut binds: Vec<(&PathBuf, Access)> = readable.chain(writable).collect();
        let covered = |hidden: &&PathBuf| binds.iter().any(|(path, _)| hidden.starts_with(path));
        // What lies in no path that is mounted is not there anyway.
        let hidden: Vec<&PathBuf> = reach.hide.iter().filter(covered).collect();
        binds.extend(hidden.into_iter().map(|path| (path, Access::Hidden)));
        binds.sort();
        // Named both readable and writable, or hidden as well: the last word counts.
        let last_words = binds.chunk_by(|one, next| one.0 == next.0).filter_map(|same| same.last());
        for (path, access) in last_words {
            let target = field("target", path)?;
            let mount = match access {
                Access::Read => format!("type=bind,{},{target},readonly", field("source", path)?),
                Access::Write => format!("type=bind,{},{target}", field("source", path)?),
                Access::Hidden if path.is_file() => format!("type=bind,source=/dev/null,{target},readonly"),
                Access::Hidden => format!("type=tmpfs,{target},tmpfs-size=4096,tmpfs-mode=0555"),
            };
            self.pair("--mount", mount);
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Access {
    Read,
    Write,
    Hidden,
}

/// One field of a `--mount`, whose value is a line of comma-separated values.
fn field(key: &str, path: &Path) -> Result<String, ContainerError> {
    let text = absolute(path)?;
    let plain = !text.contains(['"', ',']);
    Ok(if plain { format!("{key}={text}") } else { format!("\"{key}={}\"", text.replace('"', "\"\"")) })
}

fn absolute(path: &Path) -> Result<&str, ContainerError> {
    let refused = |why| ContainerError::Path { path: path.to_path_buf(), why };
    let text = path.to_str().ok_or(refused("it is not UTF-8"))?;
    if !path.is_absolute() {
        return Err(refused("it is not absolute"));
    }
    if text.chars().any(char::is_control) {
        return Err(refused("it holds a control character"));
    }
    Ok(text)
}

fn check_image(image: &str) -> Result<(), ContainerError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:@".contains(&byte);
    let begins = image.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if begins && image.bytes().all(plain) { Ok(()) } else { Err(ContainerError::Image(image.to_owned())) }
}

fn check_name(name: &str) -> Result<(), ContainerError> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if begins && name.bytes().all(plain) { Ok(()) } else { Err(ContainerError::Name(name.to_owned())) }
}

/// Lines of `NAME=value`, as they are: the file knows no quoting, hence no value of several lines.
fn env_text(program: &Program) -> Result<Vec<u8>, ContainerError> {
    let marker = (OsString::from(crate::record::ATTEMPT_VARIABLE), OsString::from(&program.marker));
    let mut text = Vec::new();
    for (name, value) in program.env.iter().chain([&marker]) {
        let refused = |why| ContainerError::Variable { name: name.display().to_string(), why };
        let named = name.as_bytes();
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        if named.is_empty() || named[0].is_ascii_digit() || !named.iter().all(plain) {
            return Err(refused("its name is not made of letters, digits and underscores"));
        }
        if value.as_bytes().iter().any(|byte| matches!(byte, b'\n' | b'\r' | 0)) {
            return Err(refused("its value has several lines"));
        }
        if value.to_str().is_none() {
            return Err(refused("its value is not UTF-8"));
        }
        text.extend_from_slice(&[named, b"=", value.as_bytes(), b"\n"].concat());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::program::ProgramLimits;
    use crate::sandbox::Confinement;

    fn program(argv: &[&str]) -> Program {
        Program {
            argv: argv.iter().map(OsString::from).collect(),
            cwd: "/spaces/a".into(),
            env: vec![("PATH".into(), "/usr/bin:/bin".into()), ("API_KEY".into(), "s3cret # $x".into())],
            stdin: Vec::new(),
            limits: ProgramLimits { wall: Duration::from_secs(1), ..ProgramLimits::none(1) },
            confinement: Confinement::none(),
            dir: "/attempts/7".into(),
            marker: "loop/7".to_owned(),
        }
    }

    fn reach() -> Reach {
        Reach {
            read: vec!["/tools".into(), "/spaces/a/vendor".into()],
            write: vec!["/spaces/a".into(), "/reports/7".into()],
            hide: vec!["/spaces/a/.git".into(), "/home/me".into()],
            scratch: Some("/scratch/7".into()),
            alias: None,
        }
    }

    fn shown(line: &CommandLine) -> String {
        line.argv.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn docker_as_an_ordinary_user_with_every_limit() {
        let mut program = program(&["/tools/agent", "--flag", "a b"]);
        program.limits.resources = ResourcePolicy {
            memory_bytes: 1 << 30,
            processes: 100,
            open_files: 1024,
            file_bytes: 1 << 20,
            workspace_bytes: 5,
            ..ResourcePolicy::default()
        };
        let line = command_line(&Container {
            engine: Engine::Docker,
            image: "registry.example.org:5000/team/agent:1.2@sha256:ab12",
            name: "windlass-7",
            user: (1000, 1001),
            program: &program,
            reach: &reach(),
            network: NetworkKind::None,
        })
        .unwrap();
        assert_eq!(
            shown(&line),
            "docker\nrun\n--rm\n--init\n--interactive\n--pull=never\n--name=windlass-7\n\
             --cidfile=/attempts/7/container.id\n--env-file=/attempts/7/container.env\n\
             --read-only\n--cap-drop=ALL\n--security-opt=no-new-privileges\n--ipc=private\n--user=1000:1001\n\
             --network=none\n--hostname=windlass\n--log-driver=none\n\
             --ulimit=core=0:0\n--memory=1073741824\n--memory-swap=1073741824\n--pids-limit=101\n\
             --ulimit=nofile=1024:1024\n--ulimit=fsize=1048576:1048576\n\
             --tmpfs=/tmp:rw,nosuid,nodev,mode=1777\n\
             --mount=type=bind,source=/reports/7,target=/reports/7\n\
             --mount=type=bind,source=/scratch/7,target=/scratch/7\n\
             --mount=type=bind,source=/spaces/a,target=/spaces/a\n\
             --mount=type=tmpfs,target=/spaces/a/.git,tmpfs-size=4096,tmpfs-mode=0555\n\
             --mount=type=bind,source=/spaces/a/vendor,target=/spaces/a/vendor,readonly\n\
             --mount=type=bind,source=/tools,target=/tools,readonly\n\
             --workdir=/spaces/a\n--entrypoint=/tools/agent\n\
             registry.example.org:5000/team/agent:1.2@sha256:ab12\n--flag\na b"
        );
        assert_eq!(
            String::from_utf8(line.env_text).unwrap(),
            "PATH=/usr/bin:/bin\nAPI_KEY=s3cret # $x\nINVOCATION_ID=loop/7\n"
        );
        assert_eq!(line.env_file, Path::new("/attempts/7/container.env"));
    }

    #[test]
    fn podman_with_an_open_network_and_no_limits() {
        let reach = Reach { scratch: Some("/s".into()), ..Reach::default() };
        let program = program(&["sh"]);
        let container = Container {
            engine: Engine::Podman,
            image: "agent",
            name: "n",
            user: (1000, 1000),
            program: &program,
            reach: &reach,
            network: NetworkKind::Open,
        };
        assert_eq!(
            shown(&command_line(&container).unwrap()),
            "podman\nrun\n--rm\n--init\n--interactive\n--pull=never\n--name=n\n\
             --cidfile=/attempts/7/container.id\n--env-file=/attempts/7/container.env\n\
             --read-only\n--cap-drop=ALL\n--security-opt=no-new-privileges\n--ipc=private\n--user=1000:1000\n\
             --userns=keep-id\n--security-opt=label=disable\n\
             --hostname=windlass\n--log-driver=none\n--ulimit=core=0:0\n\
             --tmpfs=/tmp:rw,nosuid,nodev,mode=1777\n\
             --mount=type=bind,source=/s,target=/s\n--workdir=/spaces/a\n--entrypoint=sh\nagent"
        );
        let root = Container { user: (0, 0), network: NetworkKind::Loopback, ..container };
        let root = shown(&command_line(&root).unwrap());
        assert!(
            !root.contains("keep-id") && root.contains("--user=0:0\n") && root.contains("--network=none\n")
        );
    }

    #[test]
    fn no_secret_is_in_a_command_line() {
        let program = program(&["sh"]);
        let container = Container {
            engine: Engine::Docker,
            image: "i",
            name: "n",
            user: (1, 1),
            program: &program,
            reach: &reach(),
            network: NetworkKind::None,
        };
        assert!(!shown(&command_line(&container).unwrap()).contains("s3cret"));
    }

    #[test]
    fn odd_paths_are_quoted_or_refused() {
        assert_eq!(field("source", Path::new("/a b=c")).unwrap(), "source=/a b=c");
        assert_eq!(field("source", Path::new("/a,readonly")).unwrap(), "\"source=/a,readonly\"");
        assert_eq!(field("target", Path::new("/a\"b")).unwrap(), "\"target=/a\"\"b\"");
        for bad in ["relative", "/a\nb", "/a\0b", "/a\u{7f}"] {
            assert!(field("source", Path::new(bad)).is_err(), "{bad:?}");
        }
        assert!(field("source", Path::new(OsStr::from_bytes(b"/\xff"))).is_err());
    }

    #[test]
    fn what_an_engine_would_misread_is_refused() {
        let good = program(&["sh"]);
        let reach = Reach { scratch: Some("/s".into()), ..Reach::default() };
        let container = |program: &Program, image: &str, name: &str, network: NetworkKind| {
            let user = (1, 1);
            command_line(&Container {
                engine: Engine::Docker,
                image,
                name,
                user,
                program,
                reach: &reach,
                network,
            })
        };
        let error = |result: Result<CommandLine, ContainerError>| result.unwrap_err();
        assert_eq!(error(container(&program(&[]), "i", "n", NetworkKind::None)), ContainerError::NoCommand);
        assert_eq!(error(container(&good, "i", "n", NetworkKind::Allow)), ContainerError::AllowList);
        for image in ["", "--privileged", "a b", "a\nb", "/a", "a;b"] {
            assert!(matches!(
                error(container(&good, image, "n", NetworkKind::None)),
                ContainerError::Image(_)
            ));
        }
        for name in ["", "-n", "a/b", "a b", "é"] {
            assert!(matches!(error(container(&good, "i", name, NetworkKind::None)), ContainerError::Name(_)));
        }
        for (name, value) in
            [("A", "two\nlines"), ("A=B", "x"), ("", "x"), ("1A", "x"), ("#A", "x"), ("A", "x\0")]
        {
            let mut bad = program(&["sh"]);
            bad.env = vec![(name.into(), value.into())];
            let error = error(container(&bad, "i", "n", NetworkKind::None));
            assert!(matches!(error, ContainerError::Variable { .. }), "{name:?}");
        }
    }

    #[test]
    fn the_last_word_on_a_path_counts() {
        let reach = Reach {
            read: vec!["/a".into(), "/b".into()],
            write: vec!["/a".into()],
            hide: vec!["/b".into()],
            scratch: Some("/s".into()),
            alias: None,
        };
        let mut line = Line(Vec::new());
        line.mount(&reach).unwrap();
        let words: Vec<&str> = line.0.iter().skip(1).map(|word| word.to_str().unwrap()).collect();
        assert_eq!(
            words,
            [
                "--mount=type=bind,source=/a,target=/a",
                "--mount=type=tmpfs,target=/b,tmpfs-size=4096,tmpfs-mode=0555",
                "--mount=type=bind,source=/s,target=/s"
            ]
        );
    }
}
