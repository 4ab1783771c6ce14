//! Tools that a machine may lack and that a registry of packages has. Each comes into a directory of the tree, so
//! that nothing of the user's is changed.

/// Makes a virtual environment `.tool` with these packages of PyPI in it.
pub fn by_pip(tool: &str, packages: &str) -> [String; 2] {
    [
        format!("python3 -m venv .{tool} && echo '*' >.{tool}/.gitignore"),
        format!(".{tool}/bin/python -m pip install -q {packages}"),
    ]
}

/// The run with the programs of that environment.
pub fn with_tool(tool: &str, run: &str) -> String {
    format!("export PATH=\"$PWD/.{tool}/bin:$PATH\" && {run}")
}
