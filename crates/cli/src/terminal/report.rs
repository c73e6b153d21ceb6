//! Reports of `gbrain_core::report::text` on a terminal: verdicts get a colour, and lines and tables are fitted to the
//! width.
//!
//! Without a terminal a report is printed byte for byte as the core wrote it. Colours only repeat what the words say.
//! Commands (`$ gbrain ...`) are never broken, so that they can be pasted.

use std::ops::Range;

use super::layout;
use super::text::{TextStyle, display_width, styled};

/// The blanks that separate two cells of a table.
const GAP: usize = 2;

/// Fewer cells than this are a paragraph that happens to have blanks.
const MIN_CELLS: usize = 3;

/// A report with coloured verdicts, fitted to `columns` if they are known.
pub(super) fn report(text: &str, columns: Option<usize>) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < lines.len() {
        let found = columns.and_then(|columns| wide_table(&lines[at..], columns));
        match found {
            Some((shown, used)) => {
                out.push_str(&shown);
                at += used;
            }
            None => {
                out.push_str(&line(lines[at], columns));
                out.push('\n');
                at += 1;
            }
        }
    }
    if !text.ends_with('\n') {
        out.pop();
    }
    out
}

/// A verdict or a status in its colour; any other text as it is.
pub(super) fn verdict(word: &str) -> String {
    match style(word) {
        Some(style) => styled(style, word),
        None => word.to_owned(),
    }
}

fn style(word: &str) -> Option<TextStyle> {
    match word {
        "PASS" | "pass" | "passed" | "ok" | "killed" => Some(TextStyle::Green),
        "FAIL" | "fail" | "failed" | "alert" | "SURVIVED" => Some(TextStyle::Red),
        "INCONCLUSIVE" | "inconclusive" | "warn" | "warning" => Some(TextStyle::Yellow),
        _ => None,
    }
}

fn line(line: &str, columns: Option<usize>) -> String {
    let coloured = colour(line);
    let text = coloured.trim_start_matches(' ');
    let is_fitting = columns.is_none_or(|columns| display_width(line) <= columns);
    if is_fitting || text.starts_with("$ ") {
        return coloured;
    }
    let indent = " ".repeat(coloured.len() - text.len());
    layout::wrap(text, &indent, &format!("{indent}  "), columns)
}

/// Colours the verdicts of a line: cells of their own, and a last word behind a colon.
fn colour(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for (at, cell) in line.split("  ").enumerate() {
        if at > 0 {
            out.push_str("  ");
        }
        let word = cell.trim_start_matches(' ');
        out.push_str(&cell[..cell.len() - word.len()]);
        match word.rsplit_once(": ") {
            Some((before, last)) if line.ends_with(word) => {
                out.push_str(&format!("{before}: {}", verdict(last)));
            }
            _ => out.push_str(&verdict(word)),
        }
    }
    out
}

/// The table that the lines begin with, fitted, and its number of lines; none if they begin with no table, or with one
/// that fits.
fn wide_table(lines: &[&str], columns: usize) -> Option<(String, usize)> {
    let head: Vec<char> = lines.first()?.chars().collect();
    let mut gaps = gaps(&head);
    if gaps.len() + 1 < MIN_CELLS {
        return None;
    }
    let mut used = 1;
    for row in &lines[1..] {
        let row: Vec<char> = row.chars().collect();
        let Some(shared) = row.iter().any(|c| *c != ' ').then(|| shared(&gaps, &row)).flatten()
        else {
            break;
        };
        gaps = shared;
        used += 1;
    }
    let table = &lines[..used];
    if used < 2 || table.iter().all(|row| display_width(row) <= columns) {
        return None;
    }
    let rows: Vec<Vec<String>> = table.iter().map(|row| cells(row, &gaps)).collect();
    let indent = " ".repeat(head.iter().take_while(|c| **c == ' ').count());
    let head: Vec<&str> = rows[0].iter().map(String::as_str).collect();
    let fitted = layout::table(&head, &rows[1..], Some(columns.saturating_sub(indent.len())));
    Some((fitted.lines().map(|line| format!("{indent}{line}\n")).collect(), used))
}

/// The runs of blanks between the cells of a line.
fn gaps(line: &[char]) -> Vec<Range<usize>> {
    let first = line.iter().take_while(|c| **c == ' ').count();
    let mut gaps = Vec::new();
    let mut start = None;
    for (at, c) in line.iter().enumerate().skip(first) {
        match (*c == ' ', start) {
            (true, None) => start = Some(at),
            (false, Some(begun)) => {
                if at - begun >= GAP {
                    gaps.push(begun..at);
                }
                start = None;
            }
            _ => {}
        }
    }
    gaps
}

/// The parts of the gaps that are blank in another line too; none if a cell of it crosses a gap.
fn shared(gaps: &[Range<usize>], line: &[char]) -> Option<Vec<Range<usize>>> {
    let is_blank = |at: usize| line.get(at).is_none_or(|c| *c == ' ');
    gaps.iter()
        .map(|gap| {
            // A cell reaches into a gap from the left, or, aligned to the right, from the right.
            let start = gap.clone().find(|at| (*at..*at + GAP).all(is_blank))?;
            let end = (start..gap.end).find(|at| !is_blank(*at)).unwrap_or(gap.end);
            (end - start >= GAP).then_some(start..end)
        })
        .collect()
}

fn cells(line: &str, gaps: &[Range<usize>]) -> Vec<String> {
    let chars: Vec<char> = line.chars().collect();
    let starts = std::iter::once(0).chain(gaps.iter().map(|gap| gap.end));
    let ends = gaps.iter().map(|gap| gap.start).chain([chars.len()]);
    starts
        .zip(ends)
        .map(|(start, end)| {
            let end = end.min(chars.len());
            let cell: String = chars[start.min(end)..end].iter().collect();
            verdict(cell.trim())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GATE: &str = "\
FAIL  mean_jaccard 0.749 is below 0.850

METRIC               BASELINE  CURRENT    DELTA  95% CI          THRESHOLD  STATUS   n
mean_jaccard            1.000    0.749   -0.251  0.426 to 0.945    ≥ 0.850  FAIL    11
latency_ratio           1.00x    1.01x   +0.01x  0.77x to 1.32x    ≤ 2.00x  pass    11

Regression gate: FAIL
  a warning of many words that is wider than the terminal
  $ gbrain --workspace default restore 'wiki::concepts/charge-floor'
";

    #[test]
    fn verdicts_are_coloured_and_nothing_else_changes_without_a_width() {
        let shown = report(GATE, None);
        let red = styled(TextStyle::Red, "FAIL");
        assert!(shown.starts_with(&format!("{red}  mean_jaccard")), "{shown:?}");
        assert!(shown.contains(&format!("Regression gate: {red}\n")), "{shown:?}");
        assert!(shown.contains(&styled(TextStyle::Green, "pass")), "{shown:?}");
        let plain = shown.replace(&red, "FAIL").replace(&styled(TextStyle::Green, "pass"), "pass");
        assert_eq!(plain, GATE);
    }

    #[test]
    fn a_wide_table_gets_narrower_columns_and_a_wide_line_is_wrapped() {
        let shown = report(GATE, Some(60));
        for line in shown.lines().filter(|line| !line.contains("$ gbrain")) {
            assert!(display_width(line) <= 60, "{line:?}");
        }
        assert!(shown.contains("\n  $ gbrain --workspace default restore 'wiki::concepts/charge-"));
        assert!(shown.contains("  a warning of many words that is wider than the terminal\n"));
        let narrow = report(GATE, Some(40));
        assert!(
            narrow.contains("  a warning of many words that is wider\n    than the terminal\n")
        );
        // A fitted table keeps its values, whatever its shape.
        for value in ["mean_jaccard", "-0.251", "THRESHOLD", "1.01x"] {
            assert!(narrow.contains(value), "{value}: {narrow}");
        }
    }

    #[test]
    fn a_table_that_fits_is_left_alone() {
        let text = "a   b    c\n1   2    3\nprose that follows a table\n";
        assert_eq!(report(text, Some(100)), text);
    }

    #[test]
    fn rows_end_where_a_cell_crosses_a_gap() {
        let lines = ["name       n     note", "aaaa      10     x", "this is a line of prose"];
        let (_, used) = wide_table(&lines, 12).unwrap();
        assert_eq!(used, 2);
    }
}
