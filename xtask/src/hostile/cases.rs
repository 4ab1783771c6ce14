//! The cases, in the order of the table.

mod apart;
mod cargo;
mod control;
mod faults;
mod file_watches;
mod files;
mod gate;
mod git;
mod hidden;
mod make;
mod network;
mod packages;
mod processes;
mod records;
mod shell;
mod surroundings;
mod taken;
mod terms;
mod variants;
mod wardens;
mod watched;
mod words;

use super::case::Case;

pub fn all() -> Vec<Case> {
    let mut all = [
        gate::cases(),
        files::cases(),
        processes::cases(),
        wardens::cases(),
        file_watches::cases(),
        network::cases(),
        git::cases(),
        words::cases(),
        apart::cases(),
        shell::cases(),
        records::cases(),
        terms::cases(),
        taken::cases(),
        make::cases(),
        control::cases(),
        watched::cases(),
        hidden::cases(),
        packages::cases(),
        variants::cases(),
        cargo::cases(),
        faults::cases(),
        surroundings::cases(),
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<_>>();
    // The numbered attacks, those on the gate and on reviews, the further ones, and then what is only a fault.
    all.sort_by_key(|case| ("HGRXF".find(&case.id[..1]), case.id));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// H01 to H55 each have a case, or say why they have none.
    #[test]
    fn every_number_is_there_and_no_id_twice() {
        let ids: Vec<&str> = all().iter().map(|case| case.id).collect();
        for number in 1..=55 {
            let id = format!("H{number:02}");
            assert!(ids.iter().any(|known| known.trim_end_matches(char::is_lowercase) == id), "{id}");
        }
        let mut once = ids.clone();
        once.dedup();
        assert_eq!(ids, once);
    }
}
