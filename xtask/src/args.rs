//! What was asked for.

use crate::{agents, fuzz, model};

pub const USAGE: &str = "\
cargo xtask test [--full] [--all-agents]
                              set up, lint, run every test, and play the hostile and the honest agents
cargo xtask lint              formatting, clippy, unused dependencies, licences, advisories
cargo xtask bench [NAME …] [--rounds N] [--rebaseline]
                              measure, and write docs/benchmarks.md; with names, only those, and only print
cargo xtask hostile [--full] [--case ID …] [--players N] [--print]
                              play the hostile agents, and write docs/hostile.md; with cases, only those, and only print
cargo xtask honest [--case ID …] [--players N] [--print]
                              agents that do honest work, and write docs/guide/honest-work.md; with cases, only those, and only print
cargo xtask captures [--check]
                              play what the screen shows, and write docs/captures; --check only compares
cargo xtask fuzz [--seconds N]
                              random bytes through the readers of agents' output and of plans, for a minute each or as long as said
cargo xtask model [--port N] [--script FILE] [--log FILE]
                              serve a scripted model on loopback, to try agents against; --help has its format
cargo xtask ci [--full] [--all-agents]
                              test, and compare instruction counts

--full         the large matrices too
--all-agents   tests with every agent that windlass knows, not only with codex and claude
--rebaseline   accept the instruction counts of this machine";

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    Test(Tests),
    Lint,
    Bench(Bench),
    Ci(Tests),
    Hostile(Hostile),
    Honest(Honest),
    Captures(CapturesMode),
    Fuzz(fuzz::Asked),
    Model(model::Asked),
}

/// How much of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tests {
    pub extent: Extent,
    pub agents: agents::Wanted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    Usual,
    Full,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bench {
    /// Empty means all.
    pub names: Vec<String>,
    pub rounds: usize,
    pub rebaseline: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hostile {
    pub extent: Extent,
    /// Empty means all.
    pub cases: Vec<String>,
    /// How many cases are played at a time.
    pub players: usize,
    /// The page is left as it is.
    pub only_print: bool,
}

impl Hostile {
    pub fn wants(&self, id: &str) -> bool {
        self.cases.is_empty() || self.cases.iter().any(|case| case.eq_ignore_ascii_case(id))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Honest {
    /// Empty means all.
    pub cases: Vec<String>,
    /// How many cases are played at a time.
    pub players: usize,
    /// The page is left as it is.
    pub only_print: bool,
}

impl Honest {
    pub fn wants(&self, id: &str) -> bool {
        self.cases.is_empty() || self.cases.iter().any(|case| case.eq_ignore_ascii_case(id))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CapturesMode {
    Write,
    /// A difference to what is there fails.
    Check,
}

pub fn parse(words: &[String]) -> Result<Task, String> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let Some((task, rest)) = words.split_first() else { return Err("no task given".to_owned()) };
    match *task {
        "test" => tests(rest).map(Task::Test),
        "ci" => tests(rest).map(Task::Ci),
        "lint" => rest.first().map_or(Ok(Task::Lint), |word| Err(unknown(word))),
        "bench" => bench(rest).map(Task::Bench),
        "hostile" => hostile(rest).map(Task::Hostile),
        "honest" => honest(rest).map(Task::Honest),
        "captures" => captures(rest).map(Task::Captures),
        "fuzz" => fuzz(rest).map(Task::Fuzz),
        "model" => model(rest).map(Task::Model),
        other => Err(unknown(other)),
    }
}

fn tests(words: &[&str]) -> Result<Tests, String> {
    let mut tests = Tests { extent: Extent::Usual, agents: agents::Wanted::Usual };
    for word in words {
        match *word {
            "--full" => tests.extent = Extent::Full,
            "--all-agents" => tests.agents = agents::Wanted::All,
            other => return Err(unknown(other)),
        }
    }
    Ok(tests)
}

fn bench(words: &[&str]) -> Result<Bench, String> {
    let mut bench = Bench { names: Vec::new(), rounds: 11, rebaseline: false };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--rebaseline" => bench.rebaseline = true,
            "--rounds" => bench.rounds = number(words.next().ok_or("--rounds wants a number")?)?,
            flag if flag.starts_with('-') => return Err(unknown(flag)),
            name => bench.names.push(name.to_owned()),
        }
    }
    Ok(bench)
}

fn hostile(words: &[&str]) -> Result<Hostile, String> {
    let mut hostile = Hostile { extent: Extent::Usual, cases: Vec::new(), players: 3, only_print: false };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--full" => hostile.extent = Extent::Full,
            "--print" => hostile.only_print = true,
            "--case" => hostile.cases.push((*words.next().ok_or("--case wants an id")?).to_owned()),
            "--players" => hostile.players = number(words.next().ok_or("--players wants a number")?)?,
            other => return Err(unknown(other)),
        }
    }
    Ok(hostile)
}

fn honest(words: &[&str]) -> Result<Honest, String> {
    let mut honest = Honest { cases: Vec::new(), players: 3, only_print: false };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--print" => honest.only_print = true,
            "--case" => honest.cases.push((*words.next().ok_or("--case wants an id")?).to_owned()),
            "--players" => honest.players = number(words.next().ok_or("--players wants a number")?)?,
            other => return Err(unknown(other)),
        }
    }
    Ok(honest)
}

fn captures(words: &[&str]) -> Result<CapturesMode, String> {
    match words {
        [] => Ok(CapturesMode::Write),
        ["--check"] => Ok(CapturesMode::Check),
        [first, rest @ ..] => Err(unknown(rest.first().filter(|_| *first == "--check").unwrap_or(first))),
    }
}

fn fuzz(words: &[&str]) -> Result<fuzz::Asked, String> {
    let mut asked = fuzz::Asked::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--seconds" => asked.seconds = number(words.next().ok_or("--seconds wants a number")?)?,
            other => return Err(unknown(other)),
        }
    }
    // libFuzzer takes 0 for no end.
    if asked.seconds == 0 { Err("--seconds wants at least 1".to_owned()) } else { Ok(asked) }
}

fn model(words: &[&str]) -> Result<model::Asked, String> {
    let mut asked = model::Asked::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--help" | "-h" => asked.help = true,
            "--port" => asked.port = number(words.next().ok_or("--port wants a number")?)?,
            "--script" => asked.script = Some(words.next().ok_or("--script wants a file")?.into()),
            "--log" => asked.log = Some(words.next().ok_or("--log wants a file")?.into()),
            other => return Err(unknown(other)),
        }
    }
    Ok(asked)
}

fn number<T: std::str::FromStr>(word: &str) -> Result<T, String> {
    word.parse().map_err(|_| format!("{word:?} is not a number"))
}

fn unknown(word: &str) -> String {
    format!("unknown argument {word:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Task, String> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn tasks_are_read() {
        let usual = Tests { extent: Extent::Usual, agents: agents::Wanted::Usual };
        assert_eq!(parsed("test"), Ok(Task::Test(usual)));
        assert_eq!(parsed("ci --full"), Ok(Task::Ci(Tests { extent: Extent::Full, ..usual })));
        let all = Tests { extent: Extent::Full, agents: agents::Wanted::All };
        assert_eq!(parsed("test --all-agents --full"), Ok(Task::Test(all)));
        let bench = Bench { names: vec!["a".to_owned()], rounds: 3, rebaseline: true };
        assert_eq!(parsed("bench a --rounds 3 --rebaseline"), Ok(Task::Bench(bench)));
        let hostile =
            Hostile { extent: Extent::Full, cases: vec!["H03".to_owned()], players: 2, only_print: true };
        assert!(hostile.wants("h03") && !hostile.wants("H04"));
        let honest = Honest { cases: vec!["N01".to_owned()], players: 2, only_print: true };
        assert!(honest.wants("n01") && !honest.wants("N02"));
        assert_eq!(parsed("honest --case N01 --players 2 --print"), Ok(Task::Honest(honest)));
        assert_eq!(parsed("captures"), Ok(Task::Captures(CapturesMode::Write)));
        assert_eq!(parsed("captures --check"), Ok(Task::Captures(CapturesMode::Check)));
        assert_eq!(parsed("fuzz"), Ok(Task::Fuzz(fuzz::Asked::default())));
        assert_eq!(parsed("fuzz --seconds 5"), Ok(Task::Fuzz(fuzz::Asked { seconds: 5 })));
        let model =
            model::Asked { port: 8080, script: Some("a.toml".into()), log: Some("b".into()), help: false };
        assert_eq!(parsed("model --port 8080 --script a.toml --log b"), Ok(Task::Model(model)));
        assert_eq!(parsed("model"), Ok(Task::Model(model::Asked::default())));
        assert_eq!(parsed("hostile --full --case H03 --players 2 --print"), Ok(Task::Hostile(hostile)));
    }

    #[test]
    fn anything_else_is_refused_by_name() {
        for line in [
            "",
            "tset",
            "test --fast",
            "test --full x",
            "lint x",
            "bench --rounds",
            "bench --rounds x",
            "bench -x",
            "hostile --case",
            "hostile H03",
            "honest --full",
            "captures --write",
            "captures --check x",
            "fuzz --seconds",
            "fuzz --seconds 0",
            "fuzz 5",
            "model --port x",
            "model --script",
            "model a.toml",
        ] {
            assert!(parsed(line).is_err(), "{line}");
        }
        assert_eq!(parsed("test --fast"), Err("unknown argument \"--fast\"".to_owned()));
    }
}
