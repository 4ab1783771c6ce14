//! The coding agents that windlass knows by name, one row each. Every other list of agents is made from this
//! one: an agent is added by a row here and its adapter in [`crate::cli`].

use std::path::Path;

use windlass_core::policy::AgentPolicy;

use crate::cli::{Claude, Cli, Codex, Gemini, Opencode, Qwen};

/// The best first. The order is also how [`crate::cli::fuzzed`] numbers the programs.
pub static AGENTS: [KnownAgent; 5] = [
    KnownAgent {
        name: "codex",
        cli: &Codex,
        npm_package: "@openai/codex",
        sign_in: Some("codex login"),
        tried_versions: &["0.166.0"],
        tells_reads: false,
        report_by_schema: true,
        acp_programs: &["codex-acp"],
        profile: Profile {
            credentials: &[".codex/auth.json"],
            configuration: &[
                (".codex/config.toml", ".codex/config.toml"),
                (".codex/AGENTS.md", ".codex/AGENTS.md"),
            ],
            variables: &["OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_BASE_URL"],
        },
    },
    KnownAgent {
        name: "claude",
        cli: &Claude,
        npm_package: "@anthropic-ai/claude-code",
        sign_in: Some("claude"),
        tried_versions: &["2.1.325"],
        tells_reads: true,
        report_by_schema: true,
        acp_programs: &["claude-agent-acp", "claude-code-acp"],
        profile: Profile {
            credentials: &[".claude/.credentials.json"],
            configuration: &[
                (".claude/settings.json", ".claude/settings.json"),
                (".claude/CLAUDE.md", ".claude/CLAUDE.md"),
                (".claude.json", ".claude/.claude.json"),
            ],
            variables: &[
                "ANTHROPIC_API_KEY",
                "ANTHROPIC_AUTH_TOKEN",
                "ANTHROPIC_BASE_URL",
                "CLAUDE_CODE_OAUTH_TOKEN",
            ],
        },
    },
    KnownAgent {
        name: "opencode",
        cli: &Opencode,
        npm_package: "opencode-ai",
        sign_in: None,
        tried_versions: &["1.18.33"],
        tells_reads: true,
        report_by_schema: false,
        acp_programs: &[],
        profile: Profile {
            credentials: &[".local/share/opencode/auth.json"],
            configuration: &[
                (".config/opencode/opencode.json", ".config/opencode/opencode.json"),
                (".config/opencode/opencode.jsonc", ".config/opencode/opencode.jsonc"),
                (".config/opencode/AGENTS.md", ".config/opencode/AGENTS.md"),
            ],
            variables: &["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"],
        },
    },
    KnownAgent {
        name: "gemini",
        cli: &Gemini,
        npm_package: "@google/gemini-cli",
        sign_in: None,
        tried_versions: &["0.61.0"],
        tells_reads: true,
        report_by_schema: false,
        acp_programs: &[],
        profile: Profile {
            credentials: &[".gemini/oauth_creds.json", ".gemini/google_accounts.json"],
            configuration: &[
                (".gemini/settings.json", ".gemini/settings.json"),
                (".gemini/GEMINI.md", ".gemini/GEMINI.md"),
            ],
            variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT"],
        },
    },
    KnownAgent {
        name: "qwen",
        cli: &Qwen,
        npm_package: "@qwen-code/qwen-code",
        sign_in: None,
        tried_versions: &["0.24.4"],
        tells_reads: true,
        report_by_schema: true,
        acp_programs: &[],
        profile: Profile {
            credentials: &[".qwen/oauth_creds.json"],
            configuration: &[
                (".qwen/settings.json", ".qwen/settings.json"),
                (".qwen/QWEN.md", ".qwen/QWEN.md"),
            ],
            variables: &["DASHSCOPE_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"],
        },
    },
];

/// Adapters for programs that have no row.
pub const OTHER_ADAPTERS: [&str; 3] = ["acp", "command", "scripted"];

pub struct KnownAgent {
    /// The adapter's name, and the program's.
    pub name: &'static str,
    /// How it is called, and what its output means.
    pub cli: &'static dyn Cli,
    pub npm_package: &'static str,
    /// The command that signs in, where its files and variables tell for certain that nobody is.
    pub sign_in: Option<&'static str>,
    /// Versions that the recordings and the trials were made with, the newest last.
    pub tried_versions: &'static [&'static str],
    /// Whether its stream tells which files it reads.
    pub tells_reads: bool,
    /// Whether a report can be asked for by a JSON schema. Where it can, the report is taken from there alone.
    pub report_by_schema: bool,
    /// Programs that speak the Agent Client Protocol for it, and are logged in by its files.
    pub acp_programs: &'static [&'static str],
    pub profile: Profile,
}

/// What an agent needs of its operator: the files it is logged in by, below a home directory, and the variables
/// that carry its keys. Nothing else of a home is for agents.
#[derive(Debug, PartialEq, Eq)]
pub struct Profile {
    /// Below the home directory; JSON, each an object.
    pub credentials: &'static [&'static str],
    /// Its operator's settings, servers and instructions: where they are, and where the program looks for them
    /// in a home of its own. Only for those who ask for them.
    pub configuration: &'static [(&'static str, &'static str)],
    pub variables: &'static [&'static str],
}

impl KnownAgent {
    pub fn install_command(&self) -> String {
        format!("npm install -g {}", self.npm_package)
    }
}

/// The names of the known agents.
pub fn names() -> impl Iterator<Item = &'static str> {
    AGENTS.iter().map(|agent| agent.name)
}

/// Everything that a policy's `use` may say.
pub fn adapter_names() -> impl Iterator<Item = &'static str> {
    names().chain(OTHER_ADAPTERS)
}

pub fn named(name: &str) -> Option<&'static KnownAgent> {
    AGENTS.iter().find(|agent| agent.name == name)
}

/// The known agent behind a policy, also where it is called as a plain command or by the protocol.
pub fn behind(policy: &AgentPolicy) -> Option<&'static KnownAgent> {
    if !matches!(policy.adapter.as_str(), "command" | "acp") {
        return named(&policy.adapter);
    }
    let program = Path::new(policy.command.first()?).file_stem()?.to_str()?;
    AGENTS.iter().find(|agent| agent.name == program || agent.acp_programs.contains(&program))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_known_by_its_adapter_or_its_program() {
        let known = |adapter: &str, program: &str| {
            let command = vec![program.to_owned(), "exec".to_owned()];
            let policy = AgentPolicy { adapter: adapter.to_owned(), command, ..AgentPolicy::default() };
            behind(&policy).map(|agent| agent.name)
        };
        assert_eq!(known("codex", ""), Some("codex"));
        assert_eq!(known("command", "/opt/bin/claude"), Some("claude"));
        assert_eq!(known("command", "qwen.js"), Some("qwen"));
        assert_eq!(known("acp", "gemini"), Some("gemini"));
        assert_eq!(known("acp", "/opt/bin/claude-agent-acp"), Some("claude"));
        assert_eq!(known("acp", "codex-acp"), Some("codex"));
        assert_eq!(known("command", "sh"), None);
        assert_eq!(known("scripted", "claude"), None, "its command is not what runs");
    }

    #[test]
    fn every_name_of_an_adapter_is_unique_and_has_an_adapter() {
        let names: Vec<_> = adapter_names().collect();
        let unique: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(unique.len(), names.len());
        for name in names {
            let policy = AgentPolicy { adapter: name.to_owned(), ..AgentPolicy::default() };
            assert!(crate::adapter(&policy).is_ok(), "{name}");
        }
    }

    #[test]
    fn every_row_names_a_version_that_was_tried_and_how_to_log_in() {
        for agent in &AGENTS {
            assert!(!agent.tried_versions.is_empty(), "{}", agent.name);
            assert!(!agent.profile.credentials.is_empty(), "{}", agent.name);
            assert!(!agent.profile.variables.is_empty(), "{}", agent.name);
        }
    }
}
