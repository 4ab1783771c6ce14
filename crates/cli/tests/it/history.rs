//! A loop's log, read back from its JSON lines alone, and what must hold of
//! any such log. It shares no code with what wrote it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

pub struct History {
    lines: Vec<Value>,
}

/// What may still be written after a run has ended.
const AFTER_THE_END: &[&str] = &[
    "command_taken",
    "input_refused",
    "noted",
    "steered",
    "task_waived",
    "task_unblocked",
    "finding_waived",
    "run_restarted",
    "plan_changed",
    "policy_changed",
];

impl History {
    #[track_caller]
    pub fn read(text: &str) -> Self {
        let parse = |line: &str| {
            serde_json::from_str(line).unwrap_or_else(|error| panic!("not JSON: {error}: {line}"))
        };
        Self { lines: text.lines().map(parse).collect() }
    }

    /// Every event of this kind, in order.
    pub fn of(&self, kind: &str) -> Vec<&Value> {
        self.lines.iter().filter(|line| line["event"] == kind).collect()
    }

    pub fn count(&self, kind: &str) -> usize {
        self.of(kind).len()
    }

    /// How many attempts counted towards a limit.
    pub fn counted(&self, limit: &str) -> usize {
        self.of("failure_counted").iter().filter(|line| line["limit"] == limit).count()
    }

    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// The events' names in order.
    pub fn kinds(&self) -> Vec<&str> {
        self.lines.iter().filter_map(|line| line["event"].as_str()).collect()
    }

    /// Every phase that was entered, in order.
    pub fn phases(&self) -> Vec<&str> {
        self.of("phase_entered").into_iter().filter_map(|line| line["phase"].as_str()).collect()
    }

    #[track_caller]
    pub fn check(&self) {
        self.lines_are_dense_and_in_time();
        self.checks_say_how_they_went();
        self.iterations_are_dense_and_once();
        self.attempts_are_dense_and_one_at_a_time();
        self.nothing_follows_an_end();
        self.nothing_lands_unproven();
    }

    /// What the view says must follow from the log.
    #[track_caller]
    pub fn agrees_with(&self, view: &Value) {
        let ended = self.lines.iter().rev().find(|line| line["event"] == "run_ended");
        if view["status"] == "ended" {
            let ended = ended.unwrap_or_else(|| panic!("ended without an end\n{self}"));
            assert_eq!(ended["outcome"], view["outcome"], "{self}");
            assert_eq!(
                self.open_attempts(),
                BTreeSet::new(),
                "I10: every attempt is closed at the end\n{self}"
            );
        }
        if view["outcome"]["kind"] == "completed" {
            self.completion_is_proven(view);
        }
        self.usage_is_the_sum(view);
    }

    /// I15.
    #[track_caller]
    fn lines_are_dense_and_in_time(&self) {
        let mut before = "";
        for (number, line) in (1u64..).zip(&self.lines) {
            assert_eq!(line["seq"].as_u64(), Some(number), "I15: seq is dense from 1: {line}");
            let at = line["at"].as_str().unwrap_or_else(|| panic!("at is text: {line}"));
            assert!(at >= before, "{at} is before {before}: {line}");
            assert!(line["event"].as_str().is_some_and(|event| !event.is_empty()), "{line}");
            before = at;
        }
        assert!(!self.lines.is_empty(), "an empty log");
    }

    #[track_caller]
    fn checks_say_how_they_went(&self) {
        for line in self.of("check_finished") {
            let result = &line["result"];
            let code = &result["exit_code"];
            assert!(code.is_i64() || code.is_null(), "{line}");
            assert!(result["timed_out"].is_boolean(), "{line}");
            assert!(result["duration_ms"].is_u64(), "{line}");
        }
    }

    /// I9.
    #[track_caller]
    fn iterations_are_dense_and_once(&self) {
        let mut open: Option<u64> = None;
        let mut last = 0;
        for line in &self.lines {
            let number = line["iteration"].as_u64();
            match line["event"].as_str() {
                Some("iteration_opened") => {
                    assert_eq!(open, None, "I9: one iteration at a time: {line}\n{self}");
                    assert_eq!(number, Some(last + 1), "I9: iterations are dense: {line}\n{self}");
                    (open, last) = (number, last + 1);
                }
                Some("iteration_closed") => {
                    assert_eq!(open, number, "I9: an open iteration is closed, once: {line}\n{self}");
                    open = None;
                }
                _ => {}
            }
        }
    }

    /// I9, I10, I20.
    #[track_caller]
    fn attempts_are_dense_and_one_at_a_time(&self) {
        let mut open: Option<u64> = None;
        let mut last = 0;
        for line in &self.lines {
            let number = line["attempt"].as_u64();
            match line["event"].as_str() {
                Some("attempt_started") => {
                    assert_eq!(open, None, "I20: one attempt at a time: {line}\n{self}");
                    assert_eq!(number, Some(last + 1), "I9: attempts are dense: {line}\n{self}");
                    (open, last) = (number, last + 1);
                }
                Some("attempt_finished") => {
                    assert_eq!(open, number, "I10: a started attempt ends, once: {line}\n{self}");
                    open = None;
                }
                _ => {}
            }
        }
    }

    fn open_attempts(&self) -> BTreeSet<u64> {
        let numbers = |kind| self.of(kind).into_iter().filter_map(|line| line["attempt"].as_u64());
        let ended: BTreeSet<u64> = numbers("attempt_finished").collect();
        numbers("attempt_started").filter(|attempt| !ended.contains(attempt)).collect()
    }

    /// I8.
    #[track_caller]
    fn nothing_follows_an_end(&self) {
        let mut ended = false;
        for line in &self.lines {
            let kind = line["event"].as_str().unwrap_or_default();
            assert!(!ended || AFTER_THE_END.contains(&kind), "I8: after the end: {line}\n{self}");
            match kind {
                "run_ended" => {
                    // What is ready beside a task at which the agent failed is gone on with.
                    let outcome = &line["outcome"];
                    let blames_a_task =
                        ["agent_failed", "stalled"].iter().any(|why| outcome["reason"] == *why);
                    ended = outcome["kind"] != "stopped" && !blames_a_task;
                }
                "run_restarted" => ended = false,
                _ => {}
            }
        }
    }

    /// I5: what lands was judged green on exactly that tree, by windlass, or red by
    /// nothing but findings that the operator had waived by name.
    #[track_caller]
    fn nothing_lands_unproven(&self) {
        let created = &self.lines[0];
        assert_eq!(created["event"], "loop_created", "{created}");
        if list(&created["policy"]["gate"]["checks"]).is_empty() {
            return;
        }
        let (mut green, mut needs_terms) = (BTreeSet::new(), BTreeSet::new());
        let mut waivers = Waivers::default();
        let mut landed: BTreeMap<String, String> = BTreeMap::new();
        let base = (text(created, "base"), text(created, "base_tree"));
        for line in &self.lines {
            waivers.note(line);
            match line["event"].as_str() {
                Some("gate_passed") => {
                    green.insert(text(line, "tree"));
                }
                // A reviewer decided on the terms that it needs.
                Some("review_recorded") if line["accepts_terms"] == true && line["verdict"] == "accept" => {
                    let tree = text(line, "tree");
                    if needs_terms.contains(&tree) {
                        green.insert(tree);
                    }
                }
                Some("gate_needs_terms") => {
                    needs_terms.insert(text(line, "tree"));
                }
                Some("landed") => {
                    let tree = text(line, "tree");
                    assert!(
                        green.contains(&tree) || tree == base.1 || waivers.excuse(&tree),
                        "I5: landed without a green gate: {line}\n{self}"
                    );
                    landed.insert(text(line, "commit"), tree);
                }
                Some("task_done") => {
                    let commit = text(line, "commit");
                    assert!(
                        landed.contains_key(&commit) || commit == base.0,
                        "I5: done without landing: {line}\n{self}"
                    );
                }
                _ => {}
            }
        }
    }

    /// I1, I2, I3.
    #[track_caller]
    fn completion_is_proven(&self, view: &Value) {
        let tree = &view["tree"];
        let created = &self.lines[0];
        if !list(&created["policy"]["gate"]["checks"]).is_empty() {
            let place = |wanted: &dyn Fn(&Value) -> bool| self.lines.iter().rposition(wanted);
            let gate = place(&|line| {
                line["event"] == "gate_passed" && line["purpose"] == "final" && line["tree"] == *tree
            });
            assert!(gate.is_some(), "I1: no green final gate on {tree}\n{self}");
            let other = place(&|line| line["event"] == "landed" && line["tree"] != *tree);
            assert!(other < gate, "I1: another tree landed after the final gate\n{self}");
        }
        let by_windlass = |task: &&Value| task["done_before"] != true;
        let changes = self.of("plan_changed");
        let taken_out: Vec<&Value> = changes.iter().flat_map(|change| list(&change["removed"])).collect();
        let called_done: Vec<&Value> =
            changes.iter().filter_map(|change| change["called_done"].as_array()).flatten().collect();
        let stays = |task: &&Value| !taken_out.contains(&&task["id"]) && !called_done.contains(&&task["id"]);
        for task in list(&created["plan"]["tasks"]).iter().filter(by_windlass).filter(stays) {
            let of_it = |kind: &str| self.of(kind).into_iter().any(|line| line["task"] == task["id"]);
            assert!(of_it("task_done") || of_it("task_waived"), "I2: {} is neither\n{self}", task["id"]);
        }
        if self.count("task_waived") > 0 {
            assert!(
                self.of("command_taken").iter().any(|line| line["name"] == "waive"),
                "I2: a person waives\n{self}"
            );
        }
        assert_eq!(view["findings"]["open_bugs"], 0, "I3: no open bug");
        assert_eq!(
            &view["commit"],
            self.of("landed").last().map_or(&Value::Null, |line| &line["commit"]),
            "{self}"
        );
    }

    /// I12: what the reports said is counted once; what was not said is counted as unknown.
    #[track_caller]
    fn usage_is_the_sum(&self, view: &Value) {
        let finished = self.of("attempt_finished");
        let sum = |bucket: &str| {
            finished.iter().filter_map(|line| line["result"]["usage"][bucket].as_u64()).sum::<u64>()
        };
        for bucket in
            ["input_tokens", "output_tokens", "reasoning_tokens", "cache_read_tokens", "cache_write_tokens"]
        {
            assert_eq!(view["usage"][bucket].as_u64(), Some(sum(bucket)), "I12: {bucket}\n{self}");
        }
        let unknown = finished.iter().filter(|line| line["result"]["usage"].is_null()).count();
        assert_eq!(view["usage"]["attempts_unknown"].as_u64(), Some(unknown as u64), "I12: unknown\n{self}");
    }
}

#[track_caller]
fn text(line: &Value, field: &str) -> String {
    line[field].as_str().unwrap_or_else(|| panic!("{field} is text: {line}")).to_owned()
}

#[track_caller]
fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("not a list: {value}"))
}

/// The whole log, a line an event, for a failed test.
impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.lines.iter().filter(|line| line["event"] != "loop_created") {
            writeln!(f, "{line}")?;
        }
        Ok(())
    }
}

/// What the operator waived, and which trees are red by nothing else.
#[derive(Default)]
struct Waivers {
    found: BTreeMap<String, String>,
    waived: BTreeSet<String>,
    /// Each red tree with what its gate said against it.
    red: BTreeMap<String, Vec<Option<String>>>,
}

/// What a finding says of a red check, where it is one that can be waived.
fn detail_of_a_finding(reason: &Value) -> Option<String> {
    match reason["kind"].as_str() {
        Some("tests_vanished" | "written_during_check" | "not_sensitive") => Some(text(reason, "how")),
        Some("flaky") => Some(format!(
            "{} at run {} of {}, green before on the same tree",
            text(&reason["red"], "how"),
            reason["run"],
            reason["of"]
        )),
        _ => None,
    }
}

impl Waivers {
    fn note(&mut self, line: &Value) {
        match line["event"].as_str() {
            Some("finding_opened") => {
                self.found.insert(
                    text(line, "id"),
                    format!("{}: {}", text(line, "file"), text(line, "description")),
                );
            }
            Some("finding_waived") => self.waived.extend(self.found.get(&text(line, "finding")).cloned()),
            Some("gate_failed") => {
                let said = |failing: &Value| {
                    let detail = detail_of_a_finding(&failing["reason"])?;
                    Some(format!("{}: {detail}", text(failing, "check")))
                };
                self.red.insert(text(line, "tree"), list(&line["failing"]).iter().map(said).collect());
            }
            _ => {}
        }
    }

    fn excuse(&self, tree: &str) -> bool {
        let waived = |said: &Option<String>| said.as_ref().is_some_and(|said| self.waived.contains(said));
        self.red.get(tree).is_some_and(|said| !said.is_empty() && said.iter().all(waived))
    }
}
