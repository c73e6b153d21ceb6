//! Calibration of the reranker: its state, its thresholds, and putting one in force. Answers
//! contain scores and numbers of pairs, no queries and no passages.

use gbrain_core::fault::Fault;
use gbrain_eval::calibrate::{calibration_status, deploy as put_in_force, history, threshold_info};
use gbrain_llm::ModelTask;
use schemars::JsonSchema;
use serde::Deserialize;

use super::bounds::within;
use crate::http::{NoParameters, OperationCall, Reply};

const DEFAULT_THRESHOLDS: u16 = 20;

/// Which threshold to show.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShowCalibration {
    /// The threshold whose scores are shown; the newest by default.
    #[serde(default)]
    #[schemars(range(min = 1))]
    threshold: Option<i64>,
}

/// How many thresholds to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListThresholds {
    /// The maximum number of thresholds; 20 by default.
    #[serde(default)]
    #[schemars(range(min = 1, max = 1000))]
    limit: Option<u16>,
}

/// A threshold to put in force.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "DeployThreshold")]
#[serde(deny_unknown_fields)]
pub(crate) struct ThresholdChoice {
    /// The number of the threshold.
    #[schemars(range(min = 1))]
    id: i64,
}

pub(crate) fn show(call: &OperationCall<'_>, input: ShowCalibration) -> Result<Reply, Fault> {
    let (store, ws) = (call.registry.store(), &call.principal.workspace);
    let config = store.config_list(ws)?.into_iter().collect();
    let reranker = reranker(call, &config)?;
    let shown = input.threshold;
    Reply::json(&calibration_status(store, ws, &config, reranker.as_deref(), shown, call.now)?)
}

pub(crate) fn list(call: &OperationCall<'_>, input: ListThresholds) -> Result<Reply, Fault> {
    within("limit", input.limit, 1..=1000)?;
    let limit = usize::from(input.limit.unwrap_or(DEFAULT_THRESHOLDS));
    Reply::json(&history(call.registry.store(), &call.principal.workspace, limit)?)
}

/// Puts a threshold in force whose trial passed. Obstacles can only be overridden with the command,
/// which records the reason.
pub(crate) fn deploy(
    call: &OperationCall<'_>,
    _: NoParameters,
    body: ThresholdChoice,
) -> Result<Reply, Fault> {
    let (store, ws) = (call.registry.store(), &call.principal.workspace);
    let config = store.config_list(ws)?.into_iter().collect();
    let reranker = reranker(call, &config)?;
    Reply::json(&threshold_info(&put_in_force(
        store,
        ws,
        body.id,
        reranker.as_deref(),
        None,
        call.now,
    )?))
}

/// The name of the configured reranker.
fn reranker(
    call: &OperationCall<'_>,
    config: &std::collections::BTreeMap<String, String>,
) -> Result<Option<String>, Fault> {
    let chosen = call.registry.suites().catalog.choose(ModelTask::Rerank, None, config);
    // The message may name the configuration of this server.
    let chosen =
        chosen.map_err(|_| Fault::config("the configured reranker is not available here"))?;
    Ok(chosen.map(|(model, _)| model.to_string()))
}
