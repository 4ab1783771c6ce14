//! The small part of YAML that task files may use for values: words, quoted
//! words, and lists of them on one line. Everything knows its place, and what
//! is not understood is a fault, never a guess.

use std::fmt;

/// Something written at a place; lines and columns count characters from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placed<T> {
    pub value: T,
    pub line: usize,
    pub column: usize,
}

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxFault {
    pub line: usize,
    pub column: usize,
    pub kind: FaultKind,
}

impl fmt::Display for SyntaxFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    #[error("the front matter that starts here is never closed")]
    NeverClosed,
    #[error("front matter between `+++` lines is not read")]
    TomlFrontMatter,
    #[error("expected `key: value`")]
    NotAKey,
    #[error("unknown key `{key}`")]
    UnknownKey { key: String, nearest: Option<&'static str> },
    #[error("`{key}` is written twice, first on line {first}")]
    KeyTwice { key: &'static str, first: usize },
    #[error("`{0}` has no value")]
    NoValue(&'static str),
    #[error("`{0}` takes one value, not a list")]
    NotAList(&'static str),
    #[error("`{0}` must be a whole number")]
    NotANumber(&'static str),
    #[error("`{0}` is neither true nor false")]
    NotAFlag(&'static str),
    #[error("this line belongs to no key")]
    Stray,
    #[error("a value cannot start with `{0}` here")]
    Reserved(char),
    #[error("the quote is never closed")]
    QuoteNeverClosed,
    #[error("unknown escape `\\{0}`")]
    UnknownEscape(char),
    #[error("the list is never closed on this line")]
    ListNeverClosed,
    #[error("an item of the list is empty")]
    EmptyItem,
    #[error("there is something after the end of the value")]
    AfterValue,
    #[error("the comment that starts here is never closed")]
    CommentNeverClosed,
    #[error("`{0}` in a comment names no dependency")]
    MisspeltComment(String),
}

impl FaultKind {
    /// What the operator can do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::NeverClosed => {
                "close it with a line `---`; a rule at the top of a file can be written `***`".to_owned()
            }
            Self::TomlFrontMatter => "write it as `key: value` lines between `---` lines".to_owned(),
            Self::NotAKey => "front matter is `key: value` lines between `---` lines".to_owned(),
            Self::UnknownKey { nearest: Some(key), .. } => format!("did you mean `{key}`?"),
            Self::UnknownKey { nearest: None, .. } => {
                format!("known keys: {}", crate::front_matter::KEYS.join(", "))
            }
            Self::KeyTwice { .. } => "keep one of them".to_owned(),
            Self::NoValue(key) => format!("give `{key}` a value or remove the line"),
            Self::NotAList(_) => {
                "write one value on the same line; put quotes around it if it starts with `[`".to_owned()
            }
            Self::NotAFlag(_) => {
                "write true for a task that is done already; nothing of it is proven then".to_owned()
            }
            Self::NotANumber(_) => "write a number such as 10; lower goes first".to_owned(),
            Self::Stray => {
                "a list item is `- item` under a key without a value; a value stands on one line".to_owned()
            }
            Self::Reserved(_) | Self::AfterValue => "put the whole value in double quotes".to_owned(),
            Self::QuoteNeverClosed => "close the quote on the same line".to_owned(),
            Self::UnknownEscape(_) => {
                r#"in double quotes only \\, \", \n and \t are known; single quotes take text as it is"#
                    .to_owned()
            }
            Self::ListNeverClosed => {
                "close it with `]`, or write one `- item` on each following line".to_owned()
            }
            Self::EmptyItem => "remove the extra comma, or write the item".to_owned(),
            Self::CommentNeverClosed => "close it with `-->`".to_owned(),
            Self::MisspeltComment(_) => "write `<!-- depends_on: id, id -->`".to_owned(),
        }
    }
}

/// A value as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    Nothing,
    One(Placed<String>),
    List(Vec<Placed<String>>),
}

/// The rest of one line that is still to be read.
#[derive(Clone, Copy, Debug)]
pub struct LineRest<'a> {
    pub text: &'a str,
    pub line: usize,
    pub column: usize,
}

impl<'a> LineRest<'a> {
    pub fn fault(self, kind: FaultKind) -> SyntaxFault {
        SyntaxFault { line: self.line, column: self.column, kind }
    }

    /// The piece without its first `bytes` bytes, which end a character.
    pub fn skip(self, bytes: usize) -> Self {
        let (gone, text) = self.text.split_at(bytes);
        Self { text, column: self.column + gone.chars().count(), ..self }
    }

    pub fn trim_start(self) -> Self {
        self.skip(self.text.len() - self.text.trim_start().len())
    }

    fn is_over(self) -> bool {
        let rest = self.text.trim_start();
        rest.is_empty() || rest.starts_with('#')
    }
}

/// How a key reads a value without brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commas {
    Separate,
    BelongToTheText,
}

/// Everything after `key:`.
pub fn read_value(piece: LineRest<'_>, commas: Commas) -> Result<Written, SyntaxFault> {
    let piece = piece.trim_start();
    if piece.is_over() {
        return Ok(Written::Nothing);
    }
    if piece.text.starts_with('[') {
        return read_items(piece.skip(1), End::Bracket).map(Written::List);
    }
    match commas {
        Commas::Separate => read_items(piece, End::Line).map(Written::List),
        Commas::BelongToTheText => read_scalar(piece).map(Written::One),
    }
}

/// One word or quoted text that fills the rest of its line.
pub fn read_scalar(piece: LineRest<'_>) -> Result<Placed<String>, SyntaxFault> {
    let (value, rest) = scalar(piece.trim_start(), &[])?;
    if rest.is_over() { Ok(value) } else { Err(rest.trim_start().fault(FaultKind::AfterValue)) }
}

/// `a, "b c", d`, a comma after the last being allowed.
pub fn read_list(piece: LineRest<'_>) -> Result<Vec<Placed<String>>, SyntaxFault> {
    read_items(piece, End::Line)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Line,
    Bracket,
}

fn read_items(start: LineRest<'_>, end: End) -> Result<Vec<Placed<String>>, SyntaxFault> {
    let stops: &[char] = match end {
        End::Line => &[','],
        End::Bracket => &[',', ']'],
    };
    let mut items = Vec::new();
    let mut rest = start;
    loop {
        rest = rest.trim_start();
        match end {
            End::Line if rest.is_over() => return Ok(items),
            End::Bracket if rest.text.starts_with(']') => return closed(rest.skip(1), items),
            End::Bracket if rest.is_over() => return Err(rest.fault(FaultKind::ListNeverClosed)),
            End::Line | End::Bracket => {}
        }
        if rest.text.starts_with(',') {
            return Err(rest.fault(FaultKind::EmptyItem));
        }
        let (item, after) = scalar(rest, stops)?;
        items.push(item);
        rest = after.trim_start();
        let ended = rest.is_over() || (end == End::Bracket && rest.text.starts_with(']'));
        if rest.text.starts_with(',') {
            rest = rest.skip(1);
        } else if !ended {
            return Err(rest.fault(FaultKind::AfterValue));
        }
    }
}

fn closed(rest: LineRest<'_>, items: Vec<Placed<String>>) -> Result<Vec<Placed<String>>, SyntaxFault> {
    if rest.is_over() { Ok(items) } else { Err(rest.trim_start().fault(FaultKind::AfterValue)) }
}

/// One value and what follows it. `piece` does not start with a blank.
fn scalar<'a>(piece: LineRest<'a>, stops: &[char]) -> Result<(Placed<String>, LineRest<'a>), SyntaxFault> {
    match piece.text.chars().next() {
        Some('"') => double_quoted(piece),
        Some('\'') => single_quoted(piece),
        Some(first @ ('[' | ']' | '{' | '}' | '|' | '>' | '`')) => {
            Err(piece.fault(FaultKind::Reserved(first)))
        }
        Some(_) | None => Ok(plain(piece, stops)),
    }
}

/// Ends at a stop, at a comment (`#` after a blank), or with the line.
fn plain<'a>(piece: LineRest<'a>, stops: &[char]) -> (Placed<String>, LineRest<'a>) {
    let mut after_blank = false;
    let mut end = piece.text.len();
    for (at, c) in piece.text.char_indices() {
        if stops.contains(&c) || (c == '#' && after_blank) {
            end = at;
            break;
        }
        after_blank = c.is_whitespace();
    }
    let value = piece.text[..end].trim_end().to_owned();
    (Placed { value, line: piece.line, column: piece.column }, piece.skip(end))
}

fn double_quoted(piece: LineRest<'_>) -> Result<(Placed<String>, LineRest<'_>), SyntaxFault> {
    let mut value = String::new();
    let mut chars = piece.text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => {
                return Ok((Placed { value, line: piece.line, column: piece.column }, piece.skip(at + 1)));
            }
            '\\' => match chars.next() {
                Some((_, escaped @ ('"' | '\\'))) => value.push(escaped),
                Some((_, 'n')) => value.push('\n'),
                Some((_, 't')) => value.push('\t'),
                Some((_, other)) => return Err(piece.skip(at).fault(FaultKind::UnknownEscape(other))),
                None => break,
            },
            other => value.push(other),
        }
    }
    Err(piece.fault(FaultKind::QuoteNeverClosed))
}

/// In single quotes a quote is written twice and nothing else is special.
fn single_quoted(piece: LineRest<'_>) -> Result<(Placed<String>, LineRest<'_>), SyntaxFault> {
    let mut value = String::new();
    let mut chars = piece.text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c != '\'' {
            value.push(c);
        } else if chars.next_if(|(_, next)| *next == '\'').is_some() {
            value.push('\'');
        } else {
            return Ok((Placed { value, line: piece.line, column: piece.column }, piece.skip(at + 1)));
        }
    }
    Err(piece.fault(FaultKind::QuoteNeverClosed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(text: &str, commas: Commas) -> String {
        let at = |p: &Placed<String>| format!("{:?}@{}", p.value, p.column);
        match read_value(LineRest { text, line: 1, column: 1 }, commas) {
            Ok(Written::Nothing) => "nothing".to_owned(),
            Ok(Written::One(one)) => at(&one),
            Ok(Written::List(items)) => format!("[{}]", items.iter().map(at).collect::<Vec<_>>().join(" ")),
            Err(fault) => format!("{}: {fault}", fault.column),
        }
    }

    #[test]
    fn values_are_read_with_their_columns() {
        for (text, shown) in [
            ("", "nothing"),
            ("  # only a comment", "nothing"),
            (" a b ", r#""a b"@2"#),
            ("a#b # c", r#""a#b"@1"#),
            ("src/**/*.rs", r#""src/**/*.rs"@1"#),
            (r#""a \"b\" \\ é" # c"#, r#""a \"b\" \\ é"@1"#),
            ("'it''s'", r#""it's"@1"#),
            ("[a, 'b, c' , \"d\",]", r#"["a"@2 "b, c"@5 "d"@14]"#),
            ("[]", "[]"),
            ("[é, b]", r#"["é"@2 "b"@5]"#),
            ("[a, b", "6: the list is never closed on this line"),
            ("[a,, b]", "4: an item of the list is empty"),
            ("[a, [b]]", "5: a value cannot start with `[` here"),
            ("[ab].rs", "5: there is something after the end of the value"),
            ("{a: b}", "1: a value cannot start with `{` here"),
            ("|", "1: a value cannot start with `|` here"),
            ("\"a", "1: the quote is never closed"),
            ("\"a\\", "1: the quote is never closed"),
            (r#""a\x""#, "3: unknown escape `\\x`"),
            ("'a' b", "5: there is something after the end of the value"),
        ] {
            assert_eq!(show(text, Commas::BelongToTheText), shown, "{text}");
        }
    }

    #[test]
    fn commas_separate_where_the_key_says_so() {
        assert_eq!(show("a, b.md # c", Commas::Separate), r#"["a"@1 "b.md"@4]"#);
        assert_eq!(show("a, b", Commas::BelongToTheText), r#""a, b"@1"#);
        assert_eq!(show(", a", Commas::Separate), "1: an item of the list is empty");
    }
}
