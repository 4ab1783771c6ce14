//! A program in a container: what the warden runs is the engine's client, and what it must end is more.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::process::{getegid, geteuid, getpid};
use windlass_core::policy::{ResourcePolicy, SandboxLevel};

use crate::container::{Client, Container, Image, command_line};
use crate::finished::{Containment, ProgramExit};
use crate::procfs::ProcessId;
use crate::record::{self, NamedContainer};
use crate::recover::ENGINE_PATIENCE;
use crate::sandbox::Confinement;
use crate::sys;
use crate::wire::{WantedContainment, WardenRequest};

/// The exit code of a client that could not make a container, and of programs that choose it.
const NOT_MADE: i32 = 125;
/// Of what a client says, enough for a reason.
const MOST_SAID: usize = 400;

/// The container of one attempt.
pub struct Housed {
    client: Client,
    name: String,
    /// The engine writes it when there is a container.
    cid_file: PathBuf,
}

impl Housed {
    /// Puts the client in the place of a program that is to run in a container; `None` for every other.
    pub fn wrap(request: &mut WardenRequest) -> Result<Option<Housed>, String> {
        let program = &mut request.program;
        if program.confinement.level != SandboxLevel::Container {
            return Ok(None);
        }
        let Confinement { mut reach, network, tree, image, .. } = program.confinement.clone();
        // As at every level, what is not there need not be read; an engine would make it.
        reach.read.retain(|path| path.exists());
        let Image { client, id } = image.ok_or("level container has no image")?;
        if tree.is_some() {
            return Err("a throwaway tree needs level namespaces, and container was asked for".to_owned());
        }
        let name = container_name().ok_or("this process is not in /proc")?;
        let line = command_line(&Container {
            engine: client.engine,
            image: &id,
            name: &name,
            user: (geteuid().as_raw(), getegid().as_raw()),
            program,
            reach: &reach,
            network: network.meant(),
        })
        .map_err(|error| error.to_string())?;
        write_private(&line.env_file, &line.env_text)
            .map_err(|error| format!("cannot write {}: {error}", line.env_file.display()))?;
        std::fs::remove_file(&line.cid_file).ok();
        program.argv = line.argv;
        program.argv[0] = client.program.clone().into_os_string();
        program.env = client.env.clone();
        program.cwd = "/".into();
        // The engine keeps all others; nobody but the warden looks at a workspace.
        let workspace_bytes = program.limits.resources.workspace_bytes;
        program.limits.resources = ResourcePolicy { workspace_bytes, ..ResourcePolicy::default() };
        let counted = std::mem::take(&mut program.confinement.counted);
        program.confinement = Confinement { counted, ..Confinement::none() };
        // In a user namespace of ours, an engine without root could make none of its own.
        request.containment = WantedContainment::Exactly(Containment::Subreaper);
        Ok(Some(Housed { client, name, cid_file: line.cid_file }))
    }

    pub fn named(&self) -> NamedContainer {
        NamedContainer { client: self.client.clone(), name: self.name.clone() }
    }

    /// How many containers may still be alive.
    pub fn end(&self) -> u32 {
        match self.client.end(&self.name, ENGINE_PATIENCE) {
            Ok(()) => 0,
            Err(error) => {
                sys::note(&format!("cannot end a container: {error}"));
                1
            }
        }
    }

    /// What a client says of itself is not the end of a program.
    pub fn exit(&self, exit: ProgramExit, dir: &Path) -> ProgramExit {
        let made = std::fs::read(&self.cid_file).is_ok_and(|id| !id.is_empty());
        match exit {
            ProgramExit::Code(NOT_MADE) if !made => ProgramExit::NotStarted { why: self.said(dir) },
            exit @ (ProgramExit::Code(_)
            | ProgramExit::Signal(_)
            | ProgramExit::TimedOut
            | ProgramExit::Stalled
            | ProgramExit::Cancelled
            | ProgramExit::NotStarted { .. }
            | ProgramExit::WardenLost { .. }) => exit,
        }
    }

    fn said(&self, dir: &Path) -> String {
        let said = std::fs::read(record::stderr_path(dir)).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let said = said.trim();
        let end = said.floor_char_boundary(MOST_SAID);
        format!("{} made no container: {}", self.client.engine.name(), &said[..end])
    }
}

/// No other process of this machine has the same number and the same start.
fn container_name() -> Option<String> {
    let this = ProcessId::of(getpid().as_raw_pid())?;
    Some(format!("windlass-{}-{}", this.pid, this.start_time))
}

fn write_private(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file: File = File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.write_all(text)
}
