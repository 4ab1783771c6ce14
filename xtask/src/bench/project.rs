//! A repository with tasks, driven by `windlass run` with an agent that writes
//! one file a task, a check that passes, and no reviews.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

const AGENT: &str = "echo \"$WINDLASS_TASK\" > \"made-$WINDLASS_TASK.txt\"\n";
/// In milliseconds.
pub const DAY: i64 = 24 * 60 * 60 * 1000;

pub struct Project {
    pub repository: PathBuf,
    /// Outside the repository: the agent, and windlass's records.
    beside: PathBuf,
    windlass: PathBuf,
    level: Level,
    /// The name of its loop, where it is not the usual one of its level.
    name: Option<&'static str>,
    /// The gate of its policy.
    gate: String,
    /// What the agent does.
    script: String,
    environment: Vec<(String, String)>,
}

/// How agent and check are confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    None,
    Namespaces,
}

impl Project {
    /// A repository of five files.
    pub fn small(dir: &Path, windlass: &Path, tasks: usize) -> Result<Self> {
        let files = [
            ("README.md", "# A project\n"),
            ("src/lib.sh", "add() { echo $(($1 + $2)); }\n"),
            ("src/main.sh", ". ./src/lib.sh\nadd 1 2\n"),
            ("test.sh", ". ./src/lib.sh\ntest \"$(add 1 2)\" = 3\n"),
            (".gitignore", "target/\n"),
        ];
        Self::of_files(dir, windlass, &files)?.tasked(tasks)
    }

    /// A repository of these files.
    pub fn of_files(dir: &Path, windlass: &Path, files: &[(&str, &str)]) -> Result<Self> {
        let repository = dir.join("repository");
        for (name, text) in files {
            let file = repository.join(name);
            fs::create_dir_all(file.parent().unwrap_or(&repository))?;
            fs::write(file, text)?;
        }
        git(&repository, &["init", "-q"])?;
        git(&repository, &["add", "-A"])?;
        git(&repository, &["commit", "-q", "-m", "base"])?;
        Ok(Self::in_repository(dir, repository, windlass))
    }

    pub fn in_repository(dir: &Path, repository: PathBuf, windlass: &Path) -> Self {
        Self {
            repository,
            beside: dir.join("beside"),
            windlass: windlass.to_owned(),
            level: Level::None,
            name: None,
            gate: "[[gate.check]]\nname = \"true\"\nrun = \"true\"\n".to_owned(),
            script: AGENT.to_owned(),
            environment: Vec::new(),
        }
    }

    /// With another gate, and an agent that does something else.
    pub fn gated(self, gate: String, script: String) -> Self {
        Self { gate, script, ..self }
    }

    /// With these variables beside a home of its own.
    pub fn in_environment(self, variables: &[(String, String)]) -> Self {
        Self { environment: variables.to_vec(), ..self }
    }

    /// With a loop of this name: two on one repository have a branch each.
    pub fn named(self, name: &'static str) -> Self {
        Self { name: Some(name), ..self }
    }

    /// With this many tasks to do, and nothing committed for it: a base is
    /// a commit, and the plan is the operator's.
    pub fn tasked(self, tasks: usize) -> Result<Self> {
        fs::create_dir_all(self.beside.join("home"))?;
        fs::create_dir_all(self.repository.join("tasks"))?;
        for n in 0..tasks {
            let text = format!("# Part {n}\n\nWrite the file of part {n}, and nothing else.\n");
            fs::write(self.repository.join(format!("tasks/part-{n:03}.md")), text)?;
        }
        self.agent(&self.script)?;
        Ok(self)
    }

    /// The same under confinement, with records of its own.
    pub fn at(self, level: Level) -> Result<Self> {
        let project = Self { level, ..self };
        project.agent(&project.script)?;
        Ok(project)
    }

    /// Another agent than the one that writes a file.
    pub fn agent(&self, script: &str) -> Result<()> {
        let path = self.agent_script();
        fs::write(&path, script)?;
        let level = match self.level {
            Level::None => "none",
            Level::Namespaces => "namespaces",
        };
        let policy = format!(
            "[loop]\nmax_iterations = 1000\n[agent]\nuse = \"command\"\ncommand = [\"sh\", {:?}]\n\
             [plan]\nsource = \"tasks/\"\n{}\
             [review]\ntasks = false\nfinal = false\n[sandbox]\nlevel = \"{level}\"\nminimum = \"{level}\"\n",
            path.display().to_string(),
            self.gate
        );
        fs::write(self.repository.join("windlass.toml"), policy)?;
        Ok(())
    }

    pub fn agent_script(&self) -> PathBuf {
        self.beside.join("agent.sh")
    }

    pub fn state(&self) -> PathBuf {
        self.beside.join(match self.level {
            Level::None => "state",
            Level::Namespaces => "state-confined",
        })
    }

    /// `windlass` in this project, with an environment of its own.
    pub fn windlass(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.windlass);
        self.arrange(&mut command);
        command.arg("--state-dir").arg(self.state()).args(args);
        command
    }

    /// `windlass` under a program that watches it.
    pub fn watched(&self, watcher: &Path, options: &[&str], args: &[&str]) -> Command {
        let mut command = Command::new(watcher);
        self.arrange(&mut command);
        command.args(options).arg(&self.windlass).arg("--state-dir").arg(self.state()).args(args);
        command
    }

    fn name(&self) -> &'static str {
        match (self.name, self.level) {
            (Some(name), _) => name,
            (None, Level::None) => "bench",
            (None, Level::Namespaces) => "bench-confined",
        }
    }

    pub fn run(&self) -> Command {
        self.windlass(&["run", "--name", self.name()])
    }

    pub fn status(&self) -> Command {
        self.windlass(&["status", self.name(), "--json"])
    }

    /// Drives the loop to its end, and gives the times of its iterations, in
    /// whole milliseconds as the log has them.
    pub fn drive(&self) -> Result<Vec<Duration>> {
        finish(self.run())?;
        let opened = self.times_of("iteration_opened")?;
        ensure!(opened.len() > 1, "the loop had {} iterations", opened.len());
        let span = |pair: &[i64]| Duration::from_millis((pair[1] - pair[0]).rem_euclid(DAY).unsigned_abs());
        Ok(opened.windows(2).map(span).collect())
    }

    /// When events of this kind were, in milliseconds since midnight.
    pub fn times_of(&self, kind: &str) -> Result<Vec<i64>> {
        let output = self.windlass(&["log", self.name(), "--json"]).output().context("windlass log")?;
        let mut times = Vec::new();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let event: Value = serde_json::from_str(line).with_context(|| format!("{line:?}"))?;
            if event["event"] == kind {
                let at = event["at"].as_str().and_then(of_day);
                times.push(at.with_context(|| format!("no time in {line:?}"))?);
            }
        }
        Ok(times)
    }

    fn arrange(&self, command: &mut Command) {
        command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.envs(self.environment.iter().cloned());
        command.env("HOME", self.beside.join("home")).current_dir(&self.repository);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    }
}

pub fn finish(mut command: Command) -> Result<()> {
    let output = command.output().with_context(|| format!("start {command:?}"))?;
    let said = [&output.stderr, &output.stdout].map(|text| last_words(&String::from_utf8_lossy(text)));
    ensure!(output.status.success(), "{command:?}: {}: {}", output.status, said.join("; "));
    Ok(())
}

fn last_words(text: &str) -> String {
    let mut lines: Vec<&str> =
        text.lines().map(str::trim).filter(|line| !line.is_empty()).rev().take(8).collect();
    lines.reverse();
    lines.join("; ")
}

fn git(dir: &Path, args: &[&str]) -> Result<()> {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=bench", "-c", "user.email=bench@localhost"]);
    command.args(args).current_dir(dir).stdin(Stdio::null());
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    finish(command)
}

/// Milliseconds since midnight of `2026-01-02T03:04:05.678Z`.
fn of_day(text: &str) -> Option<i64> {
    let time = text.split_once('T')?.1.trim_end_matches('Z');
    let (whole, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let mut seconds = 0;
    for part in whole.split(':') {
        seconds = seconds * 60 + part.parse::<i64>().ok()?;
    }
    Some(seconds * 1000 + format!("{fraction:0<3}").get(..3)?.parse::<i64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_day_is_read_to_the_millisecond() {
        assert_eq!(of_day("2026-01-02T03:04:05.678Z"), Some(11_045_678));
        assert_eq!(of_day("2026-01-02T00:00:01Z"), Some(1000));
        assert_eq!(of_day("2026-01-02T00:00:01.5Z"), Some(1500));
        assert_eq!(of_day("yesterday"), None);
    }
}
