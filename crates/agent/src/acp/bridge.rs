//! The side under the warden: starts the agent's program, holds one conversation with it, and ends it.
//!
//! It decides nothing about the turn: it answers what the program asks, and prints what both sides say.
#![allow(clippy::disallowed_methods, reason = "this is the agent's side, under a warden, not windlass's own")]

mod allowed_paths;
mod session;
mod terminal;
mod tool;
mod wire;

use std::ffi::OsString;
use std::io::Read as _;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use serde_json::{Value, json};
use signal_hook::consts::SIGTERM;
use signal_hook::iterator::Signals;

use self::allowed_paths::AllowedPaths;
use self::terminal::Terminals;
use self::tool::Tools;
use self::wire::{Peer, RpcAnswer};
use super::Terms;

/// How long a program may take to leave when its input is closed, or when it is told to stop.
const LEAVE: Duration = Duration::from_secs(2);

pub fn main(args: impl Iterator<Item = OsString>) -> ExitCode {
    let mut args = args;
    let terms = args.next().and_then(|terms| serde_json::from_str(terms.to_str()?).ok());
    let argv: Vec<OsString> = args.collect();
    let held = match (terms, read_brief()) {
        (Some(terms), Ok(brief)) => hold(&terms, &argv, &brief),
        (None, _) => Err(Stop::Broken("not the arguments of an acp agent".to_owned())),
        (_, Err(what)) => Err(Stop::Broken(what)),
    };
    match held {
        Ok(()) => ExitCode::SUCCESS,
        Err(stop) => {
            if let Stop::Broken(what) = stop {
                wire::tell(wire::OURS, &json!({"broken": what}));
            }
            ExitCode::FAILURE
        }
    }
}

fn read_brief() -> Result<String, String> {
    let mut brief = String::new();
    let read = std::io::stdin().read_to_string(&mut brief);
    read.map(|_| brief).map_err(|error| format!("cannot read the brief: {error}"))
}

/// Why a conversation is over before its end.
#[derive(Debug)]
enum Stop {
    /// The program answered with an error, which was printed.
    Failed(Value),
    Cancelled,
    Broken(String),
}

enum BridgeEvent {
    Message(wire::RpcMessage),
    /// The program has closed its output.
    Closed,
    /// The warden wants the turn to end.
    Asked,
    /// A span is over.
    Late,
    TerminalEnded(String),
}

struct Talk<'a> {
    terms: &'a Terms,
    peer: Peer,
    events: Receiver<BridgeEvent>,
    sender: Sender<BridgeEvent>,
    place: AllowedPaths,
    tools: Tools,
    terminals: Terminals,
    session: String,
    is_cancelled: bool,
}

fn hold(terms: &Terms, argv: &[OsString], brief: &str) -> Result<(), Stop> {
    let (sender, events) = channel();
    listen_for_signals(&sender)?;
    let mut child = start(terms, argv)?;
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(Stop::Broken("the program has no standard streams".to_owned()));
    };
    let to = sender.clone();
    thread("agent", move || wire::listen(stdout, &to))?;
    let mut talk = Talk {
        terms,
        peer: Peer::new(stdin),
        events,
        place: AllowedPaths::new(terms),
        tools: Tools::default(),
        terminals: Terminals::new(sender.clone()),
        sender,
        session: String::new(),
        is_cancelled: false,
    };
    let held = talk.whole(brief);
    talk.leave(&mut child);
    held
}

fn start(terms: &Terms, argv: &[OsString]) -> Result<Child, Stop> {
    let [program, words @ ..] = argv else { return Err(Stop::Broken("there is no command".to_owned())) };
    let mut command = Command::new(program);
    command.args(words).current_dir(&terms.workspace).stdin(Stdio::piped()).stdout(Stdio::piped());
    let what = |error| format!("cannot run {}: {error}", program.to_string_lossy());
    command.spawn().map_err(|error| Stop::Broken(what(error)))
}

fn listen_for_signals(sender: &Sender<BridgeEvent>) -> Result<(), Stop> {
    let cannot = |error: std::io::Error| Stop::Broken(format!("cannot listen for signals: {error}"));
    let mut signals = Signals::new([SIGTERM]).map_err(cannot)?;
    let sender = sender.clone();
    thread("signals", move || {
        for _ in signals.forever() {
            if sender.send(BridgeEvent::Asked).is_err() {
                return;
            }
        }
    })
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Stop> {
    let spawned = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    spawned.map(drop).map_err(|error| Stop::Broken(format!("cannot start a thread: {error}")))
}

impl Talk<'_> {
    /// Asks, and serves the program until it answers.
    fn ask(&mut self, method: &str, params: Value) -> Result<Value, Stop> {
        let id = self.peer.request(method, params);
        loop {
            match self.events.recv() {
                Ok(BridgeEvent::Message(heard)) => {
                    if let Some(answer) = self.hear(heard, id) {
                        return answer.map_err(Stop::Failed);
                    }
                }
                Ok(BridgeEvent::TerminalEnded(name)) => self.terminal_ended(&name),
                Ok(BridgeEvent::Asked) => self.cancel()?,
                Ok(BridgeEvent::Late) => return Err(Stop::Cancelled),
                Ok(BridgeEvent::Closed) | Err(_) if self.is_cancelled => return Err(Stop::Cancelled),
                Ok(BridgeEvent::Closed) | Err(_) => {
                    return Err(Stop::Broken(format!("it closed its output before it answered {method}")));
                }
            }
        }
    }

    /// The answer, if it is the one to `id`.
    fn hear(&mut self, heard: wire::RpcMessage, id: u64) -> Option<Result<Value, Value>> {
        match heard {
            wire::RpcMessage::Answered { to, answer } if to == id => return Some(answer),
            wire::RpcMessage::Notified { method, params } if method == "session/update" => {
                self.tools.update(&params)
            }
            wire::RpcMessage::Asked { id, method, params } => match self.serve(&id, &method, &params) {
                RpcAnswer::Now(answer) => self.peer.answer(&id, answer),
                RpcAnswer::Later => {}
            },
            wire::RpcMessage::Answered { .. }
            | wire::RpcMessage::Notified { .. }
            | wire::RpcMessage::Noise => {}
        }
        None
    }

    fn serve(&mut self, id: &Value, method: &str, params: &Value) -> RpcAnswer {
        match method {
            "session/request_permission" => RpcAnswer::Now(Ok(self.permission(params))),
            "fs/read_text_file" => RpcAnswer::Now(self.place.read_file(params)),
            "fs/write_text_file" => RpcAnswer::Now(self.place.write_file(params)),
            "terminal/create" => RpcAnswer::Now(self.terminals.create(params, &self.place)),
            "terminal/output" => RpcAnswer::Now(self.terminals.output(params)),
            "terminal/wait_for_exit" => self.terminals.wait(id, params),
            "terminal/kill" => RpcAnswer::Now(self.terminals.kill(params)),
            "terminal/release" => RpcAnswer::Now(self.terminals.release(params)),
            _ => RpcAnswer::Now(Err(wire::no_method(method))),
        }
    }

    fn permission(&self, params: &Value) -> Value {
        if self.is_cancelled {
            return json!({"outcome": {"outcome": "cancelled"}});
        }
        let call = self.tools.whole(&params["toolCall"]);
        let verdict = call.verdict(&self.place);
        if let Err(why) = &verdict {
            wire::refused(&call.words(), why);
        }
        tool::outcome(params, verdict.is_ok())
    }

    fn terminal_ended(&mut self, name: &str) {
        for (id, status) in self.terminals.ended(name) {
            self.peer.answer(&id, Ok(status));
        }
    }

    /// The program is asked to stop, and has a moment to say that it did. Whatever it says, the warden ends all
    /// that it started.
    fn cancel(&mut self) -> Result<(), Stop> {
        if self.is_cancelled || self.session.is_empty() {
            return Err(Stop::Cancelled);
        }
        self.is_cancelled = true;
        self.peer.notify("session/cancel", &json!({"sessionId": self.session}));
        self.late_after(LEAVE)
    }

    fn late_after(&self, span: Duration) -> Result<(), Stop> {
        let sender = self.sender.clone();
        thread("late", move || {
            std::thread::sleep(span);
            // Nobody may wait any more.
            let _ = sender.send(BridgeEvent::Late);
        })
    }

    /// Closes the program's input, which most take as the end, and ends those that do not.
    fn leave(&mut self, child: &mut Child) {
        self.peer.close();
        self.terminals.end_all();
        if self.late_after(LEAVE).is_ok() {
            let is_over = |event: &BridgeEvent| {
                matches!(event, BridgeEvent::Closed | BridgeEvent::Late | BridgeEvent::Asked)
            };
            self.events.iter().find(is_over);
        }
        // It may be gone.
        let _ = child.kill();
        let _ = child.wait();
    }
}
