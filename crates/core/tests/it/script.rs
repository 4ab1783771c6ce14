//! The text of a scenario file, taken apart.

pub struct Scenario {
    /// Everything before `----`, kept as it is when expectations are rewritten.
    pub head: String,
    pub setup: Vec<Vec<String>>,
    /// Each line of inputs, in words. `3x a; b` stands for `a; b` three times.
    pub inputs: Vec<Vec<String>>,
    pub expected: String,
}

impl Scenario {
    /// A purpose, a blank line, the setup, a blank line, the inputs.
    pub fn parse(text: &str) -> Self {
        let (head, expected) = text.split_once("----\n").unwrap_or((text, ""));
        let mut parts = head.splitn(3, "\n\n");
        let purpose = parts.next().unwrap_or_default();
        assert!(!purpose.trim().is_empty(), "a scenario says what it is for");
        let setup = parts.next().unwrap_or_default();
        let inputs = parts.next().unwrap_or_default();
        Self {
            head: head.to_owned(),
            setup: lines(setup).map(words).collect(),
            inputs: lines(inputs).flat_map(expand).collect(),
            expected: expected.to_owned(),
        }
    }
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn expand(line: &str) -> Vec<Vec<String>> {
    let (times, rest) = match line.split_once("x ") {
        Some((count, rest)) if count.chars().all(|c| c.is_ascii_digit()) => {
            (count.parse().expect("a count"), rest)
        }
        Some(_) | None => (1, line),
    };
    let once: Vec<Vec<String>> = rest.split(';').map(|part| words(part.trim())).collect();
    std::iter::repeat_n(once, times).flatten().collect()
}

/// Split at blanks; what stands in double quotes is one word.
pub fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        let (word, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or_else(|| panic!("a quote is open: {line}")),
            None => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    words
}

/// `90s`, `10m`, `2h` in milliseconds.
pub fn span(word: &str) -> u64 {
    let (number, unit) = word.split_at(word.len() - 1);
    let number: u64 = number.parse().unwrap_or_else(|_| panic!("{word} is not a span of time"));
    match unit {
        "s" => number * 1000,
        "m" => number * 60_000,
        "h" => number * 3_600_000,
        unit => panic!("{unit} is not a unit of time"),
    }
}
