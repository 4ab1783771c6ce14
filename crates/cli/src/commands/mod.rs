//! One file per verb.

mod agents;
mod completions;
mod configure;
mod demo;
mod doctor;
mod export;
mod init;
mod list;
mod log;
mod operate;
mod prove;
mod run;
mod show;
mod status;
mod take;
mod usage;

#[cfg(test)]
pub use configure::policy_format;

use crate::args::{Args, Verb};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::place::Wish;

pub fn dispatch(args: Args) -> Result<Exit, Failure> {
    let wish = Wish { project: args.project, state_dir: args.state_dir };
    match args.verb {
        Verb::Demo(demo) => demo::demo(&demo),
        Verb::Init(init) => init::init(&wish, &init),
        Verb::Run(run) => run::run(&wish, &run),
        Verb::List(list) => list::list(&wish, &list),
        Verb::Status(status) => status::status(&wish, &status),
        Verb::Log(log) => log::log(&wish, &log),
        Verb::Show(item) => show::show(&wish, &item),
        Verb::Findings(findings) => show::findings(&wish, &findings),
        Verb::Usage(usage) => usage::usage(&wish, &usage),
        Verb::Prove(asked) => prove::prove(&wish, &asked),
        Verb::Pause(named) => operate::pause(&wish, &named),
        Verb::Resume(named) => operate::resume(&wish, &named),
        Verb::Cancel(named) => operate::cancel(&wish, &named),
        Verb::Restart(named) => operate::restart(&wish, &named),
        Verb::Unblock(task) => operate::unblock(&wish, &task),
        Verb::Waive(waive) => operate::waive(&wish, &waive),
        Verb::Steer(words) => operate::steer(&wish, &words),
        Verb::Note(words) => operate::note(&wish, &words),
        Verb::Take(named) => take::take(&wish, &named),
        Verb::Export(export) => export::export(&wish, &export),
        Verb::Config(config) => configure::config(&wish, &config),
        Verb::Doctor(doctor) => doctor::doctor(&wish, &doctor),
        Verb::Agents(asked) => agents::agents(&wish, &asked),
        Verb::Completions(shell) => completions::completions(&shell),
    }
}
