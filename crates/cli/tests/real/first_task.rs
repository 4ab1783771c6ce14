//! The first hour: from a clone of a small project to a landed commit, under the policy that `init` writes, with
//! the real Codex as author and reviewer. Its model is a script on loopback; everything else is as users have it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use windlass_testkit::model::Server;
use windlass_testkit::package_index::PackageIndex;
use windlass_testkit::{Ran, Repo, Scratch, capability};

use crate::play::serve;

const GOAL: &str = "Add a function that counts words, with tests";
/// The name that windlass makes of the goal.
const LOOP: &str = "add-a-function-that-counts";
/// Longer than any command of these takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(180);

/// A project as it is cloned, and what its author does.
struct Project {
    files: &'static [(&'static str, &'static str)],
    /// Adds the function and a new test file.
    patch: &'static str,
    test_file: &'static str,
    /// How the author tries its work.
    tries: &'static str,
    /// What `init` must have found by itself.
    policy: &'static [&'static str],
}

const PYTHON: Project = Project {
    files: &[
        ("words.py", "def words(text):\n    return text.lower().split()\n"),
        (
            "tests/test_words.py",
            "from words import words\n\n\ndef test_words_are_lower_case():\n    assert words(\"Hello World\") == [\"hello\", \"world\"]\n",
        ),
        ("requirements-test.txt", "pytest\n"),
        (".gitignore", ".venv\n__pycache__\n"),
    ],
    patch: r#"*** Begin Patch
*** Update File: words.py
@@
 def words(text):
     return text.lower().split()
+
+
+def count_words(text):
+    return len(words(text))
*** Add File: tests/test_count_words.py
+from words import count_words
+
+
+def test_counts_words():
+    assert count_words("one two  three") == 3
*** End Patch"#,
    test_file: "tests/test_count_words.py",
    tries: ".venv/bin/python -m pytest -q",
    policy: &["python3 -m venv .venv", "pip install -q -r requirements-test.txt", "python -m pytest -q"],
};

const NODE: Project = Project {
    files: &[
        (
            "package.json",
            "{\n  \"name\": \"words\",\n  \"version\": \"1.0.0\",\n  \"scripts\": { \"test\": \"node --test\" }\n}\n",
        ),
        (
            "words.js",
            "const words = (text) => text.toLowerCase().split(/\\s+/).filter(Boolean);\n\nmodule.exports = { words };\n",
        ),
        (
            "test/words.test.js",
            "const test = require('node:test');\nconst assert = require('node:assert');\nconst { words } = require('../words.js');\n\ntest('words are lower case', () => {\n  assert.deepStrictEqual(words('Hello World'), ['hello', 'world']);\n});\n",
        ),
    ],
    patch: r#"*** Begin Patch
*** Update File: words.js
@@
-module.exports = { words };
+const countWords = (text) => words(text).length;
+
+module.exports = { words, countWords };
*** Add File: test/count-words.test.js
+const test = require('node:test');
+const assert = require('node:assert');
+const { countWords } = require('../words.js');
+
+test('counts words', () => {
+  assert.strictEqual(countWords('one two  three'), 3);
+});
*** End Patch"#,
    test_file: "test/count-words.test.js",
    tries: "npm test",
    policy: &["run = \"npm test\""],
};

/// It starts without any test.
const CARGO: Project = Project {
    files: &[
        ("Cargo.toml", "[package]\nname = \"words\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
        ("Cargo.lock", "version = 3\n\n[[package]]\nname = \"words\"\nversion = \"0.1.0\"\n"),
        (
            "src/lib.rs",
            "/// The words of a text, in lower case.\npub fn words(text: &str) -> Vec<String> {\n    text.split_whitespace().map(str::to_lowercase).collect()\n}\n",
        ),
        (".gitignore", "target\n"),
    ],
    patch: r#"*** Begin Patch
*** Update File: src/lib.rs
@@
     text.split_whitespace().map(str::to_lowercase).collect()
 }
+
+/// How many words a text has.
+pub fn count_words(text: &str) -> usize {
+    words(text).len()
+}
*** Add File: tests/count_words.rs
+use words::count_words;
+
+#[test]
+fn counts_words() {
+    assert_eq!(count_words("one two  three"), 3);
+}
*** End Patch"#,
    test_file: "tests/count_words.rs",
    tries: "cargo test --locked",
    policy: &["run = \"cargo test --locked\""],
};

const MAKE: Project = Project {
    files: &[
        (
            "Makefile",
            "TESTS = $(patsubst %.c,%,$(wildcard tests/test_*.c))\n\ntest: $(TESTS)\n\tfor test in $(TESTS); do ./$$test || exit 1; done\n\ntests/test_%: tests/test_%.c words.c words.h\n\t$(CC) -I. -o $@ $< words.c\n",
        ),
        ("words.h", "int is_space(char c);\n"),
        ("words.c", "#include \"words.h\"\n\nint is_space(char c) { return c == ' ' || c == '\\n'; }\n"),
        (
            "tests/test_space.c",
            "#include <assert.h>\n#include \"words.h\"\n\nint main(void) {\n    assert(is_space(' '));\n    return 0;\n}\n",
        ),
        (".gitignore", "tests/test_*\n!tests/test_*.c\n"),
    ],
    patch: r#"*** Begin Patch
*** Update File: words.h
@@
 int is_space(char c);
+int count_words(const char *text);
*** Update File: words.c
@@
 int is_space(char c) { return c == ' ' || c == '\n'; }
+
+int count_words(const char *text) {
+    int words = 0;
+    for (char before = ' '; *text; before = *text++)
+        words += is_space(before) && !is_space(*text);
+    return words;
+}
*** Add File: tests/test_count_words.c
+#include <assert.h>
+#include "words.h"
+
+int main(void) {
+    assert(count_words("one two  three") == 3);
+    return 0;
+}
*** End Patch"#,
    test_file: "tests/test_count_words.c",
    tries: "make test",
    policy: &["run = \"make test\""],
};

#[test]
fn python_with_pytest_in_a_virtualenv() {
    let Some(wheels) = capability::wheels() else { return };
    let mut python = Command::new("/usr/bin/python3");
    if !python.args(["-c", "import ensurepip, venv"]).output().is_ok_and(|ran| ran.status.success()) {
        return capability::not_run("no python3 with venv: install python3-venv");
    }
    let index = PackageIndex::start(wheels);
    let lands = lands_at_once(&PYTHON, &[("PIP_INDEX_URL", index.url.clone().into())]);
    assert!(
        lands.is_none_or(|hour| !hour.clone.join(".venv").exists()),
        "nothing is installed into the checkout"
    );
}

#[test]
fn node_with_its_own_test_runner() {
    if capability::program("npm").is_some() {
        lands_at_once(&NODE, &[]);
    }
}

#[test]
fn a_cargo_crate_that_starts_without_any_test() {
    let Some(bin) = capability::rust_toolchain() else { return };
    let Some(hour) = lands_at_once(&CARGO, &with_toolchain(&bin)) else { return };
    for printed in hour.printed.iter().filter(|printed| !printed.starts_with("$ windlass run")) {
        is_in_the_guide(printed);
    }
}

/// The guide shows what the command really prints, from its first line on.
#[track_caller]
fn is_in_the_guide(printed: &str) {
    let guide = include_str!("../../../../docs/guide/first-hour.md");
    let command = printed.lines().next().unwrap();
    let blocks = guide.split("```text\n").filter_map(|text| text.split("```").next());
    let shown = blocks.into_iter().find(|block| block.lines().next() == Some(command));
    let shown = shown.unwrap_or_else(|| panic!("the guide does not show {command:?}"));
    let (shown, printed) = (without_values(shown), without_values(printed));
    assert!(printed.starts_with(&shown), "the guide:\n{shown}\nreally:\n{printed}");
}

/// Without what differs from run to run: directories, ids of commits and times.
fn without_values(text: &str) -> String {
    let word = |word: &str| match word {
        "ms" => "s".to_owned(),
        path if path.starts_with('/') => path.rsplit("/words/").next().unwrap_or_default().to_owned(),
        word if word.parse::<f64>().is_ok() => "N".to_owned(),
        word if word.len() == 10 && word.chars().all(|c| c.is_ascii_hexdigit()) => "ID".to_owned(),
        word => word.to_owned(),
    };
    let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ");
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_makefile_project_in_c() {
    if capability::program("make").is_some() && capability::program("cc").is_some() {
        lands_at_once(&MAKE, &[]);
    }
}

/// A user at a terminal, whose commands are counted.
struct FirstHour {
    home: Scratch,
    clone: PathBuf,
    vars: Vec<(&'static str, OsString)>,
    commands: usize,
    /// Each command as it was typed, and what it printed.
    printed: Vec<String>,
}

impl FirstHour {
    /// Codex is installed, and its operator has a provider of their own.
    fn new(codex: &Path, server: &Server, vars: &[(&'static str, OsString)]) -> Self {
        let home = Scratch::new(env!("CARGO_BIN_EXE_windlass"));
        let provider = format!(
            r#"[agent]
args = ["-c", "model_provider=fake", "-c", 'model_providers.fake={{name="fake",base_url="{}/codex/v1",env_key="FAKE_KEY",wire_api="responses"}}']
env = {{ FAKE_KEY = "test-key" }}
"#,
            server.url
        );
        std::fs::create_dir_all(home.config().join("windlass")).unwrap();
        std::fs::write(home.config().join("windlass/config.toml"), provider).unwrap();
        let mut path = vec![codex.parent().unwrap().to_owned()];
        path.extend(vars.iter().find(|(name, _)| *name == "PATH").map(|(_, dir)| PathBuf::from(dir)));
        path.extend(["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from));
        let mut vars: Vec<_> = vars.iter().filter(|(name, _)| *name != "PATH").cloned().collect();
        vars.push(("PATH", std::env::join_paths(path).unwrap()));
        let clone = home.path().join("words");
        Self { home, clone, vars, commands: 0, printed: Vec::new() }
    }

    #[track_caller]
    fn clone_of(&mut self, origin: &Repo) {
        self.commands += 1;
        let mut command = Command::new("git");
        self.home.isolate(&mut command).args(["clone", "--quiet"]).arg(origin.path()).arg(&self.clone);
        assert!(command.status().unwrap().success());
    }

    #[track_caller]
    fn types(&mut self, args: &[&str]) -> Ran {
        self.commands += 1;
        let ran = self.asks(args);
        self.printed.push(format!("$ windlass {}\n{}", args.join(" "), ran.stdout));
        ran
    }

    /// Looks, which is not counted.
    #[track_caller]
    fn asks(&self, args: &[&str]) -> Ran {
        let mut command = self.home.command(&self.clone, args);
        command.envs(self.vars.iter().cloned());
        self.home.start(command).finish(PATIENCE).expect_code(0)
    }

    fn git(&self, args: &[&str]) -> String {
        windlass_testkit::repo::git(&self.clone, args)
    }
}

/// None where Codex is not installed.
#[track_caller]
fn lands_at_once(project: &Project, vars: &[(&'static str, OsString)]) -> Option<FirstHour> {
    let codex = capability::agent("codex")?;
    let server = serve(&script(project));
    let mut hour = FirstHour::new(&codex, &server, vars);
    hour.clone_of(&Repo::with(project.files));
    let init = hour.types(&["init"]);
    assert!(init.stdout.contains("  green, "), "{init}");
    let policy = std::fs::read_to_string(hour.clone.join("windlass.toml")).unwrap();
    for line in project.policy.iter().chain(&["use = \"codex\"", "tasks = true", "final = true"]) {
        assert!(policy.contains(line), "{line}: {policy}\n{init}");
    }
    let run = hour.types(&["run", GOAL]);
    assert!(run.stdout.contains("(exit 0)"), "the author's own try is green: {run}");
    let take = hour.types(&["take"]);
    assert!(hour.commands <= 4, "{} commands from clone to take", hour.commands);

    let view = hour.asks(&["status", LOOP, "--json"]).json();
    let ended = [&view["outcome"]["kind"], &view["outcome"]["reason"]].map(Value::as_str);
    assert_eq!(ended, [Some("completed"), Some("proven")], "{run}");
    assert_eq!(view["tasks"][0]["attempts"], 1, "{run}");
    assert_ne!(view["sandbox"], "none", "{run}");
    assert_eq!(hour.git(&["rev-parse", "HEAD"]).trim(), view["commit"], "{take}");
    let changed = hour.git(&["diff", "--name-only", "--diff-filter=A", "HEAD~1", "HEAD"]);
    assert_eq!(changed.lines().collect::<Vec<_>>(), [project.test_file], "the only new file");
    assert_eq!(hour.asks(&["findings", LOOP, "--all", "--json"]).json(), Value::Array(Vec::new()));
    hour.types(&["prove"]);
    Some(hour)
}

fn script(project: &Project) -> String {
    let Project { patch, tries, .. } = project;
    format!(
        r#"
[[rule]]
name = "review"
role = "reviewer"
turns = [{{ report = {{ nonce = "$nonce", verdict = "accept", summary = "The function does what the goal asks." }} }}]
[[rule]]
name = "work"
turns = [
  {{ say = "I add the function, and a test file for it.", call = "apply_patch", args = '''
{patch}
''' }},
  {{ run = "{tries}" }},
  {{ report = {{ nonce = "$nonce", status = "complete", summary = "The function and its tests are there." }} }},
]
"#
    )
}

/// Cargo is found, and rustup's home, if it comes from there; its registry is not asked.
fn with_toolchain(bin: &Path) -> Vec<(&'static str, OsString)> {
    let toolchains = bin.ancestors().nth(2).filter(|dir| dir.ends_with("toolchains"));
    let rustup = toolchains.and_then(Path::parent).map(|home| ("RUSTUP_HOME", home.into()));
    rustup.into_iter().chain([("PATH", bin.into())]).collect()
}
