//! Which untracked paths a snapshot leaves out: the workspace's `.gitignore`
//! files and the operator's global excludes, by git's own matching.

use std::sync::Arc;

use gix_object::bstr::ByteSlice;

/// Above this a `.gitignore` is taken as empty: it is content by an agent.
pub(crate) const LARGEST: u64 = 1 << 20;

/// One file of patterns, in order.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    patterns: Vec<gix_glob::Pattern>,
}

impl Patterns {
    pub(crate) fn parse(content: &[u8]) -> Self {
        Self { patterns: gix_ignore::parse(content, false).map(|(pattern, _, _)| pattern).collect() }
    }

    /// `Some(true)` is ignored, `Some(false)` taken back in by a `!` pattern.
    fn decide(&self, path: &[u8], is_dir: bool) -> Option<bool> {
        let basename = path.rfind_byte(b'/').map(|at| at + 1);
        let matching = self.patterns.iter().rev().find(|pattern| {
            pattern.matches_repo_relative_path(
                path.as_bstr(),
                basename,
                Some(is_dir),
                gix_glob::pattern::Case::Sensitive,
                gix_glob::wildmatch::Mode::NO_MATCH_SLASH_LITERAL,
            )
        })?;
        Some(!matching.is_negative())
    }
}

/// Python would run such a file instead of the source beside it, and `pip install -e .` leaves a directory of
/// notes in the tree: no snapshot takes one that is not tracked.
fn is_made_by_python(path: &[u8]) -> bool {
    let name = path.rsplit_once_str("/").map_or(path, |(_, name)| name);
    name == b"__pycache__"
        || name.ends_with(b".pyc")
        || name.ends_with(b".pyo")
        || name.ends_with(b".egg-info")
}

/// The pattern files that govern one directory, innermost first.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    links: Option<Arc<Link>>,
    /// Inside an ignored directory nothing can be taken back in.
    pub all_ignored: bool,
}

#[derive(Debug)]
struct Link {
    /// Length of the directory's path with its trailing slash.
    prefix: usize,
    patterns: Arc<Patterns>,
    outer: Option<Arc<Link>>,
}

impl Chain {
    pub(crate) fn new(global: Option<Arc<Patterns>>) -> Self {
        let links = global.map(|patterns| Arc::new(Link { prefix: 0, patterns, outer: None }));
        Self { links, all_ignored: false }
    }

    pub(crate) fn with(&self, dir: &[u8], patterns: Arc<Patterns>) -> Self {
        let prefix = if dir.is_empty() { 0 } else { dir.len() + 1 };
        let link = Link { prefix, patterns, outer: self.links.clone() };
        Self { links: Some(Arc::new(link)), all_ignored: self.all_ignored }
    }

    pub(crate) fn ignoring_all(&self) -> Self {
        Self { links: None, all_ignored: true }
    }

    pub(crate) fn ignores(&self, path: &[u8], is_dir: bool) -> bool {
        if self.all_ignored || is_made_by_python(path) {
            return true;
        }
        let mut link = self.links.as_ref();
        while let Some(here) = link {
            if let Some(ignored) = here.patterns.decide(&path[here.prefix..], is_dir) {
                return ignored;
            }
            link = here.outer.as_ref();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_python_makes_is_known_by_its_name() {
        for path in ["__pycache__", "a/__pycache__", "a/b.pyc", "b.pyo", "src/shop.egg-info"] {
            assert!(is_made_by_python(path.as_bytes()), "{path}");
        }
        for path in ["a.py", "egg-info", "docs/pyc", "a.egg-info.md"] {
            assert!(!is_made_by_python(path.as_bytes()), "{path}");
        }
    }
}
