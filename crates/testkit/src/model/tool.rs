//! The agent's own tools: each names its shell differently, and wants its arguments in another shape.

use serde_json::{Map, Value, json};

use super::ask::{Tool, ToolKind};
use super::form;

/// One tool call of an answer.
#[derive(Clone, Debug)]
pub struct Call {
    pub tool: Tool,
    pub args: Value,
}

/// Best first: codex has had four, then claude and opencode, gemini and qwen, and what others chose.
const SHELLS: &[&str] = &[
    "exec_command",
    "shell_command",
    "shell",
    "local_shell",
    "container.exec",
    "bash",
    "run_shell_command",
    "terminal",
    "execute_command",
    "run_command",
];

/// Where a shell keeps its command.
const COMMANDS: &[&str] = &["cmd", "command", "script", "input"];

/// What an agent offers when its answer must have a form.
const STRUCTURED: &[&str] = &["StructuredOutput", "structured_output"];

/// How qwen 0.24 asks a model to fill in a form on the side; no other tool is offered with it.
const FORM: &str = "respond_in_schema";

/// Longer than a scripted command takes; codex would hand back a command that still runs.
const YIELD_MS: u64 = 30_000;

const CODE: &str = "exec";

pub fn shell(tools: &[Tool], command: &str, more: &Value) -> Option<Call> {
    let named = |name: &&str| tools.iter().find(|tool| tool.name.eq_ignore_ascii_case(name));
    if let Some(tool) = SHELLS.iter().find_map(named) {
        return Some(Call { tool: tool.clone(), args: shell_args(tool, command, more) });
    }
    let mut args = json!({ "cmd": command, "yield_time_ms": YIELD_MS });
    if let (Some(args), Some(more)) = (args.as_object_mut(), more.as_object()) {
        args.extend(more.clone());
    }
    in_code(tools, "exec_command", &args)
}

/// The default model of codex 0.166 is offered one tool for code in JavaScript, which calls the others.
fn in_code(tools: &[Tool], name: &str, args: &Value) -> Option<Call> {
    let tool = tools.iter().find(|tool| tool.kind == ToolKind::Custom && tool.name == CODE)?;
    let code = format!("const result = await tools.{name}({args});\ntext(result);\n");
    Some(Call { tool: tool.clone(), args: json!(code) })
}

fn shell_args(tool: &Tool, command: &str, more: &Value) -> Value {
    match tool.kind {
        ToolKind::LocalShell => return json!(["bash", "-lc", command]),
        ToolKind::Custom => return json!(command),
        ToolKind::Function => {}
    }
    let properties = &tool.parameters["properties"];
    let key = COMMANDS.iter().copied().find(|key| properties.get(key).is_some()).unwrap_or("command");
    let mut args = Map::new();
    let listed = properties[key]["type"] == json!("array") || properties[key]["items"].is_object();
    args.insert(key.to_owned(), if listed { json!(["bash", "-lc", command]) } else { json!(command) });
    if properties.get("description").is_some() {
        args.insert("description".to_owned(), json!("a step of the script"));
    }
    if properties.get("yield_time_ms").is_some() {
        args.insert("yield_time_ms".to_owned(), json!(YIELD_MS));
    }
    args.extend(more.as_object().cloned().unwrap_or_default());
    form::fit(&Value::Object(args), &tool.parameters)
}

/// The tool of that name, or the one whose name ends with it: agents put a prefix before an MCP server's.
pub fn named(tools: &[Tool], name: &str, args: &Value) -> Option<Call> {
    let ends =
        |tool: &&Tool| tool.name.strip_suffix(name).is_some_and(|rest| rest.ends_with(['_', '.', '-']));
    match tools.iter().find(|tool| tool.name == name).or_else(|| tools.iter().find(ends)) {
        Some(tool) => Some(Call { tool: tool.clone(), args: args.clone() }),
        None => in_code(tools, name, args),
    }
}

/// The call that hands over a report where the agent has a tool for it.
pub fn structured(tools: &[Tool], report: &Value) -> Option<Call> {
    let tool = tools.iter().find(|tool| STRUCTURED.contains(&tool.name.as_str()))?;
    Some(Call { tool: tool.clone(), args: form::fit(report, &tool.parameters) })
}

pub fn is_form(tool: &Tool) -> bool {
    tool.name == FORM
}

/// The form, filled in with the least that fits.
pub fn form(tools: &[Tool]) -> Option<Call> {
    let tool = tools.iter().find(|tool| is_form(tool))?;
    Some(Call { tool: tool.clone(), args: form::fit(&Value::Null, &tool.parameters) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, parameters: Value) -> Tool {
        Tool { name: name.to_owned(), namespace: None, kind: ToolKind::Function, parameters }
    }

    fn args(name: &str, parameters: Value) -> Value {
        let tools = [tool("read_file", json!({})), tool(name, parameters)];
        let call = shell(&tools, "echo hi", &json!({})).unwrap();
        assert_eq!(call.tool.name, name);
        call.args
    }

    #[test]
    fn each_agents_shell_gets_its_own_arguments() {
        let text = json!({"type": "string"});
        let codex =
            json!({"properties": {"cmd": text, "yield_time_ms": {"type": "number"}}, "required": ["cmd"]});
        assert_eq!(args("exec_command", codex), json!({"cmd": "echo hi", "yield_time_ms": 30_000}));
        let list = json!({"properties": {"command": {"type": "array", "items": text}}});
        assert_eq!(args("shell", list), json!({"command": ["bash", "-lc", "echo hi"]}));
        let claude =
            json!({"properties": {"command": text, "description": text, "timeout": {"type": "number"}}});
        assert_eq!(
            args("Bash", claude),
            json!({"command": "echo hi", "description": "a step of the script"})
        );
        let qwen = json!({
            "properties": {"command": text, "is_background": {"type": "boolean"}},
            "required": ["command", "is_background"],
        });
        assert_eq!(args("run_shell_command", qwen), json!({"command": "echo hi", "is_background": false}));
    }

    #[test]
    fn the_scripts_own_arguments_win_and_no_shell_is_none() {
        let tools = [tool("bash", json!({"properties": {"command": {}, "timeout": {}}}))];
        let call = shell(&tools, "x", &json!({"timeout": 5})).unwrap();
        assert_eq!(call.args, json!({"command": "x", "timeout": 5}));
        assert!(shell(&[tool("read_file", json!({}))], "x", &json!({})).is_none());
    }

    #[test]
    fn a_model_that_only_writes_code_calls_the_shell_from_there() {
        let exec = Tool { kind: ToolKind::Custom, ..tool("exec", Value::Null) };
        let code = |call: Option<Call>| call.unwrap().args.as_str().unwrap().to_owned();
        let ran = code(shell(std::slice::from_ref(&exec), "echo hi", &Value::Null));
        assert!(ran.starts_with(r#"const result = await tools.exec_command({"cmd":"echo hi","#), "{ran}");
        let patched = code(named(&[exec], "apply_patch", &json!("*** Begin Patch")));
        assert!(patched.contains(r#"tools.apply_patch("*** Begin Patch")"#), "{patched}");
    }

    #[test]
    fn a_tool_of_an_mcp_server_is_found_behind_its_prefix() {
        let tools = [tool("mega_echoes", json!({})), tool("mcp__demo__echo", json!({}))];
        assert_eq!(named(&tools, "echo", &json!({})).unwrap().tool.name, "mcp__demo__echo");
        assert!(named(&tools, "cho", &json!({})).is_none());
    }
}
