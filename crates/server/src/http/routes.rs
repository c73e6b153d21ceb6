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

use super::endpoint::{Content, Endpoint, NoParameters, SchemaOf, endpoint};
use super::openapi::Aside;
use super::reply::{NDJSON, Refusal};
use super::{Shared, in_time, visitor};
use crate::lanes::{Lane, StopFlag};
use crate::operations::{
    alerts, ask, captures, compare, contradictions, documents, feedback, incidents, jobs, labels,
    pages, probe, sources, status, suites,
};
use crate::telemetry::metrics::{CONTENT_TYPE as OPENMETRICS, Visible};

const TEXT: &str = "text/plain; charset=utf-8";

/// Every endpoint of the document.
#[rustfmt::skip]
pub(super) fn endpoints() -> Vec<Endpoint> {
    const GET: Method = Method::GET;
    const PUT: Method = Method::PUT;
    const POST: Method = Method::POST;
    const DELETE: Method = Method::DELETE;
    let asks = |draft: super::endpoint::Draft| draft.scope(Scope::Read).lane(Lane::Read);
    vec![
        asks(endpoint::<Answer<'_>>(POST, "/v1/search", "search", "Find pages by words.")).takes(ask::search),
        asks(endpoint::<Answer<'_>>(POST, "/v1/query", "query", "Ask: words, meaning, names and links together.")).takes(ask::query),

        endpoint::<wire::PagesBody<'_>>(GET, "/v1/pages", "list_pages", "List pages.").asks(pages::list),
        endpoint::<PageBody<'_>>(GET, "/v1/pages/{page}", "get_page", "Read a page.").asks(pages::get),
        endpoint::<wire::PutBody<'_>>(PUT, "/v1/pages/{page}", "put_page", "Write a page.").takes(pages::put),
        endpoint::<wire::DeleteBody<'_>>(DELETE, "/v1/pages/{page}", "delete_page", "Delete a page; its history stays.").asks(pages::delete),
        endpoint::<wire::RestoreBody<'_>>(POST, "/v1/pages/{page}/restore", "restore_page", "Bring a deleted page back.").asks(pages::restore),
        endpoint::<wire::HistoryBody<'_>>(GET, "/v1/pages/{page}/history", "page_history", "List the versions of a page.").asks(pages::history),
        endpoint::<wire::LinksBody<'_>>(GET, "/v1/pages/{page}/links", "links", "Show the edges of a page, with their evidence.").asks(pages::links),

        endpoint::<wire::SourcesBody<'_>>(GET, "/v1/sources", "list_sources", "List the sources.").asks(sources::list),
        endpoint::<wire::SourceChanged<'_>>(POST, "/v1/sources", "add_source", "Add a source, or change whether it is trusted.").scope(Scope::Admin).takes(sources::add),

        endpoint::<Value>(GET, "/v1/captures", "export_captures", "Stream what was captured over the wire, newest first.").scope(Scope::Admin).gives_text(NDJSON).asks(captures::export),
        endpoint::<PruneBody>(DELETE, "/v1/captures", "prune_captures", "Erase old captures.").scope(Scope::Admin).asks(captures::prune),
        endpoint::<serving::EvalStatusBody>(GET, "/v1/eval/status", "eval_status", "How captures and measurements stand.").asks(status::status),
        endpoint::<format::contradiction::FoundContradictions>(GET, "/v1/contradictions", "find_contradictions", "List what the last probe for contradictions found.").asks(contradictions::find),
        endpoint::<format::probe::ProbeHistory>(GET, "/v1/probe", "probe_history", "List past runs of the nightly quality probe, newest first.").asks(probe::list),

        endpoint::<format::suite::SuitesBody>(GET, "/v1/suites", "list_suites", "List suites with their last runs.").asks(suites::list),
        endpoint::<format::suite::SuiteRunsBody>(GET, "/v1/suites/{name}/runs", "suite_history", "List the runs of a suite, newest first.").asks(suites::runs),
        endpoint::<format::suite::RecordedSuiteRun>(GET, "/v1/suite-runs/{id}", "show_suite_run", "Show a run of a suite: verdict, measures, cases.").asks(suites::show),
        endpoint::<format::triage::TriageBody>(GET, "/v1/suite-runs/{id}/triage", "triage_suite_run", "Say why a run of a suite failed, case by case.").scope(Scope::Admin).asks(incidents::triage),
        endpoint::<format::incident::IncidentsBody>(GET, "/v1/incidents", "list_incidents", "List incidents with their records, newest first.").scope(Scope::Admin).asks(incidents::list),
        endpoint::<format::suite::EventBody>(POST, "/v1/events", "tell_event", "Tell of something that suites wait for.").takes(suites::tell),

        endpoint::<format::feedback::FeedbackBody>(POST, "/v1/feedback", "give_feedback", "Say something of an answer: a vote, a comment, a result that is barely relevant.").takes(feedback::give),
        endpoint::<format::alert::AlertsBody>(GET, "/v1/alerts", "list_alerts", "List alerts, those that fire first, with silences and messages on their way.").asks(alerts::list),

        endpoint::<documents::DocumentsBody>(GET, "/v1/baselines", "list_baselines", "List the stored baselines.").scope(Scope::Admin).asks(documents::list_baselines),
        endpoint::<Value>(GET, "/v1/baselines/{name}", "get_baseline", "Read a baseline, one row a line.").scope(Scope::Admin).gives_text(NDJSON).asks(documents::get_baseline),
        endpoint::<PublishBody<'_>>(PUT, "/v1/baselines/{name}", "publish_baseline", "Freeze what was captured over the wire.").scope(Scope::Admin).takes(documents::publish_baseline),
        endpoint::<serving::DocumentOutcomeBody>(DELETE, "/v1/baselines/{name}", "delete_baseline", "Remove a baseline.").scope(Scope::Admin).asks(documents::delete_baseline),

        endpoint::<documents::DocumentsBody>(GET, "/v1/qrels", "list_qrels", "List the stored judgements.").asks(documents::list_qrels),
        endpoint::<Value>(GET, "/v1/qrels/{name}", "get_qrels", "Read judgements as they were stored.").gives_text(TEXT).asks(documents::get_qrels),
        endpoint::<serving::QrelsStoredBody>(PUT, "/v1/qrels/{name}", "put_qrels", "Store judgements of any shape.").reading_cost(documents::QRELS_COST).takes_text(TEXT, documents::put_qrels),
        endpoint::<serving::DocumentOutcomeBody>(DELETE, "/v1/qrels/{name}", "delete_qrels", "Remove judgements.").asks(documents::delete_qrels),

        endpoint::<labels::LabelsBody>(GET, "/v1/labels", "list_labels", "List labels.").asks(labels::list),
        endpoint::<serving::LabelledBody>(POST, "/v1/labels", "add_labels", "Label pages as answers to queries.").takes(labels::add),
        endpoint::<serving::LabelRemovedBody>(DELETE, "/v1/labels/{id}", "remove_label", "Remove a label.").asks(labels::remove),
        endpoint::<Value>(GET, "/v1/labels/qrels", "labels_as_qrels", "All labels as qrels.").asks(labels::qrels),

        endpoint::<serving::QueuedBody>(POST, "/v1/runs", "start_run", "Start a replay or a gate.").scope(Scope::Admin).accepted().takes(jobs::start_run),
        endpoint::<serving::JobsBody>(GET, "/v1/runs", "list_runs", "List replays and gates, newest first.").asks(jobs::list_runs),
        endpoint::<serving::JobBody>(GET, "/v1/runs/{id}", "show_run", "Show a run.").asks(jobs::show_run),
        endpoint::<Value>(GET, "/v1/runs/{id}/result", "run_result", "What came of a run: the report that the command prints, with what was asked.").scope(Scope::Admin).asks(jobs::run_result),
        endpoint::<serving::CancelledBody>(POST, "/v1/runs/{id}/cancel", "cancel_run", "Cancel a run.").asks(jobs::cancel_run),
        endpoint::<CompareReport<'_>>(POST, "/v1/compare", "compare", "Compare results, query by query. Those of runs are for admin.").scope(Scope::Read).lane(Lane::Read).reading_cost(compare::BODY_COST).takes(compare::compare),

        endpoint::<serving::QueuedBody>(POST, "/v1/jobs", "start_job", "Start an import of pages, or make the index again.").accepted().takes(jobs::start_job),
        endpoint::<serving::JobsBody>(GET, "/v1/jobs", "list_jobs", "List jobs, newest first.").asks(jobs::list_jobs),
        endpoint::<serving::JobBody>(GET, "/v1/jobs/{id}", "show_job", "Show a job.").asks(jobs::show_job),
        endpoint::<Value>(GET, "/v1/jobs/{id}/result", "job_result", "What came of a job.").asks(jobs::job_result),
        endpoint::<serving::CancelledBody>(POST, "/v1/jobs/{id}/cancel", "cancel_job", "Cancel a job.").asks(jobs::cancel_job),
    ]
}

/// What is answered beside the endpoints.
#[rustfmt::skip]
pub(super) fn asides() -> Vec<Aside> {
    let (health, none): (Content, SchemaOf) = (
        Content::Json(|generator| generator.subschema_for::<HealthBody>()),
        |generator| NoParameters::json_schema(generator),
    );
    let number: SchemaOf = |generator| jobs::JobNumber::json_schema(generator);
    let document = Content::Json(|_| schemars::json_schema!({ "type": "object" }));
    let aside = |path, id, summary, scope, parameters, gives| Aside { path, id, summary, scope, parameters, gives };
    vec![
        aside("/v1/runs/{id}/events", "run_events", "Follow a run: its state whenever it changed, until it is over.", Some(Scope::Read), number, Content::Events),
        aside("/v1/jobs/{id}/events", "job_events", "Follow a job: its state whenever it changed, until it is over.", Some(Scope::Read), number, Content::Events),
        aside("/v1/health", "health", "Whether the process lives.", None, none, health),
        aside("/v1/ready", "ready", "Whether it can answer.", None, none, health),
        aside("/v1/openapi.json", "openapi", "This document.", None, none, document),
        aside("/metrics", "metrics", "The numbers of the process and of the workspace.", Some(Scope::Read), none, Content::Text(OPENMETRICS)),
    ]
}

/// Whether the process lives.
pub(super) async fn health(State(shared): State<Arc<Shared>>) -> Response {
    body_of_health(&shared).into_response()
}

/// Whether it can answer: the store is there, the indexes that are open can follow it, and it is not about to end.
pub(super) async fn ready(State(shared): State<Arc<Shared>>) -> Response {
    if shared.is_stopping() {
        return Refusal::from(Fault::unavailable("the server is stopping")).into_response();
    }
    match can_answer(&shared).await {
        Ok(()) => body_of_health(&shared).into_response(),
        Err(why) => Refusal::from(Fault::unavailable(why)).into_response(),
    }
}

/// Looks at the database and the indexes at most once a second, however often somebody wants to know, and beside the
/// lanes: a busy server is ready.
async fn can_answer(shared: &Shared) -> Result<(), &'static str> {
    const UNREACHABLE: &str = "the database can't be reached";
    const BELIEVED: Duration = Duration::from_secs(1);
    let mut last = shared.readiness.lock().await;
    if let Some((at, known)) = *last
        && at.elapsed() < BELIEVED
    {
        return known;
    }
    let house = shared.house.clone();
    let look = tokio::task::spawn_blocking(move || match house.store().clock() {
        Err(error) => {
            tracing::warn!(%error, "not ready: the database can't be used");
            let is_gone = matches!(error, StoreError::FileGone { .. });
            Err(if is_gone { "the database file was removed or replaced" } else { UNREACHABLE })
        }
        Ok(_) if house.has_index_problem() => Err("an index can't be made or can't be written"),
        Ok(_) => Ok(()),
    });
    let looked = tokio::time::timeout(shared.bounds.patience, look).await;
    let known = looked.map_err(|_| UNREACHABLE).and_then(|looked| looked.map_err(|_| UNREACHABLE));
    let known = known.flatten();
    *last = Some((Instant::now(), known));
    known
}

fn body_of_health(shared: &Shared) -> axum::Json<HealthBody> {
    let status = if shared.is_stopping() { "stopping" } else { "ok" };
    axum::Json(HealthBody { status, version: env!("CARGO_PKG_VERSION").to_owned() })
}

/// The numbers of the process, and of the workspace that the scraper was let into.
pub(super) async fn metrics(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let who = match visitor(&request) {
        Ok(who) => who,
        Err(fault) => return Refusal::from(fault).into_response(),
    };
    let house = shared.house.clone();
    let render = move |_: &StopFlag| {
        let visible = match &who.token_id {
            Some(_) => Visible::One(&who.workspace),
            None => Visible::All,
        };
        house.metrics().render(visible)
    };
    match in_time(&shared, Lane::Read, render).await {
        Ok(text) => ([(CONTENT_TYPE, OPENMETRICS)], text).into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_is_for_admin() {
        let endpoints = endpoints();
        let scope = |id: &str| endpoints.iter().find(|endpoint| endpoint.id == id).unwrap().scope;
        for id in ["export_captures", "get_baseline", "publish_baseline", "start_run", "run_result"]
        {
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
