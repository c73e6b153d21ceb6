//! Bar charts: histograms and shares.

use maud::{Markup, html};

use super::plot::{label, line, px, rect, svg};

/// A histogram of values from 0 to 1.
pub(crate) fn histogram(bins: &[usize], what: &str) -> Markup {
    let (width, height, foot, top) = (320.0, 150.0, 18.0, 16.0);
    let highest = bins.iter().copied().max().unwrap_or(0).max(1) as f64;
    let step = width / bins.len().max(1) as f64;
    let counts: Vec<String> = bins.iter().map(ToString::to_string).collect();
    let words = format!("{what}: rows per tenth from 0 to 1: {}", counts.join(", "));
    let body = html! {
        @for (at, count) in bins.iter().enumerate().filter(|(_, count)| **count > 0) {
            @let tall = (height - foot - top) * *count as f64 / highest;
            @let (x, y) = (at as f64 * step, height - foot - tall);
            (rect("bar", [x + 2.0, y, step - 4.0, tall.max(1.5)]))
            text.count x=(px(x + step / 2.0)) y=(px(y - 4.0)) text-anchor="middle" { (count) }
        }
        (line("axis", [0.0, height - foot, width, height - foot]))
        @for (anchor, at) in [("start", 0.0), ("middle", 0.5), ("end", 1.0)] {
            (label(anchor, at * width, height - 4.0, &at.to_string()))
        }
    };
    svg("", width, height, &words, &body)
}

/// A part of a whole: its CSS class, name and count.
pub(crate) type Share<'a> = (&'a str, &'a str, usize);

/// A stacked bar with its legend.
pub(crate) fn shares(parts: &[Share<'_>], what: &str) -> Markup {
    let all: usize = parts.iter().map(|(_, _, n)| n).sum();
    let width = 320.0;
    let mut x = 0.0;
    let mut bars = Vec::new();
    for (class, _, n) in parts.iter().filter(|(_, _, n)| *n > 0) {
        let wide = width * *n as f64 / all.max(1) as f64;
        bars.push(rect(&format!("bar {class}"), [x, 0.0, wide - 1.5, 14.0]));
        x += wide;
    }
    let words: Vec<String> = parts.iter().map(|(_, name, n)| format!("{name} {n}")).collect();
    let body = html! { @for bar in &bars { (bar) } };
    html! {
        (svg("", width, 14.0, &format!("{what}: {}", words.join(", ")), &body))
        ul.legend {
            @for (class, name, n) in parts {
                li { i class=(class.split(' ').next().unwrap_or_default()) aria-hidden="true" {} (name) " " (n) }
            }
        }
    }
}
