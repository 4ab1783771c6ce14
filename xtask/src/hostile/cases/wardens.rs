//! What becomes of an attempt whose warden is killed or stopped. No agent reaches its warden at these levels, so
//! the play does it from outside.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use windlass_testkit::{Ran, Running, alive, poll};

use super::super::case::{Case, Played, Setting, ensure};
use super::super::stage::{Launch, RUN, Scene, Stage};

pub fn cases() -> Vec<Case> {
    vec![
        Case::own("X15", "leaves a daemon with an empty environment when its warden is killed", orphaned),
        Case::own("X16", "goes on under a warden that is stopped for ever", stopped),
    ]
}

/// Nothing in it tells whose it is but its arguments, by which only the play finds it. The agent says that it is up when
/// the shell between them has ended, so that the daemon descends from the warden alone. In any other attempt than the
/// first this agent does nothing.
const ORPHAN: &str = "if [ -e \"$told/up\" ]; then complete; exit; fi\n\
    (env -i setsid sh -c 'trap \"\" TERM HUP; cd /; : >\"$1\"; while :; do sleep 0.1; done' \"$side/daemon\" \"$told/daemon\" </dev/null >/dev/null 2>&1 &)\n\
    until [ -e \"$told/daemon\" ]; do sleep 0.1; done\n\
    : >\"$told/up\"\n\
    sleep 600";

fn orphaned(setting: &Setting) -> Played {
    let daemons = |binary: &Path, weakened: Option<String>| {
        let (scene, launch) = told_of(Stage::new(setting.level, binary), ORPHAN).set(weakened);
        let running = at_work(&scene, &launch)?;
        kill_wardens(&running)?;
        let first = running.finish(RUN);
        let after_run = scene.survivors().len();
        let next = scene.home.start(scene.command(&["run", "--name", "next"])).finish(RUN);
        let after_next = scene.survivors().len();
        scene.end_survivors();
        let ended = first.status.code() == Some(4) && next.status.code() == Some(4);
        ensure(ended, || format!("{first}\n{next}"))?;
        Ok((after_run, after_next))
    };
    let held = daemons(&setting.plain, None).and_then(|left| {
        ensure(left == (0, 0), || format!("alive after the run and after the next: {left:?}"))
    });
    let without = daemons(&setting.weakened, Some("pid".to_owned())).and_then(|left| {
        ensure(left.0 > 0 && left.1 > 0, || format!("alive after the run and after the next: {left:?}"))
    });
    Played::both(held, without, "`pid`")
}

const STUBBORN: &str = "trap '' TERM\n: >\"$told/up\"\nwhile :; do sleep 0.1; done";
/// More than windlass takes to give up a warden that is stopped again and again, and less than it grants one that
/// it takes for busy.
const PATIENCE: Duration = Duration::from_secs(15);
const HANGS: Duration = Duration::from_secs(8);

/// An attempt whose warden is stopped, and what should end it all the same.
struct StoppedAttempt<'s> {
    setting: &'s Setting,
    timeout: &'static str,
    stops: Stops,
    act: fn(&Running),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stops {
    Once,
    /// Whenever it goes on.
    AgainAndAgain,
}

fn stopped(setting: &Setting) -> Played {
    let by_timeout = StoppedAttempt { setting, timeout: "2s", stops: Stops::Once, act: |_| {} };
    let by_signal = StoppedAttempt {
        setting,
        timeout: "10m",
        stops: Stops::AgainAndAgain,
        act: |running| running.signal(Signal::TERM),
    };
    let held = by_timeout.ends(Some(3)).and_then(|()| by_signal.ends(Some(130)));
    let without = by_timeout.hangs().and_then(|()| by_signal.hangs());
    Played::both(held, without, "`stopped`")
}

impl StoppedAttempt<'_> {
    fn ends(&self, code: Option<i32>) -> Result<(), String> {
        let (scene, launch) = self.stage(&self.setting.plain).set(None);
        let running = self.play(&scene, &launch, PATIENCE)?;
        let Some(ran) = running else { return Err(format!("timeout {}: it did not end", self.timeout)) };
        ensure(ran.status.code() == code, || ran.to_string())?;
        let left = scene.survivors();
        ensure(left.is_empty(), || format!("alive after the end: {left:?}"))
    }

    fn hangs(&self) -> Result<(), String> {
        let (scene, launch) = self.stage(&self.setting.weakened).set(Some("stopped".to_owned()));
        let ran = self.play(&scene, &launch, HANGS)?;
        scene.end_survivors();
        ensure(ran.is_none(), || format!("timeout {}: it ended all the same", self.timeout))
    }

    fn stage(&self, binary: &Path) -> Stage {
        told_of(Stage::new(self.setting.level, binary), STUBBORN)
            .agent_keys(format!("timeout = \"{}\"", self.timeout))
    }

    /// None if it had not ended by then; it is killed.
    fn play(&self, scene: &Scene, launch: &Launch, until: Duration) -> Result<Option<Ran>, String> {
        let mut running = at_work(scene, launch)?;
        let wardens = wardens(&running)?;
        wardens.iter().for_each(|warden| send(warden, Signal::STOP));
        (self.act)(&running);
        let ended = poll::until(until, || {
            if self.stops == Stops::AgainAndAgain {
                wardens.iter().for_each(|warden| send(warden, Signal::STOP));
            }
            running.has_ended()
        });
        Ok(ended.then(|| running.finish(RUN)))
    }
}

fn told_of(stage: Stage, agent: &str) -> Stage {
    let write = format!("extra_write = [\"{}\"]", stage.told().display());
    stage.agent(agent).sandbox_keys(write).unlimited()
}

/// A run whose agent has said that it is there.
fn at_work(scene: &Scene, launch: &Launch) -> Result<Running, String> {
    let mut running = scene.home.start(scene.launch(launch));
    let sign = scene.repo.beside("told").join("up");
    let up = poll::until(RUN, || running.has_ended() || sign.exists()) && sign.exists();
    if up { Ok(running) } else { Err(format!("the agent never began: {}", running.kill())) }
}

/// A warden's pipes close a moment before it is dead. In that moment windlass can still find the daemon, as a child of
/// the warden: it looks again only when nobody is left to find it by.
fn kill_wardens(running: &Running) -> Result<(), String> {
    running.signal(Signal::STOP);
    wardens(running)?.iter().for_each(|warden| send(warden, Signal::KILL));
    let dead = poll::until(RUN, || alive::wardens(running.id()).is_empty());
    running.signal(Signal::CONT);
    ensure(dead, || "a warden outlives its kill".to_owned())
}

/// Those that stand over what this run has started.
fn wardens(running: &Running) -> Result<Vec<OwnedFd>, String> {
    let found = alive::wardens(running.id());
    let pid = |id: &u32| i32::try_from(*id).ok().and_then(Pid::from_raw);
    let pinned: Vec<OwnedFd> =
        found.iter().filter_map(pid).filter_map(|id| pidfd_open(id, PidfdFlags::empty()).ok()).collect();
    ensure(!pinned.is_empty(), || "nobody stands over the attempt".to_owned())?;
    Ok(pinned)
}

/// One that has ended minds nothing.
fn send(process: &OwnedFd, signal: Signal) {
    let _ = pidfd_send_signal(process, signal);
}
