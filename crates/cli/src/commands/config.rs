//! `gbrain config`: settings of the database plane.

use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use gbrain_brain::Brain;
use gbrain_core::config::{self, ConfigError, ConfigKey, KEYS};
use gbrain_core::reading::suggest::nearest;
use gbrain_core::search::{SOURCE_WEIGHT, Settings};
use gbrain_eval::calibrate::record_rerank_change;
use gbrain_llm::{ModelRef, ModelSettingError};
use serde_json::{Value, json};

use crate::commands::CommandContext;
use crate::error::{CliError, Exit};
use crate::home::{DATABASE_URL, FILE_KEYS, shown_value};
use crate::model_access::{PRICES, catalog};
use crate::terminal::table;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  gbrain config list\n  gbrain config set search.pool 60\n  \
    gbrain config set search.source_weight.journal 0.8\n  gbrain config unset search.pool\n  \
    gbrain config set autopilot.nightly_quality_probe.enabled true")]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// List every setting with its value, default and reason.
    List,
    /// Print the value of one setting.
    Get {
        /// Its key, such as search.pool.
        key: String,
    },
    /// Change the value of one setting.
    Set {
        /// The key of the setting.
        key: String,
        /// The value to set.
        value: String,
    },
    /// Go back to the default.
    Unset {
        /// The key of the setting.
        key: String,
    },
}

/// Reads or changes a setting.
pub(crate) fn run(context: &CommandContext<'_>, args: &ConfigArgs) -> Result<Exit, CliError> {
    match &args.command {
        ConfigCommand::List => list(context)?,
        ConfigCommand::Get { key } => get(context, key)?,
        ConfigCommand::Set { key, value } => {
            refuse_file_key(context, key, value)?;
            let key = config::renamed(key).unwrap_or(key);
            let value = checked(key, value)?;
            refuse_unusable_model(context, key, &value)?;
            let brain = context.brain()?;
            let before = brain.store().config_get(brain.workspace(), key)?;
            brain.store().config_set(brain.workspace(), key, &value)?;
            forget_old(&brain, key)?;
            if before.as_ref() != Some(&value) {
                tell_suites(context, &brain, key, &value)?;
            }
            say(context, key, Some(&value));
        }
        ConfigCommand::Unset { key } => {
            let key = config::renamed(key).unwrap_or(key);
            if config::find(key).is_none() {
                search_name(key)?;
            }
            let brain = context.brain()?;
            let was_set = brain.store().config_unset(brain.workspace(), key)?;
            let had_old = forget_old(&brain, key)?;
            if was_set {
                tell_suites(context, &brain, key, "none")?;
            }
            if !was_set && !had_old {
                context.terminal.remark(format!("{key} was not set"));
            }
            say(context, key, None);
        }
    }
    Ok(Exit::Pass)
}

/// Suites that wait for another reranker hear of it.
fn tell_suites(
    context: &CommandContext<'_>,
    brain: &Brain,
    key: &str,
    model: &str,
) -> Result<(), CliError> {
    match key == config::MODEL_RERANK {
        true => {
            Ok(record_rerank_change(brain.store(), brain.workspace(), model, "model", context.now)?)
        }
        false => Ok(()),
    }
}

/// Removes a value under the name that a key had; whether there was one.
fn forget_old(brain: &Brain, key: &str) -> Result<bool, CliError> {
    match key == config::RERANK_THRESHOLD {
        true => {
            let (store, workspace) = (brain.store(), brain.workspace());
            Ok(store.config_unset(workspace, config::OLD_RERANK_THRESHOLD)?)
        }
        false => Ok(false),
    }
}

/// A value as it is stored.
fn checked(key: &str, value: &str) -> Result<String, CliError> {
    if key.starts_with("search.") {
        let set = Settings::default().set(search_name(key)?, value);
        set.map_err(|error| CliError::config(error.to_string()))?;
        return Ok(value.trim().to_owned());
    }
    config::check(key, value).map_err(|error| match error {
        // A key that looks like a pipeline setting without its prefix gets that suggestion.
        ConfigError::Unknown { .. } => match search_name(key) {
            Err(of_search) if !key.contains('.') => of_search,
            _ => CliError::config(error.to_string()),
        },
        ConfigError::Value { .. } => CliError::config(error.to_string()),
    })
}

/// A model that can't be asked would be stored, and fail every later call.
fn refuse_unusable_model(
    context: &CommandContext<'_>,
    key: &str,
    value: &str,
) -> Result<(), CliError> {
    let model = value.parse::<ModelRef>().ok().filter(|_| key.starts_with("models."));
    let Some(model) = model else { return Ok(()) };
    let catalog = catalog(&context.home)?;
    let refused = |why: &ModelSettingError| CliError::config(format!("`{key}` is not set: {why}"));
    match catalog.check_setting(key, &model) {
        Ok(()) => {}
        Err(error @ ModelSettingError::Provider(_)) => {
            return Err(refused(&error).hint(
                "describe another one under `llm.providers` in config.json: docs/models.md",
            ));
        }
        Err(ModelSettingError::Price { model, line }) => {
            let file = context.home.dir.join(PRICES);
            let error = ModelSettingError::Price { model, line: line.clone() };
            let hint = format!("put its price into {}: {line}", file.display());
            return Err(refused(&error).hint(hint));
        }
        Err(error) => return Err(refused(&error).hint("`gbrain models` shows what can be asked")),
    }
    if let Some(error) = catalog.missing_key(&model) {
        context.terminal.remark(format!("{error}: until then `{key}` can't be used here"));
    }
    Ok(())
}

/// Refuses a setting that a process reads before it opens the database.
fn refuse_file_key(context: &CommandContext<'_>, key: &str, value: &str) -> Result<(), CliError> {
    if !FILE_KEYS.contains(&key) {
        return Ok(());
    }
    let value: Value = match key {
        DATABASE_URL => "<URL>".into(),
        _ => serde_json::from_str(value).unwrap_or_else(|_| value.into()),
    };
    let line = match key.split_once('.') {
        Some((outer, inner)) => format!("\"{outer}\": {{ \"{inner}\": {value} }}"),
        None => format!("\"{key}\": {value}"),
    };
    Err(CliError::config(format!(
        "`{key}` is read before a database is opened, by every process of this home: a value in the database would be stored and ignored"
    ))
    .hint(format!("put this line into {}: {line}", context.home.config_path().display())))
}

/// The setting's name behind `search.`; an unknown key is an error with a suggestion.
fn search_name(key: &str) -> Result<&str, CliError> {
    let name = key.strip_prefix("search.").unwrap_or(key);
    let known =
        Settings::ALL.iter().any(|info| info.name == name) || name.starts_with(SOURCE_WEIGHT);
    if known && key.starts_with("search.") {
        return Ok(name);
    }
    let error = CliError::config(format!("unknown key `{key}`"));
    let near = if known { vec![format!("search.{name}")] } else { near_keys(key) };
    Err(match near[..] {
        [] => error.hint("`gbrain config list` shows every key"),
        _ => error.hint(format!("did you mean `{}`?", near.join("` or `"))),
    })
}

/// Known keys that are similar to an unknown one: by its beginning, else by edit distance.
fn near_keys(key: &str) -> Vec<String> {
    let search = Settings::ALL.iter().map(|info| format!("search.{}", info.name));
    let others = KEYS.iter().map(|key| key.name.to_owned());
    let known: Vec<String> =
        search.chain(others).chain(FILE_KEYS.iter().map(|key| (*key).to_owned())).collect();
    let begins = |known: &&String| {
        key.len() >= 3
            && (known.starts_with(key) || known.split('.').any(|part| part.starts_with(key)))
    };
    let near: Vec<String> = known.iter().filter(begins).take(3).cloned().collect();
    if !near.is_empty() {
        return near;
    }
    let names =
        known.iter().flat_map(|name| [name.as_str(), name.strip_prefix("search.").unwrap_or(name)]);
    let found = nearest(key, names);
    let full = |found: &str| {
        known
            .iter()
            .find(|name| name.strip_prefix("search.").unwrap_or(name) == found || *name == found)
            .cloned()
    };
    found.and_then(full).into_iter().collect()
}

fn say(context: &CommandContext<'_>, key: &str, value: Option<&str>) {
    if context.terminal.is_json() {
        context.terminal.json(&json!({ "key": key, "value": value }));
    } else {
        context.terminal.line(format!("{key} = {}", value.unwrap_or("(default)")));
    }
}

fn get(context: &CommandContext<'_>, key: &str) -> Result<(), CliError> {
    if FILE_KEYS.contains(&key) {
        let value = context.home.file.get(key).map(|value| shown_value(key, value));
        say(
            context,
            key,
            value.map(|value| value.as_str().map_or(value.to_string(), str::to_owned)).as_deref(),
        );
        return Ok(());
    }
    let key = config::renamed(key).unwrap_or(key);
    if let Some(known) = config::find(key) {
        let brain = context.brain()?;
        let stored = |key: &str| brain.store().config_get(brain.workspace(), key);
        let value = match stored(key)? {
            None if key == config::RERANK_THRESHOLD => stored(config::OLD_RERANK_THRESHOLD)?,
            value => value,
        };
        let default = Some(known.default.to_owned()).filter(|default| !default.is_empty());
        say(context, key, value.or(default).as_deref());
        return Ok(());
    }
    let name = search_name(key)?;
    let settings = context.brain()?.settings()?;
    let value = match name.strip_prefix(SOURCE_WEIGHT) {
        Some(prefix) => settings.source_weights.get(prefix).copied(),
        None => {
            settings.values().into_iter().find(|(known, _)| *known == name).map(|(_, value)| value)
        }
    };
    say(context, key, value.map(|value| value.to_string()).as_deref());
    Ok(())
}

fn list(context: &CommandContext<'_>) -> Result<(), CliError> {
    let brain = context.brain()?;
    let settings = brain.settings()?;
    let values = settings.values();
    let rows: Vec<_> =
        Settings::ALL.iter().zip(values).map(|(info, (_, value))| (info, value)).collect();
    if context.terminal.is_json() {
        let settings_json: Vec<Value> = rows
            .iter()
            .map(|(info, value)| {
                json!({
                    "key": format!("search.{}", info.name), "value": value, "default": info.default,
                    "from": info.range.start(), "to": info.range.end(), "reason": info.reason,
                })
            })
            .collect();
        let others: Vec<Value> = others(&brain)?
            .into_iter()
            .map(|(key, value)| {
                json!({
                    "key": key.name, "value": value, "default": key.default, "reason": key.reason,
                })
            })
            .collect();
        context.terminal.json(&json!({
            "settings": settings_json, "others": others,
            "source_weights": settings.source_weights,
            "settings_hash": settings.hash(), "file": context.home.shown_file(),
        }));
        return Ok(());
    }
    context.terminal.out_paged(table(
        &["key", "value", "default", "why"],
        rows.iter().map(|(info, value)| {
            let key = format!("search.{}", info.name);
            vec![key, value.to_string(), info.default.to_string(), info.reason.to_owned()]
        }),
    ));
    let others = others(&brain)?;
    context.terminal.out_paged(table(
        &["key", "value", "default", "why"],
        others.into_iter().map(|(key, value)| {
            let value = value.unwrap_or_else(|| key.default.to_owned());
            vec![key.name.to_owned(), value, key.default.to_owned(), key.reason.to_owned()]
        }),
    ));
    print_rest(context, &brain, &settings)
}

/// Every setting that is no number of the pipeline, with what it was set to.
fn others(brain: &Brain) -> Result<Vec<(&'static ConfigKey, Option<String>)>, CliError> {
    let stored: BTreeMap<String, String> =
        brain.store().config_list(brain.workspace())?.into_iter().collect();
    Ok(KEYS.iter().map(|key| (key, stored.get(key.name).cloned())).collect())
}

fn print_rest(
    context: &CommandContext<'_>,
    brain: &Brain,
    settings: &Settings,
) -> Result<(), CliError> {
    for (prefix, weight) in &settings.source_weights {
        context.terminal.line(format!("search.{SOURCE_WEIGHT}{prefix} = {weight}"));
    }
    for (key, value) in &context.home.shown_file() {
        context.terminal.line(format!("{key} = {value} (config.json)"));
    }
    let unknown = brain.unknown_settings()?;
    for key in unknown {
        context.terminal.warn(format!("unknown setting `{key}` in the database is ignored"));
    }
    Ok(())
}
