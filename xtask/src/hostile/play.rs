//! Playing a case: once with every defence, once without its own.

use super::after::After;
use super::case::{
    Attack, CARGO, Case, Ending, Play, Played, Setting, Verdict, Without, cargo, is_documented,
};
use super::stage::Stage;
use crate::players;

/// Plays one case at one level. A broken fixture is a failed case, never a passed one.
pub fn play(case: &Case, setting: &Setting) -> Played {
    let played = players::caught(|| match &case.play {
        Play::Agent(attack) => play_agent(attack, setting),
        Play::Own(own) => own(setting),
        Play::Never(why) => Played::not_run(*why),
    });
    played.unwrap_or_else(|why| Played {
        held: Verdict::Failed(why),
        without: Verdict::NotRun("the case broke".to_owned()),
        means: String::new(),
    })
}

fn play_agent(attack: &Attack, setting: &Setting) -> Played {
    let means = attack.without.means();
    if let Some((_, why)) = attack.beyond.iter().find(|(level, _)| *level == setting.level) {
        return Played { means, ..Played::not_run(format!("level {} cannot: {why}", setting.level)) };
    }
    if let Some(why) = attack.only_root.filter(|_| !rustix::process::geteuid().is_root()) {
        return Played { means, ..Played::not_run(why) };
    }
    let is_there = |program: &str| match program {
        CARGO => cargo().is_some(),
        path => std::path::Path::new(path).is_file(),
    };
    if let Some(program) = attack.needs.filter(|program| !is_there(program)) {
        return Played { means, ..Played::not_run(format!("there is no {program}")) };
    }
    let after = defended(attack.stage, setting);
    let held = Verdict::of(judge(attack, &after));
    let without = match &attack.without {
        Without::Control => Verdict::Absent,
        Without::Naive(_, look) => shown(look(&after), &after),
        Without::Off(words) => {
            let after = weakened(attack.stage, setting, words);
            shown((attack.got_through)(&after), &after)
        }
        Without::Unconfined => {
            let stage = Stage::new("none", &setting.plain);
            let after = run((attack.stage)(stage).unconfined(), None);
            shown((attack.got_through)(&after), &after)
        }
        Without::Otherwise(_, stage) => {
            let after = defended(*stage, setting);
            shown((attack.got_through)(&after), &after)
        }
    };
    after.stage.end_survivors();
    Played { held, without, means }
}

/// A run with every defence.
pub fn defended(stage: fn(Stage) -> Stage, setting: &Setting) -> After {
    run(stage(Stage::new(setting.level, &setting.plain)), None)
}

/// A run of the build that can be weakened, without these defences.
pub fn weakened(stage: fn(Stage) -> Stage, setting: &Setting, words: &str) -> After {
    run(stage(Stage::new(setting.level, &setting.weakened)), Some(words.to_owned()))
}

fn run(stage: Stage, weakened: Option<String>) -> After {
    let (scene, launch) = stage.set(weakened);
    scene.run(&launch)
}

/// What a run must look like with every defence on.
fn judge(attack: &Attack, after: &After) -> Result<(), String> {
    let wrong = |what: String| Err(format!("{what}\n{}", tail(&after.ran.to_string())));
    if !is_documented(&after.ran) {
        return wrong("the exit code is not a documented one".to_owned());
    }
    if after.view.is_null() {
        return wrong("windlass cannot say how the loop stands".to_owned());
    }
    let done = after.called_done().is_some();
    match attack.ending {
        Ending::Done if !done => return wrong("the loop was not called done".to_owned()),
        Ending::NotDone if done => return wrong("the loop was called done".to_owned()),
        Ending::Done | Ending::NotDone | Ending::Either => {}
    }
    if let Some(got) = (attack.got_through)(after) {
        return wrong(format!("the attack got through: {got}"));
    }
    let changes = after.stage.changes();
    if !changes.is_empty() {
        return wrong(format!("changed outside of the workspace: {}", changes.join("; ")));
    }
    let left = after.stage.survivors();
    if !left.is_empty() {
        return wrong(format!("alive after the end: {left:?}"));
    }
    (attack.required)(after).or_else(wrong)
}

/// Without its defence the attack must get through: otherwise the case proves nothing.
fn shown(got: Option<String>, after: &After) -> Verdict {
    after.stage.end_survivors();
    match got {
        Some(_) => Verdict::Passed,
        None => Verdict::Failed(format!("the attack did not get through\n{}", tail(&after.ran.to_string()))),
    }
}

/// The end of a text, which is where programs say what went wrong.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}
