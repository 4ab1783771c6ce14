//! Which variables hold secrets, and the forms their values are printed in.

use std::ffi::OsStr;

/// A value that must not be seen, and the name that stands for it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    pub name: String,
    pub value: Vec<u8>,
}

/// Never the value.
impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secret({})", self.name)
    }
}

/// Shorter values stand in too many harmless places.
const LEAST: usize = 8;
/// A line of a longer value is a secret of its own from here on.
const LEAST_LINE: usize = 16;

const WORDS: &[&str] =
    &["SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "TOKEN", "APIKEY", "PRIVATE"];
const ENDINGS: &[&str] = &["KEY", "KEYS", "PAT", "PASS", "PWD", "AUTH", "DSN", "COOKIE"];

/// Values that a secret-looking variable may have and that mean nothing.
const COMMON: &[&str] = &[
    "password",
    "changeme",
    "disabled",
    "enabled",
    "required",
    "optional",
    "production",
    "development",
    "localhost",
    "undefined",
    "anonymous",
    "username",
    "postgres",
    "keychain",
    "keyring",
    "plaintext",
];

/// The secrets among these variables: those whose names say so, those of the `lent` names whose values look
/// like nothing else, and every password in a URL.
pub fn secrets<'a>(
    variables: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>,
    lent: &[String],
) -> Vec<Secret> {
    let mut found = Vec::new();
    for (name, value) in variables {
        let name = name.to_string_lossy();
        let value = value.as_encoded_bytes().trim_ascii();
        let is_lent = lent.iter().any(|wanted| *wanted == name);
        if is_worth_hiding(value) && (is_secret_name(&name) || is_lent && looks_random(value)) {
            found.push(Secret { name: name.clone().into_owned(), value: value.to_owned() });
        }
        if let Some(password) = url_password(value).filter(|password| is_worth_hiding(password)) {
            found.push(Secret { name: name.into_owned(), value: password.to_owned() });
        }
    }
    found
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let last = name.rsplit('_').next().unwrap_or_default();
    let is_directory = matches!(name.as_str(), "PWD" | "OLDPWD");
    !is_directory && (WORDS.iter().any(|word| name.contains(word)) || ENDINGS.contains(&last))
}

fn is_worth_hiding(value: &[u8]) -> bool {
    let word = String::from_utf8_lossy(value).to_ascii_lowercase();
    let one_character = value.iter().all(|byte| Some(byte) == value.first());
    let short_number = value.len() < 12 && value.iter().all(u8::is_ascii_digit);
    value.len() >= LEAST
        && !one_character
        && !short_number
        && !COMMON.contains(&word.as_str())
        && !is_path(&word)
        && !is_plain_url(&word)
}

fn is_path(value: &str) -> bool {
    let begins = ["/", "./", "../", "~/", "file:"].iter().any(|start| value.starts_with(start));
    let of_base64 = value.contains(['+', '=']);
    begins && !of_base64 && (value.len() < 32 || value[1..].contains(['/', '.']))
}

fn is_plain_url(value: &str) -> bool {
    let schemes = ["http://", "https://", "unix://", "ssh://"];
    schemes.iter().any(|scheme| value.starts_with(scheme)) && url_password(value.as_bytes()).is_none()
}

fn looks_random(value: &[u8]) -> bool {
    let digits = value.iter().any(u8::is_ascii_digit);
    let letters = value.iter().any(u8::is_ascii_alphabetic);
    value.len() >= LEAST_LINE
        && digits
        && letters
        && value.iter().all(|byte| byte.is_ascii_graphic() && *byte != b':')
}

fn url_password(value: &[u8]) -> Option<&[u8]> {
    let start = value.windows(3).position(|three| three == b"://")? + 3;
    let authority = value[start..].split(|byte| *byte == b'/').next()?;
    let end = authority.iter().rposition(|byte| *byte == b'@')?;
    let colon = authority[..end].iter().position(|byte| *byte == b':')?;
    Some(&authority[colon + 1..end])
}

/// One way of writing a secret.
pub struct SecretForm {
    pub name: String,
    pub bytes: Vec<u8>,
}

/// Every way of writing every secret, the longest first.
pub fn forms(secrets: &[Secret]) -> Vec<SecretForm> {
    let mut forms = Vec::new();
    for secret in secrets {
        let lines = secret.value.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        let lines = lines.filter(|line| line.len() >= LEAST_LINE && !line.starts_with(b"-----"));
        for value in [secret.value.as_slice()].into_iter().chain(lines) {
            let written = [value.to_owned(), json(value, Slash::Plain), json(value, Slash::Escaped)];
            let percent = [percent(value, b"0123456789ABCDEF"), percent(value, b"0123456789abcdef")];
            let all = written.into_iter().chain(percent).chain(base64(value));
            forms.extend(all.map(|bytes| SecretForm { name: secret.name.clone(), bytes }));
        }
    }
    forms.retain(|form| form.bytes.len() >= LEAST);
    forms.sort_by(|a, b| b.bytes.len().cmp(&a.bytes.len()).then_with(|| a.bytes.cmp(&b.bytes)));
    forms.dedup_by(|a, b| a.bytes == b.bytes);
    forms
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Slash {
    Plain,
    Escaped,
}

fn json(value: &[u8], slash: Slash) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    for byte in value {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'/' if slash == Slash::Escaped => out.extend_from_slice(b"\\/"),
            other => out.push(*other),
        }
    }
    out
}

fn percent(value: &[u8], digits: &[u8; 16]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    for byte in value {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) {
            out.push(*byte);
        } else {
            out.extend([b'%', digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]);
        }
    }
    out
}

/// What of a value is always the same in base64, wherever in the encoded text it begins: the characters that
/// its neighbours have a part in are left away. In both alphabets.
fn base64(value: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let alphabets = [*b"+/", *b"-_"];
    let shifts = (0..3_usize).flat_map(move |shift| alphabets.map(|last| (shift, last)));
    shifts.map(|(shift, last)| {
        let shifted = [&[0; 2][..shift.min(2)], value].concat();
        let first = match shift {
            0 => 0,
            1 => 2,
            _ => 3,
        };
        let whole = shifted.len() * 8 / 6;
        sextets(&shifted, last).skip(first).take(whole - first).collect()
    })
}

fn sextets(bytes: &[u8], last: [u8; 2]) -> impl Iterator<Item = u8> {
    const FIRST: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    bytes.chunks(3).flat_map(move |three| {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        [18, 12, 6, 0].map(|shift| {
            let sextet = (bits >> shift & 63) as usize;
            FIRST.get(sextet).copied().unwrap_or_else(|| last[sextet - 62])
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(variables: &[(&str, &str)], lent: &[&str]) -> Vec<String> {
        let pairs = variables.iter().map(|(name, value)| (OsStr::new(*name), OsStr::new(*value)));
        let lent: Vec<String> = lent.iter().map(|name| (*name).to_owned()).collect();
        secrets(pairs, &lent).into_iter().map(|secret| secret.name).collect()
    }

    #[test]
    fn names_and_values_decide_together() {
        let hidden = [
            ("OPENAI_API_KEY", "abcdef123456"),
            ("GH_TOKEN", "abcdef123456"),
            ("MY_SECRET_THING", "correct horse"),
            ("db_password", "hunter2hunter2"),
            ("GITLAB_PAT", "0123456789abcd"),
            ("AWS_SECRET_ACCESS_KEY", "/abcdEFGH1234+abcdEFGH1234abcdEFGH123456"),
            ("GOOGLE_CREDENTIALS", "{\"private\":1}"),
            ("DATABASE_URL", "postgres://app:s3cretpass@db/app"),
        ];
        for (name, value) in hidden {
            assert_eq!(names(&[(name, value)], &[]), [name], "{name}");
        }
        let kept = [
            ("HOME", "/home/somebody"),
            ("PWD", "/srv/project-with-a-name"),
            ("SSH_AUTH_SOCK", "/tmp/ssh-XXXXabcdefgh/agent.1234"),
            ("SSH_KEY", "/home/somebody/.ssh/id_ed25519"),
            ("SHORT_KEY", "abc"),
            ("TOKENIZERS_PARALLELISM", "false"),
            ("REQUIRE_PASSWORD", "disabled"),
            ("STARS_TOKEN", "************"),
            ("KEY_URL", "https://example.org/keys"),
            ("KEYBOARD", "us-international"),
            ("EDITOR", "abcdef1234567890"),
        ];
        for (name, value) in kept {
            assert_eq!(names(&[(name, value)], &[]), [""; 0], "{name}");
        }
    }

    #[test]
    fn a_lent_variable_is_hidden_when_it_looks_random() {
        assert_eq!(names(&[("THING", "a1b2c3d4e5f6a7b8")], &["THING"]), ["THING"]);
        assert_eq!(names(&[("THING", "en_GB.UTF-8")], &["THING"]), [""; 0]);
        assert_eq!(names(&[("THING", "https://example.org/a1b2c3")], &["THING"]), [""; 0]);
    }

    #[test]
    fn base64_is_found_at_every_offset() {
        for before in ["", "u", "us", "user:"] {
            for after in ["", "1", "12"] {
                let value = b"correct-horse-battery";
                let text: Vec<u8> = [before.as_bytes(), value, after.as_bytes()].concat();
                let encoded: Vec<u8> = sextets(&text, *b"+/").take((text.len() * 8).div_ceil(6)).collect();
                let found =
                    base64(value).any(|form| encoded.windows(form.len()).any(|window| window == form));
                assert!(found, "{before:?} {after:?}");
            }
        }
    }
}
