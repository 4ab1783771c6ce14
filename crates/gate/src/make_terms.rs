//! What the base's makefiles decide of a check that calls make: the files that switch a target off, the scripts
//! that recipes run, and what is read as a makefile.

use std::collections::{BTreeMap, BTreeSet};

use crate::exempt::ancestors;
use crate::makefile::{MakeRule, Makefile, RuleNames, UNKNOWN};
use crate::named::{self, MakeCall, join};
use crate::run_files::{BaseReader, scripts_of};

/// Bounds on what is followed.
const CALLS: usize = 64;
const FILES: usize = 64;
const FILE_SIZE: usize = 1 << 20;

/// Read as makefiles where it cannot be told what is included.
const USUAL_INCLUDES: [&str; 2] = ["**/*.{d,P,dep,deps,depend}", "**/{depend,.depend}"];

/// Paths from the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MakeTerms {
    /// A file of this name would keep make from running the recipe.
    targets: BTreeSet<Vec<u8>>,
    /// So would a directory.
    closed: BTreeSet<Vec<u8>>,
    /// What recipes make themselves: a file that is there would be taken for it.
    made: BTreeSet<Vec<u8>>,
    /// Files of the base that recipes run.
    scripts: BTreeSet<Vec<u8>>,
    /// Patterns of what is read as a makefile.
    includes: BTreeSet<String>,
}

impl MakeTerms {
    /// Of the makefiles that these commands of checks have make read.
    pub fn of<'c>(commands: impl Iterator<Item = &'c str>, base: &BaseReader<'_>) -> Self {
        let mut waiting: Vec<MakeCall> = commands.flat_map(|run| named::make_calls(run, "")).collect();
        let (mut seen, mut terms) = (BTreeSet::new(), Self::default());
        while let Some(call) = waiting.pop() {
            if seen.len() < CALLS && seen.insert(call.clone()) {
                waiting.extend(terms.follow(&call, base));
            }
        }
        terms
    }

    pub fn is_target(&self, path: &[u8]) -> bool {
        self.targets.contains(path) || ancestors(path).skip(1).any(|above| self.closed.contains(above))
    }

    pub fn is_made(&self, path: &[u8]) -> bool {
        self.made.contains(path)
    }

    pub fn is_script(&self, path: &[u8]) -> bool {
        self.scripts.contains(path)
    }

    pub fn includes(&self) -> impl Iterator<Item = &str> {
        self.includes.iter().map(String::as_str)
    }

    /// Takes up what this call decides. Returns the calls that its recipes make.
    fn follow(&mut self, call: &MakeCall, base: &BaseReader<'_>) -> Vec<MakeCall> {
        let Some(makefile) = self.load(call, base) else { return Vec::new() };
        let rules = Rules::of(&makefile);
        let reached = rules.reached(&call.goals);
        let phony = makefile.phony();
        let is_phony = |target: &str| phony.as_ref().is_some_and(|phony| phony.contains(target));
        let in_base = |name: &str| join(&call.dir, name).is_some_and(|path| base(&path).is_some());
        for target in reached.iter().filter(|target| !is_phony(target)) {
            let Some(path) = join(&call.dir, target).filter(|path| base(path).is_none()) else { continue };
            let path = path.into_bytes();
            if rules.makes_itself(target) {
                self.made.insert(path);
                continue;
            }
            // What is built first is newer than a directory, which then switches nothing off.
            if phony.is_some() && rules.prerequisites(target).iter().all(|name| in_base(name)) {
                self.closed.insert(path.clone());
            }
            self.targets.insert(path);
        }
        let mut calls = Vec::new();
        for line in rules.recipes(&reached) {
            let found = named::make_calls(&line, &call.dir);
            calls.extend(found);
            self.scripts.extend(scripts_of(&line, &call.dir, base).into_iter().map(String::into_bytes));
        }
        calls
    }

    /// The makefile with those that it includes.
    fn load(&mut self, call: &MakeCall, base: &BaseReader<'_>) -> Option<Makefile> {
        let usual = || {
            named::MAKE.iter().copied().find(|name| join(&call.dir, name).is_some_and(|f| base(&f).is_some()))
        };
        let first = call.file.as_deref().or_else(usual)?;
        let mut makefile = Makefile::default();
        let (mut waiting, mut seen) = (vec![first.to_owned()], BTreeSet::new());
        while let Some(file) = waiting.pop() {
            let Some(path) = join(&call.dir, &file).filter(|path| seen.insert(path.clone())) else {
                continue;
            };
            let Some(text) = base(&path).filter(|text| text.len() <= FILE_SIZE && seen.len() <= FILES) else {
                continue;
            };
            makefile.read(&String::from_utf8_lossy(&text));
            let included: Vec<String> =
                makefile.includes.iter().flat_map(|text| makefile.words(text)).collect();
            waiting.extend(included);
        }
        for word in makefile.includes.iter().flat_map(|text| makefile.words(text)) {
            self.includes.extend(include_globs(&call.dir, &word));
        }
        Some(makefile)
    }
}

/// The patterns by which an included file is known.
fn include_globs(dir: &str, word: &str) -> Vec<String> {
    let usual = || USUAL_INCLUDES.iter().filter_map(|glob| join(dir, glob)).collect();
    if word.contains(UNKNOWN) {
        return usual();
    }
    // Braces mean nothing to make.
    let Some(path) = join(dir, word) else { return Vec::new() };
    let glob = path.replace('{', "[{]").replace('}', "[}]");
    match globset::Glob::new(&glob) {
        Ok(_) => vec![glob],
        Err(_) => usual(),
    }
}

/// The rules of a makefile by their targets, with all names known.
struct Rules<'m> {
    makefile: &'m Makefile,
    rules: Vec<NamedRule<'m>>,
    by_target: BTreeMap<String, Vec<usize>>,
}

struct NamedRule<'m> {
    rule: &'m MakeRule,
    targets: Vec<String>,
    prerequisites: Vec<String>,
}

impl<'m> Rules<'m> {
    fn of(makefile: &'m Makefile) -> Self {
        let named = |rule: &'m MakeRule| NamedRule {
            rule,
            targets: makefile.words(&rule.targets),
            prerequisites: makefile.words(&rule.prerequisites),
        };
        let rules: Vec<NamedRule<'m>> = makefile.rules.iter().map(named).collect();
        let mut by_target: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, rule) in rules.iter().enumerate() {
            for target in rule.targets.iter().filter(|target| is_plain(target)) {
                by_target.entry(target.clone()).or_default().push(at);
            }
        }
        Self { makefile, rules, by_target }
    }

    fn of_target(&self, target: &str) -> impl Iterator<Item = &NamedRule<'m>> {
        self.by_target.get(target).into_iter().flatten().map(|at| &self.rules[*at])
    }

    fn prerequisites(&self, target: &str) -> Vec<&str> {
        self.of_target(target).flat_map(|rule| &rule.prerequisites).map(String::as_str).collect()
    }

    /// The goals, or what make takes for one, with all targets that they need.
    fn reached(&self, goals: &[String]) -> BTreeSet<String> {
        let usual = || self.rules.iter().flat_map(|rule| &rule.targets).find(|target| is_plain(target));
        let mut waiting: Vec<String> = match goals {
            [] => usual().cloned().into_iter().collect(),
            goals => goals.to_vec(),
        };
        let mut reached = BTreeSet::new();
        while let Some(target) = waiting.pop().filter(|_| reached.len() < 10_000) {
            if self.by_target.contains_key(&target) && !reached.contains(&target) {
                waiting.extend(self.prerequisites(&target).into_iter().map(str::to_owned));
                reached.insert(target);
            }
        }
        reached
    }

    /// Whether the recipe names its target, as one does that makes it.
    fn makes_itself(&self, target: &str) -> bool {
        let names = |line: &String| {
            line.contains("$@")
                || line.contains("$(@")
                || self.expand(line, target, &[]).split_whitespace().any(|word| word == target)
        };
        self.of_target(target).flat_map(|rule| &rule.rule.recipe).any(names)
    }

    /// The commands of these targets, and of patterns, which may make whatever those need.
    fn recipes(&self, reached: &BTreeSet<String>) -> Vec<String> {
        let mut lines = Vec::new();
        for rule in &self.rules {
            let target = match rule.targets.iter().find(|target| reached.contains(*target)) {
                Some(target) => target.as_str(),
                None if rule.targets.iter().any(|target| !is_plain(target)) => "",
                None => continue,
            };
            let commands = rule.rule.recipe.iter();
            lines.extend(commands.flat_map(|line| {
                let text = self.expand(line, target, &rule.prerequisites);
                text.lines()
                    .map(|line| line.trim_start_matches(['@', '-', '+', ' ', '\t']).to_owned())
                    .collect::<Vec<_>>()
            }));
        }
        lines
    }

    fn expand(&self, line: &str, target: &str, prerequisites: &[String]) -> String {
        let names = RuleNames { target, prerequisites };
        self.makefile.expand(line.trim_start_matches(['@', '-', '+', ' ', '\t']), &names)
    }
}

/// The name of one file, and nothing to make alone.
fn is_plain(target: &str) -> bool {
    let is_special = target.starts_with('.') && !target.contains('/');
    !is_special && !target.contains(['%', '*', '?', '[', UNKNOWN])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(run: &str, files: &[(&str, &str)]) -> MakeTerms {
        let read = |path: &str| {
            let file = files.iter().find(|(name, _)| *name == path);
            file.map(|(_, text)| text.as_bytes().to_vec())
        };
        MakeTerms::of(std::iter::once(run), &read)
    }

    fn text(paths: &BTreeSet<Vec<u8>>) -> String {
        paths.iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_file_named_as_a_target_of_the_check_is_known() {
        for (makefile, targets, closed, made) in [
            ("test:\n\tsh x\n", "test", "test", ""),
            ("test: unit lint\nunit:\n\tsh x\nother:\n\tsh y\n", "test unit", "unit", ""),
            ("test:\n\tsh x\n.PHONY: test\n", "", "", ""),
            ("test:\n\tsh x\n.PHONY: $(shell y)\n", "test", "", ""),
            ("all:\nN = test\n$(N): app\n\t./app\napp: a.c\n\t$(CC) -o $@ $<\n", "test", "", "app"),
            ("test: a.c\n\tcc -o test a.c && ./test\n", "", "", "test"),
            ("other:\n", "", "", ""),
        ] {
            let found = terms("make test", &[("Makefile", makefile), ("a.c", "")]);
            let shown = (text(&found.targets), text(&found.closed), text(&found.made));
            assert_eq!(shown, (targets.to_owned(), closed.to_owned(), made.to_owned()), "{makefile:?}");
        }
        let first = terms("make -C lib", &[("lib/Makefile", ".SUFFIXES:\n%.o: %.c\nall:\n\tsh x\nb:\n")]);
        assert!(first.is_target(b"lib/all") && first.is_target(b"lib/all/x") && !first.is_target(b"all"));
        assert_eq!(terms("sh test.sh", &[("Makefile", "test:\n\tsh x\n")]), MakeTerms::default());
    }

    #[test]
    fn scripts_that_recipes_run_are_known_if_the_base_has_them() {
        for (recipe, scripts) in [
            ("sh t/run.sh", "t/run.sh"),
            ("@./check.sh --fast", "check.sh"),
            ("-python3 scripts/x.py src/app.py", "scripts/x.py"),
            ("$(PY) scripts/x.py", "scripts/x.py"),
            ("$(shell which python3) scripts/x.py", "scripts/x.py"),
            ("cd t && sh run.sh", "t/run.sh"),
            (". t/run.sh", "t/run.sh"),
            ("for t in $(LIST); do sh $$t || exit 1; done", "check.sh t/run.sh"),
            ("if ! timeout 60 ./check.sh; then exit 1; fi", "check.sh"),
            ("bash -c 'sh t/run.sh && true'", "t/run.sh"),
            ("$(MAKE) inner", "t/run.sh"),
            ("make -C sub", "sub/go.sh"),
            ("$(CC) -o app src/app.c && ./app", ""),
            ("$(NONE) src/app.c", ""),
            ("$(CC) -o $(@D)/x src/app.c src/app.py", ""),
            ("$(shell which cc) src/app.c", ""),
            ("python3.12 -B scripts/x.py", "scripts/x.py"),
            ("python3 -m py_compile src/app.py", ""),
            ("sh gone.sh", ""),
            ("cat t/run.sh", ""),
        ] {
            let makefile = format!(
                "PY ?= python3\nLIST = check.sh t/run.sh\ntest:\n\t{recipe}\ninner:\n\tsh t/run.sh\n\
                 release:\n\tsh release.sh\n.PHONY: test inner\n"
            );
            let files = [
                ("Makefile", makefile.as_str()),
                ("sub/Makefile", "all:\n\tsh go.sh\n"),
                ("sub/go.sh", ""),
                ("t/run.sh", ""),
                ("check.sh", ""),
                ("scripts/x.py", ""),
                ("src/app.py", ""),
                ("src/app.c", ""),
                ("release.sh", ""),
            ];
            assert_eq!(text(&terms("make test", &files).scripts), scripts, "{recipe}");
        }
    }

    #[test]
    fn a_recipe_runs_what_its_rule_needs() {
        let makefile = "test: t/run.sh app\n\tsh $<\napp: ; ./t/build $@\n%.o: %.c\n\t./t/cc.py $<\n";
        let files = [("Makefile", makefile), ("t/run.sh", ""), ("t/build", ""), ("t/cc.py", "")];
        assert_eq!(text(&terms("make test", &files).scripts), "t/build t/cc.py t/run.sh");
    }

    #[test]
    fn what_a_pattern_compiles_is_not_run() {
        let makefile =
            "test: build/a\n\t./build/a\nbuild/%: tests/%.c src/app.c\n\t$(CC) -o $@ $^ src/tool.py\n";
        let files = [("Makefile", makefile), ("src/app.c", ""), ("src/tool.py", "")];
        assert_eq!(text(&terms("make test", &files).scripts), "");
    }

    #[test]
    fn what_is_included_is_a_makefile() {
        for (include, globs) in [
            ("-include src/*.d", "src/*.d"),
            ("SRC = $(wildcard src/*.c)\n-include $(SRC:.c=.d)", "src/*.d"),
            ("include $(wildcard src/*.d) more/rules", "more/rules src/*.d"),
            ("sinclude $(shell find . -name '*.d')", "**/*.{d,P,dep,deps,depend} **/{depend,.depend}"),
            ("include {a}[", "**/*.{d,P,dep,deps,depend} **/{depend,.depend}"),
            ("include /usr/share/x.mk ../y", ""),
        ] {
            let found = terms("make", &[("Makefile", include)]);
            assert_eq!(found.includes().collect::<Vec<_>>().join(" "), globs, "{include}");
        }
        let files = [
            ("Makefile", "include more/rules\n"),
            ("more/rules", "include deep/x\ntest:\n\tsh a.sh\n"),
            ("a.sh", ""),
        ];
        let found = terms("make test", &files);
        assert_eq!(found.includes().collect::<Vec<_>>(), ["deep/x", "more/rules"]);
        assert!(found.is_script(b"a.sh") && found.is_target(b"test"));
    }
}
