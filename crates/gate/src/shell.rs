//! A shell command taken apart, as far as its words can be known without running it.

/// One simple command: what stands between `;`, `&&`, `||`, `|`, `&`, brackets and line ends.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ShellCommand {
    pub words: Vec<ShellWord>,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct ShellWord {
    /// Without its quotes.
    pub text: String,
    /// The shell reads it as it stands: no variable, no pattern, no substitution.
    pub literal: bool,
    /// What `<` or `>` points at.
    pub redirected: bool,
}

impl ShellCommand {
    /// The program and its arguments, without assignments in front.
    pub fn program(&self) -> &[ShellWord] {
        let is_assignment =
            |word: &ShellWord| word.text.split_once('=').is_some_and(|(name, _)| is_name(name));
        let first = self.words.iter().position(|word| !is_assignment(word)).unwrap_or(self.words.len());
        &self.words[first..]
    }
}

pub fn commands(line: &str) -> Vec<ShellCommand> {
    let mut splitter = Splitter::default();
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('\n') => {}
                Some(escaped) => splitter.push(escaped),
                None => {}
            },
            '\'' => {
                splitter.open();
                chars.by_ref().take_while(|c| *c != '\'').for_each(|c| splitter.push(c));
            }
            '"' => {
                splitter.open();
                while let Some(c) = chars.next().filter(|c| *c != '"') {
                    match c {
                        '\\' if matches!(chars.peek(), Some('"' | '\\' | '$' | '`')) => {
                            chars.next().into_iter().for_each(|c| splitter.push(c));
                        }
                        '$' | '`' => splitter.push_special(c),
                        c => splitter.push(c),
                    }
                }
            }
            ';' | '&' | '|' | '(' | ')' | '\n' => splitter.end_command(),
            '<' | '>' => {
                splitter.end_word();
                splitter.redirecting = true;
            }
            '#' if splitter.word.is_none() => while chars.next_if(|c| *c != '\n').is_some() {},
            c if c.is_whitespace() => splitter.end_word(),
            '$' | '`' | '*' | '?' | '[' | ']' | '{' | '}' | '~' | '!' => splitter.push_special(c),
            c => splitter.push(c),
        }
    }
    splitter.end_command();
    splitter.commands
}

#[derive(Default)]
struct Splitter {
    commands: Vec<ShellCommand>,
    command: ShellCommand,
    word: Option<ShellWord>,
    redirecting: bool,
}

impl Splitter {
    fn open(&mut self) -> &mut ShellWord {
        self.word.get_or_insert_with(|| ShellWord { literal: true, ..ShellWord::default() })
    }

    fn push(&mut self, c: char) {
        self.open().text.push(c);
    }

    fn push_special(&mut self, c: char) {
        let word = self.open();
        word.text.push(c);
        word.literal = false;
    }

    fn end_word(&mut self) {
        if let Some(mut word) = self.word.take() {
            word.redirected = std::mem::take(&mut self.redirecting);
            self.command.words.push(word);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.redirecting = false;
        let command = std::mem::take(&mut self.command);
        if !command.words.is_empty() {
            self.commands.push(command);
        }
    }
}

fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !text.is_empty() && text.chars().all(plain) && !text.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Words joined by `·`, commands by ` / `; what is not literal in brackets, what is redirected after `>`.
    fn shown(line: &str) -> String {
        let word = |word: &ShellWord| match (word.literal, word.redirected) {
            (true, false) => word.text.clone(),
            (true, true) => format!(">{}", word.text),
            (false, _) => format!("[{}]", word.text),
        };
        let command = |c: &ShellCommand| c.words.iter().map(word).collect::<Vec<_>>().join("·");
        commands(line).iter().map(command).collect::<Vec<_>>().join(" / ")
    }

    #[test]
    fn a_line_falls_into_commands_and_words() {
        for (line, meant) in [
            ("sh ./test.sh", "sh·./test.sh"),
            ("a && b||c;d|e&f\ng", "a / b / c / d / e / f / g"),
            ("(cd web && npm test)", "cd·web / npm·test"),
            ("'a b' \"c d\"e f\\ g ''", "a b·c de·f g·"),
            ("echo $X \"$Y\" '$Z' \"\\$W\" *.py `x`", "echo·[$X]·[$Y]·$Z·$W·[*.py]·[`x`]"),
            ("sh < in.sh >out 2>&1", "sh·>in.sh·>out·2 / 1"),
            ("a # b && c\nd", "a / d"),
            ("a\\\nb", "ab"),
            ("'open", "open"),
        ] {
            assert_eq!(shown(line), meant, "{line}");
        }
    }

    #[test]
    fn assignments_in_front_are_not_the_program() {
        let commands = commands("A=1 B_2='x y' sh ./a.sh C=3");
        let words: Vec<&str> = commands[0].program().iter().map(|word| word.text.as_str()).collect();
        assert_eq!(words, ["sh", "./a.sh", "C=3"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn no_line_panics(line in any::<String>()) {
            commands(&line);
        }
    }
}
