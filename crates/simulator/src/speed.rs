//! How fast loops are simulated, in this thread's own processor time.

use rustix::time::{ClockId, clock_gettime};

use crate::options::{Crash, Options};
use crate::simulation::simulate;

/// Simulated loops per second of processor time: three tasks, honest agents.
pub fn throughput(loops: u64) -> f64 {
    let options = Options::honest(Crash::Never);
    let start = cpu_seconds();
    for seed in 0..loops {
        if let Err(broken) = simulate(seed, &options) {
            panic!("{broken}");
        }
    }
    loops as f64 / (cpu_seconds() - start).max(1e-9)
}

fn cpu_seconds() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}
