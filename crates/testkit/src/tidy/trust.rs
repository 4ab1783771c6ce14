//! Habits that make code or its tests less to be trusted: a test that is
//! skipped, a test that waits and hopes, an export that nobody sees.

use super::Problem;
use super::source::Source;

/// The one place that may sleep in tests.
const POLL: &str = "crates/testkit/src/poll.rs";

pub fn check(source: &Source<'_>) -> Vec<Problem> {
    [ignored(source), sleeps(source), glob_exports(source)].concat()
}

fn ignored(source: &Source<'_>) -> Vec<Problem> {
    let what = "an ignored test proves nothing: report `not run` through testkit::capability";
    let attributes = source.attributes().filter(|range| {
        let words: Vec<_> = range.clone().filter_map(|at| source.word(at)).map(|word| word.text).collect();
        words.first() == Some(&"ignore") || words.first() == Some(&"cfg_attr") && words.contains(&"ignore")
    });
    let attributes = attributes.map(|range| source.tokens[range.start].line);
    let fence = ["```", "ignore"].concat();
    let doc_tests = source.text.lines().enumerate().filter(|(_, line)| {
        let line = line.trim_start();
        line.starts_with("//") && line.contains(&fence)
    });
    let doc_tests = doc_tests.map(|(index, _)| index + 1);
    attributes.chain(doc_tests).map(|line| Problem::new(source.path, line, what)).collect()
}

fn sleeps(source: &Source<'_>) -> Vec<Problem> {
    let kit = source.path.starts_with("crates/testkit/src/");
    let sleeps =
        |segments: &[&str]| segments.windows(2).any(|pair| matches!(pair, ["thread" | "time", "sleep"]));
    source
        .paths()
        .into_iter()
        .filter(|path| source.path != POLL && sleeps(&path.segments) && (kit || source.in_test(path.at)))
        .map(|path| Problem::new(source.path, path.line, "a fixed sleep in a test: use testkit::poll::until"))
        .collect()
}

/// A reader of `lib.rs` must see what the crate offers.
fn glob_exports(source: &Source<'_>) -> Vec<Problem> {
    (0..source.tokens.len())
        .filter(|at| source.reads(*at, &["pub", "use"]))
        .filter(|at| (*at..source.item_end(*at)).any(|inside| source.is(inside, "*")))
        .map(|at| {
            let what = "a glob re-export hides what is offered: name it";
            Problem::new(source.path, source.tokens[at].line, what)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;

    fn checked(path: &str, text: &str) -> Vec<String> {
        said(&check(&Source::read(path, text)))
    }

    #[test]
    fn no_test_is_ignored() {
        let fenced = format!("/// {}\nfn f() {{}}", ["```", "ignore"].concat());
        for text in [
            "#[test] #[ignore] fn f() {}",
            "#[ignore = \"slow\"] fn f() {}",
            "#[cfg_attr(unix, ignore)] fn f() {}",
            &fenced,
        ] {
            assert_eq!(checked("crates/x/src/x.rs", text).len(), 1, "{text}");
        }
        assert_eq!(checked("crates/x/src/x.rs", "#[serde(ignore)] struct S; fn ignore() {}"), [""; 0]);
    }

    #[test]
    fn no_test_sleeps() {
        for text in [
            "use std::thread::sleep;",
            "fn f() { std::thread::sleep(x); }",
            "async fn f() { tokio::time::sleep(x); }",
        ] {
            assert_eq!(checked("crates/x/tests/x.rs", text).len(), 1, "{text}");
            assert_eq!(
                checked("crates/x/src/x.rs", &format!("#[cfg(test)] mod t {{ {text} }}")).len(),
                1,
                "{text}"
            );
            assert_eq!(checked("crates/testkit/src/x.rs", text).len(), 1, "{text}");
            assert_eq!(checked(POLL, text), [""; 0], "{text}");
            assert_eq!(checked("crates/x/src/x.rs", text), [""; 0], "{text}");
        }
    }

    #[test]
    fn exports_are_named() {
        for text in ["pub use a::*;", "pub use a::{b, c::*};"] {
            assert_eq!(checked("crates/x/src/lib.rs", text).len(), 1, "{text}");
        }
        assert_eq!(
            checked("crates/x/src/x.rs", "pub use a::{b, c}; use Kind::*; fn f() -> *const u8 {}"),
            [""; 0]
        );
    }
}
