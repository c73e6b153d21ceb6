//! The pages of the console, and a brain whose content fills them.
//!
//! Every test of all pages, and the screenshots of the documentation, take their pages from [`PAGES`]. A page of the
//! navigation that is not in it fails the tests.

mod models;
mod seed;

use std::process::Command;

use crate::process::Gbrain;

pub use seed::seed;

/// The workspace that [`seed()`] fills.
pub const FULL: &str = "default";
/// A workspace without anything.
pub const EMPTY: &str = "empty";

/// A page as a reader with an admin token of its workspace finds it in a brain that [`seed()`] filled.
#[derive(Debug, Clone, Copy)]
pub struct ConsolePage {
    /// Name of its screenshots.
    pub name: &'static str,
    /// Its URL on the server.
    pub path: &'static str,
    pub status: u16,
    /// A word that the content has, so that an empty page is no success.
    pub contains: &'static str,
    pub workspace: &'static str,
}

const fn page(name: &'static str, path: &'static str, contains: &'static str) -> ConsolePage {
    ConsolePage { name, path, status: 200, contains, workspace: FULL }
}

const fn empty(name: &'static str, path: &'static str, contains: &'static str) -> ConsolePage {
    ConsolePage { workspace: EMPTY, ..page(name, path, contains) }
}

/// All pages: one line each, with the states worth looking at.
pub const PAGES: &[ConsolePage] = &[
    page("sign-in", "/sign-in", "Token"),
    page("overview", "/", "Needs attention"),
    page("runs", "/runs", "gate 1"),
    page("run-pass", "/runs/1", "Judged queries"),
    page("run-fail", "/runs/2", "Judged queries"),
    page("run-unchanged", "/runs/2?show=unchanged&sort=latency", "HRB-131"),
    page("run-replay", "/runs/3", "gbrain eval replay"),
    page("run-case", "/runs/2/rows/2", "Captured and current ranking"),
    page("run-error", "/runs/5", "Why it failed"),
    page("run-cancelled", "/runs/6", "This run has no result"),
    page("compare", "/compare", "gate 1 of"),
    page("compare-two", "/compare?a=run:1&b=run:2", "recall_at_k"),
    page("compare-matrix", "/compare?a=run:1&b=run:2&c=run:4", "run 4"),
    page("explain", "/explain", "Enter a query"),
    page("explain-query", "/explain?q=Who+invested+in+Quayspark%3F", "What each stage did"),
    page(
        "explain-tried",
        "/explain?q=Who+invested+in+Quayspark%3F&page=people%2Fpell-hathersage&baseline=demo&s.title_boost=1.8&s.words_weight=0.4",
        "What moves",
    ),
    page("benchmarks", "/benchmarks", "multi-session"),
    page("suites", "/suites", "smoke"),
    page("suite", "/suites/smoke", "run 42"),
    page("suite-run-fail", "/suite-runs/41", "pipeline bug"),
    page("suite-run-pass", "/suite-runs/42", "suite smoke"),
    page("alerts", "/alerts", "gbrain/default/links/"),
    page("alert", "/alerts?key=gbrain%2Fdefault%2Flinks%2Frecall%405%2Fall", "Firing"),
    page("incidents", "/incidents", "The links suite fails"),
    page("incident", "/incidents/1", "What triage found"),
    page("incident-resolved", "/incidents/2", "Resolved"),
    page("probe", "/probe", "9 passed"),
    page("calibration", "/calibration", "Precision and recall along the threshold"),
    page("captures", "/captures", "HRB-131"),
    page("captures-filtered", "/captures?text=nothing+like+it", "No capture"),
    page("capture", "/captures/1", "Who invested in Quayspark?"),
    page("labels", "/labels", "What the labels say"),
    page("label-conflicts", "/labels/conflicts", "charge floor"),
    page("contradictions", "/contradictions", "notes/north-berth"),
    page("pages", "/pages", "Quayspark"),
    page("pages-search", "/pages?q=Who+invested+in+Quayspark%3F", "Three Terns"),
    page("page", "/pages/wiki%3A%3Acompanies%2Fquayspark", "Links to this page"),
    page("page-chat", "/pages/journal%3A%3Achats%2F2026-05-05-on-call-swap", "Conversation"),
    page("page-history", "/pages/wiki%3A%3Ateams%2Frouting/history", "From version"),
    page("page-edit", "/pages/wiki%3A%3Ateams%2Frouting/edit", "Text"),
    page("page-new", "/pages/new", "Text"),
    page("page-delete", "/pages/wiki%3A%3Ateams%2Frouting/delete", "Delete this page?"),
    page("page-deleted", "/pages/wiki%3A%3Anotes%2Fharbour-party", "Restore the page"),
    page("prompts", "/prompts", "answer"),
    page("spending", "/spending", "quality_probe"),
    ConsolePage { status: 404, ..page("not-found", "/no-such-page", "no such path") },
    ConsolePage { status: 400, ..page("bad-request", "/runs?before=x", "invalid parameters") },
    empty("overview-empty", "/", "Nothing is here yet"),
    empty("runs-empty", "/runs", "No replay or gate"),
    empty("compare-empty", "/compare", "gbrain"),
    empty("captures-empty", "/captures", "No request was captured yet"),
    empty("labels-empty", "/labels", "There are no queries to label"),
    empty("suites-empty", "/suites", "There are no suites"),
    empty("alerts-empty", "/alerts", "No suite has raised an alert"),
    empty("incidents-empty", "/incidents", "No incidents"),
    empty("probe-empty", "/probe", "has not run"),
    empty("calibration-empty", "/calibration", "No pair has been scored"),
    empty("contradictions-empty", "/contradictions", "No contradiction probe ran"),
    empty("pages-empty", "/pages", "The memory is empty"),
    empty("spending-empty", "/spending", "No model was called"),
];

/// `gbrain serve` with everything that the pages show.
pub fn serve_command(brain: &Gbrain) -> Command {
    let mut command = brain.command(&["serve"]);
    command.env("EVA_ROOT", seed::library(brain));
    command
}
