//! Suite runs for a terminal.

use std::fmt::Write as _;

use super::super::escape::visible;
use super::super::suite::{
    HEADS, cells, failing, headline, shown_measures, target_of, why, word, wrong,
};
use super::LINE;
use super::table::{Edge, table};
use crate::suite::SuiteRun;
use crate::suite::run::RunCase;

/// Maximum number of failing cases to list.
const CASES: usize = 30;

/// A run. `texts` returns the text of a query if the reader may see it.
pub fn suite(run: &SuiteRun, texts: &dyn Fn(&str) -> Option<String>) -> String {
    let mut text = format!("{}  {}\n", word(run.verdict), visible(&headline(run), 2 * LINE));
    for reason in why(run) {
        let _ = writeln!(text, "  {}", visible(&reason, 2 * LINE));
    }
    let mut rows = vec![HEADS.map(str::to_owned).to_vec()];
    rows.extend(
        shown_measures(run).map(|one| cells(one).map(|cell| visible(&cell, LINE)).to_vec()),
    );
    if rows.len() > 1 {
        let edges = [Edge::Left, Edge::Left, Edge::Right, Edge::Right, Edge::Right, Edge::Left];
        let _ = write!(text, "\n{}", table(&edges, &rows));
    }
    text.push_str(&cases(run, texts));
    text
}

/// A stored run: its id, time, trigger and target, followed by its report.
pub fn recorded_suite(id: i64, run: &SuiteRun, texts: &dyn Fn(&str) -> Option<String>) -> String {
    let SuiteRun { finished_at, trigger, .. } = run;
    let finished_at = finished_at.as_deref().unwrap_or_default();
    let head = format!("run {id} of {finished_at}, by {trigger}, against {}", target_of(run));
    format!("{}\n{}", visible(&head, 2 * LINE), suite(run, texts))
}

fn cases(run: &SuiteRun, texts: &dyn Fn(&str) -> Option<String>) -> String {
    let row = |case: &RunCase| {
        let query = texts(&case.query_id).unwrap_or_default();
        vec![
            format!("  {}", visible(&case.query_id, LINE)),
            visible(&wrong(case), LINE),
            visible(&query, LINE),
        ]
    };
    let rows: Vec<Vec<String>> = failing(run).take(CASES).map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let count = failing(run).count();
    let edges = [Edge::Left, Edge::Left, Edge::Left];
    let mut text = format!("\nfailing cases: {count}\n{}", table(&edges, &rows));
    if count > rows.len() {
        let _ = writeln!(text, "  and {} more", count - rows.len());
    }
    text
}
