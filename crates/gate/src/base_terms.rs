//! What the base itself shows to be no product: what its own checks make, and modules that they find elsewhere.

use std::collections::BTreeSet;

use crate::exempt::ancestors;
use crate::named;

/// A new file among these is a term. As the baseline found them, so that whoever looks again finds the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BaseTerms {
    /// What the checks made in the tree, each with all below.
    outputs: BTreeSet<Vec<u8>>,
    /// Places of modules that are found outside of the tree, without a suffix.
    modules: BTreeSet<Vec<u8>>,
}

/// Directories of a tree that an interpreter often looks through before its own.
const ROOTS: [&str; 3] = ["", "src/", "lib/"];

const OUTPUT: char = 'o';
const MODULE: char = 'm';
/// Ends each entry of the text.
const END: char = '\0';

impl BaseTerms {
    /// `written` is what the checks of this tree wrote, `found` the lines of [`list_modules_command`]. What the tree
    /// has itself stays product.
    pub fn of<'n>(
        tree: &BTreeSet<&[u8]>,
        written: impl IntoIterator<Item = Vec<u8>>,
        found: impl IntoIterator<Item = &'n str>,
    ) -> Self {
        let outputs = written.into_iter().filter(|path| !path.is_empty() && !tree.contains(path.as_slice()));
        let has =
            |place: &str| MODULE_FILES.iter().any(|file| tree.contains(format!("{place}{file}").as_bytes()));
        let (dirs, names): (Vec<&str>, Vec<&str>) = found.into_iter().partition(|line| line.ends_with('/'));
        let roots = ROOTS.into_iter().map(str::to_owned).chain(dirs.into_iter().filter_map(root));
        let roots: BTreeSet<String> = roots.chain(dirs_of_tests(tree)).collect();
        let names = names.into_iter().filter(|name| is_identifier(name));
        let places = names.flat_map(|name| roots.iter().map(move |root| format!("{root}{name}")));
        Self {
            outputs: outputs.collect(),
            modules: places.filter(|place| !has(place)).map(String::into_bytes).collect(),
        }
    }

    /// From texts of [`Self::text`].
    pub fn read<'t>(texts: impl IntoIterator<Item = &'t str>) -> Self {
        let mut read = Self::default();
        for entry in texts.into_iter().flat_map(|text| text.split(END)) {
            if let Some(path) = entry.strip_prefix(OUTPUT) {
                read.outputs.insert(path.as_bytes().to_owned());
            } else if let Some(place) = entry.strip_prefix(MODULE) {
                read.modules.insert(place.as_bytes().to_owned());
            }
        }
        read
    }

    pub fn text(&self) -> String {
        let entries = |kind: char, paths: &BTreeSet<Vec<u8>>| {
            paths
                .iter()
                .map(|path| format!("{kind}{}{END}", String::from_utf8_lossy(path)))
                .collect::<String>()
        };
        entries(OUTPUT, &self.outputs) + &entries(MODULE, &self.modules)
    }

    pub fn is_output(&self, path: &[u8]) -> bool {
        ancestors(path).any(|above| self.outputs.contains(above))
    }

    /// Whether an interpreter would find this file in the place of a module that it found elsewhere.
    pub fn shadows(&self, path: &[u8]) -> bool {
        MODULE_FILES
            .iter()
            .any(|file| path.strip_suffix(file.as_bytes()).is_some_and(|place| self.modules.contains(place)))
    }
}

/// What makes a name a module. A directory without the second is looked for elsewhere first.
const MODULE_FILES: [&str; 2] = [".py", "/__init__.py"];

/// A directory that settings name, from the root of the tree.
fn root(dir: &str) -> Option<String> {
    let parts: Vec<&str> = dir.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    let is_inside = !dir.starts_with('/') && !parts.contains(&"..");
    is_inside.then(|| parts.iter().map(|part| format!("{part}/")).collect())
}

/// pytest looks first through the directory of each file of tests, or the one that its package is in.
fn dirs_of_tests(tree: &BTreeSet<&[u8]>) -> BTreeSet<String> {
    let files = tree.iter().filter_map(|path| std::str::from_utf8(path).ok());
    let dirs = files.filter_map(|path| {
        let (dir, name) = path.rsplit_once('/')?;
        let stem = name.strip_suffix(".py")?;
        let is_loaded = stem == "conftest" || stem.starts_with("test_") || stem.ends_with("_test");
        is_loaded.then_some(dir)
    });
    dirs.map(|dir| {
        let mut dir = dir;
        while !dir.is_empty() && tree.contains(format!("{dir}/__init__.py").as_bytes()) {
            dir = dir.rsplit_once('/').map_or("", |(above, _)| above);
        }
        if dir.is_empty() { String::new() } else { format!("{dir}/") }
    })
    .collect()
}

fn is_identifier(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// Prints, a line each, the names of the modules that the interpreters of a check find outside of the directory
/// it runs in, and, with a slash at its end, each directory that the settings of pytest or the command itself put
/// on their path. An interpreter is what the command names, what a script that it names begins with, or what is
/// usual.
pub fn list_modules_command(run: &str) -> String {
    let programs = named::programs(run);
    let named = programs.iter().map(|program| quoted(program)).collect::<Vec<_>>().join(" ");
    let paths = run.split_whitespace().filter_map(|word| word.strip_prefix("PYTHONPATH="));
    let paths = paths.flat_map(|path| path.trim_matches(['"', '\'']).split(':'));
    let paths = paths.map(|dir| dir.trim_start_matches("$PWD/")).filter(|dir| !dir.is_empty());
    let paths: String = paths.map(|dir| format!("printf '%s/\\n' {}\n", quoted(dir))).collect();
    format!(
        "{paths}list() {{ \"$@\" -B -c {PYTHON} </dev/null 2>/dev/null; }}\n\
         for program in {named} .venv/bin/python venv/bin/python python3 python; do\n  \
         at=$(command -v -- \"$program\" 2>/dev/null) || continue\n  \
         case $at in */python*) list \"$at\"; continue;; */*) ;; *) continue;; esac\n  \
         first=$(head -c 200 -- \"$at\" 2>/dev/null | tr -d '\\000' | head -n 1)\n  \
         case $first in '#!'*python*) list ${{first#??}};; esac\n\
         done\nexit 0\n",
    )
}

/// The empty entry of the path is the directory it runs in. Settings may go on in the next lines.
const PYTHON: &str = r##"'import re, sys, pkgutil
sys.path = [p for p in sys.path if p]
names = set(sys.builtin_module_names) | set(getattr(sys, "stdlib_module_names", ()))
print(*sorted(names | {m.name for m in pkgutil.iter_modules()}), sep="\n")
files = ["pyproject.toml", "pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "setup.cfg", "tox.ini"]
for file in files:
    try: lines = open(file, errors="replace").read().splitlines()
    except OSError: continue
    is_path = False
    for line in lines:
        key, is_setting, value = line.partition("#")[0].partition("=")
        if is_setting: is_path = key.strip() in ("pythonpath", "python_paths")
        elif line.startswith("["): is_path = False
        words = re.findall(r"[^\s,\[\]\x22\x27]+", value if is_setting else key)
        for word in words * is_path: print(word + "/")'"##;

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms() -> BaseTerms {
        let tree = BTreeSet::from([&b"app.py"[..], b"queue/__init__.py", b"src/types.py", b"gen/a.py"]);
        let written = ["out", "gen/b.py", "app.py", ""].map(|path| path.as_bytes().to_owned());
        BaseTerms::of(&tree, written, ["pytest", "queue", "types", "app", "no/name", ""])
    }

    #[test]
    fn what_the_base_makes_or_finds_elsewhere_is_a_term_unless_it_has_it_itself() {
        let terms = BaseTerms::read([terms().text().as_str()]);
        for path in ["pytest.py", "pytest/__init__.py", "src/pytest.py", "types.py", "src/queue.py"] {
            assert!(terms.shadows(path.as_bytes()), "{path}");
        }
        for path in
            ["queue.py", "queue/__init__.py", "src/types.py", "pkg/pytest.py", "pytest/a.py", "pytest.txt"]
        {
            assert!(!terms.shadows(path.as_bytes()), "{path}");
        }
        for path in ["out", "out/a/b", "gen/b.py"] {
            assert!(terms.is_output(path.as_bytes()), "{path}");
        }
        for path in ["output", "app.py", "gen/a.py"] {
            assert!(!terms.is_output(path.as_bytes()), "{path}");
        }
    }

    #[test]
    fn a_module_is_found_in_each_directory_that_the_tests_have_on_their_path() {
        let tree =
            ["t/sub/__init__.py", "t/sub/test_a.py", "pkg/__init__.py", "pkg/a_test.py", "u/conftest.py"];
        let tree = tree.iter().map(|path| path.as_bytes()).collect();
        let terms = BaseTerms::of(&tree, [], ["queue", "./a//b/", "../out/", "/usr/"]);
        for path in ["lib/queue.py", "t/queue.py", "u/queue.py", "a/b/queue.py", "queue/__init__.py"] {
            assert!(terms.shadows(path.as_bytes()), "{path}");
        }
        for path in ["t/sub/queue.py", "pkg/queue.py", "out/queue.py", "usr/queue.py", "b/queue.py"] {
            assert!(!terms.shadows(path.as_bytes()), "{path}");
        }
    }

    #[test]
    fn a_text_gives_back_what_it_was_made_of() {
        assert_eq!(BaseTerms::read([terms().text().as_str()]), terms());
        assert_eq!(BaseTerms::read([""]), BaseTerms::default());
    }
}
