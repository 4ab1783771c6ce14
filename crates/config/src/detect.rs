//! What a project is built and tested with, from its files: ways to set it up and test it, the likeliest first,
//! and what no agent may touch.

mod fetched;
mod git_version;
mod makefile;
mod native;
mod node;
mod program;
mod project_files;
mod python;
mod stacks;
mod test_names;
mod workflow;

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use windlass_core::plain::shell_word;

use project_files::ProjectFiles;

pub use program::install_command;

/// What `init` proposes; the person edits it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposal {
    pub stacks: Vec<StackProposal>,
    pub protect: Vec<String>,
    pub product: Vec<String>,
}

/// What was recognised, and how it may be tested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackProposal {
    pub name: &'static str,
    /// The name of its check.
    pub check: String,
    /// The likeliest first; never empty.
    pub ways: Vec<TestWay>,
    /// Its tests can be broken on purpose, to see that the check turns red.
    pub breakable: bool,
}

/// Commands by which a project may be tested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestWay {
    /// Brings what the tests need, in order.
    pub setup: Vec<String>,
    pub run: String,
    /// Programs without which it cannot work.
    pub needs: Vec<&'static str>,
    /// The files in which it reports its tests; none where it does not.
    pub junit: Option<String>,
    /// A set-up for which its own stands in: it is tried only where that one failed. Empty where it is for itself.
    pub instead_of: Vec<String>,
    /// A program that it brings itself, for a machine that lacks it or has one that does not fit.
    pub fetches: Option<&'static str>,
}

impl TestWay {
    fn new(run: impl Into<String>) -> Self {
        Self { run: run.into(), ..Self::default() }
    }

    fn setup(mut self, command: impl Into<String>) -> Self {
        self.setup.push(command.into());
        self
    }

    fn needs(mut self, program: &'static str) -> Self {
        self.needs.push(program);
        self
    }

    /// This way with its report of tests, then without: a runner may be too old for it, or have no test yet.
    fn with_and_without_junit(self, files: &str) -> [Self; 2] {
        [Self { junit: Some(files.to_owned()), ..self.clone() }, self]
    }
}

/// What goes into windlass.toml.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChosenChecks {
    pub checks: Vec<ChosenCheck>,
    pub setup: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChosenCheck {
    pub name: String,
    pub run: String,
    pub junit: Option<String>,
    /// The control breaks its tests.
    pub breakable: bool,
    /// How many minutes it may take, where the usual limit is too near.
    pub minutes: Option<u64>,
}

impl Proposal {
    /// The likeliest way of each stack.
    pub fn likeliest(&self) -> ChosenChecks {
        ChosenChecks::of(self.stacks.iter().filter_map(|stack| Some((stack, stack.ways.first()?))))
    }

    /// The same for a project in a directory of its repository: commands are run there, and globs begin there.
    pub fn below(mut self, dir: &str) -> Self {
        let there = shell_word(dir);
        for way in self.stacks.iter_mut().flat_map(|stack| &mut stack.ways) {
            let is_simple = !way.run.contains([';', '|', '\n']);
            way.run = match is_simple {
                true => format!("cd {there} && {}", way.run),
                false => format!("cd {there} && ({})", way.run),
            };
            way.setup
                .iter_mut()
                .chain(&mut way.instead_of)
                .for_each(|step| *step = format!("(cd {there} && {step})"));
        }
        let dir = globset::escape(dir);
        let reports = self.stacks.iter_mut().flat_map(|stack| &mut stack.ways);
        for junit in reports.filter_map(|way| way.junit.as_mut()) {
            *junit = format!("{dir}/{junit}");
        }
        for glob in self.protect.iter_mut().chain(&mut self.product) {
            *glob = format!("{dir}/{glob}");
        }
        self
    }
}

impl ChosenChecks {
    pub fn of<'p>(chosen: impl IntoIterator<Item = (&'p StackProposal, &'p TestWay)>) -> Self {
        let mut all = Self::default();
        for (stack, way) in chosen {
            all.checks.push(ChosenCheck {
                name: stack.check.clone(),
                run: way.run.clone(),
                junit: way.junit.clone(),
                breakable: stack.breakable,
                minutes: None,
            });
            all.setup.extend(
                way.setup.iter().filter(|step| !all.setup.contains(step)).cloned().collect::<Vec<_>>(),
            );
        }
        all
    }
}

/// Looks at a project: at names of files, and at what manifests, makefiles and CI workflows say.
pub fn detect(root: &Path) -> io::Result<Proposal> {
    let project = ProjectFiles::list(root)?;
    let mut found: Vec<Stack> = LANGUAGES.iter().filter_map(|language| language(&project)).collect();
    let is_of_scripts = found.is_empty();
    if is_of_scripts {
        found.extend(RUNNERS.iter().find_map(|runner| runner(&project)));
    }
    let mut proposal = Proposal::default();
    let several = found.len() > 1;
    for mut stack in found {
        let check = if several { format!("{}-test", stack.word) } else { "test".to_owned() };
        // A stack of scripts has them all.
        if !is_of_scripts {
            workflow::add_scripts(&project, &mut stack);
        }
        workflow::add_ways(&project, &mut stack);
        proposal.stacks.push(StackProposal {
            breakable: BREAKABLE.contains(&stack.word),
            name: stack.name,
            check,
            ways: stack.ways,
        });
        proposal.protect.extend(stack.protect);
        proposal.product.extend(stack.product.iter().map(|glob| (*glob).to_owned()));
    }
    if !proposal.product.is_empty() {
        proposal.product.push("**/*.md".to_owned());
    }
    for globs in [&mut proposal.protect, &mut proposal.product] {
        let mut seen = BTreeSet::new();
        globs.retain(|glob| seen.insert(glob.clone()));
    }
    protect_what_is_there(&project, &mut proposal.protect);
    Ok(proposal)
}

/// Tests that the project has and no glob covers.
fn protect_what_is_there(project: &ProjectFiles<'_>, protect: &mut Vec<String>) {
    let mut covered = glob_set(protect);
    let directories = project.directories().map(|path| (path, test_names::directory_glob(path)));
    let files = project.files().map(|path| (path, test_names::file_glob(path)));
    // Those that are outside of others come first.
    for (path, glob) in directories.chain(files) {
        let Some(glob) = glob.filter(|_| !covered.is_match(path)) else { continue };
        protect.push(glob);
        covered = glob_set(protect);
    }
}

/// As the gate reads them: a glob covers what it names and all below.
fn glob_set(globs: &[String]) -> GlobSet {
    let mut builder = GlobSetBuilder::new();
    for glob in globs {
        let name = glob.trim_end_matches("/**");
        for pattern in [name.to_owned(), format!("{name}/**")] {
            let glob = GlobBuilder::new(&pattern).literal_separator(true).build();
            builder.add(glob.expect("the globs of a proposal are tested"));
        }
    }
    builder.build().expect("the globs of a proposal are tested")
}

/// Files by which a directory is a project of its own.
const MANIFESTS: &[&str] = &[
    "package.json",
    "pyproject.toml",
    "setup.py",
    "Cargo.toml",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "CMakeLists.txt",
    "meson.build",
    "Gemfile",
    "mix.exs",
    "composer.json",
    "Makefile",
];

/// Of a directory and those above it, the first that is a project of its own, as a path from the root.
pub fn project_around(root: &Path, directory: &Path) -> Option<String> {
    let inside = directory.ancestors().take_while(|dir| *dir != root);
    let mut projects = inside.filter(|dir| MANIFESTS.iter().any(|name| dir.join(name).is_file()));
    projects.next()?.strip_prefix(root).ok()?.to_str().map(str::to_owned)
}

/// Directories of a repository that are projects of their own, at most two levels down. What only shows how the
/// project is used is not what anybody means.
pub fn projects_below(root: &Path) -> io::Result<Vec<String>> {
    const MOST: usize = 8;
    let files = ProjectFiles::list(root)?;
    let near = files.directories().filter(|dir| dir.matches('/').count() < 2);
    let is_project = |dir: &&str| MANIFESTS.iter().any(|name| files.has(&format!("{dir}/{name}")));
    let is_shown = |part: &str| part == "docs" || part.starts_with("example") || part.starts_with("demo");
    let near = near.filter(|dir| !dir.split('/').any(is_shown));
    Ok(near.filter(is_project).take(MOST).map(str::to_owned).collect())
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

struct Stack {
    name: &'static str,
    /// Begins the name of its check where there are several.
    word: &'static str,
    ways: Vec<TestWay>,
    protect: Vec<String>,
    /// Its sources. Empty where they cannot be told from what builds and tests.
    product: &'static [&'static str],
}

impl Stack {
    fn new(name: &'static str, word: &'static str, ways: Vec<TestWay>) -> Self {
        Self { name, word, ways, protect: Vec::new(), product: &[] }
    }

    fn protect(mut self, globs: &[&str]) -> Self {
        self.protect.extend(globs.iter().map(|glob| (*glob).to_owned()));
        self
    }

    fn product(self, product: &'static [&'static str]) -> Self {
        Self { product, ..self }
    }
}

type Recognise = fn(&ProjectFiles<'_>) -> Option<Stack>;

const LANGUAGES: &[Recognise] = &[
    stacks::rust,
    node::node,
    python::python,
    stacks::go,
    stacks::maven,
    stacks::gradle,
    native::cmake,
    stacks::ruby,
    stacks::elixir,
    stacks::dotnet,
    stacks::php,
    stacks::swift,
    stacks::zig,
];
/// The stacks whose tests windlass can read well enough to break them.
const BREAKABLE: [&str; 4] = ["rust", "node", "python", "go"];

/// A makefile builds what a script beside it may only run.
const RUNNERS: &[Recognise] = &[native::make, stacks::test_script];

#[cfg(test)]
mod tests;
