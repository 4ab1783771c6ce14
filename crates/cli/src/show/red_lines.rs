//! Of what a failed command wrote, the few lines that tell why.

/// Words by which runners and compilers tell what failed.
const TELLING: [&str; 10] =
    ["error", "fail", "panicked", "assert", "not ok", "expected", "traceback", "not found", "✖", "✗"];

/// Lines that say the same whether anything failed or not, or whatever failed: npm's, and the counts of node.
const NOISE: [&str; 12] = [
    "npm notice",
    "npm warn",
    "npm WARN",
    "npm error Lifecycle script ",
    "npm error A complete log ",
    "npm error code 1",
    "npm error path ",
    "npm error workspace ",
    "npm error location ",
    "npm error command ",
    "ℹ ",
    "TAP version ",
];

/// At most this many lines of an excerpt, in their order.
pub fn red_lines(excerpt: &str, most: usize) -> Vec<&str> {
    let (out, err) = streams(excerpt);
    let [out, err] =
        [out, err].map(|stream| stream.lines().filter(|line| is_useful(line)).collect::<Vec<&str>>());
    let of_tap = tap_failures(&out);
    if !of_tap.is_empty() {
        let of_err = if tells_any(&err) { err.len().min(most / 4) } else { 0 };
        let mut lines: Vec<&str> = of_tap.into_iter().take(most - of_err).collect();
        lines.extend(window(&err, of_err));
        return lines;
    }
    let of_err = match (out.is_empty(), tells_any(&out), tells_any(&err)) {
        (true, _, _) | (_, false, true) => most,
        (false, true, _) => err.len().min(most / 4),
        (false, false, false) => err.len().min(most / 2),
    };
    let of_err = of_err.min(err.len());
    let mut lines = window(&out, most - of_err).to_vec();
    lines.extend(window(&err, of_err));
    lines
}

fn is_useful(line: &str) -> bool {
    let text = line.trim();
    // A frame of node's own, which no failure is in.
    let is_inner = text.starts_with("at ") && text.contains("node:");
    !text.is_empty() && text != "npm error" && !is_inner && !NOISE.iter().any(|noise| line.starts_with(noise))
}

/// Of TAP: each test that failed with what its block says of the error, and the errors that files ended with,
/// which node tells as comments. None where no test failed.
fn tap_failures<'t>(lines: &[&'t str]) -> Vec<&'t str> {
    if !lines.iter().any(|line| line.trim_start().starts_with("not ok ")) {
        return Vec::new();
    }
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut error: Option<usize> = None;
    let mut chosen = Vec::new();
    for line in lines {
        let text = line.trim_start();
        let goes_on = error.is_some_and(|depth| indent(line) > depth);
        error = error.filter(|_| goes_on);
        // That a file failed because a test of it failed says nothing more.
        let key = ["error:", "expected:", "actual:"].iter().any(|key| text.starts_with(key));
        let key = key && text != "error: 'test failed'";
        if key && text.ends_with("|-") {
            error = Some(indent(line));
        }
        let thrown = text.strip_prefix("# ").is_some_and(is_thrown);
        if goes_on || key || thrown || text.starts_with("not ok ") {
            chosen.push(*line);
        }
    }
    chosen
}

/// Such as `SyntaxError: …` and `Error [ERR_MODULE_NOT_FOUND]: …`.
fn is_thrown(text: &str) -> bool {
    let name = text.split([':', ' ']).next().unwrap_or_default();
    name.ends_with("Error") && text.contains(": ")
}

/// What was written to standard output and to standard error, where the excerpt has both.
fn streams(excerpt: &str) -> (&str, &str) {
    let both = excerpt.strip_prefix("stdout:\n").and_then(|rest| rest.rsplit_once("\nstderr:\n"));
    both.unwrap_or((excerpt, ""))
}

/// The end, if it tells anything; else what is around the last line that does.
fn window<'l, 't>(lines: &'l [&'t str], most: usize) -> &'l [&'t str] {
    let end = lines.len().saturating_sub(most);
    let told = lines.iter().rposition(|line| tells(line));
    let first = told.filter(|told| *told < end).map_or(end, |told| told.saturating_sub(most / 2));
    &lines[first..(first + most).min(lines.len())]
}

fn tells_any(lines: &[&str]) -> bool {
    lines.iter().any(|line| tells(line))
}

fn tells(line: &str) -> bool {
    let lower = line.trim_start().to_lowercase();
    let is_count = lower.starts_with('#') || lower.contains(" 0 fail") || lower.contains(" 0 error");
    !is_count && TELLING.iter().any(|word| lower.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_failure_is_shown_and_not_what_follows_it() {
        let counts = "# tests 3\n# pass 2\n# fail 1\n# cancelled 0\n# skipped 0\n# todo 0\n# duration_ms 4\n";
        let text = format!(
            "stdout:\nok 1 - a\nnot ok 2 - adds\n  ---\n  error: 'Cannot find module'\n  code: 'X'\n  ...\n1..3\n{counts}\nstderr:\nnpm notice\nnpm notice New version\n"
        );
        let lines = red_lines(&text, 6);
        assert!(
            lines.contains(&"not ok 2 - adds") && lines.contains(&"  error: 'Cannot find module'"),
            "{lines:#?}"
        );
    }

    #[test]
    fn of_tap_the_failures_are_shown_with_their_errors_alone() {
        let counts = "1..2\n# tests 2\n# pass 0\n# fail 2\n# duration_ms 410.66099\n";
        let text = format!(
            "stdout:\n> node --test\nTAP version 13\n# file:///p/w.test.js:1\n# SyntaxError: no export named 'count'\n#     at run (node:internal/x:1:2)\n# Node.js v20.20.2\nnot ok 1 - w.test.js\n  ---\n  exitCode: 1\n  error: 'test failed'\n  code: 'ERR_TEST_FAILURE'\n  ...\nnot ok 2 - adds one\n  ---\n  error: |-\n    Expected values to be strictly equal:\n    1 !== 2\n  code: 'ERR_ASSERTION'\n  expected: 2\n  actual: 1\n  stack: |-\n    x (file:///p/a.js:4:30)\n  ...\n{counts}\nstderr:\nnpm notice New major version\nnpm error Lifecycle script `test` failed with error:\nnpm error code 1\nnpm error path /p\n"
        );
        let chosen = [
            "# SyntaxError: no export named 'count'",
            "not ok 1 - w.test.js",
            "not ok 2 - adds one",
            "  error: |-",
            "    Expected values to be strictly equal:",
            "    1 !== 2",
            "  expected: 2",
            "  actual: 1",
        ];
        assert_eq!(red_lines(&text, 8), chosen);
        assert_eq!(red_lines(&text, 3), chosen[..3]);
    }

    #[test]
    fn of_nodes_own_report_no_counts_and_no_inner_frames_are_shown() {
        let text = "ℹ tests 1\nℹ duration_ms 79\n✖ failing tests:\n✖ adds one (1ms)\n  AssertionError: 1 == 2\n      at x (file:///p/w.test.js:4:30)\n      at Test.run (node:internal/test_runner/test:796:25)";
        assert_eq!(
            red_lines(text, 8),
            [
                "✖ failing tests:",
                "✖ adds one (1ms)",
                "  AssertionError: 1 == 2",
                "      at x (file:///p/w.test.js:4:30)"
            ]
        );
    }

    #[test]
    fn both_streams_have_their_share() {
        let text = "stdout:\ntest a ... ok\nthread 'b' panicked at src/lib.rs:10:\nassertion failed\n  left: 1\n right: 2\ntest result: FAILED. 1 passed\nstderr:\n   Compiling x\nwarning: y\nerror: test failed, to rerun pass `--lib`";
        let lines = red_lines(text, 8);
        assert!(
            lines.contains(&"assertion failed")
                && lines.contains(&"error: test failed, to rerun pass `--lib`"),
            "{lines:#?}"
        );
        assert_eq!(lines.len(), 8);
    }

    #[test]
    fn one_stream_is_shown_to_its_end() {
        assert_eq!(red_lines("a\n\nb\nc", 2), ["b", "c"]);
        assert_eq!(red_lines("", 8), Vec::<&str>::new());
        let only_errors = "stdout:\nbuilding\nstderr:\na.c:1: error: x\na.c:2: note: y";
        assert_eq!(red_lines(only_errors, 2), ["a.c:1: error: x", "a.c:2: note: y"]);
    }
}
