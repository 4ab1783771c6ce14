//! Files and functions a reader can hold in the head.

use super::Problem;
use super::source::Source;

pub const FILE_LINES: usize = 800;
pub const FUNCTION_LINES: usize = 70;
/// A crate's header says what it is and what it is not; more belongs elsewhere.
pub const HEADER_LINES: usize = 25;

/// Files that may be longer, each with its reason.
const LONG_FILES: &[(&str, &str)] = &[];

pub fn check(source: &Source<'_>) -> Vec<Problem> {
    let mut found: Vec<_> = file(source).into_iter().chain(header(source)).collect();
    found.extend(functions(source));
    found
}

fn file(source: &Source<'_>) -> Option<Problem> {
    let lines = source.text.lines().count();
    let exempt = LONG_FILES.iter().any(|(path, _)| *path == source.path);
    (lines > FILE_LINES && !exempt).then(|| {
        Problem::new(
            source.path,
            0,
            format!("{lines} lines; a file has at most {FILE_LINES}: split it by name"),
        )
    })
}

fn header(source: &Source<'_>) -> Option<Problem> {
    let lines = source.text.lines().take_while(|line| line.starts_with("//!")).count();
    let opens_a_crate = source.path.ends_with("/src/lib.rs") || source.path.ends_with("/src/main.rs");
    (opens_a_crate && lines > HEADER_LINES).then(|| {
        Problem::new(source.path, lines, format!("a crate header of {lines} lines; at most {HEADER_LINES}"))
    })
}

/// Tests read from top to bottom and may be as long as their story.
fn functions(source: &Source<'_>) -> Vec<Problem> {
    let mut found = Vec::new();
    for at in 0..source.tokens.len() {
        let Some(name) = source.word(at + 1).filter(|_| source.is(at, "fn")) else { continue };
        if source.in_marked_test(at) {
            continue;
        }
        let begin = source.tokens[at].line;
        let end = source.tokens[source.item_end(at) - 1].line;
        let lines = end - begin + 1;
        if lines > FUNCTION_LINES {
            let what = format!("fn {} has {lines} lines; at most {FUNCTION_LINES}", name.text);
            found.push(Problem::new(source.path, begin, what));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;

    fn checked(path: &str, text: &str) -> Vec<String> {
        said(&check(&Source::read(path, text)))
    }

    fn function(lines: usize) -> String {
        format!("fn long() {{\n{}}}\n", "    // }\n".repeat(lines - 2))
    }

    #[test]
    fn a_file_ends_at_800_lines() {
        assert!(checked("crates/x/src/x.rs", &"\n".repeat(800)).is_empty());
        let found = checked("crates/x/src/x.rs", &"\n".repeat(801));
        assert_eq!(found, ["0: 801 lines; a file has at most 800: split it by name"]);
    }

    #[test]
    fn a_function_ends_at_70_lines() {
        assert!(checked("crates/x/src/x.rs", &function(70)).is_empty());
        let found = checked("crates/x/src/x.rs", &format!("trait T {{ fn f(); }}\n{}", function(71)));
        assert_eq!(found, ["2: fn long has 71 lines; at most 70"]);
        assert_eq!(checked("crates/x/tests/x.rs", &function(71)).len(), 1);
    }

    #[test]
    fn a_test_may_be_long_but_not_its_file() {
        assert!(checked("crates/x/src/x.rs", &format!("#[test]\n{}", function(300))).is_empty());
        assert!(
            checked("crates/x/src/x.rs", &format!("#[cfg(test)] mod t {{ {} }}", function(300))).is_empty()
        );
        assert_eq!(checked("crates/x/src/x.rs", &format!("#[test]\n{}", function(900))).len(), 1);
    }

    #[test]
    fn a_crate_header_ends_at_25_lines() {
        assert!(checked("crates/x/src/lib.rs", &"//! x\n".repeat(25)).is_empty());
        assert_eq!(checked("crates/x/src/lib.rs", &"//! x\n".repeat(26)).len(), 1);
        assert!(checked("crates/x/src/x.rs", &"//! x\n".repeat(26)).is_empty());
    }
}
