//! A tuple taken apart in a parameter list is two parameters that count as one.

use super::Problem;
use super::source::Source;

pub fn check(sources: &[Source<'_>]) -> Vec<Problem> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| is_product(source)) {
        for (name, line) in with_tuples(source) {
            let what =
                format!("fn {name} takes a tuple apart in its parameters: give it a struct with names");
            found.push(Problem::new(source.path, line, what));
        }
    }
    found
}

fn is_product(source: &Source<'_>) -> bool {
    source.path.starts_with("crates/") && source.path.contains("/src/") && !source.is_test_file()
}

/// The functions outside tests with a parameter that begins with a parenthesis.
fn with_tuples<'t>(source: &Source<'t>) -> Vec<(&'t str, usize)> {
    let function = |at: usize| {
        let name = source.word(at + 1).filter(|_| source.is(at, "fn") && !source.in_test(at))?;
        let open = source.past_angles(at + 2);
        let mut begin = open + 1;
        while begin < source.tokens.len() && !source.is(begin, ")") {
            if source.is(begin, "(") {
                return Some((name.text, name.line));
            }
            begin = next_parameter(source, begin);
        }
        None
    };
    (0..source.tokens.len()).filter_map(function).collect()
}

/// Past the comma after the parameter at `at`, or at the parenthesis that closes the list.
fn next_parameter(source: &Source<'_>, mut at: usize) -> usize {
    while at < source.tokens.len() {
        match source.tokens[at].text {
            "," => return at + 1,
            ")" => return at,
            "(" | "[" | "{" => at = source.group_end(at),
            "<" => at = source.past_angles(at),
            _ => at += 1,
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(path: &str, text: &str) -> Vec<usize> {
        check(&[Source::read(path, text)]).iter().map(|problem| problem.line).collect()
    }

    #[test]
    fn no_parameter_takes_a_tuple_apart() {
        for text in [
            "fn f((a, b): (u8, u8)) {}",
            "fn f(&self, a: u8, (b, c): (u8, u8)) {}",
            "fn f<F: Fn(u8) -> Vec<u8>>(f: F, ((a, b), c): T) {}",
            "fn f(a: BTreeMap<u8, Vec<u8>>, (b, c): T) {}",
        ] {
            assert_eq!(checked("crates/x/src/x.rs", text), [1], "{text}");
            assert_eq!(checked("crates/x/tests/x.rs", text), [0; 0], "{text}");
            assert_eq!(checked("crates/x/src/x.rs", &format!("#[cfg(test)] mod t {{ {text} }}")), [0; 0]);
        }
        for text in [
            "fn f() -> (u8, u8) {}",
            "fn f(a: (u8, u8), b: BTreeMap<u8, (u8, u8)>, c: &dyn Fn((u8, u8)) -> u8) {}",
            "fn f(a: u8) { x.map(|(a, b)| a); }",
            "type F = fn((u8, u8));",
        ] {
            assert_eq!(checked("crates/x/src/x.rs", text), [0; 0], "{text}");
        }
    }
}
