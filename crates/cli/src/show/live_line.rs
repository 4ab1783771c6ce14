//! How a drive stands in one line, and what is happening at this moment.

use std::time::{Duration, Instant};

use windlass_app::clock;
use windlass_core::gate::Purpose;
use windlass_core::live::{Live, LiveStep};
use windlass_core::outcome::Reason;
use windlass_core::policy::Role;
use windlass_core::time::Millis;
use windlass_core::view::{LimitUnit, Status, View};

use super::counts::{self, is_done};
use super::text::columns;
use super::times;

/// Between the parts of a line.
const GAP: &str = "  ";

/// What is heard of the step that runs.
pub struct CurrentStep {
    what: Option<Doing>,
    since: Instant,
    /// Of the attempt that runs, as far as it says.
    tokens: u64,
    /// A pause holds back what is next.
    pub is_held: bool,
}

enum Doing {
    Step(LiveStep),
    Tool(String),
    Words(String),
}

impl CurrentStep {
    pub fn new() -> Self {
        Self { what: None, since: clock::now(), tokens: 0, is_held: false }
    }

    /// A step ended, or another begins.
    pub fn turn(&mut self) {
        *self = Self::new();
    }

    pub fn heard(&mut self, live: &Live) {
        match live {
            Live::Tokens(used) => self.tokens = used.tokens(),
            Live::StepStarted(step) => self.begin(Doing::Step(step.clone())),
            Live::ToolStarted(tool) => self.begin(Doing::Tool(format!("{}: {}", tool.name, tool.what))),
            Live::Text { text } => {
                if let Some(last) = text.lines().map(str::trim).rfind(|line| !line.is_empty()) {
                    self.begin(Doing::Words(last.to_owned()));
                }
            }
            Live::ToolFinished { .. } | Live::CheckFinished(_) => self.what = None,
            Live::Held => self.is_held = true,
            Live::Touched(_) | Live::Retry(_) | Live::RefusedCall(_) => {}
        }
    }

    fn begin(&mut self, what: Doing) {
        self.what = Some(what);
        self.since = clock::now();
    }

    /// What is happening, in a few words.
    pub fn words(&self, view: &View) -> String {
        let pause = || format!("paused by the operator; windlass resume {} goes on", view.name);
        if view.paused.is_some() && self.is_held {
            return pause();
        }
        if let Some(waiting) = &view.waiting {
            let (left, until) = (times::left(waiting.until), times::local(waiting.until));
            return format!("waiting, {left} left: {} (until {until})", waiting.words());
        }
        let for_so_long = times::counted(millis(self.since.elapsed()));
        match &self.what {
            Some(Doing::Step(LiveStep::Check { check, purpose: Purpose::Baseline })) => {
                format!("checking the base: {check}  {for_so_long}")
            }
            Some(Doing::Step(LiveStep::Check { check, .. })) => format!("check {check}  {for_so_long}"),
            Some(Doing::Step(LiveStep::BrokenTests { check })) => {
                format!("check {check}: is it red when its tests are broken?  {for_so_long}")
            }
            Some(Doing::Step(LiveStep::Regression { check })) => {
                format!("check {check}: is it red without the fix?  {for_so_long}")
            }
            Some(Doing::Step(LiveStep::SetUp { command })) => format!("set-up: {command}  {for_so_long}"),
            Some(Doing::Tool(tool)) => format!("{tool}  {for_so_long}"),
            Some(Doing::Words(words)) => words.clone(),
            None if view.attempt.is_some() => format!("the agent works  {for_so_long}"),
            None if view.phase.is_none() && view.iteration == 0 => {
                format!("checking the base  {for_so_long}")
            }
            None => format!("getting the next step ready  {for_so_long}"),
        }
    }
}

/// Which task, which phase, who works, and what is used: in as many lines as it takes, none of them wider
/// than this unless one part is.
pub fn standing(view: &View, activity: &CurrentStep, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in standing_parts(view, activity) {
        match lines.last_mut() {
            Some(line) if columns(line) + GAP.len() + columns(&part) <= width => {
                line.push_str(GAP);
                line.push_str(&part);
            }
            Some(_) => lines.push(format!("{GAP}{part}")),
            None => lines.push(part),
        }
    }
    lines
}

fn standing_parts(view: &View, activity: &CurrentStep) -> Vec<String> {
    let done = view.tasks.iter().filter(|task| is_done(task.status)).count();
    let all = view.tasks.len();
    let task = match &view.active_task {
        Some(task) => format!("{task} (task {} of {all})", (done + 1).min(all)),
        None => counts::done(view),
    };
    let holds = view.paused.as_ref().is_some_and(|paused| paused.why == Reason::Operator);
    let phase = match (view.status, view.phase) {
        // What runs finishes first.
        (Status::Paused, _) if holds && !activity.is_held => "pausing",
        (Status::Waiting | Status::Paused, _) => view.status.name(),
        (_, Some(phase)) => phase.name(),
        (_, None) if view.iteration == 0 => "starting",
        (_, None) => "next task",
    };
    let attempt = view.attempt.as_ref().map(|attempt| format!("attempt {}", attempt.id));
    let role = view.attempt.as_ref().map_or(Role::Author, |attempt| attempt.role);
    let parts = [
        Some(task),
        Some(phase.to_owned()),
        attempt,
        Some(agent(view, role)),
        view.started_at.map(times::since),
    ];
    let all = parts.into_iter().flatten().chain(used(view, activity)).chain(left(view));
    all.filter(|part| !part.is_empty()).collect()
}

/// With its model, where one is named.
pub fn agent(view: &View, role: Role) -> String {
    let Some(agent) = view.agents.get(&role) else { return String::new() };
    format!("{} {}", agent.adapter, agent.model).trim_end().to_owned()
}

fn used(view: &View, activity: &CurrentStep) -> Vec<String> {
    let tokens = view.usage.tokens().saturating_add(activity.tokens);
    let cost = view.usage.cost_usd;
    let cost = (tokens > 0 && cost > 0.0).then(|| format!("${cost:.2}"));
    let tokens = (tokens > 0).then(|| format!("{} tokens", short_count(tokens)));
    tokens.into_iter().chain(cost).collect()
}

/// Of each budget that is set.
fn left(view: &View) -> Vec<String> {
    let of = |unit: LimitUnit, left: u64| match unit {
        LimitUnit::Count => None,
        LimitUnit::Milliseconds => Some(format!("{} left", times::counted(Millis(left)))),
        LimitUnit::Tokens => Some(format!("{} tokens left", short_count(left))),
        LimitUnit::MicroUsd => Some(format!("${}.{:02} left", left / 1_000_000, left % 1_000_000 / 10_000)),
    };
    view.limits.iter().filter_map(|limit| of(limit.unit, limit.left?)).collect()
}

fn short_count(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..1_000_000 => format!("{}k", count / 1000),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

fn millis(span: Duration) -> Millis {
    Millis(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use windlass_core::event::Phase;
    use windlass_core::live::ToolCall;
    use windlass_core::view::{PauseView, WaitView};

    use super::super::sample::view;
    use super::*;

    #[test]
    fn what_happens_is_told_by_what_was_heard_last() {
        let mut activity = CurrentStep::new();
        let at_work = |activity: &CurrentStep, view: &View| activity.words(view);
        assert_eq!(at_work(&activity, &view()), "checking the base  0:00");
        let check = LiveStep::Check { check: "test".to_owned(), purpose: Purpose::Baseline };
        activity.heard(&Live::StepStarted(check));
        assert_eq!(at_work(&activity, &view()), "checking the base: test  0:00");
        activity.turn();
        activity.heard(&Live::StepStarted(LiveStep::SetUp { command: "npm ci".to_owned() }));
        assert_eq!(at_work(&activity, &view()), "set-up: npm ci  0:00");
        let tool = ToolCall { id: "1".to_owned(), name: "shell".to_owned(), what: "cargo test".to_owned() };
        activity.heard(&Live::ToolStarted(tool.clone()));
        assert_eq!(at_work(&activity, &view()), "shell: cargo test  0:00");
        activity.heard(&Live::ToolFinished { tool, exit: Some(0), ok: true });
        activity.heard(&Live::Text { text: "first\n\nlast words\n".to_owned() });
        assert_eq!(at_work(&activity, &view()), "last words");
    }

    #[test]
    fn a_wait_has_its_reason_its_end_and_a_countdown() {
        let until = clock::wall().plus(Millis::minutes(5));
        let waiting = Some(WaitView { until, why: Reason::UsageLimit, detail: String::new() });
        let view = View { status: Status::Waiting, waiting, phase: Some(Phase::Execute), ..view() };
        let words = CurrentStep::new().words(&view);
        assert!(
            words.starts_with("waiting, 5:00 left: ") || words.starts_with("waiting, 4:59 left: "),
            "{words}"
        );
        assert!(words.contains(" left: the agent's usage limit is reached (until "), "{words}");
        let standing = standing(&view, &CurrentStep::new(), 80).concat();
        assert!(standing.contains("  waiting  ") && !standing.contains("execute"), "{standing}");
    }

    #[test]
    fn what_does_not_fit_beside_the_rest_has_a_line_of_its_own() {
        let mut activity = CurrentStep::new();
        activity.tokens = 1550;
        let view = View { phase: Some(Phase::Execute), ..view() };
        let wide = standing(&view, &activity, usize::MAX);
        assert_eq!(wide.len(), 1, "{wide:?}");
        let all = wide.concat();
        let narrow = standing(&view, &activity, columns(&all) - 1);
        assert_eq!(narrow.concat(), all, "nothing is cut: {narrow:?}");
        assert_eq!(narrow[1], "  1550 tokens");
    }

    #[test]
    fn a_loop_is_pausing_until_nothing_runs() {
        let paused = Some(PauseView { why: Reason::Operator, detail: String::new() });
        let view = View { status: Status::Paused, paused, phase: Some(Phase::Execute), ..view() };
        let mut activity = CurrentStep::new();
        assert!(standing(&view, &activity, 80).concat().contains("  pausing  "));
        activity.heard(&Live::Held);
        assert!(standing(&view, &activity, 80).concat().contains("  paused  "));
    }

    #[test]
    fn large_counts_are_short() {
        assert_eq!(short_count(9_999), "9999");
        assert_eq!(short_count(81_234), "81k");
        assert_eq!(short_count(1_250_000), "1.2M");
    }
}
