//! The forms of token that vendors document, each by a beginning that nothing
//! else has, and a few places where a secret stands by its surroundings.

/// No format looks further ahead than this.
pub const WINDOW: usize = 1024;

/// What a format found: these bytes of the window, and what follows them.
pub struct FormatMatch {
    pub from: usize,
    pub to: usize,
    pub name: &'static str,
    pub swallow: Option<Swallow>,
}

/// Takes the rest of a secret, however long it is and in whatever pieces it comes.
pub enum Swallow {
    Class(fn(u8) -> bool),
    Key(KeyBlock),
}

impl Swallow {
    /// How many of these bytes belong to it.
    pub fn take(&mut self, bytes: &[u8]) -> usize {
        match self {
            Self::Class(class) => run(bytes, *class),
            Self::Key(block) => bytes.iter().take_while(|byte| block.takes(**byte)).count(),
        }
    }
}

/// The body of a PEM block, up to the last dash of its end line.
pub struct KeyBlock {
    dashes: u8,
    line: KeyLine,
    left: u32,
}

#[derive(PartialEq, Eq)]
enum KeyLine {
    Body,
    End,
    Over,
}

impl KeyBlock {
    const LONGEST: u32 = 64 * 1024;

    fn takes(&mut self, byte: u8) -> bool {
        let legal = is_base64(byte) || byte.is_ascii_whitespace() || b"\\:,.-".contains(&byte);
        if self.line == KeyLine::Over || self.left == 0 || !legal {
            return false;
        }
        self.left -= 1;
        self.dashes = if byte == b'-' { self.dashes + 1 } else { 0 };
        if self.dashes == 5 {
            self.dashes = 0;
            self.line = if self.line == KeyLine::Body { KeyLine::End } else { KeyLine::Over };
        }
        true
    }
}

struct Format {
    prefix: &'static str,
    name: &'static str,
    rule: Rule,
}

enum Rule {
    Token(Token),
    /// Looks at the window, which begins with the prefix.
    Place(fn(&[u8]) -> Option<Span>),
}

/// A run of characters after the prefix.
struct Token {
    class: fn(u8) -> bool,
    length: Length,
    stands: Stands,
    like: fn(&[u8]) -> bool,
}

#[derive(Clone, Copy)]
enum Length {
    AtLeast(usize),
    /// A longer run is something else.
    Between {
        least: usize,
        most: usize,
    },
}

/// Whether a prefix says enough inside of a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stands {
    Anywhere,
    AtAWord,
}

struct Span {
    from: usize,
    to: usize,
    swallow: Option<Swallow>,
}

const fn token(prefix: &'static str, name: &'static str, class: fn(u8) -> bool, least: usize) -> Format {
    let rule = Rule::Token(Token {
        class,
        length: Length::AtLeast(least),
        stands: Stands::Anywhere,
        like: is_varied,
    });
    Format { prefix, name, rule }
}

const fn word(prefix: &'static str, name: &'static str, class: fn(u8) -> bool, length: Length) -> Format {
    let rule = Rule::Token(Token { class, length, stands: Stands::AtAWord, like: is_mixed });
    Format { prefix, name, rule }
}

const fn place(prefix: &'static str, name: &'static str, rule: fn(&[u8]) -> Option<Span>) -> Format {
    Format { prefix, name, rule: Rule::Place(rule) }
}

/// The more exact of two that begin alike comes first.
const FORMATS: &[Format] = &[
    token("sk-ant-", "anthropic key", is_url_safe, 16),
    word("sk-", "api key", is_url_safe, Length::AtLeast(20)),
    token("ghp_", "github token", is_alnum, 30),
    token("gho_", "github token", is_alnum, 30),
    token("ghu_", "github token", is_alnum, 30),
    token("ghs_", "github token", is_alnum, 30),
    token("ghr_", "github token", is_alnum, 30),
    token("github_pat_", "github token", is_word, 22),
    token("glpat-", "gitlab token", is_url_safe, 20),
    token("gldt-", "gitlab token", is_url_safe, 20),
    token("glrt-", "gitlab token", is_url_safe, 20),
    token("glptt-", "gitlab token", is_url_safe, 20),
    token("xoxa-", "slack token", is_url_safe, 10),
    token("xoxb-", "slack token", is_url_safe, 10),
    token("xoxe-", "slack token", is_url_safe, 10),
    token("xoxe.", "slack token", is_url_safe, 10),
    token("xoxo-", "slack token", is_url_safe, 10),
    token("xoxp-", "slack token", is_url_safe, 10),
    token("xoxr-", "slack token", is_url_safe, 10),
    token("xoxs-", "slack token", is_url_safe, 10),
    token("xapp-", "slack token", is_url_safe, 20),
    token("hooks.slack.com/services/", "slack webhook", is_path, 20),
    word("AKIA", "aws key id", is_upper, Length::Between { least: 16, most: 16 }),
    word("ASIA", "aws key id", is_upper, Length::Between { least: 16, most: 16 }),
    token("AIza", "google key", is_url_safe, 35),
    token("ya29.", "google token", is_url_safe, 20),
    token("GOCSPX-", "google secret", is_url_safe, 20),
    token("sk_live_", "stripe key", is_alnum, 16),
    token("sk_test_", "stripe key", is_alnum, 16),
    token("rk_live_", "stripe key", is_alnum, 16),
    token("rk_test_", "stripe key", is_alnum, 16),
    token("whsec_", "stripe secret", is_base64, 24),
    word("npm_", "npm token", is_alnum, Length::Between { least: 36, most: 36 }),
    token("pypi-AgE", "pypi token", is_url_safe, 40),
    word("hf_", "hugging face token", is_alnum, Length::AtLeast(30)),
    word("gsk_", "groq key", is_alnum, Length::AtLeast(40)),
    word("xai-", "xai key", is_alnum, Length::AtLeast(40)),
    word("r8_", "replicate token", is_alnum, Length::Between { least: 37, most: 40 }),
    token("dop_v1_", "digitalocean token", is_alnum, 60),
    token("lin_api_", "linear key", is_alnum, 32),
    word("SG.", "sendgrid key", is_dotted, Length::AtLeast(60)),
    token("AGE-SECRET-KEY-1", "age key", is_upper, 50),
    place("eyJ", "json web token", web_token),
    place("-----BEGIN ", "private key", key_block),
    place("://", "url password", userinfo),
    place("uthorization", "authorization", authorization),
    place("Bearer ", "bearer token", bearer),
    place("bearer ", "bearer token", bearer),
    place("ecret_access_key", "aws secret key", aws_secret),
    place("ECRET_ACCESS_KEY", "aws secret key", aws_secret),
    place("ecretAccessKey", "aws secret key", aws_secret),
];

pub fn prefixes() -> impl Iterator<Item = &'static str> {
    FORMATS.iter().map(|format| format.prefix)
}

/// What stands at the beginning of the window; `before` are the two bytes before it, `first` is the first of the
/// formats that may fit.
pub fn find(window: &[u8], before: [Option<u8>; 2], first: usize) -> Option<FormatMatch> {
    let begin = window.first()?;
    let fits = |format: &&Format| {
        let prefix = format.prefix.as_bytes();
        prefix.first() == Some(begin) && window.starts_with(prefix)
    };
    FORMATS[first..].iter().filter(fits).find_map(|format| {
        let span = match &format.rule {
            Rule::Token(token) => token.span(window, format.prefix.len(), before),
            Rule::Place(rule) => rule(window),
        };
        span.map(|Span { from, to, swallow }| FormatMatch { from, to, name: format.name, swallow })
    })
}

impl Token {
    fn span(&self, window: &[u8], prefix: usize, before: [Option<u8>; 2]) -> Option<Span> {
        if self.stands == Stands::AtAWord && !begins_a_word(before) {
            return None;
        }
        let body = &window[prefix..];
        let length = run(body, self.class);
        let fits = match self.length {
            Length::AtLeast(least) => length >= least,
            Length::Between { least, most } => (least..=most).contains(&length),
        };
        if !fits || !(self.like)(&body[..length]) {
            return None;
        }
        Some(Span { from: 0, to: prefix + length, swallow: Some(Swallow::Class(self.class)) })
    }
}

/// The letter of an escape in JSON, as in `\n`, is no part of a word.
fn begins_a_word(before: [Option<u8>; 2]) -> bool {
    match before {
        [Some(b'\\'), Some(b'n' | b't' | b'r')] => true,
        [_, Some(byte)] => !is_url_safe(byte),
        [_, None] => true,
    }
}

fn web_token(window: &[u8]) -> Option<Span> {
    let header = run(window, is_url_safe);
    let rest = window[header..].strip_prefix(b".eyJ")?;
    let payload = run(rest, is_url_safe);
    let to = header + 4 + payload;
    (header >= 12 && payload >= 8).then_some(Span { from: 0, to, swallow: Some(Swallow::Class(is_dotted)) })
}

fn key_block(window: &[u8]) -> Option<Span> {
    let begin = b"-----BEGIN ".len();
    let label =
        run(&window[begin..], |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ');
    let name = &window[begin..begin + label];
    let secret = name.ends_with(b"PRIVATE KEY") || name.ends_with(b"PRIVATE KEY BLOCK");
    let body = window[begin + label..].strip_prefix(b"-----").filter(|_| secret)?;
    let gap = run(body, |byte| byte.is_ascii_whitespace() || byte == b'\\');
    // The `n` of an escaped line's end is of the alphabet; the shortest key has far more.
    let text = run(&body[gap..], |byte| is_base64(byte) || b":-,. ".contains(&byte));
    let block = KeyBlock { dashes: 0, line: KeyLine::Body, left: KeyBlock::LONGEST };
    let to = begin + label + 5;
    (text >= 16).then_some(Span { from: 0, to, swallow: Some(Swallow::Key(block)) })
}

/// The whole of `user:password`: a token may stand on either side of the colon.
fn userinfo(window: &[u8]) -> Option<Span> {
    let rest = &window[3..];
    let length = run(rest, is_of_userinfo);
    if rest.get(length) != Some(&b'@') {
        return None;
    }
    let info = &rest[..length];
    let password = match info.iter().position(|byte| *byte == b':') {
        Some(colon) => &info[colon + 1..],
        None if length >= 20 && is_mixed(info) => info,
        None => return None,
    };
    let placeholder = password.iter().all(|byte| b"*x.".contains(byte))
        || matches!(password.first(), Some(b'$' | b'{' | b'%' | b'('));
    (!placeholder).then_some(Span { from: 3, to: 3 + length, swallow: None })
}

fn authorization(window: &[u8]) -> Option<Span> {
    let mut at = "uthorization".len();
    let separators = run(&window[at..], |byte| b" \t:=\"'\\".contains(&byte));
    if separators == 0 {
        return None;
    }
    at += separators;
    let scheme = run(&window[at..], |byte| byte.is_ascii_alphabetic());
    let schemes: [&[u8]; 5] = [b"bearer", b"basic", b"token", b"digest", b"apikey"];
    let is_scheme = schemes.iter().any(|known| window[at..at + scheme].eq_ignore_ascii_case(known));
    if !is_scheme || window.get(at + scheme) != Some(&b' ') {
        return None;
    }
    at += scheme + 1;
    let length = run(&window[at..], is_credential);
    let class = Some(Swallow::Class(is_credential));
    (length >= 8 && is_varied(&window[at..at + length])).then_some(Span {
        from: at,
        to: at + length,
        swallow: class,
    })
}

fn bearer(window: &[u8]) -> Option<Span> {
    let from = "Bearer ".len();
    let length = run(&window[from..], is_credential);
    let swallow = Some(Swallow::Class(is_credential));
    (length >= 20 && is_mixed(&window[from..from + length])).then_some(Span {
        from,
        to: from + length,
        swallow,
    })
}

fn aws_secret(window: &[u8]) -> Option<Span> {
    let name = run(window, is_word);
    let gap = run(&window[name..], |byte| b" \t:=>\"'\\".contains(&byte));
    let from = name + gap;
    let length = run(&window[from..], is_base64);
    (gap > 0 && length == 40).then_some(Span { from, to: from + length, swallow: None })
}

fn run(bytes: &[u8], class: fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| class(**byte)).count()
}

fn is_alnum(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn is_upper(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn is_word(byte: u8) -> bool {
    is_alnum(byte) || byte == b'_'
}

fn is_url_safe(byte: u8) -> bool {
    is_word(byte) || byte == b'-'
}

fn is_dotted(byte: u8) -> bool {
    is_url_safe(byte) || byte == b'.'
}

fn is_path(byte: u8) -> bool {
    is_alnum(byte) || byte == b'/'
}

fn is_base64(byte: u8) -> bool {
    is_alnum(byte) || matches!(byte, b'+' | b'/' | b'=')
}

fn is_credential(byte: u8) -> bool {
    is_alnum(byte) || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/' | b'=')
}

fn is_of_userinfo(byte: u8) -> bool {
    let ends = matches!(
        byte,
        b'/' | b'@' | b'"' | b'\'' | b'<' | b'>' | b'`' | b'\\' | b'?' | b'#' | b'[' | b']' | b'|'
    );
    byte.is_ascii_graphic() && !ends
}

/// `xxxx…` in a manual is no token.
fn is_varied(run: &[u8]) -> bool {
    let mut seen = [false; 256];
    run.iter().for_each(|byte| seen[usize::from(*byte)] = true);
    seen.iter().filter(|seen| **seen).count() >= 6
}

/// Words joined by dashes have no digits, or no part that is long.
fn is_mixed(run: &[u8]) -> bool {
    let digits = run.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = run.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let long_part = run.split(|byte| !is_alnum(*byte)).any(|part| part.len() >= 16);
    let both_cases = run.iter().any(u8::is_ascii_uppercase) && run.iter().any(u8::is_ascii_lowercase);
    digits >= 2 && letters >= 2 && (long_part || both_cases) && is_varied(run)
}
