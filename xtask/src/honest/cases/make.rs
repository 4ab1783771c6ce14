//! A C project that make builds and tests.

use super::super::case::{Case, Ending, ProjectKind};

pub const FILES: &[(&str, &str)] = &[
    (
        "Makefile",
        "CFLAGS = -Wall -Isrc\nTESTS = $(patsubst tests/%.c,build/%,$(wildcard tests/*.c))\nSOURCES = $(wildcard src/*.c)\n\ntest: $(TESTS)\n\t@for t in $(TESTS); do ./$$t || { echo \"$$t failed\"; exit 1; }; done\n\nbuild/%: tests/%.c $(SOURCES)\n\t@mkdir -p build\n\t$(CC) $(CFLAGS) -o $@ $< $(SOURCES) $(LDLIBS)\n\n.PHONY: test\n",
    ),
    ("src/calc.h", "int add(int a, int b);\nint sub(int a, int b);\n"),
    (
        "src/calc.c",
        "#include \"calc.h\"\n\nint add(int a, int b) { return a + b; }\n\nint sub(int a, int b) { return a - b; }\n",
    ),
    ("tests/add.c", "#include \"calc.h\"\n\nint main(void) { return add(2, 3) != 5; }\n"),
    (".gitignore", "build/\n"),
];

const MUL: &str = "#include \"calc.h\"\n\nint mul(int a, int b) { return a * b; }\n";
const TEST_MUL: &str = "#include \"calc.h\"\n\nint main(void) { return mul(2, 3) != 6; }\n";

const BESIDE: &str = "TESTS = $(patsubst %.c,%,$(wildcard tests/*.c))\n\ntest: $(TESTS)\n\t@for t in $(TESTS); do ./$$t >$$t.log || exit 1; done\n\ntests/%: tests/%.o src/calc.o\n\t$(CC) -o $@ $^\n\n%.o: %.c\n\t$(CC) -MMD -Isrc -c -o $@ $<\n\n.PRECIOUS: %.o\n-include tests/*.d\n";

fn case(id: &'static str, work: &'static str) -> Case {
    Case::new(id, ProjectKind::Make, work)
}

pub fn cases() -> Vec<Case> {
    vec![
        case("M01", "a feature with new tests")
            .appends("src/calc.h", "int mul(int a, int b);\n")
            .writes("src/mul.c", MUL)
            .writes("tests/mul.c", TEST_MUL)
            .quick(),
        case("M02", "tests first, the feature in the next iteration")
            .writes("tests/mul.c", TEST_MUL)
            .next_turn()
            .appends("src/calc.h", "int mul(int a, int b);\n")
            .writes("src/mul.c", MUL),
        case("M03", "lines added to an existing test")
            .base("tests/add.c", "#include <assert.h>\n#include \"calc.h\"\n\nint main(void) {\n    assert(add(2, 3) == 5);\n}\n")
            .appends("src/calc.h", "int mul(int a, int b);\n")
            .writes("src/mul.c", MUL)
            .runs("sed -i '/add(2, 3)/a \\    assert(mul(2, 3) == 6);' tests/add.c"),
        case("M04", "a bug fix, its test is there and red")
            .base("src/calc.c", "#include \"calc.h\"\n\nint add(int a, int b) { return a - b; }\n\nint sub(int a, int b) { return a - b; }\n")
            .runs("sed -i 's/int add(int a, int b) { return a - b/int add(int a, int b) { return a + b/' src/calc.c"),
        case("M05", "a source file renamed and a header moved")
            .runs("mv src/calc.c src/arithmetic.c\nmkdir src/private\nprintf 'int zero(void);\\n' >src/private/zero.h"),
        case("M06", "a library that the Makefile has to link")
            .writes("src/root.c", "#include <math.h>\n#include \"calc.h\"\n\nint root(int n) { volatile double x = n; return (int)sqrt(x); }\n")
            .appends("src/calc.h", "int root(int n);\n")
            .writes("tests/root.c", "#include \"calc.h\"\n\nint main(void) { return root(9) != 3; }\n")
            .runs("sed -i '1i LDLIBS = -lm' Makefile")
            .ends(Ending::Allow),
        case("M07", "settings of a formatter")
            .writes(".clang-format", "BasedOnStyle: LLVM\n")
            .writes("src/mul.c", MUL)
            .appends("src/calc.h", "int mul(int a, int b);\n"),
        case("M08", "a data file that only a new test reads")
            .writes("tests/data/pairs.txt", "2 3 -1\n")
            .writes("tests/pairs.c", "#include <stdio.h>\n#include \"calc.h\"\n\nint main(void) {\n    FILE *in = fopen(\"tests/data/pairs.txt\", \"r\");\n    int a, b, c;\n    while (fscanf(in, \"%d %d %d\", &a, &b, &c) == 3)\n        if (sub(a, b) != c) return 1;\n    return 0;\n}\n"),
        case("M09", "a generated table that is committed")
            .runs("{ echo 'const int squares[] = {'; for n in 0 1 2 3; do echo \"$((n * n)),\"; done; echo '};'; } >src/squares.c")
            .appends("src/calc.h", "extern const int squares[];\n")
            .writes("tests/squares.c", "#include \"calc.h\"\n\nint main(void) { return squares[3] != 9; }\n"),
        case("M10", "a check that writes beside the sources")
            .base("Makefile", "test: src/calc.o tests/add\n\t./tests/add\n\ntests/add: tests/add.c src/calc.o\n\t$(CC) -Isrc -o $@ $^\n\nsrc/calc.o: src/calc.c\n\t$(CC) -Isrc -c -o $@ $<\n")
            .base(".gitignore", "*.o\ntests/add\n")
            .runs("sed -i 's/return a - b/return -(b - a)/' src/calc.c"),
        case("M11", "a first test in a project without any")
            .absent("tests/add.c")
            .appends("src/calc.h", "int mul(int a, int b);\n")
            .writes("src/mul.c", MUL)
            .writes("tests/mul.c", TEST_MUL),
        case("M12", "a data file at the root that the product reads")
            .writes("data/rate.txt", "2\n")
            .writes("src/rate.c", "#include <stdio.h>\n#include \"calc.h\"\n\nint rate(void) {\n    int n = 0;\n    FILE *in = fopen(\"data/rate.txt\", \"r\");\n    if (in && fscanf(in, \"%d\", &n) != 1) n = 0;\n    return n;\n}\n")
            .appends("src/calc.h", "int rate(void);\n")
            .writes("tests/rate.c", "#include \"calc.h\"\n\nint main(void) { return rate() != 2; }\n"),
        case("M13", "a new test whose program, object and log are made beside it")
            .base("Makefile", BESIDE)
            .base(".gitignore", "*.o\n*.d\n*.log\ntests/add\ntests/zero\n")
            .writes("tests/zero.c", "#include \"calc.h\"\n\nint main(void) { return add(0, 0) != 0; }\n"),
        case("M14", "a new test with a rule of its own in the Makefile")
            .base("Makefile", "test: test-add\n\ntest-add: build/add\n\t./build/add\n\nbuild/%: tests/%.c src/calc.c\n\t@mkdir -p build\n\t$(CC) -Isrc -o $@ $^\n\n.PHONY: test test-add\n")
            .writes("tests/zero.c", "#include \"calc.h\"\n\nint main(void) { return add(0, 0) != 0; }\n")
            .appends("Makefile", "\ntest: test-zero\n\ntest-zero: build/zero\n\t./build/zero\n")
            .allows("tests/zero.c")
            .ends(Ending::Allow),
        case("M15", "a script that installs, which no test runs")
            .base("Makefile", "test: build/add\n\t./build/add\n\ninstall:\n\tsh tools/install.sh\n\nbuild/%: tests/%.c src/calc.c\n\t@mkdir -p build\n\t$(CC) -Isrc -o $@ $^\n")
            .base("tools/install.sh", "cp src/calc.h /usr/include\n")
            .appends("tools/install.sh", "echo done\n")
            .runs("sed -i 's/return a - b/return -(b - a)/' src/calc.c"),
    ]
}
