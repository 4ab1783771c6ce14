//! What the model does, as TOML: rules that choose by the conversation, each with its turns. The format is
//! described in `docs/guide/model.md`.

use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde::Deserialize;
use serde_json::Value;

use super::tokens::Tokens;

#[derive(Clone, Debug, Default)]
pub struct Script {
    pub rules: Vec<Rule>,
    /// What side requests are told.
    pub side: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Rule {
    pub name: String,
    pub when: When,
    pub turns: Vec<Turn>,
}

/// All of it must hold.
#[derive(Clone, Debug, Default)]
pub struct When {
    pub says: Vec<String>,
    pub unless: Vec<String>,
    pub role: Option<String>,
    /// A piece of the path before the API's own.
    pub path: Option<String>,
    /// A piece of the model's name.
    pub model: Option<String>,
    /// The how-manieth conversation of those the rest of this holds for, from 1.
    pub attempt: Option<usize>,
    /// The how-manieth request of those, from 1. An agent's retries count.
    pub request: Option<usize>,
    pub side: bool,
}

#[derive(Clone, Debug)]
pub enum Turn {
    Answer(Answer),
    Fail(Fail),
}

/// One answer of the model: words, a deed, or both.
#[derive(Clone, Debug)]
pub struct Answer {
    pub say: Option<String>,
    pub act: Option<Act>,
    pub times: usize,
    pub delay: Duration,
    /// Instead of what the server would count.
    pub tokens: Option<Tokens>,
}

#[derive(Clone, Debug)]
pub enum Act {
    Run { command: String, args: Value },
    Call { tool: String, args: Value },
    Report(Value),
}

#[derive(Clone, Copy, Debug)]
pub struct Fail {
    pub case: Case,
    /// How many requests fail before the next turn has its turn; None is for ever.
    pub times: Option<usize>,
    pub retry_after: Option<u64>,
    pub resets_in: Option<u64>,
    pub delay: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    Http(u16),
    UsageLimit,
    ContextOverflow,
    /// The same, told inside of a stream that began well.
    ContextOverflowStream,
    /// Too busy, told inside of a stream that began well.
    OverloadedStream,
    Refused,
    Hang,
    HangMidway,
    Malformed,
    /// The connection breaks in the middle.
    Cut,
    /// The same, but to HTTP the answer is whole.
    CutSoftly,
}

impl FromStr for Case {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> Result<Self> {
        Ok(match name {
            "usage_limit" => Self::UsageLimit,
            "ctx" => Self::ContextOverflow,
            "ctxsse" => Self::ContextOverflowStream,
            "overloadedsse" => Self::OverloadedStream,
            "refused" => Self::Refused,
            "hang" => Self::Hang,
            "hangmid" => Self::HangMidway,
            "malformed" => Self::Malformed,
            "cut" | "midcut" => Self::Cut,
            "midend" => Self::CutSoftly,
            _ => match name.strip_prefix("http").map(str::parse) {
                Some(Ok(status @ 400..=599)) => Self::Http(status),
                _ => bail!("{name:?} is no failure; there are {CASES}"),
            },
        })
    }
}

pub const CASES: &str = "http400 to http599, usage_limit, ctx, ctxsse, overloadedsse, refused, hang, hangmid, malformed, midcut, midend, flaky500";

impl FromStr for Script {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let raw: RawScript = toml::from_str(text)?;
        let rules = raw.rule.into_iter().enumerate().map(|(index, rule)| rule.check(index));
        Ok(Self { rules: rules.collect::<Result<_>>()?, side: raw.side })
    }
}

impl Script {
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        text.parse().with_context(|| format!("the script {}", path.display()))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawScript {
    #[serde(default)]
    rule: Vec<RawRule>,
    side: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRule {
    name: Option<String>,
    when: Option<Texts>,
    unless: Option<Texts>,
    role: Option<String>,
    path: Option<String>,
    model: Option<String>,
    attempt: Option<usize>,
    request: Option<usize>,
    #[serde(default)]
    side: bool,
    #[serde(default)]
    turns: Vec<RawTurn>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Texts {
    One(String),
    Several(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTurn {
    say: Option<String>,
    run: Option<String>,
    call: Option<String>,
    args: Option<Value>,
    report: Option<Value>,
    fail: Option<String>,
    times: Option<usize>,
    retry_after: Option<u64>,
    resets_in: Option<u64>,
    #[serde(default)]
    delay_ms: u64,
    tokens: Option<Tokens>,
}

impl RawRule {
    fn check(self, index: usize) -> Result<Rule> {
        let name = self.name.unwrap_or_else(|| format!("rule {}", index + 1));
        let texts = |texts: Option<Texts>| match texts {
            None => Vec::new(),
            Some(Texts::One(text)) => vec![text],
            Some(Texts::Several(texts)) => texts,
        };
        let zero = self.attempt == Some(0) || self.request == Some(0);
        ensure!(!zero, "{name}: attempts and requests are counted from 1");
        let turns = self
            .turns
            .into_iter()
            .enumerate()
            .map(|(index, turn)| turn.check().with_context(|| format!("{name}, turn {}", index + 1)));
        let turns = turns.collect::<Result<_>>()?;
        let when = When {
            says: texts(self.when),
            unless: texts(self.unless),
            role: self.role,
            path: self.path,
            model: self.model,
            attempt: self.attempt,
            request: self.request,
            side: self.side,
        };
        Ok(Rule { name, when, turns })
    }
}

impl RawTurn {
    fn check(self) -> Result<Turn> {
        let delay = Duration::from_millis(self.delay_ms);
        if let Some(case) = self.fail {
            let alone = self.say.is_none() && self.run.is_none() && self.call.is_none();
            ensure!(alone && self.report.is_none(), "a turn that fails does nothing else");
            let (case, times) = match case.as_str() {
                "flaky500" => (Case::Http(500), self.times.or(Some(2))),
                name => (name.parse()?, self.times),
            };
            let (retry_after, resets_in) = (self.retry_after, self.resets_in);
            return Ok(Turn::Fail(Fail { case, times, retry_after, resets_in, delay }));
        }
        ensure!(self.retry_after.is_none() && self.resets_in.is_none(), "only a failure has a time to retry");
        let args = self.args.unwrap_or_else(|| Value::Object(serde_json::Map::new()));
        let is_one_text = args.is_string() && self.call.is_some();
        ensure!(args.is_object() || is_one_text, "args is a table, or one text beside `call`");
        let act = match (self.run, self.call, self.report) {
            (Some(command), None, None) => Some(Act::Run { command, args }),
            (None, Some(tool), None) => Some(Act::Call { tool, args }),
            (None, None, Some(report)) => Some(Act::Report(report)),
            (None, None, None) => None,
            _ => bail!("a turn is one of run, call and report"),
        };
        ensure!(act.is_some() || self.say.is_some(), "a turn says, runs, calls, reports or fails");
        let times = self.times.unwrap_or(1);
        Ok(Turn::Answer(Answer { say: self.say, act, times, delay, tokens: self.tokens }))
    }
}
