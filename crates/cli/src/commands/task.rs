//! `windlass task`: the tasks of a plan, one by one.
#![allow(clippy::disallowed_methods, reason = "the text of a task may come from standard input")]

use std::fs::File;
use std::io::Read;

use serde_json::{Value, json};
use windlass_app::{ListedTask, NewTask, OpenProject, ReviseResult, TaskChange, TaskEdit, TaskReport};
use windlass_core::amendment::TaskPlace;
use windlass_core::id::{AmendmentId, LoopName, TaskId};
use windlass_core::proposal::ProposedPart;
use windlass_core::view::AmendmentView;

use crate::args::LoopArgs;
use crate::commands::set;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Locations;
use crate::show::json as print_json;
use crate::show::out::{complain, say};
use crate::show::text;
use crate::signals;
use crate::task_args::{TaskAddArgs, TaskArgs, TaskEditArgs, TaskTextArgs, TaskVerb};

/// As long as a task file may be.
const TEXT_LIMIT: u64 = 1024 * 1024;

pub fn task(locations: &Locations, asked: &TaskArgs) -> Result<Exit, Failure> {
    let place = locations.open_project()?;
    let (words, change, as_json) = match &asked.verb {
        TaskVerb::List(asked) => return list(&place, asked),
        TaskVerb::Accept(asked) => {
            let (name, id) = last(&asked.words);
            let name = place.exact(name.as_deref())?.name;
            let report = place.accept_amendment(&name, &AmendmentId::new(id), signals::interrupts()?)?;
            return Ok(tell(Some(&name), &report, asked.json));
        }
        TaskVerb::Reject(asked) => {
            let (name, id) = last(&asked.words);
            let name = place.exact(name.as_deref())?.name;
            let id = AmendmentId::new(id);
            place.reject_amendment(&name, &id, &asked.why, signals::interrupts()?)?;
            say!("{id} of {name} is rejected.");
            return Ok(Exit::Done);
        }
        TaskVerb::Add(asked) => {
            let (name, title) = last(&asked.words);
            (name, TaskChange::Add(new_task(asked, title)?), asked.json)
        }
        TaskVerb::Edit(asked) => {
            let (name, task) = last(&asked.words);
            (name, TaskChange::Edit(edit(asked, TaskId::new(task))?), asked.json)
        }
        TaskVerb::Drop(asked) => {
            let (name, task) = last(&asked.words);
            (name, TaskChange::Drop { task: TaskId::new(task), force: asked.force }, asked.json)
        }
        TaskVerb::Move(asked) => {
            let (name, task) = last(&asked.words);
            let place = place_of(asked.before.as_ref(), asked.after.as_ref()).unwrap_or(TaskPlace::First);
            (name, TaskChange::Move { task: TaskId::new(task), place }, asked.json)
        }
        TaskVerb::Split(asked) => {
            let (name, words) = split_words(&place, &asked.words)?;
            let (task, titles) = words.split_first().expect("clap asks for a word");
            let part = |title: &String| ProposedPart { title: title.clone(), text: String::new() };
            let parts = titles.iter().map(part).collect();
            (name, TaskChange::Split { task: TaskId::new(task), parts }, asked.json)
        }
    };
    let name = place.task_loop(words.as_deref(), Some(&change))?;
    let report = place.change_task(name.as_ref(), &change, signals::interrupts()?)?;
    Ok(tell(name.as_ref(), &report, as_json))
}

fn new_task(asked: &TaskAddArgs, title: String) -> Result<NewTask, Failure> {
    Ok(NewTask {
        title,
        id: asked.id.clone(),
        text: asked.text.read()?,
        depends_on: ids(&asked.depends_on),
        priority: asked.priority,
        allow: asked.allow.clone(),
        place: place_of(asked.before.as_ref(), asked.after.as_ref()),
    })
}

fn edit(asked: &TaskEditArgs, task: TaskId) -> Result<TaskEdit, Failure> {
    let depends_on = (asked.no_dependencies || !asked.depends_on.is_empty()).then(|| ids(&asked.depends_on));
    let (title, text, priority) = (asked.title.clone(), asked.text.read()?, asked.priority);
    let is_same = title.is_none() && text.is_none() && depends_on.is_none() && priority.is_none();
    if is_same && asked.allow.is_empty() {
        return Err(Failure::usage(format!("there is nothing to change in task {task}"))
            .hint("give --title, --text, --file, --depends-on, --priority or --allow"));
    }
    Ok(TaskEdit { task, title, text, depends_on, priority, allow: asked.allow.clone() })
}

impl TaskTextArgs {
    fn read(&self) -> Result<Option<String>, Failure> {
        let (what, read): (String, Box<dyn Read>) = match (&self.text, &self.file) {
            (Some(text), _) if text == "-" => ("standard input".to_owned(), Box::new(std::io::stdin())),
            (Some(text), _) => return Ok(Some(text.clone())),
            (None, Some(file)) => {
                let what = file.display().to_string();
                let opened = File::open(file).map_err(|error| Failure::usage(format!("{what}: {error}")))?;
                (what, Box::new(opened))
            }
            (None, None) => return Ok(None),
        };
        let mut bytes = Vec::new();
        let failed = |error| Failure::usage(format!("{what}: {error}"));
        read.take(TEXT_LIMIT + 1).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > TEXT_LIMIT {
            return Err(
                Failure::usage(format!("{what} is longer than 1 MiB")).hint("a task is one piece of work")
            );
        }
        let text = String::from_utf8(bytes).map_err(|_| Failure::usage(format!("{what} is not UTF-8")))?;
        Ok(Some(text))
    }
}

/// The last word is what the verb is about, one before it the loop.
fn last(words: &[String]) -> (Option<String>, String) {
    match words {
        [name, about, ..] => (Some(name.clone()), about.clone()),
        [about] => (None, about.clone()),
        [] => (None, String::new()),
    }
}

/// The first word is a loop where one has that name, unless it is a task, and titles follow.
fn split_words<'w>(
    place: &OpenProject,
    words: &'w [String],
) -> Result<(Option<String>, &'w [String]), Failure> {
    let loops = place.loops()?;
    let Some(named) = words.first().and_then(|word| loops.iter().find(|row| row.name.as_str() == word))
    else {
        return Ok((None, words));
    };
    let is_task = |rows: &[ListedTask], word: Option<&String>| {
        word.is_some_and(|word| rows.iter().any(|row| row.id.as_str() == word))
    };
    let tasks = place.task_list(Some(&named.name))?;
    let is_loop = is_task(&tasks, words.get(1)) || loops.len() > 1 || !is_task(&tasks, words.first());
    Ok(match is_loop && words.len() > 1 {
        true => (words.first().cloned(), &words[1..]),
        false => (None, words),
    })
}

fn ids(words: &[String]) -> Vec<TaskId> {
    words.iter().map(TaskId::new).collect()
}

fn place_of(before: Option<&String>, after: Option<&String>) -> Option<TaskPlace> {
    let before = before.map(|id| TaskPlace::Before(TaskId::new(id)));
    before.or_else(|| after.map(|id| TaskPlace::After(TaskId::new(id))))
}

fn list(place: &OpenProject, asked: &LoopArgs) -> Result<Exit, Failure> {
    let name = place.task_loop(asked.name.as_deref(), None)?;
    let tasks = place.task_list(name.as_ref())?;
    let view = name.as_ref().map(|name| place.view(name)).transpose()?.flatten();
    let amendments = view.map(|view| view.amendments).unwrap_or_default();
    if asked.json {
        print_json::print(&json!({ "loop": name, "tasks": tasks, "amendments": amendments }));
        return Ok(Exit::Done);
    }
    let width = |of: fn(&ListedTask) -> usize| tasks.iter().map(of).max().unwrap_or_default();
    let (status, id) = (width(|task| task.status.len()), width(|task| task.id.as_str().chars().count()));
    for task in &tasks {
        let mut line = format!("{:status$}  {:id$}  {}", task.status, task.id.as_str(), task.title);
        if !task.depends_on.is_empty() {
            let names: Vec<&str> = task.depends_on.iter().map(TaskId::as_str).collect();
            line.push_str(&format!("  (after {})", names.join(", ")));
        }
        if task.priority != 0 {
            line.push_str(&format!("  (priority {})", task.priority));
        }
        say!("{}", text::fit(&text::clean(&line), text::width()));
    }
    if let Some(name) = name.filter(|_| !amendments.is_empty()) {
        say!("\nproposed by agents, waiting for you:");
        for AmendmentView { id, attempt, proposed } in &amendments {
            let line =
                format!("{id}  {} {}  (attempt {attempt})", proposed.action.name(), proposed.subject());
            say!("{}", text::fit(&text::clean(&line), text::width()));
            let told = [("why", &proposed.why), ("text", &proposed.text)];
            for (what, said) in told.into_iter().filter(|(_, said)| !said.is_empty()) {
                say!("{}", text::wrap(&format!("    {what}: {}", text::clean(said)), "    "));
            }
        }
        say!("next: windlass task accept {name} ID   or   windlass task reject {name} ID");
    }
    Ok(Exit::Done)
}

fn tell(name: Option<&LoopName>, report: &TaskReport, as_json: bool) -> Exit {
    let result = report.revised.as_ref().map(|revised| &revised.result);
    if let Some(warning) = report.revised.as_ref().and_then(|revised| revised.warning.as_ref()) {
        complain!("windlass: {warning}");
    }
    if as_json {
        print_json::print(&told(name, report));
    } else {
        for (file, what) in &report.files {
            say!("{}: {what}", text::clean(&file.display().to_string()));
        }
        let changes = report.revised.as_ref().map(set::changes).unwrap_or_default();
        if !changes.is_empty() {
            say!("{}", changes.trim_end());
        }
        for note in &report.notes {
            say!("{}", text::clean(note));
        }
        if let Some((name, said)) = name.zip(result.and_then(when)) {
            say!("{said}");
            say!("next: windlass run {name}   (unless it is running)");
        }
    }
    match result {
        Some(ReviseResult::Interrupted) => Exit::Interrupted,
        Some(
            ReviseResult::Unchanged
            | ReviseResult::Now
            | ReviseResult::AtNextIteration
            | ReviseResult::Recorded
            | ReviseResult::Refused { .. },
        )
        | None => Exit::Done,
    }
}

fn when(result: &ReviseResult) -> Option<&'static str> {
    match result {
        ReviseResult::Now => Some("in force from now on."),
        ReviseResult::AtNextIteration => {
            Some("in force when the iteration has ended, or when it is run again.")
        }
        ReviseResult::Recorded => Some("recorded; the process that drives the loop will take it."),
        ReviseResult::Interrupted => {
            Some("interrupted; it is recorded, and taken by whoever drives the loop.")
        }
        ReviseResult::Unchanged | ReviseResult::Refused { .. } => None,
    }
}

fn told(name: Option<&LoopName>, report: &TaskReport) -> Value {
    let file = |(file, what): &(std::path::PathBuf, &str)| json!({ "file": file, "was": what });
    let plan = report.revised.as_ref().and_then(|revised| revised.plan.as_ref());
    let when = report.revised.as_ref().map(|revised| match &revised.result {
        ReviseResult::Unchanged | ReviseResult::Refused { .. } => "unchanged",
        ReviseResult::Now => "now",
        ReviseResult::AtNextIteration => "next_iteration",
        ReviseResult::Recorded | ReviseResult::Interrupted => "recorded",
    });
    json!({
        "loop": name, "files": report.files.iter().map(file).collect::<Vec<_>>(), "plan": plan, "when": when,
        "notes": report.notes,
    })
}
