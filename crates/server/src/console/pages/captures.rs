//! Captured requests.

use gbrain_console::page::captures::{CaptureFilters, instant};
use gbrain_console::{Page, page};
use gbrain_core::fault::Fault;

use crate::console::Fields;
use crate::console::call::ConsoleCall;

/// Failures on the page of the list.
const FAILURES: &str = "20";

pub(super) fn list(call: &ConsoleCall<'_>, fields: &Fields) -> Result<Page, Fault> {
    let text = |name| fields.get(name).unwrap_or_default().to_owned();
    let filters = CaptureFilters {
        text: text("text"),
        tool: text("tool"),
        mode: text("mode"),
        source: text("source"),
        results: text("results"),
        since: text("since"),
        until: text("until"),
        before: text("before"),
    };
    let (since, until) = (instant(&filters.since), instant(&filters.until));
    let mut parameters =
        fields.only(&["text", "tool", "mode", "source", "results", "before", "limit"]);
    let times = [("since", since.as_str()), ("until", until.as_str())];
    parameters.extend(times.into_iter().filter(|(_, time)| !time.is_empty()));
    let list = call.read("list_captures", &parameters)?;
    let failures = match filters.before.is_empty() {
        true => Some(call.read("list_capture_failures", &[("limit", FAILURES)])?),
        false => None,
    };
    Ok(page::captures::page(&list, &filters, failures.as_ref()))
}

pub(super) fn show(call: &ConsoleCall<'_>, fields: &Fields) -> Result<Page, Fault> {
    let shown = call.read("get_capture", &[("id", fields.require("id")?)])?;
    Ok(page::capture::page(&shown))
}
