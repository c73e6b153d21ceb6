//! Reports for pull requests and step summaries.
//!
//! Guarantees: below 64 KB, the limit of a comment; omitted rows are counted. Queries are formatted
//! as code, so that they cannot format text or mention users.

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

/// Maximum length of untrusted text, in characters.
const TEXT: usize = 200;
/// Maximum number of rows to list.
const WORST: usize = 20;
/// Maximum size in bytes before the last row, which leaves room for the rest.
const ROOM: usize = 52 * 1024;

/// A table. Cells must be Markdown.
fn table(head: &[String], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule = format!("|{}\n", " --- |".repeat(head.len()));
    let rows: String = rows.into_iter().map(|row| line(&row)).collect();
    format!("{}{rule}{rows}", line(head))
}

/// A heading with items; empty without items.
fn list(heading: &str, items: &[String]) -> String {
    if items.is_empty() {
        return String::new();
    }
    let items: String = items.iter().map(|item| format!("- {item}\n")).collect();
    format!("\n### {heading}\n\n{items}")
}

/// Formats untrusted text as code.
fn code(text: &str) -> String {
    markdown_code(text, TEXT)
}
