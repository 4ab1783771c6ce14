//! Whether nobody is signed in to an agent, told before the first attempt. Only what is certain is told: whoever
//! uses a provider, a proxy, a wrapper or a settings file of their own may be signed in by it.

use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use windlass_agent::registry::{self, KnownAgent};
use windlass_core::policy::AgentPolicy;

use crate::surroundings::Surroundings;

/// An agent that nobody is signed in to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedOut {
    pub agent: &'static str,
    /// The command that signs in.
    pub sign_in: &'static str,
    /// The variable for a key.
    key: Option<&'static str>,
    /// Settings of the operator's that may sign it in, and that the policy leaves out.
    pub left_out: Option<PathBuf>,
}

impl SignedOut {
    pub fn hints(&self) -> Vec<String> {
        let Self { agent, sign_in, key, left_out } = self;
        let first = match sign_in == agent {
            true => format!("run `{sign_in}` once and sign in"),
            false => format!("sign in: {sign_in}"),
        };
        let or_key = key.map(|name| format!("; or set {name}")).unwrap_or_default();
        let use_settings = left_out.iter().map(|file| {
            format!(
                "{} may do so, but is left out: set `own_config = true` under [agent] in windlass.toml",
                file.display()
            )
        });
        let others = [
            format!("{first}{or_key}"),
            "a program that signs in by itself: name it with `path` under [agent] in windlass.toml"
                .to_owned(),
        ];
        use_settings.chain(others).collect()
    }
}

/// Words of settings by which a program is signed in without its usual files.
const OTHER_WAYS: [&str; 8] = [
    "model_provider",
    "base_url",
    "oss_provider",
    "credentials_store",
    "apiKeyHelper",
    "primaryApiKey",
    "ANTHROPIC_",
    "CLAUDE_CODE_USE",
];

/// Settings of a whole machine, and of a project.
const OTHER_SETTINGS: [&str; 5] = [
    "/etc/codex/config.toml",
    "/etc/claude-code/managed-settings.json",
    ".codex/config.toml",
    ".claude/settings.json",
    ".claude/settings.local.json",
];

/// Other places for the files of an agent than its usual ones.
const OTHER_HOMES: [&str; 2] = ["CODEX_HOME", "CLAUDE_CONFIG_DIR"];

/// None also where it cannot be told.
pub fn signed_out(agent: &AgentPolicy, surroundings: &Surroundings) -> Option<SignedOut> {
    let known = registry::named(&agent.adapter)?;
    let sign_in = known.sign_in?;
    let home = Path::new(surroundings.var("HOME")?);
    let has_file = known.profile.credentials.iter().any(|name| home.join(name).exists());
    let may_be_signed_in = has_file || has_other_way(agent, surroundings);
    if may_be_signed_in || !is_the_program_itself(known, surroundings) {
        return None;
    }
    // `codex exec` reads its own variable, the last, and not the one of OpenAI's libraries.
    let key = known.profile.variables.iter().rfind(|name| name.ends_with("_API_KEY")).copied();
    let left_out = own_settings(known, home).find(|file| may_sign_in(file));
    Some(SignedOut { agent: known.name, sign_in, key, left_out })
}

/// Whether what the policy, the variables and the agent's own settings say may sign it in without its usual files.
pub fn has_other_way(agent: &AgentPolicy, surroundings: &Surroundings) -> bool {
    let Some(known) = registry::named(&agent.adapter) else { return false };
    let is_set = |name: &str| surroundings.var(name).is_some_and(|value| !value.is_empty());
    let is_lent = known.profile.variables.iter().any(|name| is_set(name))
        || agent.env.iter().any(|name| is_set(name))
        || OTHER_HOMES.iter().any(|name| is_set(name));
    let extra = &agent.extra;
    let is_own_way = !extra.args.is_empty()
        || !extra.set.is_empty()
        || !extra.path.is_empty()
        || !extra.inject.is_empty()
        || !extra.fallback.is_empty();
    let home = surroundings.var("HOME").map(Path::new);
    let own = home.filter(|_| extra.own_config).into_iter().flat_map(|home| own_settings(known, home));
    let mut settings = own.chain(OTHER_SETTINGS.iter().map(|name| surroundings.project.join(name)));
    is_lent || is_own_way || settings.any(|file| may_sign_in(&file))
}

/// The agent gets them only where the policy says so.
fn own_settings(known: &KnownAgent, home: &Path) -> impl Iterator<Item = PathBuf> {
    known.profile.configuration.iter().map(move |(from, _)| home.join(from))
}

fn may_sign_in(file: &Path) -> bool {
    match fs::read_to_string(file) {
        Ok(text) => OTHER_WAYS.iter().any(|word| text.contains(word)),
        // One that cannot be read may say anything.
        Err(error) => error.kind() != std::io::ErrorKind::NotFound,
    }
}

/// As its package installs it: a script of that name elsewhere may sign in by itself.
fn is_the_program_itself(known: &KnownAgent, surroundings: &Surroundings) -> bool {
    let found = std::env::split_paths(&surroundings.clean_path())
        .map(|dir| dir.join(known.name))
        .find(|file| file.is_file())
        .and_then(|file| file.canonicalize().ok());
    found.is_some_and(|file| is_of_npm(&file) || is_native(&file))
}

fn is_of_npm(file: &Path) -> bool {
    file.components().any(|part| part.as_os_str() == OsStr::new("node_modules"))
}

fn is_native(file: &PathBuf) -> bool {
    let mut first = [0; 4];
    fs::File::open(file).and_then(|mut file| file.read_exact(&mut first)).is_ok_and(|()| &first == b"\x7fELF")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Machine {
        dir: tempfile::TempDir,
        agent: AgentPolicy,
        vars: Vec<(&'static str, &'static str)>,
    }

    /// Codex as npm installs it, and nobody signed in.
    fn machine() -> Machine {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine {
            agent: AgentPolicy { adapter: "codex".to_owned(), ..AgentPolicy::default() },
            vars: Vec::new(),
            dir,
        };
        machine.file("node_modules/.bin/codex", "#!/usr/bin/env node\n");
        for dir in ["home", "project", "state"] {
            fs::create_dir_all(machine.dir.path().join(dir)).unwrap();
        }
        machine
    }

    impl Machine {
        fn file(&self, name: &str, text: &str) {
            let file = self.dir.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }

        fn out(&self) -> Option<SignedOut> {
            let root = self.dir.path();
            let paths = [("HOME", root.join("home")), ("PATH", root.join("node_modules/.bin"))];
            let paths = paths.into_iter().map(|(name, path)| (name.into(), path.into()));
            let vars = self.vars.iter().map(|(name, value)| (name.into(), value.into()));
            let surroundings = Surroundings {
                vars: paths.chain(vars).collect(),
                project: root.join("project"),
                state: root.join("state"),
            };
            signed_out(&self.agent, &surroundings)
        }
    }

    #[test]
    fn without_a_file_a_key_or_a_way_of_its_own_nobody_is_signed_in() {
        let hints = machine().out().unwrap().hints();
        assert_eq!(hints[0], "sign in: codex login; or set CODEX_API_KEY");
    }

    #[test]
    fn whoever_may_be_signed_in_is_not_told_otherwise() {
        let files = [
            ("home/.codex/auth.json", "{}"),
            ("project/.codex/config.toml", "openai_base_url = \"http://127.0.0.1:1\""),
        ];
        for (name, text) in files {
            let machine = machine();
            machine.file(name, text);
            assert_eq!(machine.out(), None, "{name}: {text}");
        }
        for var in ["CODEX_API_KEY", "OPENAI_BASE_URL", "CODEX_HOME"] {
            let mut machine = machine();
            machine.vars.push((var, "x"));
            assert_eq!(machine.out(), None, "{var}");
        }
        let policies: [fn(&mut AgentPolicy); 4] = [
            |agent| agent.extra.args.push("-c".to_owned()),
            |agent| agent.extra.path = "/opt/codex".to_owned(),
            |agent| drop(agent.extra.set.insert("KEY".to_owned(), "x".to_owned())),
            |agent| agent.extra.fallback.push("claude".to_owned()),
        ];
        for (number, change) in policies.iter().enumerate() {
            let mut machine = machine();
            change(&mut machine.agent);
            assert_eq!(machine.out(), None, "policy {number}");
        }
        let other = machine();
        other.file("home/.codex/config.toml", "model = \"gpt-5\"");
        assert!(other.out().is_some(), "settings that sign nobody in");
    }

    #[test]
    fn settings_that_are_left_out_sign_nobody_in_and_the_key_for_them_is_named() {
        for text in ["model_provider = \"local\"", "cli_auth_credentials_store = \"keyring\""] {
            let mut machine = machine();
            machine.file("home/.codex/config.toml", text);
            let hints = machine.out().unwrap().hints();
            assert!(hints[0].contains("config.toml may do so") && hints[0].contains("own_config = true"));
            machine.agent.extra.own_config = true;
            assert_eq!(machine.out(), None, "{text}");
        }
    }

    #[test]
    fn a_wrapper_may_sign_in_by_itself() {
        let mut machine = machine();
        machine.file("bin/codex", "#!/bin/sh\n");
        let bin = machine.dir.path().join("bin").display().to_string();
        let surroundings = Surroundings {
            vars: [("HOME".into(), machine.dir.path().join("home").into()), ("PATH".into(), bin.into())]
                .into(),
            project: machine.dir.path().join("project"),
            state: machine.dir.path().join("state"),
        };
        assert_eq!(signed_out(&machine.agent, &surroundings), None);
        machine.agent.adapter = "gemini".to_owned();
        assert_eq!(machine.out(), None, "its files do not tell");
    }
}
