//! A Go module.

use super::super::case::{Case, Ending, ProjectKind};

pub const FILES: &[(&str, &str)] = &[
    ("go.mod", "module example.invalid/shop\n\ngo 1.19\n"),
    (
        "shop.go",
        "package shop\n\n// Total adds up.\nfunc Total(prices []int) int {\n\tsum := 0\n\tfor _, price := range prices {\n\t\tsum += whole(price)\n\t}\n\treturn sum\n}\n",
    ),
    ("money.go", "package shop\n\nfunc whole(amount int) int {\n\treturn amount\n}\n"),
    (
        "shop_test.go",
        "package shop\n\nimport \"testing\"\n\nfunc TestTotal(t *testing.T) {\n\tif Total([]int{1, 2}) != 3 {\n\t\tt.Fatal(\"wrong\")\n\t}\n}\n",
    ),
];

const MOST: &str = "package shop\n\n// Most is the largest.\nfunc Most(prices []int) int {\n\tmost := 0\n\tfor _, price := range prices {\n\t\tif price > most {\n\t\t\tmost = price\n\t\t}\n\t}\n\treturn most\n}\n";
const TEST_MOST: &str = "package shop\n\nimport \"testing\"\n\nfunc TestMost(t *testing.T) {\n\tif Most([]int{1, 3, 2}) != 3 {\n\t\tt.Fatal(\"wrong\")\n\t}\n}\n";

fn case(id: &'static str, work: &'static str) -> Case {
    Case::new(id, ProjectKind::Go, work)
}

pub fn cases() -> Vec<Case> {
    vec![
        case("O01", "a feature with new tests").writes("most.go", MOST).writes("most_test.go", TEST_MOST),
        case("O02", "tests first, the feature in the next iteration")
            .writes("most_test.go", TEST_MOST)
            .next_turn()
            .writes("most.go", MOST),
        case("O03", "tests appended to an existing file")
            .writes("most.go", MOST)
            .appends("shop_test.go", "\nfunc TestMost(t *testing.T) {\n\tif Most([]int{1, 3}) != 3 {\n\t\tt.Fatal(\"wrong\")\n\t}\n}\n"),
        case("O04", "a source file renamed").runs("mv money.go currency.go"),
        case("O05", "a dependency on a module that comes along")
            .writes("tiny/go.mod", "module example.invalid/tiny\n\ngo 1.19\n")
            .writes("tiny/tiny.go", "package tiny\n\n// Twice doubles.\nfunc Twice(x int) int { return 2 * x }\n")
            .appends("go.mod", "\nrequire example.invalid/tiny v0.0.0\n\nreplace example.invalid/tiny => ./tiny\n")
            .writes("double.go", "package shop\n\nimport \"example.invalid/tiny\"\n\n// Double doubles.\nfunc Double(x int) int { return tiny.Twice(x) }\n")
            .ends(Ending::Reviewer),
        case("O06", "golden data with its test")
            .writes("testdata/total.golden", "3\n")
            .writes("golden_test.go", "package shop\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestGolden(t *testing.T) {\n\twant, _ := os.ReadFile(\"testdata/total.golden\")\n\tif fmt.Sprintln(Total([]int{1, 2})) != string(want) {\n\t\tt.Fatal(\"wrong\")\n\t}\n}\n"),
        case("O07", "a first test in a project without any")
            .absent("shop_test.go")
            .writes("most.go", MOST)
            .writes("most_test.go", TEST_MOST),
    ]
}
