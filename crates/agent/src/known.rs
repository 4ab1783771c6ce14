//! The programs that windlass knows: each called as it wants to be, and listened to while it runs.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use windlass_core::input::{AttemptEnd, AttemptResult};
use windlass_core::live::Live;
use windlass_core::policy::AgentPolicy;
use windlass_core::usage::{self, Session};
use windlass_process::{Canceller, Confinement, Finished, ProgramExit, RunningProgram, Spawner};

use crate::agent::{Agent, TurnRequest, TurnResult, Unusable, reads_only};
use crate::attempt::{self, AgentProgram, REPORT_PATH};
use crate::cli::{
    CliInvocation, Confined, FileAccess, InvocationSpec, OutputReader, OwnConfig, ProgramEnd, ReaderSetup,
    SessionStart, TurnEnding,
};
use crate::follow::{Follower, StopFlag};
use crate::registry::{self, KnownAgent};
use crate::reset::Zone;
use crate::version::VersionRequest;
use crate::{claim, command, report, schema, version};

/// Kept of each stream: all that a reader needs of a long turn.
pub const OUTPUT_CAP: u64 = 32 * 1024 * 1024;
/// How long a line may lie unread.
const LISTEN: Duration = Duration::from_millis(50);
/// Read of standard error for the class of a turn.
const LAST_ERRORS: u64 = 64 * 1024;
/// Below the home.
const SCHEMA_FILE: &str = ".windlass-report.schema.json";

pub struct CliAgent(pub &'static KnownAgent);

impl Agent for CliAgent {
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

    fn call(&self, call: &TurnRequest<'_>, started: &mut dyn FnMut(Canceller)) -> TurnResult {
        let found = match self.found(call.policy, call.project, call.path) {
            Ok(found) => found.canonicalize().unwrap_or(found),
            Err(error) => return attempt::not_started(call.role, error.to_string()),
        };
        let program = self.0.cli.native(&found, &|place| place.is_file());
        let turn = CliTurn { agent: self.0, call, program: &program };
        let (mut result, gone) = turn.play(call.resume, started);
        if gone && call.resume.is_some() {
            let note = "the conversation it was to go on with is gone: it began afresh".to_owned();
            (result, _) = match windlass_process::clear_attempt(call.dir) {
                Ok(()) => {
                    let call = &TurnRequest { brief: call.whole_brief, ..*call };
                    CliTurn { call, ..turn }.play(None, started)
                }
                Err(error) => {
                    let what = format!("cannot clear {}: {error}", call.dir.display());
                    (attempt::not_started(call.role, what), false)
                }
            };
            result.finished.result.notes.push(note);
            result.began_afresh = true;
        }
        self.name(&mut result.finished.result, call, &program);
        result
    }
}

impl CliAgent {
    /// With its version, which is asked for afterwards: a turn does not wait for it, nor does who interrupts one.
    fn name(&self, finished: &mut AttemptResult, call: &TurnRequest<'_>, program: &Path) {
        if finished.end == AttemptEnd::Interrupted {
            self.0.name.clone_into(&mut finished.agent);
            return;
        }
        let request = VersionRequest {
            program,
            path: call.path,
            spawner: call.spawner,
            confinement: call.confinement,
            home: call.home.to_owned(),
            dir: call.dir.join("version"),
        };
        let (agent, untried) = version::words(self.0, version::ask(request));
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

/// Where an installed agent is looked for.
#[derive(Clone, Copy)]
pub struct InstallLookup<'a> {
    /// The operator's directory, which relative paths of the policy start from.
    pub project: &'a Path,
    pub path: &'a OsStr,
    pub spawner: &'a Spawner,
    /// The program is run here for its version.
    pub scratch: &'a Path,
}

/// None when it is not there.
pub fn installed(policy: &AgentPolicy, lookup: InstallLookup<'_>) -> Option<Installed> {
    let InstallLookup { project, path, spawner, scratch } = lookup;
    let agent = registry::named(&policy.adapter)?;
    let program = CliAgent(agent).found(policy, project, path).ok()?;
    let real = program.canonicalize().unwrap_or_else(|_| program.clone());
    let native = agent.cli.native(&real, &|place| place.is_file());
    let request = VersionRequest {
        program: &native,
        path,
        spawner,
        confinement: &Confinement::none(),
        home: scratch.join("home"),
        dir: scratch.join(agent.name),
    };
    let version = version::heard(version::ask(request));
    let tried = version.as_deref().is_some_and(|version| agent.tried_versions.contains(&version));
    Some(Installed { program, version, tried })
}

/// One run of the program.
struct CliTurn<'a> {
    agent: &'static KnownAgent,
    call: &'a TurnRequest<'a>,
    program: &'a Path,
}

impl CliTurn<'_> {
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
        let program = AgentProgram {
            argv: invocation.argv,
            env: self.environment(invocation.env),
            output_cap: OUTPUT_CAP,
        };
        let setup = ReaderSetup {
            model: call.policy.model.clone(),
            schema: schema.is_some(),
            start: SessionStart::of(resume),
            zone: Zone::system(),
            env: call.policy.env.clone(),
        };
        let reading = OutputReading {
            reader: self.agent.cli.reader(setup),
            by_schema: schema.is_some(),
            notes: invocation.notes,
        };
        run_and_read(call, program, reading, started)
    }

    fn invocation(&self, schema: Option<&Value>, resume: Option<&Session>) -> CliInvocation {
        let call = self.call;
        let policy = call.policy;
        let set = policy.extra.set.keys().map(String::as_str);
        let variables: Vec<&str> = call.env.iter().filter_map(|(name, _)| name.to_str()).chain(set).collect();
        self.agent.cli.invocation(&InvocationSpec {
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
            access: if reads_only(call.role) { FileAccess::ReadOnly } else { FileAccess::Write },
            own_config: if policy.extra.own_config { OwnConfig::Wanted } else { OwnConfig::KeptOut },
        })
    }

    /// What the operator set wins.
    fn environment(&self, own: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
        let set = self.call.policy.extra.set.iter().map(|(name, value)| (name.into(), value.into()));
        own.into_iter().chain(set).collect()
    }
}

/// How the output of a program is read.
pub struct OutputReading {
    pub reader: Box<dyn OutputReader>,
    /// Whether its report is its last message.
    pub by_schema: bool,
    /// What is to be said of the call.
    pub notes: Vec<String>,
}

/// Runs a program and reads its output: what came of it, and whether the session it was to go on with was gone.
pub fn run_and_read(
    call: &TurnRequest<'_>,
    program: AgentProgram,
    reading: OutputReading,
    started: &mut dyn FnMut(Canceller),
) -> (TurnResult, bool) {
    let running = match attempt::start(call, program) {
        Ok(running) => running,
        Err(what) => return (attempt::not_started(call.role, what), false),
    };
    started(running.canceller());
    let OutputReading { reader, by_schema, notes } = reading;
    let (finished, listener) = listen(call, running, reader);
    if let Err(what) = attempt::clean(call, &finished) {
        return (attempt::not_started(call.role, what), false);
    }
    let mut ending = listener.end(&finished);
    let report = match by_schema {
        true => report::of_answer(ending.structured.as_ref(), call.role, call.nonce),
        false => report::read(&call.dir.join(REPORT_PATH), call.role, call.nonce, call.redactor),
    };
    let report = report.or_claim(call.role, || claim::of(&ending.message));
    let gone = ending.session_is_gone;
    ending.notes.splice(..0, notes);
    let mut result = attempt::result(finished, report, ending.end.clone());
    let tells_reads = registry::behind(call.policy).is_some_and(|known| known.tells_reads);
    result.finished.result.files_read = tells_reads.then_some(ending.files_read);
    complete(&mut result.finished.result, ending);
    (result, gone)
}

/// Adds what the program's own output says of the turn.
fn complete(finished: &mut AttemptResult, ending: TurnEnding) {
    if !ending.usage_is_whole && !ending.usage.is_empty() {
        finished.notes.push("it told its tokens in part: it used at least those".to_owned());
    }
    finished.agent = ending.agent;
    finished.notes.extend(ending.notes);
    finished.summary = ending.summary;
    finished.models = ending.usage;
    finished.usage = usage::sum(&finished.models).or(finished.usage);
    finished.session = ending.session;
    if !ending.message.is_empty() {
        finished.message = ending.message;
    }
}

/// Listens until the program is dead. What no more turns of the program could mend ends it at once.
fn listen<'a>(
    call: &'a TurnRequest<'a>,
    running: RunningProgram,
    reader: Box<dyn OutputReader>,
) -> (Finished, Listener<'a>) {
    let (stdout, stderr) = running.streams();
    let canceller = running.canceller();
    let over = StopFlag::default();
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let streams = [Follower::of(&stdout), Follower::of(&stderr)];
            let mut listener = Listener { call, canceller, streams, reader, ended: None };
            while !over.is_set_within(LISTEN) {
                listener.read_new_lines();
            }
            listener
        });
        let finished = running.wait();
        over.set();
        match thread.join() {
            Ok(mut listener) => {
                listener.read_the_rest(&finished);
                (finished, listener)
            }
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

struct Listener<'a> {
    call: &'a TurnRequest<'a>,
    canceller: Canceller,
    streams: [Follower; 2],
    reader: Box<dyn OutputReader>,
    /// Why the turn was ended, if it was.
    ended: Option<AttemptEnd>,
}

impl Listener<'_> {
    fn read_new_lines(&mut self) {
        let [stdout, stderr] = &mut self.streams;
        let (lines, errors) = (stdout.lines(), stderr.lines());
        self.take(lines, errors);
        if self.ended.is_none() {
            self.ended = self.reader.hopeless();
        }
        if self.ended.is_some() {
            self.canceller.cancel();
        }
    }

    fn read_the_rest(&mut self, finished: &Finished) {
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
                true => self.reader.error_line(&line, now),
                false => self.reader.line(&line, now),
            };
            for event in live {
                if let Live::Tokens(used) = &event
                    && (self.call.is_spent)(used)
                {
                    self.ended = Some(AttemptEnd::Budget);
                }
                if !tells(&event, self.call.nonce.as_str()) {
                    (self.call.live)(event);
                }
            }
        }
    }

    fn end(self, finished: &Finished) -> TurnEnding {
        let outside = attempt::outside(self.call, finished);
        let stderr = attempt::end_of(&finished.stderr.path, LAST_ERRORS).unwrap_or_default();
        let now = (self.call.clock)();
        let end = ProgramEnd { exit: &finished.exit, outside: &outside, stderr: &stderr, now };
        let mut ending = self.reader.end(&end);
        if let Some(known) = self.ended.filter(|_| finished.exit == ProgramExit::Cancelled) {
            ending.end = known;
        }
        ending
    }
}

/// Whether it is the report on its way, which nobody needs to see twice.
fn tells(event: &Live, nonce: &str) -> bool {
    match event {
        Live::Text { text } => text.contains(nonce),
        Live::ToolStarted(tool) | Live::ToolFinished { tool, .. } => tool.what.contains(nonce),
        Live::Touched(_)
        | Live::Tokens(_)
        | Live::Retry(_)
        | Live::RefusedCall(_)
        | Live::StepStarted(_)
        | Live::CheckFinished(_)
        | Live::Held => false,
    }
}
