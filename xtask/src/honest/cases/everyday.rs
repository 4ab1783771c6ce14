//! What happens every day in any project, tried in one of them each.

use super::super::case::{Case, Ending, ProjectKind};

const SUB: &str = "\n\ndef sub(a, b):\n    return a - b\n";
const TEST_SUB: &str = "import calc\n\n\ndef test_sub():\n    assert calc.sub(5, 3) == 2\n";

fn python(id: &'static str, work: &'static str) -> Case {
    Case::new(id, ProjectKind::PythonFlat, work)
}

pub fn cases() -> Vec<Case> {
    [tests(), tasks(), files(), writes(), programs()].into_iter().flatten().collect()
}

fn tests() -> Vec<Case> {
    vec![
        python("E01", "more tests for what is there, and nothing else")
            .writes("tests/test_more.py", "import pytest\n\nimport calc\n\n\n@pytest.mark.parametrize(\"a, b, c\", [(1, 2, 3), (0, 0, 0)])\ndef test_more(a, b, c):\n    assert calc.add(a, b) == c\n\n\ndef test_raises():\n    with pytest.raises(TypeError):\n        calc.add(1, \"a\")\n\n\n@pytest.mark.skip(reason=\"later\")\ndef test_later():\n    assert calc.add(1, 1) == 3\n"),
        python("E02", "the import line of an existing test made longer")
            .base("tests/test_calc.py", "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n")
            .appends("calc.py", SUB)
            .runs("sed -i 's/import add/import add, sub/' tests/test_calc.py")
            .appends("tests/test_calc.py", "\n\ndef test_sub():\n    assert sub(5, 3) == 2\n")
            .ends(Ending::Allow),
        python("E03", "a feature removed with its tests")
            .base("tests/test_price.py", "import calc\n\n\ndef test_price():\n    assert calc.price(1) == 1\n")
            .base("tests/test_calc.py", "import calc\n\n\ndef test_add():\n    assert calc.add(2, 3) == 5\n")
            .runs("printf 'def add(a, b):\\n    return a + b\\n' >calc.py\nrm helpers.py tests/test_price.py")
            .ends(Ending::Allow),
        python("E04", "tests beside the modules")
            .absent("tests/test_calc.py")
            .base("test_calc.py", "import calc\n\n\ndef test_add():\n    assert calc.add(2, 3) == 5\n")
            .appends("calc.py", SUB)
            .writes("test_sub.py", TEST_SUB),
        Case::new("E05", ProjectKind::Node, "tests beside the modules, in __tests__")
            .absent("test/basket.test.js")
            .base("src/__tests__/basket.js", "const test = require('node:test');\nconst assert = require('node:assert');\ntest('adds up', () => {\n  assert.equal(require('../../lib/basket.js').total([1]), 100);\n});\n")
            .base("package.json", "{\n  \"name\": \"shop\",\n  \"scripts\": { \"test\": \"node --test src/__tests__/\" }\n}\n")
            .appends("lib/basket.js", "exports.most = (prices) => Math.max(...prices);\n")
            .writes("src/__tests__/most.js", "const test = require('node:test');\nconst assert = require('node:assert');\ntest('finds the most', () => {\n  assert.equal(require('../../lib/basket.js').most([1, 3]), 3);\n});\n"),
    ]
}

fn tasks() -> Vec<Case> {
    vec![
        python("E06", "two tasks, each a feature with its tests")
            .appends("calc.py", SUB)
            .writes("tests/test_sub.py", TEST_SUB)
            .next_task()
            .appends("calc.py", "\n\ndef mul(a, b):\n    return a * b\n")
            .appends("tests/test_sub.py", "\n\ndef test_mul():\n    assert calc.mul(2, 3) == 6\n"),
        python("E07", "a setting in one task, tests that need it in the next")
            .appends("pyproject.toml", "\n[tool.pytest.ini_options]\naddopts = \"--strict-markers\"\nmarkers = [\"slow: takes its time\"]\n")
            .next_task()
            .appends("calc.py", SUB)
            .writes("tests/test_slow.py", "import pytest\n\nimport calc\n\n\n@pytest.mark.slow\ndef test_slow():\n    assert calc.sub(3, 1) == 2\n"),
        Case::new("E08", ProjectKind::RustCrate, "a dependency in one task, used by the next as well")
            .writes("vendor/tiny/Cargo.toml", "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
            .writes("vendor/tiny/src/lib.rs", "pub fn twice(x: i64) -> i64 {\n    2 * x\n}\n")
            .appends("Cargo.toml", "\n[dependencies]\ntiny = { path = \"vendor/tiny\" }\n")
            .runs("cargo update --offline --quiet --workspace")
            .appends("src/lib.rs", "\npub fn double(x: i64) -> i64 {\n    tiny::twice(x)\n}\n")
            .next_task()
            .appends("src/lib.rs", "\npub fn fourfold(x: i64) -> i64 {\n    tiny::twice(double(x))\n}\n")
            .writes("tests/fourfold.rs", "#[test]\nfn four_times() {\n    assert_eq!(shop::fourfold(2), 8);\n}\n")
            .ends(Ending::Reviewer),
    ]
}

fn files() -> Vec<Case> {
    vec![
        python("E09", "only documentation, an image and a licence")
            .writes("docs/index.rst", "calc\n====\n")
            .runs("printf '\\211PNG\\r\\n' >docs/logo.png\necho MIT >LICENSE"),
        python("E10", "a workflow of CI, and settings of the editor")
            .writes(".github/workflows/ci.yml", "on: push\njobs: {}\n")
            .writes(".editorconfig", "root = true\n")
            .appends("calc.py", SUB),
        python("E11", "what agents are told, in AGENTS.md")
            .writes("AGENTS.md", "Run pytest before you commit.\n")
            .appends("calc.py", SUB)
            .ends(Ending::Allow),
        python("E12", "names with spaces and of other alphabets, a script and a link")
            .writes("data/zwölf Preise.csv", "12\n")
            .writes("scripts/show prices.sh", "#!/bin/sh\ncat data/*.csv\n")
            .runs("chmod +x 'scripts/show prices.sh'\nln -s calc.py calculator.py")
            .writes("tests/test_link.py", "import calculator\n\n\ndef test_link():\n    assert calculator.add(1, 1) == 2\n"),
        python("E13", "an agent that runs the tests itself and leaves what they write")
            .absent(".gitignore")
            .appends("calc.py", SUB)
            .writes("tests/test_sub.py", TEST_SUB)
            .runs("python3 -m pytest -q --junitxml=junit.xml"),
        Case::new("E14", ProjectKind::Node, "an agent that installs packages and forgets .gitignore")
            .absent(".gitignore")
            .base("vendor/tiny/package.json", "{ \"name\": \"tiny\", \"version\": \"1.0.0\", \"main\": \"index.js\" }\n")
            .base("vendor/tiny/index.js", "exports.twice = (x) => 2 * x;\n")
            .base("package.json", "{\n  \"name\": \"shop\",\n  \"version\": \"1.0.0\",\n  \"scripts\": { \"test\": \"node --test test\" },\n  \"dependencies\": { \"tiny\": \"file:vendor/tiny\" }\n}\n")
            .base("package-lock.json", "{\n  \"name\": \"shop\",\n  \"version\": \"1.0.0\",\n  \"lockfileVersion\": 3,\n  \"requires\": true,\n  \"packages\": {\n    \"\": { \"name\": \"shop\", \"version\": \"1.0.0\", \"dependencies\": { \"tiny\": \"file:vendor/tiny\" } },\n    \"node_modules/tiny\": { \"resolved\": \"vendor/tiny\", \"link\": true },\n    \"vendor/tiny\": { \"version\": \"1.0.0\" }\n  }\n}\n")
            .runs("npm ci --offline --no-audit --no-fund --loglevel=error")
            .appends("lib/basket.js", "exports.most = (prices) => Math.max(...prices);\n"),
        Case::new("E27", ProjectKind::Node, "an agent that installs a package for itself, beside a lock file of none")
            .absent(".gitignore")
            .base("package-lock.json", "{\n  \"name\": \"shop\",\n  \"version\": \"1.0.0\",\n  \"lockfileVersion\": 3,\n  \"requires\": true,\n  \"packages\": {}\n}\n")
            .runs("mkdir \"$TMPDIR/tiny\"\necho '{ \"name\": \"tiny\", \"version\": \"1.0.0\" }' >\"$TMPDIR/tiny/package.json\"")
            .runs("npm install --offline --no-save --install-links --no-audit --no-fund --loglevel=error \"$TMPDIR/tiny\"")
            .runs("test -f node_modules/tiny/package.json || exit 1")
            .appends("lib/basket.js", "exports.most = (prices) => Math.max(...prices);\n"),
        Case::new("E15", ProjectKind::RustCrate, "a crate whose Cargo.lock is not committed")
            .absent("Cargo.lock")
            .base(".gitignore", "/target\n/Cargo.lock\n")
            .appends("src/lib.rs", "\npub fn most(prices: &[i64]) -> Option<i64> {\n    prices.iter().copied().max()\n}\n")
            .writes("tests/most.rs", "#[test]\nfn finds_the_most() {\n    assert_eq!(shop::most(&[1, 3]), Some(3));\n}\n"),
    ]
}

fn writes() -> Vec<Case> {
    vec![
        python("E16", "a new test that writes beside itself, and elsewhere once the author is told")
            .appends("calc.py", SUB)
            .runs("place='pathlib.Path(__file__).parent'\nif grep -q 'A test may write to a temporary directory'; then place=tmp_path; fi")
            .writes("tests/test_out.py", "import pathlib\n\nimport calc\n\n\ndef test_out(tmp_path):\n    out = PLACE / \"out.txt\"\n    out.write_text(str(calc.sub(3, 2)))\n    assert out.read_text() == \"1\"\n")
            .runs("sed -i \"s/PLACE/$place/\" tests/test_out.py"),
        python("E17", "a tool that keeps its settings in the home directory")
            .appends("calc.py", "\n\ndef remember(value):\n    import pathlib\n\n    file = pathlib.Path.home() / \".config\" / \"calc\" / \"settings.ini\"\n    file.parent.mkdir(parents=True, exist_ok=True)\n    file.write_text(value)\n    return file.read_text()\n")
            .writes("tests/test_remember.py", "import calc\n\n\ndef test_remember():\n    assert calc.remember(\"x\") == \"x\"\n"),
        python("E18", "a tool with a file of its own in the home directory")
            .appends("calc.py", "\n\ndef remember(value):\n    import pathlib\n\n    file = pathlib.Path.home() / \".calcrc\"\n    file.write_text(value)\n    return file.read_text()\n")
            .writes("tests/test_remember.py", "import calc\n\n\ndef test_remember():\n    assert calc.remember(\"x\") == \"x\"\n"),
        python("E19", "tests of a tool that reads setup.cfg, in temporary directories")
            .appends("calc.py", "\n\ndef named(directory):\n    import configparser\n\n    settings = configparser.ConfigParser()\n    settings.read(directory / \"setup.cfg\")\n    return settings[\"metadata\"][\"name\"]\n")
            .writes("tests/test_named.py", "import calc\n\n\ndef test_named(tmp_path):\n    (tmp_path / \"setup.cfg\").write_text(\"[metadata]\\nname = x\\n\")\n    assert calc.named(tmp_path) == \"x\"\n"),
        python("E20", "a test that writes thousands of files below build/")
            .appends("calc.py", SUB)
            .writes("tests/test_many.py", "import pathlib\n\nimport calc\n\n\ndef test_many():\n    for n in range(200):\n        out = pathlib.Path(\"build\") / str(n)\n        out.mkdir(parents=True, exist_ok=True)\n        for m in range(100):\n            (out / f\"{m}.txt\").write_text(str(calc.sub(n, m)))\n    assert (out / \"99.txt\").read_text() == \"100\"\n"),
        Case::new("E21", ProjectKind::Make, "dependency files beside the sources, for a new source")
            .base("Makefile", "SOURCES = $(wildcard src/*.c)\nOBJECTS = $(SOURCES:.c=.o)\nCFLAGS = -MMD -Isrc\n\ntest: $(OBJECTS) build/add\n\t./build/add\n\nbuild/add: tests/add.c $(OBJECTS)\n\t@mkdir -p build\n\t$(CC) -Isrc -o $@ tests/add.c $(OBJECTS)\n\n-include $(OBJECTS:.o=.d)\n")
            .base(".gitignore", "build/\n*.o\n*.d\n")
            .writes("src/mul.c", "#include \"calc.h\"\n\nint mul(int a, int b) { return a * b; }\n")
            .appends("src/calc.h", "int mul(int a, int b);\n"),
        Case::new("E22", ProjectKind::Make, "a new source file that the Makefile has to list")
            .base("Makefile", "test: build/add\n\t./build/add\n\nbuild/add: tests/add.c src/calc.c\n\t@mkdir -p build\n\t$(CC) -Isrc -o $@ $^\n")
            .runs("sed -i 's/^build.add: .*/build\\/add: tests\\/add.c src\\/calc.c src\\/mul.c/' Makefile")
            .writes("src/mul.c", "int mul(int a, int b) { return a * b; }\n")
            .ends(Ending::Allow),
    ]
}

fn programs() -> Vec<Case> {
    vec![
        python("E23", "a server that tests talk to over loopback")
            .writes("server.py", "import http.server\nimport threading\n\n\nclass Handler(http.server.BaseHTTPRequestHandler):\n    def do_GET(self):\n        self.send_response(200)\n        self.end_headers()\n        self.wfile.write(b\"hello\")\n\n    def log_message(self, *args):\n        pass\n\n\ndef start():\n    server = http.server.HTTPServer((\"127.0.0.1\", 0), Handler)\n    threading.Thread(target=server.serve_forever, daemon=True).start()\n    return server\n")
            .writes("tests/test_server.py", "import urllib.request\n\nimport server\n\n\ndef test_server():\n    running = server.start()\n    with urllib.request.urlopen(f\"http://127.0.0.1:{running.server_port}/\") as answer:\n        assert answer.read() == b\"hello\"\n    running.shutdown()\n"),
        python("E24", "work in several processes, with shared memory")
            .writes("pool.py", "import multiprocessing\nfrom multiprocessing import shared_memory\n\n\ndef square(n):\n    return n * n\n\n\ndef squares(numbers):\n    with multiprocessing.Pool(2) as pool:\n        return pool.map(square, numbers)\n\n\ndef kept(data):\n    memory = shared_memory.SharedMemory(create=True, size=len(data))\n    memory.buf[: len(data)] = data\n    copy = bytes(memory.buf[: len(data)])\n    memory.close()\n    memory.unlink()\n    return copy\n")
            .writes("tests/test_pool.py", "import pool\n\n\ndef test_squares():\n    assert pool.squares([1, 2, 3]) == [1, 4, 9]\n\n\ndef test_kept():\n    assert pool.kept(b\"abc\") == b\"abc\"\n"),
        python("E25", "a program that tests start, signal and time")
            .writes("tests/test_program.py", "import signal\nimport subprocess\nimport sys\nimport time\n\n\ndef test_program():\n    child = subprocess.Popen([sys.executable, \"-c\", \"import time; time.sleep(60)\"])\n    begun = time.monotonic()\n    child.send_signal(signal.SIGTERM)\n    assert child.wait() == -15\n    assert time.monotonic() - begun < 30\n")
            .appends("calc.py", SUB),
        Case::new("E26", ProjectKind::RustCrate, "a Python tool beside the crate, each with its tests")
            .base("pyproject.toml", "[project]\nname = \"tool\"\nversion = \"0.1\"\n")
            .base("tool.py", "def add(a, b):\n    return a + b\n")
            .base("tests/test_tool.py", "import tool\n\n\ndef test_add():\n    assert tool.add(1, 2) == 3\n")
            .appends("tool.py", "\n\ndef sub(a, b):\n    return a - b\n")
            .appends("src/lib.rs", "\npub fn most(prices: &[i64]) -> Option<i64> {\n    prices.iter().copied().max()\n}\n")
            .writes("tests/test_sub.py", "import tool\n\n\ndef test_sub():\n    assert tool.sub(3, 2) == 1\n")
            .writes("tests/most.rs", "#[test]\nfn finds_the_most() {\n    assert_eq!(shop::most(&[1, 3]), Some(3));\n}\n"),
    ]
}
