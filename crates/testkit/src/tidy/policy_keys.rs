//! A key of the policy that nobody reads is a promise that nobody keeps.
//!
//! A field counts as read where its name follows a dot. That is by name alone:
//! a field that shares its name with another one can be missed, never accused.

use super::Problem;
use super::source::Source;

const POLICY: &str = "crates/core/src/policy.rs";

/// Code that fills the policy in, and says what each key is for.
const CONFIGURATION: &[&str] = &["crates/config/src/", "crates/testkit/"];

pub fn check<'t>(sources: &[Source<'t>]) -> Vec<Problem> {
    let Some(policy) = sources.iter().find(|source| source.path == POLICY) else { return Vec::new() };
    let read: Vec<&str> = sources.iter().filter(|source| uses_the_policy(source)).flat_map(reads).collect();
    let unread = fields(policy).into_iter().filter(|(name, _)| !read.contains(name));
    let problem = |(name, line): (&str, usize)| {
        let what = format!("nothing outside the configuration reads {name}: use it, or refuse the key");
        Problem::new(POLICY, line, what)
    };
    unread.map(problem).collect()
}

fn uses_the_policy(source: &Source<'_>) -> bool {
    let path = source.path;
    let product = path.starts_with("crates/") && path.contains("/src/") && path != POLICY;
    product && !source.is_test_file() && !CONFIGURATION.iter().any(|place| path.starts_with(place))
}

fn reads<'t>(source: &Source<'t>) -> Vec<&'t str> {
    let after_dot = |at: &usize| source.is(*at, ".") && !source.in_test(*at);
    (0..source.tokens.len()).filter(after_dot).filter_map(|at| Some(source.word(at + 1)?.text)).collect()
}

/// The public fields of every struct, with their lines.
fn fields<'t>(policy: &Source<'t>) -> Vec<(&'t str, usize)> {
    let field = |at: usize| {
        let name = policy.word(at + 1).filter(|_| policy.is(at, "pub") && policy.is(at + 2, ":"))?;
        Some((name.text, name.line))
    };
    (0..policy.tokens.len()).filter_map(field).collect()
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;

    fn checked(user: (&str, &str)) -> Vec<String> {
        let policy = "pub struct Finish { pub anchor: String, own: u8 }\nimpl Finish { pub fn f(&self) { self.anchor.len(); } }";
        said(&check(&[Source::read(POLICY, policy), Source::read(user.0, user.1)]))
    }

    #[test]
    fn a_key_is_read_by_someone() {
        let unread = ["1: nothing outside the configuration reads anchor: use it, or refuse the key"];
        assert_eq!(checked(("crates/agent/src/brief.rs", "fn f() { finish.anchor.len(); }")), [""; 0]);
        for (path, text) in [
            ("crates/agent/src/brief.rs", "fn f() { anchor(); \".anchor\"; }"),
            ("crates/agent/src/brief.rs", "#[test] fn f() { finish.anchor.len(); }"),
            ("crates/agent/tests/brief.rs", "fn f() { finish.anchor.len(); }"),
            ("crates/config/src/keys.rs", "fn f() { &mut policy.finish.anchor; }"),
        ] {
            assert_eq!(checked((path, text)), unread, "{path}: {text}");
        }
    }
}
