use windlass_core::time::Timestamp;
use windlass_store::{Holder, LeaseError, LeaseOwner};

use crate::Engine;
use crate::support::name;

pub fn a_second_owner_is_refused_and_told_who_holds_it(engine: &dyn Engine) {
    let (one, two) = (engine.open(), engine.open());
    let owner = LeaseOwner { pid: std::process::id(), since: Timestamp(1_700_000_000_000) };
    let _lease = one.lease(&name("demo"), owner.since).unwrap();
    let later = Timestamp(owner.since.0 + 62_000);
    for store in [&one, &two] {
        assert_eq!(store.holder(&name("demo")).unwrap(), Holder::Somebody(Some(owner.clone())));
        let refused = store.lease(&name("demo"), later).err().expect("it is held");
        let told = format!("loop demo is driven by process {}, for 1 min 02 s now", owner.pid);
        assert_eq!(refused.to_string(), told);
        match refused {
            LeaseError::Held { name: of, owner: found, now: _ } => {
                assert_eq!((of, found), (name("demo"), Some(owner.clone())));
            }
            LeaseError::Io { path, source } => panic!("{}: {source}", path.display()),
        }
    }
}

pub fn a_lease_that_is_dropped_is_free(engine: &dyn Engine) {
    let (one, two) = (engine.open(), engine.open());
    assert_eq!(one.holder(&name("demo")).unwrap(), Holder::Nobody);
    for at in 1..4 {
        drop(one.lease(&name("demo"), Timestamp(at)).unwrap());
        assert_eq!(two.holder(&name("demo")).unwrap(), Holder::Nobody);
        let lease = two.lease(&name("demo"), Timestamp(at)).unwrap();
        assert!(one.holder(&name("demo")).unwrap().is_held());
        drop(lease);
    }
}

pub fn a_lease_is_of_one_loop(engine: &dyn Engine) {
    let store = engine.open();
    let _one = store.lease(&name("one"), Timestamp(0)).unwrap();
    assert!(!store.holder(&name("two")).unwrap().is_held());
    let two = store.lease(&name("two"), Timestamp(0)).unwrap();
    drop(two);
    assert!(store.holder(&name("one")).unwrap().is_held());
}

pub fn a_lease_outlives_the_handle_it_was_taken_through(engine: &dyn Engine) {
    let lease = engine.open().lease(&name("demo"), Timestamp(0)).unwrap();
    let store = engine.open();
    assert!(store.holder(&name("demo")).unwrap().is_held());
    drop(lease);
    store.lease(&name("demo"), Timestamp(0)).unwrap();
}
