//! Texts in, plans or refusals out, as text.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod checklist;
mod codescribe;
mod drawings;
mod files;
mod formats;
mod fuzzed;
mod github_issues;
mod guide;
mod milestones;
mod prd;
mod sizes;
mod task_file;
mod tasks_dir;
