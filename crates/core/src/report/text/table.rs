//! Plain text tables with aligned columns.

/// The alignment of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    Left,
    Right,
}

/// Formats a table. Each row must have one cell per edge.
pub(super) fn table(edges: &[Edge], rows: &[Vec<String>]) -> String {
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..edges.len()).map(width).collect();
    let cell = |(at, text): (usize, &String)| match edges[at] {
        Edge::Left => format!("{text:<0$}", widths[at]),
        Edge::Right => format!("{text:>0$}", widths[at]),
    };
    let line = |row: &Vec<String>| {
        let cells: Vec<String> = row.iter().enumerate().map(cell).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}
