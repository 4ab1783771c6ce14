//! Being told that something came, instead of asking again and again. A wake
//! says that there may be something new; whoever is woken looks for himself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use windlass_core::id::LoopName;

use crate::log::StoreError;

/// Called from any thread. It must return at once.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// What a follower wants to hear of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Followed {
    Records,
    Commands,
}

impl Followed {
    pub const ALL: [Self; 2] = [Self::Records, Self::Commands];
}

pub trait Follow: Send + Sync {
    /// Calls `wake` after each record or command that this or another process
    /// stores from now on, until the subscription is dropped. Several at once
    /// may be one call. What came before is not told: subscribe, then look.
    fn follow(&self, name: &LoopName, what: Followed, wake: Wake) -> Result<Subscription, StoreError>;
}

/// Ends when it is dropped.
pub struct Subscription {
    id: u64,
    of: Weak<Mutex<Followers>>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(followers) = self.of.upgrade() {
            locked(&followers).by_id.remove(&self.id);
        }
    }
}

/// Those who follow loops of one store in this process.
#[derive(Clone, Default)]
pub(crate) struct Subscribers(Arc<Mutex<Followers>>);

#[derive(Default)]
struct Followers {
    next: u64,
    by_id: BTreeMap<u64, (LoopName, Followed, Wake)>,
}

impl Subscribers {
    pub(crate) fn add(&self, name: &LoopName, what: Followed, wake: Wake) -> Subscription {
        let mut followers = locked(&self.0);
        let id = followers.next;
        followers.next += 1;
        followers.by_id.insert(id, (name.clone(), what, wake));
        Subscription { id, of: Arc::downgrade(&self.0) }
    }

    pub(crate) fn wake(&self, name: &LoopName, what: Followed) {
        self.wake_where(|of, followed| of == name && followed == what);
    }

    pub(crate) fn wake_all(&self) {
        self.wake_where(|_, _| true);
    }

    fn wake_where(&self, which: impl Fn(&LoopName, Followed) -> bool) {
        let woken: Vec<Wake> = {
            let followers = locked(&self.0);
            let all = followers.by_id.values();
            all.filter(|(name, what, _)| which(name, *what)).map(|(_, _, wake)| Arc::clone(wake)).collect()
        };
        woken.iter().for_each(|wake| wake());
    }
}

fn locked(followers: &Mutex<Followers>) -> MutexGuard<'_, Followers> {
    followers.lock().unwrap_or_else(PoisonError::into_inner)
}
