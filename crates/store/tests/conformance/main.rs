//! What the traits promise, shown of every engine: each case is a test of
//! `sqlite` and one of `memory`. A case gets an engine with nothing in it, and
//! may open it more than once, as several processes would.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::sync::Arc;

use windlass_store::{MemoryStore, Store};

mod blobs;
mod follow;
mod history;
mod inbox;
mod lease;
mod log;
#[path = "../support/mod.rs"]
mod support;

pub trait Engine {
    fn open(&self) -> Arc<dyn Store>;
}

struct Sqlite(support::Vault);

impl Sqlite {
    fn new() -> Self {
        Self(support::vault())
    }
}

impl Engine for Sqlite {
    fn open(&self) -> Arc<dyn Store> {
        windlass_store::open(&self.0.dir).unwrap()
    }
}

struct Memory(MemoryStore);

impl Memory {
    fn new() -> Self {
        Self(MemoryStore::new())
    }
}

impl Engine for Memory {
    fn open(&self) -> Arc<dyn Store> {
        Arc::new(self.0.clone())
    }
}

macro_rules! conformance {
    ($($part:ident { $($case:ident)* })*) => {
        mod sqlite {
            $(mod $part {
                $(#[test]
                fn $case() {
                    crate::$part::$case(&crate::Sqlite::new());
                })*
            })*
        }

        mod memory {
            $(mod $part {
                $(#[test]
                fn $case() {
                    crate::$part::$case(&crate::Memory::new());
                })*
            })*
        }
    };
}

conformance! {
    log {
        records_are_read_back_in_order_with_their_chain
        a_loop_is_created_by_its_first_record_and_by_no_other
        a_second_owner_is_fenced_out
        of_all_writers_racing_for_a_place_one_gets_it
        a_refused_record_leaves_nothing
        events_are_counted_over_the_whole_log
        a_page_may_begin_anywhere_and_have_any_limit
        a_replay_goes_on_over_pages
        loops_are_listed_by_name
        the_view_and_its_version_are_those_of_the_last_record
        loops_do_not_touch_one_another
        an_unknown_loop_has_no_end_and_no_records
    }
    inbox {
        commands_come_back_in_order_as_they_were_sent
        a_command_of_an_unknown_loop_is_refused
        each_loop_has_its_own_inbox_and_ids_grow_over_all
        a_record_changes_nothing_in_the_inbox
    }
    blobs {
        a_blob_is_readable_before_and_after_the_record
        a_blob_is_readable_by_another_once_a_command_is_sent
        a_blob_is_readable_by_another_once_a_record_is_stored
        the_same_bytes_have_the_same_id
        a_blob_that_was_not_put_is_missing
        an_id_that_is_none_is_refused
        a_blob_above_the_limit_is_refused
    }
    lease {
        a_second_owner_is_refused_and_told_who_holds_it
        a_lease_that_is_dropped_is_free
        a_lease_is_of_one_loop
        a_lease_outlives_the_handle_it_was_taken_through
    }
    follow {
        a_record_wakes_once_it_can_be_read
        a_command_wakes_once_it_can_be_read
        every_follower_is_woken
        neither_another_loop_nor_the_other_kind_wakes
        a_refused_record_and_a_refused_command_wake_nobody
        a_subscription_that_was_dropped_is_not_called
        what_came_before_is_not_told
    }
    history {
        the_fold_is_the_state_of_whoever_wrote_the_log
        each_record_is_shown_with_the_state_after_it
        decisions_may_be_read_from_any_record_on
        a_loop_that_is_not_there_has_no_history
        a_record_that_holds_no_decision_is_named
        a_log_that_does_not_begin_with_a_creation_is_refused
        the_kept_view_of_this_fold_is_used_as_it_is
        a_view_of_another_fold_is_made_anew
        a_kept_view_that_cannot_be_read_is_made_anew
    }
}

#[test]
fn equal_logs_have_equal_hashes_in_every_engine() {
    let engines: [&dyn Engine; 2] = [&Sqlite::new(), &Memory::new()];
    let ends = engines.map(|engine| {
        let store = engine.open();
        for expected in 0..5 {
            support::append(&*store, "demo", expected).unwrap();
        }
        store.head(&support::name("demo")).unwrap().unwrap()
    });
    assert_eq!(ends[0], ends[1]);
}
