//! Questions: `search` and `query`, captured like every other caller's.

use std::time::SystemTime;

use gbrain_brain::{Answered, Ask, Query, Requester};
use gbrain_core::fault::Fault;
use gbrain_core::format::Answer;
use gbrain_core::format::ask::AskBody;
use gbrain_core::request::{Caller, Operation, Request};

use super::pages::named;
use crate::http::{Call, NoParameters, Reply};
use crate::telemetry::traces::RetrievalSpan;

/// Finds pages by words.
pub(crate) fn search(call: &Call<'_>, _: NoParameters, body: AskBody) -> Result<Reply, Fault> {
    ask(call, Operation::Search, &body)
}

/// Runs the whole pipeline.
pub(crate) fn query(call: &Call<'_>, _: NoParameters, body: AskBody) -> Result<Reply, Fault> {
    ask(call, Operation::Query, &body)
}

fn ask(call: &Call<'_>, operation: Operation, body: &AskBody) -> Result<Reply, Fault> {
    let door = call.house.door(&call.who.workspace)?;
    let query = Query::new(door.brain(), operation, body, Requester::Remote, call.now)?;
    let why_not = body.why_not.as_deref().map(named);
    let options = Ask {
        why_not: why_not.transpose()?,
        request_id: Some(call.origin.request_id.as_str()).filter(|id| !id.is_empty()),
        is_stopped: &|| call.stop.is_stopped(),
        ..Ask::default()
    };
    let assistants = call.house.assistants(&call.who.workspace, &query.config);
    let started = SystemTime::now();
    let answered = query.answer(&door, assistants.as_deref(), caller(call, body), options);
    let answered = answered.map_err(Fault::from);
    observe(call, &query.request, started, answered.as_ref());
    let answered = answered?;
    Reply::json(&Answer::new(&answered.request, &answered.ranking, &answered.served))
}

/// Counts the stages, and tells whoever follows the request.
fn observe(
    call: &Call<'_>,
    request: &Request,
    started: SystemTime,
    answered: Result<&Answered, &Fault>,
) {
    if let Ok(answered) = answered {
        let metrics = call.house.metrics().workspace(&call.who.workspace);
        metrics.served(&answered.served.timings, &answered.ranking.degraded);
    }
    let tracer = call.house.tracer();
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
        workspace: &call.who.workspace,
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

/// Job and subagent as the body names them, else as the headers or the tool's metadata do.
fn caller(call: &Call<'_>, body: &AskBody) -> Caller {
    Caller {
        remote: true,
        job_id: body.job_id.or(call.caller.job_id),
        subagent_id: body.subagent_id.or(call.caller.subagent_id),
    }
}
