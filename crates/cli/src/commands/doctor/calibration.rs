//! How the threshold of the reranker stands.

use gbrain_core::calibrate::ThresholdStatus;
use gbrain_core::format::calibration::CalibrationOverviewBody;
use gbrain_eval::calibrate::calibration_status;
use gbrain_llm::ModelTask;
use gbrain_store::Store;

use super::finding::{DoctorCheck, unknown};
use crate::commands::CommandContext;
use crate::error::CliError;
use crate::model_access::{catalog, settings, unknown_provider};

const CHECK: &str = "rerank_calibration";

/// Checks that the threshold is of the reranker that judges, and not older than a quarter.
pub(super) fn check(context: &CommandContext<'_>, store: &Store) -> DoctorCheck {
    match inspect(context, store) {
        Err(error) => unknown(CHECK, error),
        Ok((_, Some(unknown))) => DoctorCheck::warn(CHECK, unknown)
            .remedy("gbrain config set models.rerank PROVIDER:MODEL"),
        Ok((body, None)) => {
            let message = body.state.in_words();
            let finding = match body.state.is_amiss() {
                false => DoctorCheck::ok(CHECK, message),
                true => DoctorCheck::warn(CHECK, message).remedy("gbrain calibrate score"),
            };
            let finding = finding.detail("state", body.state.name());
            match body.state {
                ThresholdStatus::NoReranker | ThresholdStatus::NoThreshold => finding,
                _ => finding
                    .detail("threshold", body.set_threshold)
                    .detail("of", body.set_for)
                    .detail("reranker", body.reranker),
            }
        }
    }
}

/// How it stands, and what is wrong with who is to judge.
fn inspect(
    context: &CommandContext<'_>,
    store: &Store,
) -> Result<(CalibrationOverviewBody, Option<String>), CliError> {
    let workspace = &context.home.workspace;
    let config = settings(store, workspace)?;
    let catalog = catalog(&context.home)?;
    let chosen = catalog.choose(ModelTask::Rerank, None, &config);
    let chosen = chosen.map_err(|error| CliError::config(error.to_string()))?;
    let unknown = chosen.as_ref().and_then(|(model, _)| unknown_provider(&catalog, model));
    let reranker = chosen.map(|(model, _)| model.to_string());
    let body =
        calibration_status(store, workspace, &config, reranker.as_deref(), None, context.now)?;
    Ok((body, unknown))
}
