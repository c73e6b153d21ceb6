//! Why a run failed, in a terminal.

use std::fmt::Write as _;

use super::super::escape::visible;
use super::super::suite::word;
use super::LINE;
use crate::format::triage::{TriageBody, WireFinding, WireTriaged};

/// As many cases of a class are told one by one.
const CASES: usize = 20;

/// What is wrong with a run, by class, with what to do.
pub fn triage(body: &TriageBody) -> String {
    let class = body.class.map_or("nothing to triage".to_owned(), |class| class.to_string());
    let mut text = format!(
        "{class}  run {} of {} against {}: {}\n",
        body.run,
        visible(&body.suite, LINE),
        visible(&body.target, LINE),
        word(body.run_verdict)
    );
    for note in &body.notes {
        let _ = writeln!(text, "  {}", visible(note, 2 * LINE));
    }
    for finding in &body.findings {
        text.push_str(&told(finding));
    }
    text
}

fn told(finding: &WireFinding) -> String {
    let count = finding.cases.len();
    let cases = if count == 1 { "1 case".to_owned() } else { format!("{count} cases") };
    let mut text = format!("\n{}: {cases}\n", finding.class);
    for why in &finding.because {
        let _ = writeln!(text, "  {}", visible(why, 2 * LINE));
    }
    for case in finding.cases.iter().take(CASES) {
        text.push_str(&told_case(case));
    }
    if count > CASES {
        let _ = writeln!(text, "  and {} more", count - CASES);
    }
    let _ = writeln!(text, "  do: {}", finding.advice);
    for command in &finding.commands {
        // What is to be pasted is printed whole.
        let _ = writeln!(text, "  $ {}", visible(command, command.len().max(1)));
    }
    text
}

fn told_case(case: &WireTriaged) -> String {
    let query = case.query.as_deref().map(|text| format!("  {}", visible(text, LINE)));
    let why: Vec<String> = case.because.iter().map(|one| visible(one, LINE)).collect();
    format!(
        "  {}{}: {}\n",
        visible(&case.query_id, LINE),
        query.unwrap_or_default(),
        why.join("; ")
    )
}
