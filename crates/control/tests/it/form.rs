//! The broken text itself.

use std::collections::BTreeSet;

use windlass_control::{
    Breakage, BrokenTest, Language, Numbers, Obstacle, Round, SourceFile, TestChange, break_chosen,
    break_tests, change_literals,
};

use crate::project::Project;

const SAMPLES: &[&str] = &["python", "node", "jest", "vitest", "mocha", "rust", "go"];

pub fn file<'s>(path: &'s str, text: &'s str) -> SourceFile<'s> {
    SourceFile {
        path,
        language: Language::of(path.as_bytes()).expect("a known language"),
        text: text.as_bytes(),
    }
}

fn broken(path: &str, text: &str) -> String {
    let broken = break_tests(&file(path, text), &mut Numbers::from_seed(1)).expect("a small file");
    String::from_utf8(broken.text).expect("of a text")
}

pub fn changed(path: &str, text: &str) -> String {
    let broken = change_literals(&file(path, text), &mut Numbers::from_seed(1)).expect("a small file");
    String::from_utf8(broken.text).expect("of a text")
}

#[test]
fn the_same_seed_gives_the_same_text_and_another_seed_another() {
    for sample in SAMPLES {
        for (path, text) in Project::sample_files(sample) {
            let Some(language) = Language::of(path.as_bytes()) else { continue };
            let file = SourceFile { path: &path, language, text: text.as_bytes() };
            let with = |seed| break_tests(&file, &mut Numbers::from_seed(seed)).expect("a small file");
            assert_eq!(with(7), with(7), "{path}");
            let has_tests = with(7).tests.iter().any(|test| test.is_changed());
            assert_eq!(with(7) != with(8), has_tests, "{path}");
        }
    }
}

#[test]
fn any_of_the_values_that_a_test_expects_may_be_changed() {
    let tests = [
        ("test_a.py", "def test_a():\n    assert f() == 11\n    assert g() == 22\n"),
        ("a.test.js", "test('a', () => {\n  expect(f()).toBe(11);\n  expect(g()).toBe(22);\n});\n"),
        ("src/lib.rs", "#[test]\nfn a() {\n    assert_eq!(f(), 11);\n    assert_eq!(g(), 22);\n}\n"),
        (
            "a_test.go",
            "package a\n\nfunc TestA(t *testing.T) {\n\tif f() != 11 {\n\t\tt.Error(1)\n\t}\n\tif g() != 22 {\n\t\tt.Error(2)\n\t}\n}\n",
        ),
    ];
    for (path, text) in tests {
        let changed = |seed| {
            let broken = change_literals(&file(path, text), &mut Numbers::from_seed(seed));
            String::from_utf8(broken.expect("a small file").text).expect("of a text")
        };
        let (mut first, mut second) = (0, 0);
        for seed in 0..20 {
            let text = changed(seed);
            first += u32::from(!text.contains("11"));
            second += u32::from(!text.contains("22"));
        }
        assert!(first > 2 && second > 2 && first + second == 20, "{path}: {first} and {second}");
    }
}

#[test]
fn nothing_names_who_broke_it() {
    for sample in SAMPLES {
        for (path, text) in
            Project::sample_files(sample).iter().filter(|(path, _)| Language::of(path.as_bytes()).is_some())
        {
            let text = broken(path, text).to_lowercase();
            assert!(!text.contains("windlass") && !text.contains("control"), "{path}");
        }
    }
}

#[test]
fn what_is_not_chosen_is_byte_for_byte_the_same() {
    for sample in SAMPLES {
        for (path, text) in Project::sample_files(sample) {
            let Some(language) = Language::of(path.as_bytes()) else { continue };
            let file = SourceFile { path: &path, language, text: text.as_bytes() };
            for breakage in [Breakage::FailingStatement, Breakage::ChangedLiteral] {
                let none = break_chosen(breakage, &file, &mut Numbers::from_seed(1), &|_| false);
                assert_eq!(none.expect("a small file").text, text.as_bytes(), "{path}");
                one_at_a_time(breakage, &file);
            }
        }
    }
}

/// Outside the test that is broken every byte is as it was.
fn one_at_a_time(breakage: Breakage, file: &SourceFile<'_>) {
    let all = break_chosen(breakage, file, &mut Numbers::from_seed(1), &|_| true).expect("a small file");
    for chosen in all.tests.iter().filter(|test| test.is_changed()) {
        let one = break_chosen(breakage, file, &mut Numbers::from_seed(1), &|test| test == chosen);
        let one = one.expect("a small file");
        assert_ne!(one.text, file.text, "{chosen}");
        let same = one.text.iter().zip(file.text).take_while(|(a, b)| a == b).count();
        let before = file.text[..same].iter().filter(|byte| **byte == b'\n').count();
        let end = one.text.iter().rev().zip(file.text.iter().rev()).take_while(|(a, b)| a == b).count();
        let from_end = file.text[file.text.len() - end.min(file.text.len() - same)..].len();
        assert!(same + from_end <= file.text.len());
        let begins = chosen.line <= before + 1 || chosen.to_string().contains("by a function");
        assert!(begins, "{chosen} begins below what was changed");
        let others = one.tests.iter().filter(|test| *test != chosen && test.is_changed());
        assert_eq!(others.count(), 0, "{chosen}");
    }
}

#[test]
fn a_value_is_computed_before_the_test_fails() {
    let python = broken("a.py", "def test_x():\n    return f()\n");
    let lines: Vec<&str> = python.lines().collect();
    assert_eq!((lines[1], lines[3]), ("    outcome = f()", "    return outcome"));
    assert!(lines[2].starts_with("    assert "), "{python}");
    let script = broken("a.js", "test('x', () => f());\n");
    assert!(script.starts_with("test('x', () => Promise.resolve(f()).then(() => { throw new "), "{script}");
    let script = broken("a.js", "test('x', () => { return f(); });\n");
    assert!(script.contains("return Promise.resolve(f()).then(() => { throw new "), "{script}");
    let rust = broken("a.rs", "#[test]\nfn x() -> R { f() }\n");
    assert!(rust.contains("let outcome = f();") && rust.contains("outcome }"), "{rust}");
}

#[test]
fn a_test_that_must_panic_returns_before_it_can() {
    let text = "#[test]\n#[should_panic]\nfn x() { f(); }\n";
    let broken = break_tests(&file("a.rs", text), &mut Numbers::from_seed(1)).expect("a small file");
    assert!(matches!(broken.tests[0].change, TestChange::ReturnsEarly { .. }));
    assert!(String::from_utf8_lossy(&broken.text).contains("{ return; }  f(); }"), "{broken:?}");
}

#[test]
fn what_cannot_be_broken_is_named_with_its_reason() {
    for (path, text, obstacle) in [
        ("a.py", "def test_x():\n    raise E\n", Obstacle::AlwaysLeaves),
        ("a.py", "def test_x():\n    while True:\n        pass\n    x(\n", Obstacle::Syntax),
        ("a.py", "pytestmark = pytest.mark.skip('x')\ndef test_x():\n    pass\n", Obstacle::Skipped),
        ("a.py", "@skip('x')\nclass TestX:\n    def test_x(self):\n        pass\n", Obstacle::Skipped),
        ("a.py", "@expectedFailure\ndef test_x():\n    pass\n", Obstacle::ExpectedToFail),
        ("a.js", "test('x', () => { throw e; });", Obstacle::AlwaysLeaves),
        ("a.js", "test('x', imported);", Obstacle::BodyElsewhere),
        ("a.js", "it('x');", Obstacle::Skipped),
        ("a.js", "describe.skip('y', () => { it('x', () => {}); });", Obstacle::Skipped),
        ("a.ts", "test.failing('x', (): void => {});", Obstacle::ExpectedToFail),
        ("a.rs", "#[test]\n#[ignore]\nfn x() {}", Obstacle::Skipped),
        ("a.rs", "#[test]\nfn x() { panic!() }", Obstacle::AlwaysLeaves),
        ("a.rs", "proptest! { #[test] fn x(a in 0..3) { f(a) } }", Obstacle::UnknownForm),
        ("a_test.go", "package a\nfunc TestX(t *testing.T) { t.Skip() }", Obstacle::AlwaysLeaves),
        ("a_test.go", "package a\nfunc FuzzX(f *testing.F) {}", Obstacle::UnknownForm),
    ] {
        let broken = break_tests(&file(path, text), &mut Numbers::from_seed(1)).expect("a small file");
        let changes: Vec<TestChange> = broken.tests.into_iter().map(|test| test.change).collect();
        assert_eq!(changes, [TestChange::Unchanged(obstacle)], "{text}");
        assert_eq!(broken.text, text.as_bytes());
    }
}

/// The text behind `f() == ` and the like, with the literal changed.
fn change_of(path: &str, statement: &str, numbers: Numbers) -> (String, String) {
    let text = in_a_test(path, statement);
    let broken = change_literals(&file(path, &text), &mut numbers.clone()).expect("a small file");
    let TestChange::Literal { before, after, .. } = &broken.tests[0].change else { panic!("{broken:?}") };
    assert_ne!(before, after, "{statement}");
    let whole = text.replacen(before, after, 1);
    assert_eq!(String::from_utf8_lossy(&broken.text), whole, "{statement}");
    (before.clone(), after.clone())
}

#[test]
fn a_literal_becomes_another_of_its_type() {
    for (path, honest) in [
        ("a.py", "assert f() == 2"),
        ("a.py", "assert 0 == f()"),
        ("a.py", "assert f() == -1.5"),
        ("a.py", "assert f() == 'ab9'"),
        ("a.py", "assert f() == ''"),
        ("a.py", "assert f() == b'a\\n'"),
        ("a.py", "assert f() == {'a': (1, None)}"),
        ("a.py", "assert f() == [(1, 2), 'c']"),
        ("a.py", "assert f() == pytest.approx(1.5)"),
        ("a.js", "expect(f()).to.deep.equal([1, 'a'])"),
        ("a.js", "expect(f()).toHaveLength(0)"),
        ("a.rs", "assert_eq!(f(), 1u8);"),
        ("a.rs", "assert_eq!(f(), &[b\"ab\", b\"cd\"]);"),
        ("a.rs", "assert_eq!(Ok('z'), f());"),
        ("a.rs", "assert_eq!(f(), vec![-8, 9]);"),
        ("a_test.go", "if f() != 0 { t.Fatal() }"),
        ("a_test.go", "require.Equal(t, \"a\", f())"),
    ] {
        let all: BTreeSet<String> =
            (0..40).map(|seed| change_of(path, honest, Numbers::from_seed(seed)).1).collect();
        assert!(all.len() > 3, "{honest}: {all:?}");
    }
}

#[test]
fn a_truth_is_turned() {
    for (path, honest, other) in [
        ("a.py", "self.assertEqual(f(), True)", "self.assertEqual(f(), False)"),
        ("a.js", "assert.deepEqual(f(), { a: true })", "assert.deepEqual(f(), { a: false })"),
    ] {
        assert_eq!(changed(path, &in_a_test(path, honest)), in_a_test(path, other));
    }
}

fn in_round(seed: u64, nth: u32) -> Numbers {
    Numbers::from_seed(seed).in_round(Round { lot: seed / 3, nth })
}

#[test]
fn of_two_rounds_one_makes_a_number_larger_and_the_other_smaller() {
    for (path, statement, before) in [
        ("a.py", "assert f() == 6", 6.0),
        ("a.py", "assert f() == 0", 0.0),
        ("a.py", "assert f() == 2.5", 2.5),
        ("a.py", "assert f() == 0.5", 0.5),
        ("a.js", "assert.strictEqual(f(), 6)", 6.0),
        ("a.js", "expect(f()).toBe(0.25)", 0.25),
        ("a.rs", "assert_eq!(f(), 6);", 6.0),
        ("a.rs", "assert_eq!(f(), 20_u8);", 20.0),
        ("a.rs", "assert_eq!(f(), 0.5);", 0.5),
        ("a_test.go", "if f() != 6 { t.Fatal() }", 6.0),
    ] {
        for seed in 0..60 {
            let is_up = |nth| {
                let (_, after) = change_of(path, statement, in_round(seed, nth));
                let number: f64 = after.trim_end_matches("_u8").parse().expect(&after);
                number > before
            };
            assert_ne!(is_up(0), is_up(1), "{statement} with {seed}");
            assert_ne!(is_up(3), is_up(4), "{statement} with {seed}");
        }
    }
}

#[test]
fn of_two_rounds_one_changes_the_first_half_and_the_other_the_second() {
    for (path, statement, middle) in [
        ("a.py", "assert f() == [11, 22, 33, 44]", "33"),
        ("a.py", "assert f() == {'k': 'ab', 'm': 'cd'}", "'m'"),
        ("a.py", "assert f() == 'qwerty'", "rty"),
        ("a.js", "assert.deepStrictEqual(f(), ['ab', 'cd', 'ef', 'gh'])", "'ef'"),
        ("a.js", "expect(f()).toBe('qwerty')", "rty"),
        ("a.rs", "assert_eq!(f(), vec![11, 22, 33, 44]);", "33"),
        ("a.rs", "assert_eq!(f(), \"qwerty\");", "rty"),
        ("a_test.go", "if f() != \"qwerty\" { t.Fatal() }", "rty"),
    ] {
        let text = in_a_test(path, statement);
        let (head, tail) = text.split_at(text.find(middle).expect(middle));
        for seed in 0..60 {
            // An item that is there twice may be in either.
            let halves_that_differ = |nth| {
                let broken = change_literals(&file(path, &text), &mut in_round(seed, nth));
                let after = String::from_utf8(broken.expect("a small file").text).expect("of a text");
                let differ = (!after.starts_with(head), !after.ends_with(tail));
                assert_ne!(differ, (true, true), "{after}");
                differ
            };
            for nth in [0, 3] {
                let rounds = [halves_that_differ(nth), halves_that_differ(nth + 1)];
                let one_half = rounds == [(true, false); 2] || rounds == [(false, true); 2];
                assert!(!one_half, "{statement} with {seed}");
            }
        }
    }
}

#[test]
fn a_number_stays_in_the_range_of_the_type_that_it_may_have() {
    for (honest, largest) in [
        ("assert_eq!(f(), 255u8);", 255),
        ("assert_eq!(f(), 254_u8);", 255),
        ("assert_eq!(f(), 100i8);", 127),
        ("assert_eq!(f(), 6);", 127),
        ("assert_eq!(f(), 127);", 127),
        ("assert_eq!(f(), 200);", 255),
        ("assert_eq!(f(), 255);", 255),
        ("assert_eq!(f(), 300);", 32_767),
        ("assert_eq!(f(), -120);", 127),
        ("assert_eq!(f(), -128);", 128),
        ("assert_eq!(f(), -128i8);", 128),
        ("assert_eq!(f(), -129);", 32_767),
        ("assert_eq!(f(), -32768);", 32_768),
        ("assert_eq!(f(), -2147483648);", 1 << 31),
        ("assert_eq!(f(), -9223372036854775808);", 1 << 63),
        ("assert_eq!(f(), 0usize);", u64::from(u32::MAX)),
        ("if f() != -128 { t.Fatal() }", 128),
        ("if f() != -32768 { t.Fatal() }", 32_768),
    ] {
        let path = if honest.starts_with("if") { "a_test.go" } else { "a.rs" };
        let mut seen = BTreeSet::new();
        for seed in 0..100 {
            let (_, after) = change_of(path, honest, Numbers::from_seed(seed));
            let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
            seen.insert(digits.parse::<u64>().expect(&after));
        }
        assert!(seen.len() > 10 && seen.iter().all(|value| *value <= largest), "{honest}: {seen:?}");
    }
}

#[test]
fn what_proves_nothing_is_left_alone() {
    for (path, text) in [
        ("a.py", "if g(): assert f() == 3"),
        ("a.py", "for x in g(): assert x == 3"),
        ("a.py", "with closing(x): assert f() == 3"),
        ("a.py", "if g(): return\n    assert f() == 3"),
        ("a.py", "def g(): assert f() == 3"),
        ("a.py", "try:\n      assert f() == 3\n    except E: pass"),
        ("a.py", "with pytest.raises(pytest.skip.Exception): f()"),
        ("a.py", "with pytest.raises((E, pytest.xfail.Exception)): f()"),
        ("a.py", "with raises(pytest.exit.Exception): f()"),
        ("a.py", "with raises(Skipped): f()"),
        ("a.py", "with raises((KeyError, KeyboardInterrupt)): f()"),
        ("a.py", "self.assertRaises(unittest.SkipTest, f)"),
        ("a.py", "self.assertRaises(BaseException, f)"),
        ("a.js", "expect(f()).resolves.toBe(3)"),
        ("a.js", "assert.rejects(f())"),
        ("a.js", "expect(f()).toMatchSnapshot()"),
        ("a.js", "x.map(() => { expect(f()).toBe(3) })"),
        ("a.ts", "assert(f())"),
        ("a.ts", "assert.strictEqual(f(), g())"),
        ("a.ts", "assert.deepStrictEqual(f(), g())"),
        ("a.ts", "assert.notStrictEqual(f(), null)"),
        ("a.tsx", "assert.equal(f(), g())"),
        ("a.tsx", "assert.notDeepEqual(f(), [])"),
        ("a.rs", "let Some(x) = g() else { return }; assert_eq!(f(), 3);"),
        ("a.rs", "if g() { assert_eq!(f(), 3); }"),
        ("a.rs", "#[cfg(target_pointer_width = \"32\")] assert_eq!(f(), 3);"),
        ("a.rs", "#[cfg(windows)] #[rustfmt::skip] assert!(f());"),
        ("a.rs", "#[rustfmt::skip] #[cfg_attr(x, cfg(y))] assert_ne!(f(), 3)"),
        ("a.rs", "assert!(f::<A, B>(), \"m\");"),
        ("a.rs", "assert!(f().parse().unwrap());"),
        ("a_test.go", "if f() != 3 { g() }"),
        ("a_test.go", "if f() != 3 { log.Fatal() }"),
        ("a_test.go", "if err := f(); err != nil { log.Errorf(\"m\") }"),
        ("a_test.go", "if !f() { s.Fail() }"),
        ("a_test.go", "if f() != 3 { t.Fatal() } else { g() }"),
    ] {
        let text = in_a_test(path, text);
        assert_eq!(changed(path, &text), text);
    }
}

#[test]
fn a_statement_that_may_be_left_out_hides_no_other() {
    for (honest, other) in [
        (
            "#[cfg(windows)] assert_eq!(f(), 3); assert!(g());",
            "#[cfg(windows)] assert_eq!(f(), 3); assert!(!(g()));",
        ),
        ("#[rustfmt::skip] assert!(g());", "#[rustfmt::skip] assert!(!(g()));"),
    ] {
        assert_eq!(changed("a.rs", &in_a_test("a.rs", honest)), in_a_test("a.rs", other));
    }
}

#[test]
fn an_assertion_without_a_literal_is_turned_over() {
    for (path, honest, other) in [
        ("a.py", "assert f() != 3", "assert not (f() != 3)"),
        ("a.py", "assert f() == 3 or g(), 'm'", "assert not (f() == 3 or g()), 'm'"),
        ("a.py", "assert f() == f'{x}'", "assert not (f() == f'{x}')"),
        ("a.py", "assert 3 == 3", "assert not (3 == 3)"),
        ("a.py", "assert f() == {'a': 1, 'a': 2}", "assert not (f() == {'a': 1, 'a': 2})"),
        ("a.py", "self.assertTrue(f(), 'm')", "self.assertFalse(f(), 'm')"),
        ("a.py", "self.assertNotEqual(f(), 1)", "self.assertEqual(f(), 1)"),
        ("a.js", "expect(f()).not.toBe(3)", "expect(f()).toBe(3)"),
        ("a.js", "expect(f()).toEqual(expect.any(N))", "expect(f()).not.toEqual(expect.any(N))"),
        ("a.js", "expect(f()).to.not.equal(g)", "expect(f()).to.equal(g)"),
        ("a.js", "await expect(f()).rejects.toThrow()", "await expect(f()).rejects.not.toThrow()"),
        ("a.js", "assert.ok(f(), 'm')", "assert.ok(!(f()), 'm')"),
        ("a.js", "assert(f())", "assert(!(f()))"),
        ("a.js", "assert.throws(f, /m/)", "assert.doesNotThrow(f, /m/)"),
        ("a.js", "await assert.rejects(f())", "await assert.doesNotReject(f())"),
        ("a.js", "assert.strictEqual(f(), g())", "assert.notStrictEqual(f(), g())"),
        ("a.ts", "assert.throws(f, /m/)", "assert.doesNotThrow(f, /m/)"),
        ("a.js", "t.throws(f)", "t.doesNotThrow(f)"),
        ("a.js", "t.doesNotThrow(f, 'java')", "t.throws(f, 'java')"),
        ("a.js", "t.notThrows(f)", "t.throws(f)"),
        (
            "a.js",
            "assert.deepEqual(f(), { __proto__: { a: 1 } })",
            "assert.notDeepEqual(f(), { __proto__: { a: 1 } })",
        ),
        ("a.rs", "assert!(f(), \"m\");", "assert!(!(f()), \"m\");"),
        ("a.rs", "assert_ne!(f(), 3);", "assert_eq!(f(), 3);"),
        ("a_test.go", "if err != nil { t.Fatal() }", "if err == nil { t.Fatal() }"),
        ("a_test.go", "if !f() { t.Fatal() }", "if !(!f()) { t.Fatal() }"),
        (
            "a_test.go",
            "want := 3; if f(want) != want { t.Fatal() }",
            "want := 3; if f(want) == want { t.Fatal() }",
        ),
    ] {
        assert_eq!(changed(path, &in_a_test(path, honest)), in_a_test(path, other));
    }
}

#[test]
fn that_nothing_is_thrown_has_another_name_in_ava() {
    for import in ["import test from 'ava';", "const test = require(\"ava\");"] {
        let text = |name: &str| format!("{import}\ntest('x', t => {{ t.{name}(f); }});\n");
        assert_eq!(changed("a.js", &text("throws")), text("notThrows"));
        assert_eq!(changed("a.js", &text("notThrows")), text("throws"));
    }
}

#[test]
fn a_check_of_go_fails_by_the_parameter_or_the_suite_of_its_test() {
    for (function, failure) in [
        ("TestX(t *testing.T)", "t.Fatal()"),
        ("TestX(tb *testing.T)", "tb.Errorf(\"m\")"),
        ("(s *Suite) TestX()", "s.T().Error()"),
    ] {
        let text = |operator: &str, failure: &str| {
            format!(
                "package a\nimport \"github.com/stretchr/testify/suite\"\nfunc {function} {{\n\tif err {operator} nil {{\n\t\t{failure}\n\t}}\n}}\n"
            )
        };
        assert_eq!(changed("a_test.go", &text("!=", failure)), text("==", failure));
        let other = text("!=", "log.Fatal()");
        assert_eq!(changed("a_test.go", &other), other);
    }
}

#[test]
fn an_assertion_of_go_is_turned_over_where_it_is_one_of_testify() {
    let text = |import: &str, statement: &str| {
        format!("package a\nimport {import}\nfunc TestX(t *testing.T) {{ {statement} }}\n")
    };
    for (import, honest, other) in [
        ("\"github.com/stretchr/testify/require\"", "require.NoError(t, f())", "require.Error(t, f())"),
        (
            "(\n\"testing\"\nis \"github.com/stretchr/testify/assert\"\n)",
            "is.True(t, f())",
            "is.False(t, f())",
        ),
        (
            "\"gopkg.in/stretchr/testify.v1/assert\"",
            "assert.Equal(t, f(), g())",
            "assert.NotEqual(t, f(), g())",
        ),
    ] {
        assert_eq!(changed("a_test.go", &text(import, honest)), text(import, other));
    }
    for import in [
        "\"gotest.tools/v3/assert\"",
        "\"example.com/a/internal/assert\"",
        "assert \"example.com/a/like\"",
        "(\n\"gotest.tools/v3/assert\"\n\"github.com/stretchr/testify/suite\"\n)",
    ] {
        let text = text(import, "assert.Equal(t, f(), g())");
        assert_eq!(changed("a_test.go", &text), text);
    }
}

#[test]
fn tests_that_share_a_function_are_broken_once_and_by_either() {
    let text = "function check() { assert(run()) }\nit('a', check);\nit('b', check);\n";
    for breakage in [Breakage::FailingStatement, Breakage::ChangedLiteral] {
        let broken = |choose: &dyn Fn(&BrokenTest) -> bool| {
            let broken = break_chosen(breakage, &file("a.test.js", text), &mut Numbers::from_seed(1), choose);
            broken.expect("a small file")
        };
        let all = broken(&|_| true);
        let [a, b] = all.tests.as_slice() else { panic!("{all:?}") };
        assert!(a.is_changed() && a.change == b.change, "{all:?}");
        assert_eq!(all.text, broken(&|test| test == a).text, "{breakage:?}");
        assert_eq!(all.text, broken(&|test| test == b).text, "{breakage:?}");
    }
    assert!(changed("a.test.js", text).starts_with("function check() { assert(!(run())) }\n"));
}

#[test]
fn another_exception_is_expected_than_the_one_that_is_raised() {
    for (with, tail) in [
        ("with raises(", "): f()"),
        ("with pytest.raises(", ", match='m') as e: f()"),
        ("self.assertRaises(", ", f)"),
    ] {
        for exception in ["E", "(E, m.F)", "SystemExit"] {
            let text = in_a_test("a.py", &format!("{with}{exception}{tail}"));
            let after = changed("a.py", &text);
            let kept = after.contains(&format!("({exception}{tail}"));
            assert!(after.contains(with) && after.contains(tail) && !kept, "{after}");
        }
    }
}

#[test]
fn the_third_round_turns_an_assertion_over_though_it_has_a_literal() {
    let text = in_a_test("a.py", "assert f() == 3");
    let after = |nth| {
        let broken = change_literals(&file("a.py", &text), &mut in_round(9, nth)).expect("a small file");
        String::from_utf8(broken.text).expect("of a text")
    };
    let turned = in_a_test("a.py", "assert not (f() == 3)");
    assert_eq!([0, 1, 2, 3, 4, 5].map(|nth| after(nth) == turned), [false, false, true, false, false, true]);
}

pub fn in_a_test(path: &str, statement: &str) -> String {
    match Language::of(path.as_bytes()).expect("a known language") {
        Language::Python => format!("class TestX:\n  def test_x(self):\n    {statement}\n"),
        Language::JavaScript | Language::TypeScript | Language::Tsx => {
            format!("test('x', () => {{ {statement} }});\n")
        }
        Language::Rust => format!("#[test]\nfn x() {{ {statement} }}\n"),
        Language::Go => format!("package a\nfunc TestX(t *testing.T) {{ {statement} }}\n"),
    }
}

#[test]
fn what_an_example_of_go_should_print_is_changed() {
    let text = "package a\n\nfunc ExampleF() {\n\tfmt.Println(f())\n\t// Output:\n\t// ab cd\n}\n";
    for breakage in [Breakage::FailingStatement, Breakage::ChangedLiteral] {
        let broken = break_chosen(breakage, &file("a_test.go", text), &mut Numbers::from_seed(1), &|_| true);
        let broken = broken.expect("a small file");
        assert!(broken.tests[0].is_changed(), "{broken:?}");
        let after = String::from_utf8_lossy(&broken.text);
        assert!(after.starts_with(text.split("ab cd").next().expect("a part")) && after != text, "{after}");
        assert_eq!(after.len(), text.len());
    }
}
