//! A run that has no result: queued, running, failed or cancelled.

use maud::html;
use serde::Deserialize;

use crate::part::{self, Tone, capitalised, csrf_field, facts, heading, message, moment, section};
use crate::shell::{Page, Section};

/// `GET /v1/runs/{id}`.
#[derive(Debug, Deserialize)]
pub struct RunState {
    pub id: i64,
    pub kind: String,
    pub state: String,
    #[serde(default)]
    pub done: u64,
    #[serde(default)]
    pub total: Option<u64>,
    #[serde(default)]
    pub note: String,
    #[serde(default)]
    pub cancel_requested: bool,
    #[serde(default)]
    pub error: Option<RunError>,
    #[serde(default)]
    pub created_by: String,
    pub created_at: String,
    #[serde(default)]
    pub finished_at: Option<String>,
}

/// Why a run failed.
#[derive(Debug, Deserialize)]
pub struct RunError {
    pub error: RunErrorBody,
}

#[derive(Debug, Deserialize)]
pub struct RunErrorBody {
    pub message: String,
    #[serde(default)]
    pub hints: Vec<String>,
}

impl RunState {
    /// Whether the run waits or works.
    fn is_open(&self) -> bool {
        matches!(self.state.as_str(), "queued" | "running")
    }
}

/// The page of a run without a result.
pub fn page(run: &RunState, may_cancel: bool) -> Page {
    let name = format!("{} {}", part::text(&run.kind), run.id);
    let asked = [
        ("Started by", html! { (part::text(&run.created_by)) }),
        ("Queued", moment(&part::text(&run.created_at))),
    ];
    Page {
        title: format!("{name}: {}", run.state),
        section: Section::Runs,
        command: format!("gbrain jobs show {}", run.id),
        header: html! {
            (heading(&name, &capitalised(&run.state.replace('_', " ")), Some(Tone::of(&run.state)), ""))
            (facts(&asked))
        },
        controls: html! {
            @if run.is_open() && may_cancel {
                form.row method="post" action={ "/runs/" (run.id) "/cancel" } {
                    (csrf_field())
                    button.danger type="submit" disabled[run.cancel_requested] {
                        @if run.cancel_requested { "Cancelling" } @else { "Cancel this run" }
                    }
                }
            }
        },
        main: html! {
            @if run.is_open() { (section("progress", "Progress", "", &progress(run))) }
            @if let Some(RunError { error }) = &run.error {
                (section("error", "Why it failed", "", &html! {
                    p { (message(&error.message)) }
                    @if !error.hints.is_empty() { ul.plain { @for hint in &error.hints { li { (message(hint)) } } } }
                }))
            }
            @if run.state == "cancelled" { (section("cancelled", "Cancelled", "", &html! { p { "This run has no result." } })) }
        },
        ..Page::default()
    }
}

fn progress(run: &RunState) -> maud::Markup {
    let total = run.total.filter(|total| *total > 0);
    html! {
        label { "Rows"
            progress data-events={ "/live/runs/" (run.id) "/events" } data-note="note" max=[total] value=[total.map(|_| run.done)] {}
        }
        p #note role="status" { (part::text(&run.note)) }
        noscript { p.more { "Load this page again to see the progress." } }
    }
}
