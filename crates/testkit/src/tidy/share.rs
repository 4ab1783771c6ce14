//! How the code is spread over the crates. One crate that holds most of it is
//! a monolith with extra manifests.

use std::collections::BTreeMap;

use super::Problem;
use super::source::Source;

const PERCENT: usize = 35;
/// Below this the first crates written are bound to be most of the code.
const TOTAL_LINES: usize = 20_000;

/// Lines with code on them, per crate, tests inside `src` included.
pub fn lines<'f>(files: impl IntoIterator<Item = (&'f str, &'f str)>) -> BTreeMap<String, usize> {
    let mut counted = BTreeMap::new();
    for (path, text) in files {
        let mut parts = path.split('/');
        if let (Some("crates"), Some(name), Some("src"), true) =
            (parts.next(), parts.next(), parts.next(), path.ends_with(".rs"))
        {
            let mut lines: Vec<_> = Source::read(path, text).tokens.iter().map(|token| token.line).collect();
            lines.dedup();
            *counted.entry(name.to_owned()).or_default() += lines.len();
        }
    }
    counted
}

pub fn check(lines: &BTreeMap<String, usize>) -> Vec<Problem> {
    let total: usize = lines.values().sum();
    let heavy = |lines: usize| total > TOTAL_LINES && lines * 100 > total * PERCENT;
    lines
        .iter()
        .filter(|(_, lines)| heavy(**lines))
        .map(|(name, lines)| {
            let what = format!("{lines} of {total} lines of code; a crate has at most {PERCENT} %");
            Problem::new(&format!("crates/{name}"), 0, what)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_with_code_count() {
        let files = [
            ("crates/a/src/x.rs", "// no\n\nfn f() {\n    g(); g();\n}\n"),
            ("crates/a/tests/x.rs", "fn f() {}"),
            ("crates/b/src/x.rs", "use a;"),
            ("xtask/src/x.rs", "use a;"),
        ];
        assert_eq!(lines(files), BTreeMap::from([("a".to_owned(), 3), ("b".to_owned(), 1)]));
    }

    #[test]
    fn no_crate_is_most_of_the_house() {
        let spread =
            |a, b, c| BTreeMap::from([("a".to_owned(), a), ("b".to_owned(), b), ("c".to_owned(), c)]);
        assert_eq!(check(&spread(7_000, 7_000, 7_000)), []);
        assert_eq!(check(&spread(9_000, 7_000, 6_000)).len(), 1);
        assert_eq!(check(&spread(900, 70, 60)), []);
    }
}
