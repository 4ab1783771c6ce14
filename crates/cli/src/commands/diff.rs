//! `windlass show --diff`: what an attempt changed, what would land, what has landed.

use serde_json::json;
use windlass_app::{OpenProject, StoredLoop};
use windlass_core::id::TreeId;
use windlass_core::view::View;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::show::out::{PagedOutput, complain};
use crate::show::{json as print_json, text, view};

/// Two trees of a loop, and what to say of them.
struct Shown {
    of: String,
    old: TreeId,
    new: TreeId,
    /// What to type next, once it was read.
    next: Vec<String>,
}

pub fn show(
    place: &OpenProject,
    row: &StoredLoop,
    item: Option<&str>,
    as_json: bool,
) -> Result<Exit, Failure> {
    let shown = match item.map(|item| (item, item.strip_prefix("attempt:"))) {
        Some((_, Some(number))) => of_attempt(row, number)?,
        Some((item, None)) => {
            let why = format!("--diff goes with attempt:N or with the loop itself, not with {item}");
            return Err(Failure::usage(why).hint(format!("windlass show {} attempt:1 --diff", row.name)));
        }
        None => of_loop(row, &row.view()?)?,
    };
    let printed = place.diff(&shown.old, &shown.new)?;
    let body = String::from_utf8_lossy(&printed.bytes);
    if as_json {
        let Shown { of, old, new, .. } = &shown;
        print_json::print(&json!({ "of": of, "from": old, "to": new, "diff": body, "cut": printed.is_cut }));
        return Ok(Exit::Done);
    }
    let mut page = PagedOutput::new();
    page.line(&format!("{}: tree {} to {}", shown.of, short(&shown.old), short(&shown.new)));
    if body.is_empty() {
        page.line("nothing is changed.");
    }
    if body.split_terminator('\n').all(|line| page.line(&text::spelled(line))) {
        for (at, line) in shown.next.iter().enumerate() {
            let margin = if at == 0 { "next: " } else { "      " };
            page.line(&format!("{margin}{line}"));
        }
    }
    page.finish();
    if printed.is_cut {
        complain!(
            "windlass: the diff is longer than is shown; `windlass take {} --attempt N` brings out a whole tree",
            row.name
        );
    }
    Ok(Exit::Done)
}

fn of_attempt(row: &StoredLoop, number: &str) -> Result<Shown, Failure> {
    let found = row.attempt(number)?;
    let (old, new) = row.trees_of(&found)?;
    let take = format!("windlass take {} --attempt {number}   (makes a branch of it)", row.name);
    let of = format!("attempt {number} of {} ({}, {})", row.name, found.role, found.end);
    Ok(Shown { of, old, new, next: vec![take] })
}

fn of_loop(row: &StoredLoop, seen: &View) -> Result<Shown, Failure> {
    if let Some(asked) = &seen.approval {
        let (of, old, new) =
            (format!("what would land of {}", row.name), asked.base.clone(), asked.tree.clone());
        return Ok(Shown { of, old, new, next: view::decide(seen).to_vec() });
    }
    let Some(tree) = seen.tree.clone() else {
        return Err(Failure::usage(format!("{} has landed nothing yet", row.name))
            .hint(format!("windlass show {} attempt:1 --diff   (what an attempt changed)", row.name)));
    };
    Ok(Shown {
        of: format!("what {} landed", row.name),
        old: seen.base_tree.clone(),
        new: tree,
        next: Vec::new(),
    })
}

fn short(tree: &TreeId) -> &str {
    tree.as_str().get(..10).unwrap_or(tree.as_str())
}
