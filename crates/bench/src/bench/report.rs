//! What a measurement prints: one table, facts about the run, and how it stands to its targets.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::{Map, Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    Table,
    Json,
}

impl Output {
    pub(crate) fn of_flag(json: bool) -> Self {
        if json { Self::Json } else { Self::Table }
    }
}

#[derive(Debug, Clone)]
pub(crate) enum Cell {
    Text(String),
    Count(u64),
    Number { value: f64, digits: usize },
}

impl Cell {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn number(value: f64, digits: usize) -> Self {
        Self::Number { value, digits }
    }

    fn shown(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Count(count) => count.to_string(),
            Self::Number { value, digits } => format!("{value:.digits$}"),
        }
    }

    fn json(&self) -> Value {
        match self {
            Self::Text(text) => json!(text),
            Self::Count(count) => json!(count),
            Self::Number { value, .. } => json!(value),
        }
    }
}

#[derive(Debug, Clone)]
struct Target {
    what: String,
    is_met: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Report {
    name: &'static str,
    headers: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
    facts: Vec<(&'static str, Cell)>,
    targets: Vec<Target>,
}

impl Report {
    pub(crate) fn new(name: &'static str, headers: &[&'static str]) -> Self {
        let headers = headers.to_vec();
        Self { name, headers, rows: Vec::new(), facts: Vec::new(), targets: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    pub(crate) fn fact(&mut self, what: &'static str, cell: Cell) {
        self.facts.push((what, cell));
    }

    pub(crate) fn target(&mut self, what: String, is_met: bool) {
        self.targets.push(Target { what, is_met });
    }

    /// Prints it; the exit code is 1 if a target was missed.
    pub(crate) fn print(&self, output: Output) -> Result<ExitCode> {
        let text = match output {
            Output::Table => self.table(),
            Output::Json => format!("{:#}\n", self.json()),
        };
        std::io::stdout().lock().write_all(text.as_bytes())?;
        Ok(if self.targets.iter().all(|target| target.is_met) {
            ExitCode::SUCCESS
        } else {
            ExitCode::from(1)
        })
    }

    fn table(&self) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(comfy_table::presets::ASCII_MARKDOWN);
        table.set_header(&self.headers);
        for row in &self.rows {
            table.add_row(row.iter().map(Cell::shown));
        }
        let mut text = format!("{table}\n");
        for (what, cell) in &self.facts {
            text.push_str(&format!("{what}: {}\n", cell.shown()));
        }
        for Target { what, is_met } in &self.targets {
            text.push_str(&format!("{}: {what}\n", if *is_met { "met" } else { "MISSED" }));
        }
        text
    }

    fn json(&self) -> Value {
        let object = |cells: &Vec<Cell>| -> Value {
            let pairs =
                self.headers.iter().zip(cells).map(|(header, cell)| (key(header), cell.json()));
            Value::Object(pairs.collect())
        };
        let facts: Map<String, Value> =
            self.facts.iter().map(|(what, cell)| (key(what), cell.json())).collect();
        let targets: Vec<Value> = self
            .targets
            .iter()
            .map(|target| json!({ "target": target.what, "is_met": target.is_met }))
            .collect();
        json!({
            "schema_version": 1,
            "bench": self.name,
            "rows": self.rows.iter().map(object).collect::<Vec<_>>(),
            "facts": facts,
            "targets": targets,
        })
    }
}

/// A header as a wire key.
fn key(header: &str) -> String {
    let keep = |c: char| if c.is_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    header.chars().map(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_a_table_and_an_object() {
        let mut report = Report::new("quality", &["set", "nDCG@10"]);
        report.row(vec![Cell::text("med"), Cell::number(0.70214, 4)]);
        report.target("med is fine".to_owned(), false);
        assert!(report.table().contains("| med | 0.7021  |"), "{}", report.table());
        assert!(report.table().ends_with("MISSED: med is fine\n"));
        assert_eq!(report.json()["rows"][0]["ndcg_10"], 0.70214);
        assert_eq!(report.json()["targets"][0]["is_met"], false);
    }
}
