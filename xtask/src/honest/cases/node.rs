//! A Node package with the test runner that Node has.

use super::super::case::{Case, Ending, ProjectKind};

pub const FILES: &[(&str, &str)] = &[
    (
        "package.json",
        "{\n  \"name\": \"shop\",\n  \"version\": \"1.0.0\",\n  \"scripts\": { \"test\": \"node --test\" }\n}\n",
    ),
    (
        "lib/basket.js",
        "'use strict';\nconst { cents } = require('./money.js');\n\nexports.total = (prices) => prices.reduce((sum, price) => sum + cents(price), 0);\n",
    ),
    ("lib/money.js", "'use strict';\nexports.cents = (amount) => Math.round(amount * 100);\n"),
    (
        "test/basket.test.js",
        "'use strict';\nconst test = require('node:test');\nconst assert = require('node:assert');\nconst { total } = require('../lib/basket.js');\n\ntest('adds up', () => {\n  assert.strictEqual(total([1, 2.5]), 350);\n});\n\ntest('is nothing at first', () => {\n  assert.strictEqual(total([]), 0);\n});\n",
    ),
    (".gitignore", "node_modules/\n"),
];

const MOST: &str = "exports.most = (prices) => Math.max(...prices);\n";
const TEST_MOST: &str = "'use strict';\nconst test = require('node:test');\nconst assert = require('node:assert');\nconst { most } = require('../lib/basket.js');\n\ntest('finds the most', () => {\n  assert.strictEqual(most([1, 3, 2]), 3);\n});\n";
const LOCK: &str = "{\n  \"name\": \"shop\",\n  \"version\": \"1.0.0\",\n  \"lockfileVersion\": 3,\n  \"requires\": true,\n  \"packages\": { \"\": { \"name\": \"shop\", \"version\": \"1.0.0\" } }\n}\n";

fn case(id: &'static str, work: &'static str) -> Case {
    Case::new(id, ProjectKind::Node, work)
}

pub fn cases() -> Vec<Case> {
    [features(), settings()].into_iter().flatten().collect()
}

fn features() -> Vec<Case> {
    vec![
        case("N01", "a feature with new tests")
            .appends("lib/basket.js", MOST)
            .writes("test/most.test.js", TEST_MOST)
            .quick(),
        case("N02", "tests first, the feature in the next iteration")
            .writes("test/most.test.js", TEST_MOST)
            .next_turn()
            .appends("lib/basket.js", MOST),
        case("N03", "tests appended to an existing file")
            .appends("lib/basket.js", MOST)
            .appends("test/basket.test.js", "\ntest('finds the most', () => {\n  const { most } = require('../lib/basket.js');\n  assert.strictEqual(most([1, 3]), 3);\n});\n"),
        case("N04", "a bug fix, its test is there and red")
            .base("lib/money.js", "'use strict';\nexports.cents = (amount) => amount * 10;\n")
            .writes("lib/money.js", "'use strict';\nexports.cents = (amount) => Math.round(amount * 100);\n"),
        case("N05", "a module renamed that no test names")
            .runs("mv lib/money.js lib/currency.js\nsed -i 's/money/currency/' lib/basket.js"),
        case("N06", "a module renamed that a test requires")
            .runs("mv lib/basket.js lib/cart.js\nsed -i 's/basket.js/cart.js/' test/basket.test.js")
            .ends(Ending::Allow),
        case("N07", "a new top-level module, and a test beside it")
            .writes("cli.js", "'use strict';\nconst { total } = require('./lib/basket.js');\nexports.shown = (prices) => `${total(prices)} in all`;\n")
            .writes("cli.test.js", "'use strict';\nconst test = require('node:test');\nconst assert = require('node:assert');\nconst { shown } = require('./cli.js');\n\ntest('shows', () => {\n  assert.equal(shown([1]), '100 in all');\n});\n"),
        case("N08", "a first test in a project without any")
            .absent("test/basket.test.js")
            .appends("lib/basket.js", MOST)
            .writes("test/most.test.js", TEST_MOST),
        case("N09", "TypeScript types and documentation beside the code")
            .writes("lib/basket.d.ts", "export function total(prices: number[]): number;\n")
            .writes("docs/basket.md", "# Basket\n"),
    ]
}

fn settings() -> Vec<Case> {
    let dependent = "{\n  \"name\": \"shop\",\n  \"version\": \"1.0.0\",\n  \"scripts\": { \"test\": \"node --test\" },\n  \"dependencies\": { \"tiny\": \"file:vendor/tiny\" }\n}\n";
    vec![
        case("N10", "a dependency, with a lock file and npm ci")
            .base("package-lock.json", LOCK)
            .writes("vendor/tiny/package.json", "{ \"name\": \"tiny\", \"version\": \"1.0.0\", \"main\": \"index.js\" }\n")
            .writes("vendor/tiny/index.js", "exports.twice = (x) => 2 * x;\n")
            .writes("package.json", dependent)
            .runs("npm install --offline --no-audit --no-fund --loglevel=error")
            .appends("lib/basket.js", "const { twice } = require('tiny');\nexports.double = (x) => twice(x);\n")
            .writes("test/double.test.js", "'use strict';\nconst test = require('node:test');\nconst assert = require('node:assert');\ntest('doubles', () => {\n  assert.equal(require('../lib/basket.js').double(4), 8);\n});\n")
            .ends(Ending::Reviewer),
        case("N11", "a script and the version in package.json")
            .writes("package.json", "{\n  \"name\": \"shop\",\n  \"version\": \"1.1.0\",\n  \"scripts\": { \"test\": \"node --test\", \"start\": \"node cli.js\" }\n}\n")
            .writes("cli.js", "console.log(require('./lib/basket.js').total([1]));\n"),
        case("N12", "settings of a formatter")
            .writes(".prettierrc", "{ \"singleQuote\": true }\n")
            .appends("lib/basket.js", MOST),
        case("N13", "a data file that the product reads")
            .writes("data/rates.json", "{ \"eur\": 2 }\n")
            .appends("lib/money.js", "exports.inEuro = (amount) => amount * require('../data/rates.json').eur;\n")
            .writes("test/money.test.js", "'use strict';\nconst test = require('node:test');\nconst assert = require('node:assert');\ntest('in euro', () => {\n  assert.equal(require('../lib/money.js').inEuro(2), 4);\n});\n"),
        case("N14", "a new snapshot with its test")
            .writes("test/__snapshots__/total.snap", "350\n")
            .writes("test/shown.test.js", "'use strict';\nconst test = require('node:test');\nconst assert = require('node:assert');\nconst fs = require('node:fs');\nconst path = require('node:path');\nconst { total } = require('../lib/basket.js');\n\ntest('as before', () => {\n  const want = fs.readFileSync(path.join(__dirname, '__snapshots__/total.snap'), 'utf8');\n  assert.strictEqual(`${total([1, 2.5])}\\n`, want);\n});\n"),
        case("N15", "a generated file that is committed")
            .writes("scripts/generate.js", "require('node:fs').writeFileSync('lib/squares.js', `module.exports = ${JSON.stringify([0, 1, 4, 9])};\\n`);\n")
            .runs("node scripts/generate.js")
            .writes("test/squares.test.js", "'use strict';\nconst test = require('node:test');\nconst assert = require('node:assert');\ntest('squares', () => {\n  assert.equal(require('../lib/squares.js')[3], 9);\n});\n"),
        case("N16", "a check that writes into the tree, with a build before it")
            .base("package.json", "{\n  \"name\": \"shop\",\n  \"version\": \"1.0.0\",\n  \"scripts\": { \"build\": \"node build.js\", \"test\": \"npm run build && node --test\" }\n}\n")
            .base("build.js", "const fs = require('node:fs');\nfs.mkdirSync('dist', { recursive: true });\nfs.copyFileSync('lib/money.js', 'dist/money.js');\n")
            .appends("lib/basket.js", MOST)
            .writes("test/most.test.js", TEST_MOST),
    ]
}
