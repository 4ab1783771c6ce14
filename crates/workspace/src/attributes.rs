//! The line-ending and filter attributes of the base, and what they do to new
//! text. Only `.gitattributes` of the base count: an agent's do not.

use std::borrow::Cow;
use std::collections::BTreeMap;

use gix_attributes::StateRef;
use gix_attributes::parse::Kind;
use gix_object::bstr::{BStr, BString, ByteSlice};

/// What git would do to a file's line endings when it is added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endings {
    Raw,
    /// `text`: every CRLF becomes LF.
    Text,
    /// `text=auto`: as `text` unless the content looks binary.
    Auto,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Treatment {
    pub endings: Endings,
    pub filtered: bool,
}

/// All `.gitattributes` of one tree, deepest directory first.
#[derive(Default)]
pub(crate) struct Attributes {
    files: Vec<AttributeFile>,
    macros: BTreeMap<String, Vec<Assignment>>,
}

struct AttributeFile {
    /// The directory with a trailing slash, or empty for the root.
    prefix: BString,
    lines: Vec<(gix_glob::Pattern, Vec<Assignment>)>,
}

#[derive(Clone)]
struct Assignment {
    name: String,
    state: State,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Set,
    Unset,
    Unspecified,
    Value(BString),
}

impl Attributes {
    /// `files` are pairs of directory prefix and content.
    pub(crate) fn parse(files: Vec<(BString, Vec<u8>)>) -> Self {
        let mut attributes = Self::default();
        attributes
            .macros
            .insert("binary".to_owned(), vec![Assignment { name: "text".into(), state: State::Unset }]);
        for (prefix, content) in files {
            attributes.add(prefix, &content);
        }
        attributes.files.sort_by_key(|file| std::cmp::Reverse(file.prefix.len()));
        attributes
    }

    pub(crate) fn treatment(&self, path: &[u8]) -> Treatment {
        let mut found = Found::default();
        for file in &self.files {
            let Some(below) = path.strip_prefix(file.prefix.as_slice()) else { continue };
            let basename = below.rfind_byte(b'/').map(|at| at + 1);
            for (pattern, assignments) in file.lines.iter().rev() {
                if matches(pattern, below.as_bstr(), basename) {
                    self.apply(assignments, &mut found);
                }
            }
        }
        found.treatment()
    }

    fn add(&mut self, prefix: BString, content: &[u8]) {
        let mut lines = Vec::new();
        for (kind, assignments, _) in gix_attributes::parse(content).filter_map(Result::ok) {
            let assignments: Vec<Assignment> = assignments
                .filter_map(Result::ok)
                .map(|a| Assignment::of(a.name.as_str(), a.state))
                .collect();
            match kind {
                Kind::Pattern(pattern) => lines.push((pattern, assignments)),
                // Git reads macros at the top of a tree only.
                Kind::Macro(name) if prefix.is_empty() => {
                    self.macros.insert(name.as_str().to_owned(), assignments);
                }
                Kind::Macro(_) => {}
            }
        }
        if !lines.is_empty() {
            self.files.push(AttributeFile { prefix, lines });
        }
    }

    /// The first value found for an attribute wins, so what comes later on a
    /// line is looked at first.
    fn apply<'a>(&'a self, assignments: &'a [Assignment], found: &mut Found<'a>) {
        for Assignment { name, state } in assignments.iter().rev() {
            if found.values.contains_key(name.as_str()) {
                continue;
            }
            found.values.insert(name, state);
            if let Some(inner) = self.macros.get(name).filter(|_| *state == State::Set) {
                self.apply(inner, found);
            }
        }
    }
}

#[derive(Default)]
struct Found<'a> {
    values: BTreeMap<&'a str, &'a State>,
}

impl Found<'_> {
    fn treatment(&self) -> Treatment {
        let get = |name| self.values.get(name).copied();
        let endings = endings_of(get("text")).or_else(|| endings_of(get("crlf")));
        let has_eol = matches!(get("eol"), Some(State::Value(value)) if value == "lf" || value == "crlf");
        let endings = match endings {
            Some(endings) => endings,
            None if has_eol => Endings::Text,
            None => Endings::Raw,
        };
        Treatment { endings, filtered: matches!(get("filter"), Some(State::Value(_))) }
    }
}

fn endings_of(state: Option<&State>) -> Option<Endings> {
    match state? {
        State::Set => Some(Endings::Text),
        State::Unset => Some(Endings::Raw),
        State::Unspecified => None,
        State::Value(value) if value == "auto" => Some(Endings::Auto),
        State::Value(value) if value == "input" => Some(Endings::Text),
        State::Value(_) => None,
    }
}

impl Assignment {
    fn of(name: &str, state: StateRef<'_>) -> Self {
        let state = match state {
            StateRef::Set => State::Set,
            StateRef::Unset => State::Unset,
            StateRef::Unspecified => State::Unspecified,
            StateRef::Value(value) => State::Value(value.as_bstr().to_owned()),
        };
        Self { name: name.to_owned(), state }
    }
}

fn matches(pattern: &gix_glob::Pattern, path: &BStr, basename: Option<usize>) -> bool {
    pattern.matches_repo_relative_path(
        path,
        basename,
        Some(false),
        gix_glob::pattern::Case::Sensitive,
        gix_glob::wildmatch::Mode::NO_MATCH_SLASH_LITERAL,
    )
}

/// The content as git would store it. `stored` is what the base holds at this
/// path, read only when it decides: `text=auto` leaves a file alone whose
/// stored form already has CRLF.
pub(crate) fn normalise<'a, E>(
    content: &'a [u8],
    endings: Endings,
    stored: impl FnOnce() -> Result<Option<Vec<u8>>, E>,
) -> Result<Cow<'a, [u8]>, E> {
    let convert = match endings {
        Endings::Raw => false,
        Endings::Text => has_crlf(content),
        Endings::Auto => {
            has_crlf(content)
                && !looks_binary(content)
                && !stored()?.is_some_and(|stored| has_crlf(&stored) && !looks_binary(&stored))
        }
    };
    Ok(if convert { Cow::Owned(content.replace("\r\n", "\n")) } else { Cow::Borrowed(content) })
}

pub(crate) fn has_crlf(content: &[u8]) -> bool {
    content.contains_str("\r\n")
}

/// Git's own guess (`convert_is_binary`), so that ids come out equal.
fn looks_binary(content: &[u8]) -> bool {
    let (mut printable, mut other) = (0_usize, 0_usize);
    let mut bytes = content.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\r' if bytes.peek() == Some(&b'\n') => {
                bytes.next();
            }
            b'\r' | 0 => return true,
            b'\n' => {}
            8 | b'\t' | 0x1b | 0x0c => printable += 1,
            1..32 | 127 => other += 1,
            _ => printable += 1,
        }
    }
    if content.last() == Some(&0x1a) {
        other -= 1;
    }
    printable >> 7 < other
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endings(attributes: &Attributes, path: &str) -> Endings {
        attributes.treatment(path.as_bytes()).endings
    }

    #[test]
    fn deeper_files_and_later_lines_win() {
        let attributes = Attributes::parse(vec![
            ("".into(), b"* text=auto\n*.bin binary\n*.txt text\n*.png filter=lfs -text\n".to_vec()),
            ("docs/".into(), b"*.txt -text\nkeep.txt eol=crlf !text\n".to_vec()),
        ]);
        assert_eq!(endings(&attributes, "a.rs"), Endings::Auto);
        assert_eq!(endings(&attributes, "a.bin"), Endings::Raw);
        assert_eq!(endings(&attributes, "x/a.txt"), Endings::Text);
        assert_eq!(endings(&attributes, "docs/a.txt"), Endings::Raw);
        assert_eq!(endings(&attributes, "docs/keep.txt"), Endings::Text);
        assert!(attributes.treatment(b"i/a.png").filtered);
        assert!(!attributes.treatment(b"i/a.txt").filtered);
    }

    #[test]
    fn auto_leaves_binary_and_already_crlf_content() {
        let none = || Ok::<_, ()>(None);
        let go = |content: &[u8]| normalise(content, Endings::Auto, none).unwrap().into_owned();
        assert_eq!(go(b"a\r\nb\r\n"), b"a\nb\n");
        assert_eq!(go(b"a\r\n\0"), b"a\r\n\0");
        assert_eq!(go(b"a\r\nb\r"), b"a\r\nb\r");
        let stored = || Ok::<_, ()>(Some(b"x\r\n".to_vec()));
        assert_eq!(normalise(b"a\r\n", Endings::Auto, stored).unwrap(), &b"a\r\n"[..]);
    }
}
