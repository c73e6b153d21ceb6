//! How the threshold of the reranker stands.

use gbrain_core::calibrate::Standing;
use gbrain_core::format::calibration::StandingBody;
use gbrain_eval::calibrate::stand;
use gbrain_llm::Task;
use gbrain_store::Store;

use super::finding::{Finding, unknown};
use crate::asking::{desk, settings, unknown_provider};
use crate::commands::Context;
use crate::error::CliError;

const CHECK: &str = "rerank_calibration";

/// Checks that the threshold is of the reranker that judges, and not older than a quarter.
pub(super) fn check(context: &Context<'_>, store: &Store) -> Finding {
    match look(context, store) {
        Err(error) => unknown(CHECK, error),
        Ok((_, Some(unknown))) => {
            Finding::warn(CHECK, unknown).remedy("gbrain config set models.rerank PROVIDER:MODEL")
        }
        Ok((body, None)) => {
            let message = body.state.in_words();
            let finding = match body.state.is_amiss() {
                false => Finding::ok(CHECK, message),
                true => Finding::warn(CHECK, message).remedy("gbrain calibrate score"),
            };
            let finding = finding.detail("state", body.state.name());
            match body.state {
                Standing::NoReranker | Standing::NoThreshold => finding,
                _ => finding
                    .detail("threshold", body.set_threshold)
                    .detail("of", body.set_for)
                    .detail("reranker", body.reranker),
            }
        }
    }
}

/// How it stands, and what is wrong with who is to judge.
fn look(context: &Context<'_>, store: &Store) -> Result<(StandingBody, Option<String>), CliError> {
    let workspace = &context.home.workspace;
    let config = settings(store, workspace)?;
    let desk = desk(&context.home)?;
    let chosen = desk.choose(Task::Rerank, None, &config);
    let chosen = chosen.map_err(|error| CliError::config(error.to_string()))?;
    let unknown = chosen.as_ref().and_then(|(model, _)| unknown_provider(&desk, model));
    let reranker = chosen.map(|(model, _)| model.to_string());
    let body = stand(store, workspace, &config, reranker.as_deref(), None, context.now)?;
    Ok((body, unknown))
}
