//! Names that are never product, in any directory: what configures, builds or starts, and what was compiled.

use std::sync::LazyLock;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Why a name is never product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    Dot,
    Locks,
    Configures,
    Manifest,
    Builds,
    Compiled,
    Installed,
    StandsIn,
}

impl NameRule {
    pub fn words(self) -> &'static str {
        match self {
            Self::Dot => "a name that begins with a dot configures tools",
            Self::Locks => "it locks dependencies",
            Self::Configures => "it configures a tool",
            Self::Manifest => "it is a manifest",
            Self::Builds => "it builds or runs",
            Self::Compiled => "it was compiled",
            Self::Installed => "it is installed, not written",
            Self::StandsIn => "jest takes it in place of a module that has its name",
        }
    }
}

/// Names of files, and the rule that a path of such a name comes under.
const NAMES: &[(NameRule, &[&str])] = &[
    (
        NameRule::Configures,
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
        NameRule::Manifest,
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
        NameRule::Builds,
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
        NameRule::Compiled,
        &[
            "*.so", "*.so.*", "*.pyd", "*.pyc", "*.pyo", "*.dll", "*.dylib", "*.a", "*.o", "*.rlib",
            "*.rmeta", "*.node", "*.class", "*.jar", "*.beam", "*.exe", "*.egg", "*.whl", "*.pyz",
        ],
    ),
];

/// Directories, with all below them.
const DIRECTORIES: &[(NameRule, &[&str])] = &[
    (NameRule::Installed, &["node_modules", "site-packages", "*.dist-info", "*.egg-info", "vendor"]),
    (NameRule::Compiled, &["__pycache__"]),
    (NameRule::StandsIn, &["__mocks__"]),
];

static RULES: LazyLock<(GlobSet, Vec<NameRule>)> = LazyLock::new(|| {
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
pub fn rule(path: &[u8]) -> Option<NameRule> {
    if path.split(|byte| *byte == b'/').any(|part| part.starts_with(b".")) {
        return Some(NameRule::Dot);
    }
    if crate::watched::is_lockfile(path) {
        return Some(NameRule::Locks);
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
            "__mocks__/should.js",
            "src/__mocks__/@scope/a.ts",
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
            "src/mocks/a.js",
            "src/so.c",
        ] {
            assert_eq!(rule(path.as_bytes()), None, "{path}");
        }
        assert!(rule(b"src/\xff.so").is_some());
    }
}
