//! Crashes at a commit, exactly: `cargo test -p windlass-store --features failpoints`.
#![cfg(feature = "failpoints")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use support::{append, child, child_vault, read_all, vault};
use windlass_store::{VaultDir, open};

mod support;

fn append_until_it_crashes(vault: &VaultDir) {
    let _scenario = fail::FailScenario::setup();
    let store = open(vault).unwrap();
    for expected in 0..10 {
        append(&*store, "demo", expected).unwrap();
    }
}

#[test]
fn a_crash_before_the_commit_loses_the_record_and_one_after_it_keeps_it() {
    if let Some(vault) = child_vault() {
        return append_until_it_crashes(&vault);
    }
    for (point, stored) in [("store::before_commit", 2), ("store::after_commit", 3)] {
        let vault = vault();
        let test = "a_crash_before_the_commit_loses_the_record_and_one_after_it_keeps_it";
        let mut child = child(test, vault.temp.path());
        let status = child.env("FAILPOINTS", format!("{point}=2*off->return")).status().unwrap();
        assert!(!status.success());
        let store = open(&vault.dir).unwrap();
        assert_eq!(read_all(&*store, "demo").unwrap().len(), stored, "{point}");
    }
}
