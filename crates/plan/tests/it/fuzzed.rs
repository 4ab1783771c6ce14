//! The function that the fuzzer calls, on its corpus and on made-up texts.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use windlass_plan::fuzzed;

#[test]
fn every_seed_of_the_fuzzer_is_read_or_refused() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/plans");
    let seeds: Vec<_> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(seeds.len() >= 9, "one for each format, and more");
    for seed in seeds {
        let data = fs::read(&seed).unwrap();
        // Every seed as every format, too.
        (0..=u8::try_from(windlass_plan::PlanFormat::ALL.len()).unwrap() + 1).for_each(|format| {
            let mut data = data.clone();
            data[0] = format;
            fuzzed::sources(&data);
        });
    }
}

const PIECES: &[&str] = &[
    "---\n",
    "title: ",
    "depends_on: ",
    "scope:\n  within: ",
    "acceptance:\n- ",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "'",
    "\\",
    ",",
    ":",
    "#",
    "\n",
    "\r\n",
    "\t",
    " ",
    "é",
    "\u{feff}",
    "9",
    "a",
    "|",
    "&x",
    "*x",
    "!!int ",
    "<<: ",
    "<!--",
    "-->",
    "windlass-task",
    "<!-- windlass-task -->\n",
    "<!-- forge-section -->\n",
    "depends_on: a",
    "```\n",
    "~~~",
    "`",
    "# ",
    "## ",
    "### Task 1: ",
    "### Files\n",
    "## Acceptance\n",
    "- ",
    "- [ ] ",
    "- [x] ",
    "1. ",
    "> ",
    "  ",
    "== a.md\n",
    "== b.md\n",
    "{\"userStories\": [",
    "{\"id\": \"a\", \"title\": \"b\"",
    ", \"dependsOn\": [\"a\"]",
    "}",
    "]}",
    "null",
    "[{\"number\": 1, \"title\": \"a\"",
    ", \"body\": \"depends on #1\"",
    "\\ud800",
    "[[chat.user]]\n",
    "[[chat]]\n",
    "content = '''",
    "'''",
    "role = \"user\"\n",
    "[tools]\nbash = [\"rg\"]\n",
    "\u{a0}",
    "\u{2028}",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(
        format in any::<u8>(),
        parts in prop::collection::vec(prop::sample::select(PIECES), 0..40),
    ) {
        let mut data = vec![format];
        data.extend_from_slice(parts.concat().as_bytes());
        fuzzed::sources(&data);
    }

    #[test]
    fn any_bytes_are_read_or_refused(data in prop::collection::vec(any::<u8>(), 0..200)) {
        fuzzed::sources(&data);
    }
}
