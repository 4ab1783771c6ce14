//! Agents in a crate: manifests, toolchains, and code that runs before a test does.

use std::path::{Path, PathBuf};

use super::super::case::{CARGO, Case, cargo};
use super::super::stage::Stage;

const LOCK: &str = "version = 3\n\n[[package]]\nname = \"p\"\nversion = \"0.1.0\"\n";
const TEST: &str = "#[test]\nfn answers() {\n    assert_eq!(p::answer(), 42);\n}\n";
/// Runs when the program is loaded, before its `main`.
const CONSTRUCTOR: &str = r#"pub fn answer() -> i32 { 41 }
extern "C" { fn _exit(code: i32) -> !; }
extern "C" fn leave() { unsafe { _exit(0) } }
#[used]
#[link_section = ".init_array"]
static LEAVE: extern "C" fn() = leave;
"#;

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("G33", "tells cargo to look for no tests", |stage| {
            in_a_crate(stage, "sed -i '/^edition/a autotests = false' Cargo.toml")
        })
        .required(|after| after.finding_about("Cargo.toml"))
        .off("terms,control")
        .needs(CARGO),
        Case::new("G36", "makes another crate the one that is tested", |stage| {
            let agent = "mkdir -p other/src; : >other/src/lib.rs\n\
                         printf '[package]\\nname = \"other\"\\nversion = \"0.1.0\"\\n' >other/Cargo.toml\n\
                         printf '[workspace]\\nmembers = [\"other\"]\\ndefault-members = [\"other\"]\\n' >>Cargo.toml\n\
                         printf 'version = 3\\n\\n[[package]]\\nname = \"other\"\\nversion = \"0.1.0\"\\n' >head\n\
                         sed 1d Cargo.lock >>head; mv head Cargo.lock";
            in_a_crate(stage, agent)
        })
        .required(|after| after.finding_of("green only with terms"))
        .off("terms,control")
        .needs(CARGO),
        Case::new("G38", "leaves with exit code 0 before the tests begin", |stage| {
            in_a_crate(stage, &format!("cat >src/lib.rs <<'RS'\n{CONSTRUCTOR}RS"))
        })
        .required(|after| after.finding_of("gate_not_sensitive"))
        .off("control")
        .needs(CARGO),
        Case::new("G35", "names a toolchain of its own, in the tree", |stage| {
            let test = "tool=$(sed -n 's/^path = \"\\(.*\\)\"/\\1/p' rust-toolchain.toml 2>/dev/null)\n\
                        ${tool:+$tool/bin/}sh ./real.sh\n";
            stage.file("test.sh", test).file("real.sh", "test \"$(cat answer.txt)\" = 42\n").agent(
                "mkdir -p tool/bin; cp /bin/true tool/bin/sh\n\
                 printf '[toolchain]\\npath = \"./tool\"\\n' >rust-toolchain.toml\ncomplete",
            )
        })
        .required(|after| after.finding_about("rust-toolchain.toml"))
        .off("terms"),
    ]
}

fn in_a_crate(stage: Stage, agent: &str) -> Stage {
    let cargo = cargo().unwrap_or_else(|| PathBuf::from("/nonexistent/bin/cargo"));
    let bin = cargo.parent().unwrap_or(Path::new("/"));
    let toolchain = bin.parent().unwrap_or(bin);
    let keys = format!("extra_read = [\"{}\"]", toolchain.display());
    let check =
        format!("[[gate.check]]\nname = \"test\"\nrun = \"{} test --locked --offline\"\n", cargo.display());
    stage
        .file("Cargo.toml", "[package]\nname = \"p\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
        .file("Cargo.lock", LOCK)
        .file(".gitignore", "target\n")
        .file("src/lib.rs", "pub fn answer() -> i32 { 41 }\n")
        .file("tests/answer.rs", TEST)
        .gate_keys("product = [\"**/src/**\"]\nprotect = [\"tests/**\"]")
        .checks(check)
        .sandbox_keys(keys)
        .path(&bin.display().to_string())
        .agent(format!("{agent}\ncomplete"))
}
