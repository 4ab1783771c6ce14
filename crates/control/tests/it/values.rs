//! Where the value that a test expects is found, and where it is left alone.

use std::collections::BTreeSet;

use windlass_control::{Numbers, TestChange, change_literals};

use crate::form::{changed, file, in_a_test};

/// All that the text between the signs may become.
fn all_in_place(path: &str, statement: &str) -> BTreeSet<String> {
    let text = in_a_test(path, statement);
    let (head, rest) = text.split_once('«').expect("a begin");
    let (literal, tail) = rest.split_once('»').expect("an end");
    let honest = [head, literal, tail].concat();
    let mut all = BTreeSet::new();
    for seed in 0..40 {
        let broken = change_literals(&file(path, &honest), &mut Numbers::from_seed(seed));
        let after = String::from_utf8(broken.expect("a small file").text).expect("of a text");
        let inside = after.strip_prefix(head).and_then(|rest| rest.strip_suffix(tail));
        let inside = inside.unwrap_or_else(|| panic!("{statement}: {after}"));
        assert_ne!(inside, literal, "{statement}");
        all.insert(inside.to_owned());
    }
    all
}

#[test]
fn a_value_is_changed_where_it_is_written() {
    for (path, statement) in [
        ("a.py", "expected = «'VII'»; assert f(7) == expected"),
        ("a.py", "expected: int = «7»; g(); self.assertEqual(f(7), expected, expected)"),
        ("a.py", "expected = «[1, 2]»; self.assertCountEqual(f(), expected)"),
        ("a.py", "assert «'404'» in f(404)"),
        ("a.py", "self.assertIn(«'not found'», f(404))"),
        ("a.py", "self.assertAlmostEqual(f(), «-2.5», places=3)"),
        ("a.py", "assert f() == pytest.approx(«1.5», abs=0.01)"),
        ("a.py", "assert f() == {«'a'»: 1 + x}"),
        ("a.py", "assert f() == (x, «'b'», *y)"),
        ("a.py", "assert [f(), 2] == «[1, 2]»"),
        ("a.js", "const expected = «'VII'»; assert.strictEqual(f(7), expected, expected)"),
        ("a.js", "const expected = «[1, 2]»; expect(f()).toEqual(expected)"),
        ("a.ts", "let expected = «7»; expect(f()).toBe(expected)"),
        ("a.js", "assert.deepStrictEqual(f(), new Map([«['a', 1]»]))"),
        (
            "a.js",
            "const expected = new Map([«['a', '1'], ['b', '2']»]); assert.deepStrictEqual(f(), expected)",
        ),
        ("a.js", "expect(f()).toEqual(new Set([«'a', 'b'»]))"),
        ("a.js", "expect(f()).toEqual({ a: «'b'», c: expect.any(Number) })"),
        ("a.js", "expect(f()).toContain(«'404'»)"),
        ("a.js", "assert.include(f(), «'not found'»)"),
        ("a.js", "t.assert.strictEqual(f(), «'VII'»)"),
        ("a.js", "f(7).should.be.equal(«'VII'»)"),
        ("a.rs", "let expected = «\"VII\"»; assert_eq!(f(7), expected, \"{}\", 1);"),
        ("a.rs", "let expected: Vec<u8> = vec![«1, 2»]; assert_eq!(f(), &expected);"),
        ("a.rs", "let expected = Some(Expr::Num(«7»)); assert_eq!(f(), expected);"),
        ("a.rs", "assert_eq!(f(), «\"VII\"».to_string());"),
        ("a.rs", "assert_eq!(parse(\"7\"), Expr::Num(«7»));"),
        ("a.rs", "assert_eq!(f(), Point { x: «1, y: -2», ..z });"),
        ("a.rs", "assert_eq!(f(), vec![Expr::Num(«1), a::Expr::Add(Box::new(Num(2)), vec![Num(3»)])]);"),
        ("a_test.go", "want := «\"VII\"»; assert.Equal(t, want, f())"),
    ] {
        let all = all_in_place(path, statement);
        assert!(all.len() > 3, "{statement}: {all:?}");
    }
}

#[test]
fn a_value_is_changed_in_the_table_that_names_it() {
    let text = |names: &str, rows: &str, body: &str| {
        format!("@pytest.mark.parametrize({names}, {rows})\ndef test_x(n, x):\n    {body}\n")
    };
    for (names, body) in [("'n, x'", "assert f(n) == x"), ("['n', 'x']", "assert x == f(n) and g(), x")] {
        let rows = "[(1, 'I'), pytest.param(4, 'IV', id='b'), pytest.param(5, 'V', marks=m)]";
        let mut all = BTreeSet::new();
        for seed in 0..40 {
            let honest = text(names, rows, body);
            let broken = change_literals(&file("a.py", &honest), &mut Numbers::from_seed(seed));
            let broken = broken.expect("a small file");
            let after = String::from_utf8_lossy(&broken.text).into_owned();
            assert!(
                after.contains("(1, '") && after.contains("(4, '") && after.contains("(5, 'V'"),
                "{after}"
            );
            assert!(after.ends_with(&format!("{body}\n")), "{after}");
            assert!(matches!(broken.tests[0].change, TestChange::Literal { line: 3, .. }), "{broken:?}");
            all.insert(after);
        }
        assert!(all.len() > 10, "{all:?}");
    }
    for (names, rows, body) in [
        ("'n, x'", "[(1, 'I')]", "assert f(n, x) == x"),
        ("'n, x'", "[(1, 'I')], indirect=True", "assert f(n) == x"),
        ("'n, x'", "[pytest.param(1, 'I', marks=m)]", "assert f(n) == x"),
        ("'n, x'", "rows()", "assert f(n) == x"),
        ("'n, x'", "[(1, 'I')]", "if g(): return\n    assert f(n) == x"),
    ] {
        let honest = text(names, rows, body);
        assert!(
            changed("a.py", &honest).starts_with(honest.split("\ndef").next().expect("a head")),
            "{honest}"
        );
    }
    let fixture = format!(
        "@pytest.fixture\ndef made(x): return x\n\n{}",
        text("'n, x'", "[(1, 'I')]", "assert f(n) == x")
    );
    assert!(changed("a.py", &fixture).contains("[(1, 'I')]"));
}

#[test]
fn a_value_that_is_used_for_more_is_left_alone() {
    for (path, statement, turned) in [
        ("a.py", "x = 7; assert f(x) == x", "x = 7; assert not (f(x) == x)"),
        ("a.py", "x = 7; x = g(); assert f() == x", "x = 7; x = g(); assert not (f() == x)"),
        ("a.py", "x = [7]; x.append(g()); assert f() == x", "x = [7]; x.append(g()); assert not (f() == x)"),
        ("a.py", "self.assertAlmostEqual(f(), 2.5, delta=3)", "self.assertNotAlmostEqual(f(), 2.5, delta=3)"),
        ("a.py", "self.assertAlmostEqual(f(), 1.5e-9)", "self.assertNotAlmostEqual(f(), 1.5e-9)"),
        ("a.py", "assert f() == approx(3000000)", "assert not (f() == approx(3000000))"),
        ("a.py", "assert 'a' in 'abc'", "assert not ('a' in 'abc')"),
        ("a.py", "assert '\\n' in f()", "assert not ('\\n' in f())"),
        ("a.py", "self.assertCountEqual(f(), {'a': 1})", "self.assertCountEqual(f(), [*({'a': 1}), None])"),
        ("a.py", "assert f() == {**x, 'a': 1}", "assert not (f() == {**x, 'a': 1})"),
        ("a.py", "assert f() == {x: 1, 'a': 1}", "assert not (f() == {x: 1, 'a': 1})"),
        ("a.py", "assert (f(), 1) == (x, 1)", "assert not ((f(), 1) == (x, 1))"),
        ("a.js", "const x = 7; assert.equal(f(x), x)", "const x = 7; assert.notEqual(f(x), x)"),
        ("a.js", "let x = 7; x = g(); assert.equal(f(), x)", "let x = 7; x = g(); assert.notEqual(f(), x)"),
        ("a.js", "expect(f()).toEqual({ a: 1, ...x })", "expect(f()).not.toEqual({ a: 1, ...x })"),
        ("a.js", "expect(f()).toEqual({ a: 1, [x]: y })", "expect(f()).not.toEqual({ a: 1, [x]: y })"),
        (
            "a.js",
            "assert.deepEqual(f(), new Map([['a', 1], ['a', 2]]))",
            "assert.notDeepEqual(f(), new Map([['a', 1], ['a', 2]]))",
        ),
        ("a.ts", "const x: X = 'a'; equal(f(), x)", "const x: X = 'a'; equal(f(), x)"),
        ("a.rs", "let x = 7; assert_eq!(f(x), x);", "let x = 7; assert_ne!(f(x), x);"),
        (
            "a.rs",
            "let x = 7; f(format!(\"{x:?}\")); assert_eq!(f(), x);",
            "let x = 7; f(format!(\"{x:?}\")); assert_ne!(f(), x);",
        ),
        ("a.rs", "let x = [0; 4]; assert_eq!(f(), x);", "let x = [0; 4]; assert_ne!(f(), x);"),
        ("a.rs", "assert_eq!(f(), A(vec![0; 4]));", "assert_ne!(f(), A(vec![0; 4]));"),
        ("a.rs", "assert_eq!(f(), A::<4>(x));", "assert_ne!(f(), A::<4>(x));"),
        ("a.rs", "assert_eq!(f(), A::new(7));", "assert_ne!(f(), A::new(7));"),
        ("a.rs", "assert_eq!(f(), NAMES[7]);", "assert_ne!(f(), NAMES[7]);"),
        ("a.rs", "assert_eq!(A(f(), 7), A(g(), 7));", "assert_ne!(A(f(), 7), A(g(), 7));"),
        ("a.py", "self.assertCountEqual(f(x), x)", "self.assertCountEqual(f(x), [*(x), None])"),
    ] {
        assert_eq!(changed(path, &in_a_test(path, statement)), in_a_test(path, turned));
    }
}

#[test]
fn an_assertion_of_node_is_known_by_the_name_that_a_file_gives_it() {
    for (import, call) in [
        ("import { strictEqual } from 'node:assert/strict';", "strictEqual"),
        ("import { deepEqual as same } from \"assert\";", "same"),
        ("const { strictEqual: eq } = require('node:assert').strict;", "eq"),
        ("const assert = require('assert');\nconst { equal } = assert;", "equal"),
        ("import a from 'assert';", "a.equal"),
        ("import * as a from 'node:assert';", "a.strict.equal"),
        ("const { assert: a } = require('chai');", "a.deepEqual"),
        ("import { assertEquals } from 'jsr:@std/assert@1';", "assertEquals"),
    ] {
        let text = |value: &str| format!("{import}\ntest('x', () => {{ {call}(f(), {value}); }});\n");
        for seed in 0..10 {
            let honest = text("'VII'");
            let broken = change_literals(&file("a.test.ts", &honest), &mut Numbers::from_seed(seed));
            let broken = broken.expect("a small file");
            let TestChange::Literal { after, .. } = &broken.tests[0].change else {
                panic!("{import}: {broken:?}")
            };
            assert_eq!(String::from_utf8_lossy(&broken.text), text(after), "{import}");
        }
    }
    for import in ["", "import { equal } from './like.js';", "const { equal } = require('like');"] {
        let text = format!("{import}\ntest('x', () => {{ equal(f(), 'VII'); }});\n");
        assert_eq!(changed("a.test.js", &text), text);
    }
}

#[test]
fn of_what_a_value_is_made_of_all_literals_become_others() {
    let text = in_a_test(
        "a.rs",
        "assert_eq!(f(), A::B { name: \"ab\".into(), at: (1, true), of: Box::new(C(44)) });",
    );
    for seed in 0..20 {
        let broken =
            change_literals(&file("a.rs", &text), &mut Numbers::from_seed(seed)).expect("a small file");
        let after = String::from_utf8_lossy(&broken.text).into_owned();
        for honest in ["\"ab\"", "(1,", "true", "44"] {
            assert!(!after.contains(honest), "{after}");
        }
        assert!(
            after.contains("f(), A::B { name: \"") && after.contains("false), of: Box::new(C("),
            "{after}"
        );
    }
}

#[test]
fn a_value_is_changed_in_the_table_that_jest_hands_to_the_test() {
    let text = |rows: &str, function: &str| format!("test.each([{rows}])('%i is %s', {function});\n");
    for (rows, function) in [
        ("[1, «'I'], [4, 'IV'»]", "(n, x) => { expect(f(n)).toBe(x); }"),
        ("{ n: 1, x: «'I' }, { n: 4, x: 'IV'» }", "({ n, x }) => expect(f(n)).toBe(x)"),
        ("[1, «'I'], [4, 'IV'»]", "(n: number, x: string) => { assert.equal(f(n), x); }"),
        ("«'I', 'IV'»", "(x) => { expect(f()).toContain('a'.repeat(3)); expect(g()).toEqual(x); }"),
    ] {
        let signed = text(rows, function);
        let (head, rest) = signed.split_once('«').expect("a begin");
        let (_, tail) = rest.split_once('»').expect("an end");
        let honest = signed.replace(['«', '»'], "");
        for seed in 0..20 {
            let broken = change_literals(&file("a.test.ts", &honest), &mut Numbers::from_seed(seed));
            let after = String::from_utf8(broken.expect("a small file").text).expect("of a text");
            assert!(after != honest && after.starts_with(head) && after.ends_with(tail), "{after}");
        }
    }
    for (rows, function) in [
        ("[1, 'I']", "(n, x) => { expect(f(n, x)).toBe(x); }"),
        ("[...g(), 'I']", "(n, x) => { assert.equal(f(n), x); }"),
        ("[1, 'I']", "(n: number, x: X) => { assert.equal(f(n), x); }"),
    ] {
        let honest = text(rows, function);
        let after = changed("a.test.ts", &honest);
        assert!(after.starts_with(&text(rows, "")[..honest.len() - function.len() - 3]), "{after}");
    }
}
