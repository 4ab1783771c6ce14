//! The scripts of the base that a check runs through `package.json`: `npm test` runs what is written there.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::named::{self, base_name, join};
use crate::run_files::{BaseReader, scripts_of};
use crate::shell::ShellWord;

/// Bounds on what is followed.
const CALLS: usize = 64;
const FILE_SIZE: usize = 1 << 20;

/// A script of a package that is run, by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ScriptCall {
    dir: String,
    script: String,
}

/// Files of the base, as paths from the root.
pub fn package_scripts<'c>(
    commands: impl Iterator<Item = &'c str>,
    base: &BaseReader<'_>,
) -> BTreeSet<Vec<u8>> {
    let mut waiting: Vec<ScriptCall> = commands.flat_map(|run| calls(run, "")).collect();
    let (mut seen, mut files) = (BTreeSet::new(), BTreeSet::new());
    while let Some(call) = waiting.pop() {
        if seen.len() >= CALLS || !seen.insert(call.clone()) {
            continue;
        }
        for line in lines(&call, base) {
            waiting.extend(calls(&line, &call.dir));
            files.extend(scripts_of(&line, &call.dir, base).into_iter().map(String::into_bytes));
        }
    }
    files
}

/// Every call of a package's script in a command that runs in this directory.
fn calls(run: &str, dir: &str) -> Vec<ScriptCall> {
    let mut calls = Vec::new();
    named::walk(run, &mut |command, below| {
        let words = command.program();
        let is_manager = |word: &ShellWord| MANAGERS.contains(&base_name(&word.text));
        let Some(at) = words.iter().position(is_manager) else { return };
        let rest: Vec<&str> =
            words[at + 1..].iter().filter(|word| word.literal).map(|word| word.text.as_str()).collect();
        let inside = join(&format!("{dir}/{below}"), place(&rest)).unwrap_or_default();
        let script = script(base_name(&words[at].text), &rest);
        calls.extend(script.map(|script| ScriptCall { dir: inside, script }));
    });
    calls
}

const MANAGERS: &[&str] = &["npm", "pnpm", "yarn", "bun"];
/// Options whose value is a directory to run in.
const PLACES: &[&str] = &["--prefix", "-C", "--dir", "--cwd"];

fn place<'w>(rest: &[&'w str]) -> &'w str {
    let at = rest.iter().position(|word| PLACES.contains(word));
    at.and_then(|at| rest.get(at + 1)).copied().unwrap_or("")
}

fn script(manager: &str, rest: &[&str]) -> Option<String> {
    let place = place(rest);
    let mut words =
        rest.iter().filter(|word| !word.starts_with('-') && (place.is_empty() || **word != place));
    match (manager, *words.next()?) {
        (_, "run" | "run-script") => words.next().map(|word| (*word).to_owned()),
        ("npm", "test" | "t" | "tst") => Some("test".to_owned()),
        // `bun test` is a runner of its own.
        ("npm", _) | ("bun", "test") => None,
        (_, name) => Some(name.to_owned()),
    }
}

/// What the script runs, with what comes before and after it.
fn lines(call: &ScriptCall, base: &BaseReader<'_>) -> Vec<String> {
    let text = join(&call.dir, "package.json").and_then(|path| base(&path));
    let manifest: Option<Value> =
        text.filter(|text| text.len() <= FILE_SIZE).and_then(|text| serde_json::from_slice(&text).ok());
    let Some(manifest) = manifest else { return Vec::new() };
    let name = &call.script;
    let names = [format!("pre{name}"), name.clone(), format!("post{name}")];
    names.iter().filter_map(|name| Some(manifest["scripts"].get(name)?.as_str()?.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(run: &str, manifest: &str) -> Vec<String> {
        let base = |path: &str| match path {
            "package.json" | "web/package.json" => Some(manifest.as_bytes().to_vec()),
            "run-tests.js" | "web/run-tests.js" | "scripts/before.mjs" | "check.sh" | "lib/a.js" => {
                Some(Vec::new())
            }
            _ => None,
        };
        let files = package_scripts(std::iter::once(run), &base).into_iter();
        files.map(|path| String::from_utf8(path).unwrap()).collect()
    }

    const SCRIPTS: &str = r#"{ "scripts": {
        "pretest": "node ./scripts/before.mjs",
        "test": "node --no-warnings run-tests.js && npm run last",
        "last": "sh check.sh lib/a.js",
        "start": "node lib/a.js",
        "again": "npm run again"
    } }"#;

    #[test]
    fn what_a_test_script_runs_is_found_with_what_it_calls() {
        for run in
            ["npm test", "npm t", "CI=1 npm run test -- --x", "yarn test", "pnpm run test", "bun run test"]
        {
            assert_eq!(found(run, SCRIPTS), ["check.sh", "run-tests.js", "scripts/before.mjs"], "{run}");
        }
        for run in ["npm --prefix web test", "cd web && npm test"] {
            assert!(found(run, SCRIPTS).contains(&"web/run-tests.js".to_owned()), "{run}");
        }
    }

    #[test]
    fn other_commands_and_broken_manifests_find_nothing() {
        for run in ["npm ci", "bun test", "node lib/a.js", "npm run again", "npm run nothing", "npm"] {
            assert_eq!(found(run, SCRIPTS), Vec::<String>::new(), "{run}");
        }
        for manifest in ["", "{", "[]", r#"{"scripts": 1}"#, r#"{"scripts": {"test": 1}}"#] {
            assert_eq!(found("npm test", manifest), Vec::<String>::new(), "{manifest}");
        }
    }
}
