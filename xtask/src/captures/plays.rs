//! The moments that are captured, and how each comes about. An agent holds where the moment is, so that the
//! player chooses it, not the clock.

use std::path::Path;
use std::process::Command;

use super::capture_set::{CaptureSet, LOOP, PATIENCE};
use super::picture::{self, Window};
use super::screen::Screen;
use super::tmux::{Size, Terminal};

const SMALL: Size = Size { columns: 80, rows: 24 };
const LARGE: Size = Size { columns: 120, rows: 40 };
const PICTURE: Size = Size { columns: 92, rows: 38 };
const RUN: &str = "windlass run --name roman";

/// A moment, and how it comes about.
struct Moment {
    name: &'static str,
    tasks: &'static [&'static str],
    agent: &'static str,
    act: fn(&Scene<'_>) -> Screen,
}

/// A moment as one file shows it.
pub struct Play {
    moment: &'static Moment,
    form: Form,
}

#[derive(Clone, Copy)]
enum Form {
    Text(Size),
    Picture,
}

/// What an act is played with.
struct Scene<'s> {
    set: &'s CaptureSet,
    terminal: Terminal<'s>,
}

const BOTH: &[&str] = &["units", "tens"];
const UNITS: &[&str] = &["units"];

const WORKS: &str = r#"case $WINDLASS_TASK in
001-units) write_units; report 'units are written' 1240 310 0.02 ;;
002-tens) echo 'I read test.sh: it wants X, XL and XC.'; echo 'I write tens in the way of units.'
    hold; write_tens; report 'tens are written' 1480 350 0.03 ;;
esac"#;
const IS_LIMITED: &str = "echo '429: too many requests'; exit 75";
const IS_WRONG: &str = r#"if [ "$WINDLASS_ITERATION" -eq 1 ]; then
    echo 'I write as many strokes as the number says.'; count_strokes; report 'units are written' 1240 310 0.02
else
    echo 'The test wants IV and IX: I write a table.'; hold
fi"#;
const HOLDS: &str =
    "echo 'I write a table of numerals.'; hold; write_units; report 'units are written' 1240 310 0.02";
const DOES_ALL: &str = r#"case $WINDLASS_TASK in
001-units) write_units; report 'units are written' 1240 310 0.02 ;;
002-tens) write_tens; report 'tens are written' 1480 350 0.03 ;;
esac"#;
const LIES_FIRST: &str = r#"case $WINDLASS_ITERATION in
1) echo 'All done, the tests pass.'; report 'done' 1240 310 0.02 ;;
2) echo 'The test is wrong. I mend it.'; echo 'exit 0' >test.sh; report 'done' 1310 290 0.02 ;;
*) echo 'I write a table of numerals.'; write_units; report 'done' 1480 350 0.03 ;;
esac"#;

const IS_WRONG_ONCE: &str = r#"if [ "$WINDLASS_ITERATION" -eq 1 ]; then count_strokes; else write_units; fi
report 'units are written' 1240 310 0.02"#;

/// Each is captured at two sizes.
const MOMENTS: [Moment; 5] = [
    Moment { name: "wait", tasks: UNITS, agent: IS_LIMITED, act: wait },
    Moment { name: "run", tasks: BOTH, agent: WORKS, act: run },
    Moment { name: "red-gate", tasks: UNITS, agent: IS_WRONG, act: red_gate },
    Moment { name: "pause", tasks: UNITS, agent: HOLDS, act: pause },
    Moment { name: "done", tasks: BOTH, agent: DOES_ALL, act: done },
];
const PROVEN: Moment = Moment { name: "run", tasks: UNITS, agent: LIES_FIRST, act: proven };

pub fn plays() -> Vec<Play> {
    let sizes = |moment| [SMALL, LARGE].map(|size| Play { moment, form: Form::Text(size) });
    let picture = Play { moment: &PROVEN, form: Form::Picture };
    MOMENTS.iter().flat_map(sizes).chain([picture]).collect()
}

impl Play {
    pub fn file(&self) -> String {
        match self.form {
            Form::Text(Size { columns, rows }) => format!("{}-{columns}x{rows}.txt", self.moment.name),
            Form::Picture => format!("{}.svg", self.moment.name),
        }
    }

    /// What the file says; a panic says why it could not be played.
    pub fn text(&self, windlass: &Path) -> String {
        let Moment { tasks, agent, act, .. } = *self.moment;
        let set = CaptureSet::new(windlass, tasks, agent);
        let size = match self.form {
            Form::Text(size) => size,
            Form::Picture => PICTURE,
        };
        let terminal = Terminal::open(&set.home, set.repo.path(), size);
        let scene = Scene { set: &set, terminal };
        scene.terminal.type_line(RUN);
        let screen = act(&scene);
        scene.terminal.interrupt();
        set.names_no_path(&screen.text());
        match self.form {
            Form::Text(_) => screen.text(),
            Form::Picture => {
                picture::svg(&screen, &Window { columns: usize::from(size.columns), title: RUN })
            }
        }
    }
}

/// What a run prints into a pipe that says it is narrow: nothing is broken or cut.
pub fn narrow_pipe(windlass: &Path) -> String {
    let set = CaptureSet::new(windlass, UNITS, IS_WRONG_ONCE);
    let mut command = Command::new("sh");
    let line = format!("'{}' run --name {LOOP} | cat", set.home.binary().display());
    set.home.isolate(command.args(["-c", &line]).current_dir(set.repo.path())).env("COLUMNS", "40");
    let ran = set.home.start(command).finish(PATIENCE).expect_code(0);
    let text = Screen::read(&ran.stdout).text();
    set.names_no_path(&text);
    text
}

impl Scene<'_> {
    /// When the live lines at the end have these words: one or two on how it stands, then as many on what
    /// happens.
    fn live(&self, standing: &str, words: &str) -> Screen {
        self.terminal.settles(|screen| {
            let says = [0, 1].iter().any(|back| screen.line_from_end(*back).contains(words));
            let stands = [1, 2, 3].iter().any(|back| screen.line_from_end(*back).contains(standing));
            says && stands
        })
    }

    fn prompt_after(&self, words: &str) -> Screen {
        self.terminal.settles(|screen| screen.line_from_end(0) == "$" && screen.text().contains(words))
    }
}

fn wait(scene: &Scene<'_>) -> Screen {
    scene.live("  waiting  ", "  waiting, ")
}

fn run(scene: &Scene<'_>) -> Screen {
    scene.live("execute  attempt 2", "I write tens")
}

fn red_gate(scene: &Scene<'_>) -> Screen {
    scene.live("execute  attempt 2", "I write a table")
}

fn pause(scene: &Scene<'_>) -> Screen {
    scene.live("execute  attempt 1", "I write a table");
    scene.set.windlass(&["pause", LOOP]).expect_code(0);
    scene.terminal.settles(|screen| screen.text().contains("pausing: what runs finishes first"));
    scene.set.go();
    scene.live("  paused  ", "windlass resume roman goes on")
}

fn done(scene: &Scene<'_>) -> Screen {
    scene.prompt_after("completed (proven)");
    scene.terminal.type_line("windlass status");
    scene.prompt_after("$ windlass status\nroman  completed (proven)")
}

fn proven(scene: &Scene<'_>) -> Screen {
    let mut screen = scene.prompt_after("completed (proven)");
    screen.lines.pop();
    screen
}
