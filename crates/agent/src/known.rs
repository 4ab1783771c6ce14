//! The programs that windlass knows: each called as it wants to be, and listened to while it runs.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use windlass_core::input::{AgentFinished, AttemptEnd};
use windlass_core::live::Live;
use windlass_core::policy::{AgentPolicy, Role};
use windlass_core::usage::{self, Session};
use windlass_process::{Canceller, Confinement, Exit, Finished, Running, Spawner};

use crate::agent::{Agent, Call, TurnResult, Unusable};
use crate::attempt::{self, REPORT_PATH, Start};
use crate::cli::{self, Access, Ask, Begun, Confined, Invocation, Over, OwnConfig, Reader};
use crate::follow::Follower;
use crate::registry::{self, KnownAgent};
use crate::reset::Zone;
use crate::version::Asking;
use crate::{claim, command, report, schema, version};

/// Kept of each stream: all that a reader needs of a long turn.
pub const OUTPUT_CAP: u64 = 32 * 1024 * 1024;
/// How long a line may lie unread.
const LISTEN: Duration = Duration::from_millis(50);
/// Read of standard error for the class of a turn.
const LAST_ERRORS: u64 = 64 * 1024;
/// Below the home.
const SCHEMA_FILE: &str = ".windlass-report.schema.json";

pub struct Known(pub &'static KnownAgent);

impl Agent for Known {
    fn check(&self, policy: &AgentPolicy, project: &Path, path: &OsStr) -> Result<(), Unusable> {
        self.found(policy, project, path).map(drop)
    }

    /// A program that was installed by a package manager lies among files of its own.
    fn files(&self, policy: &AgentPolicy, project: &Path, path: &OsStr) -> Vec<PathBuf> {
        let Ok(found) = self.found(policy, project, path) else { return Vec::new() };
        beside(&found, path)
    }

    fn answers(&self) -> bool {
        self.0.report_by_schema
    }

    fn call(&self, call: &Call<'_>, started: &mut dyn FnMut(Canceller)) -> TurnResult {
        let found = match self.found(call.policy, call.project, call.path) {
            Ok(found) => found.canonicalize().unwrap_or(found),
            Err(error) => return attempt::not_started(call.role, error.to_string()),
        };
        let program = self.0.cli.native(&found, &|place| place.is_file());
        let turn = Turn { agent: self.0, call, program: &program };
        let (mut result, gone) = turn.play(call.resume, started);
        if gone && call.resume.is_some() {
            let note = "the conversation it was to go on with is gone: it began afresh".to_owned();
            (result, _) = match windlass_process::clear_attempt(call.dir) {
                Ok(()) => turn.play(None, started),
                Err(error) => {
                    let what = format!("cannot clear {}: {error}", call.dir.display());
                    (attempt::not_started(call.role, what), false)
                }
            };
            result.finished.notes.push(note);
        }
        self.name(&mut result.finished, call, &program);
        result
    }
}

impl Known {
    /// With its version, which is asked for afterwards: a turn does not wait for it, nor does who interrupts one.
    fn name(&self, finished: &mut AgentFinished, call: &Call<'_>, program: &Path) {
        if finished.end == AttemptEnd::Interrupted {
            self.0.name.clone_into(&mut finished.agent);
            return;
        }
        let asking = Asking {
            program,
            path: call.path,
            spawner: call.spawner,
            confinement: call.confinement,
            home: call.home.to_owned(),
            dir: call.dir.join("version"),
        };
        let (agent, untried) = version::words(self.0, version::ask(asking));
        finished.agent = agent;
        finished.notes.extend(untried);
    }

    fn found(&self, policy: &AgentPolicy, project: &Path, path: &OsStr) -> Result<PathBuf, Unusable> {
        let given = policy.extra.path.as_str();
        if !given.is_empty() {
            let place = project.join(given);
            return command::executable(&place).map(|()| place);
        }
        let name = self.0.name;
        let missing = || Unusable::NotInstalled { program: name.to_owned() };
        command::locate(OsStr::new(name), path).ok_or_else(missing)
    }
}

/// A program with the packages it was installed among, and what runs it.
pub fn beside(found: &Path, path: &OsStr) -> Vec<PathBuf> {
    let real = found.canonicalize().unwrap_or_else(|_| found.to_owned());
    let mut files = vec![found.to_owned(), real.clone()];
    let packages = real.ancestors().filter(|dir| dir.ends_with("node_modules")).last();
    files.extend(packages.or(real.parent()).map(Path::to_path_buf));
    if let Some(node) = command::locate(OsStr::new("node"), path) {
        let real = node.canonicalize().unwrap_or_else(|_| node.clone());
        files.extend([node, real]);
    }
    files
}

/// A known agent on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    pub program: PathBuf,
    pub version: Option<String>,
    /// Whether this version was tried with windlass.
    pub tried: bool,
}

/// None when it is not there. Runs the program for its version, with `scratch` to itself.
pub fn installed(
    policy: &AgentPolicy,
    (project, path): (&Path, &OsStr),
    (spawner, scratch): (&Spawner, &Path),
) -> Option<Installed> {
    let agent = registry::named(&policy.adapter)?;
    let program = Known(agent).found(policy, project, path).ok()?;
    let real = program.canonicalize().unwrap_or_else(|_| program.clone());
    let native = agent.cli.native(&real, &|place| place.is_file());
    let asking = Asking {
        program: &native,
        path,
        spawner,
        confinement: &Confinement::none(),
        home: scratch.join("home"),
        dir: scratch.join(agent.name),
    };
    let version = version::heard(version::ask(asking));
    let tried = version.as_deref().is_some_and(|version| agent.tried_versions.contains(&version));
    Some(Installed { program, version, tried })
}

/// One run of the program.
struct Turn<'a> {
    agent: &'static KnownAgent,
    call: &'a Call<'a>,
    program: &'a Path,
}

impl Turn<'_> {
    /// What came of it, and whether its session was gone.
    fn play(&self, resume: Option<&Session>, started: &mut dyn FnMut(Canceller)) -> (TurnResult, bool) {
        let call = self.call;
        let schema = self.agent.report_by_schema.then(|| schema::of(call.role));
        let invocation = self.invocation(schema.as_ref(), resume);
        let put = |(name, bytes): &(PathBuf, Vec<u8>)| attempt::put(&call.home.join(name), bytes);
        let schema_text =
            schema.as_ref().map(|schema| (PathBuf::from(SCHEMA_FILE), schema.to_string().into()));
        if let Err(what) = invocation.files.iter().chain(&schema_text).try_for_each(put) {
            return (attempt::not_started(call.role, what), false);
        }
        let start =
            Start { argv: invocation.argv, env: self.environment(invocation.env), output_cap: OUTPUT_CAP };
        let begins = match resume {
            Some(session) => cli::Start::Resumed { before: session.total.clone() },
            None => cli::Start::Fresh,
        };
        let begun = Begun {
            model: call.policy.model.clone(),
            schema: schema.is_some(),
            start: begins,
            zone: Zone::system(),
        };
        let heard =
            Heard { reader: self.agent.cli.reader(begun), schema: schema.is_some(), notes: invocation.notes };
        hear(call, start, heard, started)
    }

    fn invocation(&self, schema: Option<&Value>, resume: Option<&Session>) -> Invocation {
        let call = self.call;
        let policy = call.policy;
        let set = policy.extra.set.keys().map(String::as_str);
        let variables: Vec<&str> = call.env.iter().filter_map(|(name, _)| name.to_str()).chain(set).collect();
        self.agent.cli.invocation(&Ask {
            variables: &variables,
            role: call.role,
            program: self.program,
            model: &policy.model,
            effort: &policy.effort,
            args: &policy.extra.args,
            max_turns: policy.turns_for(call.role),
            workspace: call.workspace,
            home: call.home,
            report: &call.dir.join(REPORT_PATH),
            schema,
            schema_file: &call.home.join(SCHEMA_FILE),
            resume: resume.map(|session| session.id.as_str()),
            confined: if call.is_confined { Confined::ByWindlass } else { Confined::ByItself },
            access: if call.role == Role::Reviewer { Access::ReadOnly } else { Access::Write },
            own_config: if policy.extra.own_config { OwnConfig::Wanted } else { OwnConfig::KeptOut },
        })
    }

    /// What the operator set wins.
    fn environment(&self, own: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
        let set = self.call.policy.extra.set.iter().map(|(name, value)| (name.into(), value.into()));
        own.into_iter().chain(set).collect()
    }
}

/// How a program is listened to.
pub struct Heard {
    pub reader: Box<dyn Reader>,
    /// Whether its report is its last message.
    pub schema: bool,
    /// What is to be said of the call.
    pub notes: Vec<String>,
}

/// Runs a program and listens to it: what came of it, and whether the session it was to go on with was gone.
pub fn hear(
    call: &Call<'_>,
    start: Start,
    heard: Heard,
    started: &mut dyn FnMut(Canceller),
) -> (TurnResult, bool) {
    let running = match attempt::start(call, start) {
        Ok(running) => running,
        Err(what) => return (attempt::not_started(call.role, what), false),
    };
    started(running.canceller());
    let (finished, ear) = listen(call, running, heard.reader);
    if let Err(what) = attempt::clean(call, &finished) {
        return (attempt::not_started(call.role, what), false);
    }
    told(call, finished, ear, (heard.schema, heard.notes))
}

fn told(
    call: &Call<'_>,
    finished: Finished,
    ear: Ear,
    (schema, notes): (bool, Vec<String>),
) -> (TurnResult, bool) {
    let outside = attempt::outside(call, &finished);
    let stderr = attempt::end_of(&finished.stderr.path, LAST_ERRORS).unwrap_or_default();
    let over = Over { exit: &finished.exit, outside: &outside, stderr: &stderr, now: (call.clock)() };
    let mut ending = ear.reader.end(&over);
    if let Some(known) = ear.ended.filter(|_| finished.exit == Exit::Cancelled) {
        ending.end = known;
    }
    let heard = match schema {
        true => report::of_answer(ending.structured.as_ref(), call.role, call.nonce),
        false => report::read(&call.dir.join(REPORT_PATH), (call.role, call.nonce), call.redactor),
    };
    let heard = heard.or_claim(call.role, || claim::of(&ending.message));
    let gone = ending.session_is_gone;
    let mut result = attempt::result(finished, heard, ending.end);
    let record = &mut result.finished;
    if !ending.usage_is_whole && !ending.usage.is_empty() {
        record.notes.push("it told its tokens in part: it used at least those".to_owned());
    }
    record.agent = ending.agent;
    record.notes.extend(notes.into_iter().chain(ending.notes));
    record.summary = ending.summary;
    record.models = ending.usage;
    record.usage = usage::sum(&record.models).or(record.usage);
    record.session = ending.session;
    if !ending.message.is_empty() {
        record.message = ending.message;
    }
    (result, gone)
}

/// What was heard, and why the turn was ended, if it was.
struct Ear {
    reader: Box<dyn Reader>,
    ended: Option<AttemptEnd>,
}

/// Listens until the program is dead. What no more turns of the program could mend ends it at once.
fn listen(call: &Call<'_>, running: Running, reader: Box<dyn Reader>) -> (Finished, Ear) {
    let (stdout, stderr) = running.streams();
    let canceller = running.canceller();
    let over = Bell::default();
    std::thread::scope(|scope| {
        let listener = scope.spawn(|| {
            let mut ear = Listener {
                call,
                canceller,
                streams: [Follower::of(&stdout), Follower::of(&stderr)],
                ear: Ear { reader, ended: None },
            };
            while !over.within(LISTEN) {
                ear.hear();
            }
            ear
        });
        let finished = running.wait();
        over.set();
        match listener.join() {
            Ok(mut listener) => {
                listener.hear_the_rest(&finished);
                (finished, listener.ear)
            }
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

#[derive(Default)]
struct Bell {
    is: Mutex<bool>,
    changed: Condvar,
}

impl Bell {
    fn set(&self) {
        *self.is.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    fn within(&self, span: Duration) -> bool {
        let is = self.is.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(is, span, |is| !*is);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

struct Listener<'a> {
    call: &'a Call<'a>,
    canceller: Canceller,
    streams: [Follower; 2],
    ear: Ear,
}

impl Listener<'_> {
    fn hear(&mut self) {
        let [stdout, stderr] = &mut self.streams;
        let (lines, errors) = (stdout.lines(), stderr.lines());
        self.take(lines, errors);
        if self.ear.ended.is_none() {
            self.ear.ended = self.ear.reader.hopeless();
        }
        if self.ear.ended.is_some() {
            self.canceller.cancel();
        }
    }

    fn hear_the_rest(&mut self, finished: &Finished) {
        let [stdout, stderr] = &mut self.streams;
        let (lines, errors) = (stdout.rest(&finished.stdout), stderr.rest(&finished.stderr));
        self.take(lines, errors);
    }

    fn take(&mut self, lines: Vec<Vec<u8>>, errors: Vec<Vec<u8>>) {
        for (line, is_error) in
            errors.iter().map(|line| (line, true)).chain(lines.iter().map(|line| (line, false)))
        {
            let line = self.call.redactor.bytes(line);
            let now = (self.call.clock)();
            let live = match is_error {
                true => self.ear.reader.error_line(&line, now),
                false => self.ear.reader.line(&line, now),
            };
            for event in live {
                if let Live::Tokens(used) = &event
                    && (self.call.is_spent)(used)
                {
                    self.ear.ended = Some(AttemptEnd::Budget);
                }
                if !tells(&event, self.call.nonce.as_str()) {
                    (self.call.live)(event);
                }
            }
        }
    }
}

/// Whether it is the report on its way, which nobody needs to see twice.
fn tells(event: &Live, nonce: &str) -> bool {
    match event {
        Live::Text { text } => text.contains(nonce),
        Live::ToolStarted(tool) | Live::ToolFinished { tool, .. } => tool.what.contains(nonce),
        Live::Touched(_) | Live::Tokens(_) | Live::Retry(_) | Live::RefusedCall(_) => false,
    }
}
