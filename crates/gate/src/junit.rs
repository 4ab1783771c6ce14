//! Junit files: XML in the shape that most test runners can write.
//!
//! The bytes come from a tree that an agent filled, so they may be anything. Nothing is expanded: a document
//! type is refused, and an entity other than the five of XML is an error. The work is linear in the size of
//! the file, which the caller bounds.

mod files;

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

pub use files::{Before, JunitFiles};

/// Suites within suites.
const DEEPEST: usize = 64;

/// What one file says, or several together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cases {
    pub cases: Vec<Case>,
    /// What the outermost suites say of themselves; a suite may fail outside of any test.
    pub failures: u32,
    pub errors: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Its class, or else its suite, and its own.
    pub name: String,
    pub end: End,
    pub parts: CaseParts,
}

/// The same, apart, and what its failure says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaseParts {
    pub class: String,
    pub name: String,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Passed,
    Failed,
    Errored,
    Skipped,
}

/// Adds what a file says. The error says what is wrong with it, and where.
pub fn read(bytes: &[u8], into: &mut Cases) -> Result<(), String> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| format!("is not UTF-8, at byte {}", error.valid_up_to()))?;
    let mut reader = Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    let mut walk = Walk { into, open: Vec::new(), case: None, suites: Vec::new(), ended: false };
    loop {
        let at = reader.buffer_position();
        let wrong = |what: String| format!("{what}, at byte {at}");
        match reader.read_event() {
            Err(error) => return Err(wrong(format!("is not well formed ({error})"))),
            Ok(Event::Eof) => return walk.end(),
            Ok(Event::Start(tag)) => walk.start(&tag).map_err(wrong)?,
            Ok(Event::End(_)) => walk.close(),
            Ok(Event::DocType(_)) => return Err(wrong("declares a document type".to_owned())),
            Ok(Event::Text(text)) => walk.text(&text),
            Ok(Event::CData(text)) => walk.text(&text),
            Ok(
                Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::GeneralRef(_),
            ) => {}
        }
    }
}

struct Walk<'c> {
    into: &'c mut Cases,
    open: Vec<Tag>,
    case: Option<Case>,
    /// The names of the suites that are open.
    suites: Vec<String>,
    ended: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Tag {
    Suites,
    Suite,
    Case,
    Failure,
    Error,
    Skipped,
    Other,
}

impl Walk<'_> {
    fn start(&mut self, tag: &BytesStart<'_>) -> Result<(), String> {
        let kind = match tag.local_name().as_ref() {
            "testsuites" => Tag::Suites,
            "testsuite" => Tag::Suite,
            "testcase" => Tag::Case,
            "failure" => Tag::Failure,
            "error" => Tag::Error,
            "skipped" => Tag::Skipped,
            _ => Tag::Other,
        };
        if self.open.is_empty() && (self.ended || !matches!(kind, Tag::Suites | Tag::Suite)) {
            return Err("is no junit file: its root is neither testsuites nor testsuite".to_owned());
        }
        if self.open.len() >= DEEPEST {
            return Err(format!("has elements more than {DEEPEST} deep"));
        }
        match kind {
            Tag::Suite => self.suite(tag)?,
            Tag::Case => self.case(tag)?,
            Tag::Failure => self.worsen(End::Failed, tag)?,
            Tag::Error => self.worsen(End::Errored, tag)?,
            Tag::Skipped => self.worsen(End::Skipped, tag)?,
            Tag::Suites | Tag::Other => {}
        }
        self.open.push(kind);
        Ok(())
    }

    fn suite(&mut self, tag: &BytesStart<'_>) -> Result<(), String> {
        let [name, failures, errors] = attributes(tag, ["name", "failures", "errors"])?;
        if self.suites.is_empty() {
            let number =
                |text: Option<String>| text.and_then(|text| text.trim().parse::<u32>().ok()).unwrap_or(0);
            self.into.failures = self.into.failures.saturating_add(number(failures));
            self.into.errors = self.into.errors.saturating_add(number(errors));
        }
        self.suites.push(name.unwrap_or_default());
        Ok(())
    }

    fn case(&mut self, tag: &BytesStart<'_>) -> Result<(), String> {
        if self.case.is_some() {
            return Err("has a test within a test".to_owned());
        }
        let [name, class, status] = attributes(tag, ["name", "classname", "status"])?;
        let class = class.filter(|class| !class.is_empty()).or_else(|| self.suites.last().cloned());
        let parts = CaseParts {
            class: class.unwrap_or_default(),
            name: name.unwrap_or_default(),
            message: String::new(),
        };
        let name = match parts.class.as_str() {
            "" => parts.name.clone(),
            class => format!("{class}::{}", parts.name),
        };
        let end = match status.as_deref() {
            Some("notrun" | "skipped" | "disabled") => End::Skipped,
            Some(_) | None => End::Passed,
        };
        self.case = Some(Case { name: name.replace(['\n', '\r'], " "), end, parts });
        Ok(())
    }

    /// Only what stands directly in a test is about it: a runner's system-out may hold anything.
    fn worsen(&mut self, end: End, tag: &BytesStart<'_>) -> Result<(), String> {
        let Some(case) = self.case.as_mut().filter(|_| self.open.last() == Some(&Tag::Case)) else {
            return Ok(());
        };
        if end != End::Skipped {
            let [message] = attributes(tag, ["message"])?;
            case.parts.message.extend(message.into_iter().flat_map(|message| [message, "\n".to_owned()]));
        }
        case.end = match (case.end, end) {
            (End::Errored, _) | (_, End::Errored) => End::Errored,
            (End::Failed, _) | (_, End::Failed) => End::Failed,
            (End::Skipped, _) | (_, End::Skipped) => End::Skipped,
            (End::Passed, End::Passed) => End::Passed,
        };
        Ok(())
    }

    /// What a failure says of itself. Entities stay as they are written: it is searched, not shown.
    fn text(&mut self, text: &str) {
        let about = matches!(self.open.as_slice(), [.., Tag::Case, Tag::Failure | Tag::Error]);
        if let Some(case) = self.case.as_mut().filter(|_| about) {
            case.parts.message.push_str(text);
        }
    }

    fn close(&mut self) {
        match self.open.pop() {
            Some(Tag::Case) => self.into.cases.extend(self.case.take()),
            Some(Tag::Suite) => {
                self.suites.pop();
            }
            Some(Tag::Suites | Tag::Failure | Tag::Error | Tag::Skipped | Tag::Other) | None => {}
        }
        self.ended |= self.open.is_empty();
    }

    fn end(&self) -> Result<(), String> {
        match (self.ended, self.open.is_empty()) {
            (true, true) => Ok(()),
            (false, true) => Err("is empty".to_owned()),
            (_, false) => Err("ends in the middle".to_owned()),
        }
    }
}

fn attributes<const N: usize>(
    tag: &BytesStart<'_>,
    wanted: [&str; N],
) -> Result<[Option<String>; N], String> {
    let mut found = [const { None }; N];
    // Without the check for a name given twice, which is not linear.
    for attribute in tag.attributes().with_checks(false) {
        let attribute = attribute.map_err(|error| format!("has a bad attribute ({error})"))?;
        let at = wanted.iter().position(|name| attribute.key.as_ref() == *name);
        if let Some(at) = at {
            let value = attribute
                .normalized_value(XmlVersion::Implicit1_0)
                .map_err(|error| format!("has a bad attribute ({error})"))?;
            found[at] = Some(value.into_owned());
        }
    }
    Ok(found)
}
