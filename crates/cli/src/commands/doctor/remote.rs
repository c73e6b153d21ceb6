//! Checks over the network: whether the models and targets in the settings answer.
//!
//! One free request each, to addresses that the user gave; `--offline` asks none. A stage that an answer can do
//! without is a warning, a feature that can't work without it a failure.

use std::collections::BTreeMap;

use gbrain_core::doctor::DoctorStatus;
use gbrain_llm::{ModelCallError, ModelCatalog, ModelRef, ModelSource, ModelTask};
use gbrain_store::Store;
use serde_json::{Value, json};

use super::finding::{DoctorCheck, unknown};
use crate::commands::CommandContext;
use crate::error::CliError;
use crate::model_access::{catalog, settings};
use crate::models::{EmbedderChoice, configured_embedder};
use crate::targets::{ConfiguredTarget, all_targets, reach_target};

/// The remote embedder of this home, and what keeps it from answering.
pub(super) struct EmbedderState {
    pub(super) model: ModelRef,
    pub(super) problem: Option<ModelCallError>,
}

/// Asks the remote embedder for a sign of life; none if vectors are made on this machine.
pub(super) fn embedder(context: &CommandContext<'_>, offline: bool) -> Option<EmbedderState> {
    match configured_embedder(&context.home) {
        Ok(EmbedderChoice::Remote { model, catalog, .. }) => {
            let problem = if offline { None } else { catalog.reach(&model).err() };
            Some(EmbedderState { model, problem })
        }
        // A home that can't be read is another check's finding.
        _ => None,
    }
}

/// Checks the models that the settings name.
pub(super) fn check_models(
    context: &CommandContext<'_>,
    store: &Store,
    offline: bool,
) -> DoctorCheck {
    match named_models(context, store) {
        Err(error) => unknown("models", error),
        Ok((_, named)) if named.is_empty() => DoctorCheck::ok("models", "no setting names a model"),
        Ok((_, named)) if offline => {
            DoctorCheck::ok("models", format!("{} named, not asked (--offline)", named.len()))
        }
        Ok((catalog, named)) => asked(&catalog, &named),
    }
}

type NamedModels = BTreeMap<&'static str, (ModelTask, ModelRef)>;

fn named_models(
    context: &CommandContext<'_>,
    store: &Store,
) -> Result<(ModelCatalog, NamedModels), CliError> {
    let (catalog, settings) = (catalog(&context.home)?, settings(store, &context.home.workspace)?);
    let mut named = NamedModels::new();
    for task in ModelTask::ALL {
        let chosen = catalog.choose(task, None, &settings);
        let chosen = chosen.map_err(|error| {
            CliError::config(error.to_string()).hint(format!("gbrain config unset {}", task.key()))
        })?;
        if let Some((model, source)) = chosen
            && source != ModelSource::BuiltIn
        {
            named.insert(task.key(), (task, model));
        }
    }
    Ok((catalog, named))
}

/// Every model once, all at the same time: the check takes as long as the slowest.
fn asked(catalog: &ModelCatalog, named: &NamedModels) -> DoctorCheck {
    let mut models: Vec<&ModelRef> = named.values().map(|(_, model)| model).collect();
    models.sort();
    models.dedup();
    let problems: BTreeMap<&ModelRef, Option<ModelCallError>> = std::thread::scope(|scope| {
        let asked: Vec<_> = models
            .into_iter()
            .map(|model| (model, scope.spawn(move || catalog.reach(model).err())))
            .collect();
        let joined = asked.into_iter();
        joined.map(|(model, asked)| (model, asked.join().expect("asking does not panic"))).collect()
    });
    let problem = |model: &ModelRef| problems.get(model).and_then(Option::as_ref);
    let down =
        named.iter().filter_map(|(key, (task, model))| Some((*key, *task, model, problem(model)?)));
    let worst = down.clone().max_by_key(|(_, task, _, _)| task.outage_severity());
    let details: Vec<Value> = named
        .iter()
        .map(|(key, (_, model))| {
            let error = problem(model).map(|error| error.kind.name());
            json!({ "setting": key, "model": model.to_string(), "error": error })
        })
        .collect();
    let finding = match worst {
        None => DoctorCheck::ok("models", format!("{} named, all answer", named.len())),
        Some((key, task, model, error)) => {
            let count = down.count();
            let message =
                format!("{count} of {} do not answer; {key} = {model}: {error}", named.len());
            let finding = match task.outage_severity() {
                DoctorStatus::Fail => DoctorCheck::fail("models", message),
                _ => DoctorCheck::warn("models", message),
            };
            finding.remedy(format!("gbrain models; or gbrain config unset {key}"))
        }
    };
    finding.detail("models", details)
}

/// Checks the targets that have an address.
pub(super) fn check_targets(context: &CommandContext<'_>, offline: bool) -> DoctorCheck {
    let (all, problem) = all_targets(&context.home);
    if let Some(problem) = problem {
        return unknown("targets", problem);
    }
    let described: Vec<(&String, &ConfiguredTarget)> =
        all.iter().filter(|(_, one)| one.file.is_some()).collect();
    if described.is_empty() {
        return DoctorCheck::ok("targets", "none but the local brain");
    }
    let mut problems = Vec::new();
    for (name, ConfiguredTarget { target, .. }) in &described {
        match target {
            Err(error) => problems.push((name.as_str(), error.to_string())),
            Ok(_) if offline => {}
            Ok(target) => {
                let failed = reach_target(&context.home, target).err();
                problems.extend(failed.map(|error| (name.as_str(), error.to_string())));
            }
        }
    }
    let count = described.len();
    match problems.first() {
        Some((name, why)) => {
            let message = format!("{} of {count} can't be asked; `{name}`: {why}", problems.len());
            DoctorCheck::fail("targets", message).remedy(format!("gbrain targets check {name}"))
        }
        None if offline => {
            DoctorCheck::ok("targets", format!("{count} described, not asked (--offline)"))
        }
        None => DoctorCheck::ok("targets", format!("{count} described, all reachable")),
    }
}
