//! The turn itself: hello, a session, its mode, model and effort, the brief.

use serde_json::{Value, json};

use super::super::Sandbox;
use super::{Stop, Talk, wire};
use crate::cli::line::{text, words};

const VERSION: u64 = 1;
/// The protocol's number for a login that is missing.
const AUTH_REQUIRED: i64 = -32000;
const GONE: &str = "the conversation it was to go on with is gone: it began afresh";
const CANNOT_GO_ON: &str = "it cannot go on with a conversation: it began afresh";

impl Talk<'_> {
    pub fn whole(&mut self, brief: &str) -> Result<(), Stop> {
        let hello = self.ask(
            "initialize",
            json!({
                "protocolVersion": VERSION,
                "clientCapabilities": {"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true},
                "clientInfo": {"name": "windlass", "title": "windlass", "version": env!("CARGO_PKG_VERSION")},
            }),
        )?;
        if hello["protocolVersion"].as_u64() != Some(VERSION) {
            let spoken = &hello["protocolVersion"];
            let what = format!("it speaks version {spoken} of the protocol, and windlass speaks {VERSION}");
            return Err(Stop::Broken(what));
        }
        let session = self.open(&hello)?;
        self.take_off_its_sandbox(&session)?;
        let options = self.choose_model(&session)?;
        self.choose_effort(&options)?;
        let prompt = json!({"sessionId": self.session, "prompt": [{"type": "text", "text": brief}]});
        self.ask("session/prompt", prompt).map(drop)
    }

    /// The conversation of before, if it is wanted and still there; else one of its own.
    fn open(&mut self, hello: &Value) -> Result<Value, Stop> {
        if let Some(id) = self.terms.resume.as_deref()
            && let Some(loaded) = self.load(hello, id)?
        {
            return Ok(loaded);
        }
        let params = json!({"cwd": self.terms.workspace, "mcpServers": []});
        let session = self.logged_in(hello, "session/new", &params)?;
        words(&session, "/sessionId").clone_into(&mut self.session);
        Ok(session)
    }

    fn load(&mut self, hello: &Value, id: &str) -> Result<Option<Value>, Stop> {
        if hello["agentCapabilities"]["loadSession"].as_bool() != Some(true) {
            wire::tell(wire::OURS, &json!({"note": CANNOT_GO_ON}));
            return Ok(None);
        }
        let params = json!({"sessionId": id, "cwd": self.terms.workspace, "mcpServers": []});
        match self.logged_in(hello, "session/load", &params) {
            Ok(session) => {
                id.clone_into(&mut self.session);
                Ok(Some(session))
            }
            Err(Stop::Failed(error)) if error["code"].as_i64() != Some(AUTH_REQUIRED) => {
                wire::tell(wire::OURS, &json!({"note": GONE}));
                Ok(None)
            }
            Err(stop) => Err(stop),
        }
    }

    /// A login by a key that lies in the environment needs nobody; every other one needs a person.
    fn logged_in(&mut self, hello: &Value, method: &str, params: &Value) -> Result<Value, Stop> {
        let error = match self.ask(method, params.clone()) {
            Err(Stop::Failed(error)) if error["code"].as_i64() == Some(AUTH_REQUIRED) => error,
            answered => return answered,
        };
        let methods = hello["authMethods"].as_array().into_iter().flatten();
        let by_key = methods.filter(|method| !method["_meta"]["api-key"].is_null());
        let by_key: Vec<String> = by_key.map(|method| words(method, "/id").to_owned()).collect();
        for login in by_key {
            if self.ask("authenticate", json!({"methodId": login})).is_ok() {
                return self.ask(method, params.clone());
            }
        }
        Err(Stop::Failed(error))
    }

    /// One sandbox inside another does not work; ours holds the whole program. A mode that merely never asks is
    /// not wanted: what is asked is answered by the policy, and recorded.
    fn take_off_its_sandbox(&mut self, session: &Value) -> Result<(), Stop> {
        let modes = session["modes"]["availableModes"].as_array().into_iter().flatten();
        let mut ids = modes.filter_map(|mode| text(mode, "/id"));
        let Some(mode) = ids.find(|id| id.ends_with("full-access")) else { return Ok(()) };
        if self.terms.sandbox == Sandbox::Its || mode == words(session, "/modes/currentModeId") {
            return Ok(());
        }
        self.ask("session/set_mode", json!({"sessionId": self.session, "modeId": mode})).map(drop)
    }

    /// The options as they are with that model.
    fn choose_model(&mut self, session: &Value) -> Result<Value, Stop> {
        let terms = self.terms;
        let (wanted, effort) = (terms.model.as_str(), terms.effort.as_str());
        let options = session["configOptions"].clone();
        if wanted.is_empty() {
            return Ok(options);
        }
        let option = Choice::of(&options, "model");
        let values = option.as_ref().map(|option| option.values.clone()).unwrap_or_default();
        let models = session["models"]["availableModels"].as_array().into_iter().flatten();
        let listed: Vec<&str> = models.filter_map(|model| text(model, "/modelId")).collect();
        let with_effort = format!("{wanted}[{effort}]");
        let named = [with_effort.as_str(), wanted].into_iter().find(|name| listed.contains(name));
        if let Some(option) = option.filter(|option| option.values.contains(&wanted)) {
            let changed = self.choose(option.id, wanted)?;
            return Ok(if changed.is_array() { changed } else { options });
        }
        if let Some(model) = named {
            let params = json!({"sessionId": self.session, "modelId": model});
            return self.ask("session/set_model", params).map(|_| options);
        }
        if listed.is_empty() && values.is_empty() {
            wire::tell(wire::OURS, &json!({"note": "it offers no choice of model: it uses its own"}));
            return Ok(options);
        }
        let offered: Vec<&str> = values.into_iter().chain(listed).collect();
        wire::tell(wire::OURS, &json!({"no_model": wanted, "offered": offered}));
        Err(Stop::Failed(Value::Null))
    }

    /// A turn with another effort than the one asked for is still a turn: it is recorded.
    fn choose_effort(&mut self, options: &Value) -> Result<(), Stop> {
        let terms = self.terms;
        let wanted = terms.effort.as_str();
        if wanted.is_empty() {
            return Ok(());
        }
        let note = match Choice::of(options, "thought_level") {
            Some(option) if option.values.contains(&wanted) => {
                return self.choose(option.id, wanted).map(drop);
            }
            Some(option) => format!("it has no effort {wanted:?}; it offers {}", option.values.join(", ")),
            None => "it offers no choice of effort: it uses its own".to_owned(),
        };
        wire::tell(wire::OURS, &json!({"note": note}));
        Ok(())
    }

    fn choose(&mut self, option: &str, value: &str) -> Result<Value, Stop> {
        let params = json!({"sessionId": self.session, "configId": option, "value": value});
        self.ask("session/set_config_option", params).map(|mut answer| answer["configOptions"].take())
    }
}

/// One of the options of a session.
struct Choice<'a> {
    id: &'a str,
    values: Vec<&'a str>,
}

impl<'a> Choice<'a> {
    fn of(options: &'a Value, category: &str) -> Option<Self> {
        let mut options = options.as_array().into_iter().flatten();
        let option = options.find(|option| words(option, "/category") == category)?;
        let listed = option["options"].as_array().into_iter().flatten();
        // They may stand in groups.
        let values = listed.flat_map(|one| match one["options"].as_array() {
            Some(group) => group.iter().collect::<Vec<_>>(),
            None => vec![one],
        });
        Some(Self {
            id: words(option, "/id"),
            values: values.filter_map(|one| text(one, "/value")).collect(),
        })
    }
}
