//! The turn itself: hello, a session, its mode and model, the brief.

use serde_json::{Value, json};

use super::super::Sandbox;
use super::{Stop, Talk, wire};
use crate::cli::line::{text, words};

const VERSION: u64 = 1;
/// The protocol's number for a login that is missing.
const AUTH_REQUIRED: i64 = -32000;

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
        self.session = words(&session, "/sessionId").to_owned();
        self.take_off_its_sandbox(&session)?;
        self.choose_model(&session)?;
        let prompt = json!({"sessionId": self.session, "prompt": [{"type": "text", "text": brief}]});
        self.ask("session/prompt", prompt).map(drop)
    }

    /// A login by a key that lies in the environment needs nobody; every other one needs a person.
    fn open(&mut self, hello: &Value) -> Result<Value, Stop> {
        let params = json!({"cwd": self.terms.workspace, "mcpServers": []});
        let error = match self.ask("session/new", params.clone()) {
            Err(Stop::Failed(error)) if error["code"].as_i64() == Some(AUTH_REQUIRED) => error,
            opened => return opened,
        };
        let methods = hello["authMethods"].as_array().into_iter().flatten();
        let by_key = methods.filter(|method| !method["_meta"]["api-key"].is_null());
        let by_key: Vec<String> = by_key.map(|method| words(method, "/id").to_owned()).collect();
        for method in by_key {
            if self.ask("authenticate", json!({"methodId": method})).is_ok() {
                return self.ask("session/new", params);
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

    fn choose_model(&mut self, session: &Value) -> Result<(), Stop> {
        let wanted = self.terms.model.as_str();
        if wanted.is_empty() {
            return Ok(());
        }
        let mut options = session["configOptions"].as_array().into_iter().flatten();
        let option = options.find(|option| words(option, "/category") == "model");
        let models = session["models"]["availableModels"].as_array().into_iter().flatten();
        let listed: Vec<&str> = models.filter_map(|model| text(model, "/modelId")).collect();
        let values = option.and_then(|option| option["options"].as_array()).into_iter().flatten();
        let values: Vec<&str> = values.filter_map(|value| text(value, "/value")).collect();
        let session_id = &self.session;
        let (method, params) = if values.contains(&wanted) {
            let id = option.map(|option| words(option, "/id")).unwrap_or_default();
            ("session/set_config_option", json!({"sessionId": session_id, "configId": id, "value": wanted}))
        } else if listed.contains(&wanted) {
            ("session/set_model", json!({"sessionId": session_id, "modelId": wanted}))
        } else if listed.is_empty() && values.is_empty() {
            wire::tell(wire::OURS, &json!({"note": "it offers no choice of model: it uses its own"}));
            return Ok(());
        } else {
            let offered: Vec<&str> = values.into_iter().chain(listed).collect();
            wire::tell(wire::OURS, &json!({"no_model": wanted, "offered": offered}));
            return Err(Stop::Failed(Value::Null));
        };
        self.ask(method, params).map(drop)
    }
}
