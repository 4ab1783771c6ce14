//! The real binary, aborted at the Nth durable write, spawn and ref update of
//! a loop of three tasks, for every N there is.

use std::os::unix::process::ExitStatusExt as _;

use windlass_testkit::{Scratch, capability};

use crate::case::{LOOP, RUN};
use crate::crash::{ends_the_same, has_flock, three_tasks};

const ABORTED: i32 = 6;
/// Far beyond what three tasks can hit.
const TOO_MANY: u32 = 500;

/// Aborts at every hit of a point in turn, and wants at least `least` of them.
#[track_caller]
fn every(point: &str, least: u32) {
    let Some(binary) = capability::failpoints_binary() else { return };
    if !has_flock() {
        return;
    }
    for hit in 1..TOO_MANY {
        let case = three_tasks(Scratch::exactly(&binary));
        let mut command = case.command(&["run", "--name", LOOP]);
        command.env("FAILPOINTS", action(point, hit));
        let ran = case.home.start(command).finish(RUN);
        let how = format!("{point}, hit {hit}");
        match (ran.status.signal(), ran.status.code()) {
            (Some(ABORTED), _) => ends_the_same(&case, &how),
            (_, Some(0)) => {
                assert!(hit > least, "{point} was hit {} times only", hit - 1);
                return;
            }
            _ => panic!("{how}: neither aborted nor done: {ran}"),
        }
    }
    panic!("{point} is hit without end");
}

fn action(point: &str, hit: u32) -> String {
    match hit {
        1 => format!("{point}=return"),
        later => format!("{point}={}*off->return", later - 1),
    }
}

#[test]
fn before_each_durable_write() {
    every("store::before_commit", 12);
}

#[test]
fn after_each_durable_write() {
    every("store::after_commit", 12);
}

#[test]
fn before_each_spawn() {
    every("process::spawn", 8);
}

#[test]
fn after_each_spawn() {
    every("process::started", 8);
}

#[test]
fn before_each_pack() {
    every("workspace::pack", 3);
}

#[test]
fn before_each_ref_update() {
    every("workspace::before_ref", 3);
}

#[test]
fn after_each_ref_update() {
    every("workspace::after_ref", 3);
}
