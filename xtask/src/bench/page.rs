//! `docs/benchmarks.md`, written whole at each run.

use std::fmt::Write as _;

use super::machine::Machine;

#[derive(Clone, Debug)]
pub struct Section {
    pub name: String,
    pub claim: String,
    pub rows: Vec<Row>,
}

#[derive(Clone, Debug)]
pub struct Row {
    pub what: String,
    pub value: String,
    /// What it is held against; empty where it stands alone.
    pub reference: String,
    pub ratio: Option<f64>,
    pub limit: Option<Limit>,
}

/// A bound, and whether it was kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    pub text: String,
    pub held: bool,
    /// By how many percent of the bound it was missed.
    pub over_percent: f64,
}

impl Limit {
    pub fn at_most(measured: f64, bound: f64, unit: &str) -> Self {
        let over_percent = (measured / bound - 1.0) * 100.0;
        Self { text: format!("≤ {bound} {unit}"), held: measured <= bound, over_percent }
    }

    pub fn at_least(measured: f64, bound: f64, unit: &str) -> Self {
        let over_percent = (1.0 - measured / bound) * 100.0;
        Self { text: format!("≥ {bound} {unit}"), held: measured >= bound, over_percent }
    }

    fn verdict(&self) -> String {
        if self.held { "held".to_owned() } else { format!("**missed** by {:.0} %", self.over_percent) }
    }
}

impl Row {
    /// A number without a reference beside it.
    pub fn plain(what: &str, value: String, limit: Option<Limit>) -> Self {
        Self { what: what.to_owned(), value, reference: String::new(), ratio: None, limit }
    }
}

impl Section {
    /// The rows that did not keep their bound.
    pub fn missed(&self) -> impl Iterator<Item = String> {
        self.rows.iter().filter_map(|row| {
            let limit = row.limit.as_ref().filter(|limit| !limit.held)?;
            Some(format!("{}: {}: {} ({})", self.name, row.what, row.value, limit.text))
        })
    }

    pub fn table(&self) -> String {
        let mut table =
            "| what | median (least–most) | against | ratio | bound |  |\n|---|---|---|---|---|---|\n"
                .to_owned();
        for row in &self.rows {
            let ratio = row.ratio.map(|ratio| format!("{ratio:.2}")).unwrap_or_default();
            let (bound, verdict) =
                row.limit.as_ref().map(|limit| (limit.text.clone(), limit.verdict())).unwrap_or_default();
            let cells = [&row.what, &row.value, &row.reference, &ratio, &bound, &verdict];
            let cells = cells.map(|cell| cell.replace('|', "\\|"));
            table.push_str(&format!("| {} |\n", cells.join(" | ")));
        }
        table
    }
}

pub fn write(machine: &Machine, sections: &[Section]) -> String {
    let mut page = "# Benchmarks\n\nWritten by `cargo xtask bench`. Each subject is measured in turn with its reference, \
                    so a ratio holds where the milliseconds do not.\n\n"
        .to_owned();
    page.push_str(&machine.to_string());
    for section in sections {
        let _ = write!(page, "\n## {}\n\n{}\n\n{}", section.name, section.claim, section.table());
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_bound_is_named_in_the_table_and_the_list() {
        let row = |ratio: f64| Row {
            what: format!("a|b {ratio}"),
            value: "5 ms".to_owned(),
            reference: "git: 2 ms".to_owned(),
            ratio: Some(ratio),
            limit: Some(Limit::at_most(ratio, 2.0, "×")),
        };
        let section =
            Section { name: "snapshot".to_owned(), claim: "fast".to_owned(), rows: vec![row(1.0), row(2.5)] };
        let table = section.table();
        assert!(table.contains("| a\\|b 1 | 5 ms | git: 2 ms | 1.00 | ≤ 2 × | held |\n"), "{table}");
        assert!(table.contains("| **missed** by 25 % |\n"), "{table}");
        assert_eq!(section.missed().collect::<Vec<_>>(), ["snapshot: a|b 2.5: 5 ms (≤ 2 ×)"]);
    }

    #[test]
    fn a_floor_is_kept_from_above() {
        assert!(Limit::at_least(5000.0, 5000.0, "loops").held);
        let missed = Limit::at_least(4000.0, 5000.0, "loops");
        assert_eq!((missed.held, missed.over_percent.round()), (false, 20.0));
    }
}
