//! Incidents as a person reads them.

use std::fmt::Write as _;

use gbrain_core::fault::one_line;
use gbrain_core::format::incident::{IncidentBody, IncidentRecord, Resolution};

use crate::terminal::{count, local_time_of, table};

/// A table of incidents.
pub(super) fn list(incidents: &[IncidentBody]) -> String {
    let row = |one: &IncidentBody| {
        let record = one.record.clone().unwrap_or_default();
        let class = record.findings.first().map_or("-".to_owned(), |one| one.class.to_string());
        vec![
            one.id.to_string(),
            one.state.clone(),
            local_time_of(&one.opened_at),
            class,
            record.run.map_or("-".to_owned(), |run| run.to_string()),
            one_line(&one.title),
        ]
    };
    table(&["INCIDENT", "STATE", "OPENED", "CLASS", "RUN", "TITLE"], incidents.iter().map(row))
}

/// An incident with its record.
pub(super) fn whole(body: &IncidentBody) -> String {
    let mut text = format!("incident {}  {}  {}\n", body.id, body.state, one_line(&body.title));
    let _ = writeln!(text, "opened {}", local_time_of(&body.opened_at));
    match &body.record {
        None => text.push_str("its record can't be read\n"),
        Some(record) => text.push_str(&recorded(record)),
    }
    if !body.notified.is_empty() {
        let _ = writeln!(text, "queued for {}", body.notified.join(", "));
    }
    text
}

fn recorded(record: &IncidentRecord) -> String {
    let mut text = String::new();
    let run = record.run.map(|run| format!("run {run}"));
    let about: Vec<String> = run.into_iter().chain(record.alert.clone()).collect();
    if !about.is_empty() {
        let _ = writeln!(text, "about {}", one_line(&about.join(", ")));
    }
    for finding in &record.findings {
        let cases = finding.cases.join(", ");
        let _ = writeln!(
            text,
            "{}: {}  {}",
            finding.class,
            count(finding.cases.len(), "case", "cases"),
            one_line(&cases)
        );
        for why in &finding.because {
            let _ = writeln!(text, "  {}", one_line(why));
        }
    }
    for note in &record.notes {
        let _ = writeln!(text, "{}  {}: {}", note.at, one_line(&note.author), one_line(&note.text));
    }
    if let Some(Resolution { at, author, root_cause, fix, follow_ups }) = &record.resolution {
        let _ = writeln!(text, "resolved {at} by {}", one_line(author));
        let _ = writeln!(text, "  root cause: {}", one_line(root_cause));
        let _ = writeln!(text, "  fix: {}", one_line(fix));
        for follow_up in follow_ups {
            let _ = writeln!(text, "  follow-up: {}", one_line(follow_up));
        }
    }
    text
}
