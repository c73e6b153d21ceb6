//! `gbrain suites create`: a suite added to the file, and registered.

use clap::Args;
use gbrain_core::fault::FaultKind;
use gbrain_core::format::suite::{SampleEntry, SuiteEntry, TriggerEntry, with_suite};
use gbrain_core::suite::SuiteKind;
use gbrain_core::suite::due::EventKind;
use gbrain_eval::write_atomically;
use gbrain_store::Store;
use serde_json::json;

use super::SuiteSource;
use super::file::{ResolvedSuite, meant, tell_unknown_target, workspaces_of};
use crate::commands::CommandContext;
use crate::error::{CliError, Exit};

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    gbrain suites create --name post-ingest-regression --type regression --owner @storage-ops\n  \
    gbrain suites create --name weekly --type weekly_benchmark --owner ml --trigger 'cron:0 2 * * 0'\n  \
    gbrain suites create --from smoke\n\n\
    Omitted fields have the playbook's default for the type. The text of the file stays as it is; \
    the suite is added at the end of its list. With --from, a suite that the file describes already is \
    registered. It is off until `gbrain suites enable`.")]
pub(super) struct CreateArgs {
    /// Register a suite that the file describes.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["name", "kind", "owner"])]
    from: Option<String>,
    /// Its name: lower-case letters, digits and dashes.
    #[arg(long, value_name = "NAME", required_unless_present = "from")]
    name: Option<String>,
    /// smoke, regression, weekly_benchmark, source_specific, graph_qa or rerank_calibration.
    #[arg(long = "type", value_name = "TYPE", value_parser = kind, required_unless_present = "from")]
    kind: Option<SuiteKind>,
    /// The target [default: local].
    #[arg(long, value_name = "NAME")]
    target: Option<String>,
    /// An owner; may be given again.
    #[arg(long, value_name = "WHO", required_unless_present = "from")]
    owner: Vec<String>,
    /// manual, ci, event:KIND, cron:SCHEDULE or interval:TIME; may be given again.
    #[arg(long, value_name = "TRIGGER", value_parser = trigger)]
    trigger: Vec<TriggerEntry>,
    /// How many queries in all.
    #[arg(long, value_name = "N", conflicts_with = "per_source")]
    sample: Option<usize>,
    /// How many queries of each source.
    #[arg(long, value_name = "N")]
    per_source: Option<usize>,
    /// How long it may take: 10m.
    #[arg(long, value_name = "DUR")]
    max_duration: Option<String>,
    /// For every workspace, not only for this one.
    #[arg(long)]
    every_workspace: bool,
}

fn kind(text: &str) -> Result<SuiteKind, String> {
    let names = || SuiteKind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
    SuiteKind::from_name(text).ok_or_else(|| format!("there are {}", names()))
}

fn trigger(text: &str) -> Result<TriggerEntry, String> {
    let (name, value) = text.split_once(':').unwrap_or((text, ""));
    match name {
        "manual" => Ok(TriggerEntry::Manual),
        "ci" => Ok(TriggerEntry::Ci),
        "cron" => Ok(TriggerEntry::Cron(value.to_owned())),
        "interval" => Ok(TriggerEntry::Interval(value.to_owned())),
        "event" => {
            let names =
                || EventKind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
            let kind = EventKind::from_name(value);
            kind.map(TriggerEntry::Event).ok_or_else(|| format!("events are {}", names()))
        }
        _ => Err("manual, ci, event:KIND, cron:SCHEDULE or interval:TIME".to_owned()),
    }
}

impl CreateArgs {
    fn entry(&self, context: &CommandContext<'_>) -> Option<SuiteEntry> {
        let workspace = match self.every_workspace {
            true => "*".to_owned(),
            false => context.home.workspace.to_string(),
        };
        let sample = match (self.sample, self.per_source) {
            (None, None) => None,
            (total, per_source) => Some(SampleEntry { total, per_source, sources: Vec::new() }),
        };
        Some(SuiteEntry {
            name: self.name.clone()?,
            kind: self.kind?,
            workspace: Some(workspace),
            target: self.target.clone(),
            triggers: (!self.trigger.is_empty()).then(|| self.trigger.clone()),
            owners: self.owner.clone(),
            sample,
            seed: None,
            max_duration: self.max_duration.clone(),
            k: None,
            concurrency: None,
            debounce: None,
            thresholds: None,
            alerts: None,
            drops: None,
        })
    }
}

pub(super) fn run(
    context: &CommandContext<'_>,
    args: &CreateArgs,
    source: &SuiteSource,
) -> Result<Exit, CliError> {
    let store = context.store()?;
    if let Some(entry) = args.entry(context) {
        let text = source.text()?.unwrap_or_default();
        let added = with_suite(&text, &entry).map_err(|error| {
            CliError::new(FaultKind::Input, format!("{}: {error}", source.path.display()))
        })?;
        write_atomically(&source.path, added.as_bytes())?;
    }
    let name = args.from.as_ref().or(args.name.as_ref()).cloned().unwrap_or_default();
    let file = source.read()?;
    let meant = meant(context, &store, file.as_ref(), &name)?;
    let workspaces = register(context, &store, file.as_ref(), &meant)?;
    tell_unknown_target(context, file.as_ref(), &meant);
    let path = source.path.display().to_string();
    if context.terminal.is_json() {
        context.terminal.json(
            &json!({ "suite": name, "file": path, "workspaces": workspaces, "enabled": false }),
        );
    } else {
        context.terminal.line(format!("{name}: in {path}, registered and off"));
        context.terminal.remark(format!(
            "try it with `gbrain suites run {name}`; let its triggers fire with `gbrain suites enable {name}`"
        ));
    }
    Ok(Exit::Pass)
}

/// Keeps a suite in the store, in every workspace that it is for; their names.
pub(super) fn register(
    context: &CommandContext<'_>,
    store: &Store,
    file: Option<&gbrain_core::format::suite::SuiteFile>,
    meant: &ResolvedSuite,
) -> Result<Vec<String>, CliError> {
    let mut names = Vec::new();
    for workspace in workspaces_of(store, meant)? {
        let described = file.and_then(|file| {
            let entry = file.find(&meant.entry.name, workspace.as_str())?;
            Some(file.standing(entry, workspace.as_str()))
        });
        let entry = described.unwrap_or_else(|| meant.entry.clone());
        entry.suite().map_err(|error| CliError::config(error.to_string()))?;
        let spec = serde_json::to_string(&entry).expect("our values have text keys only");
        store.put_suite(&workspace, &entry.name, &spec, context.now)?;
        names.push(workspace.to_string());
    }
    Ok(names)
}
