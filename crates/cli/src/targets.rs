//! Targets from the command line: the local brain, or one that config.json describes.

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::Args;
use gbrain_brain::{Assistants, BuiltInModels, IndexKind};
use gbrain_core::format::suite::SuiteFile;
use gbrain_core::format::target::{TargetSettingsError, read_target};
use gbrain_core::reading::suggest::nearest;
use gbrain_core::replay::Live;
use gbrain_core::target::{LOCAL, TargetError, TargetErrorKind, TargetSettings};
use gbrain_eval::retriever::{LocalOptions, LocalRetriever, Retriever, Surroundings, open, reach};
use gbrain_eval::suite::TargetRegistry;
use gbrain_store::{OpenMode, Store};

use crate::asking::{desk, interrupted, settings};
use crate::commands::Context;
use crate::commands::suites::SuiteSource;
use crate::error::CliError;
use crate::home::Home;

/// Whom to ask.
#[derive(Debug, Clone, Args)]
pub(crate) struct TargetArgs {
    /// Ask this target of config.json instead of the local brain: see `gbrain targets`.
    #[arg(long, value_name = "NAME", default_value = LOCAL, hide_default_value = true)]
    target: String,
}

impl TargetArgs {
    /// The target elsewhere that was named; none for the local brain.
    pub(crate) fn elsewhere(&self, home: &Home) -> Result<Option<TargetSettings>, CliError> {
        if self.is_local() {
            return Ok(None);
        }
        named(home, &self.target).map(Some)
    }

    /// Whether the local brain is asked.
    pub(crate) fn is_local(&self) -> bool {
        self.target == LOCAL
    }

    /// Refuses what only the local brain can do.
    pub(crate) fn refuse(&self, given: &[(bool, &str)]) -> Result<(), CliError> {
        match given.iter().find(|(is_given, _)| *is_given && !self.is_local()) {
            None => Ok(()),
            Some((_, flag)) => Err(CliError::usage(format!(
                "{flag} does not go with --target {}",
                self.target
            ))
            .hint(
                "a target elsewhere has one corpus, the one it has now, and settings of its own",
            )),
        }
    }
}

/// Where targets are looked up: in config.json, and in a file of suites as it is then.
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
                "nobody describes the target `{name}`, neither config.json nor the suites' file: `gbrain targets \
                 list` shows what there is, docs/targets.md how to describe one"
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

/// A target by its name.
pub(crate) fn named(home: &Home, name: &str) -> Result<TargetSettings, CliError> {
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
    let near = nearest(name, known).map(|near| format!("did you mean `{near}`? "));
    let near = near.unwrap_or_default();
    Err(CliError::usage(format!(
        "there is no target `{name}`, neither in {} nor in the file of suites",
        home.config_path().display()
    ))
    .hint(format!("{near}`gbrain targets list` shows what there is")))
}

/// A target that is described somewhere, or what is wrong with it.
pub(crate) struct Described {
    /// Where: a file.
    pub(crate) file: Option<String>,
    /// What it is.
    pub(crate) target: Result<TargetSettings, TargetSettingsError>,
}

/// Every target by name, and why the file of suites can't be read: what config.json describes goes before it.
pub(crate) fn all(home: &Home) -> (BTreeMap<String, Described>, Option<CliError>) {
    let source = SuiteSource::new(home, None);
    let described = |path: &std::path::Path, name: &String, value: &serde_json::Value| {
        let file = Some(path.display().to_string());
        (name.clone(), Described { file, target: read_target(name, value) })
    };
    let (file, problem) = match source.read() {
        Ok(file) => (file.unwrap_or_default(), None),
        Err(error) => (SuiteFile::default(), Some(error)),
    };
    let config = home.config_path();
    let local = Described { file: None, target: Ok(TargetSettings::local()) };
    let of_file = file.targets.iter().map(|(name, value)| described(source.path(), name, value));
    let of_home = home.targets.iter().map(|(name, value)| described(&config, name, value));
    (of_file.chain(of_home).chain([(LOCAL.to_owned(), local)]).collect(), problem)
}

/// What targets need of the world: paths begin at the home, interrupting stops them.
fn surroundings(home: &Home) -> Surroundings {
    let variables = home.variables.0;
    Surroundings {
        environment: Arc::new(move |name: &str| variables(name)),
        dir: home.dir.clone(),
        cancel: interrupted(),
    }
}

/// Whether a target's address answers.
pub(crate) fn reach_target(home: &Home, settings: &TargetSettings) -> Result<(), TargetError> {
    reach(settings, &surroundings(home))
}

/// Opens a remote target.
pub(crate) fn opened(
    context: &Context<'_>,
    settings: TargetSettings,
) -> Result<Box<dyn Retriever>, CliError> {
    Ok(open(settings, Live::at(context.now), &surroundings(&context.home))?)
}

/// Does something with a target, the local brain included.
pub(crate) fn with_target<T>(
    context: &Context<'_>,
    settings: TargetSettings,
    work: impl FnOnce(&dyn Retriever) -> T,
) -> Result<T, CliError> {
    if settings.name == LOCAL {
        return with_local(context, work);
    }
    Ok(work(opened(context, settings)?.as_ref()))
}

/// The local brain answers as it answers its owner, models included, and captures nothing.
fn with_local<T>(
    context: &Context<'_>,
    work: impl FnOnce(&dyn Retriever) -> T,
) -> Result<T, CliError> {
    context.home.create()?;
    let store = gbrain_store::Store::open(&context.home.location, OpenMode::Use, context.now)?;
    let store: Arc<Store> = store.into();
    let workspace = &context.home.workspace;
    let stored = settings(store.as_ref(), workspace)?;
    let (desk, allowed) = (desk(&context.home)?, BuiltInModels::Allowed);
    let helpers = Assistants::choose(&desk, &store, workspace, &stored, allowed)?;
    let brain = context.brain_in(store, IndexKind::Disk)?;
    let live = Live { settings: brain.settings()?, now: context.now };
    let options = LocalOptions { assistants: helpers.as_ref(), ..LocalOptions::new(live) };
    let indexing = context.terminal.indexing();
    Ok(work(&LocalRetriever::newest(&brain, options, &indexing)?))
}
