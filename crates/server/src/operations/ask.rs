//! Questions: `search` and `query`, captured like every other caller's.

use gbrain_brain::Ask;
use gbrain_core::fault::Fault;
use gbrain_core::format::Answer;
use gbrain_core::format::ask::AskBody;
use gbrain_core::id::{PageKey, SourceId};
use gbrain_core::request::{Caller, Operation, Trust};

use crate::http::{Call, NoParameters, Reply};

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
    let settings = door.brain().settings()?;
    let request = body.request(operation, settings, Trust::Untrusted, call.now)?;
    let why_not = body.why_not.as_deref().map(|text| PageKey::parse(text, &SourceId::default()));
    let options = Ask {
        explain: body.explains(),
        why_not: why_not.transpose()?,
        rerank: None,
        progress: &|_, _| (),
    };
    let answered = door.answer(&request, &options, caller(call, body))?;
    let metrics = call.house.metrics().workspace(&call.who.workspace);
    metrics.served(&answered.served.timings, &answered.ranking.degraded);
    Reply::json(&Answer::new(&request, &answered.ranking, &answered.served))
}

/// Job and subagent as the body names them, else as the headers or the tool's metadata do.
fn caller(call: &Call<'_>, body: &AskBody) -> Caller {
    Caller {
        remote: true,
        job_id: body.job_id.or(call.caller.job_id),
        subagent_id: body.subagent_id.or(call.caller.subagent_id),
    }
}
