//! Bar charts: histograms and shares.

use std::fmt::Write as _;

use super::plot::{label, line, px, rect, svg};

/// A part of a whole: its CSS class, name and count.
pub(super) type Share<'a> = (&'a str, &'a str, usize);

/// A histogram of values from 0 to 1.
pub(super) fn histogram(bins: &[usize], what: &str) -> String {
    let (width, height, foot) = (320.0, 150.0, 18.0);
    let highest = bins.iter().copied().max().unwrap_or(0).max(1) as f64;
    let step = width / bins.len() as f64;
    let top = 16.0;
    let mut body = String::new();
    for (at, &count) in bins.iter().enumerate() {
        let tall = (height - foot - top) * count as f64 / highest;
        let (x, y) = (at as f64 * step, height - foot - tall);
        if count > 0 {
            body.push_str(&rect("bar", [x + 2.0, y, step - 4.0, tall.max(1.5)]));
            let (x, y) = (px(x + step / 2.0), px(y - 4.0));
            write!(
                body,
                "<text class=\"count\" x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">{count}</text>"
            )
            .expect("writing to a string succeeds");
        }
    }
    body.push_str(&line("axis", [0.0, height - foot, width, height - foot]));
    for (anchor, at) in [("start", 0.0), ("middle", 0.5), ("end", 1.0)] {
        body.push_str(&label(anchor, at * width, height - 4.0, &at.to_string()));
    }
    let counts: Vec<String> = bins.iter().map(ToString::to_string).collect();
    let words = format!("{what}: rows per tenth from 0 to 1: {}", counts.join(", "));
    svg("", width, height, &words, &body)
}

/// A stacked bar with its legend.
pub(super) fn shares(parts: &[Share<'_>], what: &str) -> String {
    let all: usize = parts.iter().map(|(_, _, n)| n).sum();
    let (width, mut x, mut body) = (320.0, 0.0, String::new());
    for (class, _, n) in parts.iter().filter(|(_, _, n)| *n > 0) {
        let wide = width * *n as f64 / all.max(1) as f64;
        body.push_str(&rect(&format!("bar {class}"), [x, 0.0, wide - 1.5, 14.0]));
        x += wide;
    }
    let words: Vec<String> = parts.iter().map(|(_, name, n)| format!("{name} {n}")).collect();
    let drawing = svg("", width, 14.0, &format!("{what}: {}", words.join(", ")), &body);
    let item = |(class, name, n): &Share<'_>| {
        let class = class.split(' ').next().unwrap_or_default();
        format!("<li><i class=\"{class}\" aria-hidden=\"true\"></i>{name} {n}</li>")
    };
    let legend: String = parts.iter().map(item).collect();
    format!("{drawing}<ul class=\"legend\">{legend}</ul>")
}
