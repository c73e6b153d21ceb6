//! A benchmark gate as Markdown.

use crate::gate::{BenchmarkGate, FloorCheck, ONLY_REPRODUCING};
use crate::report::headline::word;

use super::{code, list, table};

pub fn benchmark(headline: &str, gate: &BenchmarkGate) -> String {
    let BenchmarkGate { verdict, checks, reasons } = gate;
    let mut text =
        format!("## gbrain eval gate --result: {}\n\n{}\n\n", word(*verdict), code(headline));
    let rows = checks.iter().map(|check| check.cells().map(|cell| code(&cell)).to_vec());
    text.push_str(&table(&FloorCheck::HEADS.map(str::to_owned), rows));
    let reasons: Vec<String> = reasons.iter().map(|reason| code(reason)).collect();
    text.push_str(&list("Why there is no verdict", &reasons));
    text.push_str(&format!("\n{ONLY_REPRODUCING}\n"));
    text
}
