//! Reports for a pull request or a step summary.
//!
//! Promises: below 64 KB, which is what a comment takes; rows that do not fit are counted. Queries
//! are code, so that they neither format nor mention anybody.

mod benchmark;
mod compare;
mod gate;
mod replay;
mod rows;
mod suite;

pub use benchmark::benchmark;
pub use compare::compare;
pub use gate::gate;
pub use replay::replay;
pub use suite::suite;

use super::escape::markdown_code;

/// The longest text from outside, in characters.
const TEXT: usize = 200;
/// Rows that are told one by one.
const WORST: usize = 20;
/// Bytes after which no row is added: the limit, less what may still follow.
const ROOM: usize = 52 * 1024;

/// A table; cells are Markdown already.
fn table(head: &[String], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule = format!("|{}\n", " --- |".repeat(head.len()));
    let rows: String = rows.into_iter().map(|row| line(&row)).collect();
    format!("{}{rule}{rows}", line(head))
}

/// Items below a heading; nothing without items.
fn list(heading: &str, items: &[String]) -> String {
    if items.is_empty() {
        return String::new();
    }
    let items: String = items.iter().map(|item| format!("- {item}\n")).collect();
    format!("\n### {heading}\n\n{items}")
}

/// A text from outside.
fn code(text: &str) -> String {
    markdown_code(text, TEXT)
}
