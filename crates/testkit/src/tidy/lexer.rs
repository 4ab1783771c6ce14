//! Rust text into tokens. Comments, blanks and the insides of literals are
//! dropped; a file that does not compile still gives tokens, never a panic.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'t> {
    pub kind: Kind,
    pub text: &'t str,
    /// From 1.
    pub line: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An identifier or a keyword.
    Word,
    /// One character of punctuation, or `::`.
    Mark,
    /// A string, a character or a number.
    Literal,
    Lifetime,
}

/// The tokens of a file, in order.
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    Lexer { text, at: 0, line: 1 }.tokens()
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
    line: usize,
}

impl<'t> Lexer<'t> {
    fn tokens(mut self) -> Vec<Token<'t>> {
        let mut tokens = Vec::new();
        while let Some(next) = self.rest().chars().next() {
            let (begin, line) = (self.at, self.line);
            let kind = self.step(next);
            if let Some(kind) = kind {
                let text = &self.text[begin..self.at];
                let text = if kind == Kind::Word { text.trim_start_matches("r#") } else { text };
                tokens.push(Token { kind, text, line });
            }
        }
        tokens
    }

    /// Passes over one token, or over a blank or a comment, which are none.
    fn step(&mut self, next: char) -> Option<Kind> {
        let rest = self.rest();
        if next.is_whitespace() {
            self.take(next.len_utf8());
            None
        } else if rest.starts_with("//") {
            self.take(rest.find('\n').unwrap_or(rest.len()));
            None
        } else if rest.starts_with("/*") {
            self.block_comment();
            None
        } else if let Some(length) = string_length(rest) {
            self.take(length);
            Some(Kind::Literal)
        } else if next == '\'' {
            Some(self.quote())
        } else if rest.starts_with("b'") {
            self.take(1);
            Some(self.quote())
        } else if next.is_ascii_digit() {
            self.number();
            Some(Kind::Literal)
        } else if next == '_' || next.is_alphabetic() {
            let raw = if rest.starts_with("r#") { 2 } else { 0 };
            self.take(raw + word_length(&rest[raw..]));
            Some(Kind::Word)
        } else {
            self.take(if rest.starts_with("::") { 2 } else { next.len_utf8() });
            Some(Kind::Mark)
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0usize;
        loop {
            let rest = self.rest();
            if rest.starts_with("/*") {
                depth += 1;
                self.take(2);
            } else if rest.starts_with("*/") {
                depth -= 1;
                self.take(2);
            } else if let Some(next) = rest.chars().next() {
                self.take(next.len_utf8());
            }
            if depth == 0 || self.rest().is_empty() {
                return;
            }
        }
    }

    /// `'a'` is a character, `'a` a lifetime.
    fn quote(&mut self) -> Kind {
        let rest = &self.rest()[1..];
        if rest.starts_with('\\') {
            // The escaped character may itself be a quote.
            let end = rest.char_indices().skip(2).find(|(_, c)| *c == '\'');
            self.take(end.map_or(rest.len(), |(index, _)| index + 1) + 1);
            return Kind::Literal;
        }
        let mut chars = rest.chars();
        let first = chars.next().map_or(0, char::len_utf8);
        if chars.next() == Some('\'') {
            self.take(first + 2);
            Kind::Literal
        } else {
            self.take(1 + word_length(rest));
            Kind::Lifetime
        }
    }

    /// A point belongs to a number only before a digit: `1..2` and `1.max(2)` are not.
    fn number(&mut self) {
        self.take(word_length(self.rest()));
        let mut rest = self.rest().chars();
        if rest.next() == Some('.') && rest.next().is_some_and(|c| c.is_ascii_digit()) {
            self.take(1);
            self.take(word_length(self.rest()));
        }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn take(&mut self, length: usize) {
        self.line += self.rest()[..length].matches('\n').count();
        self.at += length;
    }
}

fn word_length(text: &str) -> usize {
    text.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(text.len())
}

/// The length of the string literal `text` begins with, prefix and hashes included.
fn string_length(text: &str) -> Option<usize> {
    let prefix = ["br", "cr", "b", "c", "r", ""].into_iter().find(|prefix| {
        let after = text.strip_prefix(prefix);
        after.is_some_and(|after| after.starts_with('"') || (prefix.ends_with('r') && is_raw_open(after)))
    })?;
    let after = &text[prefix.len()..];
    if prefix.ends_with('r') {
        let hashes = after.len() - after.trim_start_matches('#').len();
        let close = format!("\"{}", "#".repeat(hashes));
        let inside = &after[hashes + 1..];
        let end = inside.find(&close).map_or(inside.len(), |end| end + close.len());
        return Some(prefix.len() + hashes + 1 + end);
    }
    let mut escaped = false;
    for (index, c) in after.char_indices().skip(1) {
        match c {
            '"' if !escaped => return Some(prefix.len() + index + 1),
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    Some(text.len())
}

fn is_raw_open(text: &str) -> bool {
    text.trim_start_matches('#').starts_with('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        let words: Vec<_> =
            tokens(text).iter().filter(|token| token.kind == Kind::Word).map(|token| token.text).collect();
        words.join(" ")
    }

    #[test]
    fn comments_and_literals_hide_their_insides() {
        assert_eq!(words("a // no\nb /* no /* no */ no */ c /// no"), "a b c");
        assert_eq!(
            words(r##"a "no \" no" b r"no \" c r#"no " no"# d b"no" e br#"no"# f c"no" g"##),
            "a b c d e f g"
        );
        assert_eq!(words(r"a 'n' b '\'' c '\\' d '\u{41}' e '{' f"), "a b c d e f");
        assert_eq!(words("fn f<'static_>(x: &'a str) -> r#type { 0..9 }"), "fn f x str type");
        assert_eq!(words("let x = 1_000u64.max(2.5e3) + b'x' as u8;"), "let x max as u8");
        assert_eq!(words("\"never closed"), "");
    }

    #[test]
    fn lines_are_counted_through_everything() {
        let tokens = tokens("/*\n*/ \"\n\" 'a' // x\n{");
        assert_eq!(tokens.last().map(|token| token.line), Some(4));
    }

    #[test]
    fn a_file_cut_anywhere_still_gives_tokens() {
        let text = "fn é<'a>() { r#\"x\"#; br##\"\"##; '\\''; 'é'; b'x'; \"\\\"\"; /* /* */ */ 1.5; r#type }";
        for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            assert!(tokens(&text[..end]).len() <= end);
        }
    }
}
