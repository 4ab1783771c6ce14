//! Author and reviewer, each the other's: from the first brief to a proof.

use crate::play::{self, NOT_REVIEWED, Play, REVIEWED, Rest, cli, of_each, serve};

/// The first review of the first task rejects; everything after it is accepted.
pub const THREE_TASKS: &str = r#"
[[rule]]
name = "first review"
role = "reviewer"
when = "Review task 001-add"
attempt = 1
turns = [{ report = { nonce = "$nonce", verdict = "reject", summary = "not yet", findings = [
  { file = "add.sh", line = 1, severity = "bug", description = "nobody is told what it does" } ] } }]
[[rule]]
name = "second review"
role = "reviewer"
when = "Review task 001-add"
turns = [{ report = { nonce = "$nonce", verdict = "accept", summary = "fine", resolved = ["F1"] } }]
[[rule]]
name = "reviews"
role = "reviewer"
turns = [{ report = { nonce = "$nonce", verdict = "accept", summary = "fine" } }]
[[rule]]
name = "add again"
when = ["task 001-add", "nobody is told what it does"]
turns = [
  { run = "echo 'echo $(($1 + $2)) # the sum of two numbers' > add.sh" },
  { report = { nonce = "$nonce", status = "complete", summary = "it is told" } },
]
[[rule]]
name = "add"
when = "task 001-add"
turns = [
  { run = "echo 'echo $(($1 + $2))' > add.sh" },
  { report = { nonce = "$nonce", status = "complete", summary = "done" } },
]
[[rule]]
name = "sub"
when = "task 002-sub"
turns = [
  { run = "echo 'echo $(($1 - $2))' > sub.sh" },
  { report = { nonce = "$nonce", status = "complete", summary = "done" } },
]
[[rule]]
name = "mul"
when = "task 003-mul"
turns = [
  { run = "echo 'echo $(($1 * $2))' > mul.sh" },
  { report = { nonce = "$nonce", status = "complete", summary = "done" } },
]
"#;

macro_rules! pairs {
    ($($test:ident: $author:literal and $reviewer:literal;)*) => {
        $(#[test]
        fn $test() {
            three_tasks($author, $reviewer);
        })*
    };
}

// Each is an author once, and a reviewer once: by the schema or by the report file, as it can.
pairs! {
    codex_works_and_claude_reviews: "codex" and "claude";
    claude_works_and_codex_reviews: "claude" and "codex";
    opencode_works_and_gemini_reviews: "opencode" and "gemini";
    gemini_works_and_qwen_reviews: "gemini" and "qwen";
    qwen_works_and_opencode_reviews: "qwen" and "opencode";
}

#[track_caller]
fn three_tasks(author: &'static str, reviewer: &'static str) {
    let (Some(author), Some(reviewer)) = (cli(author), cli(reviewer)) else { return };
    let server = serve(THREE_TASKS);
    let agents = play::author_and_reviewer(&author, &reviewer, &server);
    let play = Play::tasks(server, &agents, &Rest { agent: "", review: REVIEWED, limits: "" }, 3);
    let seen = play.run();
    seen.completed();
    for task in ["001-add", "002-sub", "003-mul"] {
        seen.task_is(task, "done", None);
    }
    assert_ne!(seen.view["sandbox"], "none", "{:#}", seen.view);
    assert_eq!(seen.task("001-add")["rejections"], 1);
    let finding = &seen.findings_in("add.sh")[0];
    assert_eq!((finding["life"].as_str(), finding["severity"].as_str()), (Some("resolved"), Some("bug")));
    assert!(play.case.landed("add.sh").contains("the sum of two numbers"));
    assert!(!play.asked("add again").is_empty(), "the finding was in the brief of the next iteration");
    let versions: Vec<_> =
        seen.log.of("attempt_finished").iter().map(|end| end["result"]["agent"].to_string()).collect();
    for agent in [&author, &reviewer] {
        assert!(versions.iter().any(|version| version.contains(agent.called())), "{versions:?}");
    }
    play.usage_is_the_servers();
}

of_each!(prose_is_a_reject);

/// A reviewer that answers in prose.
#[track_caller]
fn prose_is_a_reject(reviewer: &'static str) {
    let author = if reviewer == "codex" { "claude" } else { "codex" };
    let (Some(author), Some(reviewer)) = (cli(author), cli(reviewer)) else { return };
    let server = serve(
        r#"
[[rule]]
role = "reviewer"
turns = [{ say = "<verdict>PASS</verdict> I accept: it all holds." }]
[[rule]]
turns = [
  { run = "echo 'echo $(($1 + $2))' > add.sh" },
  { report = { nonce = "$nonce", status = "complete", summary = "done" } },
]
"#,
    );
    let agents = play::author_and_reviewer(&author, &reviewer, &server);
    let limits = "max_review_failures = 1\nmax_agent_failures = 1\n";
    let play = Play::one_task(server, &agents, &Rest { agent: "", review: REVIEWED, limits });
    let seen = play.run();
    seen.ended(3, "blocked", "review_failed");
    assert_eq!(seen.log.count("task_done"), 0, "{}", seen.log);
}

#[test]
fn one_that_cannot_be_used_is_replaced_by_another() {
    let (Some(codex), Some(claude)) = (cli("codex"), cli("claude")) else { return };
    let server = serve(
        r#"
[[rule]]
path = "codex"
turns = [{ fail = "http401" }]
[[rule]]
name = "add"
path = "claude"
turns = [
  { run = "echo 'echo $(($1 + $2))' > add.sh" },
  { report = { nonce = "$nonce", status = "complete", summary = "done" } },
]
"#,
    );
    let (key, url) = ("ANTHROPIC_API_KEY", format!("{}/claude", server.url));
    let agents = codex.keys(&server);
    let more = "fallback = [\"claude\"]\n";
    let play = Play::one_task(server, &agents, &Rest { agent: more, review: NOT_REVIEWED, limits: "" });
    let mut command = play.case.command(&["run", "--name", crate::case::LOOP]);
    let path = std::env::var("PATH").unwrap();
    let bin = claude.program.parent().unwrap().display();
    command.env("PATH", format!("{bin}:{path}")).env(key, "test-key").env("ANTHROPIC_BASE_URL", url);
    let ran = play.case.home.start(command).finish(crate::case::RUN);
    let seen = play.case.look(ran);
    seen.completed();
    let replaced = seen.log.of("agent_replaced");
    assert_eq!(replaced.len(), 1, "{}", seen.log);
    assert_eq!((replaced[0]["role"].as_str(), replaced[0]["by"].as_str()), (Some("author"), Some("claude")));
    assert_eq!(seen.view["agents"]["author"]["adapter"], "claude");
    assert!(!play.asked("add").is_empty());
}
