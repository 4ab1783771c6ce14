//! What a known agent needs of its operator: the files it is logged in by, below a home directory, and the
//! variables that carry its keys. Nothing else of a home is for agents.

use std::path::Path;

use windlass_core::policy::AgentPolicy;

#[derive(Debug, PartialEq, Eq)]
pub struct Profile {
    /// The adapter's name, and the program's.
    pub name: &'static str,
    /// The command that installs it.
    pub install: &'static str,
    /// Below the home directory; JSON, each an object.
    pub credentials: &'static [&'static str],
    /// Its operator's settings, servers and instructions: where they are, and where the program looks for them
    /// in a home of its own. Only for who asks for them.
    pub configuration: &'static [(&'static str, &'static str)],
    pub variables: &'static [&'static str],
}

const PROFILES: [Profile; 5] = [
    Profile {
        name: "codex",
        install: "npm install -g @openai/codex",
        credentials: &[".codex/auth.json"],
        configuration: &[
            (".codex/config.toml", ".codex/config.toml"),
            (".codex/AGENTS.md", ".codex/AGENTS.md"),
        ],
        variables: &["OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_BASE_URL"],
    },
    Profile {
        name: "claude",
        install: "npm install -g @anthropic-ai/claude-code",
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
    Profile {
        name: "opencode",
        install: "npm install -g opencode-ai",
        credentials: &[".local/share/opencode/auth.json"],
        configuration: &[
            (".config/opencode/opencode.json", ".config/opencode/opencode.json"),
            (".config/opencode/opencode.jsonc", ".config/opencode/opencode.jsonc"),
            (".config/opencode/AGENTS.md", ".config/opencode/AGENTS.md"),
        ],
        variables: &["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"],
    },
    Profile {
        name: "gemini",
        install: "npm install -g @google/gemini-cli",
        credentials: &[".gemini/oauth_creds.json", ".gemini/google_accounts.json"],
        configuration: &[
            (".gemini/settings.json", ".gemini/settings.json"),
            (".gemini/GEMINI.md", ".gemini/GEMINI.md"),
        ],
        variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT"],
    },
    Profile {
        name: "qwen",
        install: "npm install -g @qwen-code/qwen-code",
        credentials: &[".qwen/oauth_creds.json"],
        configuration: &[(".qwen/settings.json", ".qwen/settings.json"), (".qwen/QWEN.md", ".qwen/QWEN.md")],
        variables: &["DASHSCOPE_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL"],
    },
];

/// The profile of the agent a policy names, also where it is called as a plain command.
pub fn profile(policy: &AgentPolicy) -> Option<&'static Profile> {
    let program = policy.command.first().map(Path::new).and_then(Path::file_stem);
    let is_called = matches!(policy.adapter.as_str(), "command" | "acp");
    // The two for the protocol bring the program of their vendor, and are logged in by its files.
    let called = program.and_then(|name| name.to_str()).filter(|_| is_called).map(|name| match name {
        "claude-agent-acp" | "claude-code-acp" => "claude",
        "codex-acp" => "codex",
        other => other,
    });
    PROFILES.iter().find(|profile| profile.name == policy.adapter || Some(profile.name) == called)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_known_by_its_adapter_or_its_program() {
        let named = |adapter: &str, program: &str| {
            let command = vec![program.to_owned(), "exec".to_owned()];
            let policy = AgentPolicy { adapter: adapter.to_owned(), command, ..AgentPolicy::default() };
            profile(&policy).map(|profile| profile.name)
        };
        assert_eq!(named("codex", ""), Some("codex"));
        assert_eq!(named("command", "/opt/bin/claude"), Some("claude"));
        assert_eq!(named("command", "qwen.js"), Some("qwen"));
        assert_eq!(named("acp", "gemini"), Some("gemini"));
        assert_eq!(named("acp", "/opt/bin/claude-agent-acp"), Some("claude"));
        assert_eq!(named("acp", "codex-acp"), Some("codex"));
        assert_eq!(named("command", "sh"), None);
        assert_eq!(named("scripted", "claude"), None, "its command is not what runs");
    }
}
