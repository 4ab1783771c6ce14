//! How each program is called, as text under `tests/invocations`. `WINDLASS_BLESS=1` writes those.

use std::path::{Path, PathBuf};

use serde_json::json;
use windlass_agent::cli::{CliInvocation, Confined, FileAccess, InvocationSpec, OwnConfig};
use windlass_agent::registry::{self, AGENTS, KnownAgent};
use windlass_core::policy::Role;

fn ask() -> InvocationSpec<'static> {
    InvocationSpec {
        role: Role::Author,
        program: Path::new("/opt/bin/program"),
        model: "",
        effort: "",
        args: &[],
        max_turns: 30,
        workspace: Path::new("/space"),
        home: Path::new("/home/of/attempt"),
        report: Path::new("/attempt/report/report.json"),
        schema: None,
        schema_file: Path::new("/attempt/schema.json"),
        resume: None,
        confined: Confined::ByWindlass,
        access: FileAccess::Write,
        own_config: OwnConfig::KeptOut,
        variables: &[],
    }
}

#[test]
fn each_program_is_called_as_its_text_says() {
    let bless = std::env::var_os("WINDLASS_BLESS").is_some();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/invocations");
    let schema = json!({"type": "object"});
    let args = ["-c", "model_provider=own", "--extra", "two words"].map(str::to_owned);
    let reviewer =
        InvocationSpec { role: Role::Reviewer, access: FileAccess::ReadOnly, schema: Some(&schema), ..ask() };
    let cases = [
        ("author", ask()),
        (
            "author, all set",
            InvocationSpec { model: "m-1", effort: "high", args: &args, resume: Some("s-1"), ..ask() },
        ),
        ("author, its own sandbox", InvocationSpec { confined: Confined::ByItself, max_turns: 0, ..ask() }),
        (
            "author, with the operator's configuration",
            InvocationSpec { own_config: OwnConfig::Wanted, ..ask() },
        ),
        (
            "author, keys in the environment",
            InvocationSpec { variables: &["GEMINI_API_KEY", "OPENAI_API_KEY"], ..ask() },
        ),
        ("reviewer", reviewer),
        ("reviewer, its own sandbox", InvocationSpec { confined: Confined::ByItself, ..reviewer }),
    ];
    for KnownAgent { name, cli, .. } in &AGENTS {
        let shown: String =
            cases.iter().map(|(what, ask)| format!("## {what}\n{}\n", show(&cli.invocation(ask)))).collect();
        let file = folder.join(format!("{name}.txt"));
        if bless {
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(&file, &shown).unwrap();
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap_or_default(), shown, "{name}");
    }
}

fn show(call: &CliInvocation) -> String {
    let words: Vec<String> = call.argv.iter().map(|word| format!("  {}", word.to_str().unwrap())).collect();
    let env = call
        .env
        .iter()
        .map(|(name, value)| format!("{}={}", name.to_str().unwrap(), value.to_str().unwrap()));
    let files = call
        .files
        .iter()
        .map(|(path, text)| format!("file {}\n{}", path.display(), String::from_utf8(text.clone()).unwrap()));
    let notes = call.notes.iter().map(|note| format!("note {note}"));
    let lines: Vec<String> = [words.join("\n")].into_iter().chain(env).chain(files).chain(notes).collect();
    lines.join("\n") + "\n"
}

#[test]
fn no_secret_and_no_nonce_stands_in_an_invocation() {
    for KnownAgent { name, cli, .. } in &AGENTS {
        let schema = windlass_agent::schema::of(Role::Reviewer);
        let call = cli.invocation(&InvocationSpec { schema: Some(&schema), ..ask() });
        let words = call.argv.iter().chain(call.env.iter().map(|(name, _)| name));
        assert!(words.filter_map(|word| word.to_str()).all(|word| !word.ends_with("_KEY")), "{name}");
        assert!(call.files.iter().all(|(path, _)| path.is_relative()), "{name}: below the home");
    }
}

#[test]
fn a_wrapper_that_drops_signals_is_stepped_over() {
    let exists = |there: &'static str| move |path: &Path| path == Path::new(there);
    let native = |name: &str, found: &str, there: &'static str| {
        registry::named(name).unwrap().cli.native(Path::new(found), &exists(there))
    };
    let scope = "/n/@openai";
    let wrapper = format!("{scope}/codex/bin/codex.js");
    for there in [
        "/n/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
        "/n/@openai/codex/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
    ] {
        assert_eq!(native("codex", &wrapper, there), PathBuf::from(there));
    }
    assert_eq!(native("codex", &wrapper, "/none"), PathBuf::from(&wrapper));
    assert_eq!(native("codex", "/usr/bin/codex", "/none"), PathBuf::from("/usr/bin/codex"));
    assert_eq!(native("qwen", "/n/q/cli-entry.js", "/n/q/cli.js"), PathBuf::from("/n/q/cli.js"));
    assert_eq!(native("qwen", "/usr/bin/qwen", "/usr/bin/cli.js"), PathBuf::from("/usr/bin/qwen"));
    assert_eq!(native("claude", "/usr/bin/claude", "/none"), PathBuf::from("/usr/bin/claude"));
}
