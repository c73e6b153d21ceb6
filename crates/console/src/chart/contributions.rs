//! The score of a page as a stacked bar: what each stage adds, and what it takes away.

use maud::{Markup, html};

use super::plot::{px, rect, svg};

const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 18.0;
/// A narrower part has no letter.
const LETTER: f64 = 14.0;

/// A part of a score: its CSS class, its letter and its amount, negative if it takes away.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Contribution {
    pub(crate) class: &'static str,
    pub(crate) letter: &'static str,
    pub(crate) name: &'static str,
    pub(crate) amount: f64,
}

/// The bar of one page; `best` is the greatest sum of what is added, which fills the width.
pub(crate) fn bar(parts: &[Contribution], best: f64, words: &str) -> Markup {
    let scale = if best > 0.0 { WIDTH / best } else { 0.0 };
    let (mut end, mut added) = (0.0, Vec::new());
    for part in parts.iter().filter(|part| part.amount > 0.0) {
        added.push((*part, end, part.amount * scale));
        end += part.amount * scale;
    }
    let taken: f64 = parts.iter().map(|part| -part.amount.min(0.0)).sum::<f64>() * scale;
    let body = html! {
        @for (part, from, width) in &added {
            (rect(&format!("part {}", part.class), [*from, 1.0, (width - 1.0).max(0.5), HEIGHT - 2.0]))
            @if *width >= LETTER {
                text.letter x=(px(from + width / 2.0)) y=(px(HEIGHT - 5.0)) text-anchor="middle" { (part.letter) }
            }
        }
        @if taken > 0.0 { (rect("taken", [end - taken, 1.0, taken, HEIGHT - 2.0])) }
    };
    svg("contributions", WIDTH, HEIGHT, words, &body)
}

/// The classes with their letters and names.
pub(crate) fn legend(parts: &[Contribution]) -> Markup {
    html! {
        ul.legend {
            @for part in parts { li { i class=(part.class) aria-hidden="true" {} strong { (part.letter) } " " (part.name) } }
            li { i.taken aria-hidden="true" {} "taken away again" }
        }
    }
}
