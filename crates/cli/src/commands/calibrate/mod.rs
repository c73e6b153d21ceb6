//! `gbrain calibrate`: the threshold of the reranker, from pairs that people judged to a setting that was tried.

mod collect;
mod deploy;
mod pairs;
mod score;
mod show;
mod verify;

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::{Args, Subcommand};
use gbrain_eval::calibrate::{CalibrateError, newest};
use gbrain_llm::{ModelCatalog, ModelRef, ModelTask};
use gbrain_store::Store;

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::model_access::{catalog, settings};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    gbrain calibrate collect --from pairs.jsonl --canonical\n  gbrain calibrate score\n  \
    gbrain calibrate show\n  gbrain calibrate verify\n  gbrain calibrate deploy\n\n\
    The threshold is the mean minus one standard deviation of the reranker's scores of 30 to 50 pairs \
    that reviewers marked barely relevant. It can be deployed only when a trial with it kept recall@5 at \
    95 % and low-scoring results were gone.")]
pub(crate) struct CalibrateArgs {
    #[command(subcommand)]
    command: CalibrateCommand,
}

#[derive(Debug, Subcommand)]
enum CalibrateCommand {
    /// Collect pairs: from feedback, from files, from canonical queries.
    Collect(collect::CollectArgs),
    /// Score the pairs with the reranker, and compute a threshold.
    Score(score::ScoreArgs),
    /// Show the state of the calibration and the quality of a threshold.
    Show(show::CalibrationShowArgs),
    /// Try a threshold on the canonical queries.
    Verify(verify::VerifyArgs),
    /// Deploy a threshold that passed its trial.
    Deploy(deploy::DeployArgs),
    /// List thresholds, newest first.
    History(show::CalibrationHistoryArgs),
    /// List pairs, or remove some.
    Pairs(pairs::PairsArgs),
}

/// Does what was asked.
pub(crate) fn run(context: &CommandContext<'_>, args: &CalibrateArgs) -> Result<Exit, CliError> {
    match &args.command {
        CalibrateCommand::Collect(args) => collect::run(context, args),
        CalibrateCommand::Score(args) => score::run(context, args),
        CalibrateCommand::Show(args) => show::show(context, args),
        CalibrateCommand::Verify(args) => verify::run(context, args),
        CalibrateCommand::Deploy(args) => deploy::run(context, args),
        CalibrateCommand::History(args) => show::history(context, args),
        CalibrateCommand::Pairs(args) => pairs::run(context, args),
    }
}

/// The context that all actions share.
struct CalibrationContext {
    store: Arc<Store>,
    config: BTreeMap<String, String>,
    catalog: ModelCatalog,
    model: Option<ModelRef>,
}

impl CalibrationContext {
    fn new(context: &CommandContext<'_>) -> Result<Self, CliError> {
        let store: Arc<Store> = context.store()?.into();
        let config = settings(store.as_ref(), &context.home.workspace)?;
        let catalog = catalog(&context.home)?;
        let chosen = catalog.choose(ModelTask::Rerank, None, &config);
        let chosen = chosen.map_err(|error| CliError::config(error.to_string()))?;
        Ok(Self { store, config, catalog, model: chosen.map(|(model, _)| model) })
    }

    /// The name of the reranker that is set.
    fn reranker(&self) -> Option<String> {
        self.model.as_ref().map(ToString::to_string)
    }

    /// The threshold that was typed, or the newest of the reranker that is set.
    fn threshold(&self, context: &CommandContext<'_>, typed: Option<i64>) -> Result<i64, CliError> {
        if let Some(id) = typed {
            return Ok(id);
        }
        let model = self.reranker().ok_or(CalibrateError::NoReranker)?;
        let found = newest(self.store.as_ref(), &context.home.workspace, &model)?;
        Ok(found.ok_or(CalibrateError::NoneYet(model))?.id)
    }
}

/// A reason as it is typed: something must be said.
fn reason(text: &str) -> Result<String, String> {
    let text = text.trim();
    let is_one = !text.is_empty() && text.len() <= 1000;
    if is_one { Ok(text.to_owned()) } else { Err("say why, in up to 1000 bytes".to_owned()) }
}
