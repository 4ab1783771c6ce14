//! Stories in a `prd.json`.

use windlass_plan::PlanFormat;

use crate::files::{outline, planned, problems};

#[test]
fn every_story_is_a_task() {
    let plan = planned(
        "prd.json",
        r#"{
  "project": "clock",
  "branchName": "loop/clock",
  "description": "Durations everywhere",
  "userStories": [
    { "id": "US-001", "title": "Lexer", "description": "As a user I want tokens.",
      "acceptanceCriteria": ["every unit is a token"], "priority": 2, "passes": true, "notes": "", "rejections": 0 },
    { "id": "US-002", "title": "Parser", "description": "Parse.", "acceptanceCriteria": [], "priority": 1,
      "passes": false, "blocked": true, "rejections": 2, "notes": "[REJECTED] no test", "dependsOn": ["US-001"],
      "estimate": { "days": 2 } },
    { "id": "US-003", "title": "Docs" }
  ]
}"#,
    );
    assert_eq!(plan.format, Some(PlanFormat::Prd));
    assert_eq!(
        outline(&plan),
        "goal: Durations everywhere\n\
         6: US-001 | Lexer | on [] | 2 | [\"every unit is a token\"] | done\n\
         8: US-002 | Parser | on [\"US-001\"] | 1 | [] | blocked\n\
         11: US-003 | Docs | on [] | 999 | []\n"
    );
    assert_eq!(plan.tasks[1].rejections, 2);
    assert_eq!(
        plan.tasks[1].text,
        "# Parser\n\nParse.\n\n## Notes\n\n[REJECTED] no test\n\n## More\n\n- estimate: { \"days\": 2 }\n\n---\n\n\
         About the whole plan, of which the above is one task:\n\n\
         - project: clock\n- branchName: loop/clock\n- description: Durations everywhere\n"
    );
}

#[test]
fn bad_stories_are_refused_with_place_and_remedy() {
    for (text, told) in [
        (
            "{\"userStories\": [\n  {\"id\": \"a\",}\n]}",
            "p.json:2:14: this is not JSON: key must be a string; look for a comma, quote or bracket that is missing or too many\n",
        ),
        (
            "{\"userStories\": [",
            "p.json:1:17: this is not JSON: EOF while parsing a list; look for a comma, quote or bracket that is missing or too many\n",
        ),
        ("{\"stories\": []}", "p.json:1:1: there is no `userStories`; rename `stories` to `userStories`\n"),
        (
            " {\"user_stories\": []}",
            "p.json:1:2: there is no `userStories`; rename `user_stories` to `userStories`\n",
        ),
        ("{\"name\": 1}", "p.json:1:1: there is no `userStories`; add \"userStories\"\n"),
        ("3", "p.json:1:1: the plan must be an object {…}; write an object {…} there\n"),
        ("{\"userStories\": {}}", "p.json:1:17: `userStories` must be a list […]; write a list […] there\n"),
        (
            "{\"userStories\": []}",
            "p.json: there is no task in this file; write the stories into the list `userStories`\n",
        ),
        (
            "{\"userStories\": [{\"id\": \"a\", \"title\": \"A\", \"priority\": 1.5, \"depends_on\": [],\n\"passes\": \"no\", \"dependsOn\": [\"b\", 1]}]}",
            "p.json:1:61: unknown key `depends_on`; did you mean `dependsOn`?\n\
             p.json:2:36: `dependsOn` must be a list of texts [\"…\"]; write a list of texts [\"…\"] there\n\
             p.json:1:56: `priority` must be a whole number; write a whole number there\n\
             p.json:2:11: `passes` must be true or false; write true or false there\n",
        ),
        (
            "{\"userStories\": [{\"title\": \"A\"}, {\"id\": \"b\", \"title\": \"B\", \"id\": \"c\"},\n{\"id\": \"b\", \"title\": \"B\", \"dependsOn\": [\"x\"]}, {\"id\": \"a/b\", \"title\": \"\"}]}",
            "p.json:1:18: there is no `id`; add \"id\"\n\
             p.json:1:60: `id` is written twice; keep one of them\n\
             p.json:2:8: two tasks have the id b, the first on line 1; give one of them another name; upper and lower case are the same\n\
             p.json:2:41: task b depends on x, which is not in the plan; add a task with the id x, or remove the dependency\n\
             p.json:2:55: the id \"a/b\" cannot be used: it has a slash in it; give it a short id such as US-001\n\
             p.json:2:55: the task says nothing; write there what is to be done, or take it out of p.json\n",
        ),
        (
            "{\"userStories\": [{\"id\": \"a\", \"title\": \"A\", \"dependsOn\": [\"b\"]}, {\"id\": \"b\", \"title\": \"B\", \"dependsOn\": [\"a\"]}]}",
            "p.json:1:58: tasks depend on one another in a circle: a → b → a; remove one of these dependencies\n",
        ),
    ] {
        assert_eq!(problems("p.json", text), told, "{text}");
    }
}

#[test]
fn comments_are_read_in_a_jsonc_file_and_named_in_another() {
    let text =
        "// ours\n{\"userStories\": [ /* the first */\n  {\"id\": \"a\", \"title\": \"A // B\",},\n]}\n";
    let plan = planned("prd.jsonc", text);
    assert_eq!(
        (plan.format, plan.tasks[0].title.as_str(), plan.tasks[0].line),
        (Some(PlanFormat::Prd), "A // B", 3)
    );
    assert_eq!(planned("issues.JSONC", "// ours\n[{\"number\": 1, \"title\": \"A\"}]").tasks.len(), 1);
    assert_eq!(
        problems("prd.json", &text.replace("// ours", "")),
        "prd.json:2:19: JSON has no comments; take it out, or give the file a name that ends in `.jsonc`\n"
    );
    assert_eq!(
        problems("prd.jsonc", "/* é */ {\"userStories\": 3}"),
        "prd.jsonc:1:25: `userStories` must be a list […]; write a list […] there\n"
    );
}
