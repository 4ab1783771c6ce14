//! The real binary, end to end: real repositories, real processes, a home of
//! its own for every test. What is asserted is the contract other tools rely
//! on, never what the code happens to do.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::unwrap_used,
    reason = "tests start real programs, read the clock for deadlines and the environment for switches"
)]

mod case;
mod hidden;
mod history;
mod shape;

mod acceptance;
mod acp;
mod agents;
mod agents_output;
mod agents_processes;
mod agents_protected;
mod agents_vandals;
mod approval;
mod asked_tasks;
mod bad_input;
mod bad_surroundings;
mod base_terms;
mod briefs;
mod broken_tests;
mod bystanders;
mod cancel_at_rest;
mod confined;
mod container;
mod crash;
mod crash_kills;
mod crash_points;
mod damaged_store;
mod debug_log;
mod denied;
mod disk_full;
mod documented;
mod done_before;
mod explore;
mod final_phases;
mod first_look;
mod fix;
mod gate;
mod gate_cache;
mod gate_hardened;
mod goals;
mod inject;
mod kept_trees;
mod kept_work;
mod listed;
mod log;
mod lost_history;
mod operator;
mod operator_at_rest;
mod panics;
mod person;
mod pipes;
mod places;
mod planning;
mod plans;
mod planted;
mod predecessors;
mod prompts;
mod proposals;
mod prove;
mod prove_judged;
mod repositories;
mod repositories_refused;
mod reviews;
mod revised;
mod rm;
mod run_options;
mod scenarios;
mod scope;
mod screen;
mod secrets;
mod set;
mod set_up;
mod show;
mod signals;
mod stop;
mod take;
mod task_verbs;
mod terminal;
mod terms;
mod watched;
mod weakened;
mod workspace_setup;
