//! How long backoffs last by the log alone: their span on the monotonic clock, whatever
//! the wall clock was set to.

use windlass_core::event::{Decision, Event, PauseEvent, RunEvent};
use windlass_core::outcome::Reason;
use windlass_core::time::Millis;

/// More than passes between the end of a wait and the decision that says so.
const SLACK: u64 = 1000;

#[derive(Default)]
pub struct BackoffAudit {
    open: Option<OpenBackoff>,
}

struct OpenBackoff {
    span: Millis,
    waited: Millis,
    /// Another drive took over; how long nobody drove is not in the log.
    resumed: bool,
}

impl BackoffAudit {
    pub fn check(&mut self, decision: &Decision) -> Result<(), String> {
        if let Some(open) = &mut self.open {
            open.waited = Millis(open.waited.0 + decision.elapsed.0);
        }
        for event in &decision.events {
            if let Event::Pause(PauseEvent::WaitStarted { until, why }) = event {
                let span = until.since(decision.at);
                let open = OpenBackoff { span, waited: Millis(0), resumed: false };
                self.open = Some(open).filter(|_| *why == Reason::Backoff);
            } else if let Event::Pause(PauseEvent::WaitEnded) = event {
                self.ended()?;
            } else if let Event::Run(RunEvent::Resumed { .. }) = event {
                self.open.iter_mut().for_each(|open| open.resumed = true);
            }
        }
        Ok(())
    }

    fn ended(&mut self) -> Result<(), String> {
        let Some(OpenBackoff { span, waited, resumed }) = self.open.take() else { return Ok(()) };
        if waited.0 > span.0 + SLACK || (waited < span && !resumed) {
            return Err(format!("a backoff of {} ms took {} ms", span.0, waited.0));
        }
        Ok(())
    }
}
