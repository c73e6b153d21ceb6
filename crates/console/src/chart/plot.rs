//! Elements of SVG drawings.

use maud::{Markup, html};

/// Formats a coordinate with one decimal.
pub(crate) fn px(value: f64) -> String {
    format!("{value:.1}")
}

/// A drawing with a text alternative. Without `words` it is decorative and hidden from screen
/// readers.
pub(crate) fn svg(class: &str, width: f64, height: f64, words: &str, body: &Markup) -> Markup {
    let class = (!class.is_empty()).then_some(class);
    let view = format!("0 0 {width} {height}");
    html! {
        @if words.is_empty() {
            svg class=[class] viewBox=(view) aria-hidden="true" { (body) }
        } @else {
            svg class=[class] viewBox=(view) role="img" aria-label=(words) { (body) }
        }
    }
}

/// A drawing whose parts are links, which a picture cannot have.
pub(crate) fn svg_with_links(
    class: &str,
    width: f64,
    height: f64,
    words: &str,
    body: &Markup,
) -> Markup {
    let view = format!("0 0 {width} {height}");
    html! { svg class=(class) viewBox=(view) role="group" aria-label=(words) { (body) } }
}

/// A drawing with a heading and a caption.
pub(crate) fn figure(heading: &str, drawing: &Markup, caption: &str) -> Markup {
    html! { figure { h3 { (heading) } (drawing) figcaption { (caption) } } }
}

pub(crate) fn rect(class: &str, [x, y, width, height]: [f64; 4]) -> Markup {
    html! {
        rect class=(class) x=(px(x)) y=(px(y)) width=(px(width.max(0.0))) height=(px(height.max(0.0))) rx="1.5" {}
    }
}

pub(crate) fn line(class: &str, [x1, y1, x2, y2]: [f64; 4]) -> Markup {
    html! { line class=(class) x1=(px(x1)) y1=(px(y1)) x2=(px(x2)) y2=(px(y2)) {} }
}

pub(crate) fn dot(class: &str, x: f64, y: f64, r: f64) -> Markup {
    html! { circle class=(class) cx=(px(x)) cy=(px(y)) r=(r) {} }
}

/// A label; `anchor` is `start`, `middle` or `end`.
pub(crate) fn label(anchor: &str, x: f64, y: f64, text: &str) -> Markup {
    html! { text x=(px(x)) y=(px(y)) text-anchor=(anchor) { (text) } }
}
