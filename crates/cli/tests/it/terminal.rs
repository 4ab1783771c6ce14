//! Escape sequences, carriage returns, invisible and turned-around characters
//! in every text that comes from outside: none of them reaches a terminal.

use std::fs;

use crate::case::{Case, LOOP, Setup};

/// OSC 52 (clipboard), OSC 8 (link), CSI 2J (clear), DCS, BEL, backspace, C1, bidi, zero width, a tag; for printf.
const EVIL: &str = r"\033]52;c;ZXZpbA==\007\033]8;;http://evil\033\\link\033[2J\033[31mred\033Pq#0\033\\\007\010\302\2332J\342\200\256rtl\342\201\246\342\200\213\342\200\217\330\234\363\240\201\201good\rover";
/// The same in a report.
const JSON: &str = r"\u001b]52;c;ZXZpbA==\u0007\u001b]8;;http://evil\u001b\\link\u001b[2J\u001b[31mred\u001bPq#0\u001b\\\u0007\b\u009b2J\u202ertl\u2066\u200b\u200f\u061c\udb40\udc41good";

const AUTHOR: &str = r#"
evil=$(printf '%b' 'EVIL')
printf '%s\n' "$evil"; printf '%s\n' "$evil" >&2
head -c 1000000 /dev/zero | tr '\0' y; echo
if [ $n -eq 1 ]; then ln -s /etc/hostname "link${evil##*/}"; echo 41 >answer.txt; else rm -f link*; echo 42 >answer.txt; fi
echo "$n" >turn.txt
say '"status":"complete","summary":"JSON JSON","blockers":[],"next":["JSON"]'
"#;

const REVIEWER: &str = r#"
printf '%b' 'EVIL'
if [ $n -eq 1 ]; then
    say '"verdict":"reject","summary":"sJSON","findings":[{"file":"fJSON","line":1,"severity":"bug","description":"dJSON\nsecond line","scenario":"JSON"}],"resolved":[],"pending":["pJSON"],"blocker":""'
else
    say '"verdict":"accept","summary":"sJSON","findings":[],"resolved":["F2"],"pending":[],"blocker":""'
fi
"#;

/// Characters that are never printed raw.
fn raw(text: &str) -> Option<char> {
    text.chars().find(|c| {
        c.is_control() && !matches!(c, '\n' | '\t')
            || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
    })
}

fn deceiving() -> Case {
    let with_evil = |script: &str| script.replace("EVIL", EVIL).replace("JSON", JSON);
    let title: String = String::from_utf8(shell_bytes()).unwrap().replace('\r', " ");
    let loud =
        format!("printf '%b' '{EVIL}'; head -c 1000000 /dev/zero | tr '\\0' z; echo; {}", crate::case::TEST);
    Setup::new(&with_evil(AUTHOR))
        .reviewer(&with_evil(REVIEWER))
        .review("tasks = true\nfinal = false\n")
        .file("test.sh", loud)
        .task("answer", &format!("# Write {title} it\n\nMake the test {title} pass.\n"))
        .ready()
}

/// What the shells make of `EVIL`.
fn shell_bytes() -> Vec<u8> {
    let made =
        std::process::Command::new("sh").args(["-c", "printf '%b' \"$1\"", "sh", EVIL]).output().unwrap();
    assert!(made.stdout.windows(4).any(|four| four == b"\x1b]52"), "{:?}", made.stdout);
    made.stdout
}

#[test]
fn nothing_of_an_agent_commands_the_terminal() {
    let case = deceiving();
    let ran = case.windlass(&["run", "--name", LOOP]);
    assert_eq!(raw(&ran.stdout), None, "{ran}");
    assert_eq!(raw(&ran.stderr), None, "{ran}");
    let seen = case.look(ran);
    seen.completed();
    for words in [
        vec!["status", LOOP],
        vec!["list"],
        vec!["log", LOOP],
        vec!["findings", LOOP, "--all"],
        vec!["usage", LOOP],
        vec!["show", LOOP],
        vec!["show", LOOP, "answer"],
        vec!["show", LOOP, "F1"],
        vec!["show", LOOP, "F2"],
        vec!["show", LOOP, "attempt:1"],
        vec!["status", LOOP, "--json"],
        vec!["log", LOOP, "--json"],
        vec!["findings", LOOP, "--all", "--json"],
        vec!["show", LOOP, "attempt:1", "--json"],
        vec!["show", LOOP, "nothing\u{1b}[2J\u{202e}"],
    ] {
        let ran = case.windlass(&words);
        assert!(!ran.stdout.is_empty() || !ran.stderr.is_empty(), "{words:?}");
        assert_eq!(raw(&ran.stdout), None, "{words:?}");
        assert_eq!(raw(&ran.stderr), None, "{words:?}");
    }
    let log = case.windlass(&["log", LOOP]).expect_code(0).stdout;
    assert!(log.contains("over"), "what follows a carriage return is what is seen:\n{log}");
}

#[test]
fn nothing_of_an_agent_is_raw_in_the_trail() {
    let case = deceiving();
    case.run().completed();
    let trail = case.repo.path().join(".windlass/loops").join(LOOP);
    let mut looked = 0;
    let mut dirs = vec![trail];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                dirs.push(entry.path());
                continue;
            }
            let text = fs::read_to_string(entry.path()).unwrap();
            assert_eq!(raw(&text), None, "{}", entry.path().display());
            looked += 1;
        }
    }
    assert!(looked > 8, "{looked} files");
}
