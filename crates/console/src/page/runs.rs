//! The list of replays and gates that ran on this server.

use maud::{Markup, html};
use serde::Deserialize;

use crate::part::{self, csrf_field, empty, heading, moment, section, state, table};
use crate::shell::{Page, Section};

/// `GET /v1/runs`.
#[derive(Debug, Deserialize)]
pub struct RunList {
    pub jobs: Vec<RunEntry>,
    pub next_before: Option<i64>,
}

/// One run of the list.
#[derive(Debug, Deserialize)]
pub struct RunEntry {
    pub id: i64,
    pub kind: String,
    pub state: String,
    #[serde(default)]
    pub note: String,
    pub created_by: String,
    pub created_at: String,
}

/// The stored documents that a run may be started from.
#[derive(Debug, Default)]
pub struct StartForm {
    pub baselines: Vec<String>,
    pub qrels: Vec<String>,
}

impl StartForm {
    fn show(&self) -> Markup {
        html! {
            details.start {
                summary { "Start a replay or a gate" }
                @if self.baselines.is_empty() && self.qrels.is_empty() {
                    (empty("There is no stored baseline and there are no stored qrels.", "gbrain baseline publish --help"))
                } @else {
                    form.row method="post" action="/runs" {
                        (csrf_field())
                        label { "What" select name="kind" { option value="gate" { "gate" } option value="replay" { "replay" } } }
                        label { "Baseline" select name="baseline" {
                            option value="" { "none" }
                            @for name in &self.baselines { option value=(name) { (part::text(name)) } }
                        } }
                        label { "Qrels (gate)" select name="qrels" {
                            option value="" { "none" }
                            @for name in &self.qrels { option value=(name) { (part::text(name)) } }
                        } }
                        label { "k" input type="number" name="k" min="1" max="1000" placeholder="10"; }
                        label.inline { input type="checkbox" name="blame" value="yes"; "Find what moved each query (replay)" }
                        button.primary type="submit" { "Start" }
                    }
                }
            }
        }
    }
}

/// The list. Readers who may start runs get the form.
pub fn page(list: &RunList, start: Option<&StartForm>) -> Page {
    let rows: Vec<Vec<_>> = list
        .jobs
        .iter()
        .map(|run| {
            vec![
                html! { a href={ "/runs/" (run.id) } { (run.kind) " " (run.id) } },
                state(&run.state),
                // A note is about what a run does now.
                html! { @if matches!(run.state.as_str(), "queued" | "running") { (part::text(&run.note)) } },
                html! { (part::text(&run.created_by)) },
                moment(&run.created_at),
            ]
        })
        .collect();
    let body = table("runs", "runs", &["Run", "State", "Progress", "Started by", "Queued"], &rows);
    let next = list.next_before.map(|before| format!("/runs?before={before}"));
    Page {
        title: "Runs".to_owned(),
        section: Section::Runs,
        command: "gbrain jobs list".to_owned(),
        header: heading("", "Runs", None, "Replays and gates of this workspace, newest first."),
        controls: html! { @if let Some(start) = start { (start.show()) } },
        main: if rows.is_empty() {
            empty(
                "No replay or gate has run on this server yet.",
                "gbrain eval gate --baseline FILE",
            )
        } else {
            section("runs", "All runs", "", &body)
        },
        pager: part::next_page(next.as_deref()),
        ..Page::default()
    }
}
