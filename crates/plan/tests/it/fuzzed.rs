//! The functions that the fuzzer calls, on its corpus and on made-up texts.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use windlass_plan::fuzzed;

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    fs::read_dir(dir).unwrap().map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect()
}

#[test]
fn every_seed_of_the_fuzzer_is_read_or_refused() {
    let seeds = seeds("plans");
    assert!(seeds.len() >= 9, "one for each format, and more");
    for data in seeds {
        // Every seed as every format, too.
        (0..=u8::try_from(windlass_plan::PlanFormat::ALL.len()).unwrap() + 1).for_each(|format| {
            let mut data = data.clone();
            data[0] = format;
            fuzzed::sources(&data);
        });
    }
}

#[test]
fn every_seed_of_the_fuzzer_is_a_proposal_or_refused() {
    let seeds = seeds("proposals");
    assert!(seeds.len() >= 4, "a good one, strange texts, two bad ones");
    seeds.iter().for_each(|data| fuzzed::proposals(data));
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
    fn any_text_in_a_proposal_is_written_as_it_is_or_refused(
        parts in prop::collection::vec(prop::sample::select(PIECES), 1..12),
        strange in any::<String>(),
    ) {
        let (made, text) = (parts.concat(), format!("a{strange}"));
        fuzzed::proposals(serde_json::json!({
            "title": made, "spec": text, "plan": made,
            "tasks": [{
                "id": "a", "title": text, "text": made, "depends_on": [text],
                "acceptance": [made, text], "allow": [made], "checks": [text],
            }],
        }).to_string().as_bytes());
        // Some of the above is refused for one of its parts; this is for what the others become.
        fuzzed::proposals(serde_json::json!({
            "title": "a", "spec": "b", "plan": "c",
            "tasks": [{ "id": "a", "title": text, "text": made, "acceptance": [text] }],
        }).to_string().as_bytes());
    }

    #[test]
    fn any_bytes_are_read_or_refused(data in prop::collection::vec(any::<u8>(), 0..200)) {
        fuzzed::sources(&data);
    }
}
