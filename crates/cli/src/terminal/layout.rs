//! Text fitted to the width of a terminal: wrapped paragraphs and tables.
//!
//! Lines are broken at blanks and continued with an indentation. A word is never broken, so that a slug or a command can
//! be copied. Without a width (a pipe, a file) each paragraph and each row is one line, so that `grep` and `cut` work.
//!
//! Styles and fields (`text.rs`) may be anywhere in the text: they take no room, and a line may end within them.

use super::text::{display_width, field_break};

/// The blanks between two columns.
const GAP: usize = 2;

/// Breaks `text` into lines of at most `columns`, the first one behind `first`, the others behind `rest`.
pub(super) fn wrap(text: &str, first: &str, rest: &str, columns: Option<usize>) -> String {
    wrap_lines(text, first, rest, columns).join("\n")
}

/// The lines of a wrapped text. A line may hold line ends of external text, which are escaped where it is printed.
fn wrap_lines(text: &str, first: &str, rest: &str, columns: Option<usize>) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut used = display_width(first);
    let mut has_word = false;
    let mut in_field = false;
    for word in text.split(' ') {
        let width = display_width(word);
        let blank = usize::from(has_word);
        if has_word && columns.is_some_and(|columns| used + blank + width > columns) {
            let (end, start) = field_break(in_field);
            line.push_str(&end);
            lines.push(std::mem::replace(&mut line, format!("{rest}{start}")));
            used = display_width(rest);
        } else if has_word {
            line.push(' ');
            used += 1;
        }
        line.push_str(word);
        used += width;
        has_word = true;
        in_field = super::text::ends_in_field(word, in_field);
    }
    lines.push(line);
    lines
}

/// A table without rules, and with nothing at the edges. One that is too wide for `columns` gets narrower columns of
/// several lines; where that is not enough, each row becomes a block with one line per value.
pub(super) fn table(head: &[&str], rows: &[Vec<String>], columns: Option<usize>) -> String {
    let count = head.len();
    let natural: Vec<usize> = (0..count).map(|at| column(head, rows, at, display_width)).collect();
    let widths = match columns {
        None => Some(natural),
        Some(columns) => {
            let least: Vec<usize> =
                (0..count).map(|at| column(head, rows, at, longest_word)).collect();
            fit(natural, &least, columns.saturating_sub(GAP * count.saturating_sub(1)))
        }
    };
    let Some(widths) = widths else { return blocks(head, rows, columns) };
    let mut out = table_row(&head.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>(), &widths);
    for row in rows {
        out.push_str(&table_row(row, &widths));
    }
    out
}

/// The largest value of a measure over the cells of a column and its heading.
fn column(head: &[&str], rows: &[Vec<String>], at: usize, measure: fn(&str) -> usize) -> usize {
    let cells = rows.iter().filter_map(|row| row.get(at)).map(|cell| measure(cell));
    cells.chain([measure(head[at])]).max().unwrap_or(0)
}

fn longest_word(text: &str) -> usize {
    text.split(' ').map(display_width).max().unwrap_or(0)
}

/// Narrows the widest column until the table fits; none if even the longest words are too wide together.
fn fit(mut widths: Vec<usize>, least: &[usize], columns: usize) -> Option<Vec<usize>> {
    while widths.iter().sum::<usize>() > columns {
        let candidates = (0..widths.len()).filter(|at| widths[*at] > least[*at]);
        let widest = candidates.max_by_key(|at| widths[*at])?;
        widths[widest] -= 1;
    }
    Some(widths)
}

fn table_row(cells: &[String], widths: &[usize]) -> String {
    let wrapped: Vec<Vec<String>> = cells
        .iter()
        .zip(widths)
        .map(|(cell, width)| wrap_lines(cell, "", "", Some(*width)))
        .collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(1);
    let mut out = String::new();
    for line in 0..height {
        let mut text = String::new();
        for (cell, width) in wrapped.iter().zip(widths) {
            let part = cell.get(line).map_or("", String::as_str);
            text.push_str(part);
            text.push_str(&" ".repeat(GAP + width.saturating_sub(display_width(part))));
        }
        out.push_str(text.trim_end_matches(' '));
        out.push('\n');
    }
    out
}

fn blocks(head: &[&str], rows: &[Vec<String>], columns: Option<usize>) -> String {
    let label = head.iter().map(|name| display_width(name)).max().unwrap_or(0);
    let mut out = String::new();
    for row in rows {
        for (at, (name, cell)) in head.iter().zip(row).enumerate() {
            if cell.is_empty() {
                continue;
            }
            let indent = if at == 0 { "" } else { "  " };
            let pad = " ".repeat(label - display_width(name));
            let first = format!("{indent}{name}{pad}{}", " ".repeat(GAP));
            let rest = " ".repeat(display_width(&first));
            out.push_str(wrap(cell, &first, &rest, columns).trim_end_matches(' '));
            out.push('\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&[&str]]) -> Vec<Vec<String>> {
        rows.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect()
    }

    #[test]
    fn paragraphs_wrap_at_blanks_with_their_indentation() {
        let text = "one two three four";
        assert_eq!(wrap(text, "1. ", "   ", Some(12)), "1. one two\n   three\n   four");
        assert_eq!(wrap(text, "1. ", "   ", None), "1. one two three four");
        assert_eq!(wrap("", "- ", "  ", Some(10)), "- ");
    }

    #[test]
    fn a_long_word_is_never_broken() {
        let slug = "services/a-very-long-slug-that-does-not-fit";
        assert_eq!(wrap(&format!("see {slug} now"), "", "", Some(10)), format!("see\n{slug}\nnow"));
    }

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!(wrap("漢字 漢字", "", "", Some(8)), "漢字\n漢字");
        assert_eq!(wrap("漢字 漢字", "", "", Some(9)), "漢字 漢字");
    }

    #[test]
    fn a_table_is_aligned_and_has_no_trailing_blanks() {
        let shown = table(&["page", "n"], &rows(&[&["a", "10"], &["long name", ""]]), None);
        assert_eq!(shown, "page       n\na          10\nlong name\n");
    }

    #[test]
    fn a_table_that_is_too_wide_wraps_its_widest_column() {
        let shown = table(&["key", "title"], &rows(&[&["wiki::a", "one two three"]]), Some(18));
        assert_eq!(shown, "key      title\nwiki::a  one two\n         three\n");
    }

    #[test]
    fn a_table_of_long_words_becomes_blocks() {
        let shown =
            table(&["from", "to"], &rows(&[&["wiki::aaaaaaaa", "wiki::bbbbbbbb"]]), Some(24));
        assert_eq!(shown, "from  wiki::aaaaaaaa\n  to    wiki::bbbbbbbb\n");
    }
}
