//! What `gh issue list --json` prints.

use windlass_plan::PlanFormat;

use crate::files::{outline, planned, problems};

#[test]
fn every_issue_is_a_task_in_the_order_of_their_numbers() {
    let plan = planned(
        "issues.json",
        r##"[
  {"number": 12, "title": "Parser", "body": "Parse it.\n\nDepends on #7, and #3.\nBlocked by: #3\n<!-- depends_on: #7, issue-3 -->\n\n```\ndepends on #99\n```\n## Acceptance\n- [ ] fast\n",
   "labels": [{"id": "x", "name": "core", "color": "fff"}, {"name": "p1"}], "state": "OPEN", "url": "https://example.com/12", "milestone": null},
  {"number": 7, "title": "Lexer", "body": "", "labels": [], "state": "CLOSED"},
  {"number": 3, "title": "Units", "state": "OPEN"}
]"##,
    );
    assert_eq!(plan.format, Some(PlanFormat::GithubIssues));
    assert_eq!(
        outline(&plan),
        "goal: 3 tasks, from “Units” to “Parser”\n\
         5: issue-3 | Units | on [] | 0 | []\n\
         4: issue-7 | Lexer | on [] | 0 | [] | done\n\
         2: issue-12 | Parser | on [\"issue-7\", \"issue-3\"] | 0 | [\"fast\"]\n"
    );
    let text = &plan.tasks[2].text;
    assert!(text.ends_with("\nLabels: core, p1\n\n- url: https://example.com/12\n"), "{text}");
}

#[test]
fn bad_exports_are_refused_with_place_and_remedy() {
    for (text, told) in [
        (
            "[]",
            "i.json: there is no task in this file; export them: gh issue list --state all --json number,title,body,labels,state\n",
        ),
        ("[{\"number\": 1}]", "i.json:1:2: there is no `title`; add \"title\"\n"),
        (
            "[{\"number\": \"1\", \"title\": \"A\"}]",
            "i.json:1:13: `number` must be a whole number; write a whole number there\n",
        ),
        (
            "[{\"number\": 1, \"title\": \"A\", \"body\": \"depends on #2\"}]",
            "i.json:1:38: task issue-1 depends on issue-2, which is not in the plan; \
             export closed issues too, with `gh issue list --state all --limit 10000`, or remove the line\n",
        ),
        (
            "[{\"number\": 1, \"title\": \"A\", \"body\": \"<!-- depends on: 2 -->\"}]",
            "i.json:1:38: `depends on` in a comment names no dependency; write `<!-- depends_on: id, id -->`\n",
        ),
        (
            "[{\"number\": 1, \"title\": \"A\", \"body\": \"blocked by #1\"},\n {\"number\": 1, \"title\": \"B\", \"state\": \"gone\"}]",
            "i.json:2:39: `state` must be \"OPEN\" or \"CLOSED\"; write \"OPEN\" or \"CLOSED\" there\n\
             i.json:1:38: task issue-1 depends on itself; remove issue-1 from its own dependencies\n",
        ),
    ] {
        assert_eq!(problems("i.json", text), told, "{text}");
    }
}

#[test]
fn a_dependency_is_read_however_it_is_linked() {
    let issue = |number: u64, body: &str| serde_json::json!({ "number": number, "title": "T", "body": body });
    for line in [
        "Depends on https://github.com/o/r/issues/1",
        "Depends on: <https://github.com/o/r/issues/1#issuecomment-7>.",
        "Depends on: [#1](https://github.com/o/r/issues/1)",
        "Depends-on: #1",
        "**Depends on:** #1.",
        "blocked-by issue #1;",
    ] {
        let export = serde_json::json!([issue(1, ""), issue(2, line)]).to_string();
        let on = planned("issues.json", &export).tasks[1].depends_on.clone();
        assert_eq!(on.iter().map(|id| id.as_str()).collect::<Vec<_>>(), ["issue-1"], "{line}");
    }
    for line in [
        "This is not blocked by #1.",
        "It no longer depends on #1",
        "isn't really blocked by #1",
        "Never blocked by #1",
    ] {
        let export = serde_json::json!([issue(1, ""), issue(2, line)]).to_string();
        assert!(planned("issues.json", &export).tasks[1].depends_on.is_empty(), "{line}");
    }
    let not_only = serde_json::json!([issue(1, ""), issue(2, "It does not work: blocked by #1")]).to_string();
    assert_eq!(planned("issues.json", &not_only).tasks[1].depends_on.len(), 1);
    let unknown =
        problems("i.json", &serde_json::json!([issue(1, ""), issue(9, "blocked by #99")]).to_string());
    assert!(unknown.contains("issue-99, which is not in the plan; export closed issues too"), "{unknown}");
    let told = problems("i.json", &serde_json::json!([issue(2, "depends on [#3](x) and #4th")]).to_string());
    assert_eq!(told.matches("which is not in the plan").count(), 1, "{told}");
}
