//! `windlass agents`: what is here, and whether it answers.

use crate::play::{NOT_REVIEWED, Play, Rest, cli, serve};

const READY: &str =
    "[[rule]]\nturns = [{ report = { nonce = \"$nonce\", status = \"complete\", summary = \"ready\" } }]\n";
const NO_KEY: &str = "[[rule]]\nturns = [{ fail = \"http401\" }]\n";

#[test]
fn agents_are_listed_with_their_versions() {
    let (Some(codex), Some(claude)) = (cli("codex"), cli("claude")) else { return };
    let server = serve(READY);
    let agents = codex.keys(&server);
    let play = Play::one_task(server, &agents, &Rest { agent: "", review: NOT_REVIEWED, limits: "" });
    let mut command = play.case.command(&["agents", "--json"]);
    let dirs = [&codex, &claude].map(|agent| agent.program.parent().unwrap().display().to_string());
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", dirs.join(":"))).env("ANTHROPIC_API_KEY", "test-key");
    let listed = play.case.home.start(command).finish(crate::case::LONG).expect_code(0).json();
    for (agent, version) in [(&codex, "0.166.0"), (&claude, "2.1.325")] {
        let rows = listed.as_array().unwrap();
        let row = rows.iter().find(|row| row["name"] == agent.name).unwrap();
        assert_eq!(row["version"], version, "{row}");
        assert_eq!(row["tried"], true, "{row}");
        assert_eq!(row["program"], agent.program.display().to_string(), "{row}");
    }
    let login = |name: &str| {
        listed.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap()["login"].clone()
    };
    assert_eq!(login("claude")["variable"], "ANTHROPIC_API_KEY");
    assert!(login("codex").is_null());
    assert_eq!(play.model_requests(), 0, "looking calls nobody");
}

#[test]
fn one_that_answers_says_so() {
    for name in ["codex", "claude"] {
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
}

#[test]
fn one_without_a_key_says_how_to_get_one() {
    for name in ["codex", "claude"] {
        let Some(agent) = cli(name) else { return };
        let server = serve(NO_KEY);
        let agents = agent.keys(&server);
        let play = Play::one_task(server, &agents, &Rest { agent: "", review: NOT_REVIEWED, limits: "" });
        let told = play.case.windlass(&["agents", "--probe", name, "--json"]).expect_code(1).json();
        assert_eq!(
            (told["ok"].as_bool(), told["end"]["kind"].as_str()),
            (Some(false), Some("auth")),
            "{told:#}"
        );
        let what = told["end"]["what"].as_str().unwrap();
        assert!(what.contains("_API_KEY"), "{what}");
    }
}
