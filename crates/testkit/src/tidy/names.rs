//! Names that say nothing: a file called for its position instead of its
//! subject becomes the attic of its crate.

use super::Problem;
use super::source::Source;

const BANNED: &[&str] = &[
    "manager",
    "handler",
    "helper",
    "util",
    "common",
    "misc",
    "service",
    "orchestrator",
    "processor",
    "context",
    "info",
];

/// Words of the outside world, as they stand inside a name, each with its reason.
const ALLOWED: &[(&str, &str)] = &[
    ("common_dir", "git's own name for the directory its worktrees share"),
    ("info_attributes", "git's own path, info/attributes"),
    ("info_exclude", "git's own path, info/exclude"),
    ("context_overflow", "the vendors' name for a brief that does not fit the model"),
];

pub fn check(source: &Source<'_>) -> Vec<Problem> {
    let mut found: Vec<_> = file_name(source).into_iter().collect();
    if !source.path.starts_with("crates/") || source.is_test_file() {
        return found;
    }
    for at in 0..source.tokens.len() {
        let (Some(what), Some(name)) = (source.word(at), source.word(at + 1)) else { continue };
        let declares = match what.text {
            "struct" | "enum" | "trait" | "type" | "mod" => true,
            // A test's name is a sentence, and may be about anything.
            "fn" => !source.in_marked_test(at),
            _ => false,
        };
        if let Some(word) = banned_word(name.text).filter(|_| declares) {
            let what = format!("{} {}: the word {word:?} says nothing", what.text, name.text);
            found.push(Problem::new(source.path, name.line, what));
        }
    }
    found
}

fn file_name(source: &Source<'_>) -> Option<Problem> {
    let stem = |part: &str| part.trim_end_matches(".rs").to_owned();
    source.path.split('/').find_map(|part| {
        let word = banned_word(&stem(part))?;
        Some(Problem::new(source.path, 0, format!("the word {word:?} in a file name says nothing")))
    })
}

fn banned_word(name: &str) -> Option<&'static str> {
    let mut words = format!("_{}_", words(name).join("_"));
    for (allowed, _) in ALLOWED {
        words = words.replace(&format!("_{allowed}_"), "_");
    }
    BANNED.iter().copied().find(|banned| {
        let is_it = |word: &str| word == *banned || word.strip_suffix('s') == Some(banned);
        words.split('_').any(is_it)
    })
}

/// `HttpService`, `HTTPService` and `http_service` are all "http", "service".
fn words(name: &str) -> Vec<String> {
    let chars: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (at, c) in chars.iter().enumerate() {
        let after_lower = at > 0 && !chars[at - 1].is_uppercase();
        let before_lower = chars.get(at + 1).is_some_and(|next| next.is_lowercase());
        if !c.is_alphanumeric() || c.is_uppercase() && (after_lower || before_lower) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;

    fn checked(path: &str, text: &str) -> Vec<String> {
        said(&check(&Source::read(path, text)))
    }

    #[test]
    fn names_fall_into_words() {
        for name in ["HttpService", "HTTPService", "http_service", "HTTP_SERVICE", "http-service"] {
            assert_eq!(words(name), ["http", "service"], "{name}");
        }
        assert_eq!(words("informal"), ["informal"]);
    }

    #[test]
    fn empty_words_are_found_in_every_kind_of_name() {
        let text = "struct LoopManager; enum EventHandlers {} trait Helper {} type Info = u8;\n\
                    mod utils {} fn build_context() {}";
        let found = checked("crates/x/src/x.rs", text);
        assert_eq!(found.len(), 6, "{found:?}");
        assert_eq!(found[0], "1: struct LoopManager: the word \"manager\" says nothing");
        for path in [
            "crates/x/src/util.rs",
            "crates/x/src/common/mod.rs",
            "crates/x/tests/helpers.rs",
            "xtask/src/misc.rs",
        ] {
            assert_eq!(checked(path, "").len(), 1, "{path}");
        }
    }

    #[test]
    fn words_inside_words_and_words_of_others_pass() {
        let text = "struct Informant; fn inform() {} fn git_common_dir() {} struct ContextOverflow; fn utility() {}\n\
                    #[test] fn an_unknown_service_is_refused() {} use anyhow::Context; fn f() { context(); }";
        assert_eq!(checked("crates/x/src/x.rs", text), [""; 0]);
        assert_eq!(checked("crates/x/src/x.rs", "fn common_dir_info() {}").len(), 1);
    }
}
