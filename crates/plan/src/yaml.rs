//! YAML as a tree in which every key and value knows its place. serde-saphyr
//! reads it; what it makes of words such as `001` or `yes` is put aside, and
//! the text is taken as it was written.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Error, MergeKeyPolicy, Spanned};

use crate::fault::{FaultKind, SyntaxFault};
use crate::place::{LineIndex, Placed};

/// A value, and the byte of the whole file it starts at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Yaml {
    pub shape: Shape,
    pub offset: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Nothing,
    /// One line without quotes.
    Plain(String),
    /// In quotes, or a block of lines.
    Quoted(String),
    List(Vec<Yaml>),
    Map(Vec<(Placed<String>, Yaml)>),
}

/// A part of a file that is YAML.
pub(crate) struct YamlSource<'a> {
    pub text: &'a str,
    pub start: usize,
    pub end: usize,
    pub index: &'a LineIndex<'a>,
}

impl YamlSource<'_> {
    pub fn read(&self) -> Result<Yaml, SyntaxFault> {
        let part = &self.text[self.start..self.end];
        let options = serde_saphyr::options! {
            budget: serde_saphyr::budget! { max_depth: 16, max_aliases: 0 },
            merge_keys: MergeKeyPolicy::AsOrdinary,
            strict_booleans: true,
        };
        match serde_saphyr::from_str_with_options::<Option<Spanned<Tree>>>(part, options) {
            Ok(Some(tree)) => self.placed(tree),
            Ok(None) => Ok(Yaml { shape: Shape::Nothing, offset: self.start }),
            Err(error) => Err(self.fault(&error)),
        }
    }

    pub fn fault_at(&self, offset: usize, kind: FaultKind) -> SyntaxFault {
        let at = self.index.placed(offset, ());
        kind.at(at.line, at.column)
    }

    fn placed(&self, tree: Spanned<Tree>) -> Result<Yaml, SyntaxFault> {
        let span = tree.referenced.span();
        let number = |n: Option<u64>| n.and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        let offset = self.text.floor_char_boundary((self.start + number(span.byte_offset())).min(self.end));
        let end = self.text.floor_char_boundary((offset + number(span.byte_len())).min(self.end));
        let shape = match tree.value {
            Tree::Nothing => Shape::Nothing,
            Tree::Scalar(text) => self.scalar(text, offset, end)?,
            Tree::List(items) => {
                Shape::List(items.into_iter().map(|item| self.placed(item)).collect::<Result<_, _>>()?)
            }
            Tree::Map(entries) => {
                let entry = |(key, value): (Spanned<String>, Spanned<Tree>)| {
                    let at = self.start + number(key.referenced.span().byte_offset());
                    Ok((self.index.placed(at, key.value), self.placed(value)?))
                };
                Shape::Map(entries.into_iter().map(entry).collect::<Result<_, SyntaxFault>>()?)
            }
        };
        Ok(Yaml { shape, offset })
    }

    fn scalar(&self, text: Option<String>, offset: usize, end: usize) -> Result<Shape, SyntaxFault> {
        let written = self.text[offset..end].trim_end();
        if written.starts_with(['"', '\'', '|', '>', '!', '&']) || self.is_block(offset) {
            return Ok(Shape::Quoted(text.unwrap_or_else(|| written.to_owned())));
        }
        // A second line that looks like an item or a key would otherwise join the first in silence.
        if let Some((first, rest)) = written.split_once('\n') {
            let blank = rest.len() - rest.trim_start().len();
            return Err(self.fault_at(offset + first.len() + 1 + blank, FaultKind::Stray));
        }
        Ok(Shape::Plain(written.to_owned()))
    }

    /// The span of a block starts with its first line, after the `|` or `>` that opens it.
    fn is_block(&self, offset: usize) -> bool {
        let before = &self.text[self.start..offset];
        let opening = before.trim_end();
        let last = opening.split_whitespace().next_back().unwrap_or_default();
        before[opening.len()..].contains('\n') && last.starts_with(['|', '>'])
    }

    /// The library's word, or a plainer one where the line tells what went wrong.
    fn fault(&self, error: &Error) -> SyntaxFault {
        let error = error.without_snippet();
        let line = error.location().and_then(|at| usize::try_from(at.line()).ok()).unwrap_or(1).max(1);
        let column = error.location().and_then(|at| usize::try_from(at.column()).ok()).unwrap_or(1).max(1);
        // YAML ends a line at a lone carriage return, too.
        let last = self.index.placed(self.end, ()).line;
        let line = (self.index.placed(self.start, ()).line + line - 1).min(last);
        if let Error::DuplicateMappingKey { key, .. } = error {
            return self.key_twice(key.as_deref().unwrap_or_default(), line, column);
        }
        // What is never closed is often noticed on the line after.
        for line in [line, line.saturating_sub(1)] {
            let start = self.index.line_start(line);
            let written = self.text[start.clamp(self.start, self.end)..self.end].lines().next();
            if let Some((at, kind)) = written.and_then(misread) {
                return self.fault_at(start.clamp(self.start, self.end) + at, kind);
            }
        }
        let message = plain_message(error);
        let kind = if message.contains("unclosed bracket '['") {
            FaultKind::ListNeverClosed
        } else if message.contains("tabs disallowed") {
            FaultKind::Tab
        } else {
            FaultKind::Yaml(message)
        };
        kind.at(line, column)
    }

    fn key_twice(&self, key: &str, line: usize, column: usize) -> SyntaxFault {
        let first_line = self.index.placed(self.start, ()).line;
        let says_key = |text: &&str| {
            text.trim_start().strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'))
        };
        let lines: Vec<&str> = self.text[self.start..self.end].lines().collect();
        let before = lines.iter().position(says_key).map_or(line, |at| first_line + at);
        FaultKind::KeyTwice { key: key.to_owned(), first: before }.at(line, column)
    }
}

/// What the value on a line does that YAML does not allow.
fn misread(line: &str) -> Option<(usize, FaultKind)> {
    let trimmed = line.trim_start();
    let after_dash = trimmed.strip_prefix("- ").map(|rest| line.len() - rest.len());
    let after_key = line.find(": ").map(|colon| colon + 2);
    let value = after_dash.or(after_key)?;
    let start = value + (line[value..].len() - line[value..].trim_start().len());
    let value = line[start..].trim_end();
    let rest = value.get(1..).unwrap_or_default();
    match value.chars().next()? {
        first @ ('{' | '}' | ']' | '*' | '&' | '!' | '`' | '%' | '@') => {
            Some((start, FaultKind::Reserved(first)))
        }
        quote @ ('"' | '\'') => (!rest.contains(quote)).then_some((start, FaultKind::QuoteNeverClosed)),
        '[' => misread_list(value).map(|(at, kind)| (start + at, kind)),
        '|' | '>' => None,
        _ => value.contains(": ").then_some((start, FaultKind::Colon)),
    }
}

fn misread_list(list: &str) -> Option<(usize, FaultKind)> {
    let mut before = '[';
    for (at, c) in list.char_indices().skip(1).filter(|(_, c)| !c.is_whitespace()) {
        match c {
            '"' | '\'' => return None,
            ',' if matches!(before, ',' | '[') => return Some((at, FaultKind::EmptyItem)),
            ']' if at + 1 < list.len() => return Some((at + 1, FaultKind::AfterValue)),
            _ => before = c,
        }
    }
    None
}

fn plain_message(error: &Error) -> String {
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    let message = first.strip_prefix("error: ").unwrap_or(first);
    // After a semicolon it tells programmers what to call.
    message
        .split(';')
        .next()
        .and_then(|message| message.split(" at line ").next())
        .unwrap_or(message)
        .trim()
        .to_owned()
}

/// What serde-saphyr hands over, before places are worked out.
enum Tree {
    Nothing,
    /// None for what it took for a number or a word of its own.
    Scalar(Option<String>),
    List(Vec<Spanned<Tree>>),
    Map(Vec<(Spanned<String>, Spanned<Tree>)>),
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value, a list or keys")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Nothing)
    }

    fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
        Ok(Tree::Scalar(Some(text.to_owned())))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Tree, E> {
        Ok(Tree::Scalar(None))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Tree, E> {
        Ok(Tree::Scalar(None))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Tree, E> {
        Ok(Tree::Scalar(None))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Tree, E> {
        Ok(Tree::Scalar(None))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Tree, A::Error> {
        let mut map = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            map.push(entry);
        }
        Ok(Tree::Map(map))
    }
}
