//! How a drive hears that its process is asked to stop. Signals belong to the
//! process; whoever watches them raises an interrupt, and every drive in the
//! process that listens is told. A process that was asked to stop stays asked:
//! a drive that starts to listen later is told at once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Listener = Arc<dyn Fn(&str) + Send + Sync>;

#[derive(Clone, Default)]
pub struct Interrupts(Arc<Mutex<InterruptState>>);

#[derive(Default)]
struct InterruptState {
    next: u64,
    by_id: BTreeMap<u64, Listener>,
    /// The name of the last signal.
    raised: Option<String>,
}

impl Interrupts {
    pub fn new() -> Self {
        Self::default()
    }

    /// Tells everyone who listens, and everyone who will; `signal` is its name.
    pub fn raise(&self, signal: &str) {
        let mut state = self.locked();
        state.raised = Some(signal.to_owned());
        let listeners: Vec<Listener> = state.by_id.values().cloned().collect();
        drop(state);
        listeners.iter().for_each(|listener| listener(signal));
    }

    pub fn is_raised(&self) -> bool {
        self.locked().raised.is_some()
    }

    /// Listens until what is returned is dropped. What was raised before is
    /// told before this returns.
    pub fn listen(&self, listener: impl Fn(&str) + Send + Sync + 'static) -> Listening {
        let listener: Listener = Arc::new(listener);
        let mut state = self.locked();
        let id = state.next;
        state.next += 1;
        state.by_id.insert(id, Arc::clone(&listener));
        let raised = state.raised.clone();
        drop(state);
        if let Some(signal) = raised {
            listener(&signal);
        }
        Listening { id, of: self.clone() }
    }

    fn locked(&self) -> MutexGuard<'_, InterruptState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub struct Listening {
    id: u64,
    of: Interrupts,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.of.locked().by_id.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn who_listens_is_told_until_he_stops() {
        let interrupts = Interrupts::new();
        let (to, told) = channel();
        let listening = interrupts.listen(move |signal| drop(to.send(signal.to_owned())));
        interrupts.raise("SIGINT");
        drop(listening);
        interrupts.raise("SIGTERM");
        assert_eq!(told.iter().collect::<Vec<_>>(), ["SIGINT"]);
    }

    #[test]
    fn who_listens_too_late_is_told_at_once() {
        let interrupts = Interrupts::new();
        assert!(!interrupts.is_raised());
        interrupts.raise("SIGINT");
        assert!(interrupts.is_raised());
        for _ in 0..2 {
            let (to, told) = channel();
            drop(interrupts.listen(move |signal| drop(to.send(signal.to_owned()))));
            assert_eq!(told.iter().collect::<Vec<_>>(), ["SIGINT"]);
        }
    }
}
