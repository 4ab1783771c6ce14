//! `windlass rm`: a loop goes, with everything that windlass keeps of it.

use serde_json::json;
use windlass_app::{BranchRemoval, RemovalRule, RemovedLoop, StoredLoop};

use crate::args::RmArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Locations;
use crate::show::json as print_json;
use crate::show::out::say;

/// How many loops are named to somebody who named none.
const LISTED: usize = 5;

pub fn rm(locations: &Locations, asked: &RmArgs) -> Result<Exit, Failure> {
    let place = locations.open_project()?;
    let Some(name) = &asked.name else { return Err(nameless(&place.loops()?)) };
    let row = place.exact(Some(name))?;
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

fn nameless(loops: &[StoredLoop]) -> Failure {
    let refused = Failure::usage("rm wants the loop's name: what it removes does not come back");
    match loops {
        [] => refused.hint("there is no loop here"),
        all => all
            .iter()
            .take(LISTED)
            .fold(refused, |refused, row| refused.hint(format!("windlass rm {}", row.name))),
    }
}
