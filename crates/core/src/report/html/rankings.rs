//! Changed rows, with both rankings side by side.

use std::fmt::Write as _;

use crate::replay::{ReplayedRow, RowComparison};
use crate::report::escape::visible_markup;
use crate::report::number::{count, ms};
use crate::report::rows::{added_count, dropped_pages};
use crate::report::tally::{regressed, worst_rows};

use super::plot::{rect, svg};
use super::{NAME, PAGES, ROWS, page_name, text};

/// Number of rows that are expanded initially.
const OPEN: usize = 3;

/// The worst rows, at most `most`.
pub(super) fn rankings(rows: &[ReplayedRow], limit: usize) -> String {
    let worst = worst_rows(rows, limit.min(ROWS));
    let mut html = String::new();
    for (at, row) in worst.iter().enumerate() {
        if let Some(compared) = row.compared() {
            html.push_str(&one(row, compared, at < OPEN));
        }
    }
    let left = regressed(rows) - worst.len();
    if left > 0 {
        writeln!(html, "<p class=\"more\">{} not shown.</p>", count(left, "moved row"))
            .expect("writing to a string succeeds");
    }
    html
}

fn one(row: &ReplayedRow, compared: &RowComparison, is_open: bool) -> String {
    let open = if is_open { " open" } else { "" };
    let score = score(compared.jaccard);
    let query = text(&row.query);
    let tags = tags(compared);
    let ranks = ranks(compared);
    format!(
        "<details{open}>\n<summary>{score}<bdi class=\"query\">{query}</bdi><span \
         class=\"tags\">{tags}</span></summary>\n<div class=\"inside\">\n<p class=\"lead\">{}</p>\n\
         {ranks}</div>\n</details>\n",
        facts(row, compared)
    )
}

/// A value from 0 to 1 as a number and a bar.
pub(super) fn score(value: f64) -> String {
    let bar = rect("bar rest", [0.0, 0.0, 48.0, 6.0]) + &rect("bar", [0.0, 0.0, 48.0 * value, 6.0]);
    let drawing = svg("", 48.0, 6.0, "", &bar);
    format!("<span class=\"score\"><span>{value:.2}</span>{drawing}</span>")
}

fn tags(compared: &RowComparison) -> String {
    let (lost, new) = (dropped_pages(compared).len(), added_count(compared));
    let mut tags = String::new();
    let mut tag = |class: &str, words: String| {
        write!(tags, "<span class=\"tag {class}\">{words}</span>")
            .expect("writing to a string succeeds");
    };
    if compared.top1 == Some(false) {
        tag("inconclusive", "other first page".to_owned());
    }
    if lost > 0 {
        tag("lost", format!("{lost} lost"));
    }
    if new > 0 {
        tag("new", format!("{new} new"));
    }
    if let Some(blame) = compared.blame {
        tag("moved", format!("moved by {}", blame.name().replace('_', " ")));
    }
    tags
}

fn facts(row: &ReplayedRow, compared: &RowComparison) -> String {
    let captured = compared.captured_ms.map_or_else(|| "-".to_owned(), ms);
    let mut facts = vec![
        format!("line {}", row.line),
        format!("<code>{}</code>", visible_markup(&row.query_hash, NAME)),
        format!("captured {}, current {}", compared.captured.len(), compared.current.len()),
        format!("RBO {:.2}", compared.rbo),
        format!("latency {captured} to {}", ms(compared.current_ms)),
    ];
    if row.weight > 1 {
        facts.push(format!("asked {} times", row.weight));
    }
    facts.extend(compared.caveats.iter().map(|caveat| caveat.name().replace('_', " ")));
    facts.join(" · ")
}

fn ranks(compared: &RowComparison) -> String {
    let longest = compared.captured.len().max(compared.current.len());
    let mut rows = String::new();
    for at in 0..longest.min(PAGES) {
        let captured = compared.captured.get(at).map_or(String::new(), |page| then(page, compared));
        let current =
            compared.current.get(at).map_or(String::new(), |page| now(page, at, compared));
        writeln!(
            rows,
            "<tr><th scope=\"row\">{}</th><td>{captured}</td><td>{current}</td></tr>",
            at + 1
        )
        .expect("writing to a string succeeds");
    }
    let left = longest.saturating_sub(PAGES);
    let more = if left > 0 {
        format!("<p class=\"more\">{} more ranks.</p>\n", left)
    } else {
        String::new()
    };
    format!(
        "<table class=\"ranks\">\n<thead><tr><th scope=\"col\">#</th><th scope=\"col\">Captured</th><th \
         scope=\"col\">Current</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n{more}"
    )
}

fn then(page: &str, compared: &RowComparison) -> String {
    let name = page_name(page);
    if compared.current.iter().any(|one| one == page) {
        return name;
    }
    let fell = compared.lost.iter().find(|lost| lost.page == page);
    let note = fell.map_or(String::new(), |fell| {
        format!("<span class=\"note\">{}: {}</span>", text(&fell.stage), text(&fell.why))
    });
    format!("{name}<span class=\"tag lost\">lost</span>{note}")
}

fn now(page: &str, at: usize, compared: &RowComparison) -> String {
    let name = page_name(page);
    match compared.captured.iter().position(|one| one == page) {
        None => format!("{name}<span class=\"tag new\">new</span>"),
        Some(before) if before == at => name,
        Some(before) => {
            let (sign, word, by) =
                if before > at { ('▲', "up", before - at) } else { ('▼', "down", at - before) };
            format!(
                "{name}<span class=\"tag\" title=\"was {}\"><span aria-hidden=\"true\">{sign}{by}</span>\
                 <span class=\"aloud\">{word} {by}</span></span>",
                before + 1
            )
        }
    }
}
