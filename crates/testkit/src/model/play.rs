//! What a request gets: the first rule that fits, and of its turns the one the conversation has come to.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;

use super::api::Reply;
use super::ask::{Ask, Standing};
use super::form;
use super::script::{Act, Answer, Case, Fail, Rule, Script, Turn, When};
use super::tokens::Tokens;
use super::tool::{self, Call};

const LAST_WORDS: &str = "Done.";
const SIDE_WORDS: &str = "A short title";

pub struct Stage {
    script: Script,
    seen: Mutex<Vec<Counts>>,
}

/// What a rule has seen. Everything else is read from the conversation.
#[derive(Default)]
struct Counts {
    /// One for each conversation the rule's conditions held for.
    conversations: Vec<String>,
    requests: usize,
    /// How often each turn that fails did.
    failed: Vec<usize>,
}

pub struct Part {
    /// The rule's name; None when no rule was for this request.
    pub rule: Option<String>,
    pub side: bool,
    pub delay: Duration,
    pub deed: Deed,
}

pub enum Deed {
    Reply(Reply),
    /// The reply is what a stream begins with before it goes wrong.
    Fail(Fail, Reply),
}

impl Stage {
    pub fn new(script: Script) -> Self {
        let counts = |rule: &Rule| Counts { failed: vec![0; rule.turns.len()], ..Counts::default() };
        let seen = Mutex::new(script.rules.iter().map(counts).collect());
        Self { script, seen }
    }

    /// `id` is for the answer, and unlike any other.
    pub fn part(&self, ask: &Ask, prefix: &str, id: &str) -> Part {
        let standing = ask.standing();
        let side = ask.is_side();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut chosen = None;
        for (rule, counts) in self.script.rules.iter().zip(seen.iter_mut()) {
            if holds(&rule.when, ask, &standing, prefix)
                && counts.admits(&rule.when, &standing)
                && chosen.is_none()
            {
                chosen = Some((rule, counts));
            }
        }
        let actor = Actor { ask, standing: &standing, id };
        let Some((rule, counts)) = chosen else {
            let deed = Deed::Reply(if side {
                actor.side(self.script.side.as_deref())
            } else {
                actor.says(LAST_WORDS)
            });
            return Part { rule: None, side, delay: Duration::ZERO, deed };
        };
        let (delay, deed) = counts.deed(rule, &actor);
        Part { rule: Some(rule.name.clone()), side, delay, deed }
    }
}

fn holds(when: &When, ask: &Ask, standing: &Standing, prefix: &str) -> bool {
    let says = |text: &String| standing.brief.contains(text.as_str());
    let within = |wanted: &Option<String>, text: &str| {
        wanted.as_ref().is_none_or(|piece| text.contains(piece.as_str()))
    };
    let role = when.role.as_ref();
    when.side == ask.is_side()
        && when.says.iter().all(says)
        && !when.unless.iter().any(says)
        && role.is_none_or(|role| standing.brief.contains(&format!("You are the {role}")))
        && within(&when.path, prefix)
        && within(&when.model, &ask.model)
}

impl Counts {
    /// Counts the conversation and the request, and says whether they are the ones the rule is for.
    fn admits(&mut self, when: &When, standing: &Standing) -> bool {
        self.requests += 1;
        let attempt = when.attempt.is_none_or(|wanted| self.attempt(standing) == wanted);
        attempt && when.request.is_none_or(|wanted| self.requests == wanted)
    }

    fn attempt(&mut self, standing: &Standing) -> usize {
        let key = standing.nonce.as_ref().unwrap_or(&standing.brief);
        let at = self.conversations.iter().position(|seen| seen == key).unwrap_or_else(|| {
            self.conversations.push(key.clone());
            self.conversations.len() - 1
        });
        at + 1
    }

    fn deed(&mut self, rule: &Rule, actor: &Actor<'_>) -> (Duration, Deed) {
        let mut position = actor.standing.position;
        for (turn, failed) in rule.turns.iter().zip(&mut self.failed) {
            match turn {
                Turn::Fail(fail) if fail.times.is_none_or(|times| *failed < times) => {
                    *failed += 1;
                    return (fail.delay, actor.fails(*fail));
                }
                Turn::Fail(_) => {}
                Turn::Answer(answer) if position < answer.times => {
                    return (answer.delay, Deed::Reply(actor.answers(answer)));
                }
                Turn::Answer(answer) => position -= answer.times,
            }
        }
        (Duration::ZERO, Deed::Reply(actor.says(LAST_WORDS)))
    }
}

struct Actor<'a> {
    ask: &'a Ask,
    standing: &'a Standing,
    id: &'a str,
}

impl Actor<'_> {
    fn says(&self, text: &str) -> Reply {
        self.reply(Some(text.to_owned()), Vec::new())
    }

    /// A side request that wants a form gets the least that fits it.
    fn side(&self, words: Option<&str>) -> Reply {
        if let Some(call) = tool::form(&self.ask.tools) {
            return self.reply(None, vec![call]);
        }
        match &self.ask.schema {
            Some(schema) => self.says(&form::fit(&Value::Null, schema).to_string()),
            None => self.says(words.unwrap_or(SIDE_WORDS)),
        }
    }

    fn fails(&self, fail: Fail) -> Deed {
        let mut reply = self.says("This answer is not going to be finished, whatever comes of it.");
        if fail.case == Case::Refused {
            reply.refused = true;
            reply.say = None;
            return Deed::Reply(reply);
        }
        Deed::Fail(fail, reply)
    }

    fn answers(&self, answer: &Answer) -> Reply {
        let say = answer.say.as_ref().map(|text| self.fill(text));
        let mut reply = match &answer.act {
            None => self.reply(say, Vec::new()),
            Some(Act::Run { command, args }) => {
                let command = self.fill(command);
                let call = tool::shell(&self.ask.tools, &command, args);
                self.calls(say, call, "a shell")
            }
            Some(Act::Call { tool, args }) => {
                let call = tool::named(&self.ask.tools, tool, &self.filled(args));
                self.calls(say, call, tool)
            }
            Some(Act::Report(report)) => self.reports(say, &self.filled(report)),
        };
        if let Some(tokens) = answer.tokens {
            reply.tokens = tokens;
        }
        reply
    }

    /// By the tool the agent has for it, by the form the request wants, or into the file the brief names.
    fn reports(&self, say: Option<String>, report: &Value) -> Reply {
        if let Some(call) = tool::structured(&self.ask.tools, report) {
            return self.reply(say, vec![call]);
        }
        if let Some(schema) = &self.ask.schema {
            return self.reply(Some(form::fit(report, schema).to_string()), Vec::new());
        }
        let text = report.to_string().replace('\'', r"'\''");
        let command = format!("printf '%s\\n' '{text}' > {}", report_file(&self.standing.brief));
        let call = tool::shell(&self.ask.tools, &command, &Value::Null);
        self.calls(say, call, "a shell")
    }

    /// A model without the tool it would need can only say so.
    fn calls(&self, say: Option<String>, call: Option<Call>, wanted: &str) -> Reply {
        match call {
            Some(call) => self.reply(say, vec![call]),
            None => {
                let offered: Vec<_> = self.ask.tools.iter().map(|tool| tool.name.as_str()).collect();
                self.says(&format!("I was not offered {wanted}, only: {}", offered.join(", ")))
            }
        }
    }

    fn reply(&self, say: Option<String>, calls: Vec<Call>) -> Reply {
        let deeds: usize = calls.iter().map(|call| call.args.to_string().len()).sum();
        let bytes = say.as_ref().map_or(0, String::len) + deeds;
        Reply {
            id: self.id.to_owned(),
            model: self.ask.model.clone(),
            say,
            calls,
            refused: false,
            tokens: Tokens::count(self.ask, self.standing.position, bytes),
            tells_tokens: self.ask.wants_usage,
        }
    }

    fn fill(&self, text: &str) -> String {
        text.replace("$nonce", self.standing.nonce.as_deref().unwrap_or_default())
    }

    fn filled(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.fill(text)),
            Value::Array(items) => items.iter().map(|item| self.filled(item)).collect(),
            Value::Object(fields) => {
                fields.iter().map(|(key, value)| (key.clone(), self.filled(value))).collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}

/// A path in the brief's chapter on the report, or the variable it speaks of; ready for a shell.
fn report_file(brief: &str) -> String {
    let chapter = brief.rsplit_once("## Your report").map_or("", |(_, chapter)| chapter);
    let bare = |word: &str| word.trim_matches(|c: char| "`'\"()<>,;:.".contains(c)).to_owned();
    let path = chapter.split_whitespace().map(bare).find(|word| word.len() > 1 && word.starts_with('/'));
    match path {
        Some(path) => format!("'{}'", path.replace('\'', r"'\''")),
        None => "\"$WINDLASS_REPORT\"".to_owned(),
    }
}

impl fmt::Display for Deed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fail(fail, _) => write!(f, "fail {:?}", fail.case),
            Self::Reply(reply) if reply.refused => f.write_str("refuse"),
            Self::Reply(reply) => match reply.calls.first() {
                Some(call) => write!(f, "call {}", call.tool.name),
                None => f.write_str("say"),
            },
        }
    }
}
