//! Of what a failed command wrote, the few lines that tell why.

/// Words by which runners and compilers tell what failed.
const TELLING: [&str; 10] =
    ["error", "fail", "panicked", "assert", "not ok", "expected", "traceback", "not found", "✖", "✗"];

/// Lines that say the same whether anything failed or not.
const NOISE: [&str; 3] = ["npm notice", "npm warn", "npm WARN"];

/// At most this many lines of an excerpt, in their order.
pub fn red_lines(excerpt: &str, most: usize) -> Vec<&str> {
    let (out, err) = streams(excerpt);
    let [out, err] = [out, err].map(|stream| {
        let is_useful =
            |line: &&str| !line.trim().is_empty() && !NOISE.iter().any(|noise| line.starts_with(noise));
        stream.lines().filter(is_useful).collect::<Vec<&str>>()
    });
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
