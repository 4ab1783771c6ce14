//! How a drive hears that its process is asked to stop. Signals belong to the
//! process; whoever watches them raises an interrupt, and every drive in the
//! process that listens is told.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Listener = Arc<dyn Fn(&str) + Send + Sync>;

#[derive(Clone, Default)]
pub struct Interrupts(Arc<Mutex<Listeners>>);

#[derive(Default)]
struct Listeners {
    next: u64,
    by_id: BTreeMap<u64, Listener>,
}

impl Interrupts {
    pub fn new() -> Self {
        Self::default()
    }

    /// Tells everyone who listens; `signal` is its name.
    pub fn raise(&self, signal: &str) {
        let listeners: Vec<Listener> = self.locked().by_id.values().cloned().collect();
        listeners.iter().for_each(|listener| listener(signal));
    }

    /// Listens until what is returned is dropped.
    pub fn listen(&self, listener: impl Fn(&str) + Send + Sync + 'static) -> Listening {
        let mut listeners = self.locked();
        let id = listeners.next;
        listeners.next += 1;
        listeners.by_id.insert(id, Arc::new(listener));
        Listening { id, of: self.clone() }
    }

    fn locked(&self) -> MutexGuard<'_, Listeners> {
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
}
