//! The operator: commands and signals at random moments while the loop runs,
//! and what a person does once it rests.

use windlass_core::effect::Effect;
use windlass_core::id::TaskId;
use windlass_core::input::{Asked, Command, Input};
use windlass_core::outcome::OutcomeKind;
use windlass_core::state::TaskStatus;

use super::drive::{End, Halt, Loop};
use super::options::Operator;

const RESTARTS: u32 = 3;

impl Loop {
    /// Sends a command now and then; one that waits is taken.
    pub(super) fn operator_acts(&mut self) -> Result<(), Halt> {
        if self.options.operator == Operator::Asleep {
            return Ok(());
        }
        if self.chance.one_in(25) {
            let command = self.command();
            self.send(command);
        }
        if self.chance.one_in(60) {
            self.give(Input::Interrupted { signal: "SIGTERM".to_owned() }, None)?;
        }
        self.take_commands()
    }

    /// Whether there is another drive.
    pub(super) fn between_drives(&mut self, end: End) -> Result<bool, Halt> {
        if self.options.operator == Operator::Asleep {
            return Ok(false);
        }
        self.asked = self.wish();
        match end {
            End::Paused => self.resume(),
            End::Ended(OutcomeKind::Completed) => Ok(false),
            End::Ended(OutcomeKind::Stopped) => {
                self.restarts += 1;
                Ok(self.restarts < RESTARTS)
            }
            End::Ended(_) => self.restart(),
        }
    }

    fn resume(&mut self) -> Result<bool, Halt> {
        match self.chance.below(5) {
            0 => return Ok(false),
            1 => {
                self.send(Command::Cancel);
                self.take_commands()?;
                self.drop_what_waits()?;
            }
            _ => {
                self.send(Command::Resume);
                self.take_commands()?;
            }
        }
        Ok(true)
    }

    /// Nobody drives the loop: what was never started is given up, if leaving it
    /// undone is the same as doing it.
    fn drop_what_waits(&mut self) -> Result<(), Halt> {
        if self.chance.one_in(2) {
            return Ok(());
        }
        self.close_what_was_lost()?;
        let waits = self.state.outstanding().next().filter(|(_, effect)| may_be_dropped(effect));
        match waits.map(|(id, _)| id) {
            Some(id) => self.give(Input::EffectDropped, Some(id)),
            None => Ok(()),
        }
    }

    fn restart(&mut self) -> Result<bool, Halt> {
        if self.restarts >= RESTARTS || self.chance.one_in(3) {
            return Ok(false);
        }
        self.restarts += 1;
        let blocked = self.state.tasks.iter().filter(|task| task.status == TaskStatus::Blocked);
        let blocked: Vec<TaskId> = blocked.map(|task| task.task.id.clone()).collect();
        for task in blocked {
            if self.chance.one_in(3) {
                self.send(Command::WaiveTask { task, why: "not needed".to_owned() });
            } else {
                self.send(Command::Unblock { task });
            }
        }
        self.send(Command::Restart);
        self.take_commands()?;
        Ok(true)
    }

    /// Durable once sent, taken exactly once.
    fn send(&mut self, command: Command) {
        self.sent = self.sent.next();
        self.commands.push((self.sent, command));
    }

    fn take_commands(&mut self) -> Result<(), Halt> {
        while let Some((id, command)) = self.commands.first().cloned() {
            self.give(Input::Commanded { id, command }, None)?;
        }
        Ok(())
    }

    fn command(&mut self) -> Command {
        let at = usize::try_from(self.chance.below(self.state.tasks.len() as u64)).expect("an index fits");
        let task = self.state.tasks[at].task.id.clone();
        let why = "because".to_owned();
        let finding = self.state.findings.keys().next_back().cloned();
        match self.chance.below(12) {
            0 | 1 => Command::Pause,
            2 | 3 => Command::Resume,
            4 => Command::Cancel,
            5 => Command::Restart,
            6 => Command::Unblock { task },
            7 => Command::WaiveTask { task, why },
            8 => finding.map_or(Command::Pause, |finding| Command::WaiveFinding { finding, why }),
            9 | 10 => Command::Steer { text: why },
            _ => Command::Note { text: why },
        }
    }

    fn wish(&mut self) -> Asked {
        let task = || Some(TaskId::new("t0"));
        match self.chance.below(10) {
            0 => Asked { task: task(), ..Asked::default() },
            1 => Asked { until: task(), ..Asked::default() },
            2 => Asked { max: 2, ..Asked::default() },
            3 => Asked { no_review: true, ..Asked::default() },
            _ => Asked::default(),
        }
    }
}

/// A tree must be recorded, and a landing may have happened.
fn may_be_dropped(effect: &Effect) -> bool {
    match effect {
        Effect::PrepareWorkspace { .. } | Effect::RunGate { .. } => true,
        Effect::CallAgent { .. } | Effect::Snapshot(_) | Effect::Land { .. } => false,
    }
}
