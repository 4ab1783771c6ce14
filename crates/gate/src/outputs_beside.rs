//! What a check writes beside each of its sources: a program, an object, a log of the same name.

use std::collections::{BTreeMap, BTreeSet};

use crate::named;
use crate::steering;

/// Learnt from what the base's check wrote, so that it may be written beside a source that the base lacks.
#[derive(Debug, Default)]
pub struct OutputsBeside(BTreeSet<OutputKind>);

/// `tests/test_a` or `tests/test_a.o` beside `tests/test_a.c`.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct OutputKind {
    /// With its slash.
    dir: Vec<u8>,
    /// What follows the common name, with its dot; empty for a program.
    output: Vec<u8>,
    source: Vec<u8>,
}

impl OutputsBeside {
    pub fn of<'w, T>(written: impl Iterator<Item = &'w [u8]>, tree: &BTreeMap<Vec<u8>, T>) -> Self {
        let mut kinds = BTreeSet::new();
        for path in written.filter(|path| !tree.contains_key(*path)) {
            for (stem, output) in splits(path).filter(|(_, output)| !is_script(output)) {
                let start = [stem, b"."].concat();
                let beside = tree.range(start.clone()..).map(|(path, _)| path);
                let beside = beside.take_while(|path| path.starts_with(&start));
                for source in beside.map(|path| &path[stem.len()..]).filter(|end| is_one_extension(end)) {
                    let (dir, output, source) = (dir(stem).to_owned(), output.to_owned(), source.to_owned());
                    kinds.insert(OutputKind { dir, output, source });
                }
            }
        }
        Self(kinds)
    }

    /// Of a path that the tree does not have. A name that steers a runner is never an output.
    pub fn cover<T>(&self, path: &[u8], tree: &BTreeMap<Vec<u8>, T>) -> bool {
        if self.0.is_empty() || steering::steers(&path[dir(path).len()..]) {
            return false;
        }
        splits(path).any(|(stem, output)| {
            let is_kind = |kind: &&OutputKind| kind.dir == dir(stem) && kind.output == output;
            let mut kinds = self.0.iter().filter(is_kind);
            kinds.any(|kind| tree.contains_key(&[stem, kind.source.as_slice()].concat()))
        })
    }
}

/// The path cut before each dot of its name, and at its end. What comes before is not empty.
fn splits(path: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let start = dir(path).len() + 1;
    let is_cut = move |at: &usize| *at == path.len() || path[*at] == b'.';
    (start..=path.len()).filter(is_cut).map(|at| path.split_at(at))
}

fn dir(path: &[u8]) -> &[u8] {
    let at = path.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    &path[..at]
}

fn is_one_extension(end: &[u8]) -> bool {
    end.len() > 1 && !end[1..].iter().any(|byte| b"./".contains(byte))
}

/// What is run by its name is no output, whatever makes it.
fn is_script(output: &[u8]) -> bool {
    named::is_script(&String::from_utf8_lossy(output))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(paths: &[&str]) -> BTreeMap<Vec<u8>, ()> {
        paths.iter().map(|path| (path.as_bytes().to_owned(), ())).collect()
    }

    #[test]
    fn an_output_is_known_by_its_directory_its_end_and_its_source() {
        let tree = tree(&[
            "tests/a.c",
            "tests/zero.c",
            "tests/one.c",
            "tests/conftest.c",
            "tests/deep/b.c",
            "tests/data.txt",
            "tests/has.log",
            "tests/has.c",
            "Makefile.c",
        ]);
        let written: [&[u8]; 5] = [b"tests/a", b"tests/a.o", b"tests/one.test.log", b"tests/a.py", b"a.log"];
        let beside = OutputsBeside::of(written.into_iter(), &tree);
        for path in ["tests/zero", "tests/zero.o", "tests/conftest", "tests/zero.test.log"] {
            assert!(beside.cover(path.as_bytes(), &tree), "{path}");
        }
        for path in [
            "tests/none",
            "tests/zero.d",
            "tests/deep/b",
            "tests/data",
            "tests/zero.py",
            "tests/conftest.py",
            "zero.o",
            "tests/",
            "tests/zero/x",
            "",
            "tests",
        ] {
            assert!(!beside.cover(path.as_bytes(), &tree), "{path}");
        }
    }

    #[test]
    fn what_steers_is_no_output_though_its_source_is_there() {
        let tree = tree(&["a.c", "Makefile.c", "zero.c"]);
        let beside = OutputsBeside::of([&b"a"[..]].into_iter(), &tree);
        assert!(beside.cover(b"zero", &tree) && !beside.cover(b"Makefile", &tree));
    }
}
