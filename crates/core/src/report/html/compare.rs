//! A comparison as an HTML page.

use crate::compare::{Comparison, Delta, MeasureRole, QueryMove, ResultComparison};
use crate::report::deltas::{
    HEADS, SMALLEST, became, cells, decided_by, headline, smallest, unheeded,
};
use crate::report::number::count;

use super::page::{Banner, page};
use super::plot::{dot, line, rect, svg};
use super::{ROWS, list, section, table, text};

/// The page of a comparison.
pub fn compare(comparison: &Comparison) -> String {
    let (word, why) = headline(comparison);
    let class = match word {
        "WORSE" => "fail",
        "BETTER" | "SAME" => "pass",
        _ => "inconclusive",
    };
    let why = text(&why);
    let banner = Banner { class, word, what: "gbrain eval compare", why: &why };
    let facts = [
        ("Reference", text(&comparison.reference)),
        ("Decides", text(&decided_by(comparison))),
        ("Compared with it", count(comparison.against.len(), comparison.kind.name())),
    ];
    let mut body = String::new();
    for (at, one) in comparison.against.iter().enumerate() {
        body.push_str(&against(at, one));
    }
    let notes: Vec<String> = comparison
        .notes
        .iter()
        .map(|(name, note)| format!("{}: {}", text(name), text(note)))
        .collect();
    body.push_str(&section("notes", "Notes", "", &list("plain", &notes)));
    page(banner, &facts, &body)
}

fn against(at: usize, one: &ResultComparison) -> String {
    let name = text(&one.name);
    let lead = "Dot: the mean difference. Band: its interval. Shaded: worse.";
    let mut body = measures(one);
    let forced: Vec<String> = one
        .forced
        .iter()
        .map(|reason| {
            format!("<span class=\"tag fail\">not comparable</span> {}", text(&reason.to_string()))
        })
        .collect();
    body.push_str(&list("plain", &forced));
    let smallest = smallest(one);
    if !smallest.is_empty() {
        body.push_str(&format!("<p class=\"more\">{SMALLEST}: {}.</p>\n", text(&smallest)));
    }
    let unheeded = unheeded(one);
    if !unheeded.is_empty() {
        body.push_str(&format!(
            "<p class=\"more\">Fell without deciding: {} (--primary makes them decide).</p>\n",
            text(&unheeded)
        ));
    }
    body.push_str(&format!(
        "<p class=\"more\">{} in both, {} only in the reference, {} only in this, {} not answered only in \
         this.</p>\n",
        count(one.shared, "query"),
        one.only_reference.len(),
        one.only_this.len(),
        one.unanswered.len()
    ));
    let mut html = section(&format!("result-{at}"), &name, lead, &body);
    let drops = moves(one.drops().collect());
    html.push_str(&section(&format!("worse-{at}"), &format!("Regressions of {name}"), "", &drops));
    let gains = moves(one.gains().collect());
    html.push_str(&section(
        &format!("better-{at}"),
        &format!("Improvements of {name}"),
        "",
        &gains,
    ));
    let alone: Vec<String> = one
        .only_reference
        .iter()
        .map(|label| format!("<span class=\"tag\">only in the reference</span> {}", query(label)))
        .chain(
            one.only_this
                .iter()
                .map(|label| format!("<span class=\"tag\">only in this</span> {}", query(label))),
        )
        .take(ROWS)
        .collect();
    html.push_str(&section(
        &format!("alone-{at}"),
        "Queries in only one result",
        "",
        &list("plain", &alone),
    ));
    html
}

fn query(label: &str) -> String {
    format!("<bdi class=\"query\">{}</bdi>", text(label))
}

fn measures(one: &ResultComparison) -> String {
    let row = |delta: &Delta| {
        let [measure, before, after, change, interval, p, moved, result, n] =
            cells(delta).map(|cell| text(&cell));
        let class = match result.as_str() {
            "WORSE" => "fail",
            "better" => "pass",
            _ => "skipped",
        };
        let tag = format!("<span class=\"tag {class}\">{result}</span>");
        vec![measure, tag, before, after, change, interval, track(delta), p, moved, n]
    };
    let [measure, before, after, change, interval, p, moved, result, n] = HEADS;
    let head = [measure, result, before, after, change, interval, "", p, moved, n];
    let rows: Vec<Vec<String>> = one.deltas.iter().map(row).collect();
    table("measures", "checks", &head, &rows)
}

/// The difference and its interval around zero.
fn track(one: &Delta) -> String {
    let (width, middle) = (220.0, 13.0);
    let Some((delta, interval)) = one.delta.zip(one.interval) else { return String::new() };
    let furthest =
        [delta, interval.low, interval.high].iter().fold(0.0f64, |most, v| most.max(v.abs()));
    // Keeps small differences visually small.
    let most =
        if one.column.role == MeasureRole::Timing { furthest.max(1.0) } else { furthest.max(0.1) }
            * 1.1;
    let x = |value: f64| width / 2.0 + (width / 2.0 - 6.0) * (value / most).clamp(-1.0, 1.0);
    let (from, to) =
        if one.column.role == MeasureRole::Timing { (0.0, most) } else { (-most, 0.0) };
    let mut body = rect("zone", [x(from), 4.0, x(to) - x(from), 18.0]);
    body.push_str(&line("axis", [x(-most), middle, x(most), middle]));
    body.push_str(&line("limit", [x(0.0), 3.0, x(0.0), 23.0]));
    let (low, high) = (x(interval.low), x(interval.high));
    body.push_str(&rect("spread", [low, middle - 4.0, (high - low).max(2.0), 8.0]));
    body.push_str(&dot("point", x(delta), middle, 4.5));
    svg("track narrow", width, 26.0, "the difference on a line around zero", &body)
}

fn moves(moves: Vec<&QueryMove>) -> String {
    if moves.is_empty() {
        return String::new();
    }
    let row = |one: &&QueryMove| vec![query(&one.label), text(&one.measure), became(one)];
    let rows: Vec<Vec<String>> = moves.iter().take(ROWS).map(row).collect();
    let left = moves.len() - rows.len();
    let more = if left > 0 {
        format!("<p class=\"more\">{} not shown.</p>\n", count(left, "query"))
    } else {
        String::new()
    };
    table("queries that moved", "moves", &["Query", "Measure", "Reference to this"], &rows) + &more
}
