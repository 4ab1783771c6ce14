//! The files of the repository that a check names: what it runs must be what the operator committed.

use windlass_core::control::CheckControl;
use windlass_core::policy::{CheckPolicy, Policy};

use crate::shell::{self, ShellCommand, ShellWord};

/// A check that cannot work on the base, because the base lacks the script it runs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("check `{check}` names `{file}`, which is not in the base commit; commit it first")]
pub struct MissingFile {
    pub check: String,
    pub file: String,
    /// The checkout has it, uncommitted; whoever looks there says so.
    pub is_there: bool,
}

/// Every check's script that is not in the base. Only what is certain: the first command of a check, where
/// it is a script itself or an interpreter with a script, outside of directories that builds and package
/// managers fill. `in_base` is asked for files, not directories; it should also know the files of
/// `workspace.copy`.
pub fn missing_files(policy: &Policy, in_base: &dyn Fn(&str) -> bool) -> Vec<MissingFile> {
    let missing = |check: &CheckPolicy| {
        let file = commands(check).filter_map(required_file).find(|file| !in_base(file))?;
        Some(MissingFile { check: check.name.clone(), file, is_there: false })
    };
    let of_stop = |(check, run): (&str, &str)| {
        let file = required_file(run).filter(|file| !in_base(file))?;
        Some(MissingFile { check: check.to_owned(), file, is_there: false })
    };
    let of_gate = policy.gate.every_check().filter_map(missing);
    of_gate.chain(policy.stop.commands().filter_map(of_stop)).collect()
}

/// Every command that judges work under this policy: of the checks, of a step, and of the stop checks.
pub fn judging_commands(policy: &Policy) -> impl Iterator<Item = &str> {
    policy.gate.every_check().flat_map(commands).chain(policy.stop.commands().map(|(_, run)| run))
}

/// A check's own command and its control.
pub fn commands(check: &CheckPolicy) -> impl Iterator<Item = &str> {
    let control = match check.control() {
        CheckControl::Command(run) => Some(run),
        CheckControl::Tests | CheckControl::Off => None,
    };
    std::iter::once(check.run.as_str()).chain(control)
}

/// Every path, relative to the root, that the command may mean a file of the repository by. Some are not
/// files at all: the caller asks the base.
pub fn named_files(run: &str) -> Vec<String> {
    let mut files: Vec<String> = Vec::new();
    for name in names(run) {
        let found = match name {
            Name::File(file) => vec![file],
            Name::OneOf(files) => files,
        };
        for file in found {
            if !files.contains(&file) {
                files.push(file);
            }
        }
    }
    files
}

pub enum Name {
    File(String),
    /// What a program looks for by itself, in the order of its own preference.
    OneOf(Vec<String>),
}

pub fn names(run: &str) -> Vec<Name> {
    let mut names = Vec::new();
    walk(run, &mut |command, dir| collect(command, dir, &mut names));
    names
}

/// Every word of a command that may be a program: behind `env` or `timeout 60` it is not the first.
pub fn programs(run: &str) -> Vec<String> {
    let mut programs: Vec<String> = Vec::new();
    walk(run, &mut |command, _| {
        for word in command.program().iter().filter(|word| word.literal && !word.redirected) {
            if !word.text.is_empty() && !word.text.starts_with('-') && !programs.contains(&word.text) {
                programs.push(word.text.clone());
            }
        }
    });
    programs
}

/// In the order in which make looks for them.
pub const MAKE: &[&str] = &["GNUmakefile", "makefile", "Makefile"];

/// A call of make: where, with which makefile, for what.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MakeCall {
    pub dir: String,
    /// None: the usual one.
    pub file: Option<String>,
    /// Empty: what its makefile has first.
    pub goals: Vec<String>,
}

/// Every call of make in a command that runs in this directory.
pub fn make_calls(run: &str, dir: &str) -> Vec<MakeCall> {
    let mut calls = Vec::new();
    walk(run, &mut |command, below| {
        let words = command.program();
        let is_make = |word: &ShellWord| ["make", "gmake"].contains(&base_name(&word.text));
        let Some(at) = words.iter().position(is_make) else { return };
        // A `cd` may have been in a subshell or in vain.
        let dirs =
            if below.is_empty() { vec![dir.to_owned()] } else { vec![below_of(dir, below), dir.to_owned()] };
        calls.extend(dirs.iter().map(|dir| make_call(&words[at + 1..], dir)));
    });
    calls
}

fn make_call(words: &[ShellWord], dir: &str) -> MakeCall {
    const WITH_VALUE: [&str; 10] =
        ["-C", "--directory", "-f", "--file", "--makefile", "-I", "-o", "-W", "-l", "-O"];
    let mut call = MakeCall { dir: dir.to_owned(), ..MakeCall::default() };
    let mut words = words.iter().filter(|word| word.literal && !word.redirected);
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        let (option, value) = match text.split_once('=').filter(|_| text.starts_with("--")) {
            Some((option, value)) => (option, Some(value)),
            None if text.len() > 2 && ["-C", "-f"].contains(&text.get(..2).unwrap_or("")) => {
                (&text[..2], Some(&text[2..]))
            }
            None if WITH_VALUE.contains(&text) => (text, words.next().map(|word| word.text.as_str())),
            None => (text, None),
        };
        match (option, value) {
            ("-C" | "--directory", Some(to)) => call.dir = below_of(&call.dir, to),
            ("-f" | "--file" | "--makefile", Some(file)) => call.file = Some(file.to_owned()),
            (goal, None) if !goal.starts_with('-') && !goal.contains('=') => call.goals.push(goal.to_owned()),
            (_, _) => {}
        }
    }
    call
}

fn below_of(dir: &str, path: &str) -> String {
    join(dir, path).unwrap_or_default()
}

/// Programs that read a file of the repository without being told its name.
const RUNNERS: &[(&str, &[&str])] = &[
    ("make", MAKE),
    ("gmake", MAKE),
    ("just", &["justfile", "Justfile", ".justfile"]),
    ("rake", &["rakefile", "Rakefile", "rakefile.rb", "Rakefile.rb"]),
    ("nox", &["noxfile.py"]),
    ("task", &["Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml"]),
];

const SCRIPT_EXTENSIONS: &[&str] = &[
    "sh", "bash", "zsh", "ksh", "bats", "py", "js", "mjs", "cjs", "ts", "mts", "rb", "pl", "php", "lua",
    "tcl", "awk", "exs", "jl", "r", "ps1", "mk",
];

pub const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh"];
pub const INTERPRETERS: &[&str] =
    &["python", "python3", "node", "ruby", "perl", "php", "lua", "Rscript", "bats"];

/// Directories whose content is made, not committed.
const MADE: &[&str] = &[
    "node_modules",
    "vendor",
    "venv",
    ".venv",
    "env",
    ".tox",
    ".nox",
    "target",
    "build",
    "_build",
    "dist",
    "out",
    "bin",
    "obj",
    "tmp",
    ".cache",
];

/// Visits every simple command, with the directory that a `cd` before it leads to, also inside `sh -c`.
pub fn walk(run: &str, visit: &mut dyn FnMut(&ShellCommand, &str)) {
    walk_within(run, 0, visit);
}

fn walk_within(run: &str, depth: u32, visit: &mut dyn FnMut(&ShellCommand, &str)) {
    let mut dir = String::new();
    for command in shell::commands(run) {
        match command.program() {
            [cd, to, ..] if cd.text == "cd" && to.literal => {
                dir = join(&dir, &to.text).unwrap_or_default();
            }
            [program, rest @ ..] => {
                let inner = rest.iter().skip_while(|word| !is_command_option(&word.text)).nth(1);
                if let Some(inner) = inner.filter(|_| is_shell(program) && depth < 3) {
                    walk_within(&inner.text, depth + 1, visit);
                }
                visit(&command, &dir);
            }
            [] => visit(&command, &dir),
        }
    }
}

fn collect(command: &ShellCommand, dir: &str, names: &mut Vec<Name>) {
    for word in command.words.iter().filter(|word| word.literal) {
        // `--config=ci/lint.toml`, `CONFIG=ci/lint.toml`
        let after_equals = word.text.split_once('=').map(|(_, value)| value);
        let texts = [Some(word.text.as_str()).filter(|text| !text.starts_with('-')), after_equals];
        for text in texts.into_iter().flatten().filter(|text| looks_like_a_file(text)) {
            // A `cd` may have been in a subshell or in vain.
            names.extend([dir, ""].iter().filter_map(|dir| join(dir, text)).map(Name::File));
        }
    }
    // Anywhere in the command, for the sake of `env make` and `timeout 60 make`.
    let words = command.program();
    let runner = |word: &ShellWord| RUNNERS.iter().find(|(name, _)| *name == base_name(&word.text));
    let Some(at) = words.iter().position(|word| runner(word).is_some()) else { return };
    let (Some((_, files)), rest) = (runner(&words[at]), &words[at + 1..]) else { return };
    let value_of = |option: &str| {
        let mut words = rest.iter().skip_while(move |word| word.text != option);
        words.nth(1).filter(|word| word.literal).map(|word| word.text.as_str())
    };
    let inside = join(dir, value_of("-C").unwrap_or("")).unwrap_or_default();
    names.extend(value_of("-f").and_then(|file| join(&inside, file)).map(Name::File));
    names.push(Name::OneOf(files.iter().filter_map(|file| join(&inside, file)).collect()));
}

fn required_file(run: &str) -> Option<String> {
    let commands = shell::commands(run);
    let (program, rest) = commands.first()?.program().split_first()?;
    let certain = |word: &ShellWord| word.literal && !word.redirected && !word.text.starts_with('/');
    if program.text.contains('/') && certain(program) && is_script(&program.text) {
        return committed(&program.text);
    }
    let shell = SHELLS.contains(&base_name(&program.text));
    if !shell && !INTERPRETERS.contains(&base_name(&program.text)) {
        return None;
    }
    let script = rest.iter().find(|word| !is_harmless_option(&word.text)).filter(|word| certain(word))?;
    let is_it = is_script(&script.text) || shell && script.text.contains('/');
    if is_it && !script.text.starts_with('-') { committed(&script.text) } else { None }
}

/// What the shell does by itself, or what begins a compound command.
const OF_THE_SHELL: &[&str] = &[
    "!", ".", ":", "[", "alias", "builtin", "case", "command", "declare", "do", "done", "echo", "elif",
    "else", "esac", "eval", "exec", "exit", "export", "false", "fi", "for", "function", "getopts", "hash",
    "if", "jobs", "let", "local", "popd", "printf", "pushd", "pwd", "read", "readonly", "return", "set",
    "shift", "shopt", "source", "test", "then", "time", "times", "trap", "true", "type", "typeset", "ulimit",
    "umask", "unalias", "unset", "until", "wait", "while", "{", "}",
];

/// The program without which a command cannot even begin, where that is certain: by its name alone, and the command
/// does not change where programs are looked for.
pub fn required_program(run: &str) -> Option<String> {
    // A function may have any name, and another program may stand in for one that is missing.
    if run.contains("()") || run.contains('|') {
        return None;
    }
    let commands = shell::commands(run);
    let moves = |command: &ShellCommand| command.program().first().is_some_and(|word| word.text == "cd");
    let first = commands.iter().find(|command| !moves(command))?;
    let changes_path = |word: &ShellWord| word.text.starts_with("PATH=");
    let names = |command: &ShellCommand| command.words.iter().any(changes_path);
    let program = first.program().first().filter(|word| word.literal && !word.redirected)?;
    let is_own = OF_THE_SHELL.contains(&program.text.as_str());
    let by_name = !program.text.is_empty() && !program.text.contains('/') && !is_own;
    (by_name && !commands.iter().any(names)).then(|| program.text.clone())
}

/// The path, if it is one that a commit would hold.
fn committed(text: &str) -> Option<String> {
    join("", text).filter(|path| !path.split('/').any(|part| MADE.contains(&part)))
}

/// Options of interpreters that take no value and leave the next word the script.
fn is_harmless_option(text: &str) -> bool {
    let letters = text.strip_prefix('-').unwrap_or_default();
    !letters.is_empty() && letters.chars().all(|c| "euxvfBESW".contains(c))
}

fn is_shell(program: &ShellWord) -> bool {
    SHELLS.contains(&base_name(&program.text))
}

/// `-c`, `-lc`, `-euc`
fn is_command_option(text: &str) -> bool {
    text.starts_with('-') && !text.starts_with("--") && text.ends_with('c')
}

fn looks_like_a_file(text: &str) -> bool {
    !text.starts_with('/') && (text.contains('/') || is_script(text))
}

pub fn is_script(text: &str) -> bool {
    let extension = base_name(text).rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    extension.is_some_and(|extension| SCRIPT_EXTENSIONS.contains(&extension.as_str()))
}

pub fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Relative to the root, without `.` and `..`; none if it leads out or is the root itself.
pub fn join(dir: &str, path: &str) -> Option<String> {
    if path.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in dir.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use windlass_core::policy::{CheckWhen, GatePolicy};
    use windlass_core::stop::{StopCheck, StopCondition};
    use windlass_core::time::Millis;

    use super::*;

    #[test]
    fn a_check_names_the_program_that_it_cannot_begin_without() {
        for (run, wanted) in [
            ("pytest -q", Some("pytest")),
            ("cd sub && CI=1 cargo test", Some("cargo")),
            ("env -i make test", Some("env")),
            ("PATH=\"$PWD/.venv/bin:$PATH\" pytest", None),
            ("export PATH=bin:$PATH; pytest", None),
            ("./run.sh", None),
            ("\"$PYTHON\" -m pytest", None),
            ("if true; then pytest; fi", None),
            ("test -f a && pytest", None),
            ("uv run pytest || python -m pytest", None),
            ("pushd web && npm test", None),
            ("check() { pytest; }; check", None),
            ("[ 1 = 1 ]", None),
            ("", None),
        ] {
            assert_eq!(required_program(run).as_deref(), wanted, "{run}");
        }
    }

    #[test]
    fn a_check_names_its_files() {
        for (run, files) in [
            ("sh ./test.sh", "test.sh"),
            ("./run.sh --fast", "run.sh"),
            ("python3 tests/check.py -v", "tests/check.py"),
            ("cargo test --locked", ""),
            ("cargo test --test foo", ""),
            ("pytest tests/", "tests"),
            ("npm test", ""),
            ("cd web && node ./t.js", "web/t.js t.js"),
            ("(cd a/b; sh ../x.sh)", "a/x.sh"),
            ("bash -lc './ci/a.sh && ./b.sh'", "ci/a.sh b.sh"),
            ("make test", "GNUmakefile makefile Makefile"),
            ("CI=1 timeout 60 make test", "GNUmakefile makefile Makefile"),
            ("make -C lib check", "lib/GNUmakefile lib/makefile lib/Makefile"),
            ("make -f ci.mk x", "ci.mk GNUmakefile makefile Makefile"),
            ("tool --config=ci/lint.toml", "ci/lint.toml"),
            ("sh < in.sh", "in.sh"),
            ("sh /abs/x.sh; sh ../out.sh; sh \"$X/a.sh\"; cat *.py", ""),
            ("'my test.sh'", "my test.sh"),
        ] {
            let found: Vec<String> =
                named_files(run).into_iter().filter(|file| !file.contains(" && ")).collect();
            assert_eq!(found.join(" "), files, "{run}");
        }
    }

    #[test]
    fn a_call_of_make_has_a_place_and_goals() {
        for (run, calls) in [
            ("make test", ": test"),
            ("CI=1 timeout 60 make -j4 -s test V=1 lint >log", ": test lint"),
            ("make -C lib -f ci.mk check", "lib ci.mk: check"),
            ("make -Clib --file=ci.mk", "lib ci.mk:"),
            ("cd web && make", "web: / :"),
            ("cargo test", ""),
        ] {
            let shown = |call: &MakeCall| {
                let file = call.file.as_ref().map_or_else(String::new, |file| format!(" {file}"));
                format!("{}{file}: {}", call.dir, call.goals.join(" ")).trim_end().to_owned()
            };
            let found: Vec<String> = make_calls(run, "").iter().map(shown).collect();
            assert_eq!(found.join(" / "), calls, "{run}");
        }
    }

    #[test]
    fn a_script_that_is_not_in_the_base_is_refused_where_that_is_certain() {
        for (run, file) in [
            ("sh ./test.sh", "test.sh"),
            ("./run.sh", "run.sh"),
            ("python3 tests/check.py", "tests/check.py"),
            ("bash x.sh", "x.sh"),
            ("sh -eu scripts/check", "scripts/check"),
            ("CI=1 bash -e ./x.sh && echo ok", "x.sh"),
            ("/bin/sh ./x.sh", "x.sh"),
            ("node test.mjs | tee log", "test.mjs"),
        ] {
            assert_eq!(required_file(run).as_deref(), Some(file), "{run}");
        }
        for run in [
            "cargo test --test foo",
            "pytest tests/",
            "pytest tests/new_test.py",
            "npm run build && node build/out.js",
            "node build/out.js",
            "node node_modules/jest/bin/jest.js",
            ".venv/bin/python -m pytest",
            "./gradlew test",
            "target/debug/tool",
            "make && ./x.sh",
            "sh -c './x.sh'",
            "python3 -m unittest tests/a.py",
            "python3 -c 'x.py'",
            "bash -o pipefail x.sh",
            "sh \"$DIR/x.sh\"",
            "sh /abs/x.sh",
            "sh ../x.sh",
            "cd web; sh x.sh",
            "test -f x.sh && sh x.sh",
            "if true; then sh x.sh; fi",
            "sh > log.sh",
            "",
            "# sh x.sh",
        ] {
            assert_eq!(required_file(run), None, "{run}");
        }
    }

    #[test]
    fn the_refusal_says_what_to_do() {
        let check = CheckPolicy {
            name: "test".to_owned(),
            run: "sh ./test.sh".to_owned(),
            when: CheckWhen::Both,
            timeout: Millis::seconds(1),
            ..CheckPolicy::default()
        };
        let gate = GatePolicy { checks: vec![check], ..GatePolicy::default() };
        let mut policy = Policy { gate, ..Policy::default() };
        let missing = missing_files(&policy, &|_| false);
        assert_eq!(
            missing[0].to_string(),
            "check `test` names `test.sh`, which is not in the base commit; commit it first"
        );
        assert_eq!(missing_files(&policy, &|file| file == "test.sh"), []);
        policy.gate.step = Some(Box::new(CheckPolicy::of_step("sh ./step.sh", Millis::seconds(1))));
        let condition = StopCondition::Run { run: "./end.sh now".to_owned() };
        policy.stop.checks.push(StopCheck { name: "end".to_owned(), condition });
        let missing = missing_files(&policy, &|file| file == "test.sh");
        let named: Vec<(&str, &str)> =
            missing.iter().map(|of| (of.check.as_str(), of.file.as_str())).collect();
        assert_eq!(named, [("step", "step.sh"), ("end", "end.sh")]);
    }
}
