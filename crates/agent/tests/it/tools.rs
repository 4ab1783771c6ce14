//! What programs tell of the files they touch and of calls that were refused, in shortened lines. The writes of
//! Claude, opencode and Gemini and Gemini's refusal were seen; Codex's `file_change` was not, and is as documented.

use windlass_agent::cli::{ReaderSetup, SessionStart};
use windlass_agent::registry;
use windlass_agent::reset::Zone;
use windlass_core::live::{FileAction, Live};

use crate::recorded::now;

fn told(program: &str, lines: &[&str]) -> Vec<Live> {
    let setup = ReaderSetup {
        model: String::new(),
        schema: false,
        start: SessionStart::Fresh,
        zone: Zone::utc(),
        env: Vec::new(),
    };
    let mut reader = registry::named(program).unwrap().cli.reader(setup);
    lines.iter().flat_map(|line| reader.line(line.as_bytes(), now())).collect()
}

fn touched(told: &[Live]) -> Vec<(String, FileAction)> {
    let of = |live: &Live| {
        let Live::Touched(touched) = live else { return None };
        Some((touched.path.clone(), touched.how))
    };
    told.iter().filter_map(of).collect()
}

fn refused(told: &[Live]) -> Vec<String> {
    let of = |live: &Live| {
        let Live::RefusedCall(call) = live else { return None };
        Some(format!("{}: {}", call.what, call.why))
    };
    told.iter().filter_map(of).collect()
}

#[test]
fn files_that_were_touched_are_told_with_how() {
    let claude = [
        r#"{"type":"assistant","message":{"id":"m1","model":"x","content":[{"type":"tool_use","id":"t1","name":"Write","input":{"file_path":"/w/new.txt","content":"hello\n"}}]},"session_id":"s"}"#,
        r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"File created successfully at: /w/new.txt"}]},"tool_use_result":{"type":"create","filePath":"/w/new.txt"},"session_id":"s"}"#,
        r#"{"type":"assistant","message":{"id":"m2","model":"x","content":[{"type":"tool_use","id":"t2","name":"Edit","input":{"file_path":"/w/new.txt"}}]}}"#,
        r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t2","type":"tool_result","content":"no match","is_error":true}]}}"#,
        r#"{"type":"assistant","message":{"id":"m3","model":"x","content":[{"type":"tool_use","id":"t3","name":"Read","input":{"file_path":"/w/a.rs"}}]}}"#,
        r#"{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t3","type":"tool_result","content":"1 fn main"}]}}"#,
    ];
    let edit_failed =
        [("/w/new.txt".to_owned(), FileAction::Created), ("/w/a.rs".to_owned(), FileAction::Read)];
    assert_eq!(touched(&told("claude", &claude)), edit_failed);
    let opencode = |exists: bool| {
        let step = r#"{"type":"step_start","sessionID":"s","part":{"type":"step-start"}}"#;
        let write = format!(
            r#"{{"type":"tool_use","sessionID":"s","part":{{"type":"tool","tool":"write","callID":"c1","state":{{"status":"completed","input":{{"filePath":"/w/new.txt","content":"x"}},"metadata":{{"exists":{exists}}}}}}}}}"#
        );
        touched(&told("opencode", &[step, &write]))
    };
    assert_eq!(opencode(false), [("/w/new.txt".to_owned(), FileAction::Created)]);
    assert_eq!(opencode(true), [("/w/new.txt".to_owned(), FileAction::Edited)]);
    let gemini = [
        r#"{"type":"tool_use","tool_name":"write_file","tool_id":"w1","parameters":{"file_path":"/w/new.txt","content":"hello\n"}}"#,
        r#"{"type":"tool_result","tool_id":"w1","status":"success"}"#,
    ];
    assert_eq!(touched(&told("gemini", &gemini)), [("/w/new.txt".to_owned(), FileAction::Edited)]);
    let codex = [
        r#"{"type":"turn.started"}"#,
        r#"{"type":"item.completed","item":{"id":"i1","type":"file_change","changes":[{"path":"/w/a","kind":"add"},{"path":"/w/b","kind":"update"},{"path":"/w/c","kind":"delete"}],"status":"completed"}}"#,
    ];
    let of = |path: &str, how| (path.to_owned(), how);
    let three =
        [of("/w/a", FileAction::Created), of("/w/b", FileAction::Edited), of("/w/c", FileAction::Deleted)];
    assert_eq!(touched(&told("codex", &codex)), three);
}

#[test]
fn calls_that_were_refused_are_told_once() {
    let gemini = [
        r#"{"type":"tool_use","tool_name":"read_file","tool_id":"r1","parameters":{"file_path":"/etc/hostname"}}"#,
        r#"{"type":"tool_result","tool_id":"r1","status":"error","output":"x","error":{"type":"invalid_tool_params","message":"Path not in workspace: /etc/hostname"}}"#,
    ];
    assert_eq!(
        refused(&told("gemini", &gemini)),
        ["read_file /etc/hostname: Path not in workspace: /etc/hostname"]
    );
    let qwen = [
        r#"{"type":"assistant","message":{"model":"x","content":[{"type":"tool_use","id":"c1","name":"run_shell_command","input":{"command":"ls"}}]}}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"c1","is_error":true,"content":"denied by permission rules"}]}}"#,
        r#"{"type":"result","subtype":"success","is_error":false,"result":"x","permission_denials":[{"tool_name":"run_shell_command","tool_use_id":"c1","tool_input":{"command":"ls"}}]}"#,
    ];
    assert_eq!(refused(&told("qwen", &qwen)).len(), 1);
}
