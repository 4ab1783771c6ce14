//! The story of a task or an attempt as a page of text.

use std::fmt::Write as _;

use windlass_app::{AttemptStory, ChangedFile, IterationStory, TaskStory};
use windlass_core::acceptance::{self, CriterionAnswer};
use windlass_core::event::ReviewRecorded;
use windlass_core::gate::CheckResult;
use windlass_core::history::{AttemptRecord, CheckRecord, ReviewRecord};
use windlass_core::input::AttemptEnd;
use windlass_core::live::Live;
use windlass_core::policy::Role;
use windlass_core::state::TaskStatus;
use windlass_core::usage::UsageSum;
use windlass_core::view::{TaskView, UsageView, View};

use super::red_lines::red_lines;
use super::text::{Colour, clean, paint, width, wrap_at};
use super::times;
use super::view;

/// How many files of a change are named.
const FILES: usize = 12;
/// How many lines of a red check are shown.
const CHECK_LINES: usize = 12;
/// How many lines of a report are shown.
const REPORT_LINES: usize = 60;

/// `next_of_loop` is what to type next of the loop as a whole.
pub fn task(loop_view: &View, story: &TaskStory, next_of_loop: &str) -> String {
    let mut page = head(loop_view, &story.task);
    if story.iterations.is_empty() {
        page.push_str("\n  nothing was tried yet\n");
    }
    for iteration in &story.iterations {
        page.push('\n');
        page.push_str(&iteration_lines(iteration));
    }
    if let Some(report) = &story.report {
        page.push_str("\nits report\n");
        for line in report.trim().lines() {
            page.push_str(&wrap(&format!("  {}", clean(line)), "  "));
        }
    }
    if !story.findings.is_empty() {
        page.push_str("\nfindings\n");
        for found in &story.findings {
            let _ = writeln!(page, "{}", view::finding(&found.finding));
        }
    }
    page.push_str("\nthe task\n");
    for line in story.text.trim().lines() {
        let _ = writeln!(page, "{}", format!("  {}", clean(line)).trim_end());
    }
    view::ending_with(&page, &next(loop_view, &story.task, next_of_loop))
}

/// An attempt in a line or two, for a list.
pub fn attempt_line(story: &AttemptStory) -> String {
    let AttemptStory { attempt, changed, .. } = story;
    let task = attempt.task.as_ref().map_or("the whole", |task| task.as_str());
    let end = if attempt.ended_at.is_some() { attempt.end.as_str() } else { "runs" };
    let what = changed.as_deref().map(|files| format!("  {}", sums(files))).unwrap_or_default();
    let line = format!(
        "  attempt:{:<3} {:<8} {task}, iteration {}, {}, {end}{what}",
        attempt.attempt.0,
        attempt.role.name(),
        attempt.iteration,
        times::local(attempt.started_at),
    );
    wrap(&line, "              ")
}

/// One attempt: who, when, what it said and did, what it changed, how it ended.
/// `heard` is what its lines mean; where that is not known, `printed` has them.
pub fn attempt(story: &AttemptStory, heard: Option<&[Live]>, printed: &str) -> String {
    let AttemptStory { attempt, changed, .. } = story;
    let mut page = attempt_head(story);
    let said: String = match heard {
        Some(heard) => heard.iter().map(live_lines).collect(),
        None => printed.trim_start_matches('\n').lines().map(|line| format!("  {}\n", clean(line))).collect(),
    };
    if !said.is_empty() {
        let _ = write!(page, "\n{said}");
    }
    if let Some(files) = changed {
        let _ = writeln!(page, "\nchanged   {}", sums(files));
        page.push_str(&file_lines(files));
    }
    let said = spoken(&attempt.message);
    if !said.is_empty() {
        page.push_str("\nit ended with\n");
        for line in said.lines() {
            page.push_str(&wrap(&format!("  {}", clean(line)), "  "));
        }
    }
    page
}

/// What an agent wrote as its report, where that is kept.
pub fn report(written: &str) -> String {
    let mut page = String::new();
    let lines: Vec<&str> = written.trim().lines().collect();
    if !lines.is_empty() {
        page.push_str("\nits report\n");
    }
    for line in lines.iter().take(REPORT_LINES) {
        page.push_str(&wrap(&format!("  {}", clean(line)), "  "));
    }
    if let Some(more) = lines.len().checked_sub(REPORT_LINES).filter(|more| *more > 0) {
        let _ = writeln!(page, "  … {more} more lines");
    }
    page
}

fn attempt_head(story: &AttemptStory) -> String {
    let attempt = &story.attempt;
    let task = attempt.task.as_ref().map_or_else(|| "the whole".to_owned(), |task| format!("task {task}"));
    let agent = if attempt.agent.is_empty() { String::new() } else { format!("  {}", clean(&attempt.agent)) };
    let name = paint(&format!("attempt {}", attempt.attempt), Colour::Bold);
    let mut page = format!("{name}  {}  {task}  iteration {}{agent}\n", attempt.role, attempt.iteration);
    let when = match attempt.ended_at {
        Some(at) => {
            format!("{} to {}, {}", times::local(attempt.started_at), times::local(at), attempt.duration_ms)
        }
        None => format!("since {}, it still runs", times::local(attempt.started_at)),
    };
    let mut row = |what: &str, words: &str| {
        if !words.is_empty() {
            page.push_str(&wrap(&format!("{what:<9} {}", clean(words)), "          "));
        }
    };
    row("when", &when);
    row("ended", if attempt.end == AttemptEnd::Normal.to_string() { "by itself" } else { &attempt.end });
    if let Some(ReviewRecord { review, .. }) = &story.review {
        row("review", &verdict(review));
    }
    row("usage", &used(attempt));
    if let Some(claim) = &attempt.claim {
        row("claims", claim.status.name());
        claim.plan.iter().for_each(|step| row("plan", step));
        for check in &claim.checks {
            let exit = check.exit.map(|code| format!("  (exit {code})")).unwrap_or_default();
            row("ran", &format!("{}{exit}", check.command));
        }
        claim.blockers.iter().for_each(|blocker| row("blocked", blocker));
        claim.next.iter().for_each(|step| row("next", step));
    }
    attempt.notes.iter().for_each(|note| row("note", note));
    attempt.summary.errors.iter().for_each(|error| row("error", error));
    attempt.summary.refused.iter().for_each(|refused| row("refused", refused));
    page
}

/// What the review is worth: its verdict, or why there is none to act on.
fn verdict(review: &ReviewRecorded) -> String {
    match &review.failure {
        Some(failure) => format!("no verdict to act on: {}", failure.words()),
        None => format!("{}: {}", review.verdict.name(), review.summary),
    }
}

fn used(attempt: &AttemptRecord) -> String {
    let mut sum = UsageSum::default();
    sum.add(attempt.usage.as_ref());
    match attempt.usage {
        Some(_) => view::usage(&UsageView::of(&sum)),
        None => String::new(),
    }
}

fn live_lines(live: &Live) -> String {
    match live {
        Live::Text { text } => {
            let lines = text.trim().lines().map(|line| wrap(&format!("  {}", clean(line)), "  "));
            lines.collect()
        }
        Live::ToolFinished { tool, exit, ok } => {
            let ending = match exit {
                Some(code) => format!("exit {code}"),
                None if *ok => "done".to_owned(),
                None => "failed".to_owned(),
            };
            let what = clean(&tool.what);
            paint_line(&format!("  > {} {what}  ({ending})", tool.name), Colour::Faint)
        }
        Live::Retry(retry) => paint_line(&format!("  ! tries again: {}", clean(&retry.why)), Colour::Busy),
        Live::RefusedCall(call) => {
            paint_line(&format!("  ! refused: {}: {}", clean(&call.what), clean(&call.why)), Colour::Busy)
        }
        Live::ToolStarted(_)
        | Live::Touched(_)
        | Live::Tokens(_)
        | Live::StepStarted(_)
        | Live::CheckFinished(_)
        | Live::Held => String::new(),
    }
}

fn paint_line(line: &str, colour: Colour) -> String {
    let wrapped = wrap(line, "      ");
    format!("{}\n", paint(wrapped.trim_end(), colour))
}

fn head(loop_view: &View, task: &TaskView) -> String {
    let (status, colour) = match task.status {
        TaskStatus::Pending => ("pending", Colour::Faint),
        TaskStatus::Active => ("active", Colour::Busy),
        TaskStatus::Done => ("done", Colour::Good),
        TaskStatus::Blocked => ("blocked", Colour::Bad),
        TaskStatus::Waived => ("waived", Colour::Faint),
    };
    let reason = task.reason.map(|reason| format!(" ({})", reason.name())).unwrap_or_default();
    let (whose, state) = (format!("{} {}", loop_view.name, task.id), format!("{status}{reason}"));
    let plain = format!("{whose}  {state}");
    let painted = format!("{}  {}", paint(&whose, Colour::Bold), paint(&state, colour));
    let mut page = first_line(&plain, &task.title, width()).replacen(&plain, &painted, 1);
    let mut row = |what: &str, words: &str| {
        if !words.is_empty() {
            page.push_str(&wrap(&format!("  {what:<9} {}", clean(words)), "            "));
        }
    };
    row("why", &task.detail);
    let needed: Vec<String> = task
        .depends_on
        .iter()
        .map(|id| match loop_view.tasks.iter().find(|of| of.id == *id) {
            Some(of) => format!("{id} ({})", status_word(of.status)),
            None => id.to_string(),
        })
        .collect();
    row("after", &needed.join(", "));
    if task.done_before {
        row("done", "before windlass came; it proves nothing of it");
    }
    if let Some(commit) = &task.commit {
        let judged = match (task.checked, task.reviewed) {
            (true, true) => "checked and reviewed",
            (true, false) => "checked, not reviewed",
            (false, true) => "reviewed, not checked",
            (false, false) => "neither checked nor reviewed",
        };
        let short = commit.as_str().get(..10).unwrap_or_default();
        row("landed", &format!("{short} on {}, {judged}", loop_view.branch));
    }
    for (index, of) in task.acceptance.iter().enumerate() {
        row(if index == 0 { "criteria" } else { "" }, &criterion(of));
    }
    page
}

/// Such as `2 yes: it is fast  (src/a.rs:3; check acceptance 2 (a))`.
pub fn criterion(of: &CriterionAnswer) -> String {
    let check = if of.check.is_empty() { String::new() } else { format!("check {}", of.check) };
    let shown: Vec<&str> = [of.place.as_str(), &check].into_iter().filter(|by| !by.is_empty()).collect();
    let shown = if shown.is_empty() { String::new() } else { format!("  ({})", shown.join("; ")) };
    format!("{} {}: {}{shown}", of.number, of.met.name(), of.text)
}

fn status_word(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Pending => "pending",
        TaskStatus::Active => "active",
        TaskStatus::Done => "done",
        TaskStatus::Blocked => "blocked",
        TaskStatus::Waived => "waived",
    }
}

fn iteration_lines(story: &IterationStory) -> String {
    let of = &story.iteration;
    let result = of.result.map_or("open", |result| result.words());
    let mut page = format!("iteration {}  {}  {result}\n", of.iteration, times::local(of.opened_at));
    for attempt in &story.attempts {
        page.push_str(&attempt_in_iteration(attempt));
    }
    for check in &story.checks {
        page.push_str(&check_lines(check));
    }
    for ReviewRecord { review, .. } in &story.reviews {
        let said = match &review.failure {
            Some(failure) => failure.words(),
            None => review.summary.clone(),
        };
        let line =
            format!("  review    {}: {}  (attempt:{})", review.verdict.name(), clean(&said), review.attempt);
        page.push_str(&wrap(&line, "            "));
        let answered = acceptance::words(&review.criteria);
        if !answered.is_empty() {
            page.push_str(&wrap(&format!("            {answered}"), "              "));
        }
        for item in &review.pending {
            page.push_str(&wrap(&format!("            asks for: {}", clean(item)), "              "));
        }
    }
    page
}

fn attempt_in_iteration(story: &AttemptStory) -> String {
    let AttemptStory { attempt, changed, .. } = story;
    let end = match attempt.ended_at {
        Some(_) => format!("{}, {}", attempt.end, attempt.duration_ms),
        None => "it still runs".to_owned(),
    };
    let line = format!("  {:<9} {}  (attempt:{})", attempt.role.name(), clean(&end), attempt.attempt);
    let mut page = wrap(&line, "            ");
    let said = spoken(&attempt.message);
    let said = said.lines().next().unwrap_or_default();
    if !said.is_empty() {
        page.push_str(&wrap(&format!("            said: {}", clean(said)), "              "));
    }
    if let Some(files) = changed {
        let _ = writeln!(page, "  changed   {}", sums(files));
        page.push_str(&file_lines(files));
    }
    page
}

/// What an agent said last: of a report in the form that windlass asks for, its summary.
fn spoken(message: &str) -> String {
    let message = message.trim();
    let report: Option<serde_json::Value> = serde_json::from_str(message).ok();
    let summary = report.as_ref().filter(|report| report["nonce"].is_string());
    let summary = summary.and_then(|report| report["summary"].as_str()).map(str::trim);
    summary.unwrap_or(message).to_owned()
}

fn check_lines(check: &CheckRecord) -> String {
    let mut page = wrap(&format!("  {}  (check:{})", clean(&check.line), check.number), "            ");
    if is_red(&check.result) {
        for line in red_lines(&check.result.excerpt, CHECK_LINES) {
            let _ = writeln!(page, "      | {}", clean(line).trim_end());
        }
    }
    page
}

fn is_red(result: &CheckResult) -> bool {
    result.timed_out || result.exit_code != Some(0)
}

/// Such as `3 files, +10 -2`.
fn sums(files: &[ChangedFile]) -> String {
    if files.is_empty() {
        return "nothing".to_owned();
    }
    let added: u64 = files.iter().filter_map(|file| file.added).sum();
    let removed: u64 = files.iter().filter_map(|file| file.removed).sum();
    let count = if files.len() == 1 { "1 file".to_owned() } else { format!("{} files", files.len()) };
    format!("{count}, +{added} -{removed}")
}

fn file_lines(files: &[ChangedFile]) -> String {
    let mut page = String::new();
    for file in files.iter().take(FILES) {
        let lines = match (file.added, file.removed) {
            (Some(added), Some(removed)) => format!("+{added} -{removed}"),
            (_, _) => "not text".to_owned(),
        };
        let _ = writeln!(page, "            {}  {lines}", clean(&file.path));
    }
    if files.len() > FILES {
        let _ = writeln!(page, "            and {} more", files.len() - FILES);
    }
    page
}

/// What to do about a task; what a loop as a whole needs is said by its status.
fn next(loop_view: &View, task: &TaskView, next_of_loop: &str) -> String {
    let (name, id) = (&loop_view.name, &task.id);
    match task.status {
        TaskStatus::Blocked if loop_view.failed_role == Some(Role::Reviewer) => next_of_loop.to_owned(),
        TaskStatus::Blocked => {
            format!(
                "next: windlass unblock {name} {id} && windlass run {name}\n      \
                 windlass waive {name} {id} --why TEXT   (do without it)"
            )
        }
        TaskStatus::Pending | TaskStatus::Active | TaskStatus::Done | TaskStatus::Waived => {
            next_of_loop.to_owned()
        }
    }
}

/// Of what the story is, in as many lines as its title takes.
fn first_line(whose: &str, title: &str, columns: usize) -> String {
    wrap_at(&format!("{whose}  {}", clean(title)), "  ", columns) + "\n"
}

/// A whole line, ended.
fn wrap(line: &str, margin: &str) -> String {
    wrap_at(line, margin, width()) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_report_its_summary_is_what_was_said() {
        let report = r#" {"amendments":[],"nonce":"n1","status":"complete","summary":"It counts words."} "#;
        assert_eq!(spoken(report), "It counts words.");
        assert_eq!(spoken("done\nand more\n"), "done\nand more");
        let other = r#"{"summary": "no report of ours"}"#;
        assert_eq!(spoken(other), other);
    }

    #[test]
    fn a_title_is_broken_between_words() {
        let line = first_line("demo goal  done", "Add a function that counts words", 30);
        assert_eq!(line, "demo goal  done  Add a\n  function that counts words\n");
    }

    #[test]
    fn changes_are_summed_up() {
        let file = |path: &str, added, removed| ChangedFile { path: path.to_owned(), added, removed };
        let files = [file("a", Some(3), Some(1)), file("b.png", None, None)];
        assert_eq!(sums(&files), "2 files, +3 -1");
        assert_eq!(sums(&[]), "nothing");
        assert!(file_lines(&files).contains("b.png  not text"));
    }
}
