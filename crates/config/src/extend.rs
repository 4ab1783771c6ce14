//! Further checks and protected paths in a windlass.toml that is there: all that its owner wrote stays as it
//! is written.

use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, Value, value};

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
    if !addition.protect.is_empty() {
        let globs = gate.entry("protect").or_insert(value(Array::new()));
        let globs = globs.as_array_mut().ok_or(ExtendError::OtherForm("gate.protect"))?;
        let known: Vec<String> = globs.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        addition.protect.iter().filter(|glob| !known.contains(glob)).for_each(|glob| globs.push(glob));
    }
    if !addition.checks.is_empty() {
        let checks = gate.entry("check").or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
        let checks = checks.as_array_of_tables_mut().ok_or(ExtendError::OtherForm("gate.check"))?;
        for (name, run) in &addition.checks {
            let mut check = Table::new();
            check.insert("name", value(name));
            check.insert("run", value(run));
            check.decor_mut().set_prefix("\n");
            checks.push(check);
        }
    }
    Ok(file.to_string())
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
