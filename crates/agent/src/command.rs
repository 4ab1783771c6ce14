//! Any program as an agent: the brief on its stdin, its report in the file of `WINDLASS_REPORT`.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use windlass_core::policy::AgentPolicy;
use windlass_process::Canceller;

use crate::agent::{Agent, TurnRequest, TurnResult, Unusable};
use crate::attempt;

pub struct CommandAgent;

impl Agent for CommandAgent {
    fn check(&self, policy: &AgentPolicy, project: &Path, path: &OsStr) -> Result<(), Unusable> {
        let argv = argv(policy, project);
        let program = argv.first().filter(|program| !program.is_empty()).ok_or(Unusable::NoCommand)?;
        if program.as_encoded_bytes().contains(&b'/') {
            executable(Path::new(program))?;
        } else if locate(program, path).is_none() {
            return Err(Unusable::NotInPath { program: program.to_string_lossy().into_owned() });
        }
        match script(policy) {
            Some(script) if !project.join(script).exists() => {
                Err(Unusable::Missing { path: project.join(script) })
            }
            Some(_) | None => Ok(()),
        }
    }

    fn files(&self, policy: &AgentPolicy, project: &Path, path: &OsStr) -> Vec<PathBuf> {
        let argv = argv(policy, project);
        let Some((program, words)) = argv.split_first() else { return Vec::new() };
        let mut files: Vec<PathBuf> =
            words.iter().map(PathBuf::from).filter(|word| word.is_absolute() && word.exists()).collect();
        if let Some(found) = locate(program, path) {
            let real = found.canonicalize().unwrap_or_else(|_| found.clone());
            // A name in PATH may be a link to a program that is installed elsewhere, beside its own files.
            let of_path = !program.as_encoded_bytes().contains(&b'/');
            files.extend(real.parent().filter(|_| of_path).map(Path::to_path_buf));
            files.extend([found, real]);
        }
        files
    }

    fn call(&self, call: &TurnRequest<'_>, started: &mut dyn FnMut(Canceller)) -> TurnResult {
        attempt::run(call, argv(call.policy, call.project), started)
    }
}

pub fn locate(program: &OsStr, path: &OsStr) -> Option<PathBuf> {
    if program.as_encoded_bytes().contains(&b'/') {
        return Some(PathBuf::from(program));
    }
    let places = std::env::split_paths(path).filter(|dir| dir.is_absolute());
    places.map(|dir| dir.join(program)).find(|place| executable(place).is_ok())
}

/// The command as the operator means it. The program runs in the workspace, but its own files are the
/// operator's: what an agent may write must not become the next agent. So a relative path of the first word,
/// the script of an interpreter, and every later word that looks like a path (it has a slash or a dot) and
/// names a file in the operator's project, starts there. All else stays as it is.
pub fn argv(policy: &AgentPolicy, project: &Path) -> Vec<OsString> {
    let resolved = |(index, word): (usize, &String)| {
        let of_project = match index {
            0 => word.contains('/'),
            1 if script(policy).is_some() => true,
            _ => looks_like_a_path(word) && project.join(word).is_file(),
        };
        if of_project && Path::new(word).is_relative() {
            project.join(word.strip_prefix("./").unwrap_or(word)).into_os_string()
        } else {
            word.into()
        }
    };
    policy.command.iter().enumerate().map(resolved).collect()
}

/// The script of an interpreter, where it is plain to see which word that is.
fn script(policy: &AgentPolicy) -> Option<&str> {
    const INTERPRETERS: [&str; 10] =
        ["sh", "bash", "dash", "zsh", "python", "python3", "node", "ruby", "perl", "php"];
    let [program, script, ..] = policy.command.as_slice() else { return None };
    let name = Path::new(program).file_name()?.to_str()?;
    (INTERPRETERS.contains(&name) && looks_like_a_path(script)).then_some(script)
}

fn looks_like_a_path(word: &str) -> bool {
    word.contains(['/', '.']) && !word.starts_with('-')
}

pub fn executable(path: &Path) -> Result<(), Unusable> {
    let owned = || PathBuf::from(path);
    let found = std::fs::metadata(path).map_err(|_| Unusable::Missing { path: owned() })?;
    let usable = found.is_file() && found.permissions().mode() & 0o111 != 0;
    usable.then_some(()).ok_or_else(|| Unusable::NotExecutable { path: owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_command_are_the_operators() {
        let project = tempfile::tempdir().unwrap();
        let at = |name: &str| project.path().join(name).into_os_string();
        std::fs::create_dir(project.path().join("bin")).unwrap();
        std::fs::write(project.path().join("bin/agent.sh"), "").unwrap();
        std::fs::write(project.path().join("agent"), "").unwrap();
        for (given, meant) in [
            (vec!["sh", "bin/agent.sh"], vec!["sh".into(), at("bin/agent.sh")]),
            (vec!["sh", "./bin/agent.sh"], vec!["sh".into(), at("bin/agent.sh")]),
            (vec!["python3", "bin/", "."], vec!["python3".into(), at("bin/"), ".".into()]),
            (vec!["./bin/agent.sh", "x/y"], vec![at("bin/agent.sh"), "x/y".into()]),
            (vec!["gone/tool"], vec![at("gone/tool")]),
            (vec!["/bin/echo", "-bin/agent.sh"], vec!["/bin/echo".into(), "-bin/agent.sh".into()]),
            (vec!["python3", "-m", "agent"], vec!["python3".into(), "-m".into(), "agent".into()]),
            (vec!["sh", "-c", "cat ./x"], vec!["sh".into(), "-c".into(), "cat ./x".into()]),
        ] {
            let policy = AgentPolicy {
                command: given.iter().map(|word| (*word).to_owned()).collect(),
                ..AgentPolicy::default()
            };
            assert_eq!(argv(&policy, project.path()), meant, "{given:?}");
        }
    }

    #[test]
    fn a_command_that_cannot_run_is_refused_before_it_is_called() {
        let project = tempfile::tempdir().unwrap();
        std::fs::write(project.path().join("plain.txt"), "").unwrap();
        std::fs::write(project.path().join("a.sh"), "").unwrap();
        for (given, said) in [
            (vec![], "the agent has no command"),
            (vec![""], "the agent has no command"),
            (vec!["no-such-program"], "the agent's command \"no-such-program\" is not in PATH"),
            (vec!["/no/such"], "the agent's command /no/such does not exist"),
            (vec!["./plain.txt"], "is not executable"),
            (vec!["sh", "/no/such.sh"], "the agent's command /no/such.sh does not exist"),
            (vec!["sh", "b.sh"], "b.sh does not exist"),
            (vec!["sh", "a.sh"], ""),
            (vec!["sh", "-c", "exit 0"], ""),
            (vec!["/bin/sh"], ""),
        ] {
            let policy = AgentPolicy {
                command: given.iter().map(|word| (*word).to_owned()).collect(),
                ..AgentPolicy::default()
            };
            let refused = CommandAgent.check(&policy, project.path(), OsStr::new("bin:/usr/bin:/bin"));
            let words = refused.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(words.contains(said) && words.is_empty() == said.is_empty(), "{given:?}: {words}");
        }
    }
}
