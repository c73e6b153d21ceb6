//! Triage reports for a terminal.

use std::fmt::Write as _;

use super::super::escape::visible;
use super::super::suite::word;
use super::LINE;
use crate::format::triage::TriageBody;
use crate::triage::{CaseFinding, FailureCauseFinding};

/// Maximum number of cases to list per class.
const CASES: usize = 20;

/// The findings of a run by class, with mitigations.
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
        text.push_str(&finding_text(finding));
    }
    text
}

fn finding_text(finding: &FailureCauseFinding) -> String {
    let count = finding.cases.len();
    let cases = if count == 1 { "1 case".to_owned() } else { format!("{count} cases") };
    let mut text = format!("\n{}: {cases}\n", finding.class);
    for why in &finding.because {
        let _ = writeln!(text, "  {}", visible(why, 2 * LINE));
    }
    for case in finding.cases.iter().take(CASES) {
        text.push_str(&case_text(case));
    }
    if count > CASES {
        let _ = writeln!(text, "  and {} more", count - CASES);
    }
    let _ = writeln!(text, "  do: {}", finding.mitigation.advice);
    for command in &finding.mitigation.commands {
        // Commands are not truncated, so that they can be pasted.
        let _ = writeln!(text, "  $ {}", visible(command, command.len().max(1)));
    }
    text
}

fn case_text(case: &CaseFinding) -> String {
    let query = case.query.as_deref().map(|text| format!("  {}", visible(text, LINE)));
    let why: Vec<String> = case.because.iter().map(|one| visible(one, LINE)).collect();
    format!(
        "  {}{}: {}\n",
        visible(&case.query_id, LINE),
        query.unwrap_or_default(),
        why.join("; ")
    )
}
