//! The small repository of the captures: Roman numerals in shell, with tests that wait for them.

use std::fs;
use std::path::Path;
use std::time::Duration;

use windlass_testkit::{Ran, Repo, Scratch};

use super::LEVEL;

pub const LOOP: &str = "roman";
/// Longer than any command takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

const PRODUCT: &str =
    "# Roman numerals. Source it: . ./roman.sh\nunits() { echo '?'; }\ntens() { echo '?'; }\n";
const TEST: &str = r#"# sh ./test.sh NAME: tests one function of roman.sh.
. ./roman.sh
failed=0
same() {
    got=$("$1" "$2")
    if [ "$got" = "$3" ]; then echo "ok      $1 $2 is $3"; return; fi
    echo "FAILED  $1 $2: expected $3, got $got"
    failed=1
}
case $1 in
units) same units 1 I; same units 4 IV; same units 7 VII; same units 9 IX ;;
tens) same tens 10 X; same tens 40 XL; same tens 90 XC ;;
esac
exit $failed
"#;

/// What every agent begins with. `write_units` and `write_tens` do the work of the two tasks.
const PRELUDE: &str = r#"IFS= read -r line
nonce=${line#nonce: }
report() { printf '{"nonce":"%s","status":"complete","summary":"%s","usage":{"input_tokens":%s,"output_tokens":%s,"cost_usd":%s}}' "$nonce" "$@" >"$WINDLASS_REPORT"; }
numerals() { sed "s/^$1().*/$1() { set -- \"$2\" $3; shift \"\$1\"; echo \"\$1\"; }/" roman.sh >roman.sh~ && mv roman.sh~ roman.sh; }
write_units() { numerals units '$1' 'I II III IV V VI VII VIII IX'; }
write_tens() { numerals tens '$(($1 \/ 10))' 'X XX XXX XL L LX LXX LXXX XC'; }
count_strokes() { sed 's/^units().*/units() { printf "%.${1}s" IIIIIIIII; echo; }/' roman.sh >roman.sh~ && mv roman.sh~ roman.sh; }
hold() { while [ ! -e "$side/go" ]; do sleep 0.1; done; }
"#;

pub struct CaptureSet {
    pub repo: Repo,
    pub home: Scratch,
}

impl CaptureSet {
    /// With the tasks that are named and an agent that runs this script.
    pub fn new(windlass: &Path, tasks: &[&str], agent: &str) -> Self {
        let repo = Repo::empty();
        repo.file("roman.sh", PRODUCT).file("test.sh", TEST).file("windlass.toml", policy(&repo, tasks));
        for task in tasks {
            let text = match *task {
                "units" => "---\nchecks: [units]\n---\n# Write 1 to 9 as Roman numerals\n",
                "tens" => {
                    "---\nchecks: [tens]\ndepends_on: [001-units]\n---\n# Write 10 to 90 as Roman numerals\n"
                }
                other => panic!("no task {other}"),
            };
            repo.file(format!("tasks/{}-{task}.md", if *task == "units" { "001" } else { "002" }), text);
        }
        repo.commit("first");
        let side = repo.beside("side");
        fs::create_dir(&side).expect("beside the repository is room");
        let script = format!("side='{}'\n{PRELUDE}{agent}\n", side.display());
        fs::write(side.join("agent.sh"), script).expect("a fresh directory is writable");
        Self { repo, home: Scratch::exactly(windlass) }
    }

    /// Lets an agent that holds go on.
    pub fn go(&self) {
        self.leave("go");
    }

    /// A sign that the agent looks for.
    pub fn leave(&self, name: &str) {
        fs::write(self.repo.beside("side").join(name), "").expect("the directory is ours");
    }

    /// From another process than that on the screen.
    pub fn windlass(&self, args: &[&str]) -> Ran {
        self.home.start(self.home.command(self.repo.path(), args)).finish(PATIENCE)
    }

    /// A path that chance chose would look different each time.
    pub fn names_no_path(&self, text: &str) {
        for place in [self.repo.path(), self.home.path()] {
            assert!(!text.contains(&place.display().to_string()), "a temporary path is shown:\n{text}");
        }
    }
}

fn policy(repo: &Repo, tasks: &[&str]) -> String {
    let side = repo.beside("side").display().to_string();
    let checks: String = tasks
        .iter()
        .map(|task| format!("[[gate.check]]\nname = \"{task}\"\nrun = \"sh ./test.sh {task}\"\n"))
        .collect();
    format!(
        "[agent]\nuse = \"command\"\ncommand = [\"sh\", \"{side}/agent.sh\"]\ntimeout = \"5m\"\n\
         [plan]\nsource = \"tasks/\"\n[gate]\nprotect = [\"test.sh\"]\n{checks}\
         [review]\ntasks = false\nfinal = false\n[budget]\ncost_usd = 5.0\n\
         [sandbox]\nlevel = \"{LEVEL}\"\nextra_read = [\"{side}\"]\n"
    )
}
