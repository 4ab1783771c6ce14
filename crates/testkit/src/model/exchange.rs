//! One request, from its first byte to the end of its connection.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use super::api::{self, Api, Reply, Route, Target};
use super::ask::Ask;
use super::failure;
use super::http::{self, Headers, Incoming};
use super::play::{Deed, Part, Stage};
use super::record::{Records, Seen};
use super::script::{Case, Fail};

/// The models that are listed; any other may be asked for all the same.
const LISTED: &[&str] = &["scripted-model", "gpt-5.1-codex", "claude-sonnet-4-5", "gemini-2.5-pro"];

pub struct House {
    pub stage: Stage,
    pub records: Records,
    /// Begins the name of every answer.
    pub seed: String,
}

pub fn serve(house: &House, stream: &mut TcpStream) {
    let incoming = match http::read(stream) {
        Ok(None) => return,
        Ok(Some(incoming)) => incoming,
        Err(refusal) => {
            let exchange = Exchange::begin(house, stream, &refusal.of, Value::Null);
            exchange.finish(Plain::error(refusal.status, &refusal.what));
            return;
        }
    };
    let body = serde_json::from_slice(&incoming.body).unwrap_or(Value::Null);
    let exchange = Exchange::begin(house, stream, &incoming, body);
    exchange.answer(&incoming);
}

struct Exchange<'a> {
    house: &'a House,
    stream: &'a mut TcpStream,
    number: usize,
    body: Arc<Value>,
}

/// A whole answer that no script has a say in.
struct Plain {
    status: u16,
    deed: &'static str,
    body: Value,
}

impl Plain {
    fn error(status: u16, what: &str) -> Self {
        let error = json!({ "message": what, "type": "invalid_request_error", "code": null });
        Self { status, deed: "refused", body: json!({ "type": "error", "error": error }) }
    }

    fn ok(deed: &'static str, body: Value) -> Self {
        Self { status: 200, deed, body }
    }
}

impl<'a> Exchange<'a> {
    fn begin(house: &'a House, stream: &'a mut TcpStream, incoming: &Incoming, body: Value) -> Self {
        let body = Arc::new(body);
        let target = match incoming.query.as_str() {
            "" => incoming.path.clone(),
            query => format!("{}?{query}", incoming.path),
        };
        let number = house.records.begin(&incoming.method, &target, body.clone());
        Self { house, stream, number, body }
    }

    fn answer(self, incoming: &Incoming) {
        let post = incoming.method == "POST";
        match api::route(&incoming.path, &incoming.query).filter(|_| post) {
            Some(Route::Answer { api, target }) => self.converse(incoming, api, &target),
            Some(Route::CountTokens { api }) => {
                let counted = api::count(api, incoming.body.len());
                self.change(|seen| seen.api = Some(api));
                self.finish(Plain::ok("counted tokens", counted));
            }
            None => {
                let plain = probe(incoming);
                self.finish(plain);
            }
        }
    }

    fn converse(mut self, incoming: &Incoming, api: Api, target: &Target) {
        let ask = match api::read(api, target, &self.body, incoming.body.len()) {
            Ok(ask) => ask,
            Err(what) => return self.finish(Plain::error(400, &what)),
        };
        let id = format!("{}{}", self.house.seed, self.number);
        let part = self.house.stage.part(&ask, api::prefix(&incoming.path), &id);
        self.change(|seen| {
            seen.api = Some(api);
            seen.model = Some(ask.model.clone());
            seen.side = part.side;
            seen.rule.clone_from(&part.rule);
            seen.deed = part.deed.to_string();
        });
        if http::pause(self.stream, part.delay) && self.perform(&part, &ask, target).is_err() {
            // The client went away before it had all of its answer.
            self.change(|seen| seen.tokens = None);
        }
        self.close();
    }

    fn perform(&mut self, part: &Part, ask: &Ask, target: &Target) -> io::Result<()> {
        match &part.deed {
            Deed::Reply(reply) => self.reply(reply, ask, target),
            Deed::Fail(fail, reply) => self.fail(fail, reply, ask),
        }
    }

    fn reply(&mut self, reply: &Reply, ask: &Ask, target: &Target) -> io::Result<()> {
        // Before the last byte is out: whoever has read that byte may ask for the record.
        if reply.tells_tokens {
            self.change(|seen| seen.tokens = Some(reply.tokens));
        }
        if !ask.stream {
            return self.whole(200, &json_headers(), &api::whole(ask.api, reply));
        }
        if ask.api == Api::Gemini && target.array {
            return self.whole(200, &json_headers(), &api::array(reply));
        }
        self.stream_of(&api::events(ask.api, reply))?;
        http::end(self.stream)
    }

    fn fail(&mut self, fail: &Fail, reply: &Reply, ask: &Ask) -> io::Result<()> {
        let refused = |status| failure::refused(ask.api, fail, status, now());
        let in_stream =
            |error: Value| ask.stream.then(|| api::failed_events(ask.api, reply, &error)).flatten();
        let refused = match fail.case {
            Case::Http(status) => refused(status),
            Case::UsageLimit => refused(429),
            Case::ContextOverflow | Case::Refused => refused(400),
            Case::ContextOverflowStream => match in_stream(failure::too_long(ask.api)) {
                Some(events) => return self.stream_of(&events).and_then(|()| http::end(self.stream)),
                None => refused(400),
            },
            Case::OverloadedStream => match in_stream(failure::overloaded(ask.api)) {
                Some(events) => return self.stream_of(&events).and_then(|()| http::end(self.stream)),
                None => refused(if ask.api == Api::Gemini { 503 } else { 529 }),
            },
            Case::Hang => {
                http::hang(self.stream);
                return Ok(());
            }
            Case::HangMidway => {
                self.half(reply, ask)?;
                http::hang(self.stream);
                return Ok(());
            }
            Case::Cut => {
                self.half(reply, ask)?;
                http::cut(self.stream);
                return Ok(());
            }
            Case::CutSoftly => return self.half(reply, ask).and_then(|()| http::end(self.stream)),
            Case::Malformed => return self.malformed(ask),
        };
        self.whole(refused.status, &refused.headers, &refused.body)
    }

    /// The first half of an answer, so that its middle is where it stops.
    fn half(&mut self, reply: &Reply, ask: &Ask) -> io::Result<()> {
        if ask.stream {
            let events = api::events(ask.api, reply);
            return self.stream_of(&events[..events.len() / 2]);
        }
        self.status(200);
        let body = api::whole(ask.api, reply).to_string();
        http::begin(self.stream, &json_headers())?;
        http::chunk(self.stream, &body.as_bytes()[..body.len() / 2])
    }

    fn malformed(&mut self, ask: &Ask) -> io::Result<()> {
        let text = "{\"this is\": not JSON, ";
        if ask.stream {
            self.stream_of(&[format!("data: {text}\n\n"), format!("data: {text}\n\n")])?;
            return http::end(self.stream);
        }
        self.status(200);
        http::whole(self.stream, 200, &json_headers(), text.as_bytes())
    }

    fn stream_of(&mut self, events: &[String]) -> io::Result<()> {
        self.status(200);
        let headers = [("content-type", "text/event-stream"), ("cache-control", "no-cache")];
        http::begin(self.stream, &headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec())?;
        events.iter().try_for_each(|event| http::chunk(self.stream, event.as_bytes()))
    }

    fn whole(&mut self, status: u16, headers: &Headers, body: &Value) -> io::Result<()> {
        self.status(status);
        let body = if body.is_null() { String::new() } else { body.to_string() };
        http::whole(self.stream, status, headers, body.as_bytes())
    }

    fn finish(mut self, plain: Plain) {
        self.change(|seen| seen.deed = plain.deed.to_owned());
        // Who asks and goes away has lost nothing but the answer.
        self.whole(plain.status, &json_headers(), &plain.body).ok();
        self.close();
    }

    fn close(self) {
        self.house.records.finish(self.number);
        http::close(self.stream);
    }

    fn status(&self, status: u16) {
        self.change(|seen| seen.status = status);
    }

    fn change(&self, change: impl FnOnce(&mut Seen)) {
        self.house.records.change(self.number, change);
    }
}

/// Lists of models, health checks, and what nobody here knows.
fn probe(incoming: &Incoming) -> Plain {
    let path = incoming.path.trim_end_matches('/');
    if incoming.header("upgrade").is_some() {
        return Plain::error(426, "no other protocol than HTTP/1.1 is spoken here");
    }
    match incoming.method.as_str() {
        "HEAD" => Plain::ok("probed", Value::Null),
        "GET" if path.ends_with("/models") => Plain::ok("listed models", api::models(LISTED)),
        "GET" if !path.contains("/v1") => Plain::ok("probed", json!({ "ok": true })),
        _ => Plain::error(404, &format!("{} {} is not played here", incoming.method, incoming.path)),
    }
}

fn json_headers() -> Headers {
    vec![("content-type".to_owned(), "application/json".to_owned())]
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
