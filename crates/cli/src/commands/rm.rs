//! `windlass rm`: a loop goes, with everything that windlass keeps of it.

use serde_json::json;
use windlass_app::{BranchRemoval, RemovalRule, RemovedLoop};

use crate::args::RmArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Locations;
use crate::show::json as print_json;
use crate::show::out::say;

pub fn rm(locations: &Locations, asked: &RmArgs) -> Result<Exit, Failure> {
    let place = locations.open_project()?;
    let row = place.exact(Some(&asked.name))?;
    let branch = row.view()?.branch;
    let rule = if asked.force { RemovalRule::Everything } else { RemovalRule::OnlyWhatIsElsewhere };
    let removed = place.remove(&row, rule)?;
    if asked.json {
        let deleted = removed.branch == BranchRemoval::Deleted;
        print_json::print(&json!({
            "loop": row.name, "branch": branch, "branch_deleted": deleted, "commit": removed.commit,
        }));
        return Ok(Exit::Done);
    }
    say!("{} is removed: its record, snapshots, workspaces and trail.", row.name);
    let RemovedLoop { branch: became, commit } = removed;
    let commit = commit.map(|commit| commit.to_string()).unwrap_or_default();
    let short = commit.get(..10).unwrap_or_default();
    match became {
        BranchRemoval::Deleted => {
            say!("branch {branch} is deleted; `git branch NAME {short}` brings it back.")
        }
        BranchRemoval::Kept => say!("branch {branch} stays: it is not where the loop left it."),
        BranchRemoval::Absent => {}
    }
    Ok(Exit::Done)
}
