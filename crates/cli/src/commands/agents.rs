//! `windlass agents`: which agents this machine has, and whether one answers.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use serde_json::json;
use windlass_app::{AgentStatus, Login};

use crate::args::AgentsArgs;
use crate::exit::Exit;
use crate::failure::{Failure, OrFail};
use crate::place::Locations;
use crate::show::json as print_json;
use crate::show::out::say;
use crate::show::text::{self, Colour, paint};

pub fn agents(locations: &Locations, asked: &AgentsArgs) -> Result<Exit, Failure> {
    if let Some(name) = &asked.probe {
        return try_one(locations, name, asked.json);
    }
    let scratch = tempfile::tempdir().or_error()?;
    let seen = windlass_app::agents(&locations.directory()?, &locations.caller()?, scratch.path());
    if asked.json {
        print_json::print(&seen.iter().map(row).collect::<Vec<_>>());
        return Ok(Exit::Done);
    }
    for agent in &seen {
        let (mark, colour) = match (&agent.program, &agent.login) {
            (None, _) => ("absent", Colour::Faint),
            (Some(_), Login::None) => ("no key", Colour::Busy),
            (Some(_), Login::Variable(_) | Login::File(_) | Login::Configured) => ("found", Colour::Good),
        };
        say!("{}  {:<9} {}", paint(&format!("{mark:<7}"), colour), agent.name, words(agent));
    }
    say!("\n`windlass agents --probe NAME` calls one for real.");
    if seen.iter().all(|agent| agent.program.is_none()) {
        say!("Any program can be the agent: use = \"command\" and `command` under [agent].");
    }
    Ok(Exit::Done)
}

fn words(agent: &AgentStatus) -> String {
    let Some(program) = &agent.program else { return "not in PATH".to_owned() };
    let version = agent.version.as_deref().unwrap_or("version unknown");
    let tried = if agent.tried { "" } else { " (never tried with windlass)" };
    let login = match agent.login {
        Login::Variable(name) => format!("key in {name}"),
        Login::File(name) => format!("signed in by ~/{name}"),
        Login::Configured => "signed in by its configuration, if at all".to_owned(),
        Login::None => "not signed in".to_owned(),
    };
    format!("{version}{tried}, {login}\n{:19}{}", "", program.display())
}

fn row(agent: &AgentStatus) -> serde_json::Value {
    let login = match agent.login {
        Login::Variable(name) => json!({ "variable": name }),
        Login::File(name) => json!({ "file": name }),
        Login::Configured => json!({ "configured": true }),
        Login::None => json!(null),
    };
    json!({
        "name": agent.name, "program": agent.program, "version": agent.version, "tried": agent.tried,
        "login": login,
    })
}

fn try_one(locations: &Locations, name: &str, as_json: bool) -> Result<Exit, Failure> {
    let scratch = tempfile::tempdir().or_error()?;
    let (directory, caller) = (locations.directory()?, locations.caller()?);
    let call = || windlass_app::probe(&directory, &caller, name, scratch.path());
    let told = match as_json {
        true => call()?,
        false => {
            say!("calling {} once, confined as an attempt is", text::clean(name));
            with_heartbeat(call)?
        }
    };
    let well = told.end == windlass_core::input::AttemptEnd::Normal;
    if as_json {
        print_json::print(&json!({
            "ok": well, "agent": told.agent, "end": told.end, "message": told.message, "usage": told.usage,
            "notes": told.notes, "duration_ms": told.duration_ms,
        }));
    } else {
        let (mark, colour) =
            if well { ("it answers", Colour::Good) } else { ("it does not answer", Colour::Bad) };
        say!(
            "{}: {}, after {:.1} s",
            told.agent,
            paint(mark, colour),
            Duration::from_millis(told.duration_ms.0).as_secs_f64()
        );
        say!("{}", text::wrap(&format!("  {}", told.end), "  "));
        if let Some(said) = first_words(&told.message) {
            say!("{}", text::wrap(&format!("  said: {said}"), "    "));
        }
        if let Some(used) = told.usage {
            say!("  used: {} tokens", used.tokens());
        }
        told.notes.iter().for_each(|note| say!("{}", text::wrap(&format!("  {note}"), "  ")));
    }
    Ok(if well { Exit::Done } else { Exit::Error })
}

/// The first line that is for a person: agents print their protocol, too, when they fail.
fn first_words(message: &str) -> Option<&str> {
    let is_protocol =
        |line: &str| serde_json::from_str::<serde_json::Map<_, serde_json::Value>>(line).is_ok();
    message.lines().map(str::trim).find(|line| !line.is_empty() && !is_protocol(line))
}

/// How long nothing is said.
const BEAT: Duration = Duration::from_secs(5);

/// Says that it still waits, for as long as the call takes.
fn with_heartbeat<T>(call: impl FnOnce() -> T) -> T {
    let (done, over) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut waited = Duration::ZERO;
            while over.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                waited += BEAT;
                say!("  waiting for its answer, {} s", waited.as_secs());
            }
        });
        let answer = call();
        drop(done);
        answer
    })
}
