//! Looks for activity in a running program, and says when there was none for too long.

use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::activity::{Activity, ActivitySample, OutputStream, Stall, files, tree};
use crate::program::Program;
use crate::record::activity_path;
use crate::resources::ResourceGuard;
use crate::warden::terminate::ProcessTree;

/// How often others are told at most.
const PUBLISHED_EVERY: Duration = Duration::from_secs(1);
/// Looks cost at most one part in this many of the time.
const SHARE: u32 = 100;

pub struct Pulse {
    activity: Activity,
    next_sample: Instant,
    /// What only this program changes.
    dirs: Vec<PathBuf>,
    /// The attempt's own, where the clock of files is read.
    own: PathBuf,
    published: Published,
}

/// What others were told last, and when.
struct Published {
    at: Instant,
    last: Instant,
}

impl Pulse {
    /// `None` where silence is not limited: then nothing is looked at.
    pub fn of(program: &Program, started: Instant) -> Option<Pulse> {
        let silence = program.limits.silence;
        if silence.is_zero() {
            return None;
        }
        let confinement = &program.confinement;
        let work = match &confinement.tree {
            Some(tree) => tree.changes(),
            None => program.cwd.clone(),
        };
        let activity = Activity::new(silence, started);
        let next_sample = started + activity.pause();
        Some(Pulse {
            activity,
            next_sample,
            dirs: [work].into_iter().chain(confinement.reach.scratch.clone()).collect(),
            own: program.dir.clone(),
            published: Published { at: started, last: started },
        })
    }

    /// When to [`Pulse::look`] next.
    pub fn due(&self) -> Instant {
        self.next_sample.min(self.activity.deadline())
    }

    pub fn hear(&mut self, source: OutputStream, bytes: &[u8]) {
        self.activity.hear(Instant::now(), source, bytes);
    }

    /// Whether the program has stalled. Before that is said, everything is looked at once more.
    pub fn look(&mut self, tree: &ProcessTree, guard: &ResourceGuard) -> Option<Stall> {
        let now = Instant::now();
        if now < self.due() {
            return None;
        }
        self.sample(now, tree, guard);
        self.activity.stall(now)?;
        if let Some(at) = self.last_change(now) {
            self.activity.changed(at);
        }
        self.activity.stall(now)
    }

    fn sample(&mut self, now: Instant, tree: &ProcessTree, guard: &ResourceGuard) {
        let usage = tree::usage(tree.leader, tree.containment);
        let cpu = match guard.counts_cpu() {
            true => guard.cpu(),
            false => Some(usage.cpu),
        };
        self.activity.sample(ActivitySample { at: now, cpu, written: usage.written });
        self.publish(now);
        let took = now.elapsed();
        self.next_sample = now + (took * SHARE).max(self.activity.pause());
    }

    /// Leaves the moment of the last activity as the time of a file, for whoever looks at the attempt from
    /// elsewhere. It decides nothing: that it cannot be written is no fault.
    fn publish(&mut self, now: Instant) {
        let last = self.activity.last();
        if last == self.published.last || now < self.published.at + PUBLISHED_EVERY {
            return;
        }
        let told =
            files::clock(&self.own).and_then(|clock| clock.checked_sub(now - last)).is_some_and(|at| {
                let file =
                    File::options().write(true).create(true).truncate(false).open(activity_path(&self.own));
                file.and_then(|file| file.set_modified(at)).is_ok()
            });
        if told {
            self.published = Published { at: now, last };
        }
    }

    /// A clock that is set meanwhile makes this wrong once.
    fn last_change(&self, now: Instant) -> Option<Instant> {
        let newest = self.dirs.iter().filter_map(|dir| files::newest_change(dir)).max()?;
        let age = files::clock(&self.own)?.duration_since(newest).unwrap_or(Duration::ZERO);
        now.checked_sub(age)
    }
}
