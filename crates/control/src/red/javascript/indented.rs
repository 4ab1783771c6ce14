//! Runners that print titles as a tree.

use super::{Extent, Failure, PART};

/// The titles that are open, by how far they are indented.
#[derive(Default)]
struct Open(Vec<String>);

impl Open {
    fn enter(&mut self, depth: usize, title: &str) {
        self.0.truncate(depth);
        self.0.push(title.to_owned());
    }

    fn path(&self, depth: usize, title: &str) -> String {
        let above = self.0.iter().take(depth).map(String::as_str);
        above.chain([title]).collect::<Vec<_>>().join(PART)
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn failure(path: String) -> Failure {
    Failure { path, between: PART, file: None, extent: Extent::Whole }
}

/// `not ok 1 - title` with its location below it, inside `# Subtest: title`.
pub(super) fn tap(lines: &[String]) -> Vec<Failure> {
    let mut failures: Vec<Failure> = Vec::new();
    let mut open = Open::default();
    let mut awaits_location = false;
    for line in lines {
        let (depth, text) = (indent(line) / 4, line.trim_start());
        if let Some(title) = text.strip_prefix("# Subtest: ") {
            open.enter(depth, &unescaped(title));
        } else if let Some(rest) = text.strip_prefix("not ok ") {
            let Some((_, title)) = rest.split_once(" - ") else { continue };
            let expected = title.contains(" # TODO") || title.contains(" # SKIP");
            if !expected {
                failures.push(failure(open.path(depth, &unescaped(title))));
            }
            awaits_location = !expected;
        } else if let Some(location) = text.strip_prefix("location: '").filter(|_| awaits_location) {
            let file = location.trim_end_matches('\'').rsplitn(3, ':').nth(2);
            if let Some(last) = failures.last_mut() {
                last.file = file.map(|file| file.trim_start_matches("file://").to_owned());
            }
            awaits_location = false;
        } else if text.starts_with("ok ") {
            awaits_location = false;
        }
    }
    failures
}

fn unescaped(title: &str) -> String {
    title.trim_end().replace("\\#", "#").replace("\\\\", "\\")
}

/// `✖ title (1.2ms)` inside `▶ title`, as far as the list of all failures.
pub(super) fn spec(lines: &[String]) -> Vec<Failure> {
    let mut failures = Vec::new();
    let mut open = Open::default();
    let tree = lines.iter().take_while(|line| !matches!(line.as_str(), "✖ failing tests:" | "Failed tests:"));
    for line in tree {
        let (depth, text) = (indent(line) / 2, line.trim_start());
        if let Some(title) = text.strip_prefix("▶ ") {
            open.enter(depth, without_time(title));
        } else if let Some(title) = text.strip_prefix("✖ ") {
            let expected = title.contains(" # TODO") || title.contains(" # SKIP");
            if !expected {
                failures.push(failure(open.path(depth, without_time(title))));
            }
        }
    }
    failures
}

/// `title` of `title (1.234ms)`.
pub(super) fn without_time(title: &str) -> &str {
    let title = title.trim_end();
    match title.rfind(" (") {
        Some(at) if title.ends_with("ms)") => &title[..at],
        Some(_) | None => title,
    }
}

/// The list behind `2 failing`: a number, then a title on each line as far as a colon.
pub(super) fn mocha(lines: &[String]) -> Vec<Failure> {
    let counts = |line: &&String| {
        let count = line.trim().strip_suffix(" failing");
        !count.is_some_and(|count| !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let mut failures = Vec::new();
    let mut titles: Option<Vec<&str>> = None;
    for line in lines.iter().skip_while(counts) {
        let text = line.trim();
        if let Some((number, title)) = text.split_once(") ")
            && indent(line) == 2
            && number.bytes().all(|byte| byte.is_ascii_digit())
        {
            titles = Some(vec![title]);
        } else if text.is_empty() {
            titles = None;
        } else if let Some(open) = &mut titles {
            open.push(text);
        }
        let last = titles.as_ref().and_then(|open| open.last()).and_then(|last| last.strip_suffix(':'));
        if let (Some(mut open), Some(last)) = (last.and(titles.clone()), last) {
            open.pop();
            open.push(last);
            failures.push(failure(open.join(PART)));
            titles = None;
        }
    }
    failures
}
