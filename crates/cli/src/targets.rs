//! Targets from the command line: the local brain, or one that config.json describes.

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::Args;
use gbrain_brain::IndexKind;
use gbrain_core::format::target::{TargetSettingsError, read_target};
use gbrain_core::request::Trust;
use gbrain_core::search::edit_distance;
use gbrain_core::target::{LOCAL, TargetError, TargetErrorKind, TargetSettings};
use gbrain_eval::suite::TargetBook;
use gbrain_eval::target::{Ask, LocalAsk, LocalOptions, Surroundings, open};
use gbrain_store::{OpenMode, Store};

use crate::asking::{Asks, assistants, desk, interrupted, settings};
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
pub(crate) fn target_book(home: &Home, source: SuiteSource) -> TargetBook {
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
                "nobody describes the target `{name}`, neither config.json nor the suites' file"
            ))
        })?;
        read_target(name, &value).map_err(|error| wrong(error.to_string()))
    };
    TargetBook {
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
    let described = match home.targets.get(name) {
        Some(value) => Some(value.clone()),
        None => {
            SuiteSource::new(home, None).read()?.and_then(|file| file.targets.get(name).cloned())
        }
    };
    match described {
        Some(value) => Ok(read_target(name, &value)?),
        None => {
            let known = home.targets.keys().map(String::as_str).chain([LOCAL]);
            let nearest = known.min_by_key(|known| edit_distance(known, name)).unwrap_or(LOCAL);
            Err(CliError::usage(format!(
                "there is no target `{name}` in {}",
                home.config_path().display()
            ))
            .hint(format!("did you mean `{nearest}`? `gbrain targets list` shows what there is")))
        }
    }
}

/// Every target, or what is wrong with it, by name.
pub(crate) fn all(home: &Home) -> BTreeMap<String, Result<TargetSettings, TargetSettingsError>> {
    let described =
        home.targets.iter().map(|(name, value)| (name.clone(), read_target(name, value)));
    described.chain([(LOCAL.to_owned(), Ok(TargetSettings::local()))]).collect()
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

/// A target elsewhere, ready to be asked.
pub(crate) fn opened(home: &Home, settings: TargetSettings) -> Result<Box<dyn Ask>, CliError> {
    Ok(open(settings, &surroundings(home))?)
}

/// Does something with a target, the local brain included.
pub(crate) fn with_target<T>(
    context: &Context<'_>,
    settings: TargetSettings,
    work: impl FnOnce(&dyn Ask) -> T,
) -> Result<T, CliError> {
    if settings.name == LOCAL {
        return with_local(context, work);
    }
    Ok(work(opened(&context.home, settings)?.as_ref()))
}

/// The local brain answers as it answers its owner, models included, and captures nothing.
fn with_local<T>(context: &Context<'_>, work: impl FnOnce(&dyn Ask) -> T) -> Result<T, CliError> {
    context.home.create()?;
    let store = gbrain_store::open(&context.home.location, OpenMode::Use, context.now)?;
    let store: Arc<dyn Store> = store.into();
    let workspace = &context.home.workspace;
    let stored = settings(store.as_ref(), workspace)?;
    let helpers = assistants(Asks::Owner, &desk(&context.home)?, &store, workspace, &stored)?;
    let brain = context.brain_in(store, IndexKind::Disk)?;
    let options = LocalOptions {
        settings: brain.settings()?,
        now: context.now,
        trust: Trust::Trusted,
        assistants: helpers.as_ref(),
    };
    let indexing = context.terminal.indexing();
    Ok(work(&LocalAsk::new(&brain, options, &indexing)?))
}
