//! Files a reader can hold in the head. Functions are clippy's, in `clippy.toml`.

use super::Problem;
use super::source::Source;

pub const FILE_LINES: usize = 800;
/// A crate's header says what it is and what it is not; more belongs elsewhere.
pub const HEADER_LINES: usize = 25;

/// Files that may be longer, each with its reason.
const LONG_FILES: &[(&str, &str)] = &[];

pub fn check(source: &Source<'_>) -> Vec<Problem> {
    file(source).into_iter().chain(header(source)).collect()
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

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;

    fn checked(path: &str, text: &str) -> Vec<String> {
        said(&check(&Source::read(path, text)))
    }

    #[test]
    fn a_file_ends_at_800_lines() {
        assert!(checked("crates/x/src/x.rs", &"\n".repeat(800)).is_empty());
        let found = checked("crates/x/src/x.rs", &"\n".repeat(801));
        assert_eq!(found, ["0: 801 lines; a file has at most 800: split it by name"]);
    }

    #[test]
    fn a_crate_header_ends_at_25_lines() {
        assert!(checked("crates/x/src/lib.rs", &"//! x\n".repeat(25)).is_empty());
        assert_eq!(checked("crates/x/src/lib.rs", &"//! x\n".repeat(26)).len(), 1);
        assert!(checked("crates/x/src/x.rs", &"//! x\n".repeat(26)).is_empty());
    }
}
