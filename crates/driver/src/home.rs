//! The home of one attempt: empty but for the files its agent is logged in by.
//! Of what the agent leaves there only such a file goes back to the operator,
//! when it was renewed: whatever else was planted is thrown away with the home.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use serde_json::Value;
use windlass_agent::registry::Profile;
use windlass_process::remove_tree;

/// No such file is larger.
const LARGEST: u64 = 1 << 20;

pub struct Home<'a> {
    /// The agent's home.
    pub dir: PathBuf,
    /// What was put there, as it was: beside the home, where no agent writes.
    pub seeded: PathBuf,
    pub operator: &'a Path,
    pub profile: &'a Profile,
    /// Whether the operator's own configuration of the program comes along.
    pub own_config: bool,
    /// Where the locks of accounts are.
    pub locks: PathBuf,
}

impl Home<'_> {
    /// Puts a copy of each file there.
    pub fn seed(&self) -> io::Result<()> {
        for (number, name) in self.profile.credentials.iter().enumerate() {
            // The operator's own may be a link.
            let Ok(place) = self.operator.join(name).canonicalize() else { continue };
            if let Some(bytes) = read(&place)? {
                // A home that lasts has the one of the attempt before.
                clear(&self.dir.join(name))?;
                create(&self.dir.join(name), &bytes)?;
                create(&self.seeded_copy(number), &bytes)?;
            }
        }
        for (from, to) in self.profile.configuration.iter().filter(|_| self.own_config) {
            let Ok(place) = self.operator.join(from).canonicalize() else { continue };
            if let Some(bytes) = read(&place)? {
                clear(&self.dir.join(to))?;
                create(&self.dir.join(to), &bytes)?;
            }
        }
        Ok(())
    }

    /// Takes renewed files back; says which. Harmless when done twice, so that
    /// it is also done for an attempt whose windlass was killed.
    pub fn take_back(&self) -> io::Result<Vec<&'static str>> {
        let mut taken = Vec::new();
        for (number, name) in self.profile.credentials.iter().enumerate() {
            let Some(seeded) = read(&self.seeded_copy(number))? else { continue };
            // A link, a pipe or a flood in its place is no credential.
            let Some(now) = read(&self.dir.join(name)).ok().flatten() else { continue };
            if now != seeded && is_renewed(&seeded, &now) && self.replace(name, &seeded, &now)? {
                taken.push(*name);
            }
        }
        Ok(taken)
    }

    fn seeded_copy(&self, number: usize) -> PathBuf {
        self.seeded.join(number.to_string())
    }

    /// Only if the operator's file is still what the agent began with: one
    /// that someone else renewed meanwhile is the newer one.
    fn replace(&self, name: &str, seeded: &[u8], now: &[u8]) -> io::Result<bool> {
        let place = self.operator.join(name).canonicalize()?;
        DirBuilder::new().recursive(true).mode(0o700).create(&self.locks)?;
        let account = blake3::hash(place.as_os_str().as_encoded_bytes()).to_hex();
        let lock = self.locks.join(format!("account-{}", &account[..16]));
        let lock = File::options().create(true).truncate(false).write(true).open(lock)?;
        flock(&lock, FlockOperation::LockExclusive)?;
        if read(&place)?.as_deref() != Some(seeded) {
            return Ok(false);
        }
        let beside = place.with_extension(format!("windlass-{}", std::process::id()));
        let put = || -> io::Result<()> {
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
            file.set_permissions(fs::metadata(&place)?.permissions())?;
            file.write_all(now)?;
            file.sync_all()?;
            fs::rename(&beside, &place)
        };
        put().inspect_err(|_| drop(fs::remove_file(&beside)))?;
        Ok(true)
    }
}

/// The same account with other values: an object with the same names in it.
fn is_renewed(before: &[u8], after: &[u8]) -> bool {
    let names = |bytes: &[u8]| match serde_json::from_slice(bytes) {
        Ok(Value::Object(map)) => Some(map.keys().cloned().collect::<Vec<_>>()),
        Ok(_) | Err(_) => None,
    };
    names(after).is_some_and(|after| names(before).is_none_or(|before| before == after))
}

/// Whatever an agent put there.
fn clear(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => remove_tree(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// None if there is no such file; an error if it is anything but a plain one.
fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    let open = File::options().read(true).custom_flags(flags.cast_signed()).open(path);
    let file = match open {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let found = file.metadata()?;
    if !found.is_file() || found.len() > LARGEST {
        return Err(io::Error::other(format!("{} is not a credential file", path.display())));
    }
    let mut bytes = Vec::new();
    file.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    static CODEX: Profile = Profile {
        credentials: &[".codex/auth.json"],
        configuration: &[(".codex/config.toml", ".codex/config.toml"), (".codex/none.md", "none.md")],
        variables: &[],
    };

    struct Stage {
        root: tempfile::TempDir,
    }

    impl Stage {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            fs::create_dir_all(root.path().join("operator/.codex")).unwrap();
            fs::write(root.path().join("operator/.codex/config.toml"), "notify = ['x']").unwrap();
            fs::write(root.path().join("operator/.codex/auth.json"), r#"{"token":"one","id":1}"#).unwrap();
            Self { root }
        }

        fn home(&self, operator: &'static str) -> (PathBuf, PathBuf) {
            (self.root.path().join("agent"), self.root.path().join(operator))
        }

        fn seeded(&self, check: impl Fn(&Home<'_>)) {
            self.seeded_with(false, check);
        }

        fn seeded_with(&self, own_config: bool, check: impl Fn(&Home<'_>)) {
            let (dir, operator) = self.home("operator");
            let _ = fs::remove_dir_all(&dir);
            let _ = fs::remove_dir_all(self.root.path().join("seeded"));
            let home = Home {
                dir,
                seeded: self.root.path().join("seeded"),
                operator: &operator,
                profile: &CODEX,
                own_config,
                locks: self.root.path().join("locks"),
            };
            home.seed().unwrap();
            check(&home);
        }

        fn operators(&self) -> String {
            fs::read_to_string(self.root.path().join("operator/.codex/auth.json")).unwrap()
        }
    }

    #[test]
    fn only_credentials_are_seeded_and_only_renewed_ones_come_back() {
        let stage = Stage::new();
        stage.seeded(|home| {
            assert!(!home.dir.join(".codex/config.toml").exists());
            assert_eq!(home.take_back().unwrap(), [""; 0], "nothing was renewed");
            fs::write(home.dir.join(".codex/hooks.json"), "{}").unwrap();
            fs::write(home.dir.join(".codex/auth.json"), r#"{"token":"two","id":1}"#).unwrap();
            assert_eq!(home.take_back().unwrap(), [".codex/auth.json"]);
        });
        assert_eq!(stage.operators(), r#"{"token":"two","id":1}"#);
        assert!(
            !stage.root.path().join("operator/.codex/hooks.json").exists(),
            "nothing planted comes along"
        );
    }

    #[test]
    fn the_operators_configuration_comes_along_where_it_is_asked_for() {
        let stage = Stage::new();
        stage.seeded_with(true, |home| {
            assert_eq!(fs::read_to_string(home.dir.join(".codex/config.toml")).unwrap(), "notify = ['x']");
            fs::write(home.dir.join(".codex/config.toml"), "notify = ['planted']").unwrap();
            assert_eq!(home.take_back().unwrap(), [""; 0]);
        });
        let operators = fs::read_to_string(stage.root.path().join("operator/.codex/config.toml")).unwrap();
        assert_eq!(operators, "notify = ['x']", "and never back");
    }

    #[test]
    fn what_is_no_credential_any_more_stays_out() {
        let stage = Stage::new();
        let put = |text: &'static str| {
            move |home: &Home<'_>| {
                fs::write(home.dir.join(".codex/auth.json"), text).unwrap();
                assert_eq!(home.take_back().unwrap(), [""; 0], "{text}");
            }
        };
        for text in ["", "null", "{}", r#"{"token":"x","id":1,"command":"rm"}"#, r#"{"token":"#] {
            stage.seeded(put(text));
        }
        stage.seeded(|home| {
            let path = home.dir.join(".codex/auth.json");
            fs::remove_file(&path).unwrap();
            std::os::unix::fs::symlink(home.operator.join(".codex/config.toml"), &path).unwrap();
            assert_eq!(home.take_back().unwrap(), [""; 0], "a link is not followed");
        });
        assert_eq!(stage.operators(), r#"{"token":"one","id":1}"#);
    }

    #[test]
    fn a_login_that_someone_else_renewed_is_kept() {
        let stage = Stage::new();
        stage.seeded(|home| {
            fs::write(home.dir.join(".codex/auth.json"), r#"{"token":"two","id":1}"#).unwrap();
            fs::write(home.operator.join(".codex/auth.json"), r#"{"token":"newer","id":1}"#).unwrap();
            assert_eq!(home.take_back().unwrap(), [""; 0]);
        });
        assert_eq!(stage.operators(), r#"{"token":"newer","id":1}"#);
    }
}
