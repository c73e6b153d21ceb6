//! The neighbourhood of a page: pages that link to it on the left, pages it links to on the right.

use maud::{Markup, html};

use super::plot::{label, line, px, svg_with_links};
use crate::part;

/// Most pages on one side: with the page itself at most 24.
pub(crate) const MAX_SIDE: usize = 11;
/// Most characters of a label.
const MAX_LABEL: usize = 26;
/// The width of a column of labels.
const COLUMN: f64 = 204.0;

const WIDTH: f64 = 760.0;
const ROW: f64 = 34.0;

/// A page that is linked, and how.
pub(crate) struct Neighbour {
    /// The page, as `source::slug`.
    pub(crate) page: String,
    pub(crate) href: String,
    /// The types of the links, in words.
    pub(crate) types: String,
}

/// The drawing; nothing without neighbours. The tables beside it say the same and more.
pub(crate) fn neighbourhood(page: &str, incoming: &[Neighbour], outgoing: &[Neighbour]) -> Markup {
    let rows = incoming.len().min(MAX_SIDE).max(outgoing.len().min(MAX_SIDE));
    if rows == 0 {
        return html! {};
    }
    let height = ROW * rows as f64 + 16.0;
    let middle = height / 2.0;
    let words = format!(
        "{page}: {} to it, {} from it",
        part::count(incoming.len() as u64, "page links", "pages link"),
        part::count(outgoing.len() as u64, "link", "links")
    );
    let body = html! {
        @for (side, neighbours) in [(Side::Left, incoming), (Side::Right, outgoing)] {
            @let shown = &neighbours[..neighbours.len().min(MAX_SIDE)];
            @for (at, neighbour) in shown.iter().enumerate() {
                (edge(side, neighbour, row_of(at, shown.len(), height), middle))
            }
        }
        rect.node x=(px(WIDTH / 2.0 - 105.0)) y=(px(middle - 14.0)) width="210" height="28" rx="6" {}
        text.count x=(px(WIDTH / 2.0)) y=(px(middle + 4.0)) text-anchor="middle" { (short(page)) }
    };
    svg_with_links("neighbourhood", WIDTH, height, &words, &body)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// The height of a row; few rows stand around the middle.
fn row_of(at: usize, rows: usize, height: f64) -> f64 {
    height / 2.0 + ROW * (at as f64 - (rows as f64 - 1.0) / 2.0)
}

fn edge(side: Side, neighbour: &Neighbour, y: f64, middle: f64) -> Markup {
    let (anchor, text_at, from, to) = match side {
        Side::Left => ("start", 4.0, COLUMN, WIDTH / 2.0 - 105.0),
        Side::Right => ("end", WIDTH - 4.0, WIDTH - COLUMN, WIDTH / 2.0 + 105.0),
    };
    let (start, end) = if side == Side::Left { (y, middle) } else { (middle, y) };
    let (left, right) = (from.min(to), from.max(to));
    html! {
        (line("link", [left, start, right, end]))
        (arrow(right, end))
        a href=(neighbour.href) { text.name x=(px(text_at)) y=(px(y)) text-anchor=(anchor) { (short(&neighbour.page)) } }
        (label(anchor, text_at, y + 12.0, &short(&neighbour.types)))
    }
}

/// The point of an arrow that leads to the right.
fn arrow(x: f64, y: f64) -> Markup {
    html! { path.point d=(format!("M{} {} l-7 -3.5 v7 z", px(x), px(y))) {} }
}

/// The end of a name, which tells pages of a folder apart.
fn short(name: &str) -> String {
    let name = name.split_once("::").map_or(name, |(_, slug)| slug);
    let shown = part::text(name);
    let length = shown.chars().count();
    if length <= MAX_LABEL {
        return shown;
    }
    let end: String = shown.chars().skip(length - MAX_LABEL + 1).collect();
    format!("…{end}")
}
