//! What a path is to the gate. Product is the agent's. What is protected holds the tests, and what steers
//! agents or windlass. Everything else is a term of the trial: what decides how the tests are run.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};
use windlass_core::policy::Policy;

use crate::base_terms::BaseTerms;
use crate::exempt::ancestors;
use crate::make_terms::MakeTerms;
use crate::named::{self, Name};
use crate::never_product;
use crate::package_scripts::package_scripts;
use crate::run_files::BaseReader;

/// Protected at any time, also when new: what steers agents and windlass, and what makes a checkout another
/// than the tree that was judged. As globs like those of `gate.protect`.
const GUARDED: &[&str] = &[
    "windlass.toml",
    "**/.gitattributes",
    ".gitmodules",
    "**/AGENTS.md",
    "**/CLAUDE.md",
    "**/GEMINI.md",
    "**/QWEN.md",
    "**/.mcp.json",
    "**/.claude",
    "**/.codex",
    "**/.gemini",
    "**/.qwen",
    "**/.opencode",
    "**/opencode.json",
    "**/opencode.jsonc",
];

/// Where windlass writes into a project.
const TRAIL: &str = ".windlass";

/// What a path is, by the first rule that covers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// The task's own `allow` names it: to this task it is product.
    Allowed,
    /// Protected: no task may change it or add it.
    Guarded(GuardedBy),
    /// Protected by this glob of `gate.protect`: it may be added, and lines may be added to it.
    Test { glob: String },
    /// It may be changed, and is not believed before somebody looked at it.
    Term(TermBy),
    /// The agent may change it freely. None: the policy names no product.
    Product { glob: Option<String> },
}

/// On which side of the trial a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathRole {
    Judged,
    Protected,
    Term,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuardedBy {
    /// A name that steers agents, windlass or git.
    Name { glob: String },
    /// A check runs it.
    Check,
    /// A file of this name switches off a target of make that a check needs.
    Target,
    /// A recipe of the base's makefiles runs it, or a script of its `package.json`.
    Recipe,
    /// The policy names it.
    Policy,
    /// No agent sees it. None: it is of the directory outside.
    Hidden { glob: Option<String> },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TermBy {
    /// A name that is never product.
    Name { rule: &'static str },
    /// The set-up runs it.
    SetUp,
    /// The base's makefiles include it.
    Included,
    /// A recipe of the base's makefiles makes it.
    Made,
    /// The base's own check makes it.
    Output,
    /// It would stand in for a module that the base's checks find elsewhere.
    Shadows,
    /// No glob of `gate.product` names it.
    NotProduct,
}

impl PathKind {
    pub fn is_product(&self) -> bool {
        match self {
            Self::Allowed | Self::Product { .. } => true,
            Self::Guarded(_) | Self::Test { .. } | Self::Term(_) => false,
        }
    }

    pub fn is_protected(&self) -> bool {
        match self {
            Self::Guarded(_) | Self::Test { .. } => true,
            Self::Allowed | Self::Product { .. } | Self::Term(_) => false,
        }
    }
}

impl PathKind {
    /// What it is, and why, for people.
    pub fn words(&self) -> (&'static str, String) {
        match self {
            Self::Allowed => ("product", "the task's file allows it".to_owned()),
            Self::Product { glob: Some(glob) } => ("product", format!("gate.product has {glob:?}")),
            Self::Product { glob: None } => {
                ("product", "gate.product is not set, and its name configures or builds nothing".to_owned())
            }
            Self::Test { glob } => ("protected", format!("gate.protect has {glob:?}; it may be added to")),
            Self::Guarded(GuardedBy::Name { glob }) => {
                ("protected", format!("{glob} steers agents, windlass or git, also when new"))
            }
            Self::Guarded(GuardedBy::Check) => ("protected", "a check runs it".to_owned()),
            Self::Guarded(GuardedBy::Target) => (
                "protected",
                "a check has make run the target of this name, which it would switch off".to_owned(),
            ),
            Self::Guarded(GuardedBy::Recipe) => (
                "protected",
                "the makefile or package.json has it run by a check; gate.product may name it".to_owned(),
            ),
            Self::Guarded(GuardedBy::Policy) => ("protected", "the policy names it".to_owned()),
            Self::Guarded(GuardedBy::Hidden { glob: Some(glob) }) => {
                ("hidden", format!("gate.hidden has {glob:?}; no agent sees it or may add it"))
            }
            Self::Guarded(GuardedBy::Hidden { glob: None }) => {
                ("hidden", "gate.hidden_dir has it; no agent sees it or may add it".to_owned())
            }
            Self::Term(TermBy::Name { rule }) => ("term", (*rule).to_owned()),
            Self::Term(TermBy::SetUp) => ("term", "workspace.setup runs it".to_owned()),
            Self::Term(TermBy::Included) => ("term", "a makefile includes it".to_owned()),
            Self::Term(TermBy::Made) => ("term", "a recipe of the makefile makes it".to_owned()),
            Self::Term(TermBy::Output) => ("term", "the base's own check makes it".to_owned()),
            Self::Term(TermBy::Shadows) => {
                ("term", "the base's check finds a module of this name outside of the tree".to_owned())
            }
            Self::Term(TermBy::NotProduct) => ("term", "no glob of gate.product names it".to_owned()),
        }
    }
}

/// Globs are relative to the root, as written: `test.sh` is the one at the root, `**/test.sh` any. `*` does
/// not cross a slash. A glob covers what it names and everything below it, so `tests`, `tests/` and
/// `tests/**` are the same.
#[derive(Clone, Debug)]
pub struct PathRules {
    guarded: Arc<Globs>,
    protected: Arc<Globs>,
    allowed: Arc<Globs>,
    product: Option<Arc<Globs>>,
    /// Files that checks name and the base has.
    named: BTreeSet<Vec<u8>>,
    /// Files that the set-up names and the base has.
    set_up: BTreeSet<Vec<u8>>,
    make: Arc<MakeTerms>,
    /// Files of the base that checks run through `package.json`.
    package: BTreeSet<Vec<u8>>,
    /// What makefiles include.
    included: Arc<Globs>,
    /// Paths that `gate.product` names, without a pattern.
    named_product: Arc<BTreeSet<Vec<u8>>>,
    /// Files that the policy names.
    by_policy: Arc<Globs>,
    hidden: Arc<Globs>,
    /// Files of a directory outside.
    hidden_files: Arc<BTreeSet<Vec<u8>>>,
    shown_by_base: Arc<BaseTerms>,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{place} has a bad pattern {glob:?}: {why}")]
pub struct BadGlob {
    pub place: &'static str,
    pub glob: String,
    pub why: String,
}

impl PathRules {
    /// `allow` is the task's own: what the operator lets it change all the same. Of the files that checks name, only
    /// those that the base has can be protected, and its makefiles say what they run.
    pub fn new(policy: &Policy, allow: &[String], base: &BaseReader<'_>) -> Result<Self, BadGlob> {
        let gate = &policy.gate;
        let product = (!gate.product.is_empty()).then(|| Globs::new("gate.product", &gate.product));
        let named: Vec<String> = policy.named_files().iter().map(|file| literal(file)).collect();
        let in_base = |file: &str| base(file).is_some();
        let make = make_terms(policy, base);
        Ok(Self {
            guarded: Arc::new(Globs::new("the built-in names", GUARDED)?),
            protected: Arc::new(Globs::new("gate.protect", &gate.protect)?),
            allowed: Arc::new(Globs::new("allow", allow)?),
            product: product.transpose()?.map(Arc::new),
            named: named_by_checks(policy, &in_base),
            set_up: named_by_set_up(policy, &in_base),
            included: Arc::new(included(&make)),
            make: Arc::new(make),
            package: run_by_package(policy, base),
            named_product: Arc::new(gate.product.iter().map(|path| plain_path(path).to_owned()).collect()),
            by_policy: Arc::new(Globs::new("the policy's files", &named)?),
            hidden: Arc::new(Globs::new("gate.hidden", &gate.hidden.globs)?),
            hidden_files: Arc::default(),
            shown_by_base: Arc::default(),
        })
    }

    /// The same where these files of a directory outside are hidden.
    pub fn with_hidden(self, files: BTreeSet<Vec<u8>>) -> Self {
        Self { hidden_files: Arc::new(files), ..self }
    }

    /// With what the base itself showed to be no product.
    pub fn with_base_terms(self, shown: BaseTerms) -> Self {
        Self { shown_by_base: Arc::new(shown), ..self }
    }

    /// The same on another base, without compiling the patterns anew.
    pub fn rebased(&self, policy: &Policy, base: &BaseReader<'_>) -> Self {
        let in_base = |file: &str| base(file).is_some();
        let (named, set_up) = (named_by_checks(policy, &in_base), named_by_set_up(policy, &in_base));
        let make = make_terms(policy, base);
        let included = match make == *self.make {
            true => Arc::clone(&self.included),
            false => Arc::new(included(&make)),
        };
        let package = run_by_package(policy, base);
        Self { named, set_up, included, make: Arc::new(make), package, ..self.clone() }
    }

    /// `path` is relative to the root, as git has it.
    pub fn kind(&self, path: &[u8]) -> PathKind {
        let candidate = Candidate::new(as_path(path));
        // Whoever allows a task to change all tests does not mean those that it cannot see.
        if let Some(glob) = self.hidden.find(&candidate) {
            return PathKind::Guarded(GuardedBy::Hidden { glob: Some(glob.to_owned()) });
        }
        if self.is_in_the_place_of_hidden(path) {
            return PathKind::Guarded(GuardedBy::Hidden { glob: None });
        }
        // No task has business there, however generous its `allow` is.
        if path.split(|byte| *byte == b'/').next() == Some(TRAIL.as_bytes()) {
            return PathKind::Guarded(GuardedBy::Name { glob: TRAIL.to_owned() });
        }
        if self.allowed.find(&candidate).is_some() {
            return PathKind::Allowed;
        }
        self.kind_unless_allowed(path, &candidate)
    }

    fn kind_unless_allowed(&self, path: &[u8], candidate: &Candidate<'_>) -> PathKind {
        if let Some(glob) = self.guarded.find(candidate) {
            return PathKind::Guarded(GuardedBy::Name { glob: glob.to_owned() });
        }
        if self.named.contains(path) {
            return PathKind::Guarded(GuardedBy::Check);
        }
        if self.make.is_target(path) {
            return PathKind::Guarded(GuardedBy::Target);
        }
        if self.by_policy.find(candidate).is_some() {
            return PathKind::Guarded(GuardedBy::Policy);
        }
        if let Some(glob) = self.protected.find(candidate) {
            return PathKind::Test { glob: glob.to_owned() };
        }
        let is_script = self.make.is_script(path) || self.package.contains(path);
        if is_script && !self.named_product.contains(path) {
            return PathKind::Guarded(GuardedBy::Recipe);
        }
        if let Some(by) = self.term(path, candidate) {
            return PathKind::Term(by);
        }
        match &self.product {
            None => PathKind::Product { glob: None },
            Some(product) => match product.find(candidate) {
                Some(glob) => PathKind::Product { glob: Some(glob.to_owned()) },
                None => PathKind::Term(TermBy::NotProduct),
            },
        }
    }

    /// Why a path is a term whatever `gate.product` says.
    fn term(&self, path: &[u8], candidate: &Candidate<'_>) -> Option<TermBy> {
        if self.set_up.contains(path) {
            return Some(TermBy::SetUp);
        }
        if let Some(rule) = never_product::rule(path) {
            return Some(TermBy::Name { rule: rule.words() });
        }
        if self.included.find(candidate).is_some() {
            return Some(TermBy::Included);
        }
        if self.make.is_made(path) {
            return Some(TermBy::Made);
        }
        if self.shown_by_base.is_output(path) {
            return Some(TermBy::Output);
        }
        self.shown_by_base.shadows(path).then_some(TermBy::Shadows)
    }

    /// Whether it is a hidden file, lies below one, or stands where one needs a directory.
    fn is_in_the_place_of_hidden(&self, path: &[u8]) -> bool {
        if self.hidden_files.is_empty() {
            return false;
        }
        let mut above = vec![path];
        above.extend(path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at]));
        let below = [path, b"/"].concat();
        above.into_iter().any(|path| self.hidden_files.contains(path))
            || self.hidden_files.range(below.clone()..).next().is_some_and(|file| file.starts_with(&below))
    }

    /// Whether the path decides how the work is judged, and whether it is protected.
    pub fn role(&self, path: &[u8]) -> PathRole {
        match self.kind(path) {
            PathKind::Allowed | PathKind::Product { .. } => PathRole::Judged,
            PathKind::Guarded(_) | PathKind::Test { .. } => PathRole::Protected,
            PathKind::Term(_) => PathRole::Term,
        }
    }

    pub fn is_protected(&self, path: &[u8]) -> bool {
        self.kind(path).is_protected()
    }

    /// Whether the task may change or make something in this directory, by a glob that begins with a name.
    pub fn allows_below(&self, dir: &[u8]) -> bool {
        let is_plain = |part: &&str| !part.contains(['*', '?', '[', '{', '\\']);
        self.allowed.written.iter().any(|glob| {
            let parts = glob.trim_start_matches("./").split('/').filter(|part| !part.is_empty());
            let plain = parts.take_while(is_plain).collect::<Vec<_>>().join("/");
            !plain.is_empty() && ancestors(plain.as_bytes()).any(|above| above == dir)
        })
    }

    /// Whether it is a test, or what runs one, also where the task may change it.
    pub fn is_test(&self, path: &[u8]) -> bool {
        let kind = match self.kind(path) {
            PathKind::Allowed => self.kind_unless_allowed(path, &Candidate::new(as_path(path))),
            kind @ (PathKind::Guarded(_)
            | PathKind::Test { .. }
            | PathKind::Term(_)
            | PathKind::Product { .. }) => kind,
        };
        match kind {
            PathKind::Test { .. } | PathKind::Guarded(GuardedBy::Check | GuardedBy::Recipe) => true,
            PathKind::Guarded(
                GuardedBy::Name { .. } | GuardedBy::Target | GuardedBy::Policy | GuardedBy::Hidden { .. },
            )
            | PathKind::Allowed
            | PathKind::Term(_)
            | PathKind::Product { .. } => false,
        }
    }

    /// Whether the task may change the path whatever the gate says of it.
    pub fn is_allowed(&self, path: &[u8]) -> bool {
        self.kind(path) == PathKind::Allowed
    }
}

/// Whether nothing but whole lines was added: every line of `before` is in `after`, in the same order.
pub fn only_adds_lines(before: &[u8], after: &[u8]) -> bool {
    let mut added_to = after.split_inclusive(|byte| *byte == b'\n');
    before.split_inclusive(|byte| *byte == b'\n').all(|line| {
        // The last line may have got its line end.
        let bare = line.strip_suffix(b"\n").unwrap_or(line);
        added_to.any(|other| other.strip_suffix(b"\n").unwrap_or(other) == bare)
    })
}

/// A path of a tree, as the file system has it.
pub fn as_path(path: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(path))
}

/// The pattern that matches this path alone.
pub fn literal(path: &str) -> String {
    globset::escape(path)
}

/// Patterns, and as they were written.
#[derive(Clone, Debug)]
pub struct Globs {
    set: GlobSet,
    written: Vec<String>,
}

impl Globs {
    pub fn new(place: &'static str, globs: &[impl AsRef<str>]) -> Result<Self, BadGlob> {
        let mut builder = GlobSetBuilder::new();
        for glob in globs.iter().map(AsRef::as_ref) {
            let bad = |why: String| BadGlob { place, glob: glob.to_owned(), why };
            let name = glob.strip_prefix("./").or_else(|| glob.strip_prefix('/')).unwrap_or(glob);
            let name = name.strip_suffix("/**").unwrap_or(name).trim_end_matches('/');
            if name.is_empty() {
                return Err(bad("it names nothing".to_owned()));
            }
            for pattern in [name.to_owned(), format!("{name}/**")] {
                let built = GlobBuilder::new(&pattern).literal_separator(true).build();
                builder.add(built.map_err(|error| bad(error.kind().to_string()))?);
            }
        }
        let set = builder.build().map_err(|error| BadGlob {
            place,
            glob: error.glob().unwrap_or_default().to_owned(),
            why: error.kind().to_string(),
        })?;
        Ok(Self { set, written: globs.iter().map(|glob| glob.as_ref().to_owned()).collect() })
    }

    pub fn covers(&self, path: &[u8]) -> bool {
        self.find(&Candidate::from_bytes(path)).is_some()
    }

    /// The first pattern that covers the path. Each was built into two.
    pub fn find(&self, path: &Candidate<'_>) -> Option<&str> {
        let first = *self.set.matches_candidate(path).first()?;
        self.written.get(first / 2).map(String::as_str)
    }
}

fn named_by_checks(policy: &Policy, in_base: &dyn Fn(&str) -> bool) -> BTreeSet<Vec<u8>> {
    in_places(named::judging_commands(policy).flat_map(named::names), in_base)
}

fn named_by_set_up(policy: &Policy, in_base: &dyn Fn(&str) -> bool) -> BTreeSet<Vec<u8>> {
    in_places(policy.workspace.setup.iter().flat_map(|command| named::names(command)), in_base)
}

fn make_terms(policy: &Policy, base: &BaseReader<'_>) -> MakeTerms {
    MakeTerms::of(named::judging_commands(policy), base)
}

fn run_by_package(policy: &Policy, base: &BaseReader<'_>) -> BTreeSet<Vec<u8>> {
    package_scripts(named::judging_commands(policy), base)
}

fn included(make: &MakeTerms) -> Globs {
    let globs: Vec<&str> = make.includes().collect();
    Globs::new("what makefiles include", &globs).expect("they were built before")
}

fn plain_path(path: &str) -> &[u8] {
    path.strip_prefix("./").unwrap_or(path).as_bytes()
}

fn in_places(names: impl Iterator<Item = Name>, in_base: &dyn Fn(&str) -> bool) -> BTreeSet<Vec<u8>> {
    names.flat_map(|name| in_place(name, in_base)).map(String::into_bytes).collect()
}

/// Where a program takes the first of several files that it finds, a new one would go before the old: with
/// one of them in the base, all are protected.
fn in_place(name: Name, in_base: &dyn Fn(&str) -> bool) -> Vec<String> {
    match name {
        Name::File(file) => Some(file).filter(|file| in_base(file)).into_iter().collect(),
        Name::OneOf(files) if files.iter().any(|file| in_base(file)) => files,
        Name::OneOf(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::policy::{BriefPart, CheckPolicy, CheckWhen};
    use windlass_core::time::Millis;

    use super::*;

    fn policy(protect: &[&str], product: &[&str], runs: &[&str]) -> Policy {
        let check = |run: &&str| CheckPolicy {
            name: "c".to_owned(),
            run: (*run).to_owned(),
            when: CheckWhen::Both,
            timeout: Millis::seconds(1),
            ..CheckPolicy::default()
        };
        let owned = |globs: &[&str]| globs.iter().map(|glob| (*glob).to_owned()).collect();
        let mut policy = Policy::default();
        policy.gate.protect = owned(protect);
        policy.gate.product = owned(product);
        policy.gate.checks = runs.iter().map(check).collect();
        policy.plan.source = "tasks/".to_owned();
        policy
    }

    fn rules(protect: &[&str], runs: &[&str], allow: &[&str]) -> PathRules {
        of(&policy(protect, &[], runs), allow)
    }

    fn of(policy: &Policy, allow: &[&str]) -> PathRules {
        let allow: Vec<String> = allow.iter().map(|glob| (*glob).to_owned()).collect();
        let base = |file: &str| ["test.sh", "Makefile", "ci/a.py"].contains(&file).then(Vec::new);
        PathRules::new(policy, &allow, &base).unwrap()
    }

    fn covered<'a>(rules: &PathRules, paths: &[&'a str]) -> Vec<&'a str> {
        paths.iter().copied().filter(|path| rules.is_protected(path.as_bytes())).collect()
    }

    #[test]
    fn a_glob_covers_what_it_names_and_all_below() {
        for glob in ["tests", "tests/", "tests/**", "./tests", "/tests/**"] {
            let found =
                covered(&rules(&[glob], &[], &[]), &["tests", "tests/a", "tests/b/c", "a/tests", "tests2"]);
            assert_eq!(found, ["tests", "tests/a", "tests/b/c"], "{glob}");
        }
        let found = covered(
            &rules(&["*.sh", "**/x.y", "a/*/b"], &[], &[]),
            &["t.sh", "d/t.sh", "x.y", "d/x.y", "a/1/b", "a/1/2/b"],
        );
        assert_eq!(found, ["t.sh", "x.y", "d/x.y", "a/1/b"]);
    }

    #[test]
    fn what_the_set_up_runs_is_a_term_if_the_base_has_it() {
        let mut policy = policy(&[], &["**/*.py"], &[]);
        policy.workspace.setup = vec!["python3 ci/a.py && sh gone.sh".to_owned()];
        let kind = |path: &str| of(&policy, &[]).kind(path.as_bytes());
        assert_eq!(kind("ci/a.py"), PathKind::Term(TermBy::SetUp));
        assert!(kind("ci/b.py").is_product());
    }

    #[test]
    fn what_steers_is_always_protected_also_when_new() {
        let always = [
            "windlass.toml",
            ".windlass/loops/x",
            ".gitattributes",
            "sub/.gitattributes",
            ".gitmodules",
            "AGENTS.md",
            "sub/CLAUDE.md",
            ".mcp.json",
            ".claude",
            ".claude/settings.json",
            "a/.claude/hooks/x",
            ".codex/config.toml",
            "opencode.json",
            "tasks/009-more.md",
        ];
        let rules = rules(&[], &[], &[]);
        assert_eq!(covered(&rules, &always), always);
        let free = ["src/main.rs", "sub/windlass.toml", "README.md", "conftest.py", "test.sh"];
        assert_eq!(covered(&rules, &free), [""; 0]);
    }

    #[test]
    fn files_that_checks_name_are_protected_if_the_base_has_them() {
        let rules = rules(&[], &["sh ./test.sh && python3 ci/a.py new.py", "make test"], &[]);
        let found =
            covered(&rules, &["test.sh", "sub/test.sh", "ci/a.py", "new.py", "Makefile", "GNUmakefile"]);
        assert_eq!(found, ["test.sh", "ci/a.py", "Makefile", "GNUmakefile"]);
    }

    #[test]
    fn a_test_is_one_also_where_the_task_may_change_it() {
        let paths = ["tests/a.sh", "test.sh", "src/a.sh", "AGENTS.md", ".windlass/x"];
        for allow in [&[][..], &["**"]] {
            let rules = rules(&["tests/**"], &["sh ./test.sh"], allow);
            let found: Vec<&str> = paths.into_iter().filter(|path| rules.is_test(path.as_bytes())).collect();
            assert_eq!(found, ["tests/a.sh", "test.sh"], "{allow:?}");
        }
    }

    #[test]
    fn what_makefiles_run_and_read_is_not_the_agents() {
        let makefile =
            "test: app\n\tsh src/check.sh\n\tsh src/tool.sh\napp: src/a.c\n\tcc -o $@ $<\n-include src/*.d\n";
        let base = |file: &str| match file {
            "Makefile" => Some(makefile.into()),
            "src/check.sh" | "src/tool.sh" | "src/a.c" => Some(Vec::new()),
            _ => None,
        };
        let policy =
            policy(&["tests/**"], &["src/**", "**/*.c", "src/tool.sh", "app", "test"], &["make test"]);
        let rules = PathRules::new(&policy, &[], &base).unwrap();
        let of_nothing = PathRules::new(&policy, &[], &|_| None).unwrap();
        for rules in [&rules, &of_nothing.rebased(&policy, &base)] {
            assert_eq!(rules.kind(b"test"), PathKind::Guarded(GuardedBy::Target));
            assert_eq!(rules.kind(b"src/check.sh"), PathKind::Guarded(GuardedBy::Recipe));
            assert_eq!(rules.kind(b"src/new.d"), PathKind::Term(TermBy::Included));
            assert_eq!(rules.kind(b"app"), PathKind::Term(TermBy::Made));
            assert!(rules.kind(b"src/tool.sh").is_product(), "gate.product names it");
            assert!(rules.kind(b"src/a.c").is_product() && rules.kind(b"src/new.sh").is_product());
        }
        assert!(of_nothing.kind(b"src/check.sh").is_product() && of_nothing.kind(b"test").is_product());
        let allowed = PathRules::new(&policy, &["src/check.sh".to_owned()], &base).unwrap();
        assert!(allowed.is_allowed(b"src/check.sh"));
    }

    #[test]
    fn what_package_json_has_a_check_run_is_not_the_agents() {
        let base = |file: &str| match file {
            "package.json" => {
                Some(br#"{ "scripts": { "test": "node run-tests.js && node lib/self.js" } }"#.into())
            }
            "run-tests.js" | "lib/self.js" => Some(Vec::new()),
            _ => None,
        };
        let policy = policy(&["test/**"], &["**/*.js", "lib/self.js"], &["npm test"]);
        let of_nothing = PathRules::new(&policy, &[], &|_| None).unwrap();
        for rules in [&PathRules::new(&policy, &[], &base).unwrap(), &of_nothing.rebased(&policy, &base)] {
            assert_eq!(rules.kind(b"run-tests.js"), PathKind::Guarded(GuardedBy::Recipe));
            assert!(rules.kind(b"lib/self.js").is_product(), "gate.product names it");
            assert!(rules.kind(b"lib/other.js").is_product());
        }
        assert!(of_nothing.kind(b"run-tests.js").is_product());
    }

    #[test]
    fn files_that_the_policy_names_are_protected() {
        let mut policy = policy(&[], &[], &[]);
        policy.brief.part_mut(BriefPart::Rules).file = "docs/rules.md".to_owned();
        policy.agent.script = "agent.txt".to_owned();
        policy.plan.source = "Make it fast".to_owned();
        let rules = of(&policy, &[]);
        let found = covered(&rules, &["docs/rules.md", "agent.txt", "docs/other.md", "Make it fast"]);
        assert_eq!(found, ["docs/rules.md", "agent.txt"]);
    }

    #[test]
    fn a_task_may_be_allowed_to_change_what_is_protected() {
        let rules = rules(&["tests/**"], &["sh test.sh"], &["tests/new", "test.sh", "**/CLAUDE.md"]);
        let found = covered(&rules, &["tests/a", "tests/new/a", "test.sh", "x/CLAUDE.md", "AGENTS.md"]);
        assert_eq!(found, ["tests/a", "AGENTS.md"]);
        assert!(rules.is_allowed(b"test.sh") && rules.kind(b"test.sh").is_product());
    }

    #[test]
    fn what_is_hidden_is_open_to_no_task() {
        let mut policy = policy(&["tests/**"], &["src/**"], &[]);
        policy.gate.hidden.globs = vec!["tests/hidden/**".to_owned()];
        let files = [b"more/test_a.py".to_vec()].into_iter().collect();
        let rules = of(&policy, &["**"]).with_hidden(files);
        let hidden = |path: &str| matches!(rules.kind(path.as_bytes()), PathKind::Guarded(_));
        let paths = ["tests/hidden", "tests/hidden/a", "more/test_a.py", "more/test_a.py/x", "more"];
        assert_eq!(paths.map(hidden), [true; 5]);
        let free = ["tests/a.py", "more/test_b.py", "more/test_a.pyx", "mor", "src/a"];
        assert_eq!(free.map(hidden), [false; 5]);
        assert_eq!(rules.kind(b"tests/hidden/a").words().0, "hidden");
    }

    #[test]
    fn what_is_neither_product_nor_protected_is_a_term() {
        let rules = of(&policy(&["tests/**"], &["src/**", "**/*.py"], &[]), &["pyproject.toml"]);
        let glob = |glob: &str| Some(glob.to_owned());
        assert_eq!(rules.kind(b"src/a.txt"), PathKind::Product { glob: glob("src/**") });
        assert_eq!(rules.kind(b"tool.py"), PathKind::Product { glob: glob("**/*.py") });
        assert_eq!(rules.kind(b"tests/test_a.py"), PathKind::Test { glob: "tests/**".to_owned() });
        assert_eq!(rules.kind(b"data/a.json"), PathKind::Term(TermBy::NotProduct));
        assert!(matches!(rules.kind(b"src/conftest.py"), PathKind::Term(TermBy::Name { .. })));
        assert_eq!(rules.kind(b"pyproject.toml"), PathKind::Allowed);
    }

    #[test]
    fn without_product_globs_only_names_that_configure_are_terms() {
        let rules = rules(&["tests/**"], &[], &[]);
        assert_eq!(rules.kind(b"data/a.json"), PathKind::Product { glob: None });
        assert!(matches!(rules.kind(b"pyproject.toml"), PathKind::Term(TermBy::Name { .. })));
        assert!(matches!(rules.kind(b".npmrc"), PathKind::Term(TermBy::Name { .. })));
    }

    #[test]
    fn lines_may_be_added_anywhere_and_none_taken_away() {
        for (before, after, added) in [
            ("a\nb\n", "a\nb\nc\n", true),
            ("a\nb\n", "x\na\ny\nb\n", true),
            ("a\nb", "a\nb\nc\n", true),
            ("", "a\n", true),
            ("a\nb\n", "a\n", false),
            ("a\nb\n", "b\na\n", false),
            ("a\na\n", "a\n", false),
            ("assert x\n", "  assert x\n", false),
        ] {
            assert_eq!(only_adds_lines(before.as_bytes(), after.as_bytes()), added, "{before:?} {after:?}");
        }
    }

    #[test]
    fn names_that_are_not_text_are_judged_too() {
        let rules = rules(&["tests/**"], &[], &[]);
        assert!(rules.is_protected(b"tests/\xff\n"));
        assert!(rules.is_protected(b"\xff/CLAUDE.md"));
        assert!(!rules.is_protected(b"src/\xff"));
        assert!(!rules.is_protected(b""));
    }

    #[test]
    fn a_bad_glob_is_named() {
        let refused =
            |protect: &str| PathRules::new(&policy(&[protect], &[], &[]), &[], &|_| None).unwrap_err();
        assert_eq!(
            refused("a[").to_string(),
            "gate.protect has a bad pattern \"a[\": unclosed character class; missing ']'"
        );
        assert_eq!(refused("/").why, "it names nothing");
        assert_eq!(refused("").why, "it names nothing");
        let allow = PathRules::new(&policy(&[], &[], &[]), &["{a".to_owned()], &|_| None).unwrap_err();
        assert_eq!((allow.place, allow.glob.as_str()), ("allow", "{a"));
    }
}
