//! An answer for people.

use std::fmt::Write as _;

use gbrain_brain::Answered;
use gbrain_core::ranking::{Edge, Hit, PassageHit, Ranking, TraceStep};
use gbrain_core::request::Request;

use crate::terminal::{bold, dim, field, matched, table};

/// The whole answer.
pub(super) fn answer(answered: &Answered) -> String {
    let Answered { request, ranking, served: _ } = answered;
    let mut text = String::new();
    for hit in &ranking.hits {
        text.push_str(&one_hit(hit));
    }
    if ranking.hits.is_empty() {
        text.push_str("nothing found\n");
    }
    if let Some(why_not) = &ranking.why_not {
        let _ = writeln!(text, "why not {}: {}", why_not.key, field(&why_not.verdict));
        text.push_str(&trace(&why_not.trace));
    }
    let _ = writeln!(text, "{}", dim(&field(&footer(request, ranking, answered))));
    text
}

fn footer(request: &Request, ranking: &Ranking, answered: &Answered) -> String {
    let arms: Vec<String> =
        ranking.arms.iter().map(|arm| format!("{} {}", arm.arm, arm.found)).collect();
    let micros: u64 = answered.served.timings.iter().map(|stage| stage.micros).sum();
    let mut parts = vec![
        format!("{} hits", ranking.hits.len()),
        format!("{} {}", request.operation, ranking.mode),
        format!("intent {}", ranking.intent),
        format!("detail {}", ranking.detail),
        arms.join(", "),
        format!("{:.1} ms", micros as f64 / 1000.0),
    ];
    if ranking.expansion_applied {
        parts.push(format!("asked in {} other ways", request.expansion.variants().len()));
    }
    if let Some(model) = &ranking.rerank_model {
        parts.push(format!("order by {model}"));
    }
    for degraded in &ranking.degraded {
        parts.push(format!("without {} ({})", degraded.stage, degraded.reason));
    }
    parts.join(" · ")
}

fn one_hit(hit: &Hit) -> String {
    let mut text = String::new();
    let date = hit.effective_date.map(|date| format!(" · {date}")).unwrap_or_default();
    let _ = writeln!(
        text,
        "{:>2}. {}  {}",
        hit.rank,
        bold(&field(&hit.title)),
        dim(&field(&format!(
            "{} · {}{date} · {} {:.3}",
            hit.key, hit.page_type, hit.evidence, hit.score
        ))),
    );
    for edge in &hit.edges {
        let _ = writeln!(text, "      {}", field(&one_edge(edge)));
    }
    for passage in &hit.passages {
        let _ = writeln!(text, "      {}", field(&one_passage(passage)));
    }
    for duplicate in &hit.duplicates {
        let _ = writeln!(text, "      {}", dim(&field(&format!("same text as {duplicate}"))));
    }
    text.push_str(&trace(&hit.trace));
    text
}

fn one_edge(edge: &Edge) -> String {
    let dates = match (edge.since, edge.until) {
        (None, None) => String::new(),
        (Some(since), None) => format!(", since {since}"),
        (None, Some(until)) => format!(", until {until}"),
        (Some(since), Some(until)) => format!(", {since} to {until}"),
    };
    let arrow = format!("{} ─{}→ {}", edge.from, edge.link_type, edge.to);
    let source = format!(
        "({:.2} by {}{dates}; {} characters {}-{})",
        edge.confidence,
        edge.detected_by,
        edge.evidence_page,
        edge.evidence_start,
        edge.evidence_end
    );
    format!("{arrow}  {}", dim(&source))
}

fn one_passage(passage: &PassageHit) -> String {
    let section = if passage.section.is_empty() {
        String::new()
    } else {
        dim(&format!("[{}] ", passage.section))
    };
    format!("{section}{}", highlighted(&passage.snippet, &passage.highlights))
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
        text.push_str(&matched(&slice(start, end)));
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
