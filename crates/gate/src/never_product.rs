//! Names that are never product, in any directory: what configures, builds or starts, and what was compiled.

use std::sync::LazyLock;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Names of files, and the rule that a path of such a name comes under.
const NAMES: &[(&str, &[&str])] = &[
    (
        "it configures a tool",
        &[
            "*.config.*",
            "*.conf.*",
            "*.setup.*",
            "tsconfig*.json",
            "jsconfig*.json",
            "setupTests.*",
            "pytest.ini",
            "pytest.toml",
            "tox.ini",
            "setup.cfg",
            "conftest.py",
            "sitecustomize.py",
            "usercustomize.py",
            "*.pth",
            "*.egg-link",
            "rust-toolchain",
            "rust-toolchain.toml",
            "rustfmt.toml",
            "clippy.toml",
            "nextest.toml",
            "phpunit.xml*",
            "Dockerfile*",
            "Containerfile*",
            "docker-compose*.y*ml",
            "compose*.y*ml",
            "*.code-workspace",
        ],
    ),
    (
        "it is a manifest",
        &[
            "pyproject.toml",
            "Pipfile",
            "requirements*.txt",
            "constraints*.txt",
            "environment.y*ml",
            "package.json",
            "pnpm-workspace.yaml",
            "deno.json*",
            "bunfig.toml",
            "Cargo.toml",
            "go.mod",
            "go.work",
            "Gemfile",
            "*.gemspec",
            "composer.json",
            "pom.xml",
            "*.csproj",
            "*.fsproj",
            "*.sln*",
            "Directory.*.props",
            "mix.exs",
            "Package.swift",
            "*.cabal",
            "stack.yaml",
            "dune-project",
            "build.sbt",
            "project.clj",
            "deps.edn",
            "rebar.config",
            "pubspec.yaml",
        ],
    ),
    (
        "it builds or runs",
        &[
            "Makefile*",
            "makefile*",
            "GNUmakefile*",
            "*.mk",
            "*.mak",
            "*.make",
            "CMakeLists.txt",
            "*.cmake",
            "configure",
            "configure.ac",
            "meson.build",
            "meson_options.txt",
            "*.ninja",
            "SConstruct",
            "SConscript",
            "wscript",
            "BUILD",
            "BUILD.bazel",
            "WORKSPACE*",
            "MODULE.bazel",
            "build.rs",
            "build.zig*",
            "setup.py",
            "noxfile.py",
            "justfile",
            "Justfile",
            "Taskfile.y*ml",
            "taskfile.y*ml",
            "Rakefile*",
            "rakefile*",
            "Gruntfile.*",
            "gulpfile.*",
            "Jakefile*",
            "build.gradle*",
            "settings.gradle*",
            "gradle.properties",
            "gradlew*",
            "mvnw*",
            "build.xml",
            "Vagrantfile",
            "Procfile",
            "Jenkinsfile",
        ],
    ),
    (
        "it was compiled",
        &[
            "*.so", "*.so.*", "*.pyd", "*.pyc", "*.pyo", "*.dll", "*.dylib", "*.a", "*.o", "*.rlib",
            "*.rmeta", "*.node", "*.class", "*.jar", "*.beam", "*.exe", "*.egg", "*.whl", "*.pyz",
        ],
    ),
];

/// Directories, with all below them.
const DIRECTORIES: &[(&str, &[&str])] = &[
    (
        "it is installed, not written",
        &["node_modules", "site-packages", "*.dist-info", "*.egg-info", "vendor"],
    ),
    ("it was compiled", &["__pycache__"]),
];

static RULES: LazyLock<(GlobSet, Vec<&'static str>)> = LazyLock::new(|| {
    let (mut builder, mut rules) = (GlobSetBuilder::new(), Vec::new());
    let names = NAMES.iter().flat_map(|(rule, names)| names.iter().map(|name| (*rule, format!("**/{name}"))));
    let directories = DIRECTORIES
        .iter()
        .flat_map(|(rule, names)| names.iter().map(|name| (*rule, format!("**/{name}/**"))));
    for (rule, pattern) in names.chain(directories) {
        let glob = GlobBuilder::new(&pattern).literal_separator(true).build();
        builder.add(glob.expect("the patterns above are tested"));
        rules.push(rule);
    }
    (builder.build().expect("the patterns above are tested"), rules)
});

pub fn is_never_product(path: &[u8]) -> bool {
    rule(path).is_some()
}

/// Why a path is never product, if it is so.
pub fn rule(path: &[u8]) -> Option<&'static str> {
    if path.split(|byte| *byte == b'/').any(|part| part.starts_with(b".")) {
        return Some("a name that begins with a dot configures tools");
    }
    if crate::watched::is_lockfile(path) {
        return Some("it locks dependencies");
    }
    let (set, rules) = &*RULES;
    let path = std::path::Path::new(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(path));
    set.matches(path).first().and_then(|first| rules.get(*first)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_configures_builds_or_was_compiled_is_never_product() {
        for path in [
            "pyproject.toml",
            "src/pkg/conftest.py",
            ".npmrc",
            "src/.mocharc.cjs",
            "jest.config.js",
            "sub/vite.config.ts",
            "Cargo.toml",
            "crates/a/build.rs",
            "crates/a/Cargo.toml",
            ".cargo/config.toml",
            "rust-toolchain.toml",
            "inc/rules.mk",
            "Makefile",
            "Makefile.inc",
            "src/fast.cpython-312.so",
            "lib/native.node",
            "pkg/__pycache__/a.cpython-312.pyc",
            "x.dist-info/entry_points.txt",
            "node_modules/assert/index.js",
            "package-lock.json",
            "web/yarn.lock",
            "go.mod",
            "setup.py",
            "noxfile.py",
        ] {
            assert!(rule(path.as_bytes()).is_some(), "{path}");
        }
    }

    #[test]
    fn ordinary_sources_and_texts_may_be_product() {
        for path in [
            "src/main.rs",
            "pkg/config.py",
            "src/setup/index.js",
            "lib/build.js",
            "cmd/app/main.go",
            "README.md",
            "src/data.json",
            "a/makefiles/x.c",
            "src/so.c",
        ] {
            assert_eq!(rule(path.as_bytes()), None, "{path}");
        }
        assert!(rule(b"src/\xff.so").is_some());
    }
}
