//! How a program that is missing is installed.

/// By program: a command that installs it. Those of the system are Debian's.
const INSTALL: &[(&str, &str)] = &[
    ("autoreconf", "apt install autoconf automake libtool"),
    ("bats", "apt install bats"),
    ("bun", "npm install -g bun"),
    ("bundle", "apt install ruby-bundler"),
    ("cargo", "https://rustup.rs"),
    ("cc", "apt install build-essential"),
    ("cmake", "apt install cmake"),
    ("composer", "apt install composer"),
    ("dotnet", "https://dotnet.microsoft.com/download"),
    ("g++", "apt install build-essential"),
    ("gcc", "apt install build-essential"),
    ("go", "apt install golang-go"),
    ("gradle", "apt install gradle"),
    ("java", "apt install default-jdk"),
    ("make", "apt install make"),
    ("meson", "apt install meson"),
    ("mix", "apt install elixir"),
    ("mvn", "apt install maven"),
    ("ninja", "apt install ninja-build"),
    ("node", "apt install nodejs"),
    ("npm", "apt install npm"),
    ("npx", "apt install npm"),
    ("php", "apt install php-cli"),
    ("pnpm", "npm install -g pnpm"),
    ("poetry", "pipx install poetry"),
    ("python3", "apt install python3 python3-venv"),
    ("redis-server", "apt install redis-server"),
    ("shellcheck", "apt install shellcheck"),
    ("shellspec", "https://shellspec.info"),
    ("swift", "https://www.swift.org/install"),
    ("tclsh", "apt install tcl"),
    ("uv", "pipx install uv"),
    ("yarn", "npm install -g yarn"),
    ("zig", "https://ziglang.org/download"),
];

/// The command, or the page, by which this program is installed.
pub fn install_command(program: &str) -> Option<&'static str> {
    INSTALL.iter().find(|(name, _)| *name == program).map(|(_, command)| *command)
}
