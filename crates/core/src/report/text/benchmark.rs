//! Benchmark results for a terminal, with the conditions they depend on.

use std::fmt::Write as _;

use super::table::{Edge, table};
use crate::format::benchmark::{BenchmarkResult, WireGroup, WireMeans};

/// The measures to show, if a result has them.
const SHOWN: [&str; 7] =
    ["recall_any@5", "recall_all@5", "recall_any@10", "recall_all@10", "nDCG@10", "R@5", "R@100"];

/// The report of a result. The headline states that it measures retrieval, not answers.
pub fn benchmark(result: &BenchmarkResult, facts: &[(&str, String)]) -> String {
    let mut text = String::new();
    line(&mut text, &result.headline);
    line(&mut text, "These figures measure retrieval. No answers were judged.\n");
    let rows: Vec<Vec<String>> =
        facts.iter().map(|(name, value)| vec![(*name).to_owned(), value.clone()]).collect();
    text.push_str(&table(&[Edge::Left, Edge::Left], &rows));
    text.push('\n');
    text.push_str(&by_type(result));
    text.push('\n');
    text.push_str(&baselines(result));
    text.push_str(&official(result));
    for warning in &result.warnings {
        let _ = writeln!(text, "\nwarning: {warning}");
    }
    text
}

fn line(text: &mut String, line: &str) {
    let _ = writeln!(text, "{line}");
}

/// The fixed measures, and those of complete rankings, whose names contain a depth.
fn shown(result: &BenchmarkResult) -> Vec<&str> {
    let means = &result.all.means;
    let fixed = SHOWN.into_iter().filter(|name| means.contains_key(*name));
    let whole = means.keys().map(String::as_str);
    let whole = whole.filter(|name| name.starts_with("AP@") || name.starts_with("RR@"));
    fixed.chain(whole).collect()
}

fn by_type(result: &BenchmarkResult) -> String {
    let names = shown(result);
    let mut rows = vec![head("type", &names)];
    for (kind, group) in result.by_type.iter().filter(|(kind, _)| !kind.is_empty()) {
        rows.push(row(kind, group, &names));
    }
    rows.push(row("all", &result.all, &names));
    let mut text = table(&edges(names.len()), &rows);
    for name in &names {
        if let Some(mean) = result.all.means.get(*name) {
            let _ =
                writeln!(text, "{name}: {:.4} (95% {:.4}-{:.4})", mean.mean, mean.low, mean.high);
        }
    }
    if let Some(share) = result.turn_recall {
        let _ = writeln!(
            text,
            "turns that answer, shown in the first {}: {:.4}",
            result.label.k, share.mean
        );
    }
    text
}

fn head(first: &str, names: &[&str]) -> Vec<String> {
    let head = [first.to_owned(), "n".to_owned()].into_iter();
    head.chain(names.iter().map(|name| (*name).to_owned())).collect()
}

fn edges(columns: usize) -> Vec<Edge> {
    let mut edges = vec![Edge::Left];
    edges.extend(std::iter::repeat_n(Edge::Right, columns + 1));
    edges
}

fn row(name: &str, group: &WireGroup, names: &[&str]) -> Vec<String> {
    let value =
        |name: &&str| group.means.get(*name).map_or("-".to_owned(), |m| format!("{:.4}", m.mean));
    let first = [name.to_owned(), group.n.to_string()].into_iter();
    first.chain(names.iter().map(value)).collect()
}

/// All rankings of the same documents, ours first.
fn baselines(result: &BenchmarkResult) -> String {
    let names = shown(result);
    let mut rows = vec![head("ranking", &names), row(&result.label.retrieval, &result.all, &names)];
    for (name, figured) in &result.baselines {
        rows.push(figures(name, figured, &names));
    }
    table(&edges(names.len()), &rows)
}

fn figures(name: &str, figured: &WireMeans, names: &[&str]) -> Vec<String> {
    let value =
        |name: &&str| figured.means.get(*name).map_or("-".to_owned(), |m| format!("{m:.4}"));
    let first = [name.to_owned(), figured.n.to_string()].into_iter();
    first.chain(names.iter().map(value)).collect()
}

/// LongMemEval's own names, formulas and denominators.
fn official(result: &BenchmarkResult) -> String {
    let levels = [("session", &result.longmemeval_session), ("turn", &result.longmemeval_turn)];
    let mut text = String::new();
    for (level, figured) in levels {
        let Some(WireMeans { n, means }) = figured else { continue };
        let names = [
            "recall_any@5",
            "recall_all@5",
            "ndcg_any@5",
            "recall_any@10",
            "recall_all@10",
            "ndcg_any@10",
        ];
        let values: Vec<String> = names
            .iter()
            .map(|name| format!("{name} {:.4}", means.get(*name).unwrap_or(&0.0)))
            .collect();
        let _ = writeln!(
            text,
            "\nLongMemEval's own figures of {level}s, by its formulas, over the {n} questions it \
             counts (no abstention, and a user's turn that answers):\n  {}",
            values.join("  ")
        );
    }
    text
}
