//! Names that change what a runner does as soon as a file of that name is there.

use crate::exempt::ancestors;
use crate::never_product::{self, NameRule};

/// Beginning with a dot, and made by tools as they run.
const OUTPUTS: &[&str] = &[
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".coverage",
    ".nyc_output",
    ".tox",
    ".nox",
    ".eggs",
    ".cache",
    ".parcel-cache",
    ".turbo",
    ".next",
    ".nuxt",
    ".output",
    ".svelte-kit",
    ".angular",
    ".nx",
    ".vite",
    ".vitest",
    ".swc",
    ".eslintcache",
    ".stylelintcache",
    ".tsbuildinfo",
    ".gradle",
    ".kotlin",
    ".zig-cache",
    ".ccls-cache",
    ".deps",
    ".libs",
    ".dirstamp",
    ".ninja_deps",
    ".ninja_log",
    ".dart_tool",
    ".build",
    ".tmp",
    ".temp",
    ".stack-work",
    ".sass-cache",
    ".DS_Store",
];

/// What these names begin with is made and removed again.
const TRANSIENT: &[&str] = &[".tmp", ".nfs", ".fuse_hidden", ".coverage.", ".#", ".~"];

/// Where packages are put.
const INSTALLED: &[&str] = &["node_modules", "site-packages", "vendor"];

/// Read from any directory that a runner walks through.
const RUNNER: &[&str] = &[
    "conftest.py",
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    "tox.ini",
    "setup.cfg",
    "sitecustomize.py",
    "usercustomize.py",
];

/// Of a name in a directory that the tree has.
pub fn steers(name: &[u8]) -> bool {
    match never_product::rule(name) {
        None | Some(NameRule::Locks | NameRule::Compiled | NameRule::Installed | NameRule::StandsIn) => false,
        Some(NameRule::Configures | NameRule::Manifest | NameRule::Builds) => true,
        Some(NameRule::Dot) => {
            let is_output = OUTPUTS.iter().any(|output| output.as_bytes() == name);
            !is_output && !TRANSIENT.iter().any(|start| name.starts_with(start.as_bytes()))
        }
    }
}

/// Of a name in a directory that was made while a check ran.
pub fn steers_runner(name: &[u8]) -> bool {
    RUNNER.iter().any(|known| known.as_bytes() == name)
}

pub fn is_installed(path: &[u8]) -> bool {
    installed_dir(path).is_some()
}

/// The outermost directory on this path, or the path itself, into which packages are put.
pub fn installed_dir(path: &[u8]) -> Option<&[u8]> {
    let is_dir_of_packages = |path: &&[u8]| {
        let part = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
        INSTALLED.iter().any(|dir| dir.as_bytes() == part)
            || part.ends_with(b".dist-info")
            || part.ends_with(b".egg-info")
    };
    ancestors(path).filter(is_dir_of_packages).last()
}

/// The source that Python believes a compiled file to be of, in whose place it is then run.
pub fn compiled_from(path: &[u8]) -> Option<Vec<u8>> {
    let stem = path.strip_suffix(b".pyc")?;
    let at = stem.iter().rposition(|byte| *byte == b'/').map_or(0, |slash| slash + 1);
    let (dir, name) = stem.split_at(at);
    let module = name.split(|byte| *byte == b'.').next()?;
    let dir = match dir.strip_suffix(b"__pycache__/") {
        Some(above) if above.is_empty() || above.ends_with(b"/") => above,
        Some(_) | None => dir,
    };
    Some([dir, module, b".py"].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_steer_and_outputs_do_not() {
        for name in [
            "conftest.py",
            "pytest.ini",
            ".pytest.ini",
            "tox.ini",
            "setup.cfg",
            ".npmrc",
            "Makefile",
            "package.json",
            "jest.config.js",
            ".cargo",
            "build.rs",
            ".mocharc.cjs",
            "pyproject.toml",
            "x.pth",
        ] {
            assert!(steers(name.as_bytes()), "{name}");
        }
        for name in [
            "target",
            "node_modules",
            "build",
            "a.o",
            "lib.so",
            "junit.xml",
            ".coverage",
            ".pytest_cache",
            "coverage.xml",
            "Cargo.lock",
            "package-lock.json",
            ".coverage.host.12",
            "__pycache__",
            "out.txt",
        ] {
            assert!(!steers(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn a_compiled_file_stands_for_its_source() {
        for (compiled, source) in [
            ("tests/__pycache__/test_a.cpython-312-pytest-8.3.pyc", "tests/test_a.py"),
            ("__pycache__/conftest.cpython-312.pyc", "conftest.py"),
            ("pkg/a.pyc", "pkg/a.py"),
        ] {
            assert_eq!(compiled_from(compiled.as_bytes()).as_deref(), Some(source.as_bytes()));
        }
        assert_eq!(compiled_from(b"a.py"), None);
    }

    #[test]
    fn packages_are_put_into_the_outermost_directory_of_that_name() {
        let dir =
            |path: &str| installed_dir(path.as_bytes()).map(|dir| String::from_utf8(dir.to_vec()).unwrap());
        assert_eq!(dir("web/node_modules/a/node_modules/b/x.js").as_deref(), Some("web/node_modules"));
        assert_eq!(dir("src/shop.egg-info/PKG-INFO").as_deref(), Some("src/shop.egg-info"));
        assert_eq!(dir("src/node_modules_list.js"), None);
    }
}
