//! Cases played side by side, each of which may break without taking the others along.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A stage with a very deep directory in it is removed by calls as deep.
const DEEP: usize = 256 << 20;

/// Plays every job, as many at a time as there are players, and gives the results in the order of the jobs.
pub fn play_all<J: Sync, R: Send>(jobs: &[J], players: usize, play: impl Fn(&J) -> R + Sync) -> Vec<R> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    // A broken fixture panics with its reason, which becomes the case's result.
    std::panic::set_hook(Box::new(|_| {}));
    let player = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(at) else { break };
            let result = play(job);
            results.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..players {
            let player = std::thread::Builder::new().stack_size(DEEP).spawn_scoped(scope, player);
            player.expect("there is room for a few threads");
        }
    });
    drop(std::panic::take_hook());
    let mut results = results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

/// What a case gave, or why it broke.
pub fn caught<R>(play: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(play)).map_err(|panic| {
        let why = panic.downcast_ref::<String>().cloned();
        let why = why.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        why.unwrap_or_else(|| "a panic without words".to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_jobs_and_a_panic_is_one() {
        let jobs = [3, 1, 2, 0];
        let play = |job: &i32| caught(|| if *job == 1 { panic!("broken {job}") } else { *job });
        let results = play_all(&jobs, 2, play);
        assert_eq!(results, [Ok(3), Err("broken 1".to_owned()), Ok(2), Ok(0)]);
    }
}
