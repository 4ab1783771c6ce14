//! The tests of a tree, and the tree with some of them broken.

use std::collections::{BTreeMap, BTreeSet};

use windlass_control::{Breakage, BrokenFile, BrokenTest, Language, Numbers, SourceFile, break_chosen};
use windlass_core::id::TreeId;
use windlass_gate::{GuardedBy, PathKind, PathRules};
use windlass_workspace::{BString, ItemKind, Vault, VaultError};

use super::hunt::{TestId, Tests};

/// A larger file is data.
const LARGEST: usize = 2 << 20;

pub struct Suite {
    tree: TreeId,
    files: Vec<TestFile>,
}

struct TestFile {
    path: BString,
    name: String,
    language: Language,
    text: Vec<u8>,
}

/// A file with broken tests, and what was done to each.
struct BrokenText {
    text: Vec<u8>,
    tests: Vec<(TestId, BrokenTest)>,
}

impl From<BrokenFile> for BrokenText {
    fn from(broken: BrokenFile) -> Self {
        Self { text: broken.text, tests: named(broken.tests) }
    }
}

/// A tree with broken tests, and what was done to each test of it.
pub struct BrokenTree {
    pub tree: TreeId,
    pub tests: Vec<(TestId, BrokenTest)>,
}

impl Suite {
    pub fn of(vault: &Vault, rules: &PathRules, tree: &TreeId) -> Result<Self, VaultError> {
        let mut files = Vec::new();
        for (path, item) in vault.list_paths(tree)? {
            let Some(language) = Language::of(path.as_ref()) else { continue };
            let Ok(name) = String::from_utf8(path.to_vec()) else { continue };
            let is_file = matches!(item.kind, ItemKind::File | ItemKind::Executable);
            let is_test = matches!(
                rules.kind(path.as_ref()),
                PathKind::Test { .. } | PathKind::Guarded(GuardedBy::Hidden { .. })
            );
            let by_name = is_test || language.may_hold_tests(path.as_ref(), b"");
            if !is_file || !(by_name || language == Language::Rust) {
                continue;
            }
            let text = vault.read_blob(tree, path.as_ref())?.unwrap_or_default();
            if text.len() <= LARGEST && (by_name || language.may_hold_tests(path.as_ref(), &text)) {
                files.push(TestFile { path, name, language, text });
            }
        }
        Ok(Self { tree: tree.clone(), files })
    }

    /// Without these files.
    pub fn without(self, vault: &Vault, files: &BTreeSet<String>) -> Result<Self, VaultError> {
        let (gone, left): (Vec<_>, Vec<_>) =
            self.files.into_iter().partition(|file| files.contains(&file.name));
        let paths: Vec<BString> = gone.into_iter().map(|file| file.path).collect();
        Ok(Self { tree: vault.without(&self.tree, &paths)?, files: left })
    }

    /// Every test, as it would be broken.
    pub fn tests(&self, breakage: Breakage) -> Vec<(TestId, BrokenTest)> {
        let mut numbers = Numbers::from_seed(0);
        let broken = |file: &TestFile| Some(file.broken(breakage, &mut numbers, None)?.tests);
        self.files.iter().filter_map(broken).flatten().collect()
    }

    pub fn break_some(
        &self,
        vault: &Vault,
        breakage: Breakage,
        chosen: &Tests,
        mut numbers: Numbers,
    ) -> Result<BrokenTree, VaultError> {
        let (mut files, mut tests) = (Vec::new(), Vec::new());
        for file in &self.files {
            let broken = file.broken(breakage, &mut numbers, Some(chosen));
            let Some(BrokenText { text, tests: found }) = broken else { continue };
            if text != file.text {
                files.push((file.path.clone(), text));
            }
            tests.extend(found);
        }
        let tree = vault.with_files(&self.tree, &files)?;
        Ok(BrokenTree { tree, tests })
    }
}

impl TestFile {
    /// None where the file cannot be parsed. Without a choice all tests are broken.
    fn broken(
        &self,
        breakage: Breakage,
        numbers: &mut Numbers,
        chosen: Option<&Tests>,
    ) -> Option<BrokenText> {
        let source = SourceFile { path: &self.name, language: self.language, text: &self.text };
        let Some(chosen) = chosen else {
            return Some(break_chosen(breakage, &source, numbers, &|_| true).ok()?.into());
        };
        if !chosen.iter().any(|test| test.file == self.name) {
            return None;
        }
        // Which of several tests with one name a test is, is known by its line.
        let all = break_chosen(breakage, &source, &mut Numbers::from_seed(0), &|_| true).ok()?.tests;
        let wanted: Vec<BrokenTest> =
            named(all).into_iter().filter(|(id, _)| chosen.contains(id)).map(|(_, test)| test).collect();
        let choose =
            |test: &BrokenTest| wanted.iter().any(|one| one.line == test.line && one.name == test.name);
        Some(break_chosen(breakage, &source, numbers, &choose).ok()?.into())
    }
}

fn named(tests: Vec<BrokenTest>) -> Vec<(TestId, BrokenTest)> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let with_id = |test: BrokenTest| {
        let parts: Vec<String> = test.name.iter().map(ToString::to_string).collect();
        let name = parts.join(" > ");
        let count = seen.entry(name.clone()).or_default();
        let id = TestId { file: test.file.clone(), name, nth: *count };
        *count += 1;
        (id, test)
    };
    tests.into_iter().map(with_id).collect()
}
