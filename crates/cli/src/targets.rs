//! Targets of the command line: the local brain, or one that config.json or the suites file configures.

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::Args;
use gbrain_brain::{Assistants, BuiltInModels, IndexKind};
use gbrain_core::format::suite::SuiteFile;
use gbrain_core::format::target::{TargetSettingsError, read_target};
use gbrain_core::reading::suggest::nearest;
use gbrain_core::replay::LiveContext;
use gbrain_core::target::{LOCAL, TargetError, TargetErrorKind, TargetSettings};
use gbrain_eval::retriever::{
    LocalOptions, LocalRetriever, Retriever, TargetEnvironment, open, reach,
};
use gbrain_eval::suite::TargetRegistry;
use gbrain_store::{OpenMode, Store};

use crate::commands::CommandContext;
use crate::commands::suites::SuiteSource;
use crate::error::CliError;
use crate::home::Home;
use crate::model_access::{catalog, interrupted, settings};

/// The flag that selects a target.
#[derive(Debug, Clone, Args)]
pub(crate) struct TargetArgs {
    /// Query this configured target instead of the local brain (see `gbrain targets`) [default: local].
    #[arg(long, value_name = "NAME", default_value = LOCAL, hide_default_value = true)]
    target: String,
}

impl TargetArgs {
    /// The settings of the named target; `None` for the local brain.
    pub(crate) fn remote(&self, home: &Home) -> Result<Option<TargetSettings>, CliError> {
        if self.is_local() {
            return Ok(None);
        }
        find_target(home, &self.target).map(Some)
    }

    pub(crate) fn is_local(&self) -> bool {
        self.target == LOCAL
    }

    /// Refuses flags that need the local brain if another target is named.
    pub(crate) fn refuse(&self, given: &[(bool, &str)]) -> Result<(), CliError> {
        match given.iter().find(|(is_given, _)| *is_given && !self.is_local()) {
            None => Ok(()),
            Some((_, flag)) => Err(CliError::usage(format!(
                "{flag} can't be combined with --target {}",
                self.target
            ))
            .hint("a remote target has only its current corpus and its own settings")),
        }
    }
}

/// Looks targets up in config.json and in the suites file, which is read again at each lookup.
pub(crate) fn target_registry(home: &Home, source: SuiteSource) -> TargetRegistry {
    let (known, variables) = (home.targets.clone(), home.variables.0);
    let find = move |name: &str| {
        let wrong = |message: String| TargetError::new(TargetErrorKind::BadRequest, message);
        let described = match known.get(name) {
            Some(value) => Some(value.clone()),
            None => {
                let file = source.read().map_err(|error| wrong(error.message))?;
                file.and_then(|file| file.targets.get(name).cloned())
            }
        };
        let value = described.ok_or_else(|| {
            wrong(format!(
                "unknown target `{name}`: add it to `targets` in config.json or in the suites file (docs/targets.md); \
                 `gbrain targets list` shows the configured ones"
            ))
        })?;
        read_target(name, &value).map_err(|error| wrong(error.to_string()))
    };
    TargetRegistry {
        find: Arc::new(find),
        environment: Arc::new(move |name: &str| variables(name)),
        dir: home.dir.clone(),
    }
}

/// Finds a target by name; an unknown name is an error that lists the known ones.
pub(crate) fn find_target(home: &Home, name: &str) -> Result<TargetSettings, CliError> {
    if name == LOCAL {
        return Ok(TargetSettings::local());
    }
    let file = match home.targets.contains_key(name) {
        true => None,
        false => SuiteSource::new(home, None).read()?,
    };
    let of_file = file.map(|file| file.targets).unwrap_or_default();
    if let Some(value) = home.targets.get(name).or_else(|| of_file.get(name)) {
        return Ok(read_target(name, value)?);
    }
    let known = home.targets.keys().chain(of_file.keys()).map(String::as_str).chain([LOCAL]);
    let known: Vec<&str> = known.collect();
    let near = nearest(name, known.iter().copied()).map(|near| format!("did you mean `{near}`? "));
    let near = near.unwrap_or_default();
    Err(CliError::usage(format!(
        "unknown target `{name}`: it is neither in {} nor in the suites file",
        home.config_path().display()
    ))
    .hint(format!(
        "{near}the targets are {}; `gbrain targets --help` shows how to add one",
        known.join(", ")
    )))
}

/// A configured target, or the error in its configuration.
pub(crate) struct ConfiguredTarget {
    /// The file that configures it; `None` for the local brain.
    pub(crate) file: Option<String>,
    pub(crate) target: Result<TargetSettings, TargetSettingsError>,
}

/// Every target by name, and the error if the suites file can't be read. config.json wins over the suites
/// file.
pub(crate) fn all_targets(home: &Home) -> (BTreeMap<String, ConfiguredTarget>, Option<CliError>) {
    let source = SuiteSource::new(home, None);
    let described = |path: &std::path::Path, name: &String, value: &serde_json::Value| {
        let file = Some(path.display().to_string());
        (name.clone(), ConfiguredTarget { file, target: read_target(name, value) })
    };
    let (file, problem) = match source.read() {
        Ok(file) => (file.unwrap_or_default(), None),
        Err(error) => (SuiteFile::default(), Some(error)),
    };
    let config = home.config_path();
    let local = ConfiguredTarget { file: None, target: Ok(TargetSettings::local()) };
    let of_file = file.targets.iter().map(|(name, value)| described(source.path(), name, value));
    let of_home = home.targets.iter().map(|(name, value)| described(&config, name, value));
    (of_file.chain(of_home).chain([(LOCAL.to_owned(), local)]).collect(), problem)
}

/// The environment of targets: paths are relative to the home, an interrupt stops them.
fn target_environment(home: &Home) -> TargetEnvironment {
    let variables = home.variables.0;
    TargetEnvironment {
        lookup: Arc::new(move |name: &str| variables(name)),
        dir: home.dir.clone(),
        cancel: interrupted(),
    }
}

/// Checks that a target's address answers.
pub(crate) fn reach_target(home: &Home, settings: &TargetSettings) -> Result<(), TargetError> {
    reach(settings, &target_environment(home))
}

/// Opens a remote target.
pub(crate) fn open_target(
    context: &CommandContext<'_>,
    settings: TargetSettings,
) -> Result<Box<dyn Retriever>, CliError> {
    Ok(open(settings, LiveContext::at(context.now), &target_environment(&context.home))?)
}

/// Opens a target, which may be the local brain, and runs a function on it.
pub(crate) fn with_target<T>(
    context: &CommandContext<'_>,
    settings: TargetSettings,
    work: impl FnOnce(&dyn Retriever) -> T,
) -> Result<T, CliError> {
    if settings.name == LOCAL {
        return with_local(context, work);
    }
    Ok(work(open_target(context, settings)?.as_ref()))
}

/// Queries the local brain as its owner, with its models, without capturing.
fn with_local<T>(
    context: &CommandContext<'_>,
    work: impl FnOnce(&dyn Retriever) -> T,
) -> Result<T, CliError> {
    context.home.create()?;
    let store = gbrain_store::Store::open(&context.home.location, OpenMode::Use, context.now)?;
    let store: Arc<Store> = store.into();
    let workspace = &context.home.workspace;
    let stored = settings(store.as_ref(), workspace)?;
    let (catalog, allowed) = (catalog(&context.home)?, BuiltInModels::Allowed);
    let helpers = Assistants::choose(&catalog, &store, workspace, &stored, allowed)?;
    let brain = context.brain_in(store, IndexKind::Disk)?;
    let live = LiveContext { settings: brain.settings()?, now: context.now };
    let options = LocalOptions { assistants: helpers.as_ref(), ..LocalOptions::new(live) };
    let indexing = context.terminal.indexing();
    Ok(work(&LocalRetriever::newest(&brain, options, &indexing)?))
}
