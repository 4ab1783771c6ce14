//! The last useful lines of an output, for people and for the next brief.

use windlass_core::plain::plain_bytes;

/// No excerpt is larger.
const MAX_BYTES: usize = 4 * 1024;
const MAX_LINES: usize = 60;
/// Of a longer line, the beginning and the end.
const LINE_BYTES: usize = 500;
/// For the name of a stream and the note of what is left out.
const AROUND_BYTES: usize = 80;

/// The end of what a program wrote to one stream.
#[derive(Clone, Copy, Debug)]
pub struct OutputTail<'a> {
    pub name: &'a str,
    pub bytes: &'a [u8],
    /// More was written before these bytes, which may begin in the middle of a line.
    pub more_before: bool,
}

/// Plain text of both streams, each with its last lines, and a note of how much was left out before them.
/// The streams are named only where both have something to say.
pub fn excerpt(stdout: OutputTail<'_>, stderr: OutputTail<'_>) -> String {
    let (out, err) = (Lines::of(stdout), Lines::of(stderr));
    let half = MAX_BYTES / 2 - AROUND_BYTES;
    let whole = MAX_BYTES - 2 * AROUND_BYTES;
    match (out.kept.is_empty(), err.kept.is_empty()) {
        (_, true) => out.end(whole),
        (true, false) => err.end(whole),
        (false, false) => {
            let out_share = half.max(whole.saturating_sub(err.bytes()));
            let err_share = half.max(whole.saturating_sub(out.bytes()));
            format!("{}:\n{}\n{}:\n{}", stdout.name, out.end(out_share), stderr.name, err.end(err_share))
        }
    }
}

struct Lines {
    /// The last ones, without runs of empty lines.
    kept: Vec<String>,
    left_out: usize,
    more_before: bool,
}

impl Lines {
    fn of(stream: OutputTail<'_>) -> Self {
        let text = plain_bytes(stream.bytes);
        let mut lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        if stream.more_before && lines.len() > 1 {
            lines.remove(0);
        }
        if lines.iter().any(|line| line.trim_start().starts_with("not ok ")) {
            drop_passed(&mut lines);
        }
        lines.dedup_by(|next, before| next.is_empty() && before.is_empty());
        let first = lines.iter().position(|line| !line.is_empty()).unwrap_or(lines.len());
        let last = lines.iter().rposition(|line| !line.is_empty()).map_or(first, |last| last + 1);
        let lines = &lines[first..last];
        let left_out = lines.len().saturating_sub(MAX_LINES);
        Self {
            kept: lines[left_out..].iter().map(|line| shortened(line)).collect(),
            left_out,
            more_before: stream.more_before,
        }
    }

    fn bytes(&self) -> usize {
        self.kept.iter().map(|line| line.len() + 1).sum()
    }

    /// As many of the last lines as fit.
    fn end(&self, max: usize) -> String {
        let mut size = 0;
        let fitting = self.kept.iter().rev().take_while(|line| {
            size += line.len() + 1;
            size <= max
        });
        let first = self.kept.len() - fitting.count();
        let text = self.kept[first..].join("\n");
        match (self.left_out + first, self.more_before) {
            (0, false) => text,
            (0, true) => format!("… earlier lines left out …\n{text}"),
            (1, false) => format!("… 1 earlier line left out …\n{text}"),
            (count, false) => format!("… {count} earlier lines left out …\n{text}"),
            (count, true) => format!("… more than {count} earlier lines left out …\n{text}"),
        }
    }
}

/// Of TAP, which gives a test that passed as many lines as one that failed: what is about failures.
fn drop_passed(lines: &mut Vec<&str>) {
    let indent = |line: &str| line.len() - line.trim_start().len();
    // A test's own block is deeper than its line.
    let mut passed: Option<usize> = None;
    lines.retain(|line| {
        let (depth, text) = (indent(line), line.trim_start());
        if passed.is_some_and(|test| depth > test && !text.starts_with("not ok ")) {
            return false;
        }
        passed = text.starts_with("ok ").then_some(depth);
        passed.is_none() && !text.starts_with("# Subtest: ")
    });
}

fn shortened(line: &str) -> String {
    if line.len() <= LINE_BYTES {
        return line.to_owned();
    }
    let head = &line[..line.floor_char_boundary(LINE_BYTES * 2 / 3)];
    let tail = &line[line.ceil_char_boundary(line.len() - LINE_BYTES / 4)..];
    format!("{head} … {tail}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(stdout: &[u8], stderr: &[u8]) -> String {
        excerpt(stream("stdout", stdout), stream("stderr", stderr))
    }

    fn stream<'a>(name: &'a str, bytes: &'a [u8]) -> OutputTail<'a> {
        OutputTail { name, bytes, more_before: false }
    }

    #[test]
    fn one_stream_stands_alone_and_two_are_named() {
        assert_eq!(of(b"", b""), "");
        assert_eq!(of(b"\n\na\n\n\n\nb  \n\n", b"  \n"), "a\n\nb");
        assert_eq!(of(b"", b"\x1b[31merror\x1b[0m: x\r\n"), "error: x");
        assert_eq!(of(b"1 %\r99 %\rran\n", b"bad \xff\n"), "stdout:\nran\nstderr:\nbad \u{fffd}");
    }

    #[test]
    fn the_last_lines_are_kept_and_the_rest_counted() {
        let many: String = (1..=100).map(|n| format!("line {n}\n")).collect();
        let text = of(many.as_bytes(), b"");
        assert!(text.starts_with("… 40 earlier lines left out …\nline 41\n"), "{text}");
        assert!(text.ends_with("line 100"));
        let cut = OutputTail { more_before: true, ..stream("stdout", many.as_bytes()) };
        let text = excerpt(cut, stream("stderr", b""));
        assert!(text.starts_with("… more than 39 earlier lines left out …\nline 41\n"), "{text}");
        let whole = OutputTail { more_before: true, ..stream("stdout", b"half\nwhole\n") };
        assert_eq!(excerpt(whole, stream("stderr", b"")), "… earlier lines left out …\nwhole");
    }

    #[test]
    fn of_tap_the_tests_that_failed_are_kept_whatever_passed_after_them() {
        let passed: String = (2..=40)
            .map(|n| format!("# Subtest: t{n}\nok {n} - t{n}\n  ---\n  duration_ms: 1\n  ...\n"))
            .collect();
        let red = "# Subtest: adds\nnot ok 1 - adds\n  ---\n  error: 'boom'\n  ...\n";
        let text = of(format!("TAP version 13\n{red}{passed}1..40\n# pass 39\n# fail 1\n").as_bytes(), b"");
        assert_eq!(
            text,
            "TAP version 13\nnot ok 1 - adds\n  ---\n  error: 'boom'\n  ...\n1..40\n# pass 39\n# fail 1"
        );
        assert!(of(passed.as_bytes(), b"").ends_with("ok 40 - t40\n  ---\n  duration_ms: 1\n  ..."));
    }

    #[test]
    fn a_long_line_keeps_its_beginning_and_its_end() {
        let line = format!("error{}here", "x".repeat(1_000_000));
        let text = of(line.as_bytes(), b"");
        assert!(text.len() < 600 && text.starts_with("errorxx") && text.ends_with("xxhere"), "{text}");
    }

    #[test]
    fn a_loud_stream_leaves_room_for_a_quiet_one() {
        let loud = "noise noise noise noise noise noise noise noise noise noise\n".repeat(500);
        let text = of(loud.as_bytes(), b"error: the point\n");
        assert!(text.ends_with("stderr:\nerror: the point"));
        assert!(text.len() > 3500 && text.len() <= MAX_BYTES, "{}", text.len());
        let text = of(loud.as_bytes(), loud.as_bytes());
        assert!(text.len() > 3500 && text.len() <= MAX_BYTES, "{}", text.len());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_bytes_panic_or_exceed(out in any::<Vec<u8>>(), err in any::<Vec<u8>>(), times in 1usize..200) {
            let (out, err) = (out.repeat(times), err.repeat(times));
            let text = of(&out, &err);
            prop_assert!(text.len() <= MAX_BYTES);
            prop_assert!(!text.contains(|c: char| c.is_control() && c != '\n' && c != '\t'));
        }

        #[test]
        fn no_text_panics_or_exceeds(text in "\\PC{0,40}(\n|\r|\t|\u{1b}\\[|é){0,5}", times in 1usize..400) {
            let text = text.repeat(times);
            prop_assert!(of(text.as_bytes(), text.as_bytes()).len() <= MAX_BYTES);
        }
    }
}
