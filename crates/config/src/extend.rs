//! Further checks and protected paths in a windlass.toml that is there: all that its owner wrote stays as it
//! is written.

use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, RawString, Table, Value, value};

/// What is to be added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyAddition {
    /// Name and command of each check.
    pub checks: Vec<(String, String)>,
    pub protect: Vec<String>,
}

impl PolicyAddition {
    pub fn is_empty(&self) -> bool {
        self.checks.is_empty() && self.protect.is_empty()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ExtendError {
    #[error("it is not TOML: {0}")]
    NotToml(Box<toml_edit::TomlError>),
    #[error("`{0}` is not written as a table there, and cannot be added to")]
    OtherForm(&'static str),
}

/// The text with what is added. What the file has already is not added again.
pub fn extend_policy_text(text: &str, addition: &PolicyAddition) -> Result<String, ExtendError> {
    let mut file: DocumentMut = text.parse().map_err(|error| ExtendError::NotToml(Box::new(error)))?;
    if addition.is_empty() {
        return Ok(text.to_owned());
    }
    let gate = file.entry("gate").or_insert(Item::Table(Table::new()));
    let gate = gate.as_table_mut().ok_or(ExtendError::OtherForm("gate"))?;
    let position = gate.position();
    if !addition.protect.is_empty() {
        let globs = gate.entry("protect").or_insert(value(Array::new()));
        let globs = globs.as_array_mut().ok_or(ExtendError::OtherForm("gate.protect"))?;
        let known: Vec<String> = globs.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        addition.protect.iter().filter(|glob| !known.contains(glob)).for_each(|glob| globs.push(glob));
    }
    if !addition.checks.is_empty() {
        let checks = gate.entry("check").or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
        let checks = checks.as_array_of_tables_mut().ok_or(ExtendError::OtherForm("gate.check"))?;
        let last = checks.iter().filter_map(Table::position).max();
        let added = addition.checks.iter().map(|(name, run)| {
            let mut check = Table::new();
            check.insert("name", value(name));
            check.insert("run", value(run));
            check.decor_mut().set_prefix("\n");
            check
        });
        let mut added: Vec<Table> = added.collect();
        if let Some(last) = last.or(position) {
            let comments = take_comments_after(&mut file, last);
            added[0].decor_mut().set_prefix(format!("{comments}\n"));
        }
        let checks = file["gate"]["check"].as_array_of_tables_mut().expect("it was one above");
        added.into_iter().for_each(|check| checks.push(check));
    }
    Ok(file.to_string())
}

/// Takes out the comments that belong to the table at this position: keys that are commented out there would
/// else stand below a check. What stands right above the next header, or is a table that is commented out, stays.
fn take_comments_after(file: &mut DocumentMut, position: isize) -> String {
    let Some(next) = table_after(file.as_table_mut(), position) else {
        let trailing = file.trailing().as_str().unwrap_or_default().to_owned();
        let own = of_table(&trailing);
        file.set_trailing(trailing[own..].to_owned());
        return trailing[..own].to_owned();
    };
    let prefix = next.decor().prefix().and_then(RawString::as_str).unwrap_or_default().to_owned();
    let attached = prefix.rfind("\n\n").map_or(0, |blank| blank + 1);
    let own = of_table(&prefix[..attached]);
    next.decor_mut().set_prefix(prefix[own..].to_owned());
    prefix[..own].to_owned()
}

/// Where the first paragraph starts that is a table which is commented out and none of the gate.
fn of_table(comments: &str) -> usize {
    let mut end = 0_usize;
    for paragraph in comments.split_inclusive("\n\n") {
        let is_other = |line: &str| {
            let header = line.trim_start_matches(['#', ' ']).trim_start_matches('[');
            line.trim_start_matches(['#', ' ']).starts_with('[') && !header.starts_with("gate")
        };
        if paragraph.lines().any(is_other) {
            // The blank line before it belongs to it.
            return end.saturating_sub(1);
        }
        end += paragraph.len();
    }
    end
}

/// The table that is written next after this position.
fn table_after(table: &mut Table, position: isize) -> Option<&mut Table> {
    let mut found: Option<&mut Table> = None;
    for (_, item) in table.iter_mut() {
        let tables: Vec<&mut Table> = match item {
            Item::Table(table) => vec![table],
            Item::ArrayOfTables(tables) => tables.iter_mut().collect(),
            Item::None | Item::Value(_) => Vec::new(),
        };
        for table in tables {
            let own = table.position().filter(|own| *own > position && !table.is_implicit());
            let candidate = match own {
                Some(_) => Some(table),
                None => table_after(table, position),
            };
            let at = |table: &&mut Table| table.position();
            if let Some(candidate) = candidate
                && found.as_ref().is_none_or(|found| at(found) > candidate.position())
            {
                found = Some(candidate);
            }
        }
    }
    found
}

/// Name and command of each check that a windlass.toml has; none where it cannot be read.
pub fn checks_of_text(text: &str) -> Vec<(String, String)> {
    let Ok(file) = text.parse::<DocumentMut>() else { return Vec::new() };
    let checks = file.get("gate").and_then(|gate| gate.get("check")).and_then(Item::as_array_of_tables);
    let text_of = |check: &Table, key: &str| check.get(key).and_then(Item::as_str).map(str::to_owned);
    let pair = |check: &Table| Some((text_of(check, "name")?, text_of(check, "run")?));
    checks.into_iter().flatten().filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added() -> PolicyAddition {
        PolicyAddition {
            checks: vec![("lint".to_owned(), "sh \"lint\".sh".to_owned())],
            protect: vec!["tests/**".to_owned(), "spec/**".to_owned()],
        }
    }

    #[test]
    fn what_is_written_stays_as_it_is() {
        let text = "# ours\n[agent]\nuse = \"codex\" # yes\n\n[gate]\nprotect = [\"tests/**\"]\n\n[[gate.check]]\nname = \"test\"\nrun = \"make test\"\n\n[land]\nrule = \"branch\"\n";
        let extended = extend_policy_text(text, &added()).unwrap();
        assert_eq!(
            extended,
            "# ours\n[agent]\nuse = \"codex\" # yes\n\n[gate]\nprotect = [\"tests/**\", \"spec/**\"]\n\n[[gate.check]]\nname = \"test\"\nrun = \"make test\"\n\n[[gate.check]]\nname = \"lint\"\nrun = 'sh \"lint\".sh'\n\n[land]\nrule = \"branch\"\n"
        );
        assert_eq!(extend_policy_text(text, &PolicyAddition::default()).unwrap(), text);
    }

    #[test]
    fn a_check_stands_below_the_comments_of_the_gate() {
        let checks = PolicyAddition { protect: Vec::new(), ..added() };
        let lint = "\n[[gate.check]]\nname = \"lint\"\nrun = 'sh \"lint\".sh'\n";
        let gate = "[gate]\nprotect = []\n# Your sources.\n# product = [\"src/**\"]\n";
        let test =
            "\n# Your tests.\n[[gate.check]]\nname = \"test\"\nrun = \"make test\"\n# control = \"auto\"\n";
        for (before, after) in [
            (gate.to_owned(), ""),
            (gate.to_owned(), "\n# How much.\n[budget]\nwall = \"1h\"\n"),
            (gate.to_owned(), "\n[budget]\nwall = \"1h\"\n"),
            (gate.to_owned(), "\n# [scope.implement]\n# files_changed = 3\n"),
            (gate.to_owned(), "\n# [scope.implement]\n# files_changed = 3\n\n# How much.\n[budget]\n"),
            (format!("{gate}{test}"), ""),
            (format!("{gate}{test}"), "\n# How much.\n[budget]\nwall = \"1h\"\n"),
            (format!("{gate}\n# [[gate.check]]\n# name = \"test\"\n"), "\n[budget]\n"),
        ] {
            let extended = extend_policy_text(&format!("{before}{after}"), &checks).unwrap();
            assert_eq!(extended, format!("{before}{lint}{after}"));
        }
    }

    #[test]
    fn a_file_without_a_gate_gets_one() {
        let extended = extend_policy_text("[agent]\nuse = \"codex\"\n", &added()).unwrap();
        assert!(extended.starts_with("[agent]\nuse = \"codex\"\n\n[gate]\nprotect = ["), "{extended}");
        assert!(extended.contains("[[gate.check]]\nname = \"lint\"\n"), "{extended}");
    }

    #[test]
    fn another_form_is_refused() {
        for (text, what) in [
            ("gate = 1\n", "`gate`"),
            ("[gate]\nprotect = \"x\"\n", "`gate.protect`"),
            ("[gate]\ncheck = []\n", "`gate.check`"),
        ] {
            let refused = extend_policy_text(text, &added()).unwrap_err().to_string();
            assert!(refused.starts_with(what), "{refused}");
        }
        assert!(extend_policy_text("[gate", &added()).is_err());
    }
}
