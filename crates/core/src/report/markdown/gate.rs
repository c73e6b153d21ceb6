//! A gate as Markdown: verdict, checks, breaches, the worst queries, fingerprints.

use crate::gate::{GateParts, RegressionParts, Verdict};
use crate::report::Queries;
use crate::report::headline::{breach, breaches, checks, warnings, why, word};
use crate::report::number::{cells, heads};

use super::rows::{changes, worst, wrong};
use super::{WORST, code, list, table};

/// Maximum number of warnings to list.
const WARNINGS: usize = 20;

/// The report of a gate.
pub fn gate(parts: &GateParts<'_>, queries: Queries) -> String {
    let mark = match parts.verdict {
        Verdict::Pass => "✅",
        Verdict::Fail => "❌",
        Verdict::Inconclusive => "⚠️",
    };
    let mut text =
        format!("## {mark} gbrain eval gate: {}\n\n{}\n\n", word(parts.verdict), why(parts));
    text.push_str(&table(
        &heads(parts.confidence),
        checks(parts).map(|check| cells(check).to_vec()),
    ));
    text.push_str(&breached(parts, queries));
    let warnings: Vec<String> = warnings(parts).take(WARNINGS).map(|one| code(one)).collect();
    text.push_str(&list("Warnings", &warnings));
    if let Some(regression) = &parts.regression {
        text.push_str(&changes(regression.rows));
        text.push_str(&worst(regression.rows, WORST, queries, text.len()));
    }
    if let Some(correctness) = &parts.correctness {
        text.push_str(&wrong(&correctness.found.queries, queries, text.len()));
    }
    text.push_str(&fingerprints(parts));
    text
}

fn breached(parts: &GateParts<'_>, queries: Queries) -> String {
    let mut items = Vec::new();
    for one in breaches(parts) {
        let mut item = breach(one);
        if queries == Queries::Shown {
            item.extend(one.examples.iter().map(|example| format!("\n  - {}", code(example))));
        }
        items.push(item);
    }
    list("Breaches", &items)
}

fn fingerprints(parts: &GateParts<'_>) -> String {
    let mut rows = parts.regression.iter().flat_map(of_baseline).collect::<Vec<_>>();
    if let Some(correctness) = &parts.correctness {
        rows.push(("qrels", correctness.path.to_owned()));
        rows.push(("pipeline", format!("{}, k={}", correctness.pipeline, correctness.found.k)));
    }
    rows.extend(parts.provenance.into_iter().flat_map(|provenance| provenance.summary()));
    let head = ["fingerprint", "value"].map(str::to_owned);
    let line = |(name, value): (&str, String)| vec![name.to_owned(), code(&value)];
    format!("\n### Fingerprints\n\n{}", table(&head, rows.into_iter().map(line)))
}

fn of_baseline(parts: &RegressionParts<'_>) -> Vec<(&'static str, String)> {
    let metadata = parts.metadata;
    let mut rows = vec![
        ("baseline", format!("{} ({})", metadata.label, parts.path)),
        ("published", metadata.published_at.clone()),
        ("source_hash", metadata.source_hash.clone()),
    ];
    rows.extend(metadata.rows_hash.clone().map(|hash| ("rows_hash", hash)));
    rows.push(("integrity", parts.integrity.in_words().to_owned()));
    rows
}
