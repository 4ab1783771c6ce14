//! A Python project whose modules lie at the root.

use super::super::case::{Case, Ending, ProjectKind};

pub const FILES: &[(&str, &str)] = &[
    ("pyproject.toml", "[project]\nname = \"calc\"\nversion = \"0.1\"\ndependencies = []\n"),
    (
        "calc.py",
        "from helpers import cents\n\n\ndef add(a, b):\n    return a + b\n\n\ndef price(amount):\n    return cents(amount) / 100\n",
    ),
    ("helpers.py", "def cents(amount):\n    return round(amount * 100)\n"),
    (
        "tests/test_calc.py",
        "import calc\n\n\ndef test_add():\n    assert calc.add(2, 3) == 5\n\n\ndef test_price():\n    assert calc.price(1.239) == 1.24\n",
    ),
    (".gitignore", "__pycache__/\n.pytest_cache/\n"),
    ("README.md", "# calc\n"),
];

const SUB: &str = "\n\ndef sub(a, b):\n    return a - b\n";
const TEST_SUB: &str = "import calc\n\n\ndef test_sub():\n    assert calc.sub(5, 3) == 2\n";

fn case(id: &'static str, work: &'static str) -> Case {
    Case::new(id, ProjectKind::PythonFlat, work)
}

pub fn cases() -> Vec<Case> {
    [features(), settings(), files()].into_iter().flatten().collect()
}

fn features() -> Vec<Case> {
    vec![
        case("P01", "a feature with new tests")
            .appends("calc.py", SUB)
            .writes("tests/test_sub.py", TEST_SUB)
            .quick(),
        case("P02", "tests first, the feature in the next iteration")
            .writes("tests/test_sub.py", TEST_SUB)
            .next_turn()
            .appends("calc.py", SUB),
        case("P03", "tests appended to an existing file")
            .appends("calc.py", SUB)
            .appends("tests/test_calc.py", "\n\ndef test_sub():\n    assert calc.sub(5, 3) == 2\n"),
        case("P04", "a bug fix, its test is there and red")
            .base(
                "calc.py",
                "def add(a, b):\n    return a - b\n\n\ndef price(amount):\n    return round(amount, 2)\n",
            )
            .writes(
                "calc.py",
                "def add(a, b):\n    return a + b\n\n\ndef price(amount):\n    return round(amount, 2)\n",
            ),
        case("P05", "a bug fix with a test for it")
            .runs("sed -i 's/return round(amount \\* 100)/return int(round(amount * 100))/' helpers.py")
            .appends(
                "tests/test_calc.py",
                "\n\ndef test_whole_cents():\n    assert isinstance(calc.cents(1.5), int)\n",
            ),
        case("P06", "a module renamed that no test names")
            .runs("mv helpers.py money.py\nsed -i 's/from helpers/from money/' calc.py"),
        case("P07", "a module renamed that a test imports")
            .runs("mv calc.py calculator.py\nsed -i 's/calc\\b/calculator/g' tests/test_calc.py")
            .ends(Ending::Allow),
        case("P08", "a new top-level module with its test")
            .writes(
                "report.py",
                "import calc\n\n\ndef line(a, b):\n    return f\"{calc.add(a, b)} in all\"\n",
            )
            .writes(
                "tests/test_report.py",
                "import report\n\n\ndef test_line():\n    assert report.line(1, 2) == \"3 in all\"\n",
            ),
        case("P09", "a first test in a project without any")
            .absent("tests/test_calc.py")
            .appends("calc.py", SUB)
            .writes("tests/test_sub.py", TEST_SUB),
        case("P10", "a new package directory")
            .writes("shop/__init__.py", "from shop.basket import total\n")
            .writes(
                "shop/basket.py",
                "import calc\n\n\ndef total(prices):\n    return calc.price(sum(prices))\n",
            )
            .writes(
                "tests/test_basket.py",
                "import shop\n\n\ndef test_total():\n    assert shop.total([1, 2]) == 3\n",
            ),
    ]
}

fn settings() -> Vec<Case> {
    vec![
        case("P11", "a dependency that the machine has")
            .runs("sed -i 's/dependencies = \\[\\]/dependencies = [\"packaging\"]/' pyproject.toml")
            .appends("calc.py", "\n\ndef newest(versions):\n    from packaging.version import Version\n\n    return max(versions, key=Version)\n")
            .appends("tests/test_calc.py", "\n\ndef test_newest():\n    assert calc.newest([\"1.9\", \"1.10\"]) == \"1.10\"\n"),
        case("P12", "a dependency as a wheel that comes along")
            .runs("mkdir wheels; python3 -c \"import zipfile; z = zipfile.ZipFile('wheels/tiny-1.0-py3-none-any.whl', 'w'); z.writestr('tiny.py', 'def twice(x):\\n    return 2 * x\\n')\"")
            .appends("pyproject.toml", "\n[tool.pytest.ini_options]\npythonpath = [\"wheels/tiny-1.0-py3-none-any.whl\"]\n")
            .appends("calc.py", "\n\ndef double(x):\n    import tiny\n\n    return tiny.twice(x)\n")
            .appends("tests/test_calc.py", "\n\ndef test_double():\n    assert calc.double(4) == 8\n"),
        case("P13", "a setting of the test runner")
            .appends("pyproject.toml", "\n[tool.pytest.ini_options]\naddopts = \"--strict-markers\"\nmarkers = [\"slow: takes its time\"]\n")
            .appends("tests/test_calc.py", "\n\nimport pytest\n\n\n@pytest.mark.slow\ndef test_many():\n    assert calc.add(10**9, 1) == 1000000001\n"),
        case("P14", "fixtures for the new tests in a new conftest.py")
            .writes("tests/conftest.py", "import pytest\n\n\n@pytest.fixture\ndef pair():\n    return 2, 3\n")
            .writes("tests/test_pair.py", "import calc\n\n\ndef test_pair(pair):\n    assert calc.add(*pair) == 5\n"),
        case("P15", "settings of a linter, and a changelog")
            .writes(".flake8", "[flake8]\nmax-line-length = 100\n")
            .writes("CHANGELOG.md", "# Changes\n")
            .appends("calc.py", SUB),
    ]
}

fn files() -> Vec<Case> {
    vec![
        case("P16", "a data file at the root that the product reads")
            .writes("data/rates.json", "{\"eur\": 2}\n")
            .appends("calc.py", "\n\ndef in_euro(amount):\n    import json\n    import pathlib\n\n    rates = pathlib.Path(__file__).parent / \"data\" / \"rates.json\"\n    return amount * json.loads(rates.read_text())[\"eur\"]\n")
            .appends("tests/test_calc.py", "\n\ndef test_in_euro():\n    assert calc.in_euro(3) == 6\n"),
        case("P17", "a data file that only new tests read")
            .appends("calc.py", SUB)
            .writes("tests/data/pairs.csv", "5,3,2\n9,4,5\n")
            .writes("tests/test_pairs.py", "import csv\nimport pathlib\n\nimport calc\n\n\ndef test_pairs():\n    rows = (pathlib.Path(__file__).parent / \"data\" / \"pairs.csv\").read_text().splitlines()\n    for a, b, c in csv.reader(rows):\n        assert calc.sub(int(a), int(b)) == int(c)\n"),
        case("P18", "a new snapshot with its test")
            .appends("calc.py", SUB)
            .writes("tests/snapshots/sub.txt", "2\n")
            .writes("tests/test_snapshot.py", "import pathlib\n\nimport calc\n\n\ndef test_snapshot():\n    want = (pathlib.Path(__file__).parent / \"snapshots\" / \"sub.txt\").read_text()\n    assert f\"{calc.sub(5, 3)}\\n\" == want\n"),
        case("P19", "a snapshot that has to change")
            .base("tests/snapshots/add.txt", "add: 5\n")
            .base("calc.py", "def add(a, b):\n    return a + b\n\n\ndef price(amount):\n    return round(amount, 2)\n\n\ndef shown(a, b):\n    return f\"add: {add(a, b)}\\n\"\n")
            .base("tests/test_shown.py", "import pathlib\n\nimport calc\n\n\ndef test_shown():\n    want = (pathlib.Path(__file__).parent / \"snapshots\" / \"add.txt\").read_text()\n    assert calc.shown(2, 3) == want\n")
            .runs("sed -i 's/add: {/sum: {/' calc.py\necho 'sum: 5' >tests/snapshots/add.txt")
            .ends(Ending::Allow)
            .quick(),
        case("P20", "a generated module that is committed")
            .writes("tools/table.py", "print(\"SQUARES = \" + repr([n * n for n in range(9)]))\n")
            .runs("python3 tools/table.py >squares.py")
            .writes("tests/test_squares.py", "import squares\n\n\ndef test_squares():\n    assert squares.SQUARES[3] == 9\n"),
        case("P21", "a check that writes at the root, and a test that writes more")
            .base("tests/test_report.py", "import calc\n\n\ndef test_report():\n    with open(\"report.txt\", \"w\") as out:\n        out.write(str(calc.add(1, 2)))\n")
            .appends("calc.py", SUB)
            .writes("tests/test_log.py", "import calc\n\n\ndef test_log():\n    with open(\"differences.log\", \"w\") as out:\n        out.write(str(calc.sub(1, 2)))\n    assert open(\"differences.log\").read() == \"-1\"\n"),
        case("P22", "a new test that writes into a directory of its own")
            .appends("calc.py", SUB)
            .writes("tests/test_out.py", "import pathlib\n\nimport calc\n\n\ndef test_out():\n    out = pathlib.Path(\"build/out\")\n    out.mkdir(parents=True, exist_ok=True)\n    (out / \"sub.txt\").write_text(str(calc.sub(3, 2)))\n    assert (out / \"sub.txt\").read_text() == \"1\"\n"),
        case("P23", "tests that write beside themselves, as those of the base do")
            .base("tests/test_report.py", "import pathlib\n\nimport calc\n\n\ndef test_report():\n    out = pathlib.Path(__file__).parent / \"out\"\n    out.mkdir(exist_ok=True)\n    (out / \"add.txt\").write_text(str(calc.add(1, 2)))\n")
            .appends("calc.py", SUB)
            .writes("tests/test_log.py", "import pathlib\n\nimport calc\n\n\ndef test_log():\n    out = pathlib.Path(__file__).parent / \"out\"\n    out.mkdir(exist_ok=True)\n    (out / \"sub.txt\").write_text(str(calc.sub(1, 2)))\n    assert (out / \"sub.txt\").read_text() == \"-1\"\n"),
    ]
}
