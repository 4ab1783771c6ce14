//! What the operator's environment lends to agents and checks: an allow-list,
//! and a PATH without entries that a repository could fill.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use windlass_core::policy::Policy;
use windlass_redact::Redactor;
use windlass_redact::known::secrets;

/// Variables every program gets when the operator has them.
const LENT: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TERM",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "NVM_DIR",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "GOMODCACHE",
    "JAVA_HOME",
    "M2_HOME",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "NODE_PATH",
    "DENO_DIR",
    "BUN_INSTALL",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NIX_SSL_CERT_FILE",
];

/// Where toolchains live: the variable that says so, and the usual place below
/// the home directory.
const TOOLCHAINS: &[(&str, &str)] = &[
    ("CARGO_HOME", ".cargo"),
    ("RUSTUP_HOME", ".rustup"),
    ("NVM_DIR", ".nvm"),
    ("VOLTA_HOME", ".volta"),
    ("FNM_DIR", ".local/share/fnm"),
    ("BUN_INSTALL", ".bun"),
    ("DENO_DIR", ".cache/deno"),
    ("GOPATH", "go"),
    ("GOROOT", ""),
    ("JAVA_HOME", ""),
    ("SDKMAN_DIR", ".sdkman"),
    ("PYENV_ROOT", ".pyenv"),
    ("RBENV_ROOT", ".rbenv"),
    ("ASDF_DATA_DIR", ".asdf"),
    ("MISE_DATA_DIR", ".local/share/mise"),
];

/// The operator's environment, as the command line read it.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    pub vars: BTreeMap<OsString, OsString>,
    /// Where relative words of an agent's command are looked up.
    pub project: PathBuf,
}

impl Surroundings {
    pub fn var(&self, name: &str) -> Option<&OsStr> {
        self.vars.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// What a program may see: the allow-list, `LC_*`, a clean PATH, and what
    /// the policy names.
    pub fn lend(&self, named: &[String]) -> Vec<(OsString, OsString)> {
        let allowed = |name: &OsStr| {
            name.to_str().is_some_and(|name| {
                LENT.contains(&name) || name.starts_with("LC_") || named.iter().any(|wanted| wanted == name)
            })
        };
        let lent = self.vars.iter().filter(|(name, _)| allowed(name));
        let mut lent: Vec<_> = lent.map(|(name, value)| (name.clone(), value.clone())).collect();
        lent.push(("PATH".into(), self.clean_path()));
        lent
    }

    /// Knows the secrets among the variables; all of them, since a program may read what it was not lent.
    pub fn redactor(&self, policy: &Policy) -> Redactor {
        if self.is_weakened("redact") {
            return Redactor::off();
        }
        let lent: Vec<String> = [&policy.agent]
            .into_iter()
            .chain(policy.roles.values())
            .flat_map(|agent| agent.env.clone())
            .collect();
        let variables = self.vars.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()));
        Redactor::new(&secrets(variables, &lent))
    }

    /// Whether an adversarial test has switched this defence off, in a build that can.
    pub fn is_weakened(&self, defence: &str) -> bool {
        cfg!(feature = "weaken")
            && self
                .var("WINDLASS_WEAKEN")
                .and_then(OsStr::to_str)
                .is_some_and(|list| list.split(',').any(|name| name.trim() == defence))
    }

    /// The directories that tools are installed in and read while they run,
    /// with the variable by which a tool finds its own once the home is
    /// another.
    pub fn toolchains(&self) -> Vec<(Option<&'static str>, PathBuf)> {
        let home = self.var("HOME").map(PathBuf::from);
        let mut found = Vec::new();
        for (variable, usual) in TOOLCHAINS {
            let set = self.var(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
            let usual = home.as_ref().filter(|_| !usual.is_empty()).map(|home| home.join(usual));
            let dir = set.or(usual).filter(|dir| dir.is_absolute() && dir.is_dir());
            found.extend(dir.map(|dir| (Some(*variable), dir)));
        }
        let programs = home.map(|home| home.join(".local/bin")).filter(|dir| dir.is_dir());
        found.extend(programs.map(|dir| (None, dir)));
        found
    }

    /// Absolute entries outside the project only.
    pub fn clean_path(&self) -> OsString {
        let path = self.var("PATH").unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
        let kept = std::env::split_paths(path)
            .filter(|entry| entry.is_absolute() && !entry.starts_with(&self.project));
        std::env::join_paths(kept).unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surroundings(pairs: &[(&str, &str)]) -> Surroundings {
        let vars = pairs.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Surroundings { vars, project: "/p".into() }
    }

    #[test]
    fn only_listed_variables_are_lent() {
        let lent = surroundings(&[
            ("HOME", "/h"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
            ("MY_KEY", "k"),
            ("LC_ALL", "C"),
            ("PATH", "/usr/bin:.:/p/node_modules/.bin:rel:/bin"),
        ])
        .lend(&["MY_KEY".to_owned()]);
        let names: Vec<_> = lent.iter().map(|(name, _)| name.to_str().unwrap_or_default()).collect();
        assert_eq!(names, ["HOME", "LC_ALL", "MY_KEY", "PATH"]);
        assert_eq!(lent.last().map(|(_, value)| value.clone()), Some("/usr/bin:/bin".into()));
    }
}
