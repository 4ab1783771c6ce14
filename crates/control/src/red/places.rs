//! Whether a printed path is that of a file. Runners print paths from the root, from where
//! they were started or from the root of the file system.

/// One of the two is the end of the other, in whole names.
pub(super) fn same_file(printed: &str, file: &str) -> bool {
    let printed: Vec<&str> = names(printed);
    let file: Vec<&str> = names(file);
    let shorter = printed.len().min(file.len());
    shorter > 0 && printed.iter().rev().zip(file.iter().rev()).all(|(one, other)| one == other)
}

fn names(path: &str) -> Vec<&str> {
    path.split('/').filter(|name| !matches!(*name, "" | "." | "..")).collect()
}

/// A line of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileLine<'p> {
    pub path: &'p str,
    pub line: usize,
}

/// Every `path:line`, and Python's `File "path", line 3`.
pub(super) fn printed(text: &str) -> Vec<FileLine<'_>> {
    let marks = ["\", line ", ":"]
        .into_iter()
        .flat_map(|mark| text.match_indices(mark).map(|(at, mark)| (&text[..at], &text[at + mark.len()..])));
    marks
        .filter_map(|(before, behind)| {
            let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
            let line = behind[..digits].parse().ok()?;
            let begin = before.rfind(|c: char| c.is_whitespace() || "\"'(".contains(c));
            let path = &before[begin.map_or(0, |begin| begin + 1)..];
            let path = path.trim_start_matches("file://");
            path.contains('.').then_some(FileLine { path, line })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_compared_from_their_end() {
        assert!(same_file("./tests/a.py", "tests/a.py"));
        assert!(same_file("a.py", "tests/a.py"));
        assert!(same_file("/somewhere/tests/a.py", "tests/a.py"));
        assert!(!same_file("other/a.py", "tests/a.py"));
        assert!(!same_file("ba.py", "a.py"));
    }

    #[test]
    fn a_line_is_named_in_every_way_of_runners() {
        for (text, path) in [
            ("tests/a.py:12: AssertionError", "tests/a.py"),
            ("  File \"/x/tests/a.py\", line 12, in test_x", "/x/tests/a.py"),
            ("    at Object.<anonymous> (src/a.test.js:12:40)", "src/a.test.js"),
            ("    at file:///x/src/a.test.js:12:40", "/x/src/a.test.js"),
            ("thread 'a' panicked at src/a.rs:12:5:", "src/a.rs"),
        ] {
            assert!(printed(text).contains(&FileLine { path, line: 12 }), "{text}");
        }
        assert_eq!(printed("at 12:30 and (x):12"), []);
    }
}
