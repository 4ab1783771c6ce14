//! Lists of texts, each item checked.

use toml::de::DeArray;

use super::text::{inside, text};
use super::{Setter, TomlValue, ValueKind, quoted, quoted_list, replace_all, wrong_type};
use crate::problem::TextProblem;

/// What the texts of a list are.
#[derive(Clone, Copy)]
pub struct ListOf {
    items: &'static str,
    /// One item as it is kept, or what is wrong with it.
    pub accept: fn(&str) -> Result<String, String>,
    /// What to do about a wrong item.
    remedy: &'static str,
    /// The items that somebody may have meant who wrote one text.
    split: fn(&str) -> Vec<String>,
}

pub const ARGUMENTS: ListOf = ListOf {
    items: "texts: a program and its arguments",
    accept: |item| Ok(item.to_owned()),
    remedy: "write each argument as a text of its own",
    split: |text| text.split_whitespace().map(str::to_owned).collect(),
};

pub const COMMANDS: ListOf = ListOf {
    items: "shell commands",
    accept: |item| match item.trim().is_empty() {
        true => Err("a command is empty".to_owned()),
        false => Ok(item.to_owned()),
    },
    remedy: "write the command or remove it",
    split: whole,
};

/// Patterns of paths inside the repository.
pub const GLOBS: ListOf = ListOf {
    items: "globs of paths in the repository",
    accept: glob,
    remedy: "write it like \"tests/**\" or \"test.sh\", from the root of the repository",
    split: whole,
};

/// Paths inside the repository.
pub const PATHS: ListOf = ListOf {
    items: "paths in the repository",
    accept: inside,
    remedy: "write it like \".env.test\", from the root of the repository",
    split: whole,
};

/// Paths anywhere: from the root of the repository, absolute, or below `~/`.
pub const PATHS_ANYWHERE: ListOf = ListOf {
    items: "paths",
    accept: path_anywhere,
    remedy: "write it like \"/opt/models\", \"~/.cache/pip\" or \"vendor\"",
    split: whole,
};

/// `host:port`.
pub const HOSTS: ListOf = ListOf {
    items: "hosts with their ports",
    accept: host_and_port,
    remedy: "write it like \"api.example.com:443\" or \"*.example.com:443\"",
    split: whole,
};

pub const DIRECTORIES: ListOf = ListOf {
    items: "directories in the repository",
    accept: directory,
    remedy: "write it like \"target\" or \"web/node_modules\", from the root of the repository",
    split: whole,
};

/// Names of environment variables.
pub const VARIABLES: ListOf = ListOf {
    items: "names of environment variables",
    accept: |item| match item.is_empty() || item.contains(['=', ' ']) {
        true => Err(format!("{} cannot be the name of an environment variable", quoted(item))),
        false => Ok(item.to_owned()),
    },
    remedy: "write only the name, such as \"API_KEY\"",
    split: whole,
};

impl ListOf {
    pub fn parse(&self, key: &str, value: &TomlValue<'_>) -> Result<Vec<String>, Vec<TextProblem>> {
        let Some(array) = value.get_ref().as_array() else {
            return Err(vec![not_a_list(key, value, self.split)]);
        };
        each(key, array, &|item| {
            (self.accept)(item).map_err(|why| WrongItem { why, help: self.remedy.to_owned() })
        })
    }
}

impl ValueKind for ListOf {
    type Target = Vec<String>;

    fn read(&self, key: &str, value: &TomlValue<'_>) -> Result<Setter<Vec<String>>, Vec<TextProblem>> {
        replace_all(self.parse(key, value))
    }

    fn takes(&self) -> String {
        format!("list of {}", self.items)
    }

    fn show(&self, texts: &Vec<String>) -> String {
        quoted_list(texts)
    }
}

/// Agents that windlass knows by name.
pub struct KnownAgents(pub Vec<&'static str>);

impl ValueKind for KnownAgents {
    type Target = Vec<String>;

    fn read(&self, key: &str, value: &TomlValue<'_>) -> Result<Setter<Vec<String>>, Vec<TextProblem>> {
        let Some(array) = value.get_ref().as_array() else {
            return Err(vec![not_a_list(key, value, whole)]);
        };
        replace_all(each(key, array, &|item| match self.0.contains(&item) {
            true => Ok(item.to_owned()),
            false => {
                let why = format!("there is no agent {}", quoted(item));
                Err(WrongItem { why, help: format!("write one of {}", self.0.join(", ")) })
            }
        }))
    }

    fn takes(&self) -> String {
        "list of agents that windlass knows".to_owned()
    }

    fn show(&self, names: &Vec<String>) -> String {
        quoted_list(names)
    }
}

fn not_a_list(key: &str, value: &TomlValue<'_>, split: fn(&str) -> Vec<String>) -> TextProblem {
    let problem = wrong_type(key, "a list of texts", value);
    let meant = value.get_ref().as_str().map(|text| quoted_list(&split(text)));
    let help = meant.map_or(problem.help, |meant| format!("write {meant}"));
    TextProblem { help, ..problem }
}

struct WrongItem {
    why: String,
    help: String,
}

/// Each item as it is kept, or everything that is wrong with them.
fn each(
    key: &str,
    array: &DeArray<'_>,
    accept: &dyn Fn(&str) -> Result<String, WrongItem>,
) -> Result<Vec<String>, Vec<TextProblem>> {
    let mut kept = Vec::new();
    let mut problems = Vec::new();
    for (at, item) in array.iter().enumerate() {
        let accepted = text(&format!("{key}[{at}]"), item).and_then(|text| {
            accept(&text).map_err(|WrongItem { why, help }| TextProblem {
                span: item.span(),
                message: format!("in `{key}`, {why}"),
                help,
            })
        });
        match accepted {
            Ok(text) => kept.push(text),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(kept) } else { Err(problems) }
}

fn whole(text: &str) -> Vec<String> {
    vec![text.to_owned()]
}

fn glob(item: &str) -> Result<String, String> {
    let glob = inside(item)?;
    let glob = if glob.ends_with('/') { format!("{glob}**") } else { glob };
    match globset::Glob::new(&glob) {
        Ok(_) => Ok(glob),
        Err(error) => Err(format!("the glob {} is not valid: {}", quoted(item), error.kind())),
    }
}

fn path_anywhere(item: &str) -> Result<String, String> {
    if item.trim().is_empty() {
        return Err("a path is empty".to_owned());
    }
    if item.split('/').any(|part| part == "..") {
        return Err(format!("{} goes up with `..`", quoted(item)));
    }
    Ok(item.to_owned())
}

fn host_and_port(item: &str) -> Result<String, String> {
    let (host, port) = item.rsplit_once(':').ok_or_else(|| format!("{} has no port", quoted(item)))?;
    let name = |c: char| c.is_ascii_alphanumeric() || "-._*[]:".contains(c);
    match port.parse::<u16>() {
        Ok(1..) if !host.is_empty() && host.chars().all(name) => Ok(item.to_owned()),
        Ok(_) | Err(_) => Err(format!("{} is not a host with its port", quoted(item))),
    }
}

/// A directory of its own: not the whole repository, not git's, no pattern.
fn directory(item: &str) -> Result<String, String> {
    let path = inside(item)?;
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.is_empty() || parts.contains(&".git") {
        return Err(format!("{} cannot be a cache", quoted(item)));
    }
    if path.contains(['*', '?', '[', '{']) {
        return Err(format!("{} is a pattern, and a directory is wanted", quoted(item)));
    }
    Ok(parts.join("/"))
}
