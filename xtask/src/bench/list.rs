//! What is measured and what is counted.

use super::Bench;
use super::callgrind::{Counted, Work};
use super::codex::codex;
use super::collatz::collatz;
use super::gate::gate;
use super::iteration::iteration;
use super::large::large;
use super::memory::memory;
use super::sandbox::sandbox;
use super::shown::{noise, status, version};
use super::simulator::simulator;
use super::store::store;

pub const BENCHES: &[Bench] = &[
    Bench {
        name: "noise",
        claim: "The same program against itself: how far from 1 a ratio of this machine is by chance.",
        run: noise,
    },
    Bench {
        name: "iteration",
        claim: "An iteration on a repository of five files (an agent that writes one file, a check that passes, \
                no reviews) takes at most 40 ms. Beside it its parts measured alone: the agent and the check each \
                under a warden, the snapshot, the vault's ref, the checkout's delta, five commits, the landing; \
                and how often it flushes.",
        run: iteration,
    },
    Bench {
        name: "large",
        claim: "50,000 files of which one changes: an iteration in at most 100 ms; a snapshot in at most half \
                the time of git, the first in at most 0.35 of it; the gate's tree in at most 10 ms.",
        run: large,
    },
    Bench {
        name: "gate",
        claim: "What the gate costs beside a plain first run of the check, with agent and gate inside namespaces. An \
                iteration that changes only product has one run of the check; one that changes a term of the trial \
                as well has two, and the last look breaks the tests of each tree. No cache is lent.",
        run: gate,
    },
    Bench {
        name: "sandbox",
        claim: "What a level adds to starting a program and to reading a tree. The iteration on five files with \
                agent and gate inside namespaces takes at most 40 ms.",
        run: sandbox,
    },
    Bench {
        name: "store",
        claim: "16 loops at once with 8 decisions each take at most three times as long as one loop's 8.",
        run: store,
    },
    Bench {
        name: "status",
        claim: "`windlass status --json` of a loop with 1,000,000 events takes at most five times the time \
                of `/bin/true`.",
        run: status,
    },
    Bench { name: "version", claim: "What `windlass --version` takes beside `/bin/true`.", run: version },
    Bench {
        name: "simulator",
        claim: "The simulator plays at least 200 loops in a second of processor time, with the real driver.",
        run: simulator,
    },
    Bench {
        name: "collatz",
        claim: "A round of an open-ended loop (Collatz from 27, 111 rounds; a trivial agent, a step check, a stop \
                check) beside a stand-in that starts as many Python processes in a round as the scripts of \
                strict-agent-loop do, and judges nothing.",
        run: collatz,
    },
    Bench {
        name: "codex",
        claim: "windlass's own share before Codex asks its model is at most 100 ms at the median: from the \
                attempt's start to the first request, confined, beside the bare program from its start.",
        run: codex,
    },
    Bench {
        name: "memory",
        claim: "An agent that prints 1 GB costs at most 16 MiB more memory than one that prints 10 MB.",
        run: memory,
    },
];

pub const COUNTED: &[Counted] = &[
    Counted { name: "step", work: Work::Example { program: "counted", args: &["step"] } },
    Counted { name: "apply", work: Work::Example { program: "counted", args: &["apply"] } },
    Counted { name: "fold", work: Work::Example { program: "counted", args: &["fold"] } },
    Counted { name: "snapshot", work: Work::Example { program: "snapshot_bench", args: &["counted"] } },
    Counted { name: "status", work: Work::Status },
];
