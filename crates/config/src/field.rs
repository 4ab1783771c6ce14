//! One key of the policy: what it accepts, where it goes, and how it is shown.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;
use windlass_core::nearest::nearest;
use windlass_core::policy::{GatePolicy, KNOWN_AGENTS};
use windlass_core::time::Millis;
use windlass_core::usage::Price;

use super::checks;
use super::duration;
use super::problem::TextProblem;
use super::size;
use super::tables;

/// A key of a table that becomes a `P`.
pub struct PolicyKey<P: 'static> {
    /// Dotted, from the top of the file for `Policy`, else within its table.
    pub name: &'static str,
    /// One sentence, for `config explain` and the reference.
    pub doc: &'static str,
    pub field: Field<P>,
}

/// The kinds of value, each with the place in `P` it fills.
pub enum Field<P: 'static> {
    /// A count; 0 switches the limit off.
    Limit(fn(&mut P) -> &mut u32),
    AtLeastOne(fn(&mut P) -> &mut u32),
    /// Never, or once.
    AtMostOne(fn(&mut P) -> &mut u32),
    Tokens(fn(&mut P) -> &mut u64),
    /// Written in dollars, kept in millionths.
    Dollars(fn(&mut P) -> &mut u64),
    /// Written with a unit, kept in bytes; 0 switches the limit off.
    Bytes(fn(&mut P) -> &mut u64),
    Span(fn(&mut P) -> &mut Millis),
    Flag(fn(&mut P) -> &mut bool),
    Text(fn(&mut P) -> &mut String),
    /// One pattern of paths inside the repository.
    Glob(fn(&mut P) -> &mut String),
    Texts(Items, fn(&mut P) -> &mut Vec<String>),
    Choice(Choice<P>),
    Variables(fn(&mut P) -> Variables<'_>),
    Places(fn(&mut P) -> &mut BTreeMap<String, String>),
    Prices(fn(&mut P) -> &mut BTreeMap<String, Price>),
    Checks(fn(&mut P) -> &mut GatePolicy),
}

/// Environment variables by name alone, and with their values.
pub type Variables<'a> = (&'a mut Vec<String>, &'a mut BTreeMap<String, String>);

/// What the texts of a list are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Items {
    Arguments,
    Commands,
    /// Patterns of paths inside the repository.
    Globs,
    /// Paths inside the repository.
    Paths,
    /// Paths anywhere: from the root of the repository, absolute, or below `~/`.
    Places,
    /// `host:port`.
    Hosts,
    Directories,
    /// Names of environment variables.
    Variables,
    /// Agents that windlass knows by name.
    Agents,
}

pub struct Choice<P: 'static> {
    pub options: &'static [ChoiceOption<P>],
    /// Words of later versions, refused as such.
    pub later: &'static [&'static str],
    pub shown: fn(&P) -> &str,
}

/// A word and what it does.
pub type ChoiceOption<P> = (&'static str, fn(&mut P));

/// What a well-formed value does to the policy.
pub type Setter<P> = Box<dyn FnOnce(&mut P)>;

pub type TomlValue<'a> = Spanned<DeValue<'a>>;

impl<P> Field<P> {
    /// Reads a value, or says everything that is wrong with it. `key` is its
    /// whole dotted name.
    pub fn read(&self, key: &str, value: &TomlValue<'_>) -> Result<Setter<P>, Vec<TextProblem>> {
        match self {
            Self::Limit(at) => put(*at, number(key, value, 0..=u64::from(u32::MAX)).map(narrow)),
            Self::AtLeastOne(at) => put(*at, number(key, value, 1..=u64::from(u32::MAX)).map(narrow)),
            Self::AtMostOne(at) => put(*at, number(key, value, 0..=1).map(narrow)),
            Self::Tokens(at) => put(*at, number(key, value, 0..=i64::MAX.unsigned_abs())),
            Self::Dollars(at) => put(*at, dollars(key, value)),
            Self::Bytes(at) => put(*at, bytes(key, value)),
            Self::Span(at) => put(*at, span(key, value)),
            Self::Flag(at) => put(*at, flag(key, value)),
            Self::Text(at) => put(*at, text(key, value)),
            Self::Glob(at) => put(*at, glob(key, value)),
            Self::Texts(items, at) => puts(*at, texts(key, value, *items)),
            Self::Choice(choice) => choice.read(key, value).map_err(|problem| vec![problem]),
            Self::Variables(at) => {
                let read = tables::variables(key, value)?;
                let at = *at;
                Ok(Box::new(move |policy| {
                    let (names, values) = at(policy);
                    (*names, *values) = (read.names, read.values);
                }))
            }
            Self::Places(at) => puts(*at, tables::places(key, value)),
            Self::Prices(at) => puts(*at, tables::prices(key, value)),
            Self::Checks(at) => {
                let drafts = checks::read(value)?;
                let at = *at;
                Ok(Box::new(move |policy| checks::put(at(policy), drafts)))
            }
        }
    }

    /// What the key accepts, in a few words.
    pub fn kind(&self) -> String {
        match self {
            Self::Limit(_) => "whole number, 0 = off".to_owned(),
            Self::AtLeastOne(_) => "whole number, at least 1".to_owned(),
            Self::AtMostOne(_) => "0 or 1".to_owned(),
            Self::Tokens(_) => "whole number, 0 = off".to_owned(),
            Self::Dollars(_) => "amount in dollars, 0 = off".to_owned(),
            Self::Bytes(_) => "size such as \"512MB\" or \"4GiB\", 0 = off".to_owned(),
            Self::Span(_) => "duration such as \"20s\", \"5m\" or \"1h30m\", 0 = off".to_owned(),
            Self::Flag(_) => "true or false".to_owned(),
            Self::Text(_) => "text".to_owned(),
            Self::Glob(_) => "glob of paths in the repository".to_owned(),
            Self::Texts(items, _) => format!("list of {}", items.describe()),
            Self::Choice(choice) => choice.words(),
            Self::Variables(_) => "list of names, or table of names and values".to_owned(),
            Self::Places(_) => "table of paths".to_owned(),
            Self::Prices(_) => "table of models".to_owned(),
            Self::Checks(_) => "list of tables".to_owned(),
        }
    }

    /// The value as it would be written in a file.
    pub fn show(&self, policy: &mut P) -> String {
        match self {
            Self::Limit(at) | Self::AtLeastOne(at) | Self::AtMostOne(at) => at(policy).to_string(),
            Self::Tokens(at) => at(policy).to_string(),
            Self::Dollars(at) => show_dollars(*at(policy)),
            Self::Bytes(at) => size::show(*at(policy)),
            Self::Span(at) => show_span(*at(policy)),
            Self::Flag(at) => at(policy).to_string(),
            Self::Text(at) | Self::Glob(at) => quoted(at(policy)),
            Self::Texts(_, at) => quoted_list(at(policy)),
            Self::Choice(choice) => quoted((choice.shown)(policy)),
            Self::Variables(at) => {
                let (names, values) = at(policy);
                tables::show_variables(names, values)
            }
            Self::Places(at) => tables::show_pairs(at(policy)),
            Self::Prices(at) => tables::show_prices(at(policy)),
            Self::Checks(at) => checks::show(&at(policy).checks),
        }
    }
}

pub fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

pub fn quoted_list(texts: &[String]) -> String {
    let items: Vec<String> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", items.join(", "))
}

pub fn show_span(span: Millis) -> String {
    if span.is_zero() { "0".to_owned() } else { quoted(&duration::write(span)) }
}

pub fn not_available(what: &str, span: Range<usize>) -> TextProblem {
    TextProblem {
        span,
        message: format!("`{what}` is not available in this version of windlass"),
        help: "remove it".to_owned(),
    }
}

pub fn wrong_type(key: &str, wanted: &str, value: &TomlValue<'_>) -> TextProblem {
    let found = match value.get_ref() {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    };
    TextProblem {
        span: value.span(),
        message: format!("`{key}` must be {wanted}, not {found}"),
        help: format!("write {wanted}"),
    }
}

pub fn text(key: &str, value: &TomlValue<'_>) -> Result<String, TextProblem> {
    let Some(text) = value.get_ref().as_str() else {
        return Err(wrong_type(key, "a text in quotes", value));
    };
    if text.contains('\0') {
        return Err(TextProblem {
            span: value.span(),
            message: format!("`{key}` has a NUL character in it"),
            help: "remove it: no program can be given one".to_owned(),
        });
    }
    Ok(text.to_owned())
}

impl<P> Choice<P> {
    fn words(&self) -> String {
        let words: Vec<String> = self.options.iter().map(|(word, _)| quoted(word)).collect();
        words.join(", ")
    }

    fn read(&self, key: &str, value: &TomlValue<'_>) -> Result<Setter<P>, TextProblem> {
        let word = text(key, value)?;
        if let Some((_, set)) = self.options.iter().find(|(option, _)| *option == word) {
            return Ok(Box::new(*set));
        }
        let known = format!("known here: {}", self.words());
        if self.later.contains(&word.as_str()) {
            let problem = not_available(&format!("{key} = {}", quoted(&word)), value.span());
            return Err(TextProblem { help: known, ..problem });
        }
        let meant = nearest(&word, self.options.iter().map(|(option, _)| *option));
        let help = meant.map_or(known.clone(), |option| format!("did you mean {}? {known}", quoted(option)));
        let message = format!("`{key}` cannot be {}", quoted(&word));
        Err(TextProblem { span: value.span(), message, help })
    }
}

impl Items {
    pub fn describe(self) -> &'static str {
        match self {
            Self::Arguments => "texts: a program and its arguments",
            Self::Commands => "shell commands",
            Self::Globs => "globs of paths in the repository",
            Self::Paths => "paths in the repository",
            Self::Places => "paths",
            Self::Hosts => "hosts with their ports",
            Self::Directories => "directories in the repository",
            Self::Variables => "names of environment variables",
            Self::Agents => "agents that windlass knows",
        }
    }

    /// One item as it is kept, or what is wrong with it.
    pub fn accept(self, item: &str) -> Result<String, String> {
        match self {
            Self::Arguments => Ok(item.to_owned()),
            Self::Commands if item.trim().is_empty() => Err("a command is empty".to_owned()),
            Self::Commands => Ok(item.to_owned()),
            Self::Paths => inside(item),
            Self::Places if item.trim().is_empty() => Err("a path is empty".to_owned()),
            Self::Places if item.split('/').any(|part| part == "..") => {
                Err(format!("{} goes up with `..`", quoted(item)))
            }
            Self::Places => Ok(item.to_owned()),
            Self::Hosts => host_and_port(item),
            Self::Directories => directory(item),
            Self::Globs => {
                let glob = inside(item)?;
                let glob = if glob.ends_with('/') { format!("{glob}**") } else { glob };
                match globset::Glob::new(&glob) {
                    Ok(_) => Ok(glob),
                    Err(error) => Err(format!("the glob {} is not valid: {}", quoted(item), error.kind())),
                }
            }
            Self::Variables if item.is_empty() || item.contains(['=', ' ']) => {
                Err(format!("{} cannot be the name of an environment variable", quoted(item)))
            }
            Self::Variables => Ok(item.to_owned()),
            Self::Agents if KNOWN_AGENTS.contains(&item) => Ok(item.to_owned()),
            Self::Agents => Err(format!("there is no agent {}", quoted(item))),
        }
    }

    fn remedy(self) -> &'static str {
        match self {
            Self::Arguments => "write each argument as a text of its own",
            Self::Commands => "write the command or remove it",
            Self::Globs => "write it like \"tests/**\" or \"test.sh\", from the root of the repository",
            Self::Paths => "write it like \".env.test\", from the root of the repository",
            Self::Places => "write it like \"/opt/models\", \"~/.cache/pip\" or \"vendor\"",
            Self::Hosts => "write it like \"api.example.com:443\" or \"*.example.com:443\"",
            Self::Directories => {
                "write it like \"target\" or \"web/node_modules\", from the root of the repository"
            }
            Self::Variables => "write only the name, such as \"API_KEY\"",
            Self::Agents => "write one of codex, claude, opencode, gemini and qwen",
        }
    }
}

/// A path from the root of the repository, without a leading `./`.
pub fn inside(item: &str) -> Result<String, String> {
    let path = item.strip_prefix("./").unwrap_or(item);
    if path.trim().is_empty() {
        return Err("a path is empty".to_owned());
    }
    if path.starts_with('/') || path.split('/').any(|part| part == "..") {
        return Err(format!("{} leads out of the repository", quoted(item)));
    }
    Ok(path.to_owned())
}

fn host_and_port(item: &str) -> Result<String, String> {
    let (host, port) = item.rsplit_once(':').ok_or_else(|| format!("{} has no port", quoted(item)))?;
    let name = |c: char| c.is_ascii_alphanumeric() || "-._*[]:".contains(c);
    match port.parse::<u16>() {
        Ok(1..) if !host.is_empty() && host.chars().all(name) => Ok(item.to_owned()),
        Ok(_) | Err(_) => Err(format!("{} is not a host with its port", quoted(item))),
    }
}

/// A directory of its own: not the whole repository, not git's, no pattern.
fn directory(item: &str) -> Result<String, String> {
    let path = inside(item)?;
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.is_empty() || parts.contains(&".git") {
        return Err(format!("{} cannot be a cache", quoted(item)));
    }
    if path.contains(['*', '?', '[', '{']) {
        return Err(format!("{} is a pattern, and a directory is wanted", quoted(item)));
    }
    Ok(parts.join("/"))
}

fn glob(key: &str, value: &TomlValue<'_>) -> Result<String, TextProblem> {
    let written = text(key, value)?;
    if written.is_empty() {
        return Ok(written);
    }
    let wrong = |message: String| TextProblem {
        span: value.span(),
        message,
        help:
            "write it like \"target/junit.xml\" or \"build/**/TEST-*.xml\", from the root of the repository"
                .to_owned(),
    };
    let path = inside(&written).map_err(|why| wrong(format!("in `{key}`, {why}")))?;
    match globset::Glob::new(&path) {
        Ok(_) => Ok(path),
        Err(error) => {
            Err(wrong(format!("in `{key}`, the glob {} is not valid: {}", quoted(&written), error.kind())))
        }
    }
}

fn put<P: 'static, T: 'static>(
    at: fn(&mut P) -> &mut T,
    read: Result<T, TextProblem>,
) -> Result<Setter<P>, Vec<TextProblem>> {
    puts(at, read.map_err(|problem| vec![problem]))
}

fn puts<P: 'static, T: 'static>(
    at: fn(&mut P) -> &mut T,
    read: Result<T, Vec<TextProblem>>,
) -> Result<Setter<P>, Vec<TextProblem>> {
    let value = read?;
    Ok(Box::new(move |policy| *at(policy) = value))
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).expect("the range was checked when the number was read")
}

fn number(
    key: &str,
    value: &TomlValue<'_>,
    range: std::ops::RangeInclusive<u64>,
) -> Result<u64, TextProblem> {
    let Some(number) = value.get_ref().as_integer() else {
        return Err(wrong_type(key, "a whole number", value));
    };
    let number = u64::from_str_radix(number.as_str(), number.radix()).ok();
    number.filter(|number| range.contains(number)).ok_or_else(|| TextProblem {
        span: value.span(),
        message: format!("`{key}` must be a whole number from {} to {}", range.start(), range.end()),
        help: match (range.start(), range.end()) {
            (0, 1) => "write 1, or 0 for never".to_owned(),
            (0, _) => "0 switches the limit off".to_owned(),
            (_, _) => "write at least 1".to_owned(),
        },
    })
}

const MICRO: f64 = 1_000_000.0;

fn dollars(key: &str, value: &TomlValue<'_>) -> Result<u64, TextProblem> {
    let written = match value.get_ref() {
        DeValue::Float(float) => float.as_str().parse::<f64>().ok(),
        DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str().parse::<f64>().ok(),
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_)
        | DeValue::Table(_) => return Err(wrong_type(key, "an amount in dollars", value)),
    };
    let fits = |dollars: &f64| (0.0..=1e9).contains(dollars);
    let amount = written.filter(fits).ok_or_else(|| TextProblem {
        span: value.span(),
        message: format!("`{key}` must be an amount in dollars from 0 to a billion"),
        help: "write it like 20.0; 0 switches the limit off".to_owned(),
    })?;
    Ok((amount * MICRO).round() as u64)
}

fn show_dollars(micro: u64) -> String {
    let (whole, part) = (micro / 1_000_000, micro % 1_000_000);
    let part = format!("{part:06}");
    let part = part.trim_end_matches('0');
    format!("{whole}.{}", if part.is_empty() { "0" } else { part })
}

fn span(key: &str, value: &TomlValue<'_>) -> Result<Millis, TextProblem> {
    let help = || {
        "write a number with a unit, such as \"20s\", \"5m\" or \"1h30m\"; 0 switches the limit off"
            .to_owned()
    };
    if let Some(number) = value.get_ref().as_integer() {
        if number.as_str().trim_start_matches(['+', '-']) == "0" {
            return Ok(Millis(0));
        }
        return Err(TextProblem {
            span: value.span(),
            message: format!("`{key}` has no unit"),
            help: help(),
        });
    }
    let Some(text) = value.get_ref().as_str() else {
        return Err(TextProblem { help: help(), ..wrong_type(key, "a duration", value) });
    };
    duration::parse(text).map_err(|why| TextProblem {
        span: value.span(),
        message: format!("`{key}` is not a duration: {why}"),
        help: help(),
    })
}

fn bytes(key: &str, value: &TomlValue<'_>) -> Result<u64, TextProblem> {
    let help =
        || "write a number with a unit, such as \"512MB\" or \"4GiB\"; 0 switches the limit off".to_owned();
    if let Some(number) = value.get_ref().as_integer() {
        if number.as_str() == "0" {
            return Ok(0);
        }
        return Err(TextProblem {
            span: value.span(),
            message: format!("`{key}` has no unit"),
            help: help(),
        });
    }
    let Some(text) = value.get_ref().as_str() else {
        return Err(TextProblem { help: help(), ..wrong_type(key, "a size", value) });
    };
    size::parse(text).ok_or_else(|| TextProblem {
        span: value.span(),
        message: format!("`{key}` is not a size: {}", quoted(text)),
        help: help(),
    })
}

fn flag(key: &str, value: &TomlValue<'_>) -> Result<bool, TextProblem> {
    value.get_ref().as_bool().ok_or_else(|| wrong_type(key, "true or false", value))
}

pub fn texts(key: &str, value: &TomlValue<'_>, items: Items) -> Result<Vec<String>, Vec<TextProblem>> {
    let Some(array) = value.get_ref().as_array() else {
        let mut problem = wrong_type(key, "a list of texts", value);
        if let Some(text) = value.get_ref().as_str() {
            let words: Vec<String> = match items {
                Items::Arguments => text.split_whitespace().map(str::to_owned).collect(),
                Items::Commands
                | Items::Globs
                | Items::Paths
                | Items::Places
                | Items::Hosts
                | Items::Directories
                | Items::Variables
                | Items::Agents => vec![text.to_owned()],
            };
            problem.help = format!("write {}", quoted_list(&words));
        }
        return Err(vec![problem]);
    };
    let mut kept = Vec::new();
    let mut problems = Vec::new();
    for (at, item) in array.iter().enumerate() {
        let accepted = text(&format!("{key}[{at}]"), item).and_then(|text| {
            items.accept(&text).map_err(|wrong| TextProblem {
                span: item.span(),
                message: format!("in `{key}`, {wrong}"),
                help: items.remedy().to_owned(),
            })
        });
        match accepted {
            Ok(text) => kept.push(text),
            Err(problem) => problems.push(problem),
        }
    }
    if problems.is_empty() { Ok(kept) } else { Err(problems) }
}
