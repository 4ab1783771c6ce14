//! Which files of the base a line of a makefile or of `package.json` runs.

use crate::makefile::UNKNOWN;
use crate::named::{self, base_name, is_script, join};
use crate::shell::{ShellCommand, ShellWord};

/// Reads a file of the base; none where the base has no file of this path.
pub type BaseReader<'a> = dyn Fn(&str) -> Option<Vec<u8>> + 'a;

/// Run a file that is named to them.
const RUN_FILES: [&str; 15] = [
    ".", "source", "exec", "awk", "gawk", "mawk", "tclsh", "expect", "prove", "deno", "bun", "tsx",
    "ts-node", "julia", "escript",
];

/// The files of the base that a line runs in this directory.
pub fn scripts_of(line: &str, dir: &str, base: &BaseReader<'_>) -> Vec<String> {
    let mut found = Vec::new();
    named::walk(line, &mut |command, below| {
        let inside = join(dir, below).unwrap_or_default();
        let places =
            |word: &str| [inside.as_str(), dir].iter().filter_map(|dir| join(dir, word)).collect::<Vec<_>>();
        let in_base = |word: &str| places(word).into_iter().find(|path| base(path).is_some());
        found.extend(run_words(command).into_iter().find_map(|word| in_base(&word)));
        found.extend(loop_words(command).iter().filter_map(|word| in_base(word)));
    });
    found
}

/// What the command may run, the likeliest first. A compiler runs no source.
fn run_words(command: &ShellCommand) -> Vec<String> {
    let words = command.program();
    let is_before = |word: &ShellWord| {
        BEFORE_PROGRAMS.contains(&word.text.as_str())
            || word.text.starts_with('-')
            || word.text.contains('=')
            || word.text.starts_with(|c: char| c.is_ascii_digit())
    };
    let at = words.iter().position(|word| !is_before(word)).unwrap_or(words.len());
    let Some((program, rest)) = words[at..].split_first() else { return Vec::new() };
    let is_unknown = program.text.contains(UNKNOWN);
    if is_unknown || is_interpreter(&program.text) {
        let is_module =
            rest.iter().take_while(|word| word.text.starts_with('-')).any(|word| word.text == "-m");
        let is_file = |word: &&ShellWord| word.literal && !word.text.starts_with('-') && !is_module;
        let files = rest.iter().filter(is_file).filter(|word| !is_unknown || is_script(&word.text));
        return files.map(|word| word.text.clone()).collect();
    }
    let has_no_extension = !base_name(&program.text).contains('.');
    let runs =
        program.literal && program.text.contains('/') && (is_script(&program.text) || has_no_extension);
    if runs { vec![program.text.clone()] } else { Vec::new() }
}

/// `/usr/bin/python3.12` as well as `python`.
fn is_interpreter(program: &str) -> bool {
    let name = base_name(program);
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let known = |name: &str| [named::SHELLS, named::INTERPRETERS, &RUN_FILES].concat().contains(&name);
    known(name) || known(bare)
}

/// Words of the shell, and programs that run what comes after them.
const BEFORE_PROGRAMS: [&str; 19] = [
    "if", "then", "elif", "else", "while", "until", "do", "!", "{", "env", "timeout", "time", "nice",
    "nohup", "stdbuf", "setsid", "valgrind", "command", "xvfb-run",
];

/// The scripts that a loop of the shell goes through.
fn loop_words(command: &ShellCommand) -> Vec<String> {
    let words = command.program();
    let at = words.iter().position(|word| word.text == "for");
    let listed = at.and_then(|at| words.get(at + 3..)).unwrap_or_default();
    listed.iter().filter(|word| word.literal && is_script(&word.text)).map(|word| word.text.clone()).collect()
}
