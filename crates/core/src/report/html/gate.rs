//! A gate as an HTML page.

use crate::gate::{Breach, CorrectnessParts, GateCheck, GateParts, RegressionParts};
use crate::report::headline::{breach, breaches, warnings, why, word};
use crate::report::number::count;

use super::checks::checks;
use super::judged::judged;
use super::page::{Banner, page};
use super::rankings::rankings;
use super::replay::{changes, failed, plots};
use super::{ROWS, list, section, table, text};

/// The page of a gate.
pub fn gate(parts: &GateParts<'_>) -> String {
    let why = text(&why(parts));
    let banner = Banner {
        class: parts.verdict.name(),
        word: word(parts.verdict),
        what: "gbrain eval gate",
        why: &why,
    };
    let mut body = String::new();
    body.push_str(&section("breaches", "Breaches", "", &list("plain", &breached(parts))));
    if let Some(regression) = &parts.regression {
        body.push_str(&of_regression(regression, parts));
    }
    if let Some(correctness) = &parts.correctness {
        body.push_str(&of_correctness(correctness, parts));
    }
    let warnings: Vec<String> = warnings(parts).map(|one| text(one)).collect();
    body.push_str(&section("warnings", "Warnings", "", &list("plain", &warnings)));
    body.push_str(&section("fingerprints", "Fingerprints", "", &fingerprints(parts)));
    page(banner, &facts(parts), &body)
}

fn facts(parts: &GateParts<'_>) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if let Some(regression) = &parts.regression {
        facts.push(("Baseline", text(&regression.metadata.label)));
        facts.push(("Published", text(&regression.metadata.published_at)));
        let summary = &regression.found.summary;
        facts.push(("Replayed", format!("{} of {} rows", summary.replayed, summary.total)));
    }
    if let Some(correctness) = &parts.correctness {
        facts.push(("Judged", count(correctness.found.queries.len(), "query")));
        facts.push(("Pipeline", format!("{}, k={}", correctness.pipeline, correctness.found.k)));
    }
    facts.push(("Took", format!("{:.1} s", parts.elapsed_ms / 1000.0)));
    facts
}

fn breached(parts: &GateParts<'_>) -> Vec<String> {
    let item = |one: &Breach| {
        let examples: Vec<String> = one.examples.iter().map(|example| text(example)).collect();
        format!("{}{}", text(&breach(one)), list("", &examples))
    };
    breaches(parts).map(item).collect()
}

fn of_regression(parts: &RegressionParts<'_>, whole: &GateParts<'_>) -> String {
    let found = parts.found;
    let all: Vec<&GateCheck> = found.checks.iter().chain([&found.latency]).collect();
    let mut html = section(
        "regression",
        "Regression gate",
        "Dot: now. Ring: the baseline. Band: the interval. Shaded: beyond the threshold.",
        &checks("checks of the regression gate", &all, whole.confidence),
    );
    html.push_str(&section("spread", "Distribution", "", &plots(parts.rows, &found.summary)));
    html.push_str(&section("changed", "What changed since the capture", "", &changes(parts.rows)));
    html.push_str(&section("failed", "Rows without a result", "", &failed(parts.rows)));
    html.push_str(&section(
        "moved",
        "Moved rows",
        "Worst first, by overlap of captured and current pages.",
        &rankings(parts.rows, ROWS),
    ));
    html
}

fn of_correctness(parts: &CorrectnessParts<'_>, whole: &GateParts<'_>) -> String {
    let all: Vec<&GateCheck> = parts.found.checks.iter().collect();
    let mut html = section(
        "correctness",
        "Correctness gate",
        "",
        &checks("checks of the correctness gate", &all, whole.confidence),
    );
    html.push_str(&section(
        "judged",
        "Judged queries",
        "Worst first, by the share of relevant pages that came back.",
        &judged(&parts.found.queries),
    ));
    html
}

fn fingerprints(parts: &GateParts<'_>) -> String {
    let mut rows = Vec::new();
    let mut row = |name: &str, value: &str| {
        rows.push(vec![name.to_owned(), format!("<code>{}</code>", text(value))]);
    };
    if let Some(regression) = &parts.regression {
        row("baseline", regression.path);
        row("source_hash", &regression.metadata.source_hash);
        row("rows_hash", regression.metadata.rows_hash.as_deref().unwrap_or("none"));
        row("integrity", regression.integrity.in_words());
    }
    if let Some(correctness) = &parts.correctness {
        row("qrels", correctness.path);
    }
    for (name, value) in parts.provenance.into_iter().flat_map(|provenance| provenance.summary()) {
        row(name, &value);
    }
    if rows.is_empty() {
        String::new()
    } else {
        table("fingerprints", "prints", &["What", "Value"], &rows)
    }
}
