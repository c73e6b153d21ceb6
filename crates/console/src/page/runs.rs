//! The list of replays and gates that ran on this server.

use maud::html;
use serde::Deserialize;

use crate::part::{self, empty, heading, moment, section, state, table};
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

pub fn page(list: &RunList) -> Page {
    let rows: Vec<Vec<_>> = list
        .jobs
        .iter()
        .map(|run| {
            vec![
                html! { a href={ "/runs/" (run.id) } { (run.kind) " " (run.id) } },
                state(&run.state),
                html! { (part::text(&run.note)) },
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
