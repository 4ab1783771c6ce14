//! Commands that an agent runs through windlass, beside those it runs by itself.

use std::collections::BTreeMap;
use std::io::{PipeReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use super::allowed_paths::AllowedPaths;
use super::wire::{self, RpcAnswer, RpcReply};
use super::{BridgeEvent, thread};
use crate::cli::line::{count, text, words};

const MOST: usize = 64;
const MOST_OUTPUT: usize = 1024 * 1024;
/// What a dead command has printed is read within this; a child of it may hold the pipe for ever.
const LAST_WORDS: Duration = Duration::from_millis(200);

pub struct Terminals {
    open: BTreeMap<String, Terminal>,
    last: u64,
    sender: Sender<BridgeEvent>,
}

struct Terminal {
    leader: Option<Pid>,
    state: Arc<Mutex<TerminalState>>,
    /// Requests that wait for its end.
    waiting: Vec<Value>,
}

struct TerminalState {
    output: Vec<u8>,
    limit: usize,
    truncated: bool,
    exit: Option<Value>,
}

impl Terminals {
    pub fn new(sender: Sender<BridgeEvent>) -> Self {
        Self { open: BTreeMap::new(), last: 0, sender }
    }

    pub fn create(&mut self, params: &Value, place: &AllowedPaths) -> RpcReply {
        if self.open.len() >= MOST {
            return Err(wire::failed(format!("there are {MOST} terminals already: release some")));
        }
        let cwd = place.directory(params)?;
        let limit = count(params, "/outputByteLimit").and_then(|limit| usize::try_from(limit).ok());
        let limit = limit.unwrap_or(MOST_OUTPUT).min(MOST_OUTPUT);
        let state =
            Arc::new(Mutex::new(TerminalState { output: Vec::new(), limit, truncated: false, exit: None }));
        self.last += 1;
        let name = format!("terminal-{}", self.last);
        let mut command = command(params)?;
        command.current_dir(cwd).stdin(Stdio::null()).process_group(0);
        let cannot = |error: std::io::Error| {
            wire::failed(format!("cannot run {}: {error}", words(params, "/command")))
        };
        let (from, to) = std::io::pipe().map_err(cannot)?;
        command.stdout(to.try_clone().map_err(cannot)?).stderr(to);
        let child = command.spawn().map_err(cannot)?;
        drop(command);
        let leader = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        self.open.insert(name.clone(), Terminal { leader, state: state.clone(), waiting: Vec::new() });
        self.follow(child, from, name.clone(), state)
            .map_err(|_| wire::failed("cannot follow the command".to_owned()))?;
        Ok(json!({"terminalId": name}))
    }

    fn follow(
        &self,
        mut child: Child,
        mut from: PipeReader,
        name: String,
        state: Arc<Mutex<TerminalState>>,
    ) -> Result<(), super::Stop> {
        let (read, is_read) = channel();
        let reading = state.clone();
        thread("output", move || {
            let mut buffer = [0; 16 * 1024];
            while let Ok(size @ 1..) = from.read(&mut buffer) {
                lock(&reading).take(&buffer[..size]);
            }
            // Whoever waited may have gone on.
            let _ = read.send(());
        })?;
        let sender = self.sender.clone();
        thread("terminal", move || {
            let status = child.wait();
            let _ = is_read.recv_timeout(LAST_WORDS);
            let (code, signal) = status.map_or((None, None), |status| (status.code(), status.signal()));
            lock(&state).exit = Some(json!({"exitCode": code, "signal": signal.map(|it| it.to_string())}));
            let _ = sender.send(BridgeEvent::TerminalEnded(name));
        })
    }

    pub fn output(&self, params: &Value) -> RpcReply {
        let state = lock(&self.named(params)?.state);
        let output = String::from_utf8_lossy(&state.output);
        Ok(json!({"output": output, "truncated": state.truncated, "exitStatus": state.exit}))
    }

    /// Answered at its end.
    pub fn wait(&mut self, id: &Value, params: &Value) -> RpcAnswer {
        let name = words(params, "/terminalId");
        let Some(terminal) = self.open.get_mut(name) else { return RpcAnswer::Now(Err(unknown(name))) };
        if let Some(exit) = lock(&terminal.state).exit.clone() {
            return RpcAnswer::Now(Ok(exit));
        }
        terminal.waiting.push(id.clone());
        RpcAnswer::Later
    }

    /// The requests that waited for it, with what they are answered.
    pub fn ended(&mut self, name: &str) -> Vec<(Value, Value)> {
        let Some(terminal) = self.open.get_mut(name) else { return Vec::new() };
        let exit = lock(&terminal.state).exit.clone().unwrap_or_default();
        std::mem::take(&mut terminal.waiting).into_iter().map(|id| (id, exit.clone())).collect()
    }

    pub fn kill(&self, params: &Value) -> RpcReply {
        self.named(params)?.end();
        Ok(json!({}))
    }

    pub fn release(&mut self, params: &Value) -> RpcReply {
        let name = words(params, "/terminalId");
        self.open.remove(name).ok_or_else(|| unknown(name))?.end();
        Ok(json!({}))
    }

    pub fn end_all(&mut self) {
        std::mem::take(&mut self.open).values().for_each(Terminal::end);
    }

    fn named(&self, params: &Value) -> Result<&Terminal, (i64, String)> {
        let name = words(params, "/terminalId");
        self.open.get(name).ok_or_else(|| unknown(name))
    }
}

impl Terminal {
    fn end(&self) {
        if lock(&self.state).exit.is_none()
            && let Some(leader) = self.leader
        {
            // It may be gone.
            kill_process_group(leader, Signal::KILL).ok();
        }
    }
}

impl TerminalState {
    /// The end is kept, as the protocol wants it, and begins with a whole character.
    fn take(&mut self, bytes: &[u8]) {
        self.output.extend_from_slice(bytes);
        if self.output.len() > self.limit {
            self.truncated = true;
            let is_first = |at: &usize| self.output.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80);
            let from = (self.output.len() - self.limit..).find(is_first).unwrap_or(0);
            self.output.drain(..from);
        }
    }
}

/// Some agents give a program and its words, some a line for a shell.
fn command(params: &Value) -> Result<Command, (i64, String)> {
    let program = text(params, "/command").filter(|program| !program.is_empty());
    let program = program.ok_or_else(|| wire::invalid("there is no command".to_owned()))?;
    let list = |at: &str| params.pointer(at).and_then(Value::as_array).cloned().unwrap_or_default();
    let args = list("/args");
    let mut command = if args.is_empty() { Command::new("sh") } else { Command::new(program) };
    if args.is_empty() {
        command.args(["-c", program]);
    }
    command.args(args.iter().filter_map(Value::as_str));
    command.envs(list("/env").iter().filter_map(|pair| Some((text(pair, "/name")?, text(pair, "/value")?))));
    Ok(command)
}

fn unknown(name: &str) -> (i64, String) {
    wire::invalid(format!("there is no terminal {name:?}"))
}

fn lock(state: &Mutex<TerminalState>) -> MutexGuard<'_, TerminalState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
