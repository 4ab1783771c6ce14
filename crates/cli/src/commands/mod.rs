//! One file per verb.

mod adopt;
mod agents;
mod attach;
mod check;
mod completions;
mod configure;
mod continuous;
mod demo;
mod detach;
mod diff;
mod doctor;
mod export;
mod gate;
mod init;
mod list;
mod log;
mod operate;
mod plan;
mod planning;
mod prompts;
mod prove;
mod rm;
mod run;
mod set;
mod show;
mod status;
mod take;
mod task;
mod usage;

use crate::args::{Args, Verb};
use crate::debug_log;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Locations;

pub fn dispatch(args: Args) -> Result<Exit, Failure> {
    let locations = Locations { project: args.project, state_dir: args.state_dir };
    debug_log::start(&locations)?;
    match args.verb {
        Verb::Demo(demo) => demo::demo(&demo),
        Verb::Init(init) => init::init(&locations, &init),
        Verb::Plan(asked) => plan::plan(&locations, &asked),
        Verb::Run(run) => run::run(&locations, &run),
        Verb::Attach(asked) => attach::attach(&locations, &asked),
        Verb::List(list) => list::list(&locations, &list),
        Verb::Status(status) => status::status(&locations, &status),
        Verb::Log(log) => log::log(&locations, &log),
        Verb::Show(item) => show::show(&locations, &item),
        Verb::Findings(findings) => show::findings(&locations, &findings),
        Verb::Usage(usage) => usage::usage(&locations, &usage),
        Verb::Prove(asked) => prove::prove(&locations, &asked),
        Verb::Check(asked) => check::check(&locations, &asked),
        Verb::Operate(asked) => operate::operate(&locations, &asked),
        Verb::Set(asked) => set::set(&locations, &asked),
        Verb::Task(asked) => task::task(&locations, &asked),
        Verb::Take(named) => take::take(&locations, &named),
        Verb::Adopt(asked) => adopt::adopt(&locations, &asked),
        Verb::Rm(asked) => rm::rm(&locations, &asked),
        Verb::Export(export) => export::export(&locations, &export),
        Verb::Gate(asked) => gate::gate(&locations, &asked),
        Verb::Prompts(asked) => prompts::prompts(&locations, &asked),
        Verb::Config(config) => configure::config(&locations, &config),
        Verb::Doctor(doctor) => doctor::doctor(&locations, &doctor),
        Verb::Agents(asked) => agents::agents(&locations, &asked),
        Verb::Completions(shell) => completions::completions(&shell),
    }
}
