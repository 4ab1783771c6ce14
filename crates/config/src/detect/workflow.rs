//! Further ways to test, from what a project's CI workflows and its guide for contributors run.

use super::project_files::ProjectFiles;
use super::{Stack, TestWay, python, stacks};

/// By the word of a stack, how its tests are called.
const TESTS: &[(&str, &[&str])] = &[
    ("rust", &["cargo test"]),
    ("go", &["go test"]),
    ("node", &["npm test", "npm run test", "yarn test", "pnpm test", "node --test"]),
    ("maven", &["mvn test", "mvn verify"]),
    ("gradle", &["gradlew test", "gradlew check"]),
    ("cmake", &["make test", "make check"]),
    ("make", &["make test", "make check"]),
    ("ruby", &["rake", "rspec"]),
];

/// How many are worth a try.
const MOST: usize = 3;

/// How many scripts of the project's own are worth a try beside what the stack is usually tested with.
const MOST_SCRIPTS: usize = 2;

/// Scripts that people are told to test with: they set what the tests need, such as a time zone. Each is tried after
/// the first way that sets the project up.
pub fn add_scripts(project: &ProjectFiles<'_>, stack: &mut Stack) {
    let at = stack.ways.iter().position(|way| !way.setup.is_empty()).unwrap_or(0);
    let Some(first) = stack.ways.get(at).cloned() else { return };
    let usual = ["script/test", "scripts/test", "scripts/test.sh"].map(str::to_owned);
    let usual = usual.into_iter().filter(|script| project.has(script));
    let mut scripts: Vec<String> = Vec::new();
    for script in scripts_of_pages(project).into_iter().chain(usual) {
        let speaks_of_tests =
            script.split(['/', '.', '-', '_']).any(|word| ["test", "tests"].contains(&word));
        if speaks_of_tests && !scripts.contains(&script) && scripts.len() < MOST_SCRIPTS {
            scripts.push(script);
        }
    }
    let active = if stack.word == "python" { format!("{} ", python::ACTIVE) } else { String::new() };
    let run = |script: &String| format!("{active}{}", stacks::script_call(project, script));
    let ways = scripts.iter().map(|script| TestWay { run: run(script), junit: None, ..first.clone() });
    stack.ways.splice(at + 1..at + 1, ways.collect::<Vec<_>>());
}

/// Lines by which the stack's tests are run there. The set-up is that of the likeliest way.
pub fn add_ways(project: &ProjectFiles<'_>, stack: &mut Stack) {
    let Some((_, calls)) = TESTS.iter().find(|(word, _)| *word == stack.word) else { return };
    let Some(first) = stack.ways.first().cloned() else { return };
    let mut texts: Vec<String> = project.workflows().iter().flat_map(|text| run_lines(text)).collect();
    for guide in ["CONTRIBUTING.md", "contributing.md", ".github/CONTRIBUTING.md"] {
        texts.extend(fenced_lines(&project.text(guide)));
    }
    let mut added = 0;
    for line in texts {
        let is_test = calls.iter().any(|call| line.contains(call));
        let known = stack.ways.iter().any(|way| way.run == line);
        if is_test && !known && added < MOST {
            stack.ways.push(TestWay { run: line, junit: None, ..first.clone() });
            added += 1;
        }
    }
}

/// Scripts of the repository by which its pages say that tests are run.
pub fn scripts_of_pages(project: &ProjectFiles<'_>) -> Vec<String> {
    let pages =
        ["README.md", "test/README.md", "tests/README.md", "CONTRIBUTING.md", ".github/CONTRIBUTING.md"];
    let lines = pages.iter().flat_map(|page| fenced_lines(&project.text(page)));
    lines.filter_map(|line| test_script(project, &line)).collect()
}

/// The same of CI workflows.
pub fn scripts_of_workflows(project: &ProjectFiles<'_>) -> Vec<String> {
    let texts = project.workflows();
    let lines = texts.iter().flat_map(|text| run_lines(text));
    lines.filter_map(|line| test_script(project, &line)).collect()
}

/// The script of the repository that this line is, if its path speaks of tests.
fn test_script(project: &ProjectFiles<'_>, line: &str) -> Option<String> {
    let path = match line.split_whitespace().collect::<Vec<_>>()[..] {
        [path] | ["sh" | "bash", path] => path.trim_start_matches("./"),
        _ => return None,
    };
    let mut words = path.split(|letter: char| !letter.is_ascii_alphanumeric());
    let is_test =
        words.any(|word| ["test", "tests", "runtests", "unit", "unittest", "check", "ci"].contains(&word));
    let is_script = project.has(path) && (path.ends_with(".sh") || project.text(path).starts_with("#!"));
    (is_test && is_script).then(|| path.to_owned())
}

/// The commands of `run:` entries, without those that only a workflow can fill in.
fn run_lines(workflow: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut lines = workflow.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(value) = line.trim_start().trim_start_matches("- ").strip_prefix("run:") else { continue };
        let indent = line.len() - line.trim_start().len();
        let value = value.trim();
        if !value.starts_with(['|', '>']) {
            commands.push(value.trim_matches(['"', '\'']).to_owned());
            continue;
        }
        while let Some(next) =
            lines.next_if(|next| next.trim().is_empty() || next.len() - next.trim_start().len() > indent)
        {
            commands.push(next.trim().to_owned());
        }
    }
    commands.retain(|command| is_plain(command));
    commands
}

/// The lines of a page's blocks of code.
fn fenced_lines(page: &str) -> Vec<String> {
    let mut inside = false;
    let mut commands = Vec::new();
    for line in page.lines() {
        let line = line.trim();
        if line.starts_with("```") {
            inside = !inside;
        } else if inside {
            commands.push(line.trim_start_matches("$ ").to_owned());
        }
    }
    commands.retain(|command| is_plain(command));
    commands
}

/// One whole command that means the same everywhere.
fn is_plain(command: &str) -> bool {
    !command.is_empty() && !command.starts_with('#') && !command.contains("${{") && !command.ends_with('\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_read_from_workflows_and_pages() {
        let workflow = "jobs:\n  a:\n    steps:\n      - run: cargo test --all\n      - name: x\n        run: |\n          make\n          make ${{ matrix.x }}\n\n          make check\n      - uses: y\n";
        assert_eq!(run_lines(workflow), ["cargo test --all", "make", "make check"]);
        let page = "Run\n```sh\n$ npm test\n# so\n```\nnpm run x\n";
        assert_eq!(fenced_lines(page), ["npm test"]);
    }
}
