//! One public type name stands for one type in the whole workspace, so that a
//! reader who knows a name knows what it means in every crate.

use std::collections::BTreeMap;

use super::Problem;
use super::source::Source;

pub fn check(sources: &[Source<'_>]) -> Vec<Problem> {
    let mut found = Vec::new();
    for (name, places) in &named(sources) {
        let (first, others) = places.split_first().expect("a name is declared somewhere");
        for (path, line) in others {
            let what = format!("{name} is the name of another type, in {}: each has its own", first.0);
            found.push(Problem::new(path, *line, what));
        }
    }
    found
}

type Places<'t> = Vec<(&'t str, usize)>;

/// Every `pub` type of the product's crates, with where it is declared.
fn named<'t>(sources: &[Source<'t>]) -> BTreeMap<&'t str, Places<'t>> {
    let mut named = BTreeMap::<_, Places<'t>>::new();
    for source in sources.iter().filter(|source| is_product(source)) {
        for at in 0..source.tokens.len() {
            let declares = ["struct", "enum", "trait", "type", "union"]
                .iter()
                .any(|word| source.reads(at, &["pub", word]));
            if let Some(name) = source.word(at + 2).filter(|_| declares && !source.in_test(at)) {
                named.entry(name.text).or_default().push((source.path, name.line));
            }
        }
    }
    named
}

fn is_product(source: &Source<'_>) -> bool {
    let path = source.path;
    path.starts_with("crates/")
        && path.contains("/src/")
        && !path.starts_with("crates/testkit/")
        && !source.is_test_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<_> = files.iter().map(|(path, text)| Source::read(path, text)).collect();
        check(&sources).iter().map(Problem::to_string).collect()
    }

    #[test]
    fn a_type_name_exists_once() {
        let one = ("crates/a/src/lib.rs", "pub struct Harbour;");
        for again in ["pub enum Harbour {}", "pub trait Harbour {}", "pub type Harbour = u8;"] {
            assert_eq!(
                checked(&[one, ("crates/b/src/x.rs", again)]),
                [
                    "crates/b/src/x.rs:1: Harbour is the name of another type, in crates/a/src/lib.rs: each has its own"
                ]
            );
        }
        assert_eq!(
            checked(&[("crates/a/src/lib.rs", "pub struct Harbour; mod x { pub struct Harbour; }")]).len(),
            1
        );
        for (path, text) in [
            ("crates/b/src/x.rs", "struct Harbour; pub(crate) enum Harbour {}"),
            ("crates/b/src/x.rs", "#[cfg(test)] mod t { pub struct Harbour; }"),
            ("crates/b/src/x.rs", "pub use a::Harbour; fn f(x: Harbour) {}"),
            ("crates/b/tests/x.rs", "pub struct Harbour;"),
            ("crates/testkit/src/x.rs", "pub struct Harbour;"),
            ("xtask/src/x.rs", "pub struct Harbour;"),
        ] {
            assert_eq!(checked(&[one, (path, text)]), [""; 0], "{path}: {text}");
        }
    }
}
