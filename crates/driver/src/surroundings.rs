//! What the operator's environment lends to agents and checks: an allow-list,
//! and a PATH without entries that a repository could fill.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use windlass_core::policy::Policy;
use windlass_redact::Redactor;
use windlass_redact::known::secrets;

use crate::weaken::Defence;

/// Variables every program gets when the operator has them.
const ALLOWED: &[&str] = &[
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
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "NODE_EXTRA_CA_CERTS",
    "PIP_CERT",
];

/// Where package managers look, and through what. They may have a password in them: then they are not lent.
const SOURCES: &[&str] = &[
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS",
    "PIP_DEFAULT_TIMEOUT",
    "PIP_DISABLE_PIP_VERSION_CHECK",
    "UV_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "UV_SYSTEM_CERTS",
    "NPM_CONFIG_REGISTRY",
    "npm_config_registry",
    "YARN_NPM_REGISTRY_SERVER",
    "GOPROXY",
    "GONOSUMDB",
    "GONOSUMCHECK",
    "GOFLAGS",
    "GOTOOLCHAIN",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
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
/// Homes of toolchains to which package managers write what they download.
const WRITTEN_TOOLCHAINS: &[&str] = &["CARGO_HOME", "RUSTUP_HOME", "BUN_INSTALL", "DENO_DIR", "GOPATH"];

/// Caches of package managers: the variable that says where, and the usual place below the home directory.
const PACKAGE_CACHES: &[(&str, &str)] = &[
    ("PIP_CACHE_DIR", ".cache/pip"),
    ("UV_CACHE_DIR", ".cache/uv"),
    ("npm_config_cache", ".npm"),
    ("YARN_CACHE_FOLDER", ".cache/yarn"),
    ("GOMODCACHE", ""),
];

/// Whether this variable says where a toolchain, or what a package manager fetches and builds, lies.
pub fn names_a_tools_place(variable: &OsStr) -> bool {
    let places = TOOLCHAINS.iter().chain(PACKAGE_CACHES).map(|(name, _)| *name);
    places.chain(["GOCACHE"]).any(|name| variable == name)
}

/// What reads the commands of a gate. Called by this name: what it leads to
/// may behave by the name it is called by.
const SHELL: &str = "/bin/sh";
const USUAL_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The operator's environment, as the command line read it.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    pub vars: BTreeMap<OsString, OsString>,
    /// Where relative words of an agent's command are looked up.
    pub project: PathBuf,
    /// Where windlass keeps what agents and checks write, and its own records.
    pub state: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum NoShell {
    #[error("{SHELL}: {0}")]
    Absent(std::io::Error),
    #[error("{SHELL} leads to {}, which an agent could change", .0.display())]
    Writable(PathBuf),
}

impl Surroundings {
    pub fn var(&self, name: &str) -> Option<&OsStr> {
        self.vars.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// What a program may see: the allow-list, `LC_*`, a clean PATH, and what
    /// the policy names.
    pub fn environment(&self, named: &[String], path: &OsStr) -> Vec<(OsString, OsString)> {
        let allowed = |name: &OsStr| {
            name.to_str().is_some_and(|name| {
                ALLOWED.contains(&name)
                    || name.starts_with("LC_")
                    || named.iter().any(|wanted| wanted == name)
            })
        };
        let is_open_source = |name: &OsStr, value: &OsStr| {
            let with_password = value.to_str().is_none_or(|value| value.contains('@'));
            !with_password && name.to_str().is_some_and(|name| SOURCES.contains(&name))
        };
        let lent = self.vars.iter().filter(|(name, value)| allowed(name) || is_open_source(name, value));
        let mut lent: Vec<_> = lent.map(|(name, value)| (name.clone(), value.clone())).collect();
        lent.push(("PATH".into(), path.to_owned()));
        lent
    }

    /// Knows the secrets among the variables; all of them, since a program may read what it was not lent.
    pub fn redactor(&self, policy: &Policy) -> Redactor {
        if self.is_weak(Defence::Redact) {
            return Redactor::off();
        }
        let lent: Vec<String> = [&policy.agent]
            .into_iter()
            .chain(policy.roles.values())
            .flat_map(|agent| agent.env.clone())
            .collect();
        let agents = [&policy.agent].into_iter().chain(policy.roles.values());
        let set = agents.flat_map(|agent| &agent.extra.set);
        let set = set.map(|(name, value)| (OsStr::new(name), OsStr::new(value)));
        let variables =
            self.vars.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str())).chain(set);
        Redactor::new(&secrets(variables, &lent))
    }

    /// What comes along with an agent's program: nothing that has the operator's home, project or windlass's
    /// records below it, wherever the program lies.
    pub fn beside_a_program(&self, mut files: Vec<PathBuf>) -> Vec<PathBuf> {
        let home = self.var("HOME").map(PathBuf::from);
        let places = home.iter().chain([&self.project, &self.state]).filter(|place| place.is_absolute());
        let places: Vec<PathBuf> =
            places.flat_map(|place| [Some(place.clone()), place.canonicalize().ok()]).flatten().collect();
        files.retain(|file| !places.iter().any(|place| place.starts_with(file)));
        files
    }

    /// Directories that are there, by their own names, and in none of which an
    /// agent could put a program: not in the project, a workspace, a checkout
    /// or the vault, also not by way of a link.
    pub fn clean_path(&self) -> OsString {
        let path = self.var("PATH").unwrap_or(OsStr::new(USUAL_PATH));
        if self.is_weak(Defence::Path) {
            return path.to_owned();
        }
        let mut kept: Vec<PathBuf> = Vec::new();
        for entry in std::env::split_paths(path).filter(|entry| entry.is_absolute()) {
            let Ok(entry) = entry.canonicalize() else { continue };
            if entry.is_dir() && !self.is_within_reach(&entry) && !kept.contains(&entry) {
                kept.push(entry);
            }
        }
        std::env::join_paths(kept).unwrap_or_else(|_| USUAL_PATH.into())
    }

    /// Whether agents and checks find a program of this name.
    pub fn finds(&self, program: &str) -> bool {
        std::env::split_paths(&self.clean_path()).any(|dir| is_program(&dir.join(program)))
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

    /// Directories that package managers fill, each with the variable by which they find it, free of links. The
    /// operator's own are never written to.
    pub fn package_dirs(&self) -> Vec<(&'static str, PathBuf)> {
        let home = self.var("HOME").map(PathBuf::from);
        let cache = |(variable, usual): &(&'static str, &'static str)| {
            let set = self.var(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
            let usual = home.as_ref().filter(|_| !usual.is_empty()).map(|home| home.join(usual));
            Some((*variable, set.or(usual)?))
        };
        let toolchains = self.toolchains().into_iter().filter_map(|(variable, dir)| Some((variable?, dir)));
        let toolchains = toolchains.filter(|(variable, _)| WRITTEN_TOOLCHAINS.contains(variable));
        let all = toolchains.chain(PACKAGE_CACHES.iter().filter_map(cache));
        let real = all.filter_map(|(variable, dir)| Some((variable, dir.canonicalize().ok()?)));
        let mut kept: Vec<(&'static str, PathBuf)> = Vec::new();
        // A layer over the records or the project would be one over what windlass itself reads.
        let apart = |dir: &Path| {
            let near = |other: &Path| dir.starts_with(other) || other.starts_with(dir);
            let own = [&self.project, &self.state].into_iter().filter(|place| !place.as_os_str().is_empty());
            let own = own.flat_map(|place| [Some(place.clone()), place.canonicalize().ok()]).flatten();
            dir.is_dir() && own.into_iter().all(|place| !near(&place))
        };
        for (variable, dir) in real {
            let inside = kept.iter().any(|(_, other)| dir.starts_with(other) || other.starts_with(&dir));
            if apart(&dir) && !inside {
                kept.push((variable, dir));
            }
        }
        kept
    }

    /// The shell of the gate: absolute, there, and out of every agent's reach.
    pub fn shell(&self) -> Result<PathBuf, NoShell> {
        let leads_to = Path::new(SHELL).canonicalize().map_err(NoShell::Absent)?;
        if self.is_within_reach(&leads_to) { Err(NoShell::Writable(leads_to)) } else { Ok(SHELL.into()) }
    }

    fn is_within_reach(&self, path: &Path) -> bool {
        let places = [&self.project, &self.state].into_iter().filter(|place| !place.as_os_str().is_empty());
        places
            .flat_map(|place| [Some(place.clone()), place.canonicalize().ok()])
            .flatten()
            .any(|place| path.starts_with(place))
    }
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surroundings(pairs: &[(&str, &str)]) -> Surroundings {
        let vars = pairs.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Surroundings { vars, project: "/p".into(), state: "/s".into() }
    }

    #[test]
    fn a_program_in_the_home_does_not_bring_the_home_along() {
        let vars = BTreeMap::from([("HOME".into(), "/home/me".into())]);
        let surroundings = Surroundings { vars, project: "/home/me/p".into(), state: "/var/w".into() };
        let brought =
            |files: &[&str]| surroundings.beside_a_program(files.iter().map(PathBuf::from).collect());
        let fine = ["/home/me/agent", "/home/me/p/agent.sh", "/home/me/lib/node_modules", "/usr/bin"];
        assert_eq!(brought(&fine), fine.map(PathBuf::from));
        assert!(brought(&["/", "/home", "/home/me", "/home/me/p", "/var"]).is_empty());
    }

    #[test]
    fn only_listed_variables_are_lent() {
        let around = surroundings(&[
            ("HOME", "/h"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
            ("MY_KEY", "k"),
            ("LC_ALL", "C"),
            ("PATH", "/usr/bin:.:/p/node_modules/.bin:rel:/usr/bin"),
        ]);
        let lent = around.environment(&["MY_KEY".to_owned()], &around.clean_path());
        let names: Vec<_> = lent.iter().map(|(name, _)| name.to_str().unwrap_or_default()).collect();
        assert_eq!(names, ["HOME", "LC_ALL", "MY_KEY", "PATH"]);
        assert_eq!(lent.last().map(|(_, value)| value.clone()), Some("/usr/bin".into()));
    }

    #[test]
    fn no_program_is_taken_from_where_an_agent_writes() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let dir = |name: &str| {
            let dir = root.join(name);
            std::fs::create_dir_all(&dir).unwrap();
            dir
        };
        let (project, state, tools) = (dir("project"), dir("state"), dir("tools"));
        let entries = [
            dir("project/bin"),
            project.clone(),
            dir("state/spaces/x/bin"),
            dir("state/vaults"),
            root.join("link-in"),
            root.join("link-out"),
            root.join("gone"),
            root.join("file"),
            tools.clone(),
            "relative".into(),
            "".into(),
            ".".into(),
        ];
        std::fs::write(root.join("file"), "").unwrap();
        std::os::unix::fs::symlink(project.join("bin"), root.join("link-in")).unwrap();
        std::os::unix::fs::symlink(&tools, root.join("link-out")).unwrap();
        std::os::unix::fs::symlink(&state, root.join("state-link")).unwrap();
        let path = std::env::join_paths(&entries).unwrap();
        let of = |state: PathBuf| Surroundings {
            vars: [("PATH".into(), path.clone())].into(),
            project: project.clone(),
            state,
        };
        for state in [state.clone(), root.join("state-link")] {
            assert_eq!(of(state).clean_path(), tools.as_os_str());
        }
    }

    #[test]
    fn the_shell_is_one_that_no_agent_writes() {
        assert_eq!(surroundings(&[]).shell().unwrap(), Path::new("/bin/sh"));
        let within = Path::new("/bin/sh").canonicalize().unwrap();
        let near = Surroundings { project: within.parent().unwrap().into(), ..surroundings(&[]) };
        assert!(near.shell().unwrap_err().to_string().contains("an agent could change"));
    }
}
