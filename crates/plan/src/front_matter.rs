//! The lines between `---` at the top of a task file.

mod write;

use windlass_core::nearest::nearest;

use crate::criterion::PlannedCriterion;
use crate::fault::{FaultKind, SyntaxFault};
use crate::place::{LineIndex, Placed};
use crate::scope::TaskScope;
use crate::yaml::{Shape, Yaml, YamlSource};

pub use write::{FrontValue, UnwritableFrontMatter, task_text, with_keys};

pub const KEYS: [&str; 9] =
    ["title", "depends_on", "priority", "allow", "checks", "acceptance", "done", "mode", "scope"];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrontMatter {
    pub title: Option<String>,
    pub depends_on: Vec<Placed<String>>,
    pub priority: i64,
    pub allow: Vec<Placed<String>>,
    pub checks: Vec<Placed<String>>,
    pub acceptance: Vec<PlannedCriterion>,
    /// The task was done before windlass came.
    pub done: bool,
    /// The way of working its briefs are made for.
    pub mode: Option<Placed<String>>,
    pub scope: TaskScope,
    /// How many lines of the text are front matter, the `---` lines included.
    pub lines: usize,
}

/// Reads the front matter of a whole text; a text without any has an empty one.
/// The first fault is the one reported.
pub fn read_front_matter(text: &str) -> Result<FrontMatter, SyntaxFault> {
    read_all(text).map_err(|faults| faults.into_iter().next().expect("a refusal has a reason"))
}

/// The same, with every fault.
pub(crate) fn read_all(text: &str) -> Result<FrontMatter, Vec<SyntaxFault>> {
    let (front, faults) = read_parts(text).map_err(|fault| vec![fault])?;
    if faults.is_empty() { Ok(front) } else { Err(faults) }
}

/// What can be read, and every fault of the rest; an error where not even its end is known.
pub(crate) fn read_parts(text: &str) -> Result<(FrontMatter, Vec<SyntaxFault>), SyntaxFault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some(block) = Block::of(text)? else { return Ok((FrontMatter::default(), Vec::new())) };
    let index = LineIndex::new(&text[..block.end]);
    let source = YamlSource { text, start: block.start, end: block.end, index: &index };
    let mut reader = Reader { source: &source, read: FrontMatter::default(), faults: Vec::new() };
    match source.read() {
        Ok(yaml) => reader.keys(yaml),
        Err(fault) => reader.faults.push(fault),
    }
    reader.read.lines = block.lines;
    Ok((reader.read, reader.faults))
}

/// The bytes between the two `---` lines.
struct Block {
    start: usize,
    end: usize,
    lines: usize,
}

impl Block {
    fn of(text: &str) -> Result<Option<Self>, SyntaxFault> {
        let mut lines = (1..).zip(text.split_inclusive('\n')).peekable();
        let mut start = 0;
        while let Some((_, line)) = lines.next_if(|(_, line)| line.trim().is_empty()) {
            start += line.len();
        }
        let Some((opened, first)) = lines.next() else { return Ok(None) };
        match first.trim_end() {
            "---" => {}
            "+++" if opened == 1 => return Err(FaultKind::TomlFrontMatter.at(1, 1)),
            _ => return Ok(None),
        }
        // Below a blank line it may as well be a rule.
        if opened > 1 && !lines.peek().is_some_and(|(_, line)| is_key(line)) {
            return Ok(None);
        }
        start += first.len();
        let mut end = start;
        for (number, line) in lines {
            if line.trim_end() == "---" {
                return Ok(Some(Self { start, end, lines: number }));
            }
            end += line.len();
        }
        Err(FaultKind::NeverClosed.at(opened, 1))
    }
}

fn is_key(line: &str) -> bool {
    let is_word = |key: &str| !key.is_empty() && key.chars().all(|c| c.is_ascii_alphabetic() || c == '_');
    line.split_once(':').is_some_and(|(key, _)| is_word(key))
}

struct Reader<'a> {
    source: &'a YamlSource<'a>,
    read: FrontMatter,
    faults: Vec<SyntaxFault>,
}

/// How a key reads a value without brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Commas {
    Separate,
    BelongToTheText,
}

impl Reader<'_> {
    fn keys(&mut self, yaml: Yaml) {
        let entries = match yaml.shape {
            Shape::Nothing => return,
            Shape::Map(entries) => entries,
            Shape::Plain(_) | Shape::Quoted(_) | Shape::List(_) => {
                self.faults.push(self.source.fault_at(yaml.offset, FaultKind::NotAKey));
                return;
            }
        };
        for (key, value) in entries {
            if let Err(fault) = self.keep(&key, value) {
                self.faults.push(fault);
            }
        }
    }

    fn keep(&mut self, key: &Placed<String>, value: Yaml) -> Result<(), SyntaxFault> {
        let name = KEYS.iter().find(|name| **name == key.value).copied();
        let at = Key { name: name.unwrap_or_default(), line: key.line, column: key.column };
        match name {
            Some("title") => self.read.title = Some(self.one(at, value)?.value),
            Some("priority") => self.read.priority = self.number(at, value)?.value,
            Some("done") => self.read.done = self.flag(at, value)?,
            Some("mode") => self.read.mode = Some(self.mode(at, value)?),
            Some("depends_on") => self.read.depends_on = self.many(at, value, Commas::Separate)?,
            Some("checks") => self.read.checks = self.many(at, value, Commas::Separate)?,
            Some("allow") => self.read.allow = self.many(at, value, Commas::BelongToTheText)?,
            Some("acceptance") => self.read.acceptance = self.criteria(at, value)?,
            Some("scope") => self.read.scope = self.scope(at, value)?,
            Some(_) | None => return Err(unknown(key, &KEYS)),
        }
        Ok(())
    }

    /// What could be read, the faults of the rest being kept.
    fn good<T>(&mut self, read: Vec<Result<T, SyntaxFault>>) -> Vec<T> {
        let mut good = Vec::with_capacity(read.len());
        for item in read {
            match item {
                Ok(item) => good.push(item),
                Err(fault) => self.faults.push(fault),
            }
        }
        good
    }

    fn one(&self, key: Key, value: Yaml) -> Result<Placed<String>, SyntaxFault> {
        match value.shape {
            Shape::Plain(text) | Shape::Quoted(text) if !text.trim().is_empty() => {
                Ok(self.source.index.placed(value.offset, text))
            }
            Shape::Plain(_) | Shape::Quoted(_) | Shape::Nothing => {
                Err(key.fault(FaultKind::NoValue(key.name)))
            }
            Shape::List(_) => Err(key.fault(FaultKind::NotAList(key.name))),
            Shape::Map(_) => Err(self.source.fault_at(value.offset, FaultKind::Reserved('{'))),
        }
    }

    fn number(&self, key: Key, value: Yaml) -> Result<Placed<i64>, SyntaxFault> {
        let Placed { value, line, column } = self.one(key, value)?;
        let number = value.parse().map_err(|_| FaultKind::NotANumber(key.name).at(line, column))?;
        Ok(Placed { value: number, line, column })
    }

    fn flag(&self, key: Key, value: Yaml) -> Result<bool, SyntaxFault> {
        let word = self.one(key, value)?;
        word.value.parse().map_err(|_| FaultKind::NotAFlag(key.name).at(word.line, word.column))
    }

    /// A mode is read from files of its name: a path would lead to others.
    fn mode(&self, key: Key, value: Yaml) -> Result<Placed<String>, SyntaxFault> {
        let mode = self.one(key, value)?;
        let is_plain = mode.value.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
        match is_plain {
            true => Ok(mode),
            false => Err(FaultKind::NotAMode(mode.value).at(mode.line, mode.column)),
        }
    }

    fn many(&mut self, key: Key, value: Yaml, commas: Commas) -> Result<Vec<Placed<String>>, SyntaxFault> {
        match value.shape {
            Shape::Nothing => Ok(Vec::new()),
            Shape::Plain(text) if commas == Commas::Separate => self.separated(value.offset, &text),
            Shape::Plain(_) | Shape::Quoted(_) => Ok(vec![self.one(key, value)?]),
            Shape::List(items) => {
                let items = items.into_iter().map(|item| self.item(key, item)).collect();
                Ok(self.good(items))
            }
            Shape::Map(_) => Err(self.source.fault_at(value.offset, FaultKind::Reserved('{'))),
        }
    }

    /// `a, b` without brackets, a comma after the last being allowed.
    fn separated(&self, offset: usize, text: &str) -> Result<Vec<Placed<String>>, SyntaxFault> {
        let mut items = Vec::new();
        let mut start = 0;
        for piece in text.split(',') {
            let blank = piece.len() - piece.trim_start().len();
            let at = offset + start + blank;
            start += piece.len() + 1;
            if !piece.trim().is_empty() {
                items.push(self.source.index.placed(at, piece.trim().to_owned()));
            } else if start <= text.len() {
                return Err(self.source.fault_at(at, FaultKind::EmptyItem));
            }
        }
        Ok(items)
    }

    fn item(&self, key: Key, item: Yaml) -> Result<Placed<String>, SyntaxFault> {
        match item.shape {
            Shape::Plain(text) | Shape::Quoted(text) if !text.trim().is_empty() => {
                Ok(self.source.index.placed(item.offset, text))
            }
            Shape::Plain(_) | Shape::Quoted(_) | Shape::Nothing => Err(self.empty_item(item.offset)),
            Shape::List(_) | Shape::Map(_) => {
                Err(self.source.fault_at(item.offset, FaultKind::NotAText(key.name)))
            }
        }
    }

    /// Nothing has no place of its own: the dash before it has.
    fn empty_item(&self, offset: usize) -> SyntaxFault {
        let before = self.source.text[..offset].trim_end();
        let at = if before.ends_with('-') { before.len() - 1 } else { offset };
        self.source.fault_at(at, FaultKind::EmptyItem)
    }

    fn criteria(&mut self, key: Key, value: Yaml) -> Result<Vec<PlannedCriterion>, SyntaxFault> {
        let Shape::List(items) = value.shape else {
            let texts = self.many(key, value, Commas::BelongToTheText)?;
            return Ok(texts.into_iter().map(|text| PlannedCriterion::plain(text.value)).collect());
        };
        let criterion = |item: Yaml| match item.shape {
            Shape::Map(entries) => self.criterion(item.offset, entries),
            Shape::Nothing | Shape::Plain(_) | Shape::Quoted(_) | Shape::List(_) => self
                .item(key, item)
                .map(|text| PlannedCriterion::plain(text.value))
                .map_err(|fault| vec![fault]),
        };
        let read: Vec<Result<_, Vec<SyntaxFault>>> = items.into_iter().map(criterion).collect();
        let mut criteria = Vec::with_capacity(read.len());
        for item in read {
            match item {
                Ok(item) => criteria.push(item),
                Err(faults) => self.faults.extend(faults),
            }
        }
        Ok(criteria)
    }

    /// `{ text: "…", check: "…" }`, or a sentence that has a colon in it.
    fn criterion(
        &self,
        offset: usize,
        entries: Vec<(Placed<String>, Yaml)>,
    ) -> Result<PlannedCriterion, Vec<SyntaxFault>> {
        const KNOWN: [&str; 2] = ["text", "check"];
        if let [(key, value)] = &entries[..]
            && nearest(&key.value, KNOWN).is_none()
            && !KNOWN.contains(&key.value.as_str())
            && let Shape::Plain(rest) = &value.shape
        {
            return Ok(PlannedCriterion::plain(format!("{}: {rest}", key.value)));
        }
        let (mut text, mut check) = (None, None);
        let mut faults = Vec::new();
        let has_text = entries.iter().any(|(key, _)| key.value == "text");
        for (key, value) in entries {
            let at = |name| Key { name, line: key.line, column: key.column };
            let read = match key.value.as_str() {
                "text" => self.one(at("text"), value).map(|read| text = Some(read.value)),
                "check" => self.one(at("check"), value).map(|read| check = Some(read)),
                _ => Err(unknown(&key, &KNOWN)),
            };
            faults.extend(read.err());
        }
        // A text that is there and wrong was told already, and so was a key that should be it.
        if !has_text && faults.is_empty() {
            faults.push(self.source.fault_at(offset, FaultKind::NoValue("text")));
        }
        match text {
            Some(text) if faults.is_empty() => Ok(PlannedCriterion { text, check }),
            Some(_) | None => Err(faults),
        }
    }

    fn scope(&mut self, key: Key, value: Yaml) -> Result<TaskScope, SyntaxFault> {
        const KNOWN: [&str; 4] = ["files_changed", "lines_written", "files_read", "within"];
        let Shape::Map(entries) = value.shape else {
            return Err(key.fault(FaultKind::NotAMap("scope")));
        };
        let mut scope = TaskScope::default();
        for (key, value) in entries {
            let at = |name| Key { name, line: key.line, column: key.column };
            let limit = |name, value| self.limit(at(name), value);
            let read = match key.value.as_str() {
                "files_changed" => limit("files_changed", value).map(|read| scope.files_changed = Some(read)),
                "lines_written" => limit("lines_written", value).map(|read| scope.lines_written = Some(read)),
                "files_read" => limit("files_read", value).map(|read| scope.files_read = Some(read)),
                "within" => {
                    let read = self.many(at("within"), value, Commas::BelongToTheText);
                    read.map(|globs| scope.within = globs)
                }
                _ => Err(unknown(&key, &KNOWN)),
            };
            self.faults.extend(read.err());
        }
        Ok(scope)
    }

    fn limit(&self, key: Key, value: Yaml) -> Result<Placed<u64>, SyntaxFault> {
        let Placed { value, line, column } = self.number(key, value)?;
        let limit = u64::try_from(value).map_err(|_| FaultKind::NotANumber(key.name).at(line, column))?;
        Ok(Placed { value: limit, line, column })
    }
}

/// A known key and where it stands.
#[derive(Clone, Copy)]
struct Key {
    name: &'static str,
    line: usize,
    column: usize,
}

impl Key {
    fn fault(self, kind: FaultKind) -> SyntaxFault {
        kind.at(self.line, self.column)
    }
}

fn unknown(key: &Placed<String>, known: &'static [&'static str]) -> SyntaxFault {
    let nearest = nearest(&key.value, known.iter().copied());
    FaultKind::UnknownKey { key: key.value.clone(), known, nearest }.at(key.line, key.column)
}

/// What a task file says below its front matter.
pub fn body_of(text: &str) -> &str {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match Block::of(text) {
        Ok(Some(block)) => text[block.end..].split_once('\n').map_or("", |(_, body)| body),
        Ok(None) | Err(_) => text,
    }
}

#[cfg(test)]
mod tests;
