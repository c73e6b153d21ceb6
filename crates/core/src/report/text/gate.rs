//! Gates for a terminal.

use crate::gate::{
    Breach, CheckStatus, ConfidenceLevel, CorrectnessParts, GateCheck, GateParts, JudgedResult,
    QueryResult, RegressionParts, ThresholdSide,
};
use crate::report::escape::visible;
use crate::report::headline::{breach, why, word};
use crate::report::number::{Unit, cells, count, delta, heads, maybe, unit};
use crate::report::rows::worst_judged;
use crate::report::tally::{asked, jaccards, regressed, worst_rows};

use super::LINE;
use super::rows::{blame, changes, line, row};
use super::spark::sparkline;
use super::table::{Edge, table};

/// Maximum number of rows and queries to list.
const WORST: usize = 5;
/// Maximum number of pages to name per query.
const PAGES: usize = 5;

/// The report of a gate.
pub fn gate(parts: &GateParts<'_>) -> String {
    let mut text = format!("{}  {}\n", word(parts.verdict), why(parts));
    if let Some(regression) = &parts.regression {
        text.push('\n');
        text.push_str(&self::regression(regression, parts.confidence));
    }
    if let Some(correctness) = &parts.correctness {
        text.push('\n');
        text.push_str(&self::correctness(correctness, parts.confidence));
    }
    text
}

fn regression(parts: &RegressionParts<'_>, confidence: Option<ConfidenceLevel>) -> String {
    let found = parts.found;
    let summary = &found.summary;
    let sealed = parts.integrity.in_words();
    let mut text = String::new();
    line(&mut text, format_args!("Regression gate: {}", word(found.verdict)));
    line(
        &mut text,
        format_args!(
            "Baseline {}, published {}, {} ({sealed})",
            visible(&parts.metadata.label, LINE),
            visible(&parts.metadata.published_at, LINE),
            visible(parts.path, LINE),
        ),
    );
    line(&mut text, format_args!("{}", asked(summary)));
    let checks: Vec<&GateCheck> = found.checks.iter().chain([&found.latency]).collect();
    text.push_str(&checked(&checks, confidence));
    if summary.measured > 0 {
        let spread = sparkline(&jaccards(parts.rows));
        line(&mut text, format_args!("Jaccard, rows from 0 to 1: {spread}"));
    }
    text.push_str(&breaches(&found.breaches));
    text.push_str(&warnings(&found.warnings));
    text.push('\n');
    text.push_str(&changes(parts.rows));
    text.push_str(&blame(parts.rows));
    text.push_str(&worst(parts));
    text
}

fn correctness(parts: &CorrectnessParts<'_>, confidence: Option<ConfidenceLevel>) -> String {
    let found = parts.found;
    let errored = found.queries.iter().filter(|judged| judged.recall_at_k.is_none()).count();
    let mut text = String::new();
    line(&mut text, format_args!("Correctness gate: {}", word(found.verdict)));
    line(
        &mut text,
        format_args!(
            "Qrels {}, {} pipeline, k={}",
            visible(parts.path, LINE),
            parts.pipeline,
            found.k
        ),
    );
    line(
        &mut text,
        format_args!("Ran {} ({errored} errored)", count(found.queries.len(), "query")),
    );
    text.push_str(&checked(&found.checks.iter().collect::<Vec<_>>(), confidence));
    text.push_str(&breaches(&found.breaches));
    text.push_str(&warnings(&found.warnings));
    text.push_str(&wrong(&found.queries));
    text
}

fn checked(checks: &[&GateCheck], confidence: Option<ConfidenceLevel>) -> String {
    use Edge::{Left, Right};
    let mut rows = vec![heads(confidence).to_vec()];
    rows.extend(checks.iter().map(|check| cells(check).to_vec()));
    let edges = [Left, Right, Right, Right, Left, Right, Left, Right];
    let mut text = format!("\n{}\n", table(&edges, &rows));
    let smallest = |check: &&GateCheck| {
        let is_shown =
            check.bound == ThresholdSide::Floor && check.n > 0 && check.status != CheckStatus::Fail;
        let drop = check.smallest_drop.map(|drop| delta(unit(check.metric), -drop));
        let drop = drop.unwrap_or_else(|| "cannot tell".to_owned());
        is_shown.then(|| format!("{} {drop}", check.metric))
    };
    let smallest: Vec<String> = checks.iter().filter_map(smallest).collect();
    if !smallest.is_empty() {
        line(
            &mut text,
            format_args!(
                "Smallest drop that fails with a power of .8, if rows lose their whole value: {}",
                smallest.join(", ")
            ),
        );
    }
    text
}

fn breaches(breaches: &[Breach]) -> String {
    if breaches.is_empty() {
        return String::new();
    }
    let mut text = "\nBreaches:\n".to_owned();
    for one in breaches {
        line(&mut text, format_args!("  {}", breach(one)));
        for example in &one.examples {
            line(&mut text, format_args!("    {}", visible(example, LINE)));
        }
    }
    text
}

fn warnings(warnings: &[String]) -> String {
    if warnings.is_empty() {
        return String::new();
    }
    let lines: String = warnings.iter().map(|one| format!("  {}\n", visible(one, LINE))).collect();
    format!("\nWarnings:\n{lines}")
}

fn worst(parts: &RegressionParts<'_>) -> String {
    let rows = worst_rows(parts.rows, WORST);
    if rows.is_empty() {
        return String::new();
    }
    let rows_text: String = rows.iter().map(|one| row(one)).collect();
    format!("\nWorst {} of {}:\n{rows_text}", rows.len(), count(regressed(parts.rows), "moved row"))
}

fn wrong(queries: &[JudgedResult]) -> String {
    let wrong = worst_judged(queries);
    if wrong.is_empty() {
        return String::new();
    }
    let shown = wrong.len().min(WORST);
    let mut text = format!("\nWorst {shown} of {}:\n", count(wrong.len(), "query"));
    for (_, judged) in wrong.into_iter().take(WORST) {
        text.push_str(&self::judged(judged));
    }
    text
}

fn judged(judged: &JudgedResult) -> String {
    let id = visible(&judged.query.id, LINE);
    let query = visible(judged.query.text.as_deref().unwrap_or_default(), LINE);
    let retrieved = match &judged.result {
        QueryResult::Errored(message) => {
            return format!("  {id} \"{query}\"\n    failed: {}\n", visible(message, LINE));
        }
        QueryResult::Ranked(pages) => pages,
    };
    let mut text = String::new();
    line(
        &mut text,
        format_args!(
            "  recall={} relevant={} retrieved={} {id} \"{query}\"",
            maybe(Unit::Score, judged.recall_at_k),
            judged.relevant.len(),
            retrieved.len(),
        ),
    );
    for page in judged.missing().iter().take(PAGES) {
        line(&mut text, format_args!("    missing: {}", visible(page, LINE)));
    }
    let first = retrieved.first().map_or("nothing", String::as_str);
    if judged.expected_top1_hit == Some(false) {
        let expected = visible(judged.query.expected_top1.as_deref().unwrap_or_default(), LINE);
        line(&mut text, format_args!("    first: {} instead of {expected}", visible(first, LINE)));
    } else if judged.first_relevant_hit == Some(false) {
        line(&mut text, format_args!("    first: {}, not relevant", visible(first, LINE)));
    }
    text
}
