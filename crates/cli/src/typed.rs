//! What was typed and is none of ours: the numbers, and the words for what is wrong with them.

use std::str::FromStr;

/// For `--max`.
pub fn iterations(typed: &str) -> Result<u32, String> {
    match whole_number(typed)? {
        0 => Err("must be at least 1; --dry-run shows what would be done".to_owned()),
        most => Ok(most),
    }
}

pub fn whole_number<N: FromStr>(typed: &str) -> Result<N, String> {
    typed.parse().map_err(|_| match typed.bytes().all(|b| b.is_ascii_digit()) && !typed.is_empty() {
        true => "is too large".to_owned(),
        false => "must be a whole number".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_none_is_refused_in_plain_words() {
        assert_eq!(iterations("3"), Ok(3));
        for (typed, said) in [("0", "at least 1; --dry-run"), ("x", "whole number"), ("", "whole number")] {
            assert!(iterations(typed).is_err_and(|why| why.contains(said)), "{typed}");
        }
        assert_eq!(whole_number::<u32>("99999999999"), Err("is too large".to_owned()));
    }
}
