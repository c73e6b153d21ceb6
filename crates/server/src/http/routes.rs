//! The endpoints, on one screen.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::Method;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use gbrain_brain::wire;
use gbrain_core::access::Scope;
use gbrain_core::fault::Fault;
use gbrain_core::format::serving::{self, HealthBody};
use gbrain_core::format::{self, Answer};
use gbrain_core::page::PageBody;
use gbrain_core::report::json::{CompareReport, PruneBody, PublishBody};
use gbrain_store::StoreError;
use schemars::JsonSchema as _;
use serde_json::Value;

use super::endpoint::{BodyContent, Endpoint, NoParameters, SchemaOf, endpoint};
use super::openapi::ExtraRoute;
use super::reply::{ErrorResponse, NDJSON};
use super::{ServerState, in_time, principal};
use crate::operations::{
    activity, alerts, ask, benchmarks, calibration, capture_list, captures, compare,
    contradictions, documents, explain, feedback, incidents, jobs, labelling, labels, pages, probe,
    prompts, sources, status, suites,
};
use crate::telemetry::metrics::{CONTENT_TYPE as OPENMETRICS, ScrapeScope};
use crate::work_queue::{StopFlag, WorkQueue};

const TEXT: &str = "text/plain; charset=utf-8";

#[rustfmt::skip]
pub(super) fn endpoints() -> Vec<Endpoint> {
    const GET: Method = Method::GET;
    const PUT: Method = Method::PUT;
    const POST: Method = Method::POST;
    const DELETE: Method = Method::DELETE;
    let asks = |draft: super::endpoint::EndpointBuilder| draft.scope(Scope::Read).queue(WorkQueue::Read);
    vec![
        asks(endpoint::<Answer<'_>>(POST, "/v1/search", "search", "Find pages by keyword.")).with_json_body(ask::search),
        asks(endpoint::<Answer<'_>>(POST, "/v1/query", "query", "Answer a question with keywords, embeddings, names and links.")).with_json_body(ask::query),
        asks(endpoint::<explain::Explanation<'_>>(POST, "/v1/explain", "explain", "Explain the ranking of a query, with other search settings if wanted. Nothing is captured.")).with_json_body(explain::explain),
        endpoint::<explain::SettingsTrial>(POST, "/v1/baselines/{name}/try", "try_settings", "Count the rows of a baseline whose answers other search settings would change. Nothing is captured.").scope(Scope::Admin).queue(WorkQueue::Read).with_json_body(explain::try_settings),

        endpoint::<wire::PagesBody<'_>>(GET, "/v1/pages", "list_pages", "List pages.").without_body(pages::list),
        endpoint::<PageBody<'_>>(GET, "/v1/pages/{page}", "get_page", "Read a page.").without_body(pages::get),
        endpoint::<wire::PutBody<'_>>(PUT, "/v1/pages/{page}", "put_page", "Write a page.").with_json_body(pages::put_at),
        endpoint::<wire::DeleteBody<'_>>(DELETE, "/v1/pages/{page}", "delete_page", "Delete a page; its history stays.").without_body(pages::delete),
        endpoint::<wire::RestoreBody<'_>>(POST, "/v1/pages/{page}/restore", "restore_page", "Restore a deleted page.").without_body(pages::restore),
        endpoint::<wire::HistoryBody<'_>>(GET, "/v1/pages/{page}/history", "page_history", "List the versions of a page.").without_body(pages::history),
        endpoint::<wire::LinksBody<'_>>(GET, "/v1/pages/{page}/links", "links", "List the links of a page, with their evidence.").without_body(pages::links_with_evidence),

        endpoint::<wire::SourcesBody<'_>>(GET, "/v1/sources", "list_sources", "List the sources.").without_body(sources::list),
        endpoint::<wire::SourceChanged<'_>>(POST, "/v1/sources", "add_source", "Add a source, or change whether it is trusted.").scope(Scope::Admin).with_json_body(sources::add_or_set_trust),

        endpoint::<Value>(GET, "/v1/captures", "export_captures", "Stream the captures of remote requests, newest first.").scope(Scope::Admin).returns_text(NDJSON).without_body(captures::export),
        endpoint::<capture_list::CapturesBody>(GET, "/v1/captures/list", "list_captures", "List captures of remote requests, newest first.").scope(Scope::Admin).without_body(capture_list::list),
        endpoint::<capture_list::FailuresBody>(GET, "/v1/captures/failures", "list_capture_failures", "List requests that were not captured, with the reason.").scope(Scope::Admin).without_body(capture_list::failures),
        endpoint::<capture_list::CaptureBody>(GET, "/v1/captures/{id}", "get_capture", "Show a capture of a remote request.").scope(Scope::Admin).without_body(capture_list::show),
        endpoint::<capture_list::PromotedBody>(POST, "/v1/captures/{id}/promote", "promote_capture", "Make a canonical query of a capture.").scope(Scope::Admin).with_json_body(capture_list::promote),
        endpoint::<PruneBody>(DELETE, "/v1/captures", "prune_captures", "Prune old captures.").scope(Scope::Admin).without_body(captures::prune),
        endpoint::<serving::EvalStatusBody>(GET, "/v1/eval/status", "eval_status", "Show the state of captures and evaluation runs.").without_body(status::status),
        endpoint::<format::contradiction::FoundContradictions>(GET, "/v1/contradictions", "find_contradictions", "List the findings of the last contradiction probe.").without_body(contradictions::find),
        endpoint::<format::probe::ProbeHistory>(GET, "/v1/probe", "probe_history", "List past runs of the nightly quality probe, newest first.").without_body(probe::list),

        endpoint::<format::suite::SuitesBody>(GET, "/v1/suites", "list_suites", "List suites with their last runs.").without_body(suites::list),
        endpoint::<format::suite::SuiteShown>(GET, "/v1/suites/{name}", "show_suite", "Show a suite: its definition, its state, its unfinished jobs.").without_body(suites::definition),
        endpoint::<serving::QueuedBody>(POST, "/v1/suites/{name}/runs", "run_suite", "Queue a run of a registered suite.").accepted().without_body(suites::run),
        endpoint::<format::suite::SuiteDaysBody>(GET, "/v1/suite-days", "suite_days", "List the verdicts of all suites by day.").without_body(suites::days),
        endpoint::<format::suite::SuiteTrendsBody>(GET, "/v1/suite-trends", "suite_trends", "List the values of measures run by run, of all suites or of one.").without_body(suites::trends),
        endpoint::<format::suite::SuiteRunsBody>(GET, "/v1/suites/{name}/runs", "suite_history", "List the runs of a suite, newest first.").without_body(suites::runs),
        endpoint::<format::suite::RecordedSuiteRun>(GET, "/v1/suite-runs/{id}", "show_suite_run", "Show a run of a suite: verdict, measures, cases.").without_body(suites::show),
        endpoint::<format::triage::TriageBody>(GET, "/v1/suite-runs/{id}/triage", "triage_suite_run", "Explain why a suite run failed, case by case.").scope(Scope::Admin).without_body(incidents::triage),
        endpoint::<format::incident::IncidentsBody>(GET, "/v1/incidents", "list_incidents", "List incidents with their records, newest first.").scope(Scope::Admin).without_body(incidents::list),
        endpoint::<format::incident::IncidentBody>(GET, "/v1/incidents/{id}", "show_incident", "Show an incident with its record.").scope(Scope::Admin).without_body(incidents::show),
        endpoint::<format::incident::IncidentBody>(POST, "/v1/incidents", "open_incident", "Open an incident, with the triage of a suite run.").scope(Scope::Admin).with_json_body(incidents::open),
        endpoint::<format::incident::IncidentBody>(POST, "/v1/incidents/{id}/notes", "note_incident", "Add a note to the timeline of an incident.").scope(Scope::Admin).with_json_body(incidents::note),
        endpoint::<format::incident::IncidentBody>(POST, "/v1/incidents/{id}/resolve", "resolve_incident", "Resolve an incident with its root cause, fix and follow-ups.").scope(Scope::Admin).with_json_body(incidents::resolve),
        endpoint::<format::suite::EventBody>(POST, "/v1/events", "tell_event", "Report an event that triggers suites.").with_json_body(suites::report_event),

        endpoint::<format::feedback::FeedbackBody>(POST, "/v1/feedback", "give_feedback", "Give feedback on an answer: a vote, a comment, a barely relevant result.").with_json_body(feedback::store_feedback),
        endpoint::<format::alert::AlertsBody>(GET, "/v1/alerts", "list_alerts", "List alerts, firing ones first, with silences and queued messages.").without_body(alerts::list),
        endpoint::<format::alert::ClosedAlertBody>(POST, "/v1/alerts/close", "close_alert", "Resolve an alert by hand and notify its channels.").scope(Scope::Admin).with_json_body(alerts::close),
        endpoint::<format::alert::DeliveryPageBody>(GET, "/v1/deliveries", "list_deliveries", "List messages about alerts, newest first.").without_body(alerts::deliveries),
        endpoint::<format::alert::SilenceBody>(POST, "/v1/silences", "add_silence", "Hold the messages of alerts for a time.").scope(Scope::Admin).with_json_body(alerts::add_silence),
        endpoint::<format::alert::EndedSilenceBody>(DELETE, "/v1/silences/{id}", "end_silence", "End a silence now.").scope(Scope::Admin).without_body(alerts::end_silence),
        endpoint::<format::calibration::CalibrationOverviewBody>(GET, "/v1/calibration", "show_calibration", "Show the calibration of the reranker: threshold, scores, state.").without_body(calibration::show),
        endpoint::<format::calibration::HistoryBody>(GET, "/v1/calibration/thresholds", "list_thresholds", "List thresholds of the reranker, newest first.").without_body(calibration::list),
        endpoint::<format::calibration::ThresholdInfo>(POST, "/v1/calibration/deploy", "deploy_threshold", "Put a threshold in force whose trial passed.").scope(Scope::Admin).with_json_body(calibration::deploy),
        endpoint::<format::benchmark::BenchmarksBody>(GET, "/v1/benchmarks", "list_benchmarks", "List the benchmark results of this server, with their baselines.").without_body(benchmarks::list),
        endpoint::<prompts::PromptsShown>(GET, "/v1/prompts", "list_prompts", "List the prompts of this server, with evidence and gates.").scope(Scope::Admin).without_body(prompts::list),
        endpoint::<format::activity::CaptureDaysBody>(GET, "/v1/capture-days", "capture_days", "Count captures and capture failures by day.").without_body(activity::captures),
        endpoint::<format::activity::PageChangesBody>(GET, "/v1/changes", "recent_changes", "List the last changes of pages.").without_body(activity::changes),
        endpoint::<format::activity::SpendBody>(GET, "/v1/spend", "show_spend", "Show the cost of model calls by day, model and purpose.").scope(Scope::Admin).without_body(activity::spending),

        endpoint::<documents::DocumentsBody>(GET, "/v1/baselines", "list_baselines", "List the stored baselines.").scope(Scope::Admin).without_body(documents::list_baselines),
        endpoint::<Value>(GET, "/v1/baselines/{name}", "get_baseline", "Read a baseline, one row a line.").scope(Scope::Admin).returns_text(NDJSON).without_body(documents::get_baseline),
        endpoint::<PublishBody<'_>>(PUT, "/v1/baselines/{name}", "publish_baseline", "Publish a baseline from the captures of remote requests.").scope(Scope::Admin).with_json_body(documents::publish_baseline),
        endpoint::<serving::DocumentOutcomeBody>(DELETE, "/v1/baselines/{name}", "delete_baseline", "Delete a baseline.").scope(Scope::Admin).without_body(documents::delete_baseline),

        endpoint::<documents::DocumentsBody>(GET, "/v1/qrels", "list_qrels", "List the stored qrels.").without_body(documents::list_qrels),
        endpoint::<Value>(GET, "/v1/qrels/{name}", "get_qrels", "Read qrels as they were stored.").returns_text(TEXT).without_body(documents::get_qrels),
        endpoint::<serving::QrelsStoredBody>(PUT, "/v1/qrels/{name}", "put_qrels", "Store qrels in any supported format.").reading_cost(documents::QRELS_COST).with_text_body(TEXT, documents::put_qrels),
        endpoint::<serving::DocumentOutcomeBody>(DELETE, "/v1/qrels/{name}", "delete_qrels", "Delete qrels.").without_body(documents::delete_qrels),

        endpoint::<labels::LabelsBody>(GET, "/v1/labels", "list_labels", "List labels.").without_body(labels::list),
        endpoint::<serving::StoredLabelsBody>(POST, "/v1/labels", "add_labels", "Label pages as answers to queries.").with_json_body(labels::add),
        endpoint::<serving::LabelRemovedBody>(DELETE, "/v1/labels/{id}", "remove_label", "Remove a label.").without_body(labels::remove),
        endpoint::<Value>(GET, "/v1/labels/qrels", "labels_as_qrels", "Export all labels as qrels.").without_body(labels::qrels),
        endpoint::<labelling::QueueBody>(GET, "/v1/labels/queue", "labelling_queue", "List the queries to label, those whose labels can still change a verdict first.").scope(Scope::Write).without_body(labelling::queue),
        endpoint::<labelling::QueuedQueryBody>(GET, "/v1/labels/queue/{id}", "queued_query", "Show a query of the labelling queue with its current results and their labels.").scope(Scope::Write).without_body(labelling::query),
        endpoint::<labelling::MeasuresBody>(GET, "/v1/labels/measures", "label_measures", "Measure the current results under the labels: recall, first page and nDCG with interval, floor and smallest detectable drop.").scope(Scope::Write).without_body(labelling::measures),
        endpoint::<labelling::AgreementBody>(GET, "/v1/labels/agreement", "label_agreement", "Show who labelled how much, and how far reviewers agree.").without_body(labelling::agreement),
        endpoint::<labelling::ConflictsBody>(GET, "/v1/labels/conflicts", "label_conflicts", "List pages that reviewers graded differently.").without_body(labelling::conflicts),
        endpoint::<labelling::SettledBody>(POST, "/v1/labels/{id}/settle", "settle_label", "Choose the grade that counts where reviewers disagree.").with_json_body(labelling::settle),
        endpoint::<Value>(GET, "/v1/labels/borderline", "borderline_labels", "Export pages labelled barely relevant as calibration pairs, one a line.").returns_text(NDJSON).without_body(labelling::borderline),
        endpoint::<labelling::PairsMadeBody>(POST, "/v1/labels/pairs", "labels_to_pairs", "Add pages labelled barely relevant to the calibration pairs.").with_json_body(labelling::promote_pairs),
        endpoint::<labelling::PromotedLabelsBody>(POST, "/v1/labels/queries", "labels_to_queries", "Make canonical queries of labelled ones.").with_json_body(labelling::promote_queries),

        endpoint::<serving::QueuedBody>(POST, "/v1/runs", "start_run", "Start a replay or a gate.").scope(Scope::Admin).accepted().with_json_body(jobs::start_run),
        endpoint::<serving::JobsBody>(GET, "/v1/runs", "list_runs", "List replays and gates, newest first.").without_body(jobs::list_runs),
        endpoint::<serving::JobBody>(GET, "/v1/runs/{id}", "show_run", "Show a run.").without_body(jobs::show_run),
        endpoint::<Value>(GET, "/v1/runs/{id}/result", "run_result", "Get the result of a run: the report that the command prints, with the queries.").scope(Scope::Admin).without_body(jobs::run_result),
        endpoint::<serving::CancelledBody>(POST, "/v1/runs/{id}/cancel", "cancel_run", "Cancel a run.").without_body(jobs::cancel_run),
        endpoint::<CompareReport<'_>>(POST, "/v1/compare", "compare", "Compare results, query by query. Results of runs need scope admin.").scope(Scope::Read).queue(WorkQueue::Read).reading_cost(compare::BODY_COST).with_json_body(compare::compare),

        endpoint::<serving::QueuedBody>(POST, "/v1/jobs", "start_job", "Start an import of pages, or rebuild the index.").accepted().with_json_body(jobs::start_job),
        endpoint::<serving::JobsBody>(GET, "/v1/jobs", "list_jobs", "List jobs, newest first.").without_body(jobs::list_jobs),
        endpoint::<serving::JobBody>(GET, "/v1/jobs/{id}", "show_job", "Show a job.").without_body(jobs::show_job),
        endpoint::<Value>(GET, "/v1/jobs/{id}/result", "job_result", "Get the result of a job.").without_body(jobs::job_result),
        endpoint::<serving::CancelledBody>(POST, "/v1/jobs/{id}/cancel", "cancel_job", "Cancel a job.").without_body(jobs::cancel_job),
    ]
}

/// Routes outside the endpoint table.
#[rustfmt::skip]
pub(super) fn extra_routes() -> Vec<ExtraRoute> {
    let (health, none): (BodyContent, SchemaOf) = (
        BodyContent::Json(|generator| generator.subschema_for::<HealthBody>()),
        |generator| NoParameters::json_schema(generator),
    );
    let number: SchemaOf = |generator| jobs::JobNumber::json_schema(generator);
    let document = BodyContent::Json(|_| schemars::json_schema!({ "type": "object" }));
    let extra_route = |path, id, summary, scope, parameters, gives| ExtraRoute { path, id, summary, scope, parameters, gives };
    vec![
        extra_route("/v1/runs/{id}/events", "run_events", "Stream the state of a run until it ends.", Some(Scope::Read), number, BodyContent::Events),
        extra_route("/v1/jobs/{id}/events", "job_events", "Stream the state of a job until it ends.", Some(Scope::Read), number, BodyContent::Events),
        extra_route("/v1/health", "health", "Liveness check.", None, none, health),
        extra_route("/v1/ready", "ready", "Readiness check.", None, none, health),
        extra_route("/v1/openapi.json", "openapi", "This document.", None, none, document),
        extra_route("/metrics", "metrics", "Metrics of the process and of the workspace.", Some(Scope::Read), none, BodyContent::Text(OPENMETRICS)),
    ]
}

/// Liveness check: responds as long as the process runs.
pub(super) async fn health(State(shared): State<Arc<ServerState>>) -> Response {
    health_body(&shared).into_response()
}

/// Readiness check: the store answers, every open index is up to date, and the server is not stopping.
pub(super) async fn ready(State(shared): State<Arc<ServerState>>) -> Response {
    if shared.is_stopping() {
        return ErrorResponse::from(Fault::unavailable("the server is stopping")).into_response();
    }
    match can_answer(&shared).await {
        Ok(()) => health_body(&shared).into_response(),
        Err(why) => ErrorResponse::from(Fault::unavailable(why)).into_response(),
    }
}

/// Checks the database and the indexes, at most once a second. The check bypasses the work queues: a busy server is
/// ready.
async fn can_answer(shared: &ServerState) -> Result<(), &'static str> {
    const UNREACHABLE: &str = "the database cannot be reached";
    const CACHE_TTL: Duration = Duration::from_secs(1);
    let mut last = shared.readiness.lock().await;
    if let Some((at, known)) = *last
        && at.elapsed() < CACHE_TTL
    {
        return known;
    }
    let registry = shared.registry.clone();
    let check = tokio::task::spawn_blocking(move || match registry.store().clock() {
        Err(error) => {
            tracing::warn!(%error, "not ready: the database cannot be used");
            let is_gone = matches!(error, StoreError::FileGone { .. });
            Err(if is_gone { "the database file was removed or replaced" } else { UNREACHABLE })
        }
        Ok(_) if registry.has_index_problem() => Err("an index cannot be built or written"),
        Ok(_) => Ok(()),
    });
    let result = tokio::time::timeout(shared.limits.timeout, check).await;
    let checked =
        result.map_err(|_| UNREACHABLE).and_then(|result| result.map_err(|_| UNREACHABLE));
    let checked = checked.flatten();
    *last = Some((Instant::now(), checked));
    checked
}

fn health_body(shared: &ServerState) -> axum::Json<HealthBody> {
    let status = if shared.is_stopping() { "stopping" } else { "ok" };
    axum::Json(HealthBody { status, version: env!("CARGO_PKG_VERSION").to_owned() })
}

/// Metrics of the process and of the workspaces that the scraper may see.
pub(super) async fn metrics(State(shared): State<Arc<ServerState>>, request: Request) -> Response {
    let principal = match principal(&request) {
        Ok(principal) => principal,
        Err(fault) => return ErrorResponse::from(fault).into_response(),
    };
    let registry = shared.registry.clone();
    let render = move |_: &StopFlag| {
        let visible = match &principal.token_id {
            Some(_) => ScrapeScope::One(&principal.workspace),
            None => ScrapeScope::All,
        };
        registry.metrics().render(visible)
    };
    match in_time(&shared, WorkQueue::Read, render).await {
        Ok(text) => ([(CONTENT_TYPE, OPENMETRICS)], text).into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_texts_require_admin_scope() {
        let endpoints = endpoints();
        let scope = |id: &str| endpoints.iter().find(|endpoint| endpoint.id == id).unwrap().scope;
        for id in [
            "export_captures",
            "get_baseline",
            "publish_baseline",
            "try_settings",
            "start_run",
            "run_result",
        ] {
            assert_eq!(scope(id), Scope::Admin, "{id}");
        }
        for id in ["list_runs", "show_run", "list_jobs", "show_job", "job_result", "compare"] {
            assert_eq!(scope(id), Scope::Read, "{id}");
        }
        for id in ["start_job", "cancel_job", "cancel_run"] {
            assert_eq!(scope(id), Scope::Write, "{id}");
        }
    }
}
