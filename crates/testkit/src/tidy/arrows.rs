//! Which crate may know which, read from `cargo metadata --no-deps`.

use serde_json::Value;

use super::Problem;

struct Arrows {
    from: &'static str,
    to: &'static [&'static str],
}

const KIT: &str = "windlass-testkit";

/// The crates of the house and whom each may name in `[dependencies]`. A crate
/// missing here fails the check: where it stands is a decision.
const HOUSE: &[Arrows] = &[
    Arrows { from: "windlass-core", to: &[] },
    Arrows { from: "windlass-plan", to: &["windlass-core"] },
    Arrows { from: "windlass-config", to: &["windlass-core"] },
    Arrows { from: "windlass-store", to: &["windlass-core"] },
    Arrows { from: "windlass-proxy", to: &[] },
    Arrows { from: "windlass-process", to: &["windlass-core", "windlass-proxy"] },
    Arrows { from: "windlass-redact", to: &[] },
    Arrows { from: "windlass-control", to: &[] },
    Arrows { from: "windlass-agent", to: &["windlass-core", "windlass-process", "windlass-redact"] },
    Arrows { from: "windlass-gate", to: &["windlass-core", "windlass-process", "windlass-redact"] },
    Arrows { from: "windlass-workspace", to: &["windlass-core"] },
    Arrows {
        from: "windlass-driver",
        to: &[
            "windlass-core",
            "windlass-plan",
            "windlass-store",
            "windlass-process",
            "windlass-agent",
            "windlass-gate",
            "windlass-control",
            "windlass-workspace",
            "windlass-redact",
        ],
    },
    Arrows {
        from: "windlass-app",
        to: &[
            "windlass-core",
            "windlass-plan",
            "windlass-config",
            "windlass-store",
            "windlass-agent",
            "windlass-driver",
        ],
    },
    Arrows { from: "windlass", to: &["windlass-app", "windlass-core", "windlass-config"] },
    Arrows { from: KIT, to: &["windlass-core"] },
    // The simulator drives the real driver.
    Arrows { from: "windlass-simulator", to: &["windlass-core", "windlass-store", "windlass-driver"] },
];

/// Whom tests may name besides. Those of the binary forge records.
const TESTS: &[Arrows] = &[Arrows { from: "windlass", to: &["windlass-store", "windlass-driver"] }];

/// Core's whole list of dependencies.
const CORE_NEEDS: &[&str] = &["schemars", "serde", "thiserror"];

pub fn check(metadata: &Value) -> Vec<Problem> {
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    if packages.is_empty() {
        return vec![Problem::new("Cargo.toml", 0, "cargo metadata names no packages")];
    }
    packages.iter().flat_map(package).collect()
}

fn package(package: &Value) -> Vec<Problem> {
    let name = package["name"].as_str().unwrap_or_default();
    // Tasks for developers may use every crate; nothing is built on them.
    if name == "xtask" {
        return Vec::new();
    }
    let problem = |what: String| Problem::new(&format!("crate {name}"), 0, what);
    let Some(arrows) = HOUSE.iter().find(|arrows| arrows.from == name) else {
        return vec![problem("has no place in the house: add it to tidy's arrows".to_owned())];
    };
    let mut found = Vec::new();
    let mut needs = Vec::new();
    for dependency in package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default() {
        let to = dependency["name"].as_str().unwrap_or_default();
        let for_tests = dependency["kind"] == "dev";
        let ours = to == "windlass" || to.starts_with("windlass-");
        if ours && !arrows.to.contains(&to) && !(for_tests && tests_may(name, to)) {
            found.push(problem(format!("must not know {to}")));
        }
        if !for_tests {
            needs.push(to);
        }
    }
    needs.sort_unstable();
    if name == "windlass-core" && needs != CORE_NEEDS {
        found.push(problem(format!("depends on {needs:?}; its whole list is {CORE_NEEDS:?}")));
    }
    found
}

fn tests_may(name: &str, to: &str) -> bool {
    let besides = TESTS.iter().any(|arrows| arrows.from == name && arrows.to.contains(&to));
    besides || (to == KIT && name != "windlass-core")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::said;
    use super::*;

    fn checked(name: &str, dependencies: &[(&str, Option<&str>)]) -> Vec<String> {
        let dependencies: Vec<_> =
            dependencies.iter().map(|(name, kind)| json!({ "name": name, "kind": kind })).collect();
        said(&check(&json!({ "packages": [{ "name": name, "dependencies": dependencies }] })))
    }

    #[test]
    fn an_arrow_against_the_plan_is_refused() {
        for (from, to) in [
            ("windlass-core", "windlass-plan"),
            ("windlass-agent", "windlass-gate"),
            ("windlass-gate", "windlass-store"),
            ("windlass-workspace", "windlass-agent"),
            ("windlass-store", "windlass-process"),
            ("windlass-config", "windlass-plan"),
            ("windlass", "windlass-workspace"),
            ("windlass", "windlass-driver"),
            ("windlass", "windlass-store"),
            ("windlass-app", "windlass-process"),
            ("windlass-driver", "windlass-testkit"),
        ] {
            let found = checked(from, &[(to, None)]);
            assert!(found.contains(&format!("0: must not know {to}")), "{from} -> {to}: {found:?}");
        }
        assert_eq!(checked("windlass-gate", &[("windlass-store", Some("dev"))]).len(), 1);
        assert_eq!(checked("windlass-gate", &[("windlass-store", Some("build"))]).len(), 1);
    }

    #[test]
    fn the_plan_itself_passes() {
        assert_eq!(checked("windlass-gate", &[("windlass-process", None), ("globset", None)]), [""; 0]);
        assert_eq!(checked("windlass-gate", &[("windlass-testkit", Some("dev"))]), [""; 0]);
        assert_eq!(checked("windlass", &[("windlass-store", Some("dev"))]), [""; 0]);
        assert_eq!(checked("xtask", &[("windlass-testkit", None)]), [""; 0]);
    }

    #[test]
    fn core_needs_three_crates_and_no_other() {
        let three = [("serde", None), ("thiserror", None), ("schemars", None)];
        assert_eq!(checked("windlass-core", &three), [""; 0]);
        assert_eq!(checked("windlass-core", &[&three[..], &[("proptest", Some("dev"))]].concat()), [""; 0]);
        assert_eq!(checked("windlass-core", &[&three[..], &[("libc", None)]].concat()).len(), 1);
        assert_eq!(checked("windlass-core", &three[..2]).len(), 1);
    }

    #[test]
    fn a_stranger_and_an_empty_house_are_refused() {
        assert_eq!(checked("windlass-extra", &[]).len(), 1);
        assert_eq!(check(&json!({})).len(), 1);
    }
}
