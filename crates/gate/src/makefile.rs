//! A makefile taken apart, as far as it can be known without running make.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

/// Stands for text that only make itself could tell.
pub const UNKNOWN: char = '\u{1}';

/// How often a variable is looked up, and how deep in one another.
const LOOKUPS: u32 = 20_000;
const DEPTH: u32 = 12;
/// What one text may become.
const EXPANDED: usize = 64 << 10;

/// Rules and variables of a makefile, with those of the files that it includes.
#[derive(Debug, Default)]
pub struct Makefile {
    pub rules: Vec<MakeRule>,
    /// As written: file names and patterns.
    pub includes: Vec<String>,
    /// Of every branch of a condition: which one is taken is not known.
    variables: BTreeMap<String, String>,
    lookups: Cell<u32>,
}

/// As written.
#[derive(Debug, Default)]
pub struct MakeRule {
    pub targets: String,
    pub prerequisites: String,
    pub recipe: Vec<String>,
}

/// What the automatic variables of a recipe stand for.
#[derive(Default)]
pub struct RuleNames<'a> {
    pub target: &'a str,
    pub prerequisites: &'a [String],
}

impl Makefile {
    pub fn read(&mut self, text: &str) {
        let mut lines = logical_lines(text).into_iter();
        let mut in_rule = false;
        while let Some(line) = lines.next() {
            if let Some(command) = line.strip_prefix('\t').filter(|_| in_rule) {
                self.rules
                    .iter_mut()
                    .next_back()
                    .into_iter()
                    .for_each(|rule| rule.recipe.push(command.to_owned()));
                continue;
            }
            let line = without_comment(&line).trim();
            let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            match word {
                "" | "ifeq" | "ifneq" | "ifdef" | "ifndef" | "else" | "endif" | "vpath" | "undefine" => {}
                "include" | "-include" | "sinclude" => self.includes.push(rest.to_owned()),
                "define" => {
                    let body: Vec<String> =
                        lines.by_ref().take_while(|line| line.trim() != "endef").collect();
                    let name = rest.trim_end_matches(['=', ':', '?', '+', ' ']).trim();
                    self.assign(name, &body.join("\n"));
                }
                "export" | "override" | "private" if rest.contains('=') => self.statement(rest, &mut in_rule),
                _ => self.statement(line, &mut in_rule),
            }
        }
    }

    fn statement(&mut self, line: &str, in_rule: &mut bool) {
        if let Some((name, value)) = assignment(line) {
            self.assign(name, value);
            return;
        }
        let Some((targets, rest)) = split_at_colon(line) else { return };
        let rest = rest.trim_start_matches(':');
        if let Some((name, value)) = assignment(rest) {
            self.assign(name, value);
            return;
        }
        let (prerequisites, command) = rest.split_once(';').unwrap_or((rest, ""));
        // Of `objects: %.o: %.c` the last part.
        let prerequisites = split_at_colon(prerequisites).map_or(prerequisites, |(_, last)| last);
        let recipe = Some(command.trim()).filter(|command| !command.is_empty());
        self.rules.push(MakeRule {
            targets: targets.to_owned(),
            prerequisites: prerequisites.replace('|', " "),
            recipe: recipe.map(str::to_owned).into_iter().collect(),
        });
        *in_rule = true;
    }

    fn assign(&mut self, name: &str, value: &str) {
        let known = self.variables.entry(name.to_owned()).or_default();
        if known.len() < EXPANDED {
            known.push(' ');
            known.push_str(value);
        }
    }

    /// The words of a text, with variables and the simple functions replaced. A word with [`UNKNOWN`] in it is not
    /// known.
    pub fn words(&self, text: &str) -> Vec<String> {
        self.expand(text, &RuleNames::default()).split_whitespace().map(str::to_owned).collect()
    }

    pub fn expand(&self, text: &str, names: &RuleNames<'_>) -> String {
        self.expand_within(text, names, 0)
    }

    fn expand_within(&self, text: &str, names: &RuleNames<'_>, depth: u32) -> String {
        let mut expanded = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            expanded.push_str(&rest[..at]);
            let (value, after) = self.reference(&rest[at + 1..], names, depth);
            expanded.push_str(&value);
            rest = after;
            if expanded.len() > EXPANDED {
                return UNKNOWN.to_string();
            }
        }
        expanded.push_str(rest);
        expanded
    }

    /// What stands behind a dollar sign, and the text after it.
    fn reference<'t>(&self, text: &'t str, names: &RuleNames<'_>, depth: u32) -> (String, &'t str) {
        let Some(first) = text.chars().next() else { return (String::new(), text) };
        let after = &text[first.len_utf8()..];
        let close = match first {
            '$' => return ("$".to_owned(), after),
            '(' => ')',
            '{' => '}',
            other => return (self.variable(&other.to_string(), names, depth), after),
        };
        let mut open = 1;
        let end = after.char_indices().find(|(_, c)| {
            open += i32::from(*c == first) - i32::from(*c == close);
            open == 0
        });
        let Some((end, _)) = end else { return (UNKNOWN.to_string(), "") };
        let inner = &after[..end];
        let value = match inner.split_once(char::is_whitespace) {
            Some((function, arguments)) => self.function(function, arguments, names, depth),
            None => {
                match inner.split_once(':').and_then(|(name, change)| Some((name, change.split_once('=')?))) {
                    Some((name, (from, to))) => substituted(&self.variable(name, names, depth), from, to),
                    None => self.variable(inner, names, depth),
                }
            }
        };
        (value, &after[end + 1..])
    }

    fn variable(&self, name: &str, names: &RuleNames<'_>, depth: u32) -> String {
        self.lookups.set(self.lookups.get() + 1);
        if depth >= DEPTH || self.lookups.get() > LOOKUPS {
            return UNKNOWN.to_string();
        }
        match (name, self.variables.get(name)) {
            ("@", _) if !names.target.is_empty() => names.target.to_owned(),
            ("<", _) => names.prerequisites.first().cloned().unwrap_or_default(),
            ("^" | "+" | "?", _) => names.prerequisites.join(" "),
            ("@" | "*" | "@D" | "@F" | "<D" | "<F" | "^D" | "^F", _) => UNKNOWN.to_string(),
            (_, Some(value)) => self.expand_within(value, names, depth + 1).trim().to_owned(),
            ("MAKE", None) => "make".to_owned(),
            ("SHELL", None) => "sh".to_owned(),
            ("CURDIR", None) => ".".to_owned(),
            ("CC" | "CXX" | "LD" | "AR" | "AS" | "CPP", None) => "cc".to_owned(),
            (_, None) => String::new(),
        }
    }

    fn function(&self, name: &str, arguments: &str, names: &RuleNames<'_>, depth: u32) -> String {
        if depth >= DEPTH {
            return UNKNOWN.to_string();
        }
        let arguments = self.expand_within(arguments, names, depth + 1);
        let parts: Vec<&str> = arguments.splitn(3, ',').map(str::trim).collect();
        let each = |text: &str, change: &dyn Fn(&str) -> String| {
            text.split_whitespace().map(change).collect::<Vec<_>>().join(" ")
        };
        match (name, parts.as_slice()) {
            ("wildcard" | "sort" | "strip" | "abspath" | "realpath", _) => arguments,
            ("patsubst", [from, to, text]) => substituted(text, from, to),
            ("addprefix", [prefix, text]) => each(text, &|word| format!("{prefix}{word}")),
            ("addsuffix", [suffix, text]) => each(text, &|word| format!("{word}{suffix}")),
            ("filter" | "filter-out", [_, text]) => (*text).to_owned(),
            ("notdir", [text]) => each(text, &|word| word.rsplit('/').next().unwrap_or(word).to_owned()),
            ("basename", [text]) => {
                each(text, &|word| word.rsplit_once('.').map_or(word, |(stem, _)| stem).to_owned())
            }
            (_, _) => UNKNOWN.to_string(),
        }
    }

    /// The targets that no file can stand in for; none if make alone could tell them all.
    pub fn phony(&self) -> Option<BTreeSet<String>> {
        let rules = self.rules.iter().filter(|rule| rule.targets.trim() == ".PHONY");
        let names: BTreeSet<String> = rules.flat_map(|rule| self.words(&rule.prerequisites)).collect();
        (!names.iter().any(|name| name.contains(UNKNOWN))).then_some(names)
    }
}

/// Each word with one end, or the one part of a pattern, in place of another.
fn substituted(text: &str, from: &str, to: &str) -> String {
    let (before, after) = from.split_once('%').unwrap_or(("", from));
    let (new_before, new_after) = to.split_once('%').unwrap_or(("", to));
    let change = |word: &str| match word.strip_prefix(before).and_then(|word| word.strip_suffix(after)) {
        Some(stem) => format!("{new_before}{stem}{new_after}"),
        None => word.to_owned(),
    };
    text.split_whitespace().map(change).collect::<Vec<_>>().join(" ")
}

/// Lines with those that go on in the next put together.
fn logical_lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in text.lines() {
        let (part, more) = match line.strip_suffix('\\') {
            Some(part) => (part, true),
            None => (line, false),
        };
        match lines.last_mut().filter(|_| goes_on) {
            Some(last) => {
                last.push(' ');
                last.push_str(part.trim_start());
            }
            None => lines.push(part.to_owned()),
        }
        goes_on = more;
    }
    lines
}

fn without_comment(line: &str) -> &str {
    let start = line.match_indices('#').find(|(at, _)| !line[..*at].ends_with('\\'));
    start.map_or(line, |(at, _)| &line[..at])
}

/// `NAME = value`, with every sign of assignment.
fn assignment(line: &str) -> Option<(&str, &str)> {
    let (before, value) = line.split_once('=')?;
    let name = before.trim_end_matches(['?', ':', '+', '!']).trim();
    let is_name = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || ":#".contains(c));
    is_name.then_some((name, value.trim()))
}

/// At the first colon that is in no reference.
fn split_at_colon(line: &str) -> Option<(&str, &str)> {
    let mut depth = 0;
    let at = line.char_indices().find(|(_, c)| {
        depth += i32::from("({".contains(*c)) - i32::from(")}".contains(*c));
        depth <= 0 && *c == ':'
    });
    at.map(|(at, _)| (&line[..at], &line[at + 1..]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Makefile {
        let mut makefile = Makefile::default();
        makefile.read(text);
        makefile
    }

    #[test]
    fn rules_have_targets_prerequisites_and_recipes() {
        let makefile = read(
            "all test:: a \\\n  b | c ; one\n\ttwo \\\n\t  three\n\n# x: y\ntest: CFLAGS += -g\n\
             $(O): %.o: %.c\nifdef X\n\tfour\nendif\nA := b:c\n",
        );
        let shown: Vec<String> = makefile
            .rules
            .iter()
            .map(|rule| {
                let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
                let recipe: Vec<String> = rule.recipe.iter().map(|line| words(line)).collect();
                format!("{} <- {}: {}", words(&rule.targets), words(&rule.prerequisites), recipe.join("; "))
            })
            .collect();
        assert_eq!(shown, ["all test <- a b c: one; two three", "$(O) <- %.c: four"]);
        assert_eq!(makefile.words("$(A) $(CFLAGS)"), ["b:c", "-g"]);
    }

    #[test]
    fn variables_and_simple_functions_are_replaced() {
        let makefile = read(
            "SRC = $(wildcard src/*.c)\nOBJ := $(SRC:.c=.o)\nDEP = $(patsubst %.o,build/%.d,${OBJ})\n\
             X = $(X)\nY = $(shell find)\nOPT = a\nOPT += b\ndefine RUN\nsh a.sh\nendef\n",
        );
        for (text, words) in [
            ("$(DEP)", "build/src/*.d"),
            ("$(OPT)$(NONE) $$x", "a b $x"),
            ("$(Y) $(X)", "\u{1} \u{1}"),
            ("$(addprefix t/,$(OPT))", "t/a t/b"),
            ("$(RUN)", "sh a.sh"),
            ("$(MAKE) -C x", "make -C x"),
            ("$(open", "\u{1}"),
        ] {
            assert_eq!(makefile.words(text).join(" "), words, "{text}");
        }
        let prerequisites = ["a.sh".to_owned(), "b".to_owned()];
        let names = RuleNames { target: "test", prerequisites: &prerequisites };
        assert_eq!(makefile.expand("sh $< $@ $^", &names), "sh a.sh test a.sh b");
    }

    #[test]
    fn what_is_phony_is_told_also_through_a_variable() {
        let phony = |text| read(text).phony().map(|names| names.into_iter().collect::<Vec<_>>().join(" "));
        assert_eq!(phony("PHONY += a\nPHONY += b\n.PHONY: $(PHONY)\n.PHONY: c\n").as_deref(), Some("a b c"));
        assert_eq!(phony(".PHONY: $(shell x)\n"), None);
        assert_eq!(phony("a:\n").as_deref(), Some(""));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn no_makefile_panics(text in "[a-c$(){}:=%#|;,\\\\ \t\n\u{e4}]*") {
            let makefile = read(&text);
            makefile.words(&text);
            makefile.phony();
        }
    }

    #[test]
    fn a_makefile_of_references_ends() {
        let mut text = String::from("A0 =\n");
        for n in 1..20 {
            text += &format!("A{n} = {}\n", format!("$(A{})", n - 1).repeat(50));
        }
        read(&text).words("$(A11)");
    }
}
