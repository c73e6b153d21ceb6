//! `gbrain eval gate --result`: a benchmark's result held against floors. It opens no brain.

use std::path::Path;

use gbrain_core::fault::FaultKind;
use gbrain_core::format::benchmark::BenchmarkResult;
use gbrain_core::gate::{BenchmarkGate, FloorCheck, MeasureFloor, ONLY_REPRODUCING, benchmark};
use gbrain_core::report::{junit, markdown};
use gbrain_eval::{read_document, write_atomically};
use serde_json::json;

use super::{GateArgs, exit};
use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::terminal::table;

/// Gates the result, writes the reports and prints the verdict.
pub(super) fn run(
    context: &CommandContext<'_>,
    path: &Path,
    args: &GateArgs,
) -> Result<Exit, CliError> {
    let result = read(path)?;
    let gate = benchmark(&result, &args.floor);
    if let Some(path) = &args.junit {
        write_atomically(path, junit::benchmark(&result.headline, &gate).as_bytes())?;
    }
    if let Some(path) = &args.markdown {
        write_atomically(path, markdown::benchmark(&result.headline, &gate).as_bytes())?;
    }
    if context.terminal.is_json() {
        print_json(context, &result.headline, &gate);
    } else {
        print_text(context, &result.headline, &gate);
    }
    Ok(exit(gate.verdict))
}

/// A floor as it is typed.
pub(super) fn floor(text: &str) -> Result<MeasureFloor, String> {
    let (measure, minimum) = text.split_once('=').ok_or("NAME=F, as in recall_all@5=0.9")?;
    let minimum = minimum.parse::<f64>().ok().filter(|minimum| (0.0..=1.0).contains(minimum));
    let minimum = minimum.ok_or("the floor is a number from 0 to 1")?;
    Ok(MeasureFloor { measure: measure.to_owned(), minimum })
}

fn read(path: &Path) -> Result<BenchmarkResult, CliError> {
    let bytes = read_document(path)?;
    serde_json::from_slice(&bytes).map_err(|error| {
        CliError::new(FaultKind::Input, format!("{}: {error}", path.display()))
            .hint("`gbrain eval longmemeval DATASET --retrieval-only --result FILE` writes one")
    })
}

fn print_json(context: &CommandContext<'_>, headline: &str, gate: &BenchmarkGate) {
    let BenchmarkGate { verdict, checks, reasons } = gate;
    let check = |FloorCheck { floor, observed, n, status }: &FloorCheck| {
        json!({
            "measure": floor.measure, "floor": floor.minimum, "observed": observed, "n": n,
            "status": status,
        })
    };
    let checks: Vec<_> = checks.iter().map(check).collect();
    context.terminal.json(&json!({
        "schema_version": 1, "verdict": verdict, "headline": headline, "checks": checks,
        "reasons": reasons, "note": ONLY_REPRODUCING,
    }));
}

fn print_text(context: &CommandContext<'_>, headline: &str, gate: &BenchmarkGate) {
    context.terminal.line(headline);
    let rows = gate.checks.iter().map(FloorCheck::cells).map(Vec::from);
    context.terminal.out_paged(table(&FloorCheck::HEADS, rows));
    for reason in &gate.reasons {
        context.terminal.line(reason);
    }
    context.terminal.line(ONLY_REPRODUCING);
    context.terminal.line(format!("verdict: {}", gate.verdict));
}
