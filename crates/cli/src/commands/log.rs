//! `windlass log`: what happened, event by event.

use std::collections::VecDeque;

use windlass_app::{EventFilter, FollowNext, FollowedEvent, Interrupts, ListedEvent, LoggedItem, StoredLoop};
use windlass_core::event::{Event, RunEvent};
use windlass_core::id::TaskId;
use windlass_core::time::Timestamp;

use crate::args::LogArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Locations;
use crate::show::moment::{dated, parse_since};
use crate::show::out::PagedOutput;
use crate::show::text;
use crate::show::times;
use crate::signals;

pub fn log(locations: &Locations, asked: &LogArgs) -> Result<Exit, Failure> {
    let place = locations.open_project()?;
    let row = place.find(asked.name.as_deref())?;
    let filter = filter(&row, asked)?;
    let interrupts = if asked.follow { signals::interrupts()? } else { Interrupts::new() };
    let mut printer = LogPrinter {
        asked,
        filter,
        kept: VecDeque::new(),
        is_first_page: true,
        is_dated: false,
        has_ended: false,
    };
    row.follow(&interrupts, &mut |told| printer.take(told))?;
    Ok(Exit::Done)
}

fn filter(row: &StoredLoop, asked: &LogArgs) -> Result<EventFilter, Failure> {
    if let Some(task) = &asked.task
        && row.task(task)?.is_none()
    {
        let names: Vec<String> = row.view()?.tasks.iter().map(|task| task.id.to_string()).collect();
        return Err(Failure::usage(format!("{} has no task {task}", row.name))
            .hint(format!("the tasks are: {}", names.join(", "))));
    }
    let filter = EventFilter::default().of_task(asked.task.as_ref().map(TaskId::new));
    Ok(filter.of_kinds(&asked.kind)?.since(asked.since.as_deref().map(since).transpose()?))
}

fn since(typed: &str) -> Result<Timestamp, Failure> {
    parse_since(typed).ok_or_else(|| {
        Failure::usage(format!("--since {typed:?} is neither a span nor a time"))
            .hint("a span: 30m, 2h, 1d")
            .hint("a time: 14:30, 2026-01-31, \"2026-01-31 14:30\"")
    })
}

struct LogPrinter<'a> {
    asked: &'a LogArgs,
    filter: EventFilter,
    /// What is still to be printed.
    kept: VecDeque<ListedEvent>,
    is_first_page: bool,
    /// A line had a date, so that all below it have one.
    is_dated: bool,
    has_ended: bool,
}

impl LogPrinter<'_> {
    fn take(&mut self, told: FollowedEvent) -> FollowNext {
        match told {
            FollowedEvent::Event(logged) => {
                if let Event::Run(event) = &logged.event {
                    self.has_ended = matches!(event, RunEvent::Ended { .. });
                }
                self.kept.extend(self.filter.pass(*logged));
                let most = self.asked.last.filter(|_| self.is_first_page);
                if most.is_some_and(|most| self.kept.len() > most) {
                    self.kept.pop_front();
                }
                FollowNext::Go
            }
            FollowedEvent::CaughtUp => {
                let written = self.print();
                self.is_first_page = false;
                let over = !written || !self.asked.follow || self.has_ended;
                if over { FollowNext::Stop } else { FollowNext::Go }
            }
        }
    }

    /// Whether there is a point in going on.
    fn print(&mut self) -> bool {
        let mut out = PagedOutput::new();
        let mut written = true;
        while let Some(listed) = self.kept.pop_front().filter(|_| written) {
            written = match self.asked.json {
                true => out.machine_line(&listed.logged.json()),
                false => out.line(&self.line(&listed)),
            };
        }
        out.finish();
        written && crate::show::out::unwritten().is_none()
    }

    fn line(&mut self, listed: &ListedEvent) -> String {
        let entry = listed.logged.entry();
        let at = times::local(entry.at);
        self.is_dated |= at.contains('-');
        let at = if self.is_dated { dated(entry.at) } else { at };
        let item = listed.item.as_ref().filter(|item| is_news(item, &entry.line));
        let item = item.map(|item| format!("  ({item})")).unwrap_or_default();
        let margin = " ".repeat(9 + text::columns(&at));
        text::wrap(&format!("{:>5}  {at}  {}{item}", entry.event, entry.line), &margin)
    }
}

/// Whether the line does not already say what to ask for.
fn is_news(item: &LoggedItem, line: &str) -> bool {
    match item {
        LoggedItem::Check(_) => true,
        LoggedItem::Attempt(attempt) => !line.starts_with(&format!("attempt {attempt} ")),
        LoggedItem::Finding(_) | LoggedItem::Task(_) => false,
    }
}
