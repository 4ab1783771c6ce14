//! What the gate costs beside a plain run of the check, in small real projects and in a large tree.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::Ground;
use super::iteration::scratch;
use super::page::Row;
use super::project::{DAY, Level, Project, finish};
use super::rounds::{Comparison, Measured};
use crate::honest::{ProjectKind, project_files};

const TASKS: usize = 4;
/// At most; each plays three loops of a project.
const ROUNDS: usize = 3;
const FILES: &str = "50000";

struct Stack {
    name: &'static str,
    kind: ProjectKind,
    check: &'static str,
    protect: &'static str,
    product: &'static str,
    /// Changes a source.
    edit: &'static str,
}

const STACKS: [Stack; 4] = [
    Stack {
        name: "Python",
        kind: ProjectKind::PythonFlat,
        check: "python3 -B -m pytest -q -p no:cacheprovider",
        protect: "tests/**",
        product: "**/*.py",
        edit: "echo \"# $WINDLASS_TASK\" >>calc.py",
    },
    Stack {
        name: "Node",
        kind: ProjectKind::Node,
        check: "npm test",
        protect: "test/**",
        product: "**/*.js",
        edit: "echo \"// $WINDLASS_TASK\" >>lib/basket.js",
    },
    Stack {
        name: "Rust",
        kind: ProjectKind::RustCrate,
        check: "cargo test --locked --offline",
        protect: "tests/**",
        product: "**/src/**",
        edit: "echo \"// $WINDLASS_TASK\" >>src/lib.rs",
    },
    Stack {
        name: "C with make",
        kind: ProjectKind::Make,
        check: "make test",
        protect: "tests/**",
        product: "src/**",
        edit: "echo \"// $WINDLASS_TASK\" >>src/calc.c",
    },
];

/// What the agent changes in each iteration.
#[derive(Clone, Copy)]
enum Change {
    Product,
    ProductAndTerm,
}

#[derive(Clone, Copy)]
enum BrokenTests {
    Off,
    Final,
}

/// Of one loop.
struct Spent {
    iterations: Vec<Duration>,
    last_look: Duration,
}

pub fn gate(ground: &Ground) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for stack in &STACKS {
        rows.extend(stack.measure(ground).with_context(|| stack.name.to_owned())?);
    }
    rows.extend(large(ground)?);
    Ok(rows)
}

impl Change {
    fn script(self, edit: &str) -> String {
        match self {
            Self::Product => format!("{edit}\n"),
            Self::ProductAndTerm => format!("{edit}\necho \"$WINDLASS_TASK\" >notes.txt\n"),
        }
    }
}

impl BrokenTests {
    fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Final => "final",
        }
    }
}

impl Stack {
    fn measure(&self, ground: &Ground) -> Result<Vec<Row>> {
        let subjects = [
            ("iteration, only product changed", Change::Product),
            ("iteration, a term changed too: two runs", Change::ProductAndTerm),
        ];
        let looks = [
            ("last look, only product changed, no broken tests", Change::Product, BrokenTests::Off),
            ("last look, only product changed, with broken tests", Change::Product, BrokenTests::Final),
            ("last look, a term changed too, with broken tests", Change::ProductAndTerm, BrokenTests::Final),
        ];
        let mut plain = Vec::new();
        let mut iterations = [Vec::new(), Vec::new()];
        let mut last = [Vec::new(), Vec::new(), Vec::new()];
        for round in 0..ROUNDS.min(ground.rounds.count) {
            let dir = scratch(ground, &format!("gate-{:?}", self.kind), round)?;
            plain.push(self.plain(ground, &dir.join("plain"))?);
            for (at, (_, change, control)) in looks.into_iter().enumerate() {
                let spent = self.drive(ground, &dir.join(at.to_string()), change, control)?;
                match change {
                    Change::Product => iterations[0].extend(spent.iterations),
                    Change::ProductAndTerm => iterations[1].extend(spent.iterations),
                }
                last[at].push(spent.last_look);
            }
        }
        let named = |what: &str| format!("{}: {what}", self.name);
        let iterations = subjects.into_iter().zip(iterations);
        let mut measured: Vec<Measured> =
            iterations.map(|((what, _), times)| Measured::of(named(what), times)).collect();
        measured
            .extend(looks.into_iter().zip(last).map(|((what, ..), times)| Measured::of(named(what), times)));
        let reference = Measured::of("the check alone".to_owned(), plain);
        Ok(Comparison { reference, subjects: measured }.rows(None))
    }

    /// The check in a checkout of its own, as somebody runs it by hand the first time.
    fn plain(&self, ground: &Ground, dir: &Path) -> Result<Duration> {
        let project = Project::of_files(dir, &ground.programs.windlass, project_files(self.kind))?;
        let mut check = Command::new("/bin/sh");
        check.args(["-c", self.check]).current_dir(&project.repository);
        check.env_clear().envs(ground.toolchain.iter().cloned()).env("HOME", dir);
        check.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let begun = Instant::now();
        finish(check)?;
        Ok(begun.elapsed())
    }

    fn drive(&self, ground: &Ground, dir: &Path, change: Change, control: BrokenTests) -> Result<Spent> {
        let Self { check, protect, product, .. } = self;
        let gate = format!(
            "[gate]\ncontrol = {:?}\nproduct = [{product:?}]\nprotect = [{protect:?}]\n\
             [[gate.check]]\nname = \"test\"\nrun = {check:?}\n",
            control.word()
        );
        let project = Project::of_files(dir, &ground.programs.windlass, project_files(self.kind))?
            .gated(gate, change.script(self.edit))
            .in_environment(&ground.toolchain)
            .tasked(TASKS)?
            .at(Level::Namespaces)?;
        spent(&project)
    }
}

fn spent(project: &Project) -> Result<Spent> {
    let iterations = project.drive()?;
    let (landed, judged) = (project.times_of("landed")?, project.times_of("gate_passed")?);
    let (Some(landed), Some(judged)) = (landed.last(), judged.last()) else {
        anyhow::bail!("the loop did not come to its last look");
    };
    let last_look = Duration::from_millis((judged - landed).rem_euclid(DAY).unsigned_abs());
    Ok(Spent { iterations, last_look })
}

/// A check that does nothing, so that all of it is windlass's own.
fn large(ground: &Ground) -> Result<Vec<Row>> {
    let dir = scratch(ground, "gate-large", 0)?;
    let shown = dir.display().to_string();
    ground.programs.measure("snapshot_bench", &dir, &[FILES, "1", &shown])?;
    let gate = "[gate]\nproduct = [\"made-*.txt\"]\n[[gate.check]]\nname = \"true\"\nrun = \"true\"\n";
    let of = |change: Change| -> Result<Vec<Duration>> {
        let edit = "echo \"$WINDLASS_TASK\" >\"made-$WINDLASS_TASK.txt\"";
        let beside = dir.join(format!("loop-{}", change as usize));
        let project = Project::in_repository(&beside, dir.join("repo"), &ground.programs.windlass)
            .gated(gate.to_owned(), change.script(edit))
            .named(match change {
                Change::Product => "bench-product",
                Change::ProductAndTerm => "bench-term",
            })
            .tasked(4 * TASKS)?
            .at(Level::Namespaces)?;
        let times = project.drive()?;
        ensure!(times.len() > TASKS, "the loop had {} iterations", times.len());
        Ok(times[TASKS..].to_vec())
    };
    let named = |what: &str, times| Measured::of(format!("50,000 files: {what}"), times);
    let reference = named("iteration, only product changed", of(Change::Product)?);
    let subjects = vec![named("iteration, a term changed too: two runs", of(Change::ProductAndTerm)?)];
    Ok(Comparison { reference, subjects }.rows(None))
}
