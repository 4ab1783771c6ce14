use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::native::C_TESTS;
use super::node::NODE_TESTS;
use super::stacks::SCRIPT_TESTS;
use super::*;
use crate::layer::{Layer, LayerKind};
use crate::tests::format;
use crate::{FileAgent, project_file};

/// A project with these files; `name=content`, or empty.
fn project(files: &[&str]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for file in files {
        let (name, content) = file.split_once('=').unwrap_or((file, ""));
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    dir
}

/// What is written for a project must read back as the same policy.
fn proposed(files: &[&str]) -> String {
    let dir = project(files);
    let proposal = detect(dir.path()).unwrap();
    let chosen = proposal.likeliest();
    let layer =
        Layer::new(LayerKind::Project, "windlass.toml", project_file(&proposal, &chosen, FileAgent::Unknown));
    let policy = format().resolve(vec![layer]).unwrap_or_else(|error| panic!("{error}")).policy;
    assert_eq!((&policy.gate.protect, &policy.workspace.setup), (&proposal.protect, &chosen.setup));
    assert_eq!(policy.gate.product, proposal.product);
    let junit = |check: &ChosenCheck| check.junit.clone().unwrap_or_default();
    let written = policy.gate.checks.iter().map(|check| (&check.name, &check.run, check.junit.clone()));
    let wanted = chosen.checks.iter().map(|check| (&check.name, &check.run, junit(check)));
    assert!(written.eq(wanted));
    let shown = |check: &ChosenCheck| {
        let junit = check.junit.as_ref().map(|files| format!(" (junit {files})"));
        format!("{}: {}{}", check.name, check.run, junit.unwrap_or_default())
    };
    let checks: Vec<String> = chosen.checks.iter().map(shown).collect();
    let mut shown = format!("{} | protect {}", checks.join("; "), proposal.protect.join(" "));
    if !proposal.product.is_empty() {
        shown += &format!(" | product {}", proposal.product.join(" "));
    }
    if !chosen.setup.is_empty() {
        shown += &format!(" | setup {}", chosen.setup.join("; "));
    }
    shown
}

#[test]
fn each_stack_gets_its_check() {
    let node = NODE_TESTS.join(" ");
    let python = "**/test_*.py **/*_test.py **/{test,tests}.py **/conftest.py **/{test,tests}/**";
    let rust = "**/tests/** **/{test,tests}.rs **/*_{test,tests}.rs";
    let scripts = SCRIPT_TESTS.join(" ");
    for (files, shown) in [
        (&["Cargo.toml"][..], format!("test: cargo test | protect {rust} | product **/src/** **/*.md | setup cargo fetch")),
        (
            &["Cargo.toml", "Cargo.lock", "tests/a.rs"],
            format!(
                "test: cargo test --locked | protect {rust} | product **/src/** **/*.md | setup cargo fetch --locked"
            ),
        ),
        (
            &["package.json={\"scripts\":{\"test\":\"vitest\"},\"devDependencies\":{\"vitest\":\"1\"}}", "package-lock.json"],
            format!(
                "test: npm test | protect {node} | product **/*.{{js,mjs,cjs,ts,jsx,tsx}} src/** lib/** **/*.md | setup npm ci"
            ),
        ),
        (
            &["package.json={\"scripts\":{\"test\":\"jest\"},\"dependencies\":{\"a\":\"1\"}}", "pnpm-lock.yaml"],
            format!(
                "test: pnpm test | protect {node} | product **/*.{{js,mjs,cjs,ts,jsx,tsx}} src/** lib/** **/*.md | setup pnpm install --frozen-lockfile"
            ),
        ),
        (
            &["tests/test_a.py"],
            format!("test: python3 -m pytest -q | protect {python} | product **/*.py src/** **/*.md"),
        ),
        (&["go.mod"], "test: go test ./... | protect **/*_test.go | product **/*.go **/*.md".to_owned()),
        (
            &["build.gradle.kts", "gradlew"],
            "test: GRADLE_USER_HOME=\"$HOME/.gradle\" ./gradlew test (junit **/build/test-results/test/TEST-*.xml) | protect **/src/*{test,Test}*/** \
             | product **/src/main/** **/*.md"
                .to_owned(),
        ),
        (
            &["Gemfile", "spec/a.rb"],
            "test: bundle exec rspec | protect **/*_{spec,test}.rb **/test_*.rb **/{spec,test}/** | setup \
             bundle config set --local path vendor/bundle; bundle install"
                .to_owned(),
        ),
        (&["tests/run.sh"], format!("test: sh ./tests/run.sh | protect tests/run.sh {scripts}")),
        (
            &["GNUmakefile=all:\ncheck : all\n"],
            format!("test: make check | protect GNUmakefile {scripts}"),
        ),
        (
            &["Makefile=test:\n", "a.c"],
            format!(
                "test: make test | protect Makefile {} | product **/*.{{c,h,cc,cpp,cxx,hh,hpp,hxx,inl,ipp}} src/** include/** **/*.md",
                C_TESTS.join(" ")
            ),
        ),
    ] {
        assert_eq!(proposed(files), shown, "{files:?}");
    }
}

#[test]
fn a_check_that_took_long_is_written_with_its_time() {
    let proposal = detect(project(&["Cargo.toml"]).path()).unwrap();
    let mut chosen = proposal.likeliest();
    chosen.checks[0].minutes = Some(17);
    let text = project_file(&proposal, &chosen, FileAgent::Unknown);
    let layer = Layer::new(LayerKind::Project, "windlass.toml", text);
    let policy = format().resolve(vec![layer]).unwrap_or_else(|error| panic!("{error}")).policy;
    assert_eq!(policy.gate.checks[0].timeout, windlass_core::time::Millis::minutes(17));
}

#[test]
fn a_makefile_with_a_target_for_tests_comes_before_a_script() {
    for script in ["test.sh", "tests/run.sh"] {
        assert!(proposed(&[script, "Makefile=check:\n"]).starts_with("test: make check |"));
        assert!(proposed(&[script, "Makefile=all:\n"]).starts_with(&format!("test: sh ./{script} |")));
    }
}

/// Of the second paths those that the proposal for the first protects.
fn protected<'a>(files: &[&str], paths: &[&'a str]) -> Vec<&'a str> {
    let dir = project(files);
    let covered = glob_set(&detect(dir.path()).unwrap().protect);
    paths.iter().copied().filter(|path| covered.is_match(path)).collect()
}

const C_PROJECT: [&str; 2] = ["Makefile=test:\n", "src/calc.c"];
const NODE_PROJECT: [&str; 1] = ["package.json={\"scripts\":{\"test\":\"node --test\"}}"];

#[test]
fn tests_are_protected_under_every_usual_name() {
    let tests = [
        "src/test_x.c",
        "src/x_test.c",
        "test_x.c",
        "unittest/x.c",
        "tests/x.c",
        "x-test.c",
        "test-x.c",
        "a_unittest.cc",
        "src/test/x.c",
        "test.c",
    ];
    assert_eq!(protected(&C_PROJECT, &tests), tests);
    let product = ["src/calc.c", "src/latest.c", "contest/a.c", "src/testify.c", "src/attest.h"];
    assert_eq!(protected(&C_PROJECT, &product), [""; 0]);
    let tests = [
        "test.js",
        "x-test.js",
        "x_test.js",
        "test-x.js",
        "src/test/x.js",
        "x.test.mjs",
        "x.spec.ts",
        "src/a/__tests__/x.js",
        "tests/x.js",
        "x.test.js.snap",
    ];
    assert_eq!(protected(&NODE_PROJECT, &tests), tests);
    assert_eq!(protected(&NODE_PROJECT, &["src/latest.js", "testing.js", "src/spec.js"]), [""; 0]);
    let tests = ["test.py", "x_test.py", "test_x.py", "app/tests.py", "pkg/tests/x.py", "a/test/data.json"];
    assert_eq!(protected(&["pyproject.toml"], &tests), tests);
    assert_eq!(protected(&["pyproject.toml"], &["pkg/testing.py", "contest.py"]), [""; 0]);
    let tests = ["a/src/test/X.java", "src/integrationTest/X.kt"];
    assert_eq!(protected(&["build.gradle"], &tests), tests);
}

#[test]
fn tests_that_the_repository_has_are_protected_with_their_like() {
    let with = |file| [&C_PROJECT[..], &[file]].concat();
    assert_eq!(protected(&with("t/calc.c"), &["t/calc.c", "t/new.c"]), ["t/calc.c", "t/new.c"]);
    assert_eq!(protected(&with("tools/test_gen.py"), &["a/test_b.py", "gen.py"]), ["a/test_b.py"]);
    assert_eq!(protected(&with("src/CalcTest.cpp"), &["src/AddTest.cpp"]), ["src/AddTest.cpp"]);
    let script = ["Makefile=test:\n\tsh scripts/test.sh\n", "scripts/test.sh"];
    assert_eq!(protected(&script, &["scripts/test.sh", "scripts/gen.sh"]), ["scripts/test.sh"]);
    let made = ["build/t/test_x.lua", "node_modules/a/test_x.lua", ".cache/test_x.lua"];
    assert_eq!(protected(&[&C_PROJECT[..], &made].concat(), &["src/test_x.lua"]), [""; 0]);
}

#[test]
fn a_project_in_a_directory_is_tested_there() {
    let dir = project(&[
        "services/my api/package.json={\"scripts\":{\"test\":\"a; b\"}}",
        "README.md",
        "web/go.mod",
    ]);
    let api = dir.path().join("services/my api");
    assert_eq!(project_around(dir.path(), &api.join("src")), Some("services/my api".to_owned()));
    assert_eq!(project_around(dir.path(), dir.path()), None);
    assert_eq!(projects_below(dir.path()).unwrap(), ["services/my api", "web"]);
    let way = |run: &str| TestWay::new(run).setup("npm ci");
    let ways = vec![way("npm test"), way("a || b")];
    let stacks = vec![StackProposal { name: "Node", check: "test".to_owned(), ways, breakable: true }];
    let (protect, product) = (vec!["**/*.test.js".to_owned()], vec!["src/**".to_owned()]);
    let below = Proposal { stacks, protect, product }.below("services/my [api]");
    let [first, second] = &below.stacks[0].ways[..] else { panic!("{below:?}") };
    assert_eq!(first.run, "cd 'services/my [api]' && npm test");
    assert_eq!(first.setup, ["(cd 'services/my [api]' && npm ci)"]);
    assert_eq!(second.run, "cd 'services/my [api]' && (a || b)");
    assert_eq!(below.protect, ["services/my [[]api[]]/**/*.test.js"]);
    assert_eq!(below.product, ["services/my [[]api[]]/src/**"]);
}

#[test]
fn several_stacks_get_a_check_each() {
    assert_eq!(
        proposed(&["Cargo.toml", "go.mod", "test.sh"]),
        "rust-test: cargo test; go-test: go test ./... | protect **/tests/** **/{test,tests}.rs **/*_{test,tests}.rs **/*_test.go **/test.sh | product **/src/** **/*.go **/*.md | setup cargo fetch"
    );
}

/// Each way of the first stack: its set-up, then its check, then what it needs.
fn ways(files: &[&str]) -> Vec<String> {
    let dir = project(files);
    let proposal = detect(dir.path()).unwrap();
    let shown = |way: &TestWay| {
        let setup: String = way.setup.iter().map(|step| format!("{step} ; ")).collect();
        let junit = way.junit.as_ref().map(|files| format!(" -> {files}")).unwrap_or_default();
        format!("{setup}{} ({}){junit}", way.run, way.needs.join(" "))
    };
    proposal.stacks[0].ways.iter().map(shown).collect()
}

#[test]
fn python_is_set_up_with_what_its_manifests_name() {
    let venv = "python3 -m venv .venv && echo '*' >.venv/.gitignore ; .venv/bin/python -m pip install -q --upgrade pip";
    let pip = ".venv/bin/python -m pip install -q";
    let first = |files: &[&str]| ways(files).remove(0);
    let check = "PATH=\"$PWD/.venv/bin:$PATH\" python -m pytest -q (python3)";
    let manifest = "pyproject.toml=[build-system]\nrequires = [\"hatch-vcs\"]\n[project]\nname = \"x\"\n\
                    [project.optional-dependencies]\ntests = [\"pytest\", \"freezegun\"]\ndocs = []\n";
    assert_eq!(
        first(&[manifest, ".git/refs/tags/v1.2.0", ".git/refs/tags/v1.10.1"]),
        format!("{venv} ; SETUPTOOLS_SCM_PRETEND_VERSION=1.10.1 {pip} -e '.[tests]' ; {check}")
    );
    let groups = "pyproject.toml=[project]\nname = \"x\"\n[dependency-groups]\ntest = [\"pytest\"]\nlint = [\"ruff\"]\n";
    assert_eq!(first(&[groups]), format!("{venv} ; {pip} -e '.' --group test ; {check}"));
    let poetry = "pyproject.toml=[tool.poetry]\nname = \"x\"\n[tool.poetry.dev-dependencies]\npytest = \"^7.1\"\nattrs = \"*\"\n";
    assert_eq!(first(&[poetry]), format!("{venv} ; {pip} -e '.' 'attrs' 'pytest>=7.1,<8' ; {check}"));
    assert_eq!(
        first(&["tests/test_a.py", "requirements-dev.txt=pytest"]),
        format!("{venv} ; {pip} -r requirements-dev.txt ; {check}")
    );
    assert_eq!(
        first(&["setup.py=setup()", "tox.ini=[testenv]\ndeps =\n  pytest\n  {posargs}\ncommands = x\n"]),
        format!("{venv} ; {pip} -e '.' 'pytest' ; {check}")
    );
    assert_eq!(
        first(&["uv.lock", manifest]),
        "SETUPTOOLS_SCM_PRETEND_VERSION=0.1 uv sync --frozen --extra tests ; PATH=\"$PWD/.venv/bin:$PATH\" python -m pytest -q (uv)"
    );
    assert_eq!(first(&["tests/test_a.py", ".venv/pyvenv.cfg"]), format!("{venv} ; {pip} pytest ; {check}"));
    let all = ways(&["poetry.lock", poetry]);
    let install = "poetry install --no-interaction --all-extras";
    let tests = "PATH=\"$PWD/.venv/bin:$PATH\" python -m pytest -q";
    assert_eq!(all[0], format!("POETRY_VIRTUALENVS_IN_PROJECT=true {install} ; {tests} (poetry)"));
    let fetched = "python3 -m venv .poetry && echo '*' >.poetry/.gitignore ; \
                   .poetry/bin/python -m pip install -q poetry ; \
                   POETRY_VIRTUALENVS_IN_PROJECT=true .poetry/bin/";
    assert!(all.contains(&format!("{fetched}{install} ; {tests} (python3)")), "{all:#?}");
    let locked = format!(
        "{} ; {} ; {} ; {pip} -c .venv/locked.txt -e '.' 'attrs' 'pytest>=7.1,<8' ; {check}",
        "python3 -m venv .venv && echo '*' >.venv/.gitignore",
        r#"awk -F '"' '/^name = "/ { name = $2 } /^version = "/ { print name "==" $2 }' poetry.lock >.venv/locked.txt"#,
        ".venv/bin/python -m pip install -q --upgrade pip",
    );
    assert!(all.contains(&locked), "{all:#?}");
    let fetched = "python3 -m venv .uv && echo '*' >.uv/.gitignore ; .uv/bin/python -m pip install -q uv ; \
                   .uv/bin/uv sync --frozen --group test";
    let all = ways(&["uv.lock", groups]);
    assert!(all.contains(&format!("{fetched} ; {tests} (python3)")), "{all:#?}");
    let test = "tests/test_a.py=import unittest";
    assert_eq!(ways(&[test])[1], "python3 -m unittest discover -s tests (python3)");
    let package = ways(&[test, "tests/__init__.py"]);
    assert_eq!(package[1], "python3 -m unittest discover -s tests -t . (python3)");
    assert_eq!(ways(&["test_a.py=import unittest", "a.py"])[1], "python3 -m unittest discover (python3)");
}

#[test]
fn a_version_of_git_is_told_to_what_would_ask_for_it() {
    let tags = [".git/refs/tags/v1.2.0", ".git/refs/tags/v1.10.1"];
    let install = |requires: &str| {
        let manifest =
            format!("pyproject.toml=[build-system]\nrequires = [\"{requires}\"]\n[project]\nname = \"x\"\n");
        let all = ways(&[&manifest, tags[0], tags[1]]);
        all.into_iter().find(|way| way.contains("pip install")).unwrap_or_default()
    };
    for (plug_in, variable) in [
        ("setuptools_scm[toml]>=6", "SETUPTOOLS_SCM_PRETEND_VERSION"),
        ("pbr>=5", "PBR_VERSION"),
        ("poetry-dynamic-versioning>=1.0.0,<2", "POETRY_DYNAMIC_VERSIONING_BYPASS"),
    ] {
        let told = format!(" ; {variable}=1.10.1 .venv/bin/python -m pip install -q -e '.' pytest ; ");
        assert!(install(plug_in).contains(&told), "{plug_in}: {}", install(plug_in));
    }
    let git = "GIT_DIR=.venv/version/.git git";
    let made = format!(
        " ; git init -q .venv/version && {git} add pyproject.toml && {git} -c user.name=base \
         -c user.email=base@localhost commit -q --allow-empty -m base && {git} tag -f v1.10.1 ; \
         GIT_DIR=.venv/version/.git .venv/bin/python -m pip install -q -e '.' pytest ; "
    );
    for plug_in in ["setuptools-git-versioning >=2.0", "versioningit~=3.0"] {
        assert!(install(plug_in).contains(&made), "{plug_in}: {}", install(plug_in));
    }
    assert!(install("setuptools>=77").contains(" ; .venv/bin/python -m pip install -q -e '.' pytest ; "));
}

#[test]
fn requirements_that_cannot_be_installed_are_done_without() {
    let tox = "tox.ini=[testenv]\ndeps=\n    pytest\n    pytest-cov\n";
    let dir = project(&["setup.py=setup()", tox, "requirements.txt=blist\npytest\n", "tests/a.py"]);
    let ways = detect(dir.path()).unwrap().stacks.remove(0).ways;
    let install = |commands: &[String]| commands.last().cloned().unwrap_or_default();
    let first = ".venv/bin/python -m pip install -q -e '.' -r requirements.txt";
    let without = ways.iter().find(|way| install(&way.instead_of) == first).unwrap();
    assert_eq!((&*install(&ways[0].setup), &without.instead_of), (first, &ways[0].setup));
    assert_eq!(install(&without.setup), ".venv/bin/python -m pip install -q -e '.' 'pytest' 'pytest-cov'");
    let tox = ways.iter().position(|way| way.run.contains("tox"));
    assert!(ways.iter().position(|way| way == without) < tox);
    let dir = project(&["setup.py=setup()", "requirements-test.txt=pytest\n"]);
    let ways = detect(dir.path()).unwrap().stacks.remove(0).ways;
    assert!(ways.iter().all(|way| way.instead_of.is_empty()), "{ways:#?}");
}

#[test]
fn tests_that_need_extras_of_no_test_name_get_all_of_them() {
    let manifest = "pyproject.toml=[project]\nname = \"x\"\n[project.optional-dependencies]\nbson = []\norjson = []\n\
                    docs = []\n[dependency-groups]\ntest = [\"pytest\"]\nlint = []\n";
    let all = ways(&[manifest, "uv.lock", "tests/test_a.py"]);
    let check = "PATH=\"$PWD/.venv/bin:$PATH\" python -m pytest -q";
    let wide = "uv sync --frozen --extra bson --extra orjson --group test";
    assert_eq!(all[0], format!("uv sync --frozen --group test ; {check} (uv)"));
    assert_eq!(all[2], format!("{wide} ; {check} (uv)"));
    assert!(
        all.iter().any(|way| way.contains(&format!(" ; .uv/bin/{wide} ; {check} (python3)"))),
        "{all:#?}"
    );
}

#[test]
fn all_packages_of_a_workspace_are_tested() {
    let workspace = "Cargo.toml=[package]\nname = \"a\"\n[workspace]\nmembers = [\"b\"]\n";
    assert_eq!(
        ways(&[workspace]),
        ["cargo fetch ; cargo test --workspace (cargo)", "cargo fetch ; cargo test (cargo)"]
    );
    let locked = ways(&[workspace, "Cargo.lock"]);
    assert_eq!(locked[0], "cargo fetch --locked ; cargo test --workspace --locked (cargo)");
    for alone in
        ["Cargo.toml=[workspace]\nmembers = [\"b\"]\n", "Cargo.toml=[package]\nname = \"a\"\n[workspace]\n"]
    {
        assert_eq!(ways(&[alone]), ["cargo fetch ; cargo test (cargo)"]);
    }
}

#[test]
fn sources_are_known_where_they_are_in_the_usual_place() {
    let product = |files: &[&str]| detect(project(files).path()).unwrap().product.join(" ");
    assert_eq!(product(&["Gemfile", "lib/a.rb"]), "lib/** app/** exe/** **/*.md");
    assert_eq!(product(&["mix.exs", "lib/a.ex"]), "lib/** apps/*/lib/** **/*.md");
    assert_eq!(product(&["composer.json", "phpunit.xml", "src/A.php"]), "src/** app/** lib/** **/*.md");
    assert_eq!(product(&["Gemfile", "a.rb"]), "");
    let header_only = product(&["CMakeLists.txt", "include/a/a.hpp"]);
    assert!(header_only.contains("hpp") && header_only.contains(" include/** "), "{header_only}");
}

#[test]
fn what_only_tox_brings_is_tried_last() {
    let manifest =
        "pyproject.toml=[project]\nname = \"x\"\n[project.optional-dependencies]\ntest = [\"pytest\"]\n";
    let tox = "tox.ini=[core]\ndeps =\n  pytest\n  pytest-timeout\n  py3{11,12}: pytest-asyncio\n\
               [testenv]\ndeps =\n  {[core]deps}\n  pypy: cffi\n  -r more.txt\n  # none\n  git+https://host.example/x\ncommands = x\n";
    let all = ways(&[manifest, tox]);
    assert!(all[0].contains(" -e '.[test]' ; "), "{all:#?}");
    let with_tox = " -e '.[test]' 'pytest' 'pytest-timeout' 'pytest-asyncio' ; ";
    assert!(all.iter().any(|way| way.contains(with_tox)), "{all:#?}");
    let inside = "pyproject.toml=[project]\nname = \"x\"\n[tool.tox]\nlegacy_tox_ini = \"\"\"\n\
                  [testenv]\ndeps =\n  pytest\n  pytest-asyncio\n\"\"\"\n";
    let all = ways(&[inside]);
    assert!(all[0].contains(" -e '.' 'pytest' 'pytest-asyncio' ; "), "{all:#?}");
}

#[test]
fn tests_are_counted_where_the_runner_reports_them_and_the_control_knows_no_language() {
    let all = ways(&["CMakeLists.txt", "a.c"]);
    assert!(all[0].ends_with(" --output-junit junit.xml (cmake) -> build/junit.xml"), "{all:#?}");
    assert!(all[1].ends_with(" --no-tests=error (cmake)"), "{all:#?}");
    let all = ways(&["meson.build", "a.c"]);
    assert!(all[0].ends_with("(meson ninja) -> _build/meson-logs/testlog.junit.xml"), "{all:#?}");
    let all = ways(&["pom.xml"]);
    assert!(all[0].ends_with(" -> **/target/surefire-reports/TEST-*.xml"), "{all:#?}");
    let below = detect(project(&["pom.xml"]).path()).unwrap().below("services/api");
    let junit = below.stacks[0].ways[0].junit.as_deref();
    assert_eq!(junit, Some("services/api/**/target/surefire-reports/TEST-*.xml"));
    assert!(detect(project(&["Cargo.toml"]).path()).unwrap().stacks[0].breakable);
}

#[test]
fn a_package_manager_that_is_missing_can_be_fetched_by_npm() {
    let package = "package.json={\"scripts\":{\"test\":\"vitest run\",\"test:unit\":\"x\"},\
                   \"devDependencies\":{\"vitest\":\"1\"},\"packageManager\":\"pnpm@10.12.1+sha512.aa\"}";
    let all = ways(&[package, "pnpm-lock.yaml"]);
    assert_eq!(all[0], "pnpm install --frozen-lockfile ; pnpm test (pnpm)");
    assert_eq!(all[1], "pnpm install --frozen-lockfile ; pnpm run test:unit (pnpm)");
    assert_eq!(all[2], "pnpm install --frozen-lockfile ; pnpm exec vitest run (pnpm)");
    let fetched = "npx -y -p pnpm@10.12.1 -c 'pnpm install --frozen-lockfile' ; npx -y -p pnpm@10.12.1 -c 'pnpm test' (npx)";
    assert!(all.iter().any(|way| way == fetched), "{all:#?}");
    let lock = "pnpm-lock.yaml=lockfileVersion: '6.0'\n";
    let old = ways(&["package.json={\"scripts\":{\"test\":\"x\"},\"dependencies\":{\"a\":\"1\"}}", lock]);
    assert!(old.iter().any(|way| way.starts_with("npx -y -p pnpm@8 ")), "{old:#?}");
    let settings = "pnpm-workspace.yaml=allowBuilds:\n  esbuild: false\n";
    let lock = "pnpm-lock.yaml=lockfileVersion: '9.0'\n";
    let new = ways(&["package.json={\"scripts\":{\"test\":\"x\"}}", lock, settings]);
    assert!(new.iter().any(|way| way.starts_with("npx -y -p pnpm@10 ")), "{new:#?}");
    let plain = ways(&["package.json={\"scripts\":{\"test\":\"node --test\"}}"]);
    assert_eq!(plain, ["npm test (npm)"]);
}

#[test]
fn a_script_that_only_runs_the_tests_is_tried_after_one_that_does_more() {
    let package = r#"package.json={"scripts":{"pretest":"npm run lint","test":"npm run --silent tests-only","tests-only":"tape a.js","posttest":"npm audit","unit":"x"},"devDependencies":{"tape":"5"}}"#;
    let all = ways(&[package]);
    let install = "npm install --no-package-lock";
    assert_eq!(all[0], format!("{install} ; npm test (npm)"));
    assert_eq!(all[1], format!("{install} ; npm run tests-only (npm)"));
    assert_eq!(all[2], format!("{install} ; npm run unit (npm)"));
    assert_eq!(all[3], format!("{install} ; npx --no-install tape \"{{test,tests}}{{.js,/**/*.js}}\" (npm)"));
    for (test, script) in [("yarn mine", "mine"), ("pnpm run mine", "mine"), ("npm run mine && x", "test:ci")]
    {
        let package = format!(
            r#"package.json={{"scripts":{{"test":"{test}","mine":"x","test:ci":"y"}},"packageManager":"npm@10"}}"#
        );
        assert_eq!(ways(&[&package])[1], format!("npm run {script} (npm)"), "{test}");
    }
}

#[test]
fn what_installs_hooks_gets_a_repository() {
    let all = ways(&[
        r#"package.json={"scripts":{"prepare":"lefthook install","test":"x","unit":"y"},"devDependencies":{"lefthook":"2"}}"#,
    ]);
    let make = "mkdir -p .repository && echo '*' >.repository/.gitignore && git init -q .repository/hooks";
    let beside = "export GIT_DIR=\"$PWD/.repository/hooks/.git\" &&";
    let setup = format!("{make} ; {beside} npm install --no-package-lock");
    assert_eq!(all[0], format!("{setup} ; npm test (npm)"));
    assert_eq!(all[1], format!("{setup} ; {beside} npm test (npm)"));
    assert_eq!(all[2], format!("{setup} ; npm run unit (npm)"));
    for prepare in ["husky", "npm run build", "digit", ""] {
        let package = format!(r#"package.json={{"scripts":{{"prepare":"{prepare}","test":"x"}}}}"#);
        assert!(!ways(&[&package]).concat().contains("GIT_DIR"), "{prepare}");
    }
}

#[test]
fn a_lesser_install_is_for_where_the_exact_one_failed() {
    let package = "package.json={\"scripts\":{\"test\":\"x\"},\"dependencies\":{\"a\":\"1\"}}";
    let dir = project(&[package, "package-lock.json"]);
    let ways = detect(dir.path()).unwrap().stacks.remove(0).ways;
    let instead: Vec<String> = ways.iter().map(|way| way.instead_of.join(" ; ")).collect();
    assert_eq!(instead, ["", "npm ci", "npm ci --ignore-scripts", "npm ci --legacy-peer-deps"]);
    let dir = project(&[package]);
    let last = detect(dir.path()).unwrap().stacks.remove(0).ways.pop().unwrap();
    assert_eq!(last.setup, ["npm install --no-package-lock --legacy-peer-deps"]);
}

#[test]
fn a_makefile_is_tried_where_cmake_is_missing() {
    let all = ways(&["CMakeLists.txt", "Makefile=test:\n", "a.c"]);
    assert!(all[0].starts_with("cmake -S . -B build ") && all[1].ends_with("(cmake)"), "{all:#?}");
    assert_eq!(all[2], "make test (make)");
    assert_eq!(
        ways(&["configure", "Makefile.in=check:\n", "a.c"]),
        ["./configure && make && make check (make)"]
    );
    let lesser = ways(&["Makefile=test: check\ncheck:\n", "a.c"]);
    assert_eq!(lesser, ["make test (make)", "make check (make)"]);
    assert_eq!(ways(&["Makefile=sds-test: a.c\n", "a.c"]), ["make sds-test && ./sds-test (make)"]);
}

#[test]
fn an_option_for_tests_that_is_off_is_switched_on_in_a_further_way() {
    let settings = "CMakeLists.txt=option(UTF8_INSTALL \"Install\" On)\noption(UTF8_ENABLE_TESTING \"Enable testing of utf8\" Off)\n\
                    OPTION( UTF8_BUILD_TESTS \"Tests\" )\noption(UTF8_TESTS \"\" ON)\noption(DISABLE_TESTS \"\" OFF)\n";
    let all = ways(&[settings, "a.c"]);
    let on = "cmake -S . -B build -DBUILD_TESTING=ON -DUTF8_ENABLE_TESTING=ON -DUTF8_BUILD_TESTS=ON && ";
    assert!(!all[0].contains("UTF8") && !all[1].contains("UTF8"), "{all:#?}");
    assert!(!all.concat().contains("DISABLE_TESTS"), "{all:#?}");
    assert!(all[2].starts_with(on) && all[2].ends_with(" -> build/junit.xml"), "{all:#?}");
    assert!(all[3].starts_with(on) && all[3].ends_with(" --no-tests=error (cmake)"), "{all:#?}");
    let fetched = all.last().unwrap();
    assert!(fetched.contains("'cmake<4'") && fetched.contains(on), "{all:#?}");
}

#[test]
fn a_build_tool_that_is_missing_can_be_fetched_by_pip() {
    let all = ways(&["CMakeLists.txt", "a.c"]);
    let environment = "python3 -m venv .cmake && echo '*' >.cmake/.gitignore ; \
                       .cmake/bin/python -m pip install -q 'cmake<4' ; \
                       export PATH=\"$PWD/.cmake/bin:$PATH\" && cmake -S . -B build ";
    let fetched = all.last().unwrap();
    assert!(fetched.starts_with(environment), "{all:#?}");
    assert!(fetched.ends_with(" --output-junit junit.xml (python3) -> build/junit.xml"), "{all:#?}");
    let all = ways(&["meson.build", "a.c"]);
    let environment = ".meson/bin/python -m pip install -q meson ninja ; \
                       export PATH=\"$PWD/.meson/bin:$PATH\" && meson setup _build ";
    assert!(all.last().unwrap().contains(environment), "{all:#?}");
}

#[test]
fn bats_that_is_missing_can_be_fetched_by_npm() {
    let fetched = "npm install --no-save --no-package-lock --prefix .bats bats@1 ; \
                   echo '*' >.bats/node_modules/.gitignore ; \
                   PATH=\"$PWD/.bats/node_modules/bats/bin:$PATH\" bats test (npm)";
    assert_eq!(ways(&["test/a.bats"]), ["bats test (bats)", fetched]);
}

#[test]
fn a_test_script_is_run_by_the_shell_that_it_asks_for() {
    for (first, shell) in [
        ("#!/bin/sh", "sh"),
        ("#! /bin/sh -e", "sh"),
        ("#!/usr/bin/env bash", "bash"),
        ("#!/bin/bash -e", "bash"),
        ("set -e", "sh"),
    ] {
        assert_eq!(ways(&[&format!("run_tests.sh={first}\n")]), [format!("{shell} ./run_tests.sh ()")]);
    }
    assert_eq!(ways(&["test_runner=#! /bin/sh\n"]), ["sh ./test_runner ()"]);
}

#[test]
fn a_script_that_pages_or_workflows_name_is_tried_where_nothing_else_is_known() {
    let page = "test/README.md=```sh\n$ tools/unit.sh\ntools/unit.sh all\ntools/gen.sh\n```\n";
    let workflow = ".github/workflows/ci.yml=steps:\n - run: apt install ninja\n - run: bash test/ci-unix.sh\n - run: tools/scan.sh\n";
    let files =
        ["tools/unit.sh=#!/bin/sh\n", "test/ci-unix.sh", "tools/gen.sh", "tools/scan.sh", "src/a/x.c"];
    let all = [&files[..], &[page, workflow]].concat();
    assert_eq!(ways(&all), ["sh ./tools/unit.sh ()", "sh ./test/ci-unix.sh ()"]);
    assert!(
        proposed(&all)
            .contains(" | product **/*.{c,h,cc,cpp,cxx,hh,hpp,hxx,inl,ipp} src/** include/** **/*.md")
    );
    assert!(proposed(&all).contains(" | protect tools/unit.sh test/ci-unix.sh **/*.{t,bats} "));
    for usual in ["scripts/test.sh", "ci/check.sh", "script/test", "tools/tests.sh"] {
        assert_eq!(ways(&[usual]), [format!("sh ./{usual} ()")]);
    }
    assert!(ways(&["test.sh", "tools/unit.sh", page]).iter().eq(["sh ./test.sh ()"]));
    assert!(ways(&["Makefile=check:\n", "tools/unit.sh", page]).iter().eq(["make check (make)"]));
}

#[test]
fn a_test_script_that_is_executable_is_run_by_its_path() {
    let dir = project(&["tools/unit.sh=#!/usr/bin/env python3\n"]);
    let file = dir.path().join("tools/unit.sh");
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    let proposal = detect(dir.path()).unwrap();
    assert_eq!(proposal.stacks[0].ways, [TestWay::new("./tools/unit.sh")]);
}

#[test]
fn examples_are_not_offered_as_projects() {
    let dir =
        project(&["examples/go.mod", "demo-app/go.mod", "docs/package.json", "a/demos/go.mod", "api/go.mod"]);
    assert_eq!(projects_below(dir.path()).unwrap(), ["api"]);
}

#[test]
fn components_that_rustup_cannot_bring_are_done_without() {
    assert_eq!(
        ways(&["Cargo.toml", "rust-toolchain.toml"]),
        [
            "cargo fetch ; cargo test (cargo)",
            "RUSTUP_AUTO_INSTALL=0 cargo fetch ; RUSTUP_AUTO_INSTALL=0 cargo test (cargo)"
        ]
    );
}

#[test]
fn a_package_that_asks_for_a_later_node_does_not_stand_in_the_way() {
    let all =
        ways(&["package.json={\"scripts\":{\"test\":\"x\"},\"dependencies\":{\"a\":\"1\"}}", "yarn.lock"]);
    assert_eq!(all[0], "yarn install --frozen-lockfile ; yarn test (yarn)");
    assert_eq!(all[1], "yarn install --frozen-lockfile --ignore-engines ; yarn test (yarn)");
}

#[test]
fn a_script_that_people_are_told_to_test_with_is_tried_second() {
    let package = r#"package.json={"scripts":{"test":"jest","build":"x"},"dependencies":{"a":"1"}}"#;
    let page = "CONTRIBUTING.md=```sh\n./tools/test-all.sh\n./tools/check.sh\n```\n";
    let script = "scripts/test=#!/usr/bin/env bash\nTZ=Europe/Paris npm test\n";
    let all = ways(&[package, page, script, "tools/test-all.sh", "tools/check.sh"]);
    let install = "npm install --no-package-lock";
    assert_eq!(all[0], format!("{install} ; npm test (npm)"));
    assert_eq!(all[1], format!("{install} ; sh ./tools/test-all.sh (npm)"));
    assert_eq!(all[2], format!("{install} ; bash ./scripts/test (npm)"));
    assert!(!all.concat().contains("check.sh"), "{all:#?}");
    let active = "PATH=\"$PWD/.venv/bin:$PATH\"";
    let all = ways(&["uv.lock", "pyproject.toml=[project]\nname = \"x\"\n", script]);
    assert_eq!(all[2], format!("uv sync --frozen ; {active} bash ./scripts/test (uv)"));
}

#[test]
fn commands_of_workflows_are_tried_last() {
    let workflow = ".github/workflows/ci.yml=steps:\n - run: cargo test --all-features\n";
    let all = ways(&["Cargo.toml", workflow]);
    assert_eq!(all, ["cargo fetch ; cargo test (cargo)", "cargo fetch ; cargo test --all-features (cargo)"]);
}

#[test]
fn every_program_that_a_way_needs_has_an_install_command() {
    let package = "package.json={\"scripts\":{\"test\":\"x\"},\"dependencies\":{\"a\":\"1\"}}";
    for files in [
        &["Cargo.toml"][..],
        &[package, "pnpm-lock.yaml"],
        &[package, "yarn.lock"],
        &[package, "bun.lock"],
        &["pyproject.toml", "uv.lock", "poetry.lock"],
        &["go.mod"],
        &["pom.xml"],
        &["build.gradle"],
        &["CMakeLists.txt", "Makefile.in=check:\n", "configure.ac"],
        &["Gemfile"],
        &["mix.exs"],
        &["a.sln"],
        &["composer.json", "phpunit.xml"],
        &["Package.swift"],
        &["build.zig"],
        &["meson.build"],
        &["test/a.bats"],
    ] {
        let dir = project(files);
        let stacks = detect(dir.path()).unwrap().stacks;
        assert!(!stacks.is_empty(), "{files:?}");
        for program in stacks.iter().flat_map(|stack| &stack.ways).flat_map(|way| &way.needs) {
            assert!(install_command(program).is_some(), "{program}");
        }
    }
}

#[test]
fn what_is_not_a_test_is_not_proposed() {
    let placeholder = r#"package.json={"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#;
    for files in
        [&[][..], &[placeholder], &["package.json=not json"], &["Makefile=test := 3\nall:\n"], &["README.md"]]
    {
        assert_eq!(proposed(files), " | protect ", "{files:?}");
    }
}
