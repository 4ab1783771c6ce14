//! Front matter in, keys or faults out.

use proptest::prelude::*;

use super::*;

fn texts(items: &[Placed<String>]) -> Vec<&str> {
    items.iter().map(|item| item.value.as_str()).collect()
}

fn fault(text: &str) -> String {
    let fault = read_front_matter(text).unwrap_err();
    format!("{}:{}: {fault}; {}", fault.line, fault.column, fault.kind.remedy())
}

#[test]
fn every_key_in_every_form() {
    let read = read_front_matter(
        "---\n# who\ntitle: \"Parse: all\"\r\ndepends_on: a, b.md\npriority: -2 # first\nallow:\n  - tests/**\n  - \"{a,b}.rs\"\nchecks: [unit, 'lint it']\nacceptance:\n- it works: always\n- and is fast\n---\n# Body\n",
    )
    .unwrap();
    assert_eq!(read.title.as_deref(), Some("Parse: all"));
    assert_eq!(texts(&read.depends_on), ["a", "b.md"]);
    assert_eq!((read.depends_on[1].line, read.depends_on[1].column), (4, 16));
    assert_eq!(read.priority, -2);
    assert_eq!(texts(&read.allow), ["tests/**", "{a,b}.rs"]);
    assert_eq!(texts(&read.checks), ["unit", "lint it"]);
    assert_eq!(read.acceptance, ["it works: always", "and is fast"].map(PlannedCriterion::plain));
    assert_eq!(read.lines, 13);
}

#[test]
fn none_and_empty() {
    assert_eq!(read_front_matter("# Title\n---\n"), Ok(FrontMatter::default()));
    assert_eq!(read_front_matter(""), Ok(FrontMatter::default()));
    assert_eq!(read_front_matter("\u{feff}---\n---").map(|f| f.lines), Ok(2));
    assert_eq!(read_front_matter("---\n# only a remark\n---\n").map(|f| f.lines), Ok(3));
    assert_eq!(read_front_matter("---\ndepends_on:\nchecks: []\n---\n").map(|f| f.lines), Ok(4));
}

#[test]
fn yaml_is_read_as_it_is_written() {
    let read = read_front_matter(
        "---\ntitle: |\n  Two\n  lines\ndepends_on: [001, 1.0, yes, ~x]\nchecks: 'a, b'\nallow: [\n  \"*.rs\",\n  src/**,\n]\npriority: 007\ndone: true\n---\n",
    )
    .unwrap();
    assert_eq!(read.title.as_deref(), Some("Two\nlines\n"));
    assert_eq!(texts(&read.depends_on), ["001", "1.0", "yes", "~x"]);
}

#[test]
fn what_yaml_takes_for_something_else_needs_quotes() {
    let quotes = "put the whole value in double quotes";
    let more = "write `key: value` lines, and put a value with special characters in double quotes";
    for (text, told, remedy) in [
        ("allow: *.rs", "2:8: a value cannot start with `*` here", quotes),
        ("title: Fix: the parser", "2:8: a value cannot have `: ` in it without quotes", quotes),
        ("title: !!int a", "2:8: a value cannot start with `!` here", quotes),
        ("title: @a", "2:8: a value cannot start with `@` here", quotes),
        ("depends_on: [a]b", "2:16: there is something after the end of the value", quotes),
        ("title: \"never closed", "2:8: the quote is never closed", "close the quote on the same line"),
        (
            "checks: [a, b",
            "2:9: the list is never closed",
            "close it with `]`, or write one `- item` on each following line",
        ),
        (
            "checks: [a,, b]",
            "2:12: an item of the list is empty",
            "remove the extra comma, or write the item",
        ),
        ("checks:\n\t- a", "3:2: a tab cannot indent", "indent with blanks"),
        ("- a", "2:1: expected `key: value`", "front matter is `key: value` lines between `---` lines"),
        ("title: a\n...\ntitle: b", "4:1: this is not YAML: multiple YAML documents detected", more),
        ("allow: [&a x]\nchecks: *a", "3:9: a value cannot start with `*` here", quotes),
        ("title: a\n b: c", "3:3: this is not YAML: mapping values are not allowed in this context", more),
    ] {
        assert_eq!(fault(&format!("---\n{text}\n---\n")), format!("{told}; {remedy}"), "{text}");
    }
}

#[test]
fn a_fault_has_its_place_and_its_remedy() {
    for (text, shown) in [
        ("---\ntitle: a\ndependson: b\n---", "3:1: unknown key `dependson`; did you mean `depends_on`?"),
        (
            "---\ncolour: b\n---",
            "2:1: unknown key `colour`; known keys: title, depends_on, priority, allow, checks, acceptance, done, mode, scope",
        ),
        (
            "---\nThe parser.\n---",
            "2:1: expected `key: value`; front matter is `key: value` lines between `---` lines",
        ),
        (
            "---\ntitle: a\n",
            "1:1: the front matter that starts here is never closed; close it with a line `---`; a rule at the top of a file can be written `***`",
        ),
        (
            "+++\n+++\n",
            "1:1: front matter between `+++` lines is not read; write it as `key: value` lines between `---` lines",
        ),
        (
            "---\npriority: high\n---",
            "2:11: `priority` must be a whole number; write a number such as 10; lower goes first",
        ),
        ("---\npriority:\n---", "2:1: `priority` has no value; give `priority` a value or remove the line"),
        (
            "---\ntitle: [a]\n---",
            "2:1: `title` takes one value, not a list; write one value on the same line; put quotes around it if it starts with `[`",
        ),
        (
            "---\nchecks: a\nchecks: b\n---",
            "3:1: `checks` is written twice, first on line 2; keep one of them",
        ),
        (
            "---\nchecks: a\n  - b\n---",
            "3:3: this line belongs to no key; a list item is `- item` under a key without a value; a value stands on one line",
        ),
        (
            "---\nallow:\n  -\n---",
            "3:3: an item of the list is empty; remove the extra comma, or write the item",
        ),
        (
            "---\nallow: {a,b}.rs\n---",
            "2:8: a value cannot start with `{` here; put the whole value in double quotes",
        ),
    ] {
        assert_eq!(fault(text), shown);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        let _ = read_front_matter(&text);
        let _ = read_front_matter(&format!("---\n{text}\n---\n"));
    }

    #[test]
    fn text_made_of_what_is_special_is_read_or_refused(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "---\n", "title", "depends_on", "priority", "allow", ":", " ", "- ", "[", "]", "'", "\"",
                "\\", ",", "#", "\n", "\r\n", "\t", "é", "\u{feff}", "9", "a", "|", "\u{2028}",
            ]),
            0..40,
        )
    ) {
        let text = format!("---\n{}\n---\n", parts.concat());
        if let Err(fault) = read_front_matter(&text) {
            prop_assert!(fault.line <= text.split('\n').count());
            prop_assert!(!fault.to_string().is_empty() && !fault.kind.remedy().is_empty());
        }
    }
}

#[test]
fn every_fault_inside_of_a_key_is_told() {
    let told = |text: &str| {
        let faults = read_all(text).unwrap_err();
        faults.iter().map(|fault| format!("{}:{} {fault}\n", fault.line, fault.column)).collect::<String>()
    };
    assert_eq!(
        told(
            "---\nscope:\n  files_changed: many\n  lines_writen: 3\n  files_read: -1\n  within: [src/**, {a: b}, '']\n---\n"
        ),
        "3:18 `files_changed` must be a whole number\n4:3 unknown key `lines_writen`\n\
         5:15 `files_read` must be a whole number\n6:20 an item of `within` must be a text\n\
         6:28 an item of the list is empty\n"
    );
    assert_eq!(
        told("---\nacceptance:\n- text: a\n  chek: b\n- check: c\n- [d]\n---\n"),
        "4:3 unknown key `chek`\n5:3 `text` has no value\n6:3 an item of `acceptance` must be a text\n"
    );
}
