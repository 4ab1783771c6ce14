//! Where settings come from, lowest first: the user's own file, the project's
//! `windlass.toml`, `--policy FILE`, and each `--set key=value`.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::problem::{ConfigError, ConfigProblem};

/// The policy file of a project, committed with it.
pub const PROJECT_FILE: &str = "windlass.toml";

const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// One text of settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    pub kind: LayerKind,
    /// How messages call it: a path, or `--set`.
    pub name: String,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LayerKind {
    User,
    Project,
    PolicyFile,
    Set,
}

impl LayerKind {
    /// Whether it is given with a request, and not there anyway.
    pub(crate) fn is_of_the_request(self) -> bool {
        matches!(self, Self::PolicyFile | Self::Set)
    }

    pub fn describe(self) -> &'static str {
        match self {
            Self::User => "your own file",
            Self::Project => "the project's file",
            Self::PolicyFile => "the file of --policy",
            Self::Set => "the command line",
        }
    }
}

/// Where to look for the layers.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The user's own file, which may be missing.
    pub user_file: Option<PathBuf>,
    /// The project's root.
    pub project: PathBuf,
    /// `--policy FILE`.
    pub policy_file: Option<PathBuf>,
    /// `--set key=value`, in the order given.
    pub set: Vec<String>,
}

impl Layer {
    pub fn new(kind: LayerKind, name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
        Self { kind, name: name.into(), text }
    }

    /// One `key=value` of the command line.
    pub fn set(argument: impl Into<String>) -> Self {
        Self::new(LayerKind::Set, "--set", argument)
    }

    /// The line and column of a byte, both from 1; columns count characters.
    pub fn line_and_column(&self, at: usize) -> (usize, usize) {
        place_in(self.text.as_bytes(), at)
    }
}

/// Reads every layer there is. The user's and the project's file may be
/// missing; a file named on the command line may not.
pub fn read_layers(sources: &Sources) -> Result<Vec<Layer>, ConfigError> {
    let mut layers = Vec::new();
    let mut problems = Vec::new();
    let mut keep = |read: Result<Option<Layer>, ConfigProblem>| match read {
        Ok(layer) => layers.extend(layer),
        Err(problem) => problems.push(problem),
    };
    if let Some(path) = &sources.user_file {
        keep(read_file(LayerKind::User, path));
    }
    keep(read_file(LayerKind::Project, &sources.project.join(PROJECT_FILE)));
    if let Some(path) = &sources.policy_file {
        keep(read_file(LayerKind::PolicyFile, path).and_then(|layer| match layer {
            Some(layer) => Ok(Some(layer)),
            None => Err(ConfigProblem::of_file(
                path.display().to_string(),
                "there is no such file",
                "give --policy a file that exists",
            )),
        }));
    }
    layers.extend(sources.set.iter().map(Layer::set));
    if problems.is_empty() { Ok(layers) } else { Err(ConfigError { problems }) }
}

fn read_file(kind: LayerKind, path: &Path) -> Result<Option<Layer>, ConfigProblem> {
    let name = path.display().to_string();
    let unreadable = |error: io::Error| {
        ConfigProblem::of_file(
            &name,
            format!("the file cannot be read: {error}"),
            "make it readable for this user, or remove it",
        )
    };
    match path.metadata() {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(ConfigProblem::of_file(&name, "is not a regular file", "rename or remove it")),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(error)),
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(ConfigProblem::of_file(
            &name,
            "the file is larger than 1 MiB",
            "is this really a policy file?",
        ));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(Layer::new(kind, name, text))),
        Err(error) => {
            let (line, column) = place_in(error.as_bytes(), error.utf8_error().valid_up_to());
            Err(ConfigProblem::of_file(name, "the text is not UTF-8", "save the file as UTF-8")
                .at(line, column))
        }
    }
}

fn place_in(text: &[u8], at: usize) -> (usize, usize) {
    let before = String::from_utf8_lossy(&text[..at.min(text.len())]);
    let last_line = before.rsplit('\n').next().unwrap_or_default();
    (before.matches('\n').count() + 1, last_line.chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn names(sources: &Sources) -> Vec<(LayerKind, String)> {
        read_layers(sources).unwrap().into_iter().map(|layer| (layer.kind, layer.text)).collect()
    }

    #[test]
    fn layers_come_lowest_first_and_files_may_be_missing() {
        let dir = tempfile::tempdir().unwrap();
        let mut sources = Sources {
            user_file: Some(dir.path().join("user.toml")),
            project: dir.path().to_owned(),
            ..Sources::default()
        };
        assert_eq!(names(&sources), []);

        fs::write(dir.path().join("user.toml"), "u").unwrap();
        fs::write(dir.path().join("windlass.toml"), "\u{feff}p").unwrap();
        fs::write(dir.path().join("extra.toml"), "x").unwrap();
        sources.policy_file = Some(dir.path().join("extra.toml"));
        sources.set = vec!["a=1".to_owned()];
        assert_eq!(
            names(&sources),
            [
                (LayerKind::User, "u".to_owned()),
                (LayerKind::Project, "p".to_owned()),
                (LayerKind::PolicyFile, "x".to_owned()),
                (LayerKind::Set, "a=1".to_owned()),
            ]
        );
    }

    #[test]
    fn what_cannot_be_read_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let sources = Sources {
            project: dir.path().to_owned(),
            policy_file: Some(dir.path().join("none.toml")),
            ..Sources::default()
        };
        fs::create_dir(dir.path().join("windlass.toml")).unwrap();
        let shown = read_layers(&sources).unwrap_err().to_string();
        assert_eq!(
            shown.replace(&dir.path().display().to_string(), "DIR"),
            "error: DIR/windlass.toml: is not a regular file\n |\n = help: rename or remove it\n\n\
             error: DIR/none.toml: there is no such file\n |\n = help: give --policy a file that exists"
        );
        fs::remove_dir(dir.path().join("windlass.toml")).unwrap();
        fs::write(dir.path().join("windlass.toml"), b"a\n\xc3\xa9\xff").unwrap();
        let shown = read_layers(&Sources { policy_file: None, ..sources }).unwrap_err().to_string();
        assert!(shown.contains("windlass.toml:2:2: the text is not UTF-8"), "{shown}");
    }
}
