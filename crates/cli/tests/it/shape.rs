//! The one object `status --json` prints, as the contract has it.

use serde_json::Value;

const FIELDS: &[&str] = &[
    "schema",
    "loop",
    "status",
    "outcome",
    "phase",
    "iteration",
    "max_iterations",
    "goal",
    "started_at",
    "ended_at",
    "workspace",
    "agents",
    "sandbox",
    "unchecked",
    "unreviewed",
    "active_task",
    "attempt",
    "gate",
    "baseline",
    "final_gate",
    "tasks",
    "reviews",
    "last_review",
    "branch",
    "base",
    "commit",
    "tree",
    "findings",
    "open_findings",
    "limits",
    "pending",
    "usage",
    "usage_by_role",
    "usage_by_model",
    "completion_summary",
];
const TASK_FIELDS: &[&str] = &["id", "title", "status", "attempts", "failures", "rejections", "reason"];
const USAGE_FIELDS: &[&str] = &[
    "input_tokens",
    "output_tokens",
    "reasoning_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "cost_usd",
    "attempts_unknown",
];
const STATUSES: &[&str] = &["idle", "running", "waiting", "paused", "interrupted", "ended"];
const KINDS: &[&str] = &["completed", "stopped", "blocked", "limit", "cancelled", "failed"];
const TASK_STATUSES: &[&str] = &["pending", "active", "done", "blocked", "waived"];

#[track_caller]
pub fn check(view: &Value) {
    has(view, FIELDS);
    one_of(&view["status"], STATUSES);
    assert_eq!(view["status"] == "ended", !view["outcome"].is_null(), "an outcome iff ended: {view:#}");
    if !view["outcome"].is_null() {
        has(&view["outcome"], &["kind", "reason"]);
        one_of(&view["outcome"]["kind"], KINDS);
    }
    for task in list(&view["tasks"]) {
        has(task, TASK_FIELDS);
        one_of(&task["status"], TASK_STATUSES);
    }
    has(&view["usage"], USAGE_FIELDS);
    let used = [&view["usage_by_role"], &view["usage_by_model"]];
    for sum in used.into_iter().flat_map(|sums| sums.as_object().expect("sums by name").values()) {
        has(sum, USAGE_FIELDS);
    }
    has(&view["findings"], &["open_bugs", "open_warnings"]);
    for finding in list(&view["open_findings"]) {
        has(finding, &["id", "task", "severity", "file", "line", "description"]);
    }
    for limit in list(&view["limits"]) {
        has(limit, &["key", "scope", "unit", "used", "max", "left"]);
    }
    let gates = [&view["gate"], &view["baseline"], &view["final_gate"]];
    for gate in gates.into_iter().filter(|gate| !gate.is_null()) {
        has(gate, &["purpose", "task", "passed", "checks"]);
        list(&gate["checks"]).iter().for_each(|check| has(check, &["check", "passed", "flaky", "ending"]));
    }
    if !view["attempt"].is_null() {
        has(&view["attempt"], &["id", "role", "agent", "task", "started_at", "last_activity"]);
    }
    for (role, agent) in view["agents"].as_object().expect("agents is an object") {
        assert!(!role.is_empty());
        has(agent, &["adapter", "model"]);
    }
    assert!(view["schema"].as_str().is_some_and(|schema| !schema.is_empty()), "{view:#}");
    assert!(view["branch"].as_str().is_some_and(|branch| branch.starts_with("windlass/")), "{view:#}");
}

#[track_caller]
fn has(value: &Value, fields: &[&str]) {
    let object = value.as_object().unwrap_or_else(|| panic!("not an object: {value:#}"));
    let missing: Vec<_> = fields.iter().filter(|field| !object.contains_key(**field)).collect();
    assert!(missing.is_empty(), "missing {missing:?} in {value:#}");
}

#[track_caller]
fn one_of(value: &Value, words: &[&str]) {
    assert!(value.as_str().is_some_and(|word| words.contains(&word)), "{value} is none of {words:?}");
}

#[track_caller]
fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("not a list: {value:#}"))
}
