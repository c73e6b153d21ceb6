//! The overview, suites, alerts, incidents, calibration, the probe, benchmarks, contradictions,
//! prompts and spending.

use gbrain_console::{Page, page};
use gbrain_core::fault::Fault;

use crate::console::Fields;
use crate::console::call::ConsoleCall;

/// Incidents on one page.
const INCIDENTS: usize = 50;
/// Runs of a suite on one page.
const SUITE_RUNS: &str = "30";
/// Runs in the trend of one suite.
const TREND_RUNS: &str = "60";

/// One call of the API for each block, however many suites there are.
pub(super) fn overview(call: &ConsoleCall<'_>, _: &Fields) -> Result<Page, Fault> {
    let incidents = [("state", "open"), ("limit", "50")];
    let data = page::overview::Overview {
        suites: call.read("list_suites", &[])?,
        trends: call.read("suite_trends", &[])?,
        status: call.read("eval_status", &[])?,
        captures: call.read("capture_days", &[])?,
        alerts: call.read("list_alerts", &[])?,
        incidents: permitted(call, "list_incidents", &incidents)?,
        probe: call.read("probe_history", &[])?,
        runs: call.read("list_runs", &[("limit", "100")])?,
        spending: permitted(call, "show_spend", &[])?,
        changes: call.read("recent_changes", &[("limit", "10")])?,
    };
    Ok(page::overview::page(&data))
}

/// The answer of an endpoint, if the reader may call it.
fn permitted<T: serde::de::DeserializeOwned>(
    call: &ConsoleCall<'_>,
    id: &str,
    parameters: &[(&str, &str)],
) -> Result<Option<T>, Fault> {
    call.may(id).then(|| call.read(id, parameters)).transpose()
}

pub(super) fn suites(call: &ConsoleCall<'_>, fields: &Fields) -> Result<Page, Fault> {
    let view = page::suites::ListView {
        after: fields.get("after").unwrap_or_default(),
        state: fields.get("state").unwrap_or_default(),
    };
    Ok(page::suites::list(&call.read("list_suites", &[])?, &call.read("suite_days", &[])?, view))
}

pub(super) fn suite(call: &ConsoleCall<'_>, fields: &Fields) -> Result<Page, Fault> {
    let name = fields.require("name")?;
    let shown = call.read("show_suite", &[("name", name)])?;
    let mut asked = vec![("name", name), ("limit", SUITE_RUNS)];
    asked.extend(fields.only(&["before"]));
    let runs = call.read("suite_history", &asked)?;
    let trends = call.read("suite_trends", &[("suite", name), ("runs", TREND_RUNS)])?;
    Ok(page::suites::show(&shown, &runs, &trends, call.may("run_suite")))
}

pub(super) fn alerts(call: &ConsoleCall<'_>, fields: &Fields) -> Result<Page, Fault> {
    let list = call.read("list_alerts", &[])?;
    let messages = call.read("list_deliveries", &fields.only(&["key", "state", "before"]))?;
    let view = page::alerts::AlertsView {
        key: fields.get("key").unwrap_or_default(),
        state: fields.get("state").unwrap_or_default(),
        after: fields.get("after").unwrap_or_default(),
        may_change: call.may("close_alert"),
    };
    Ok(page::alerts::page(&list, &messages, view))
}

pub(super) fn incidents(call: &ConsoleCall<'_>, fields: &Fields) -> Result<Page, Fault> {
    let limit = INCIDENTS.to_string();
    let mut asked = fields.only(&["state", "before"]);
    asked.push(("limit", &limit));
    let list = call.read("list_incidents", &asked)?;
    Ok(page::incidents::list(&list, fields.get("state").unwrap_or_default(), INCIDENTS))
}

pub(super) fn incident(call: &ConsoleCall<'_>, fields: &Fields) -> Result<Page, Fault> {
    let incident = call.read("show_incident", &[("id", fields.require("id")?)])?;
    Ok(page::incidents::show(&incident))
}

pub(super) fn calibration(call: &ConsoleCall<'_>, fields: &Fields) -> Result<Page, Fault> {
    let shown = call.read("show_calibration", &fields.only(&["threshold"]))?;
    let history = call.read("list_thresholds", &[("limit", "50")])?;
    Ok(page::calibration::page(&shown, &history, call.may("deploy_threshold")))
}

pub(super) fn probe(call: &ConsoleCall<'_>, fields: &Fields) -> Result<Page, Fault> {
    Ok(page::probe::page(&call.read("probe_history", &fields.only(&["days"]))?))
}

pub(super) fn contradictions(call: &ConsoleCall<'_>, fields: &Fields) -> Result<Page, Fault> {
    let found = call.read("find_contradictions", &fields.only(&["severity", "slug", "limit"]))?;
    let view = page::contradictions::ContradictionsView {
        severity: fields.get("severity").unwrap_or_default(),
        slug: fields.get("slug").unwrap_or_default(),
        limit: fields.get("limit").and_then(|limit| limit.parse().ok()).unwrap_or(20),
    };
    Ok(page::contradictions::page(&found, view))
}

pub(super) fn spending(call: &ConsoleCall<'_>, fields: &Fields) -> Result<Page, Fault> {
    let days = fields.get("days").unwrap_or("30");
    Ok(page::spending::page(&call.read("show_spend", &[("days", days)])?, days))
}

pub(super) fn benchmarks(call: &ConsoleCall<'_>, _: &Fields) -> Result<Page, Fault> {
    Ok(page::benchmarks::page(&call.read("list_benchmarks", &[])?))
}

pub(super) fn prompts(call: &ConsoleCall<'_>, _: &Fields) -> Result<Page, Fault> {
    Ok(page::prompts::page(&call.read("list_prompts", &[])?))
}
