//! Any bytes at all: cut off, not UTF-8, huge, deep.

use windlass_control::{BrokenFile, Language, Numbers, SourceFile, Unparsed, break_tests, change_literals};

use crate::project::Project;

const LANGUAGES: &[(Language, &str)] = &[
    (Language::Python, "python"),
    (Language::JavaScript, "node"),
    (Language::TypeScript, "vitest"),
    (Language::Tsx, "vitest"),
    (Language::Rust, "rust"),
    (Language::Go, "go"),
];

fn both(language: Language, text: &[u8]) -> [Result<BrokenFile, Unparsed>; 2] {
    let file = SourceFile { path: "a", language, text };
    [break_tests(&file, &mut Numbers::from_seed(1)), change_literals(&file, &mut Numbers::from_seed(1))]
}

#[test]
fn cut_off_anywhere() {
    for (language, sample) in LANGUAGES {
        for (_, text) in Project::sample_files(sample) {
            for end in (0..text.len()).step_by(29) {
                for broken in both(*language, &text.as_bytes()[..end]) {
                    broken.unwrap_or_else(|error| panic!("{language:?} to {end}: {error}"));
                }
            }
        }
    }
}

#[test]
fn bytes_that_are_not_utf_8() {
    for (language, sample) in LANGUAGES {
        for (_, text) in Project::sample_files(sample) {
            for at in (0..text.len()).step_by(37) {
                let mut bytes = text.clone().into_bytes();
                bytes[at] = [0xff, 0xc3, 0x00, b'\\', b'"', b'{', b')'][at % 7];
                for broken in both(*language, &bytes) {
                    broken.unwrap_or_else(|error| panic!("{language:?} at {at}: {error}"));
                }
            }
        }
    }
}

#[test]
fn a_file_of_a_megabyte() {
    for (language, one, comment) in [
        (Language::Python, "def test_x():\n    assert f() == 3\n", "#"),
        (Language::JavaScript, "test('x', () => { expect(f()).toBe(3); });\n", "//"),
        (Language::Rust, "#[test]\nfn x() { assert_eq!(f(), 3); }\n", "//"),
        (Language::Go, "func TestX(t *testing.T) { if f() != 3 { t.Fatal() } }\n", "//"),
    ] {
        let one = format!("{one}{comment}{}\n", " text".repeat(200));
        let count = 1_000_000 / one.len() + 1;
        for broken in both(language, one.repeat(count).as_bytes()) {
            let broken = broken.unwrap_or_else(|error| panic!("{language:?}: {error}"));
            assert_eq!(broken.tests.iter().filter(|test| test.is_changed()).count(), count, "{language:?}");
        }
    }
}

/// Where the whole file is searched for each of them, this takes minutes.
#[test]
fn twenty_thousand_assertions_in_one_file() {
    for (language, begin, one, end) in [
        (Language::Rust, "#[test]\nfn x() {\n", "    assert_eq!(f(), g());\n", "}\n"),
        (Language::Python, "def test_x(self):\n", "    self.assertRaises(E, f)\n", ""),
    ] {
        let text = format!("{begin}{}{end}", one.repeat(20_000));
        let file = SourceFile { path: "a", language, text: text.as_bytes() };
        let broken = change_literals(&file, &mut Numbers::from_seed(1));
        let broken = broken.unwrap_or_else(|error| panic!("{language:?}: {error}"));
        assert!(broken.tests.iter().all(|test| test.is_changed()), "{language:?}");
    }
}

#[test]
fn deep_nesting_is_refused_and_does_not_overflow() {
    for (language, _) in LANGUAGES {
        for piece in ["(", "[", "{", "if x {", "a and ", "-", "if x:\n", "x(() => {"] {
            // Whether it counts as parsed is the grammar's choice; that it returns is ours.
            for broken in both(*language, piece.repeat(3_000).as_bytes()) {
                assert!(broken.is_err() || broken.is_ok_and(|broken| broken.tests.is_empty()), "{piece}");
            }
        }
        let deep = format!("{}1{}", "(".repeat(3000), ")".repeat(3000));
        assert_eq!(both(*language, deep.as_bytes()).map(|broken| broken.is_err()), [true; 2], "{language:?}");
    }
}
