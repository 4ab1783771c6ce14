//! What the guide shows is read as it says.

use windlass_plan::{KEYS, PlanFormat, PlanProposal};

use crate::files::{outline, planned, project};

const TASKS: &str = include_str!("../../../../docs/guide/tasks.md");
const PLANS: &str = include_str!("../../../../docs/guide/plans.md");

#[test]
fn the_task_file_of_the_guide_can_be_used() {
    let (_, text) = TASKS.split_once("```markdown\n").unwrap();
    let (text, _) = text.split_once("```").unwrap();
    let dir = project(&format!("== 001-lexer.md\n# Lexer\n== 002-parser.md\n{text}"));
    let plan = windlass_plan::tasks_dir::read(dir.path()).unwrap_or_else(|error| panic!("{error}"));
    let task = &plan.tasks[1];
    assert_eq!((&task.title[..], task.acceptance.len()), ("Parse durations", 3));
    assert_eq!(task.acceptance[2].check.as_ref().unwrap().value, "cargo bench");
    assert_eq!(task.mode.as_ref().unwrap().value, "implement");
    assert_eq!(task.scope.within.len(), 1);
    let keys = TASKS.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    assert_eq!(keys.collect::<Vec<_>>(), KEYS);
}

#[test]
fn every_format_is_in_the_guide() {
    let names = PLANS.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let mut names: Vec<&str> = names.collect();
    let mut known = PlanFormat::ALL.map(PlanFormat::name);
    names.sort_unstable();
    known.sort_unstable();
    assert_eq!(names, known);
}

/// The examples in one language, in their order.
fn examples(language: &str) -> Vec<&'static str> {
    let open = format!("```{language}\n");
    PLANS.split(&open[..]).skip(1).map(|rest| rest.split("\n```").next().unwrap()).collect()
}

#[test]
fn every_example_of_the_guide_is_read_as_it_says() {
    let markdown: Vec<String> =
        examples("markdown").iter().map(|text| outline(&planned("p.md", text))).collect();
    assert_eq!(
        markdown,
        [
            "goal: Parse durations everywhere.\n\
             5: phase-1-lexer | Phase 1: Lexer | on [] | 0 | [\"every unit is a token\"]\n\
             14: phase-2-parser | Phase 2: Parser | on [\"phase-1-lexer\"] | 0 | []\n",
            "goal: Durations\n\
             3: write-the-lexer | Write the lexer | on [] | 0 | [] | done\n\
             4: write-the-parser | Write the parser | on [\"write-the-lexer\"] | 0 | [\"`1h30m` is 90 minutes\"]\n",
            "goal: Durations\n\
             6: task-1 | Lexer | on [] | 0 | [\"every unit is a token\"] | done\n\
             9: task-2 | Parser | on [] | 0 | [\"`1h30m` is 90 minutes\"]\n",
        ]
    );
    let json = examples("json");
    let [answer, sources @ ..] = json.as_slice() else { panic!("the guide shows JSON") };
    let proposal = PlanProposal::read(&serde_json::from_str(answer).unwrap()).unwrap();
    assert_eq!(proposal.tasks[0].file_name(), "001-lexer.md");
    let json: Vec<String> = sources.iter().map(|text| outline(&planned("p.json", text))).collect();
    assert_eq!(
        json,
        [
            "goal: Durations everywhere\n\
             5: US-001 | Lexer | on [] | 1 | [\"every unit is a token\"] | done\n\
             13: US-002 | Parser | on [\"US-001\"] | 2 | [\"`1h30m` is 90 minutes\"]\n",
            "goal: 2 tasks, from “Lexer” to “Parser”\n\
             3: issue-1 | Lexer | on [] | 0 | [] | done\n\
             2: issue-2 | Parser | on [\"issue-1\"] | 0 | []\n",
        ]
    );
    let plan = planned("solver.toml", examples("toml")[0]);
    assert_eq!(
        outline(&plan),
        "goal: Port the solver to Rust.\n1: solver | Port the solver to Rust. | on [] | 0 | []\n"
    );
    assert_eq!(plan.tools.len(), 2);
}
