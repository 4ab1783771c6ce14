//! The most memory a drive takes while its agent prints, whatever it prints.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::Ground;
use super::iteration::scratch;
use super::page::{Limit, Row};
use super::project::Project;

const LITTLE: u64 = 10_000_000;
const MUCH: u64 = 1_000_000_000;
const ALLOWED_MIB: f64 = 16.0;
const TURNS: usize = 3;

pub fn memory(ground: &Ground) -> Result<Vec<Row>> {
    let (mut little, mut much) = (Vec::new(), Vec::new());
    for turn in 0..TURNS {
        little.push(peak(ground, LITTLE, turn)?);
        much.push(peak(ground, MUCH, turn)?);
    }
    let (little, much) = (middle(little), middle(much));
    let limit = Limit::at_most(much - little, ALLOWED_MIB, "MiB");
    Ok(vec![
        Row::plain("peak under 10 MB of output", format!("{little:.1} MiB"), None),
        Row::plain("peak under 1 GB of output", format!("{much:.1} MiB"), None),
        Row::plain("1 GB more than 10 MB", format!("{:+.1} MiB", much - little), Some(limit)),
    ])
}

/// The largest resident size of any process of the drive: windlass, its
/// wardens, and the agent, which is a shell and two small tools.
fn peak(ground: &Ground, bytes: u64, turn: usize) -> Result<f64> {
    let dir = scratch(ground, &format!("memory-{bytes}"), turn)?;
    let project = Project::small(&dir, &ground.programs.windlass, 1)?;
    project.agent(&format!("yes | head -c {bytes}\necho done > made.txt\n"))?;
    let peak = peak_of(project.run())?;
    std::fs::remove_dir_all(&dir)?;
    Ok(peak)
}

/// In MiB. Kilobytes are what Linux counts in.
fn peak_of(mut command: Command) -> Result<f64> {
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let child = command.spawn().with_context(|| format!("start {command:?}"))?;
    let pid = libc::pid_t::try_from(child.id())?;
    let mut status = 0;
    // SAFETY: all zeroes is a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to locals that outlive the call, and the child is ours and unreaped.
    let ended = unsafe { libc::wait4(pid, &raw mut status, 0, &raw mut usage) };
    ensure!(ended == pid && status == 0, "{command:?}: status {status}");
    Ok(usage.ru_maxrss as f64 / 1024.0)
}

fn middle(mut sizes: Vec<f64>) -> f64 {
    sizes.sort_by(f64::total_cmp);
    sizes.get(sizes.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_peak_of_a_process_counts_what_it_touched() {
        let peak = |script: &str| {
            let mut shell = Command::new("/bin/sh");
            peak_of({
                shell.args(["-c", script]);
                shell
            })
            .unwrap()
        };
        let (little, much) = (peak(":"), peak("x=$(head -c 20000000 /dev/zero | tr '\\0' x); :"));
        assert!(much > little + 15.0, "{little} {much}");
    }
}
