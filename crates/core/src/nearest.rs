//! What a person probably meant: the closest of the words that would have been
//! right.

/// The candidate a mistyped word is closest to, the first of equals; none when
/// nothing is close enough to be worth suggesting.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed: Vec<char> = fold(word);
    let mut best: Option<(usize, &'a str)> = None;
    for candidate in candidates {
        let meant = fold(candidate);
        let longest = typed.len().max(meant.len());
        let allowed = (longest / 3).max(1);
        if typed.len().abs_diff(meant.len()) > allowed {
            continue;
        }
        let distance = edits(&typed, &meant);
        // A distance as long as the word itself says only that both are words.
        if distance <= allowed && distance < longest && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Case and the choice between `-`, `_` and a blank are never the point.
fn fold(word: &str) -> Vec<char> {
    let same = |c| if matches!(c, '-' | ' ') { '_' } else { c };
    word.chars().take(64).flat_map(char::to_lowercase).map(same).collect()
}

/// Insertions, deletions, substitutions and swaps of neighbours that turn one
/// word into the other.
fn edits(from: &[char], to: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in to.iter().enumerate() {
            let replaced = above[j] + usize::from(a != b);
            let mut least = replaced.min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == to[j - 1] && from[i - 1] == *b {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        before = std::mem::replace(&mut above, row);
    }
    above[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_the_word_and_a_different_word_finds_nothing() {
        let keys = ["max_iterations", "max_stalls", "use", "run"];
        for (typed, meant) in [
            ("max_iteration", Some("max_iterations")),
            ("maxiterations", Some("max_iterations")),
            ("max-iterations", Some("max_iterations")),
            ("MAX_STALLS", Some("max_stalls")),
            ("max_satlls", Some("max_stalls")),
            ("sue", Some("use")),
            ("urn", Some("run")),
            ("colour", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(nearest(typed, keys), meant, "{typed}");
        }
    }

    #[test]
    fn the_first_of_equally_close_words_is_taken() {
        assert_eq!(nearest("task-3", ["task-1", "task-2"]), Some("task-1"));
        assert_eq!(nearest("task-2", ["task-1", "task-2"]), Some("task-2"));
    }
}
