//! A CodeScribe task: a chat in TOML that starts and ends with the user, and
//! the programs its author may run.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use windlass_core::nearest::nearest;

use crate::error::PlanError;
use crate::format::PlanFormat;
use crate::link::{BadPlan, Frame, Slot, finish};
use crate::place::{LineIndex, Placed};
use crate::slug::id_of_file;
use crate::{Planned, PlannedTask, title_line};

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChatFault {
    #[error("this is not TOML: {0}")]
    Syntax(String),
    #[error("the text that starts here with {0} is never closed")]
    NeverClosed(&'static str),
    #[error("unknown key `{key}`")]
    UnknownKey { key: String, known: &'static [&'static str], nearest: Option<&'static str> },
    #[error("there is no `chat`")]
    NoChat,
    #[error("`{key}` must be {expected}")]
    WrongKind { key: String, expected: &'static str },
    #[error("a message has no `{0}`")]
    NoKey(&'static str),
    #[error("a role is `user` or `assistant`, not {0:?}")]
    UnknownRole(String),
    #[error("two messages of the {0} follow one another")]
    SameRole(&'static str),
    #[error("the chat must start and end with a message of the user")]
    NotTheUser,
    #[error("{0:?} is not the bare name of a program")]
    NotAProgram(String),
}

impl ChatFault {
    /// What the operator can do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::Syntax(_) => {
                "close what is open: text of several lines stands between ''' and '''".to_owned()
            }
            Self::NeverClosed(marks) => format!("close it with {marks}"),
            Self::UnknownKey { nearest: Some(key), .. } => format!("did you mean `{key}`?"),
            Self::UnknownKey { nearest: None, known, .. } => format!("known keys: {}", known.join(", ")),
            Self::NoChat => "write what is to be done: [[chat.user]] and content = '''…'''".to_owned(),
            Self::WrongKind { expected, .. } => format!("write {expected}"),
            Self::NoKey(key) => format!("give it a line `{key} = …`"),
            Self::UnknownRole(_) => "write role = \"user\" or role = \"assistant\"".to_owned(),
            Self::SameRole(_) => "join them, or write the answer that stands between them".to_owned(),
            Self::NotTheUser => "put [[chat.user]] first and last".to_owned(),
            Self::NotAProgram(_) => {
                "write only the name, such as \"python3\": no path and no arguments".to_owned()
            }
        }
    }
}

pub(crate) fn parse(file: &Path, text: &str) -> Result<Planned, BadPlan> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader { file, index: LineIndex::new(text), problems: Vec::new() };
    let id = id_of_file(file).map_err(|why| vec![PlanError::BadId { file: file.to_owned(), why }])?;
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        // The library sees that a text is open where the file ends.
        vec![match open_text(text).filter(|_| text.get(at..).is_none_or(|rest| rest.trim().is_empty())) {
            Some((start, marks)) => reader.error(start, ChatFault::NeverClosed(marks)),
            None => reader.error(at, ChatFault::Syntax(error.message().to_owned())),
        }]
    })?;
    let table = table.into_inner();
    reader.known(&table, &["chat", "tools"]);
    let tools = table.get("tools").map(|tools| reader.tools(tools)).unwrap_or_default();
    let messages = match table.get("chat") {
        Some(chat) => reader.messages(chat),
        None => {
            reader.problem(0, ChatFault::NoChat);
            Vec::new()
        }
    };
    reader.roles(&messages);
    let first = messages.first().map_or("", |message| message.content.as_str());
    let title =
        first.lines().map(|line| line.trim().trim_start_matches('#').trim()).find(|line| !line.is_empty());
    let title = title_line(title.unwrap_or(id.as_str()));
    let silent = !messages.is_empty() && messages.iter().all(|message| message.content.trim().is_empty());
    let at = reader.index.placed(messages.first().map_or(0, |message| message.at), ()).in_file(file);
    let task = PlannedTask::new(id, title, chat_text(&messages));
    let silent_at = silent.then(|| at.clone());
    let slot = Slot { problems: reader.problems, silent_at, ..Slot::new(at, task) };
    finish(vec![slot], Frame { tools, ..Frame::new(PlanFormat::Codescribe) })
}

/// Where a text of several lines starts that goes on to the end of the file, and its marks.
fn open_text(text: &str) -> Option<(usize, &'static str)> {
    const SEVERAL: [&str; 2] = ["'''", "\"\"\""];
    let mut at = 0;
    while let Some(found) = text[at..].find(['#', '\'', '"']).map(|found| at + found) {
        let rest = &text[found..];
        if let Some(marks) = SEVERAL.into_iter().find(|marks| rest.starts_with(marks)) {
            let Some(length) = closing(&rest[3..], marks) else { return Some((found, marks)) };
            at = found + 3 + length + 3;
            continue;
        }
        // A comment, or a text on one line.
        let line = rest.split('\n').next().unwrap_or_default();
        let end = match &rest[..1] {
            "#" => None,
            mark => closing(&line[1..], mark).map(|length| 1 + length + 1),
        };
        at = found + end.unwrap_or(line.len());
    }
    None
}

/// How far it is to these marks; in double quotes a backslash takes the character behind it.
fn closing(text: &str, marks: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text[at..].find(['\\', '\'', '"']).map(|found| at + found) {
        if text[found..].starts_with(marks) {
            return Some(found);
        }
        let is_escape = text[found..].starts_with('\\') && marks.starts_with('"');
        let escaped = text[found + 1..].chars().next().filter(|_| is_escape).map_or(0, char::len_utf8);
        at = found + 1 + escaped;
    }
    None
}

struct Message {
    at: usize,
    role: Role,
    content: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    User,
    Assistant,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

/// A chat of one message is that message; of more, each says whose it is.
fn chat_text(messages: &[Message]) -> String {
    if let [only] = messages {
        return format!("{}\n", only.content.trim());
    }
    let told = |message: &Message| format!("## {}\n\n{}\n", message.role.name(), message.content.trim());
    messages.iter().map(told).collect::<Vec<_>>().join("\n")
}

type Value<'a> = Spanned<DeValue<'a>>;

struct Reader<'a> {
    file: &'a Path,
    index: LineIndex<'a>,
    problems: Vec<PlanError>,
}

impl Reader<'_> {
    fn error(&self, offset: usize, fault: ChatFault) -> PlanError {
        PlanError::Chat { place: self.index.placed(offset, ()).in_file(self.file), fault }
    }

    fn problem(&mut self, offset: usize, fault: ChatFault) {
        let error = self.error(offset, fault);
        self.problems.push(error);
    }

    fn wrong_kind(&mut self, value: &Value<'_>, key: &str, expected: &'static str) {
        self.problem(value.span().start, ChatFault::WrongKind { key: key.to_owned(), expected });
    }

    fn known(&mut self, table: &DeTable<'_>, known: &'static [&'static str]) {
        for key in table.keys() {
            let name = key.get_ref().to_string();
            if !known.contains(&name.as_str()) {
                let nearest = nearest(&name, known.iter().copied());
                self.problem(key.span().start, ChatFault::UnknownKey { key: name, known, nearest });
            }
        }
    }

    fn tools(&mut self, tools: &Value<'_>) -> Vec<Placed<String>> {
        let Some(table) = tools.get_ref().as_table() else {
            self.wrong_kind(tools, "tools", "a table [tools]");
            return Vec::new();
        };
        self.known(table, &["bash"]);
        let Some(bash) = table.get("bash") else { return Vec::new() };
        let names =
            bash.get_ref().as_array().map(|items| items.iter().map(|item| (item, item.get_ref().as_str())));
        let Some(names) = names else {
            self.wrong_kind(bash, "bash", "a list of names");
            return Vec::new();
        };
        let mut programs = Vec::new();
        for (item, name) in names {
            let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '+' | '-');
            match name {
                None => self.wrong_kind(item, "bash", "a list of names"),
                Some(name) if name.is_empty() || !name.chars().all(is_bare) => {
                    self.problem(item.span().start, ChatFault::NotAProgram(name.to_owned()));
                }
                Some(name) => programs.push(self.index.placed(item.span().start, name.to_owned())),
            }
        }
        programs
    }

    /// Both ways to write a chat: `[[chat.user]]`, and `[[chat]]` with a role.
    fn messages(&mut self, chat: &Value<'_>) -> Vec<Message> {
        let mut messages = Vec::new();
        if let Some(entries) = chat.get_ref().as_array() {
            messages.extend(entries.iter().filter_map(|entry| self.message(entry, None)));
        } else if let Some(table) = chat.get_ref().as_table() {
            self.known(table, &["user", "assistant"]);
            for role in [Role::User, Role::Assistant] {
                let Some(entries) = table.get(role.name()) else { continue };
                match entries.get_ref().as_array() {
                    Some(entries) => {
                        messages.extend(entries.iter().filter_map(|entry| self.message(entry, Some(role))));
                    }
                    None => self.wrong_kind(entries, role.name(), "a list of tables [[chat.user]]"),
                }
            }
        } else {
            self.wrong_kind(chat, "chat", "a list of tables [[chat.user]]");
        }
        messages.sort_by_key(|message| message.at);
        messages
    }

    fn message(&mut self, entry: &Value<'_>, role: Option<Role>) -> Option<Message> {
        let at = entry.span().start;
        let Some(table) = entry.get_ref().as_table() else {
            self.wrong_kind(entry, "chat", "a list of tables [[chat.user]]");
            return None;
        };
        self.known(table, if role.is_some() { &["content"] } else { &["role", "content"] });
        let content = self.text(table, at, "content")?;
        let role = match role {
            Some(role) => role,
            None => match self.text(table, at, "role")?.as_str() {
                "user" => Role::User,
                "assistant" => Role::Assistant,
                other => {
                    self.problem(at, ChatFault::UnknownRole(other.to_owned()));
                    return None;
                }
            },
        };
        Some(Message { at, role, content })
    }

    fn text(&mut self, table: &DeTable<'_>, at: usize, key: &'static str) -> Option<String> {
        let Some(value) = table.get(key) else {
            self.problem(at, ChatFault::NoKey(key));
            return None;
        };
        let text = value.get_ref().as_str().map(str::to_owned);
        if text.is_none() {
            self.wrong_kind(value, key, "a text");
        }
        text
    }

    fn roles(&mut self, messages: &[Message]) {
        for pair in messages.windows(2).filter(|pair| pair[0].role == pair[1].role) {
            self.problem(pair[1].at, ChatFault::SameRole(pair[1].role.name()));
        }
        let ends = [messages.first(), messages.last()];
        let wrong = ends.into_iter().flatten().find(|message| message.role != Role::User);
        if let Some(message) = wrong {
            self.problem(message.at, ChatFault::NotTheUser);
        }
    }
}
