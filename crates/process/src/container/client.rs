//! The engine's own program, run for questions and for ends, each with a deadline.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};

use serde::{Deserialize, Serialize};

use super::{ContainerError, Engine, check_image, check_name};
use crate::program::os_path;

/// What is kept of what it prints.
const MOST_OUTPUT: usize = 64 * 1024;
const LOOK: Duration = Duration::from_millis(5);

/// A client that may or may not have an engine behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Client {
    pub engine: Engine,
    /// Absolute, and outside of anything an agent can write.
    #[serde(with = "os_path")]
    pub program: PathBuf,
    /// The operator's, as far as the client needs it: HOME, XDG_RUNTIME_DIR, DOCKER_HOST, …
    pub env: Vec<(OsString, OsString)>,
}

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("cannot run {program}: {source}")]
    Run { program: PathBuf, source: io::Error },
    #[error("{program} did not answer within {after:?}")]
    Late { program: PathBuf, after: Duration },
    #[error("{program} has no engine behind it: {said}")]
    NoEngine { program: PathBuf, said: String },
    #[error("{engine} has no image {image}: {said}")]
    NoImage { engine: &'static str, image: String, said: String },
    #[error("the container {name} may still run: {said}")]
    Alive { name: String, said: String },
    #[error(transparent)]
    Name(#[from] ContainerError),
}

struct Said {
    success: bool,
    stdout: String,
    stderr: String,
}

impl Client {
    /// Whether there is an engine, found by asking it: a client is installed on many machines without one.
    /// Its version.
    pub fn probe(&self, patience: Duration) -> Result<String, ClientError> {
        let format = match self.engine {
            Engine::Docker => "{{.ServerVersion}}",
            Engine::Podman => "{{.Version.Version}}",
        };
        let said = self.run(&["info", "--format", format], patience)?;
        let version = said.stdout.trim();
        if said.success && !version.is_empty() {
            return Ok(version.lines().next().unwrap_or(version).to_owned());
        }
        Err(ClientError::NoEngine { program: self.program.clone(), said: said.in_short() })
    }

    /// The id of an image that the engine has; nothing is pulled.
    pub fn image(&self, image: &str, patience: Duration) -> Result<String, ClientError> {
        check_image(image)?;
        let said = self.run(&["image", "inspect", "--format", "{{.Id}}", image], patience)?;
        let id = said.stdout.trim();
        if said.success && check_image(id).is_ok() {
            return Ok(id.to_owned());
        }
        let engine = self.engine.name();
        Err(ClientError::NoImage { engine, image: image.to_owned(), said: said.in_short() })
    }

    /// Kills and removes the container, and returns only when the engine says that there is none.
    pub fn end(&self, name: &str, patience: Duration) -> Result<(), ClientError> {
        check_name(name)?;
        let until = Instant::now() + patience;
        let left = || until.saturating_duration_since(Instant::now());
        // Both may fail because it is gone; only the last question decides.
        self.run(&["kill", "--signal", "KILL", name], left())?;
        self.run(&["rm", "--force", "--volumes", name], left())?;
        loop {
            let said =
                self.run(&["inspect", "--type", "container", "--format", "{{.State.Status}}", name], left())?;
            // An engine that cannot be reached fails too, and has not said that there is none.
            if !said.success && said.stderr.to_ascii_lowercase().contains("no such") {
                return Ok(());
            }
            if !said.success || Instant::now() + LOOK >= until {
                return Err(ClientError::Alive { name: name.to_owned(), said: said.in_short() });
            }
            std::thread::sleep(LOOK);
        }
    }

    fn run(&self, args: &[impl AsRef<OsStr>], patience: Duration) -> Result<Said, ClientError> {
        let failed = |source| ClientError::Run { program: self.program.clone(), source };
        let mut child = Command::new(&self.program)
            .args(args)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .current_dir("/")
            .spawn()
            .map_err(failed)?;
        let heard = listen(&mut child, Instant::now() + patience);
        // Whatever it started has no business any more.
        if let Some(group) = Pid::from_raw(child.id() as i32)
            && !matches!(heard, Ok(Some(_)))
        {
            kill_process_group(group, Signal::KILL).ok();
        }
        let status = child.wait().map_err(failed)?;
        match heard.map_err(failed)? {
            Some((stdout, stderr)) => Ok(Said { success: status.success(), stdout, stderr }),
            None => Err(ClientError::Late { program: self.program.clone(), after: patience }),
        }
    }
}

impl Said {
    fn in_short(&self) -> String {
        let text = if self.stderr.trim().is_empty() { &self.stdout } else { &self.stderr };
        text.trim().lines().next_back().unwrap_or("it said nothing").chars().take(300).collect()
    }
}

/// Both streams until the client has ended. `None`: it did not in time.
fn listen(child: &mut Child, until: Instant) -> io::Result<Option<(String, String)>> {
    let (mut stdout, mut stderr) = (child.stdout.take(), child.stderr.take());
    let mut texts = [Vec::new(), Vec::new()];
    while stdout.is_some() || stderr.is_some() {
        let ready: Vec<bool> = {
            let left = until.saturating_duration_since(Instant::now());
            let mut slots: Vec<PollFd<'_>> = Vec::new();
            slots.extend(stdout.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
            slots.extend(stderr.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
            match poll(&mut slots, Timespec::try_from(left).ok().as_ref()) {
                Ok(0) => return Ok(None),
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            slots.iter().map(|slot| !slot.revents().is_empty()).collect()
        };
        let mut ready = ready.into_iter();
        let [out, err] = &mut texts;
        if stdout.is_some() && ready.next() == Some(true) && !take(&mut stdout, out)? {
            stdout = None;
        }
        if stderr.is_some() && ready.next() == Some(true) && !take(&mut stderr, err)? {
            stderr = None;
        }
    }
    loop {
        if child.try_wait()?.is_some() {
            let [stdout, stderr] = texts.map(|text| String::from_utf8_lossy(&text).into_owned());
            return Ok(Some((stdout, stderr)));
        }
        if Instant::now() >= until {
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
}

/// `false`: the pipe is at its end.
fn take(pipe: &mut Option<impl Read>, text: &mut Vec<u8>) -> io::Result<bool> {
    let mut bytes = [0; 4096];
    let size = match pipe {
        Some(pipe) => pipe.read(&mut bytes)?,
        None => 0,
    };
    let room = MOST_OUTPUT.saturating_sub(text.len());
    text.extend_from_slice(&bytes[..size.min(room)]);
    Ok(size > 0)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use windlass_testkit::capability;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    /// Stands in for an engine's client: a script that keeps its arguments.
    fn client(dir: &Path, engine: Engine, script: &str) -> Client {
        let program = dir.join(engine.name());
        let text = format!("#!/bin/sh\necho \"$*\" >>'{}/asked'\n{script}\n", dir.display());
        std::fs::write(&program, text).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        Client { engine, program, env: vec![("PATH".into(), "/usr/bin:/bin".into())] }
    }

    #[test]
    fn an_engine_is_found_by_its_answer() {
        let dir = tempfile::tempdir().unwrap();
        let docker = client(dir.path(), Engine::Docker, "echo 28.2.2");
        assert_eq!(docker.probe(PATIENCE).unwrap(), "28.2.2");
        let podman = client(dir.path(), Engine::Podman, "echo 5.4.0");
        assert_eq!(podman.probe(PATIENCE).unwrap(), "5.4.0");
        let asked = std::fs::read_to_string(dir.path().join("asked")).unwrap();
        assert_eq!(asked, "info --format {{.ServerVersion}}\ninfo --format {{.Version.Version}}\n");
    }

    #[test]
    fn a_client_without_an_engine_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let dead =
            client(dir.path(), Engine::Docker, "echo; echo 'Cannot connect to the daemon' >&2; exit 1");
        let error = dead.probe(PATIENCE).unwrap_err().to_string();
        assert!(error.contains("no engine") && error.contains("Cannot connect"), "{error}");
        let silent = client(dir.path(), Engine::Docker, "exit 0");
        assert!(matches!(silent.probe(PATIENCE), Err(ClientError::NoEngine { .. })));
        let absent = Client { program: dir.path().join("nothing"), ..silent };
        assert!(matches!(absent.probe(PATIENCE), Err(ClientError::Run { .. })));
    }

    #[test]
    fn a_client_that_hangs_is_ended() {
        let dir = tempfile::tempdir().unwrap();
        let short = Duration::from_millis(300);
        for script in ["exec sleep 60", "sleep 60 & wait", "exec >&- 2>&-; sleep 60"] {
            let began = Instant::now();
            let hung = client(dir.path(), Engine::Docker, script);
            assert!(matches!(hung.probe(short), Err(ClientError::Late { .. })), "{script}");
            assert!(began.elapsed() < Duration::from_secs(10));
        }
    }

    #[test]
    fn an_image_is_known_by_its_id() {
        let dir = tempfile::tempdir().unwrap();
        let docker = client(dir.path(), Engine::Docker, "echo sha256:ab12");
        assert_eq!(docker.image("team/agent:1", PATIENCE).unwrap(), "sha256:ab12");
        let asked = std::fs::read_to_string(dir.path().join("asked")).unwrap();
        assert_eq!(asked, "image inspect --format {{.Id}} team/agent:1\n");
        let absent = client(dir.path(), Engine::Podman, "echo 'no such image' >&2; exit 125");
        let error = absent.image("agent", PATIENCE).unwrap_err().to_string();
        assert_eq!(error, "podman has no image agent: no such image");
        let strange = client(dir.path(), Engine::Docker, "echo '[]'");
        assert!(matches!(strange.image("agent", PATIENCE), Err(ClientError::NoImage { .. })));
        assert!(matches!(strange.image("--all", PATIENCE), Err(ClientError::Name(_))));
    }

    #[test]
    fn a_container_is_ended_when_the_engine_says_that_there_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let gone = "case $1 in inspect) echo 'Error: No such container: n' >&2; exit 1;; esac";
        client(dir.path(), Engine::Docker, gone).end("n", PATIENCE).unwrap();
        let asked = std::fs::read_to_string(dir.path().join("asked")).unwrap();
        assert_eq!(
            asked,
            "kill --signal KILL n\nrm --force --volumes n\n\
             inspect --type container --format {{.State.Status}} n\n"
        );
        let slowly = format!(
            "case $1 in inspect) test -e {0}/twice && {{ echo 'no such container' >&2; exit 125; }}; \
             test -e {0}/once && touch {0}/twice; touch {0}/once; echo removing;; esac",
            dir.path().display()
        );
        client(dir.path(), Engine::Podman, &slowly).end("n", PATIENCE).unwrap();
    }

    #[test]
    fn an_engine_that_cannot_say_so_has_not_said_so() {
        let dir = tempfile::tempdir().unwrap();
        let lost = client(dir.path(), Engine::Docker, "echo 'Cannot connect to the daemon' >&2; exit 1");
        assert!(matches!(lost.end("n", PATIENCE), Err(ClientError::Alive { .. })));
        let stays = client(dir.path(), Engine::Docker, "echo running");
        let error = stays.end("n", Duration::from_millis(500)).unwrap_err();
        assert!(matches!(error, ClientError::Alive { .. } | ClientError::Late { .. }), "{error}");
        assert!(matches!(lost.end("--all", PATIENCE), Err(ClientError::Name(_))));
    }

    #[test]
    fn a_real_engine_answers() {
        for (engine, name) in [(Engine::Docker, "docker"), (Engine::Podman, "podman")] {
            let Some(program) = capability::program(name) else { continue };
            let client = Client { engine, program, env: vec![("PATH".into(), "/usr/bin:/bin".into())] };
            match client.probe(PATIENCE) {
                Ok(version) => assert!(version.starts_with(|c: char| c.is_ascii_digit()), "{version}"),
                Err(error) => {
                    capability::not_run(&format!("no program was run in a container: {error}"));
                    continue;
                }
            }
            client.end("windlass-no-such-container", PATIENCE).unwrap();
        }
    }
}
