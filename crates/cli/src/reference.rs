//! The pages under docs/reference/ and windlass.example.toml, generated: what
//! `--json` prints, what the log holds, every key of the policy and every verb.
//! A test keeps them true.
#![allow(clippy::disallowed_methods, reason = "a test is asked to bless by its environment")]

use std::fmt::Write as _;
use std::path::Path;

use clap::CommandFactory;
use windlass_app::policy_format;
use windlass_core::event::Event;
use windlass_core::policy::Role;
use windlass_core::view::View;
use windlass_driver::prove::Proof;

use crate::args::Args;

#[test]
fn the_reference_pages_are_up_to_date() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    let pages = [
        ("view.schema.json", schema(&schemars::schema_for!(View))),
        ("event.schema.json", schema(&schemars::schema_for!(Event))),
        ("proof.schema.json", schema(&schemars::schema_for!(Proof))),
        ("policy.md", policy()),
        ("commands.md", commands()),
        ("../../windlass.example.toml", policy_format().example_file()),
    ];
    for (name, text) in pages {
        let file = dir.join(name);
        if std::env::var_os("WINDLASS_UPDATE").is_some() {
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(&file, &text).unwrap();
        }
        let found = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            found == text,
            "{name} is out of date: write it again with WINDLASS_UPDATE=1 cargo test -p windlass reference"
        );
    }
}

fn schema(schema: &schemars::Schema) -> String {
    serde_json::to_string_pretty(schema).unwrap() + "\n"
}

fn policy() -> String {
    let roles: Vec<String> = Role::ALL.iter().map(|role| format!("`role.{role}`")).collect();
    let mut page = format!(
        "# Every key of windlass.toml\n\nGenerated from the keys the binary knows.\n\n\
         `role.X` is one of {}.\n\
         A role takes what it does not set from `[agent]`; with another agent it takes only\n\
         `timeout`, `silence`, `grace`, `max_turns`, the names of `env`, `network` and `allow`.\n\n\
         | key | takes | default | meaning |\n|---|---|---|---|\n",
        roles.join(", ")
    );
    for key in policy_format().keys().into_iter().filter(|key| !key.name.starts_with("role.")) {
        let default = key.default.map_or_else(String::new, |text| format!("`{}`", text.replace('|', "\\|")));
        let kind = key.kind.replace('|', "\\|");
        let of_roles = key.name.strip_prefix("agent.").map(|name| format!(", `role.X.{name}`"));
        let of_roles = of_roles.unwrap_or_default();
        let _ = writeln!(page, "| `{}`{of_roles} | {kind} | {default} | {} |", key.name, key.doc);
    }
    page
}

fn commands() -> String {
    let mut page = "# The command line\n\nGenerated from the same model as `--help`.\n".to_owned();
    let mut root = Args::command().term_width(80);
    root.build();
    for verb in root.get_subcommands_mut().filter(|verb| verb.get_name() != "help") {
        let name = verb.get_name().to_owned();
        let help = verb.render_long_help().to_string();
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        let _ = write!(page, "\n## windlass {name}\n\n```text\n{}\n```\n", help.join("\n").trim_end());
    }
    page
}
