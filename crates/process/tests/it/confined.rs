//! Programs at a level, started by a small supervisor that is this user or an ordinary one.

use std::os::unix::fs::{PermissionsExt, chown};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use windlass_core::policy::SandboxLevel;
use windlass_process::Program;
use windlass_testkit::capability;

use crate::stage::{Stage, WARDEN, given};

const NOBODY: u32 = 65534;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    ThisUser,
    Nobody,
}

/// Directories that belong to one user, a program's own among them.
pub struct Ground {
    pub stage: Stage,
    pub who: Who,
    pub level: SandboxLevel,
    settings: Vec<String>,
    /// Of the supervisor.
    pub environment: Vec<(String, String)>,
    /// A weakened level may leave processes behind.
    pub leaves_strays: bool,
}

/// How a program ended, as the supervisor printed it, then what the program itself printed.
pub struct Ran {
    pub exit: String,
    /// What was seen of one that stalled.
    pub stall: String,
    pub text: String,
}

/// Runs `test` as each user and at each level of `levels`, on a ground of its own. What this machine cannot do
/// is reported as not run.
pub fn on_each(levels: &[SandboxLevel], test: impl Fn(Ground)) {
    for who in [Who::ThisUser, Who::Nobody] {
        if who == Who::Nobody && !can_be_nobody() {
            capability::not_run("only root with setpriv can become an ordinary user (these ran as this one)");
            continue;
        }
        for &level in levels {
            let ground = Ground::new(who, level);
            let tried = ground.run("true");
            if tried.exit.starts_with("NotStarted") {
                capability::not_run(&format!("{level:?} as {who:?}: {}", tried.exit));
                continue;
            }
            test(Ground::new(who, level));
        }
    }
}

fn can_be_nobody() -> bool {
    rustix::process::geteuid().is_root() && capability::program("setpriv").is_some()
}

impl Ground {
    pub fn new(who: Who, level: SandboxLevel) -> Ground {
        let stage = Stage::new();
        std::fs::set_permissions(stage.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        std::fs::copy(WARDEN, stage.path().join("warden")).unwrap();
        let mut ground =
            Ground { stage, who, level, settings: Vec::new(), environment: Vec::new(), leaves_strays: false };
        ground.own("work");
        let work = ground.at("work");
        ground.set("write", &work);
        ground
    }

    pub fn at(&self, name: &str) -> PathBuf {
        self.stage.path().join(name)
    }

    /// A directory of the user who runs the program.
    pub fn dir(&self, name: &str) -> PathBuf {
        std::fs::create_dir_all(self.at(name)).unwrap();
        self.own(name);
        self.at(name)
    }

    /// A file of the user who runs the program, in a directory that is there.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        std::fs::write(self.at(name), text).unwrap();
        self.own(name);
        self.at(name)
    }

    fn own(&self, name: &str) {
        if self.who == Who::Nobody {
            chown(self.at(name), Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }

    /// Adds to a list (`read`, `write`, `hide`) or sets what there is one of.
    pub fn set(&mut self, key: &str, value: impl AsRef<std::path::Path>) {
        let value = value.as_ref().to_str().unwrap();
        match self.settings.iter_mut().find(|setting| setting.starts_with(&format!("{key}="))) {
            Some(setting) => setting.push_str(&format!(":{value}")),
            None => self.settings.push(format!("{key}={value}")),
        }
    }

    pub fn run(&self, script: &str) -> Ran {
        self.run_argv(&["/bin/sh", "-c", script])
    }

    pub fn run_argv(&self, argv: &[&str]) -> Ran {
        let program = self.program(argv);
        let output = self.supervise(&program).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
        if !self.leaves_strays {
            assert_eq!(given(&program.marker), Vec::<String>::new());
        }
        let told = |key| printed.lines().find_map(|line| line.strip_prefix(key)).unwrap().to_owned();
        let of = |name| std::fs::read_to_string(program.dir.join(name)).unwrap_or_default();
        Ran { exit: told("exit="), stall: told("stall="), text: format!("{}{}", of("stdout"), of("stderr")) }
    }

    /// A supervisor that can be killed.
    pub fn start(&self, script: &str) -> (Child, Program) {
        let program = self.program(&["/bin/sh", "-c", script]);
        (self.supervise(&program).stdout(Stdio::piped()).spawn().unwrap(), program)
    }

    fn program(&self, argv: &[&str]) -> Program {
        let program = self.stage.program(argv);
        if self.who == Who::Nobody {
            chown(&program.dir, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        program
    }

    fn supervise(&self, program: &Program) -> Command {
        let mut command = self.command();
        command
            .arg("supervise")
            .arg(format!("dir={}", program.dir.display()))
            .arg(format!("cwd={}", self.stage.work().display()))
            .arg(format!("marker={}", program.marker))
            .arg(format!("level={}", self.level.name()))
            .args(&self.settings)
            .arg("--")
            .args(&program.argv);
        command
    }

    /// The test binary, as this ground's user.
    pub fn command(&self) -> Command {
        let binary = self.at("warden");
        let mut command = match self.who {
            Who::ThisUser => Command::new(binary),
            Who::Nobody => {
                let mut command = Command::new("setpriv");
                command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(binary);
                command
            }
        };
        command.current_dir("/").envs(self.environment.iter().cloned());
        command
    }

    /// Kills what a weakened level left of this ground's programs.
    #[cfg(feature = "weaken")]
    pub fn end_strays(&self) {
        let marker = self.stage.path().display().to_string();
        let of_this_ground = || {
            let processes = std::fs::read_dir("/proc").unwrap().flatten();
            processes.filter_map(|process| {
                let environ = String::from_utf8_lossy(&std::fs::read(process.path().join("environ")).ok()?)
                    .into_owned();
                let ours = environ.contains(&format!("INVOCATION_ID={marker}"));
                ours.then(|| rustix::process::Pid::from_raw(process.file_name().to_str()?.parse().ok()?))?
            })
        };
        crate::stage::eventually("strays end", || {
            of_this_ground().for_each(|pid| {
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).ok();
            });
            of_this_ground().next().is_none()
        });
    }

    /// Runs each line of `trials` (`name: command`) and returns which of them went well, by name.
    pub fn try_each(&self, trials: &str) -> Vec<String> {
        let lines = trials.lines().map(str::trim).filter(|line| !line.is_empty());
        let script: String = lines
            .map(|line| {
                let (name, command) = line.split_once(": ").unwrap();
                format!("if ( {command} ) >/dev/null 2>&1; then echo '{name}'; fi\n")
            })
            .collect();
        let ran = self.run(&script);
        assert_eq!(ran.exit, "Code(0)", "{:?} {:?}: {}", self.who, self.level, ran.text);
        ran.text.lines().map(str::to_owned).collect()
    }
}
