//! SVG elements of the plots.

/// Formats a coordinate with one decimal.
pub(super) fn px(value: f64) -> String {
    format!("{value:.1}")
}

/// An SVG with a text alternative. Without `words` it is decorative and hidden from screen readers.
pub(super) fn svg(class: &str, width: f64, height: f64, words: &str, body: &str) -> String {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    let words = match words {
        "" => "aria-hidden=\"true\"".to_owned(),
        words => format!("role=\"img\" aria-label=\"{words}\""),
    };
    format!("<svg{class} viewBox=\"0 0 {width} {height}\" {words}>{body}</svg>")
}

/// A plot with a heading and a caption.
pub(super) fn figure(heading: &str, drawing: &str, caption: &str) -> String {
    format!(
        "<figure>\n<h3>{heading}</h3>\n{drawing}\n<figcaption>{caption}</figcaption>\n</figure>\n"
    )
}

pub(super) fn rect(class: &str, [x, y, width, height]: [f64; 4]) -> String {
    let [x, y, width, height] = [x, y, width.max(0.0), height.max(0.0)].map(px);
    format!(
        "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"1.5\"/>"
    )
}

pub(super) fn line(class: &str, [x1, y1, x2, y2]: [f64; 4]) -> String {
    let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(px);
    format!("<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>")
}

pub(super) fn dot(class: &str, x: f64, y: f64, r: f64) -> String {
    format!("<circle class=\"{class}\" cx=\"{}\" cy=\"{}\" r=\"{r}\"/>", px(x), px(y))
}

/// A label; `anchor` is `start`, `middle` or `end`.
pub(super) fn label(anchor: &str, x: f64, y: f64, text: &str) -> String {
    format!("<text x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\">{text}</text>", px(x), px(y))
}
