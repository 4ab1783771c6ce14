//! `windlass plan`: a plan before it runs, and asking for one.

use serde_json::json;
use windlass_app::{AppError, PlanPage, PlanPicture, PlanRequest};

use super::planning;
use crate::args::{PlanArgs, PlanPictureArgs, PlanSourceArgs, PlanVerb};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Locations;
use crate::show::json as print_json;
use crate::show::out::{complain, say};
use crate::show::text;

pub fn plan(locations: &Locations, asked: &PlanArgs) -> Result<Exit, Failure> {
    match &asked.verb {
        Some(PlanVerb::Show(asked)) => show(locations, asked),
        Some(PlanVerb::Check(asked)) => check(locations, asked),
        None => planning::make(locations, asked),
    }
}

fn show(locations: &Locations, asked: &PlanPictureArgs) -> Result<Exit, Failure> {
    let page = match locations.open_project()?.plan_page(&request(&asked.of))? {
        Ok(page) => page,
        Err(problems) => return Ok(complain_of(&problems, asked.of.json)),
    };
    if asked.of.json {
        print_json::print(&page.as_json());
        return Ok(Exit::Done);
    }
    let picture = match (asked.dot, asked.mermaid) {
        (true, _) => PlanPicture::Dot,
        (false, true) => PlanPicture::Mermaid,
        (false, false) => PlanPicture::Tree,
    };
    if picture == PlanPicture::Tree {
        say!("{}", headline(&page));
    }
    for line in page.picture(picture).lines() {
        match picture {
            PlanPicture::Tree => say!("{}", text::fit(&text::clean(line), text::width())),
            PlanPicture::Dot | PlanPicture::Mermaid => say!("{}", text::clean(line)),
        }
    }
    if picture == PlanPicture::Tree {
        say!("\n{}", text::wrap(&page.legend(), "  "));
    }
    Ok(Exit::Done)
}

fn headline(page: &PlanPage) -> String {
    let tasks = page.planned.tasks.len();
    let counted = if tasks == 1 { "1 task".to_owned() } else { format!("{tasks} tasks") };
    let kind = page.planned.format.map(|format| format!(" ({format})")).unwrap_or_default();
    let of_loop = page.of_loop.as_ref().map(|view| format!(", as loop {} has them", view.name));
    text::clean(&format!("{}{kind}: {counted}{}", page.source, of_loop.unwrap_or_default()))
}

fn check(locations: &Locations, asked: &PlanSourceArgs) -> Result<Exit, Failure> {
    match locations.open_project()?.plan_page(&request(asked))? {
        Ok(page) if !page.problems.is_empty() => Ok(complain_of(&page.problems, asked.json)),
        Ok(page) if asked.json => {
            print_json::print(&json!({ "ok": true, "tasks": page.planned.tasks.len(), "problems": [] }));
            Ok(Exit::Done)
        }
        Ok(page) => {
            say!("{}: no problems", headline(&page));
            Ok(Exit::Done)
        }
        Err(problems) => Ok(complain_of(&problems, asked.json)),
    }
}

/// Every problem, with its place and what to do about it.
fn complain_of(problems: &[AppError], as_json: bool) -> Exit {
    if as_json {
        let row = |problem: &AppError| json!({ "problem": problem.message, "hints": problem.hints });
        let rows: Vec<_> = problems.iter().map(row).collect();
        print_json::print(&json!({ "ok": false, "problems": rows }));
        return Exit::Usage;
    }
    for problem in problems {
        complain!("{}", text::wrap(&problem.message, "  "));
        problem.hints.iter().for_each(|hint| complain!("{}", text::wrap(&format!("  {hint}"), "  ")));
    }
    if problems.len() > 1 {
        complain!("windlass: {} problems in the plan", problems.len());
    }
    Exit::Usage
}

fn request(asked: &PlanSourceArgs) -> PlanRequest {
    PlanRequest { source: asked.source.clone(), format: asked.format.clone().unwrap_or_default() }
}
