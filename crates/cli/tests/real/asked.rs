//! `windlass agents`: what is here, and whether it answers.

use crate::play::{NOT_REVIEWED, Play, Rest, cli, of_each, serve};

const READY: &str =
    "[[rule]]\nturns = [{ report = { nonce = \"$nonce\", status = \"complete\", summary = \"ready\" } }]\n";
const NO_KEY: &str = "[[rule]]\nturns = [{ fail = \"http401\" }]\n";

of_each!(listed);

/// With its version, and that it was tried.
#[track_caller]
fn listed(name: &'static str) {
    let Some(agent) = cli(name) else { return };
    let server = serve(READY);
    let agents = agent.keys(&server);
    let play = Play::one_task(server, &agents, &Rest { agent: "", review: NOT_REVIEWED, limits: "" });
    let mut command = play.case.command(&["agents", "--json"]);
    let (dir, path) = (agent.program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    command.env("PATH", format!("{dir}:{path}")).env("ANTHROPIC_API_KEY", "test-key");
    let told = play.case.home.start(command).finish(crate::case::LONG).expect_code(0).json();
    let row = told.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap();
    assert_eq!(format!("{name} {}", row["version"].as_str().unwrap()), agent.called(), "{row}");
    assert_eq!(row["tried"], true, "{row}");
    assert_eq!(row["program"], agent.program.display().to_string(), "{row}");
    match name {
        "claude" => assert_eq!(row["login"]["variable"], "ANTHROPIC_API_KEY", "{row}"),
        "codex" => assert_eq!(row["login"]["configured"], true, "{row}"),
        _ => {}
    }
    assert_eq!(play.model_requests(), 0, "looking calls nobody");
}

of_each!(answers);

/// One that answers says so.
#[track_caller]
fn answers(name: &'static str) {
    let Some(agent) = cli(name) else { return };
    let server = serve(READY);
    let agents = agent.keys(&server);
    let play = Play::one_task(server, &agents, &Rest { agent: "", review: NOT_REVIEWED, limits: "" });
    let told = play.case.windlass(&["agents", "--probe", name, "--json"]).expect_code(0).json();
    assert_eq!(
        (told["ok"].as_bool(), told["end"]["kind"].as_str()),
        (Some(true), Some("normal")),
        "{told:#}"
    );
    assert!(told["usage"]["input_tokens"].as_u64().is_some_and(|tokens| tokens > 0), "{told:#}");
    play.case.nothing_was_made();
}

of_each!(has_no_key: codex claude opencode);

/// One without a key says how to get one.
#[track_caller]
fn has_no_key(name: &'static str) {
    let Some(agent) = cli(name) else { return };
    let server = serve(NO_KEY);
    let agents = agent.keys(&server);
    let play = Play::one_task(server, &agents, &Rest { agent: "", review: NOT_REVIEWED, limits: "" });
    let told = play.case.windlass(&["agents", "--probe", name, "--json"]).expect_code(1).json();
    assert_eq!((told["ok"].as_bool(), told["end"]["kind"].as_str()), (Some(false), Some("auth")), "{told:#}");
    let what = told["end"]["what"].as_str().unwrap();
    assert!(what.contains("_API_KEY") || what.contains("auth login"), "{what}");
}
