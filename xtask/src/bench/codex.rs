//! How long until Codex asks its model: called by windlass, and bare.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail};
use windlass_testkit::model::Server;
use windlass_testkit::poll;

use super::Ground;
use super::iteration::scratch;
use super::page::{Limit, Row};
use super::project::{DAY, Project, finish};
use super::rounds::{Rounds, Subject, duration};

const MODEL: &str = "gpt-5.1-codex";
const ALLOWED_MS: f64 = 100.0;
const LONG: Duration = Duration::from_secs(60);
const SCRIPT: &str = r#"
[[rule]]
turns = [
  { run = "echo made > made.txt" },
  { report = { nonce = "$nonce", status = "complete", summary = "done" } },
]
"#;

pub fn codex(ground: &Ground) -> Result<Vec<Row>> {
    let Some(codex) = &ground.codex else {
        let why = "not run: no codex; `cargo xtask test` installs it".to_owned();
        return Ok(vec![Row::plain("until the first request", why, None)]);
    };
    let native = native(codex)?;
    let nth = std::cell::Cell::new(0);
    let fresh = || {
        nth.set(nth.get() + 1);
        scratch(ground, "codex", nth.get())
    };
    let bare = Subject::measured("bare: from its start", || bare(&native, &fresh()?));
    let called = Subject::measured("by windlass: from the attempt's start", || {
        by_windlass(codex, &Project::small(&fresh()?, &ground.programs.windlass, 1)?)
    });
    let rounds = Rounds { warm_up: 1, ..ground.rounds };
    let found = rounds.compare(bare, vec![called])?;
    let mut rows = found.rows(None);
    let (with, without) = (found.subjects[0].median, found.reference.median);
    let share = (with.as_secs_f64() - without.as_secs_f64()) * 1e3;
    let limit = Limit::at_most(share, ALLOWED_MS, "ms");
    let shown = format!("{share:+.1} ms on {}", duration(without));
    rows.push(Row::plain("windlass's share before the first request", shown, Some(limit)));
    Ok(rows)
}

/// What windlass itself starts: its wrapper in node would be measured beside it.
fn native(codex: &Path) -> Result<PathBuf> {
    let real = codex.canonicalize().with_context(|| format!("{}", codex.display()))?;
    let scope = real.ancestors().nth(3).context("codex lies in no package")?;
    let packages = fs::read_dir(scope)?
        .chain(fs::read_dir(scope.join("codex/node_modules/@openai")).into_iter().flatten());
    for package in packages.flatten() {
        let Ok(targets) = fs::read_dir(package.path().join("vendor")) else { continue };
        let program =
            targets.flatten().map(|target| target.path().join("bin/codex")).find(|path| path.is_file());
        if let Some(program) = program {
            return Ok(program);
        }
    }
    bail!("no native program beside {}", real.display())
}

fn provider(server: &Server) -> String {
    format!(
        r#"model_providers.fake={{name="fake",base_url="{}/codex/v1",env_key="FAKE_KEY",wire_api="responses"}}"#,
        server.url
    )
}

fn bare(program: &Path, dir: &Path) -> Result<Duration> {
    let home = dir.join("home");
    fs::create_dir_all(home.join(".codex"))?;
    let server = Server::start(SCRIPT.parse()?);
    let served = Instant::now();
    let mut command = Command::new(program);
    command.args(["exec", "--json", "--skip-git-repo-check", "-m", MODEL]);
    command.args(["-c", "analytics.enabled=false", "-c", "check_for_update_on_startup=false"]);
    command.args(["-c", "otel.exporter=\"none\"", "--disable", "plugins", "--disable", "apps"]);
    command.args(["--ignore-user-config", "--ignore-rules", "--dangerously-bypass-approvals-and-sandbox"]);
    command.args(["-c", "model_provider=fake", "-c", &provider(&server), "-"]);
    command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    command.env("HOME", &home).env("CODEX_HOME", home.join(".codex")).env("FAKE_KEY", "test-key");
    command.current_dir(dir).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let begun = Instant::now();
    let mut child = command.spawn().with_context(|| format!("start {command:?}"))?;
    if let Some(mut brief) = child.stdin.take() {
        brief.write_all(b"nonce: bench\n\nWrite the file.\n")?;
    }
    let at = first_request(&server);
    child.kill()?;
    child.wait()?;
    Ok((served + at?).saturating_duration_since(begun))
}

fn by_windlass(codex: &Path, project: &Project) -> Result<Duration> {
    let server = Server::start(SCRIPT.parse()?);
    let served = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let policy = format!(
        "[agent]\nuse = \"codex\"\nmodel = \"{MODEL}\"\npath = {codex:?}\nargs = [\"-c\", \"model_provider=fake\", \"-c\", '{}']\n\
         env = {{ FAKE_KEY = \"test-key\" }}\n[plan]\nsource = \"tasks/\"\n[[gate.check]]\nname = \"true\"\nrun = \"true\"\n\
         [review]\ntasks = false\nfinal = false\n",
        provider(&server)
    );
    fs::write(project.repository.join("windlass.toml"), policy)?;
    finish(project.run())?;
    let asked = i64::try_from((served + first_request(&server)?).as_millis())?;
    let started = *project.times_of("attempt_started")?.first().context("no attempt")?;
    Ok(Duration::from_millis((asked - started).rem_euclid(DAY).unsigned_abs()))
}

fn first_request(server: &Server) -> Result<Duration> {
    let model = |seen: &windlass_testkit::model::Seen| seen.api.is_some();
    poll::value(LONG, || server.requests().into_iter().find(model).map(|seen| seen.at))
        .context("no request within a minute")
}
