//! Plays a scenario's inputs against the core and writes down what it decides.

use std::fmt::Write;

use windlass_core::effect::Effect;
use windlass_core::event::Decision;
use windlass_core::gate::Trials;
use windlass_core::id::{CommandId, EffectId, Nonce, Seq, TreeId};
use windlass_core::input::{Input, Stamped};
use windlass_core::state::{Deadline, State};
use windlass_core::step::{create, step};
use windlass_core::time::{Millis, Timestamp};

use crate::script::{Scenario, span};
use crate::{history, input, setup, show};

/// 2026-01-01T00:00:00Z.
const START: Timestamp = Timestamp(1_767_225_600_000);
const TICK: Millis = Millis::seconds(1);

pub fn play(scenario: &Scenario) -> String {
    let created = create(START, setup::creation(&scenario.setup));
    let state = State::created_by(&created).expect("the first decision creates the loop");
    let mut play = Play {
        state,
        log: vec![created],
        now: START,
        elapsed: Millis(0),
        commands: 0,
        trees: 0,
        driver: Driver::Alive,
        out: String::new(),
    };
    for line in &scenario.inputs {
        play.line(&line.iter().map(String::as_str).collect::<Vec<_>>());
    }
    history::agrees(&play.log, &play.state);
    play.out + &show::view(&play.state)
}

struct Play {
    state: State,
    log: Vec<Decision>,
    now: Timestamp,
    /// Since the last input, on the driver's own clock.
    elapsed: Millis,
    commands: u64,
    trees: u32,
    driver: Driver,
    out: String,
}

#[derive(PartialEq)]
enum Driver {
    Alive,
    /// It died: nothing it ran is alive, and it has not been started again.
    Dead,
}

impl Play {
    fn line(&mut self, words: &[&str]) {
        self.said(&quoted(words));
        match words {
            ["wait", time] => self.pass(Millis(span(time))),
            ["clock", "back", time] => self.now = Timestamp(self.now.0 - span(time) as i64),
            ["clock", "on", time] => self.now = self.now.plus(Millis(span(time))),
            ["crash"] => {
                self.driver = Driver::Dead;
                self.state = self.folded();
            }
            ["run", rest @ ..] => {
                self.elapsed = Millis(0);
                self.give(input::asked(rest), None);
                self.close_what_was_lost();
            }
            // With the id of the command before it.
            ["command", "again", rest @ ..] => self.command(rest),
            ["command", "unreadable", why] => {
                self.commands += 1;
                let id = CommandId(self.commands);
                self.give(Input::UnreadableCommand { id, why: (*why).to_owned() }, None);
            }
            ["command", rest @ ..] => {
                self.commands += 1;
                self.command(rest);
            }
            ["signal", name] => self.give(Input::Interrupted { signal: (*name).to_owned() }, None),
            ["full", detail] => self.give(Input::StoreFull { detail: (*detail).to_owned() }, None),
            ["deadline"] => self.deadline(),
            ["deadline", "early"] => self.give(Input::DeadlinePassed, None),
            ["stray", rest @ ..] => {
                let what = self.closing(rest);
                self.give(what, Some(EffectId(999)));
            }
            words => {
                let what = self.closing(words);
                let closes = self.state.outstanding().next().map(|(id, _)| id);
                self.give(what, closes);
            }
        }
    }

    fn command(&mut self, words: &[&str]) {
        let command = match words {
            ["revise", rest @ ..] => setup::revision(&self.state, rest),
            ["amend", rest @ ..] => setup::amendment(rest),
            words => input::command(words),
        };
        let id = CommandId(self.commands);
        self.give(Input::Commanded { id, command }, None);
    }

    /// Inputs that answer the outstanding effect.
    fn closing(&mut self, words: &[&str]) -> Input {
        match words {
            ["merged", rest @ ..] => match self.state.outstanding().next() {
                Some((_, Effect::MergeWork { base, work, .. })) => input::merge(rest, base, work),
                Some(_) | None => input::merge(rest, &TreeId::new("none"), &TreeId::new("none")),
            },
            ["ready"] => Input::WorkspaceReady,
            ["agent", rest @ ..] => input::agent(rest, self.now),
            ["tree", "new", rest @ ..] => {
                self.trees += 1;
                input::tree(&format!("N{}", self.trees), rest)
            }
            ["tree", name, rest @ ..] => input::tree(name, rest),
            ["gate", rest @ ..] => {
                let (checks, trials) = match self.state.outstanding().next() {
                    Some((_, Effect::RunGate { checks, tree, trusted, .. })) => {
                        let trials = Trials { trusted: trusted.clone(), ..Trials::only(tree.clone()) };
                        (checks.clone(), trials)
                    }
                    Some(_) | None => (Vec::new(), Trials::only(TreeId::new("none"))),
                };
                input::gate(rest, &checks, &trials)
            }
            ["review", rest @ ..] => input::review(rest),
            ["landed"] => Input::Landed,
            ["stop", held @ ..] => input::stop(held, &self.state),
            ["failed", reason, detail] => input::fault(reason, detail),
            ["dropped"] => Input::EffectDropped,
            other => panic!("an input is not understood: {other:?}"),
        }
    }

    fn give(&mut self, what: Input, closes: Option<EffectId>) {
        if !matches!(what, Input::RunAsked(_)) {
            self.pass(TICK);
        }
        let fresh = Nonce::new(format!("nonce-{}", self.log.len()));
        let elapsed = std::mem::take(&mut self.elapsed);
        let stamped = Stamped { at: self.now, elapsed, fresh, closes, what };
        let decision = step(&self.state, &stamped);
        self.log.push(stored(&decision));
        self.state.apply(Seq(self.log.len() as u64), &decision);
        assert_eq!(self.state, self.folded(), "the state is the fold of the log");
        for event in &decision.events {
            writeln!(self.out, "    {event}").expect("a string takes it");
        }
        for issued in &decision.effects {
            self.out += &show::effect(&self.state, &issued.effect);
        }
        self.out += &show::held(&self.state);
    }

    fn close_what_was_lost(&mut self) {
        let lost = std::mem::replace(&mut self.driver, Driver::Alive) == Driver::Dead;
        let outstanding = self.state.outstanding().next();
        if let Some((id, Effect::CallAgent { .. })) = outstanding
            && lost
        {
            self.said("(the attempt is lost)");
            self.give(input::agent(&["lost"], self.now), Some(id));
        }
    }

    fn deadline(&mut self) {
        let due = self.state.next_deadline().expect("a deadline is set");
        self.pass(match due {
            Deadline::At(moment) => moment.since(self.now),
            Deadline::After(left) => Millis(left.0.saturating_sub(self.elapsed.0)),
        });
        self.give(Input::DeadlinePassed, None);
    }

    fn folded(&self) -> State {
        let mut state = State::created_by(&self.log[0]).expect("the first decision creates the loop");
        for (seq, decision) in (2..).zip(&self.log[1..]) {
            state.apply(Seq(seq), decision);
        }
        state
    }

    fn pass(&mut self, span: Millis) {
        self.now = self.now.plus(span);
        self.elapsed = Millis(self.elapsed.0 + span.0);
    }

    fn said(&mut self, line: &str) {
        writeln!(self.out, "> {line}").expect("a string takes it");
    }
}

fn quoted(words: &[&str]) -> String {
    let quote = |word: &&str| match word.is_empty() || word.contains(' ') {
        true => format!("\"{word}\""),
        false => (*word).to_owned(),
    };
    words.iter().map(quote).collect::<Vec<_>>().join(" ")
}

/// A decision as it comes back from the log.
fn stored(decision: &Decision) -> Decision {
    let text = serde_json::to_string(decision).expect("a decision is stored");
    let read: Decision = serde_json::from_str(&text).expect("a stored decision is read");
    assert_eq!(&read, decision, "a decision reads back as it was: {text}");
    read
}
