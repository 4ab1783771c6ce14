//! What is hidden, what stays, and that pieces make no difference.

use std::fs;

use proptest::prelude::*;
use windlass_redact::{Redactor, Secret};

const VALUE: &str = "correct/horse+battery\"staple";

fn redactor() -> Redactor {
    let secret =
        |name: &str, value: &str| Secret { name: name.to_owned(), value: value.as_bytes().to_owned() };
    Redactor::new(&[
        secret("DEPLOY_TOKEN", VALUE),
        secret("SHORT_KEY", "hunter22"),
        secret("LONG_KEY", "hunter22-and-more-of-it-0123456789"),
        secret("PEM_KEY", "-----BEGIN X-----\nMIIEvQIBADANBgkqhkiG\n-----END X-----"),
    ])
}

fn clean(text: &str) -> String {
    redactor().text(text).into_owned()
}

/// Long enough for every format, and of no vendor.
fn body(length: usize) -> String {
    "a1B2c3D4e5F6g7H8i9J0".chars().cycle().take(length).collect()
}

#[test]
fn known_values_are_hidden_in_every_form() {
    for (given, shown) in [
        (format!("it is {VALUE}."), "it is [redacted:DEPLOY_TOKEN]."),
        (r#"{"t":"correct/horse+battery\"staple"}"#.to_owned(), r#"{"t":"[redacted:DEPLOY_TOKEN]"}"#),
        (r#"{"t":"correct\/horse+battery\"staple"}"#.to_owned(), r#"{"t":"[redacted:DEPLOY_TOKEN]"}"#),
        ("a=correct%2Fhorse%2Bbattery%22staple&b".to_owned(), "a=[redacted:DEPLOY_TOKEN]&b"),
        ("a=correct%2fhorse%2bbattery%22staple&b".to_owned(), "a=[redacted:DEPLOY_TOKEN]&b"),
        ("Y29ycmVjdC9ob3JzZStiYXR0ZXJ5InN0YXBsZQ==".to_owned(), "[redacted:DEPLOY_TOKEN]Q=="),
        ("hunter22hunter22".to_owned(), "[redacted:SHORT_KEY][redacted:SHORT_KEY]"),
        ("hunter22-and-more-of-it-0123456789".to_owned(), "[redacted:LONG_KEY]"),
        ("hunter22-and-more-of-it-012345678".to_owned(), "[redacted:SHORT_KEY]-and-more-of-it-012345678"),
        ("key MIIEvQIBADANBgkqhkiG".to_owned(), "key [redacted:PEM_KEY]"),
        ("https://u:hunter22@hunter22/".to_owned(), "https://[redacted:url password]@[redacted:SHORT_KEY]/"),
    ] {
        assert_eq!(clean(&given), shown, "{given}");
    }
}

#[test]
fn documented_token_formats_are_hidden() {
    let long = body(200);
    for (given, shown) in [
        (format!("sk-ant-api03-{}", body(90)), "[redacted:anthropic key]"),
        (format!("key=sk-{}", body(48)), "key=[redacted:api key]"),
        (format!("key=sk-proj-{}", body(120)), "key=[redacted:api key]"),
        (format!(r#""out\nsk-{}""#, body(48)), r#""out\n[redacted:api key]""#),
        (format!("(ghp_{})", body(36)), "([redacted:github token])"),
        (format!("gho_{} ghs_{}", body(36), body(36)), "[redacted:github token] [redacted:github token]"),
        (format!("github_pat_{}", body(82)), "[redacted:github token]"),
        (format!("glpat-{}", body(20)), "[redacted:gitlab token]"),
        (format!("xoxb-1234567890-{}", body(24)), "[redacted:slack token]"),
        (
            format!("https://hooks.slack.com/services/T00/B00/{}", body(24)),
            "https://[redacted:slack webhook]",
        ),
        ("id AKIA2E4G6H8J1K3L5M7N.".to_owned(), "id [redacted:aws key id]."),
        (
            format!("aws_secret_access_key = {}", body(40)),
            "aws_secret_access_key = [redacted:aws secret key]",
        ),
        (
            format!(r#""SecretAccessKey": "{}""#, body(40)),
            r#""SecretAccessKey": "[redacted:aws secret key]""#,
        ),
        (format!("AIza{}", body(35)), "[redacted:google key]"),
        (format!("sk_live_{}", body(24)), "[redacted:stripe key]"),
        (format!("//registry/:_authToken=npm_{}", body(36)), "//registry/:_authToken=[redacted:npm token]"),
        (format!("pypi-AgEIcHlwaS5vcmc{}", body(60)), "[redacted:pypi token]"),
        (format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIi{long}.{long} end"), "[redacted:json web token] end"),
        (format!("Authorization: Bearer {}", body(32)), "Authorization: Bearer [redacted:authorization]"),
        (format!("authorization: Basic {}==", body(32)), "authorization: Basic [redacted:authorization]"),
        (format!("curl -H 'Bearer {}'", body(32)), "curl -H 'Bearer [redacted:bearer token]'"),
        (
            "git clone https://me:pa55word@host/x".to_owned(),
            "git clone https://[redacted:url password]@host/x",
        ),
        (format!("https://{}@host", body(40)), "https://[redacted:url password]@host"),
        (
            format!("-----BEGIN RSA PRIVATE KEY-----\n{long}\n{long}\n-----END RSA PRIVATE KEY-----\nafter"),
            "[redacted:private key]\nafter",
        ),
        (
            format!(r"-----BEGIN PRIVATE KEY-----\n{long}\n-----END PRIVATE KEY-----\nafter"),
            r"[redacted:private key]\nafter",
        ),
    ] {
        assert_eq!(clean(&given), shown, "{given}");
    }
}

#[test]
fn what_is_no_secret_stays() {
    let manual = "x".repeat(36);
    for text in [
        "commit f7a0f38d4c5b6a79881726354433221100ffeedd",
        "blob 3f786850e387550fdab836ed7e6dc881de23001b3f786850e387550fdab836ed",
        "id 550e8400-e29b-41d4-a716-446655440000",
        r#"checksum = "9b5d4f0e8a1c2b3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5""#,
        r#""integrity": "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==""#,
        "h1:zHF0Hr4Zt5cv3JZWZQ1Zh9y5sTgB0J5yq3mTqTgbJ8M=",
        "task-runner-with-a-long-name disk-usage-of-something-2024 risk-assessment",
        "class=\"sk-estimator-doc-link-fitted sk-toggleable__content\"",
        "npm_config_cache npm_package_json npm_lifecycle_event",
        "https://example.org/a:b@c https://git@example.org/x ssh://git@host:22/x",
        "postgres://$USER:$PASSWORD@localhost https://user:***@host http://u:{{secret}}@host",
        "the bearer of this letter; Bearer authentication-is-described-below",
        "Authorization: required. authorization header, Authorization: Bearer <token>",
        "-----BEGIN PUBLIC KEY-----\nMFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAK\n-----END PUBLIC KEY-----",
        "if text.contains(\"-----BEGIN PRIVATE KEY-----\") {",
        "eyJ is how every base64 of JSON begins; eyJhbGciOiJIUzI1NiJ9 alone is a header",
        "AKIA is a prefix; MAKIA2E4G6H8J1K3L5M7NX; AKIA2E4G6H8J1K3L5M7N9Q",
        "hunter2 hunter 22 HUNTER22",
    ]
    .into_iter()
    .map(str::to_owned)
    .chain([format!("ghp_{manual}"), format!("sk-{manual}"), format!("glpat-{}", "x".repeat(20))])
    {
        assert_eq!(clean(&text), text);
    }
}

#[test]
fn bytes_that_are_no_text_are_kept() {
    let given = b"\xff\xfe hunter22 \x80\x00\xc3";
    assert_eq!(redactor().bytes(given).as_ref(), b"\xff\xfe [redacted:SHORT_KEY] \x80\x00\xc3");
    assert_eq!(redactor().bytes(b"\xff plain").as_ref(), b"\xff plain");
}

#[test]
fn switched_off_it_changes_nothing() {
    assert_eq!(Redactor::off().text("hunter22"), "hunter22");
    let mut out = Vec::new();
    let mut stream = Redactor::off();
    let mut pushed = stream.stream();
    pushed.push(b"hunter22", &mut out);
    assert_eq!(pushed.finish(&mut out), 0);
    assert_eq!(out, b"hunter22");
    stream = redactor();
    assert_eq!(format!("{stream:?}"), "Redactor");
}

/// A line of any length, held back for no more than a block.
#[test]
fn memory_does_not_grow_with_a_line() {
    let redactor = redactor();
    let mut stream = redactor.stream();
    let (mut out, mut total) = (Vec::new(), 0);
    for _ in 0..512 {
        stream.push(&[b'x'; 64 * 1024], &mut out);
        assert!(out.len() <= 256 * 1024, "{}", out.len());
        total += out.len();
        out.clear();
    }
    stream.push(b"hunter22", &mut out);
    assert_eq!(stream.finish(&mut out), 1);
    assert_eq!(total + out.len(), 512 * 64 * 1024 + "[redacted:SHORT_KEY]".len());
}

#[test]
fn an_endless_token_is_one_mark() {
    let given = format!("a sk-ant-{} b", body(1_000_000));
    let redactor = redactor();
    let mut out = Vec::new();
    let mut stream = redactor.stream();
    given.as_bytes().chunks(1000).for_each(|chunk| stream.push(chunk, &mut out));
    assert_eq!(stream.finish(&mut out), 1);
    assert_eq!(String::from_utf8(out).unwrap(), "a [redacted:anthropic key] b");
}

#[test]
fn a_file_is_cleaned_where_it_lies() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("stdout");
    let clean = |text: &str, cut: Option<u64>| {
        fs::write(&path, text).unwrap();
        redactor().file(&path, cut).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        fs::read_to_string(&path).unwrap()
    };
    assert_eq!(clean("a hunter22 b", None), "a [redacted:SHORT_KEY] b");
    assert_eq!(clean("nothing", None), "nothing");
    let cut = "they said: hunt\n… 7 bytes left out …\nr22 and a word";
    assert_eq!(clean(cut, Some(29)), "they said: \n… 7 bytes left out …\n and a word");
    assert_eq!(clean("no cut here", Some(5)), "no cut here");
    assert_eq!(clean("short", Some(500)), "short");
    redactor().file(&dir.path().join("absent"), None).unwrap();
}

/// Texts made of what the scanner knows, so that most of them hold something.
fn soup() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        VALUE.to_owned(),
        "hunter22".to_owned(),
        "hunter22-and-more-of-it-0123456789".to_owned(),
        "correct%2Fhorse%2Bbattery%22staple".to_owned(),
        "https://me:pa55word@host/".to_owned(),
        format!("ghp_{}", body(36)),
        format!("sk-{}", body(30)),
        "sk-".to_owned(),
        "AKIA2E4G6H8J1K3L5M7N".to_owned(),
        format!("eyJ{}.eyJ{}.{}", body(20), body(20), body(20)),
        format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----", body(64)),
        format!("Authorization: Bearer {}", body(24)),
        format!("aws_secret_access_key = {}", body(40)),
        "\\n".to_owned(),
        " ".to_owned(),
        "x".to_owned(),
    ]);
    let piece = prop_oneof![
        known.clone().prop_map(String::into_bytes),
        (known, 0.0..1.0)
            .prop_map(|(text, part)| text.as_bytes()[..(text.len() as f64 * part) as usize].to_owned()),
        any::<Vec<u8>>(),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

fn in_pieces(redactor: &Redactor, bytes: &[u8], sizes: &[usize]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut stream = redactor.stream();
    let mut rest = bytes;
    for size in sizes.iter().cycle() {
        let (now, later) = rest.split_at((*size).clamp(1, rest.len().max(1)).min(rest.len()));
        stream.push(now, &mut out);
        rest = later;
        if rest.is_empty() {
            break;
        }
    }
    stream.finish(&mut out);
    out
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pieces_never_change_the_result(
        bytes in soup(), sizes in prop::collection::vec(1usize..9000, 1..20), before in 60_000usize..70_000,
    ) {
        let redactor = redactor();
        // So that some piece ends a block anywhere in what follows.
        let bytes = [vec![b' '; before], bytes].concat();
        let whole = redactor.bytes(&bytes).into_owned();
        prop_assert_eq!(in_pieces(&redactor, &bytes, &sizes), whole);
    }

    #[test]
    fn no_known_value_is_left(bytes in soup()) {
        let redactor = redactor();
        let clean = redactor.bytes(&bytes).into_owned();
        for value in [VALUE, "hunter22"] {
            prop_assert!(!clean.windows(value.len()).any(|window| window == value.as_bytes()));
        }
    }
}
