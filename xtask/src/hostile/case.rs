//! One hostile agent: what it does, what it would have got, and which defence
//! is in its way.

use windlass_testkit::Ran;

use super::after::After;
use super::stage::Stage;

pub struct Case {
    pub id: &'static str,
    /// What the agent does.
    pub does: &'static str,
    pub play: Play,
}

pub enum Play {
    /// One run of one loop, looked at afterwards.
    Agent(Attack),
    /// A play that does not fit one run of one loop.
    Own(fn(&Setting) -> Played),
    /// Not playable on any machine the suite may use.
    Never(&'static str),
}

pub struct Attack {
    /// Lays out the repository, the policy and the agents.
    pub stage: fn(Stage) -> Stage,
    pub ending: Ending,
    /// What of the attack got through, if any of it did.
    pub got_through: fn(&After) -> Option<String>,
    /// What must hold beside that, with every defence on.
    pub required: fn(&After) -> Result<(), String>,
    pub without: Without,
    /// Why a level is not enough for this case, for those that are not.
    pub beyond: &'static [(&'static str, &'static str)],
    /// A program that it is about; not run where that is missing.
    pub needs: Option<&'static str>,
    /// Why it is nothing for an ordinary user, if so.
    pub only_root: Option<&'static str>,
}

/// For [`Case::needs`]: the cargo that runs this.
pub const CARGO: &str = "cargo";

/// The program itself, not one that chooses a toolchain; none where this user cannot reach it.
pub fn cargo() -> Option<std::path::PathBuf> {
    std::env::var_os("CARGO").map(std::path::PathBuf::from).filter(|cargo| cargo.is_file())
}

/// How the run must end with every defence on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    NotDone,
    Done,
    Either,
}

/// How the attack is shown to work where nothing is in its way.
pub enum Without {
    /// No attack.
    Control,
    /// These defences switched off, by their words.
    Off(&'static str),
    /// At sandbox level none.
    Unconfined,
    /// Another stage, in which the defence is missing.
    Otherwise(&'static str, fn(Stage) -> Stage),
    /// What somebody without the defence would do with the same workspace, tried on the spot.
    Naive(&'static str, fn(&After) -> Option<String>),
}

/// Where and as what a case is played.
pub struct Setting {
    pub level: &'static str,
    /// How often windlass is killed in H51.
    pub kills: usize,
    /// How many files the agent of H34b makes.
    pub files: usize,
    pub plain: std::path::PathBuf,
    pub weakened: std::path::PathBuf,
}

/// How a case went with every defence, and without its own.
pub struct Played {
    pub held: Verdict,
    pub without: Verdict,
    /// What was switched off, or how else the attack was shown to work.
    pub means: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Passed,
    Failed(String),
    NotRun(String),
    /// A control has nothing to switch off.
    Absent,
}

impl Case {
    /// An agent whose task stays unsolved, and who succeeds if the loop is called done.
    pub const fn new(id: &'static str, does: &'static str, stage: fn(Stage) -> Stage) -> Self {
        let attack = Attack {
            stage,
            ending: Ending::NotDone,
            got_through: After::called_done,
            required: |_| Ok(()),
            without: Without::Control,
            beyond: &[],
            needs: None,
            only_root: None,
        };
        Self { id, does, play: Play::Agent(attack) }
    }

    pub const fn own(id: &'static str, does: &'static str, play: fn(&Setting) -> Played) -> Self {
        Self { id, does, play: Play::Own(play) }
    }

    pub const fn never(id: &'static str, does: &'static str, why: &'static str) -> Self {
        Self { id, does, play: Play::Never(why) }
    }

    pub const fn ends(self, ending: Ending) -> Self {
        self.with_attack(Part::Ending(ending))
    }

    pub const fn got_through(self, look: fn(&After) -> Option<String>) -> Self {
        self.with_attack(Part::GotThrough(look))
    }

    pub const fn required(self, look: fn(&After) -> Result<(), String>) -> Self {
        self.with_attack(Part::Required(look))
    }

    pub const fn off(self, words: &'static str) -> Self {
        self.with_attack(Part::Without(Without::Off(words)))
    }

    pub const fn without(self, without: Without) -> Self {
        self.with_attack(Part::Without(without))
    }

    pub const fn beyond(self, levels: &'static [(&'static str, &'static str)]) -> Self {
        self.with_attack(Part::Beyond(levels))
    }

    pub const fn needs(self, program: &'static str) -> Self {
        self.with_attack(Part::Needs(program))
    }

    pub const fn only_root(self, why: &'static str) -> Self {
        self.with_attack(Part::OnlyRoot(why))
    }

    const fn with_attack(mut self, part: Part) -> Self {
        if let Play::Agent(attack) = &mut self.play {
            match part {
                Part::Ending(ending) => attack.ending = ending,
                Part::GotThrough(look) => attack.got_through = look,
                Part::Required(look) => attack.required = look,
                Part::Without(without) => attack.without = without,
                Part::Beyond(levels) => attack.beyond = levels,
                Part::Needs(program) => attack.needs = Some(program),
                Part::OnlyRoot(why) => attack.only_root = Some(why),
            }
        }
        self
    }
}

enum Part {
    Ending(Ending),
    GotThrough(fn(&After) -> Option<String>),
    Required(fn(&After) -> Result<(), String>),
    Without(Without),
    Beyond(&'static [(&'static str, &'static str)]),
    Needs(&'static str),
    OnlyRoot(&'static str),
}

impl Played {
    pub fn both(held: Result<(), String>, without: Result<(), String>, means: &str) -> Self {
        Self { held: Verdict::of(held), without: Verdict::of(without), means: means.to_owned() }
    }

    /// A fault: nothing is to be switched off.
    pub fn control(held: Result<(), String>) -> Self {
        Self { held: Verdict::of(held), without: Verdict::Absent, means: Without::Control.means() }
    }

    /// Where a machine, a level or a user has not what the case is about.
    pub fn not_run(why: impl Into<String>) -> Self {
        let why = why.into();
        let not_run = || Verdict::NotRun(why.clone());
        Self { held: not_run(), without: not_run(), means: String::new() }
    }
}

/// The reason if it does not hold.
pub fn ensure(holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(why()) }
}

impl Verdict {
    pub fn of(result: Result<(), String>) -> Self {
        result.map_or_else(Self::Failed, |()| Self::Passed)
    }
}

impl Without {
    /// For the table.
    pub fn means(&self) -> String {
        match self {
            Self::Control => "(control)".to_owned(),
            Self::Off(words) => format!("`{words}`"),
            Self::Unconfined => "level `none`".to_owned(),
            Self::Otherwise(what, _) => (*what).to_owned(),
            Self::Naive(what, _) => format!("shown with {what}"),
        }
    }
}

/// Exit codes that the README documents for a run that was not killed.
pub fn is_documented(ran: &Ran) -> bool {
    ran.status.code().is_some_and(|code| (0..=6).contains(&code))
}
