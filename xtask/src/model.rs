//! The scripted model of the tests, for whoever wants to try an agent against it.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use windlass_testkit::model::{CASES, Script, Server};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    pub port: u16,
    pub script: Option<PathBuf>,
    pub log: Option<PathBuf>,
    pub help: bool,
}

const HELP: &str = r#"cargo xtask model [--port N] [--script FILE] [--log FILE]

Serves a scripted model on 127.0.0.1 and prints its URL, until it is interrupted.

--port N        this port, instead of a free one
--script FILE   what the model does; without one it says "Done." to everything
--log FILE      a JSON line for each request: time, path, model, rule, tokens, body

URLs; /ANY is any path or none, and rules can choose by it
  /ANY/v1/responses                              OpenAI Responses
  /ANY/v1/chat/completions                       OpenAI Chat Completions
  /ANY/v1/messages                               Anthropic Messages (and …/count_tokens)
  /ANY/v1beta/models/MODEL:generateContent       Gemini (and :streamGenerateContent, :countTokens)
  /ANY/v1/models                                 a list

A script is TOML. The first rule whose conditions hold is played:
  [[rule]]
  when = ["task 001-add"]   # all of these stand in the brief; also: unless, role, path, model, attempt, request
  turns = [
    { fail = "http429", retry_after = 1, times = 2 },
    { say = "I write the file.", run = "echo hello > hello.txt" },
    { report = { nonce = "$nonce", status = "complete", summary = "done" } },
    { say = "All done." },
  ]
docs/guide/model.md has all of it. Failures: "#;

pub fn run(asked: &Asked) -> Result<ExitCode> {
    let mut out = std::io::stdout();
    if asked.help {
        writeln!(out, "{HELP}{CASES}")?;
        return Ok(ExitCode::SUCCESS);
    }
    let script = asked.script.as_deref().map_or_else(|| Ok(Script::default()), Script::read)?;
    let log = match &asked.log {
        Some(path) => {
            let opened = File::options().create(true).append(true).open(path);
            Some(opened.with_context(|| format!("opening {}", path.display()))?)
        }
        None => None,
    };
    let server = Server::listen(script, asked.port, log)
        .with_context(|| format!("listening on port {} of 127.0.0.1", asked.port))?;
    writeln!(out, "{}", server.url)?;
    out.flush()?;
    server.forever();
    Ok(ExitCode::SUCCESS)
}
