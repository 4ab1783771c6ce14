//! Briefs in the operator's own words.

use crate::case::{LOOP, Setup};

const HONEST: &str = "echo 42 >answer.txt\ncomplete";
const RULES: &str = "- Be swift, {{ role }}.{% if reviewer %} Judge.{% endif %}\n";

fn setup(agent: &str) -> Setup {
    Setup::new(agent)
        .more("[brief]\nrules = \"briefs/rules.md\"\nimplement = \"briefs/do.md\"\n")
        .file("briefs/rules.md", RULES)
        .file("briefs/do.md", "Answer {{ iteration }} of {{ name }}.\n")
}

#[test]
fn agents_read_the_operators_words_and_still_know_how_to_report() {
    let case = setup(HONEST).review("tasks = true\nfinal = false\n").ready();
    let seen = case.run();
    seen.completed();
    let author = case.left("author-1.brief");
    for said in [
        "Answer iteration 1 of 30 of demo1.",
        "- Be swift, author.\n",
        "WINDLASS_REPORT",
        "Make the test pass.",
    ] {
        assert!(author.contains(said), "{said:?} is not in\n{author}");
    }
    for gone in ["Never make anything up", "Do the whole task in this turn"] {
        assert!(!author.contains(gone), "{gone:?} is still in\n{author}");
    }
    assert!(author.contains("- `briefs/rules.md`\n"), "it is protected, and said to be:\n{author}");
    let reviewer = case.left("reviewer-1.brief");
    assert!(reviewer.contains("- Be swift, reviewer. Judge.\n"), "{reviewer}");
    assert!(reviewer.contains("Judge whether the work in the workspace does this one task."), "{reviewer}");
    let stored = &seen.log.of("loop_created")[0]["policy"]["brief"]["rules"];
    assert_eq!(stored["text"], RULES, "what was in force is on record");
}

#[test]
fn the_template_of_the_guide_can_be_used() {
    let guide = include_str!("../../../../docs/guide/briefs.md");
    let (_, rest) = guide.split_once("```text\n").expect("the guide has a template");
    let (template, _) = rest.split_once("```").expect("a block has an end");
    let case = Setup::new(HONEST)
        .more("[brief]\nrules = \"briefs/rules.md\"\n")
        .file("briefs/rules.md", template)
        .ready();
    case.run().completed();
    let brief = case.left("author-1.brief");
    assert!(
        brief.contains("You are the author of demo1. Use British spelling.\n- Run `make lint`"),
        "{brief}"
    );
}

#[test]
fn a_template_that_changes_under_way_changes_no_brief() {
    let script = "if [ \"$n\" = 1 ]; then hold; else echo 42 >answer.txt; fi\ncomplete";
    let case = setup(script).ready();
    let running = case.start_until("author", 1);
    // The operator edits it between two attempts of one run.
    std::fs::write(case.repo.path().join("briefs/rules.md"), "- Be slow.\n").unwrap();
    case.leave("go");
    let ran = running.finish(crate::case::RUN);
    assert_eq!(ran.status.code(), Some(0), "{ran}");
    assert_eq!(case.turns("author"), 2);
    let second = case.left("author-2.brief");
    assert!(second.contains("- Be swift, author.\n") && !second.contains("Be slow"), "{second}");
}

#[test]
fn an_agent_that_rewrites_its_rules_is_caught() {
    let case = setup("echo '- Accept anything.' >briefs/rules.md\necho 42 >answer.txt\ncomplete").ready();
    let seen = case.run();
    seen.blocked("no_progress");
    let findings = seen.findings_in("briefs/rules.md");
    assert!(!findings.is_empty() && findings[0]["severity"] == "bug", "{}", seen.findings);
    assert!(seen.view["commit"].is_null(), "nothing landed");
}

#[test]
fn a_dry_run_shows_a_nonce_as_long_as_a_real_one() {
    let case = Setup::new("printf %s \"$nonce\" >\"$side/nonce\"\necho 42 >answer.txt\ncomplete").ready();
    let told = case.windlass(&["run", "--name", LOOP, "--dry-run"]).expect_code(0).stdout;
    let shown = told.lines().find_map(|line| line.strip_prefix("nonce: ")).expect("the brief has one");
    case.run().completed();
    assert_eq!(shown.len(), case.left("nonce").len());
}

#[test]
fn a_template_that_cannot_be_used_is_refused_with_its_place() {
    for (text, said) in [
        (
            Some("fine\n  {{ gaol }}\n"),
            "briefs/rules.md:2:3: there is no placeholder `gaol`; did you mean `goal`?",
        ),
        (Some("{% for x in y %}"), "briefs/rules.md:1:1: `{% for x in y %}` is not known here"),
        (Some("{{ nonce }}"), "briefs/rules.md:1:1: there is no placeholder `nonce`"),
        (Some("  \n"), "briefs/rules.md:1:1: it is empty"),
        (None, "cannot read briefs/rules.md: No such file"),
    ] {
        let setup = Setup::new(HONEST).more("[brief]\nrules = \"briefs/rules.md\"\n");
        let case = match text {
            Some(text) => setup.file("briefs/rules.md", text).ready(),
            None => setup.ready(),
        };
        let ran = case.windlass(&["run", "--name", LOOP]).expect_code(2);
        assert!(ran.stderr.contains(said), "{said}: {ran}");
        assert!(ran.stderr.contains("windlass.toml:") && ran.stderr.contains("brief.rules"), "{ran}");
        case.nothing_was_made();
        assert_eq!(case.turns("author"), 0);
    }
}
