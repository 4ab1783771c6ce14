//! Rules for every tracked file, whatever its language.

use super::Problem;

const ROOT_PAGES: &[&str] =
    &["README.md", "ARCHITECTURE.md", "GLOSSARY.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"];
const ARCHITECTURE_LINES: usize = 250;

pub fn check(path: &str, text: &str) -> Vec<Problem> {
    let mut found = Vec::new();
    if path.ends_with(".md") && !path.contains('/') && !ROOT_PAGES.contains(&path) {
        let what = format!("Markdown in the root is only {}; others live in docs/", ROOT_PAGES.join(", "));
        found.push(Problem::new(path, 0, what));
    }
    let lines = text.lines().count();
    if path == "ARCHITECTURE.md" && lines > ARCHITECTURE_LINES {
        found.push(Problem::new(path, 0, format!("{lines} lines; at most {ARCHITECTURE_LINES}")));
    }
    for (index, line) in text.lines().enumerate() {
        if let Some(place) = machine_path(line) {
            found.push(Problem::new(path, index + 1, format!("{place} is a path of one machine")));
        }
    }
    found
}

/// A directory that exists where this was written and nowhere else. The same
/// letters further down a path, as in `a/root/b`, are innocent.
fn machine_path(line: &str) -> Option<String> {
    ["work", "root"].iter().map(|name| format!("/{name}/")).find(|place| {
        line.match_indices(place.as_str()).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            !before.is_some_and(|c| c.is_alphanumeric() || "_-.~*$}>)/".contains(c))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::said;
    use super::*;

    #[test]
    fn the_root_has_five_pages() {
        assert_eq!(check("NOTES.md", "").len(), 1);
        assert_eq!(check("README.md", ""), []);
        assert_eq!(check("docs/design/fence.md", ""), []);
    }

    #[test]
    fn the_architecture_fits_in_250_lines() {
        assert_eq!(check("ARCHITECTURE.md", &"\n".repeat(250)), []);
        assert_eq!(said(&check("ARCHITECTURE.md", &"\n".repeat(251))), ["0: 251 lines; at most 250"]);
    }

    #[test]
    fn no_path_of_one_machine() {
        for name in ["root", "work"] {
            let place = format!("/{name}/");
            for line in
                [format!("{place}x"), format!("see {place}x"), format!("\"{place}\""), format!("a={place}")]
            {
                assert_eq!(
                    said(&check("a.txt", &format!("\n{line}"))),
                    [format!("2: {place} is a path of one machine")]
                );
            }
            for line in
                [format!("a{place}x"), format!("~{place}"), format!("$HOME{place}"), place.replace('/', "")]
            {
                assert_eq!(check("a.txt", &line), [], "{line}");
            }
        }
    }
}
