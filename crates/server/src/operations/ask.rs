//! `search` and `query`, captured like the requests of every other caller.

use std::time::SystemTime;

use gbrain_brain::{Query, QueryOptions, QueryResponse, Requester};
use gbrain_core::fault::Fault;
use gbrain_core::format::Answer;
use gbrain_core::format::ask::AskBody;
use gbrain_core::request::{Caller, Operation, Request};

use super::pages::parse_page_name;
use crate::http::{NoParameters, OperationCall, Reply};
use crate::telemetry::traces::RetrievalSpan;

pub(crate) fn search(
    call: &OperationCall<'_>,
    _: NoParameters,
    body: AskBody,
) -> Result<Reply, Fault> {
    ask(call, Operation::Search, &body)
}

/// Runs the whole retrieval pipeline.
pub(crate) fn query(
    call: &OperationCall<'_>,
    _: NoParameters,
    body: AskBody,
) -> Result<Reply, Fault> {
    ask(call, Operation::Query, &body)
}

fn ask(call: &OperationCall<'_>, operation: Operation, body: &AskBody) -> Result<Reply, Fault> {
    let service = call.registry.query_service(&call.principal.workspace)?;
    let query = Query::new(service.brain(), operation, body, Requester::Remote, call.now)?;
    let why_not = body.why_not.as_deref().map(parse_page_name);
    let options = QueryOptions {
        why_not: why_not.transpose()?,
        request_id: Some(call.origin.request_id.as_str()).filter(|id| !id.is_empty()),
        is_stopped: &|| call.stop.is_stopped(),
        ..QueryOptions::default()
    };
    let assistants = call.registry.assistants(&call.principal.workspace, &query.config);
    let started = SystemTime::now();
    let answered = query.answer(&service, assistants.as_deref(), caller(call, body), options);
    let answered = answered.map_err(Fault::from);
    observe(call, &query.request, started, answered.as_ref());
    let answered = answered?;
    Reply::json(&Answer::new(&answered.request, &answered.ranking, &answered.served))
}

/// Records metrics and the trace span of a retrieval.
fn observe(
    call: &OperationCall<'_>,
    request: &Request,
    started: SystemTime,
    answered: Result<&QueryResponse, &Fault>,
) {
    if let Ok(answered) = answered {
        let metrics = call.registry.metrics().workspace(&call.principal.workspace);
        metrics.served(&answered.served.timings, &answered.ranking.degraded);
    }
    let tracer = call.registry.tracer();
    if !tracer.is_on() {
        return;
    }
    let hits: Vec<(String, f64)> = answered.map_or_else(
        |_| Vec::new(),
        |answered| {
            answered.ranking.hits.iter().map(|hit| (hit.key.to_string(), hit.score)).collect()
        },
    );
    tracer.retrieval(&RetrievalSpan {
        operation: request.operation.name(),
        workspace: &call.principal.workspace,
        started,
        finished: SystemTime::now(),
        parent: call.origin.traceparent.as_deref(),
        query: &request.query,
        top_k: request.limit,
        hits: &hits,
        stages: answered.map_or(&[], |answered| answered.served.timings.as_slice()),
        request_id: &call.origin.request_id,
        error: answered.err().map(|fault| fault.kind.name()),
    });
}

/// Job and subagent from the body, otherwise from the headers or the tool's metadata.
fn caller(call: &OperationCall<'_>, body: &AskBody) -> Caller {
    Caller {
        remote: true,
        job_id: body.job_id.or(call.caller.job_id),
        subagent_id: body.subagent_id.or(call.caller.subagent_id),
    }
}
