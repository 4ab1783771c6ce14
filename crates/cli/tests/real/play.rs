//! A loop, its agents, and the model they talk to.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use windlass_testkit::Repo;
use windlass_testkit::capability;
use windlass_testkit::model::{Seen as Request, Server, Tokens};

use crate::case::{Case, LOOP, Seen};

/// An agent that is installed.
#[derive(Clone, Debug)]
pub struct Cli {
    pub name: &'static str,
    pub program: PathBuf,
}

/// One test for each agent, in a module named after what is shown of them.
macro_rules! of_each {
    ($check:ident) => {
        of_each!($check: codex claude opencode gemini qwen);
    };
    ($check:ident: $($agent:ident)*) => {
        mod $check {
            $(#[test]
            fn $agent() {
                super::$check(stringify!($agent));
            })*
        }
    };
}
pub(crate) use of_each;

/// None when it is not installed, which is reported.
pub fn cli(name: &'static str) -> Option<Cli> {
    capability::agent(name).map(|program| Cli { name, program })
}

impl Cli {
    pub fn model(&self) -> &'static str {
        match self.name {
            "codex" => "gpt-5.1-codex",
            "claude" => "claude-sonnet-4-5",
            "gemini" => "gemini-2.5-flash",
            "opencode" => "fake/model-of-opencode",
            _ => "model-of-qwen",
        }
    }

    /// Its model as the server knows it: opencode names the provider too.
    fn model_of_the_server(&self) -> &'static str {
        let model = self.model();
        model.split_once('/').map_or(model, |(_, model)| model)
    }

    /// With the version that `cargo xtask test` installs.
    pub fn called(&self) -> &'static str {
        match self.name {
            "codex" => "codex 0.166.0",
            "claude" => "claude 2.1.325",
            "gemini" => "gemini 0.61.0",
            "opencode" => "opencode 1.18.33",
            _ => "qwen 0.24.4",
        }
    }

    /// Claude of somebody with a plan, not with a key: only plans have limits that end at a time.
    pub fn keys_of_a_plan(&self, server: &Server) -> String {
        self.keys(server)
            .replace("ANTHROPIC_API_KEY = \"test-key\"", "CLAUDE_CODE_OAUTH_TOKEN = \"sk-ant-oat01-test\"")
    }

    /// Its keys in `[agent]`, with a provider that is the scripted model.
    pub fn keys(&self, server: &Server) -> String {
        let Self { name, program } = self;
        let (url, model, program) = (&server.url, self.model(), program.display());
        let provider = match *name {
            "codex" => format!(
                r#"args = ["-c", "model_provider=fake", "-c", 'model_providers.fake={{name="fake",base_url="{url}/codex/v1",env_key="FAKE_KEY",wire_api="responses"}}']
env = {{ FAKE_KEY = "test-key" }}"#
            ),
            "claude" => {
                format!(r#"env = {{ ANTHROPIC_API_KEY = "test-key", ANTHROPIC_BASE_URL = "{url}/claude" }}"#)
            }
            "gemini" => {
                format!(r#"env = {{ GEMINI_API_KEY = "test-key", GOOGLE_GEMINI_BASE_URL = "{url}/gemini" }}"#)
            }
            "qwen" => {
                format!(r#"env = {{ OPENAI_API_KEY = "test-key", OPENAI_BASE_URL = "{url}/qwen/v1" }}"#)
            }
            _ => format!(
                r#"env = {{ OPENCODE_CONFIG_CONTENT = '{{"provider":{{"fake":{{"npm":"@ai-sdk/openai-compatible","options":{{"baseURL":"{url}/opencode/v1","apiKey":"test-key"}},"models":{{"{}":{{}}}}}}}}}}' }}"#,
                self.model_of_the_server()
            ),
        };
        format!("use = \"{name}\"\nmodel = \"{model}\"\npath = \"{program}\"\n{provider}\n")
    }
}

/// Longer than eight turns of slow programs take on a busy machine.
const WHOLE_LOOP: Duration = Duration::from_secs(400);
/// Longer than a slow program takes to its first call on a busy machine.
pub const FIRST_CALL: Duration = Duration::from_secs(120);

/// What a policy has beside its agents.
pub struct Rest<'a> {
    /// Further keys of `[agent]`.
    pub agent: &'a str,
    pub review: &'a str,
    pub limits: &'a str,
}

pub const REVIEWED: &str = "tasks = true\nfinal = false\n";
pub const NOT_REVIEWED: &str = "tasks = false\nfinal = false\n";
/// Whatever fails ends the run.
pub const NO_SECOND_CHANCE: &str = "max_transient = 1\nmax_agent_failures = 1\nmax_stalls = 1\n";

pub struct Play {
    pub case: Case,
    pub server: Server,
}

/// The model that follows the script.
#[track_caller]
pub fn serve(script: &str) -> Server {
    Server::start(script.parse().unwrap_or_else(|error| panic!("{error:?}\n{script}")))
}

impl Play {
    /// One task: `add.sh` is to add.
    #[track_caller]
    pub fn one_task(server: Server, agents: &str, rest: &Rest<'_>) -> Self {
        Self::tasks(server, agents, rest, 1)
    }

    #[track_caller]
    pub fn tasks(server: Server, agents: &str, rest: &Rest<'_>, tasks: usize) -> Self {
        let repo = Repo::empty();
        let names =
            [("001-add", "add", "2 3", "5"), ("002-sub", "sub", "5 3", "2"), ("003-mul", "mul", "2 3", "6")];
        let mut checks = String::new();
        for (nth, (id, name, given, wanted)) in names.iter().take(tasks).enumerate() {
            let held: Vec<_> = names.iter().take(nth + 1).map(|(_, name, ..)| *name).collect();
            let task = format!(
                "---\nchecks: [{}]\n---\n# Write {name}.sh\n\n`sh {name}.sh {given}` prints {wanted}.\n",
                held.join(", ")
            );
            repo.file(format!("tasks/{id}.md"), task);
            repo.file(format!("test/{name}.sh"), format!("test \"$(sh {name}.sh {given})\" = {wanted}\n"));
            checks.push_str(&format!("[[gate.check]]\nname = \"{name}\"\nrun = \"sh test/{name}.sh\"\n"));
        }
        let Rest { agent: more, review, limits } = rest;
        let (author, roles) = agents
            .split_once("[role")
            .map_or((agents, String::new()), |(author, roles)| (author, format!("[role{roles}")));
        let policy = format!(
            "[agent]\n{author}{more}\ntimeout = \"200s\"\ngrace = \"500ms\"\n{roles}\n[plan]\nsource = \"tasks/\"\n[gate]\nprotect = [\"test/\"]\n{checks}\n[review]\n{review}\n[loop]\n{limits}\n"
        );
        Self { case: Case::of(repo, &policy), server }
    }

    /// Runs the loop to its end, and looks at everything.
    #[track_caller]
    pub fn run(&self) -> Seen {
        let running = self.case.start();
        self.case.look(running.finish(WHOLE_LOOP))
    }

    /// What the model was asked, by this rule.
    pub fn asked(&self, rule: &str) -> Vec<Request> {
        self.server.requests().into_iter().filter(|seen| seen.rule.as_deref() == Some(rule)).collect()
    }

    /// Requests to a model, not what programs ask of a server beside that.
    pub fn model_requests(&self) -> usize {
        self.server.requests().iter().filter(|seen| seen.api.is_some() && seen.method == "POST").count()
    }

    /// `windlass usage` says what the server handed out, model by model, to the token.
    #[track_caller]
    pub fn usage_is_the_servers(&self) {
        self.usage_is_the_servers_but(0);
    }

    /// The same where so many attempts used nothing, and did not say that it was nothing.
    #[track_caller]
    pub fn usage_is_the_servers_but(&self, unknown: usize) {
        let told = self.case.windlass(&["usage", LOOP, "--json"]).expect_code(0).json();
        let by_model: BTreeMap<String, Tokens> = told["by_model"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(model, used)| (model.clone(), tokens(used)))
            .collect();
        let mut handed: BTreeMap<String, Tokens> =
            self.server.tokens().into_iter().map(|(model, tokens)| as_told(&model, tokens)).collect();
        if unknown > 0 {
            handed.insert("not named".to_owned(), Tokens::default());
        }
        assert_eq!(by_model, handed, "{told:#}");
        let mut sum = Tokens::default();
        for tokens in handed.values() {
            sum.input += tokens.input;
            sum.output += tokens.output;
            sum.reasoning += tokens.reasoning;
            sum.cached += tokens.cached;
            sum.cache_write += tokens.cache_write;
        }
        assert_eq!(tokens(&told["total"]), sum, "{told:#}");
        assert_eq!(told["total"]["attempts_unknown"], unknown, "{told:#}");
    }
}

/// What a program that tells everything it can says of what the server handed out.
fn as_told(model: &str, tokens: Tokens) -> (String, Tokens) {
    match model {
        "model-of-opencode" => (format!("fake/{model}"), tokens),
        // Its result has no field for thoughts: they are part of its output, as the server's API has it.
        "model-of-qwen" => {
            let output = tokens.output + tokens.reasoning;
            (model.to_owned(), Tokens { output, reasoning: 0, ..tokens })
        }
        _ => (model.to_owned(), tokens),
    }
}

fn tokens(used: &Value) -> Tokens {
    let of = |name: &str| used[name].as_u64().unwrap_or_else(|| panic!("{name}: {used:#}"));
    Tokens {
        input: of("input_tokens"),
        output: of("output_tokens"),
        reasoning: of("reasoning_tokens"),
        cached: of("cache_read_tokens"),
        cache_write: of("cache_write_tokens"),
    }
}

/// Both agents in one policy.
pub fn author_and_reviewer(author: &Cli, reviewer: &Cli, server: &Server) -> String {
    format!("{}[role.reviewer]\n{}", author.keys(server), reviewer.keys(server))
}
