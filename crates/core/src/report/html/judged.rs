//! Judged queries with their evidence: relevant, retrieved, missing.

use std::fmt::Write as _;

use crate::gate::{JudgedResult, QueryResult};
use crate::report::number::count;
use crate::report::rows::worst_judged;

use super::rankings::score;
use super::{PAGES, ROWS, page_name, text};

/// Number of queries that are expanded initially.
const OPEN: usize = 3;

/// All judged queries, wrong ones first.
pub(super) fn judged(queries: &[JudgedResult]) -> String {
    let mut ordered = worst_judged(queries);
    let wrong = ordered.len();
    let is_listed: Vec<usize> = ordered.iter().map(|(place, _)| *place).collect();
    ordered.extend(queries.iter().enumerate().filter(|(place, _)| !is_listed.contains(place)));
    let mut html = String::new();
    for (at, (_, judged)) in ordered.iter().take(ROWS).enumerate() {
        html.push_str(&one(judged, at < OPEN.min(wrong)));
    }
    let left = ordered.len().saturating_sub(ROWS);
    if left > 0 {
        writeln!(html, "<p class=\"more\">{} not shown.</p>", count(left, "query"))
            .expect("writing to a string succeeds");
    }
    html
}

fn one(judged: &JudgedResult, is_open: bool) -> String {
    let open = if is_open { " open" } else { "" };
    let (id, query) =
        (text(&judged.query.id), text(judged.query.text.as_deref().unwrap_or_default()));
    let score = judged.recall_at_k.map_or_else(|| "<span>-</span>".to_owned(), score);
    let inside = match &judged.result {
        QueryResult::Errored(message) => format!("<p>Failed: {}</p>\n", text(message)),
        QueryResult::Ranked(pages) => evidence(judged, pages),
    };
    format!(
        "<details{open}>\n<summary>{score}<bdi class=\"query\">{query} <span class=\"dim\">{id}</span>\
         </bdi><span class=\"tags\">{}</span></summary>\n<div class=\"inside\">\n{inside}</div>\n\
         </details>\n",
        tags(judged)
    )
}

fn tags(judged: &JudgedResult) -> String {
    let mut tags = Vec::new();
    if matches!(judged.result, QueryResult::Errored(_)) {
        tags.push(("fail", "failed".to_owned()));
    }
    if !judged.missing().is_empty() {
        tags.push(("lost", format!("{} missing", judged.missing().len())));
    }
    if judged.first_relevant_hit == Some(false) {
        tags.push(("inconclusive", "first not relevant".to_owned()));
    } else if judged.expected_top1_hit == Some(false) {
        tags.push(("inconclusive", "first not expected".to_owned()));
    }
    if tags.is_empty() {
        tags.push(("pass", "right".to_owned()));
    }
    let tag =
        |(class, words): &(&str, String)| format!("<span class=\"tag {class}\">{words}</span>");
    tags.iter().map(tag).collect()
}

fn evidence(judged: &JudgedResult, retrieved: &[String]) -> String {
    let relevant = judged.relevant.iter().map(|page| {
        let expected = if judged.query.expected_top1.as_ref() == Some(page) {
            "<span class=\"tag\">expected first</span>"
        } else {
            ""
        };
        match retrieved.iter().position(|one| one == page) {
            Some(at) => format!(
                "{}{expected}<span class=\"tag pass\">at {}</span>",
                page_name(page),
                at + 1
            ),
            None => format!("{}{expected}<span class=\"tag lost\">missing</span>", page_name(page)),
        }
    });
    let retrieved_cells = retrieved.iter().map(|page| {
        let mark = if judged.relevant.contains(page) {
            "<span class=\"tag pass\">relevant</span>"
        } else {
            ""
        };
        format!("{}{mark}", page_name(page))
    });
    let relevant: Vec<String> = relevant.collect();
    side_by_side(&relevant, &retrieved_cells.collect::<Vec<_>>())
}

fn side_by_side(relevant: &[String], retrieved: &[String]) -> String {
    let longest = relevant.len().max(retrieved.len());
    let cell = |cells: &[String], at: usize| cells.get(at).cloned().unwrap_or_default();
    let mut rows = String::new();
    for at in 0..longest.min(PAGES) {
        let (left, right) = (cell(relevant, at), cell(retrieved, at));
        writeln!(rows, "<tr><th scope=\"row\">{}</th><td>{left}</td><td>{right}</td></tr>", at + 1)
            .expect("writing to a string succeeds");
    }
    let left = longest.saturating_sub(PAGES);
    let more =
        if left > 0 { format!("<p class=\"more\">{left} more.</p>\n") } else { String::new() };
    format!(
        "<table class=\"ranks\">\n<thead><tr><th scope=\"col\">#</th><th scope=\"col\">Relevant</th><th \
         scope=\"col\">Retrieved</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n{more}"
    )
}
