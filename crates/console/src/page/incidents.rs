//! Incidents: the list, and one with its timeline.

use maud::{Markup, html};
use serde::Deserialize;

use crate::part::{
    self, Tone, count, csrf_field, empty, facts, heading, moment, section, state, table, tag, url,
};
use crate::shell::{Page, Section};

/// `GET /v1/incidents`.
#[derive(Debug, Deserialize)]
pub struct IncidentList {
    pub incidents: Vec<Incident>,
}

/// An incident with its record.
#[derive(Debug, Deserialize)]
pub struct Incident {
    pub id: i64,
    pub state: String,
    pub title: String,
    pub opened_at: String,
    #[serde(default)]
    pub resolved_at: Option<String>,
    pub record: Option<Record>,
}

/// The record of an incident.
#[derive(Debug, Deserialize)]
pub struct Record {
    #[serde(default)]
    pub run: Option<i64>,
    #[serde(default)]
    pub alert: Option<String>,
    #[serde(default)]
    pub suite: Option<String>,
    #[serde(default)]
    pub findings: Vec<IncidentCause>,
    #[serde(default)]
    pub notes: Vec<TimelineNote>,
    #[serde(default)]
    pub resolution: Option<Resolution>,
}

/// Cases that failed for the same reason.
#[derive(Debug, Deserialize)]
pub struct IncidentCause {
    pub class: String,
    #[serde(default)]
    pub because: Vec<String>,
    #[serde(default)]
    pub cases: Vec<String>,
}

/// A note of the timeline.
#[derive(Debug, Deserialize)]
pub struct TimelineNote {
    pub at: String,
    pub author: String,
    pub text: String,
}

/// How it ended.
#[derive(Debug, Deserialize)]
pub struct Resolution {
    pub at: String,
    pub author: String,
    pub root_cause: String,
    pub fix: String,
    #[serde(default)]
    pub follow_ups: Vec<String>,
}

/// The list; `wanted` is a state or empty, `limit` how many were asked for.
pub fn list(list: &IncidentList, wanted: &str, limit: usize) -> Page {
    let row = |one: &Incident| {
        let findings = one.record.as_ref().and_then(|record| record.findings.first());
        let run = one.record.as_ref().and_then(|record| record.run);
        vec![
            html! { a href={ "/incidents/" (one.id) } { (one.id) ": " (part::text(&one.title)) } },
            incident_state(&one.state),
            moment(&one.opened_at),
            html! { @match &one.resolved_at { Some(at) => (moment(at)), None => span.dim { "open" } } },
            html! { @match findings { Some(finding) => (finding.class.replace('_', " ")), None => span.dim { "not triaged" } } },
            html! { @match run { Some(run) => a href={ "/suite-runs/" (run) } { "run " (run) }, None => span.dim { "none" } } },
        ]
    };
    let rows: Vec<Vec<Markup>> = list.incidents.iter().map(row).collect();
    let last = list.incidents.last().filter(|_| list.incidents.len() >= limit);
    let next =
        last.map(|last| url("/incidents", &[("state", wanted), ("before", &last.id.to_string())]));
    Page {
        title: "Incidents".to_owned(),
        section: Section::Incidents,
        command: "gbrain incident list".to_owned(),
        header: heading(
            "",
            "Incidents",
            None,
            "Problems from the first alert to their root cause and fix.",
        ),
        controls: state_filter(wanted),
        main: html! {
            @match rows.is_empty() {
                true => (empty("No incidents.", "gbrain incident open \"recall fell after the import\" --run 12")),
                false => (section("incidents", "Newest first", "", &table("Incidents", "incidents", &["Incident", "State", "Opened", "Resolved", "Class", "Run"], &rows))),
            }
            (open_form())
        },
        pager: part::next_page(next.as_deref()),
        ..Page::default()
    }
}

fn state_filter(wanted: &str) -> Markup {
    html! {
        form method="get" action="/incidents" data-update="main" {
            label {
                "State"
                select name="state" {
                    @for (value, name) in [("", "all"), ("open", "open"), ("resolved", "resolved")] {
                        option value=(value) selected[value == wanted] { (name) }
                    }
                }
            }
            button type="submit" { "Show" }
        }
    }
}

fn incident_state(word: &str) -> Markup {
    match word {
        "open" => tag(Tone::Warning, "open"),
        word => state(word),
    }
}

fn open_form() -> Markup {
    section(
        "open",
        "Open an incident",
        "With a run, its failing cases are triaged and the findings become part of the record.",
        &html! {
            form.row method="post" action="/incidents" {
                (csrf_field())
                label { "Title" input type="text" name="title" required maxlength="500" size="48"; }
                label { "Suite run (a number, optional)" input type="text" name="run" pattern="[0-9]*" inputmode="numeric" size="8"; }
                button type="submit" { "Open" }
            }
        },
    )
}

/// One incident.
pub fn show(incident: &Incident) -> Page {
    let is_open = incident.state == "open";
    let tone = if is_open { Tone::Warning } else { Tone::Good };
    let title = if is_open { "Open" } else { "Resolved" };
    Page {
        title: format!("Incident {}", incident.id),
        section: Section::Incidents,
        command: format!("gbrain incident show {}", incident.id),
        header: html! {
            div class=(tone.class()) { (heading(&format!("Incident {}", incident.id), title, Some(tone), &part::text(&incident.title))) }
            (facts(&incident_facts(incident)))
        },
        main: html! {
            @match &incident.record {
                None => (empty("Its record cannot be read. It may have been written by a newer gbrain.", "")),
                Some(record) => {
                    (finding_section(record))
                    (timeline(incident, record))
                    (resolution_section(record))
                    (note_form(incident.id))
                    @if is_open { (resolve_form(incident.id)) }
                }
            }
        },
        ..Page::default()
    }
}

fn incident_facts(incident: &Incident) -> Vec<(&'static str, Markup)> {
    let record = incident.record.as_ref();
    let mut all = vec![("Opened", moment(&incident.opened_at))];
    if let Some(at) = &incident.resolved_at {
        all.push(("Resolved", moment(at)));
    }
    if let Some(run) = record.and_then(|record| record.run) {
        all.push(("Run", html! { a href={ "/suite-runs/" (run) } { "run " (run) } }));
    }
    if let Some(alert) = record.and_then(|record| record.alert.as_deref()) {
        all.push((
            "Alert",
            html! { a href=(url("/alerts", &[("key", alert)])) { code { (part::text(alert)) } } },
        ));
    }
    if let Some(suite) = record.and_then(|record| record.suite.as_deref()) {
        all.push((
            "Suite",
            html! { a href={ "/suites/" (part::percent_encoded(suite)) } { (part::text(suite)) } },
        ));
    }
    all
}

fn finding_section(record: &Record) -> Markup {
    let cases = |finding: &IncidentCause| {
        html! {
            ul.names {
                @for case in finding.cases.iter().take(30) { li { code { (part::text(case)) } } }
                @if finding.cases.len() > 30 { li { "and " (finding.cases.len() - 30) " more" } }
            }
        }
    };
    section(
        "findings",
        "What triage found",
        "",
        &html! {
            @for finding in &record.findings {
                h3 { (finding.class.replace('_', " ")) ": " (count(finding.cases.len() as u64, "case", "cases")) }
                @if !finding.because.is_empty() { ul { @for why in &finding.because { li { (part::text(why)) } } } }
                (cases(finding))
            }
        },
    )
}

/// What happened, oldest first.
fn timeline(incident: &Incident, record: &Record) -> Markup {
    let end = record.resolution.as_ref();
    section(
        "timeline",
        "Timeline",
        "Oldest first.",
        &html! {
            ol.timeline {
                @if record.notes.is_empty() { li { (moment(&incident.opened_at)) " opened" } }
                @for note in &record.notes {
                    li { p.note { (moment(&note.at)) " by " (part::text(&note.author)) } (paragraphs(&note.text)) }
                }
                @if let Some(end) = end {
                    li { p.note { (moment(&end.at)) " by " (part::text(&end.author)) } p { (tag(Tone::Good, "resolved")) } }
                }
            }
        },
    )
}

/// A text of several lines.
fn paragraphs(text: &str) -> Markup {
    html! { @for line in text.lines().filter(|line| !line.trim().is_empty()).take(200) { p { bdi { (part::text(line)) } } } }
}

fn resolution_section(record: &Record) -> Markup {
    let Some(Resolution { root_cause, fix, follow_ups, .. }) = &record.resolution else {
        return html! {};
    };
    section(
        "resolution",
        "How it ended",
        "",
        &html! {
            h3 { "Root cause" } (paragraphs(root_cause))
            h3 { "Fix" } (paragraphs(fix))
            h3 { "Follow-ups" }
            ul { @for one in follow_ups { li { (part::text(one)) } } }
        },
    )
}

fn note_form(id: i64) -> Markup {
    section(
        "note",
        "Add a note",
        "Personal data and secrets are removed before a note is stored.",
        &html! {
            form method="post" action={ "/incidents/" (id) "/notes" } {
                (csrf_field())
                label { "Note" textarea name="text" rows="3" required maxlength="20000" {} }
                p.more { button type="submit" { "Add" } }
            }
        },
    )
}

fn resolve_form(id: i64) -> Markup {
    section(
        "resolve",
        "Resolve",
        "The channels that the suite notifies get a message with these texts.",
        &html! {
            form method="post" action={ "/incidents/" (id) "/resolve" } {
                (csrf_field())
                label { "Root cause" textarea name="root_cause" rows="2" required maxlength="20000" {} }
                label { "Fix" textarea name="fix" rows="2" required maxlength="20000" {} }
                label { "Follow-ups, one a line; none if there are none" textarea name="follow_ups" rows="2" required maxlength="20000" {} }
                p.more { button.primary type="submit" { "Resolve" } }
            }
            p.more { "To choose the channels, use " code { "gbrain incident resolve " (id) " --channel NAME" } "." }
        },
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn incident(id: i64, state: &str) -> Value {
        json!({ "id": id, "state": state, "title": "recall <fell>", "opened_at": "2026-11-18T02:00:00.000Z",
            "resolved_at": (state == "resolved").then_some("2026-11-18T04:00:00.000Z"),
            "record": { "schema_version": 1, "run": 7, "alert": "gbrain/default/weekly/run", "suite": "weekly",
                "findings": [{ "class": "ranking", "because": ["the page fell to rank 9"], "cases": ["q1", "q2"] }],
                "notes": [{ "at": "2026-11-18T02:00:00Z", "author": "ada", "text": "opened\n<script>x</script>" }],
                "resolution": (state == "resolved").then(|| json!({ "at": "2026-11-18T04:00:00Z", "author": "ada",
                    "root_cause": "the disk was full", "fix": "imported again", "follow_ups": ["alert on free space"] })) } })
    }

    fn shown(value: Value) -> String {
        let page = show(&serde_json::from_value(value).unwrap());
        page.header.into_string() + &page.main.into_string()
    }

    #[test]
    fn an_open_incident_is_annotated_and_resolved() {
        let html = shown(incident(3, "open"));
        for part in [
            "action=\"/incidents/3/notes\"",
            "action=\"/incidents/3/resolve\"",
            "2 cases",
            "the page fell to rank 9",
            "/suite-runs/7",
            "/alerts?key=gbrain%2Fdefault%2Fweekly%2Frun",
            "/suites/weekly",
            "&lt;script&gt;",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }

    #[test]
    fn a_resolved_one_says_how_it_ended() {
        let html = shown(incident(3, "resolved"));
        assert!(
            html.contains("the disk was full")
                && html.contains("alert on free space")
                && html.contains("/notes"),
            "{html}"
        );
        assert!(!html.contains("/incidents/3/resolve"), "{html}");
        let mut unreadable = incident(4, "open");
        unreadable["record"] = Value::Null;
        assert!(shown(unreadable).contains("cannot be read"));
    }

    #[test]
    fn the_list_is_paged() {
        let many: Vec<Value> = (1..=20).rev().map(|id| incident(id, "open")).collect();
        let read: IncidentList = serde_json::from_value(json!({ "incidents": many })).unwrap();
        let page = list(&read, "open", 20);
        assert_eq!(
            page.pager.into_string().matches("/incidents?state=open&amp;before=1").count(),
            1
        );
        let none = list(&IncidentList { incidents: Vec::new() }, "", 20);
        assert!(
            none.main.into_string().contains("No incidents.")
                && none.pager.into_string().is_empty()
        );
    }
}
