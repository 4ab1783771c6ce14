//! What a check may write although it judges: what the base's own check wrote, its caches and its reports.

use std::collections::BTreeSet;

use globset::Candidate;

use crate::paths::{BadGlob, Globs};

#[derive(Clone, Debug)]
pub struct ExemptPaths {
    written: BTreeSet<Vec<u8>>,
    shapes: BTreeSet<Vec<u8>>,
    outputs: Globs,
    /// The same, as far as they are plain.
    plain: Vec<Vec<u8>>,
}

/// Ends each path in the text of what was written.
const END: char = '\0';

impl ExemptPaths {
    /// `written` is text of [`written_text`]; `outputs` are globs of the policy, each with everything below.
    pub fn new<'w>(written: impl IntoIterator<Item = &'w str>, outputs: &[String]) -> Result<Self, BadGlob> {
        let written: BTreeSet<Vec<u8>> = written.into_iter().flat_map(Self::paths).collect();
        let is_plain = |part: &&str| !part.contains(['*', '?', '[', '{', '\\']);
        let plain_part =
            |glob: &String| glob.split('/').take_while(is_plain).collect::<Vec<_>>().join("/").into_bytes();
        Ok(Self {
            shapes: written.iter().map(|path| shape(path)).collect(),
            written,
            outputs: Globs::new("what checks write", outputs)?,
            plain: outputs.iter().map(plain_part).filter(|plain| !plain.is_empty()).collect(),
        })
    }

    /// The paths of a text of [`written_text`].
    pub fn paths(text: &str) -> impl Iterator<Item = Vec<u8>> {
        text.split(END).filter(|path| !path.is_empty()).map(|path| path.as_bytes().to_owned())
    }

    /// What the base's own checks wrote.
    pub fn written(&self) -> impl Iterator<Item = &[u8]> {
        self.written.iter().map(Vec::as_slice)
    }

    /// Itself, or something around it.
    pub fn cover(&self, path: &[u8]) -> bool {
        let candidate = Candidate::new(crate::paths::as_path(path));
        ancestors(path).any(|above| self.written.contains(above)) || self.outputs.find(&candidate).is_some()
    }

    /// A name that the tree does not have, beside one of the same shape that the base's check made.
    pub fn cover_new(&self, path: &[u8]) -> bool {
        self.shapes.contains(&shape(path))
    }

    /// Something in this directory is to be written.
    pub fn has_below(&self, dir: &[u8]) -> bool {
        let below =
            |path: &[u8]| path.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest[0] == b'/');
        let first = self.written.range(dir.to_owned()..).take_while(|path| path.starts_with(dir));
        first.into_iter().any(|path| below(path)) || self.plain.iter().any(|path| below(path))
    }
}

/// Paths as text, for a blob.
pub fn written_text(paths: &BTreeSet<Vec<u8>>) -> String {
    paths.iter().map(|path| String::from_utf8_lossy(path).into_owned() + "\0").collect()
}

/// The path itself, and all directories on the way to it, the innermost first.
pub fn ancestors(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::successors(Some(path), |path| {
        let slash = path.iter().rposition(|byte| *byte == b'/')?;
        Some(&path[..slash])
    })
}

/// A path whose name has a mark for each part that looks random or counted: what differs from run to run.
fn shape(path: &[u8]) -> Vec<u8> {
    const RANDOM: usize = 6;
    let at = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let (dir, name) = path.split_at(at);
    let mut shape = dir.to_owned();
    if name.starts_with(b"tmp") || name.starts_with(b"temp") {
        let suffix = name.iter().rposition(|byte| *byte == b'.').map_or(&name[..0], |dot| &name[dot..]);
        let is_number = suffix.len() > 1 && suffix[1..].iter().all(u8::is_ascii_digit);
        shape.extend(b"tmp#");
        shape.extend(if suffix.len() < RANDOM && !is_number { suffix } else { &[] });
        return shape;
    }
    for part in name.split_inclusive(|byte| !byte.is_ascii_alphanumeric()) {
        let (word, after) = match part.split_last() {
            Some((last, word)) if !last.is_ascii_alphanumeric() => (word, Some(*last)),
            Some(_) | None => (part, None),
        };
        let digits = word.iter().filter(|byte| byte.is_ascii_digit()).count();
        match digits > 0 && (digits == word.len() || word.len() >= RANDOM) {
            true => shape.push(b'#'),
            false => shape.extend(word),
        }
        shape.extend(after);
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exempt(written: &[&str], outputs: &[&str]) -> ExemptPaths {
        let written = written.iter().map(|path| path.as_bytes().to_owned()).collect();
        let outputs: Vec<String> = outputs.iter().map(|glob| (*glob).to_owned()).collect();
        ExemptPaths::new([written_text(&written).as_str()], &outputs).unwrap()
    }

    #[test]
    fn what_was_written_is_exempt_with_all_below_and_nothing_beside() {
        let exempt = exempt(&["target", "tests/out.txt"], &["cache/**", "reports/*.xml"]);
        for path in ["target", "target/debug/x", "tests/out.txt", "cache/a/b", "reports/a.xml"] {
            assert!(exempt.cover(path.as_bytes()), "{path}");
        }
        for path in ["target2", "tests", "tests/a.sh", "reports/a.txt", "Makefile"] {
            assert!(!exempt.cover(path.as_bytes()), "{path}");
        }
        assert!(exempt.has_below(b"tests") && exempt.has_below(b"reports") && !exempt.has_below(b"test"));
    }

    #[test]
    fn names_that_differ_from_run_to_run_are_known_by_their_shape() {
        let exempt = exempt(
            &[
                "tests/out-1234.json",
                "tests/tmp.aBcDeF",
                "out/tmp.71",
                "tests/tmpk3_x9qz",
                "v.config.ts.timestamp-17-9ab1c2.mjs",
            ],
            &[],
        );
        for path in [
            "tests/out-99.json",
            "tests/tmp.XxYyZz",
            "tests/tmp.5930",
            "out/tmp.5",
            "out/tmp.123456",
            "tests/tmpa_bcdefg",
            "v.config.ts.timestamp-18-77fe01.mjs",
        ] {
            assert!(exempt.cover_new(path.as_bytes()), "{path}");
        }
        for path in [
            "tests/out-x.json",
            "out-99.json",
            "tests/test_a.py",
            "v.config.ts",
            "tests/conftest.py",
            "tests/tmp_1.py",
        ] {
            assert!(!exempt.cover_new(path.as_bytes()), "{path}");
        }
    }
}
