//! How a project comes to what its tests need: what `init` tries, and what set-up commands made that is kept.

use std::fs;
use std::path::{Path, PathBuf};

use windlass_testkit::{Repo, Scratch};

use crate::case::{Case, LOOP, RUN, Setup};
use crate::confined::has_layers;

/// Stands in for npm: an install leaves a stamp that no other install has, and tests tell which they found. Where
/// the project has sources, it builds from them.
const NPM: &str = r#"#!/bin/sh
case "$1 $2" in
"ci "*|"install "*)
    mkdir -p node_modules
    head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n' >node_modules/stamp
    if [ -f source.txt ]; then mkdir -p dist && cp source.txt dist/built.txt; fi ;;
"test "*) echo "the runner is not there" >&2; exit 1 ;;
"run test:unit") cat node_modules/stamp ;;
*) echo "what: $*" >&2; exit 2 ;;
esac
"#;

/// A directory of programs, before those of the machine.
fn with_npm(home: &Scratch) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = home.path().join("programs");
    fs::create_dir_all(&dir).unwrap();
    let npm = dir.join("npm");
    // Another program would mean another set-up.
    if !npm.exists() {
        fs::write(&npm, NPM).unwrap();
        fs::set_permissions(&npm, fs::Permissions::from_mode(0o755)).unwrap();
    }
    format!("{}:/usr/local/bin:/usr/bin:/bin", dir.display())
}

const PACKAGE: &str = r#"{"scripts": {"test": "x", "test:unit": "y"}, "devDependencies": {"z": "1"}}"#;

#[test]
fn init_goes_on_until_a_way_is_green_and_writes_that_one() {
    let home = Scratch::new(env!("CARGO_BIN_EXE_windlass"));
    let project = Repo::with(&[
        ("package.json", PACKAGE),
        ("package-lock.json", "{}"),
        (".gitignore", "node_modules\n"),
    ]);
    let mut command = home.command(project.path(), ["init"]);
    command.env("PATH", with_npm(&home));
    let ran = home.start(command).finish(RUN).expect_code(0);
    let policy = fs::read_to_string(project.path().join("windlass.toml")).unwrap();
    assert!(policy.contains("run = \"npm run test:unit\""), "{policy}");
    assert!(policy.contains("setup = [\n    \"npm ci\",\n]"), "{policy}");
    for words in [
        "check   npm test\n  red: exit code 1\n    the runner is not there",
        "check   npm run test:unit\n  green",
    ] {
        assert!(ran.stdout.contains(words), "{words}: {ran}");
    }
    assert!(!project.path().join("node_modules").exists(), "nothing is installed into the checkout");
}

#[test]
fn init_says_what_is_red_and_what_is_missing_and_leaves_a_second_stack_out() {
    let home = Scratch::new(env!("CARGO_BIN_EXE_windlass"));
    let green = ("Makefile", "test:\n\ttrue\n");
    let red = ("package.json", r#"{"scripts": {"test": "x"}, "packageManager": "pnpm@9.1.0"}"#);
    let few = home.path().join("few");
    fs::create_dir(&few).unwrap();
    // Whether the machine has npx, which would fetch pnpm, is not to matter.
    for program in ["sh", "git", "make", "true"] {
        let found = ["/usr/local/bin", "/usr/bin", "/bin"].map(|dir| Path::new(dir).join(program));
        let found = found.iter().find(|path| path.exists()).expect(program);
        std::os::unix::fs::symlink(found, few.join(program)).unwrap();
    }
    let started = |project: &Repo| {
        let mut command = home.command(project.path(), ["init"]);
        command.env("PATH", &few);
        home.start(command).finish(RUN).expect_code(0)
    };
    let project = Repo::with(&[red]);
    let ran = started(&project);
    let missing = "missing on this machine: pnpm (npm install -g pnpm)";
    assert!(ran.stdout.contains("no way to test it was green") && ran.stdout.contains(missing), "{ran}");
    let both = Repo::with(&[red, ("CMakeLists.txt", ""), green]);
    let ran = started(&both);
    let policy = fs::read_to_string(both.path().join("windlass.toml")).unwrap();
    assert!(policy.contains("make test") && !policy.contains("pnpm"), "{policy}\n{ran}");
    assert!(ran.stdout.contains("Node.js: no way to test it was green; it is left out."), "{ran}");
}

#[test]
fn a_project_in_a_directory_of_its_repository_is_tested_there() {
    let home = Scratch::new(env!("CARGO_BIN_EXE_windlass"));
    let package = ("web/package.json", PACKAGE);
    let project = Repo::with(&[
        package,
        ("web/lib/a.js", ""),
        ("README.md", "# Two\n"),
        (".gitignore", "node_modules\n"),
    ]);
    let init = |dir: &str, arguments: &[&str]| {
        let mut command = home.command(&project.path().join(dir), arguments);
        command.env("PATH", with_npm(&home));
        home.start(command).finish(RUN).expect_code(0)
    };
    let ran = init("", &["init"]);
    assert!(ran.stdout.contains("`cd web && windlass init --force`"), "{ran}");
    let ran = init("web/lib", &["init", "--force", "Add a page"]);
    assert!(ran.stdout.contains("The project is web"), "{ran}");
    assert!(ran.stdout.contains("git add :/windlass.toml :/tasks"), "{ran}");
    let policy = fs::read_to_string(project.path().join("windlass.toml")).unwrap();
    for line in
        ["run = \"cd web && npm run test:unit\"", "\"(cd web && npm install", "product = [\"web/**/*.{js"]
    {
        assert!(policy.contains(line), "{line}: {policy}");
    }
    let tasks: Vec<_> = fs::read_dir(project.path().join("tasks")).unwrap().flatten().collect();
    assert_eq!(tasks.len(), 1, "the placeholder gave way to the goal");
    project.file("Makefile", "test:\n\ttrue\n").commit("with tests at the root");
    let whole = init("web", &["init", "--force"]);
    assert!(whole.stdout.contains("check   make test\n  green"), "the root has tests: {whole}");
    let here = init("web", &["init", "--force", "--here"]);
    assert!(here.stdout.contains("check   cd web && npm run test:unit\n  green"), "{here}");
}

#[test]
fn an_agent_may_propose_and_windlass_believes_only_what_is_green() {
    let agent = r#"if grep -q "What did not work" "$side/author-$n.brief"
then echo '{"setup": ["echo made >made.txt"], "run": "grep made made.txt && sh ./verify"}' >windlass-proposal.json
else echo '{"run": "sh ./nothing-like-it"}' >windlass-proposal.json
fi
echo 'STATUS: complete'"#;
    let case = Setup::new(agent).file("verify", "exit 0\n").checks("").uncommitted();
    fs::remove_file(case.repo.path().join("test.sh")).unwrap();
    case.repo.commit("first");
    let ran = case.windlass(&["init", "--force", "--ask-agent"]).expect_code(0);
    let policy = fs::read_to_string(case.repo.path().join("windlass.toml")).unwrap();
    assert!(policy.contains("run = \"grep made made.txt && sh ./verify\""), "{policy}\n{ran}");
    assert!(policy.contains("\"echo made >made.txt\""), "{policy}");
    assert_eq!(ran.stdout.matches("asking command").count(), 2, "{ran}");
    assert!(case.left("author-2.brief").contains("nothing-like-it"), "it is told what did not work");
    assert!(!case.repo.path().join("windlass-proposal.json").exists());
}

/// The stamps that checks saw, each once.
fn stamps(case: &Case) -> Vec<String> {
    let mut stamps: Vec<String> = case.left("stamps").lines().map(str::to_owned).collect();
    stamps.sort();
    stamps.dedup();
    stamps
}

fn stamped(agent: &str) -> Case {
    stamped_at("namespaces", agent)
}

fn stamped_at(level: &str, agent: &str) -> Case {
    let home = Scratch::new(env!("CARGO_BIN_EXE_windlass"));
    let setup = Setup::new(agent)
        .level(level)
        .more("[workspace]\nsetup = [\"npm ci\"]\n")
        .file(".gitignore", "node_modules\ndist\n")
        .file("package.json", PACKAGE)
        .home(home);
    let case = setup.uncommitted();
    let side = case.side().display().to_string();
    let check = format!(
        "[[gate.check]]\nname = \"test\"\nrun = \"(cat node_modules/stamp; echo) >>{side}/stamps; if [ -f source.txt ]; then cmp source.txt dist/built.txt || exit 9; fi; sh ./test.sh\"\n"
    );
    let policy = fs::read_to_string(case.repo.path().join("windlass.toml")).unwrap();
    let usual = "[[gate.check]]\nname = \"test\"\nrun = \"sh ./test.sh\"\n";
    case.repo.file("windlass.toml", policy.replace(usual, &check));
    case.repo.commit("first");
    case.looked_at()
}

fn run(case: &Case, name: &str) {
    let mut command = case.command(&["run", "--name", name]);
    command.env("PATH", with_npm(&case.home));
    case.home.start(command).finish(RUN).expect_code(0);
}

#[test]
fn a_set_up_is_done_once_for_all_loops_with_the_same_manifests() {
    if !has_layers() {
        return;
    }
    let case = stamped("echo 42 >answer.txt\ncomplete");
    run(&case, LOOP);
    assert_eq!(stamps(&case).len(), 1, "baseline, task and last gate: {}", case.left("stamps"));
    run(&case, "second");
    assert_eq!(stamps(&case).len(), 1, "a second baseline: {}", case.left("stamps"));
}

/// A virtual environment has the path of the tree in it that it was made in.
#[test]
fn a_workspace_has_what_the_baseline_installed_by_the_same_path() {
    if !has_layers() {
        return;
    }
    let agent = "cat /windlass/tree/node_modules/stamp >$side/author-stamp || exit 1\n\
                 echo x >>node_modules/stamp || exit 1\n\
                 echo 42 >/windlass/tree/answer.txt\ncomplete";
    let case = stamped(agent);
    run(&case, LOOP);
    assert_eq!(stamps(&case), [case.left("author-stamp")], "one install, and its change is its own");
    assert_eq!(case.landed("answer.txt"), "42", "what it finds there is its workspace");
}

#[test]
fn a_workspace_does_its_own_set_up_where_it_cannot_have_the_path_of_the_judged_tree() {
    if !has_layers() {
        return;
    }
    let case =
        stamped_at("none", "cat node_modules/stamp >$side/author-stamp\necho 42 >answer.txt\ncomplete");
    run(&case, LOOP);
    assert_ne!(stamps(&case), [case.left("author-stamp")], "an install of its own");
    assert_eq!(case.left("author-stamp").len(), 32);
}

#[test]
fn a_check_finds_its_tree_where_no_tool_overlooks_it() {
    if !has_layers() {
        return;
    }
    let check =
        "[[gate.check]]\nname = \"test\"\nrun = \"test $(pwd -P) = /windlass/tree && sh ./test.sh\"\n";
    let case = Setup::new("echo 42 >answer.txt\ncomplete").level("namespaces").checks(check).ready();
    case.run().completed();
}

/// The whole path of a socket may have 108 bytes.
#[test]
fn a_check_has_room_for_a_socket_in_its_temporary_directory() {
    if !has_layers() {
        return;
    }
    let run = "test ${#TMPDIR} -lt 40 && echo 1 >$TMPDIR/mine && test -s /tmp/mine && sh ./test.sh";
    let check = format!("[[gate.check]]\nname = \"test\"\nrun = \"{run}\"\n");
    let case = Setup::new("echo 42 >answer.txt\ncomplete").level("namespaces").checks(&check).ready();
    case.run().completed();
}

#[test]
fn another_manifest_means_another_set_up() {
    if !has_layers() {
        return;
    }
    let agent = "echo 42 >answer.txt; echo ' ' >>package.json\ncomplete";
    let case = stamped(agent);
    run(&case, LOOP);
    assert!(stamps(&case).len() > 1, "{}", case.left("stamps"));
}

#[test]
fn what_a_set_up_built_from_sources_stands_for_these_sources_only() {
    if !has_layers() {
        return;
    }
    let case = stamped("echo 42 >answer.txt; echo changed >source.txt\ncomplete");
    case.repo.file("source.txt", "first\n");
    case.repo.commit("with sources");
    run(&case, LOOP);
    assert_eq!(case.landed("source.txt"), "changed");
}

#[test]
fn what_package_managers_fill_is_the_operators_and_never_written() {
    if !has_layers() {
        return;
    }
    let use_it = "cat \"$CARGO_HOME/registry/there\" && echo x >\"$CARGO_HOME/registry/mine\" && test ! -e \"$CARGO_HOME/credentials.toml\" -o ! -s \"$CARGO_HOME/credentials.toml\"";
    let check = format!(
        "[[gate.check]]\nname = \"test\"\nrun = '''{use_it} && test ! -e \"$CARGO_HOME/registry/of-agent\" && sh ./test.sh'''\n"
    );
    let agent = format!(
        "{use_it} || exit 1\necho x >\"$CARGO_HOME/registry/of-agent\"\necho 42 >answer.txt\ncomplete"
    );
    let case = Setup::new(&agent).level("namespaces").checks(&check).ready();
    let cargo: PathBuf = case.home.path().join("cargo");
    fs::create_dir_all(cargo.join("registry")).unwrap();
    fs::write(cargo.join("registry/there"), "there\n").unwrap();
    fs::write(cargo.join("credentials.toml"), "token\n").unwrap();
    let mut command = case.command(&["run", "--name", LOOP]);
    command.env("CARGO_HOME", &cargo);
    case.home.start(command).finish(RUN).expect_code(0);
    let names: Vec<_> =
        fs::read_dir(cargo.join("registry")).unwrap().flatten().map(|file| file.file_name()).collect();
    assert_eq!(names, ["there"]);
}
