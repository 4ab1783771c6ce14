//! Suites with tests of many forms, checks that behave in ways of their own, and a base that is red.

use super::super::case::{Case, ProjectKind};

const SUB: &str = "\n\ndef sub(a, b):\n    return a - b\n";

pub fn cases() -> Vec<Case> {
    [forms(), bases()].into_iter().flatten().collect()
}

fn forms() -> Vec<Case> {
    vec![
        Case::new("F01", ProjectKind::PythonFlat, "a fix beside tests of many forms")
            .base("tests/test_forms.py", PYTHON)
            .appends("calc.py", SUB),
        Case::new("F02", ProjectKind::Node, "a fix beside tests of many forms")
            .base("test/forms.test.js", NODE)
            .appends("lib/basket.js", "exports.most = (prices) => Math.max(...prices);\n"),
        Case::new("F03", ProjectKind::RustCrate, "a fix beside tests of many forms")
            .base("tests/forms.rs", RUST)
            .appends("src/lib.rs", "\n/// Doubles.\n///\n/// ```\n/// assert_eq!(shop::double(2), 4);\n/// ```\npub fn double(x: i64) -> i64 {\n    2 * x\n}\n"),
        Case::new("F04", ProjectKind::Go, "a fix beside tests of many forms")
            .base("forms_test.go", GO)
            .writes("double.go", "package shop\n\n// Double doubles.\nfunc Double(x int) int { return 2 * x }\n"),
    ]
}

fn bases() -> Vec<Case> {
    let many: String =
        (0..12).map(|n| format!("def test_{n}():\n    assert {n} + 1 == {}\n\n\n", n + 1)).collect();
    vec![
        Case::new("F05", ProjectKind::PythonFlat, "a runner that stops at the first failure")
            .base("pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"-x\"\n")
            .base("tests/test_many.py", many.trim_end().to_owned() + "\n")
            .appends("calc.py", SUB)
            .appends("tests/test_calc.py", "\n\ndef test_sub():\n    assert calc.sub(3, 1) == 2\n"),
        Case::new("F06", ProjectKind::PythonFlat, "tests of the operator's that cannot be collected yet")
            .base("tests/test_sub.py", "import sys\n\nfrom calc import sub\n\n\ndef test_sub():\n    assert sub(3, 1) == 2\n\n\ndef test_elsewhere():\n    if sys.platform == \"win32\":\n        assert sub(3, 1) == 2\n")
            .appends("calc.py", SUB),
        Case::new("F07", ProjectKind::RustCrate, "tests of the operator's that do not compile yet")
            .base("tests/most.rs", "#[test]\nfn finds_the_most() {\n    assert_eq!(shop::most(&[1, 3]), Some(3));\n}\n")
            .appends("src/lib.rs", "\npub fn most(prices: &[i64]) -> Option<i64> {\n    prices.iter().copied().max()\n}\n"),
        Case::new("F08", ProjectKind::Make, "test programs built beside the tests, and a base that does not compile")
            .base("Makefile", "test: tests/mul tests/add\n\t./tests/mul && ./tests/add\n\ntests/%: tests/%.c $(wildcard src/*.c)\n\t$(CC) -Isrc -o $@ $^\n")
            .base(".gitignore", "tests/mul\ntests/add\n")
            .base("tests/mul.c", "#include \"mul.h\"\n\nint main(void) { return mul(2, 3) != 6; }\n")
            .writes("src/mul.c", "#include \"mul.h\"\n\nint mul(int a, int b) { return a * b; }\n")
            .writes("src/mul.h", "int mul(int a, int b);\n")
            .allows("tests/add")
            .allows("tests/mul"),
        Case::new("F09", ProjectKind::PythonFlat, "a new test with a database beside it")
            .base("tests/test_book.py", "import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n")
            .runs("python3 -c \"import sqlite3; d = sqlite3.connect('tests/book.db'); d.execute('create table t (n)'); d.execute('insert into t values (7)'); d.commit()\"")
            .writes("tests/test_database.py", "import pathlib\nimport sqlite3\n\n\ndef test_database():\n    book = sqlite3.connect(pathlib.Path(__file__).with_name(\"book.db\"))\n    assert book.execute(\"select n from t\").fetchone() == (7,)\n"),
        Case::new("F10", ProjectKind::PythonFlat, "a bug fix beside tests that this machine skips")
            .base("tests/test_half.py", "import calc\n\n\ndef test_half():\n    assert calc.half(4) == 2\n")
            .base("tests/test_elsewhere.py", "import sys\n\nimport pytest\n\nimport calc\n\n\n@pytest.mark.skipif(sys.platform != \"win32\", reason=\"Windows\")\ndef test_there():\n    assert calc.add(1, 1) == 2\n")
            .base("tests/test_optional.py", "import pytest\n\nlibrary = pytest.importorskip(\"a_library_of_few\")\n\n\ndef test_with_it():\n    assert library.one() == 1\n")
            .appends("calc.py", "\n\ndef half(n):\n    return n // 2\n"),
        Case::new("F11", ProjectKind::RustCrate, "a bug fix beside tests of another system")
            .base("tests/aaa.rs", "#[test]\nfn finds_the_most() {\n    assert_eq!(shop::most(&[1, 3]), Some(3));\n}\n")
            .base("tests/on_windows.rs", "#[cfg(windows)]\n#[test]\nfn is_there() {\n    assert_eq!(shop::most(&[1, 3]), Some(3));\n}\n")
            .appends("src/lib.rs", "\npub fn most(prices: &[i64]) -> Option<i64> {\n    prices.iter().copied().max()\n}\n"),
    ]
}

const PYTHON: &str = r#"import asyncio
import sys
import unittest

import pytest

import calc


@pytest.fixture
def pair():
    yield 2, 3


def test_fixture(pair):
    assert calc.add(*pair) == 5
    return None


@pytest.mark.parametrize("a, b, c", [(1, 2, 3), (0, 0, 0)], ids=["small", "none"])
def test_table(a, b, c):
    assert calc.add(a, b) == c


@pytest.mark.xfail(reason="known")
def test_known():
    assert calc.add(1, 1) == 3


@pytest.mark.skipif(sys.platform == "linux", reason="elsewhere")
def test_elsewhere():
    assert calc.add(1, 1) == 2


def test_raises():
    with pytest.raises(TypeError):
        calc.add(1, "a")


def test_skips_itself():
    pytest.skip("not here")
    assert calc.add(1, 1) == 2


class TestGroup:
    def setup_method(self):
        self.one = 1

    def test_in_group(self):
        for n, want in [(1, 2), (2, 3)]:
            assert calc.add(self.one, n) == want


class Old(unittest.TestCase):
    def test_parts(self):
        for n in range(3):
            with self.subTest(n=n):
                self.assertEqual(calc.add(n, 0), n)

    @unittest.expectedFailure
    def test_expected(self):
        self.assertEqual(calc.add(1, 1), 3)

    def test_almost(self):
        self.assertAlmostEqual(calc.add(0.1, 0.2), 0.3)


class Later(unittest.IsolatedAsyncioTestCase):
    async def test_later(self):
        await asyncio.sleep(0)
        self.assertEqual(calc.add(1, 1), 2)


def test_only_elsewhere():
    if sys.platform == "win32":
        assert calc.add(1, 1) == 2
"#;

const NODE: &str = r#"'use strict';
const { describe, it, test, before } = require('node:test');
const assert = require('node:assert');
const { total } = require('../lib/basket.js');

describe('a basket', () => {
  let prices;
  before(() => {
    prices = [1, 2];
  });
  it('adds up', () => {
    assert.strictEqual(total(prices), 300);
  });
  describe('inside', () => {
    it('is deep', async () => {
      assert.deepStrictEqual([total([1])], [100]);
    });
  });
  it.skip('comes later', () => {
    assert.strictEqual(total([]), 1);
  });
});

for (const n of [1, 2]) {
  test(`times ${n}`, () => {
    assert.equal(total([n]), n * 100);
  });
}

test('with parts', async (t) => {
  await t.test('the first part', () => {
    assert.ok(total([1]) === 100);
  });
});

test('throws', () => {
  assert.throws(() => total(null), TypeError);
});

test.todo('one day');

test('by callback', (t, done) => {
  setImmediate(() => {
    assert.equal(total([]), 0);
    done();
  });
});
"#;

const RUST: &str = r#"mod inside {
    #[test]
    fn deep() {
        assert_eq!(shop::total(&[1.0]), 100);
    }
}

#[test]
#[should_panic(expected = "nothing")]
fn panics() {
    assert_eq!(shop::total(&[]), 1, "nothing");
}

#[test]
fn gives_a_result() -> Result<(), std::num::ParseIntError> {
    let want: i64 = "100".parse()?;
    assert_eq!(shop::total(&[1.0]), want);
    Ok(())
}

#[test]
#[ignore = "slow"]
fn slow() {
    assert_eq!(shop::total(&[2.0]), 200);
}

#[test]
#[cfg(windows)]
fn elsewhere() {
    assert_eq!(shop::total(&[2.0]), 200);
}

macro_rules! tests {
    ($($name:ident: $price:expr => $want:expr,)*) => {
        $(
            #[test]
            fn $name() {
                assert_eq!(shop::total(&[$price]), $want);
            }
        )*
    };
}

tests! {
    one: 1.0 => 100,
    two: 2.0 => 200,
}

#[test]
fn in_a_thread() {
    std::thread::spawn(|| assert_eq!(shop::total(&[3.0]), 300)).join().unwrap();
}
"#;

const GO: &str = r#"package shop

import (
	"fmt"
	"runtime"
	"testing"
)

func TestTable(t *testing.T) {
	for _, c := range []struct {
		name string
		want int
	}{{"one", 1}, {"two", 2}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := Total([]int{c.want}); got != c.want {
				t.Errorf("got %d", got)
			}
		})
	}
}

func TestElsewhere(t *testing.T) {
	if runtime.GOOS == "linux" {
		t.Skip("elsewhere")
	}
	if Total(nil) != 0 {
		t.Fatal("wrong")
	}
}

func TestReturns(t *testing.T) {
	if Total([]int{1}) == 1 {
		return
	}
	t.Fatal("wrong")
}

func ExampleTotal() {
	fmt.Println(Total([]int{1, 2}))
	// Output: 3
}

func FuzzTotal(f *testing.F) {
	f.Add(1)
	f.Fuzz(func(t *testing.T, n int) {
		if Total([]int{n}) != n {
			t.Fatal("wrong")
		}
	})
}
"#;
