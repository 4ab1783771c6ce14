//! The cases, in the order of the table, and the projects that they are played in.

mod everyday;
mod forms;
mod go;
mod make;
mod node;
mod python_flat;
mod python_src;
mod rust_crate;
mod rust_workspace;

use super::case::{Case, ProjectKind};

pub fn all() -> Vec<Case> {
    [
        python_flat::cases(),
        python_src::cases(),
        node::cases(),
        rust_crate::cases(),
        rust_workspace::cases(),
        make::cases(),
        go::cases(),
        everyday::cases(),
        forms::cases(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The files that every case of a project begins with.
pub fn project_files(project: ProjectKind) -> &'static [(&'static str, &'static str)] {
    match project {
        ProjectKind::PythonFlat => python_flat::FILES,
        ProjectKind::PythonSrc => python_src::FILES,
        ProjectKind::Node => node::FILES,
        ProjectKind::RustCrate => rust_crate::FILES,
        ProjectKind::RustWorkspace => rust_workspace::FILES,
        ProjectKind::Make => make::FILES,
        ProjectKind::Go => go::FILES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_id_twice_and_six_are_quick() {
        let all = all();
        let mut ids: Vec<&str> = all.iter().map(|case| case.id).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count);
        assert!(count >= 60, "{count}");
        assert_eq!(all.iter().filter(|case| case.is_quick).count(), 6);
    }
}
