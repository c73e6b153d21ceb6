//! An answer for people: titles for reading, slugs for pasting, snippets without markdown, fitted to the terminal.

use std::fmt::Write as _;

use gbrain_brain::{EvidenceTexts, QueryResponse};
use gbrain_core::ranking::{AnswerGrade, Edge, Hit, PassageHit, Ranking, TraceStep};
use gbrain_core::request::Request;
use gbrain_core::search::display::plain;

use crate::terminal::{bold, count, dim, field, highlight, table, wrap, yellow};

const INDENT: &str = "    ";
const DEEPER: &str = "      ";
/// A shorter snippet is a whole passage, not a window of one.
const LONG_SNIPPET: usize = 200;

/// The text of an answer; `evidence` holds what its edges were read from.
pub(super) fn answer(answered: &QueryResponse, evidence: &EvidenceTexts) -> String {
    let QueryResponse { request, ranking, served: _ } = answered;
    let mut text = String::new();
    if ranking.hits.is_empty() {
        text.push_str("nothing found\n");
    } else if ranking.grade() == AnswerGrade::Weak {
        let note = "weak match: no page has this name, and no passage has every word of the query";
        let _ = writeln!(text, "{}", wrap("", "", &yellow(note)));
    }
    for hit in &ranking.hits {
        text.push_str(&one_hit(hit, evidence));
    }
    if let Some(why_not) = &ranking.why_not {
        let verdict = format!("why not {}: {}", why_not.key, why_not.verdict);
        let _ = writeln!(text, "{}", wrap("", INDENT, &field(&verdict)));
        text.push_str(&trace(&why_not.trace));
    }
    let footer = dim(&field(&footer(request, ranking, answered)));
    let _ = writeln!(text, "{}", wrap("", "", &footer));
    text
}

fn footer(request: &Request, ranking: &Ranking, answered: &QueryResponse) -> String {
    let arms: Vec<String> =
        ranking.arms.iter().map(|arm| format!("{} {}", arm.arm, arm.found)).collect();
    let micros: u64 = answered.served.timings.iter().map(|stage| stage.micros).sum();
    let mut parts = vec![
        count(ranking.hits.len(), "hit", "hits"),
        format!("{} {}", request.operation, ranking.mode),
        format!("intent {}", ranking.intent),
        format!("detail {}", ranking.detail),
        arms.join(", "),
        format!("{:.1} ms", micros as f64 / 1000.0),
    ];
    if ranking.expansion_applied {
        parts.push(count(request.expansion.variants().len(), "other wording", "other wordings"));
    }
    if let Some(model) = &ranking.rerank_model {
        parts.push(format!("reranked by {model}"));
    }
    for degraded in &ranking.degraded {
        parts.push(format!("without {} ({})", degraded.stage, degraded.reason));
    }
    parts.join(" · ")
}

fn one_hit(hit: &Hit, evidence: &EvidenceTexts) -> String {
    let mut lines = Vec::new();
    let date = hit.effective_date.map(|date| format!(" · {date}")).unwrap_or_default();
    let about = dim(&field(&format!("{}{date}", hit.page_type)));
    let title = format!("{}  {about}", bold(&field(&hit.title)));
    lines.push(wrap(&format!("{:>2}. ", hit.rank), INDENT, &title));
    let reason = hit.evidence.to_string().replace('_', " ");
    let found = dim(&format!("{reason}, score {:.3}", hit.score));
    lines.push(wrap(INDENT, INDENT, &format!("{}  {found}", field(&hit.key.to_string()))));
    for edge in &hit.edges {
        lines.push(wrap(INDENT, DEEPER, &field(&one_edge(edge))));
        if let Some(sentence) = evidence.of(edge) {
            let shown = format!("read from: {}", plain(&sentence, &[]).text);
            lines.push(wrap(DEEPER, DEEPER, &dim(&field(&shown))));
        }
    }
    for passage in &hit.passages {
        lines.push(wrap(INDENT, INDENT, &field(&one_passage(passage))));
    }
    for duplicate in &hit.duplicates {
        lines.push(wrap(INDENT, DEEPER, &dim(&field(&format!("same text as {duplicate}")))));
    }
    let mut text = lines.join("\n") + "\n";
    text.push_str(&trace(&hit.trace));
    text
}

fn one_edge(edge: &Edge) -> String {
    let arrow = format!("{} ─{}→ {}", edge.from, edge.link_type, edge.to);
    format!("{arrow} {}", dim(&confidence(edge)))
}

/// How sure an edge is, how it was found, and when it held.
pub(crate) fn confidence(edge: &Edge) -> String {
    let dates = match (edge.since, edge.until) {
        (None, None) => String::new(),
        (Some(since), None) => format!(", since {since}"),
        (None, Some(until)) => format!(", until {until}"),
        (Some(since), Some(until)) => format!(", {since} to {until}"),
    };
    format!("({:.2} by {}{dates})", edge.confidence, edge.detected_by)
}

fn one_passage(passage: &PassageHit) -> String {
    let section = if passage.section.is_empty() {
        String::new()
    } else {
        dim(&format!("[{}] ", plain(&passage.section, &[]).text))
    };
    let shown = plain(&passage.snippet, &passage.highlights);
    // A window that begins within a sentence.
    let cut = if shown.text.starts_with(char::is_lowercase) { "…" } else { "" };
    // A window that ends within a sentence.
    let is_cut = passage.snippet.chars().count() >= LONG_SNIPPET
        && shown.text.ends_with(char::is_alphanumeric);
    let more = if is_cut { " …" } else { "" };
    format!("{section}{cut}{}{more}", highlighted(&shown.text, &shown.highlights))
}

fn highlighted(snippet: &str, highlights: &[(u32, u32)]) -> String {
    let chars: Vec<char> = snippet.chars().collect();
    let slice = |from: usize, to: usize| chars[from..to].iter().collect::<String>();
    let (mut text, mut at) = (String::new(), 0);
    for &(start, end) in highlights {
        let (start, end) = (start as usize, end as usize);
        if start < at || end > chars.len() {
            continue;
        }
        text.push_str(&slice(at, start));
        text.push_str(&highlight(&slice(start, end)));
        at = end;
    }
    text.push_str(&slice(at, chars.len()));
    text
}

fn trace(steps: &[TraceStep]) -> String {
    if steps.is_empty() {
        return String::new();
    }
    let rows = steps.iter().map(|step| {
        let rank = step.rank.map_or_else(|| "-".to_owned(), |rank| format!("#{rank}"));
        let score = step.score.map_or_else(String::new, |score| format!("{score:.4}"));
        vec!["     ".to_owned(), step.stage.to_owned(), rank, score, step.note.clone()]
    });
    table(&["", "stage", "rank", "score", "what it did"], rows)
}
