//! What must hold for settings: `config.json` by its parts, and `suites.yaml`.

use std::collections::{BTreeMap, BTreeSet};

use gbrain_brain::search_settings;
use gbrain_core::alert::channel::channel;
use gbrain_core::format::suite::{SuiteFile, check, with_suite};
use gbrain_core::format::target::read_target;
use gbrain_core::suite::Suite;
use gbrain_core::suite::cron::Cron;
use gbrain_core::suite::due::Trigger;
use gbrain_core::target::template::TemplateValues;
use gbrain_core::target::{Question, TargetKind, TargetSettings};
use gbrain_llm::Providers;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::promises::{Broken, SECRET, check_words, require};

/// Parts of `config.json`: a refusal names the entry, and no password is told or shown.
pub(super) fn check_settings(bytes: &[u8]) -> Result<(), Broken> {
    let Ok(Value::Object(config)) = serde_json::from_slice(bytes) else { return Ok(()) };
    let part = |name: &str| config.get(name).and_then(Value::as_object);
    for (name, value) in part("targets").into_iter().flatten() {
        match read_target(name, value) {
            Ok(target) => check_target(&target)?,
            Err(error) => named(&error.to_string(), name)?,
        }
    }
    for (name, value) in part("channels").into_iter().flatten() {
        match channel(name, value) {
            Ok(channel) => {
                let known = ["pagerduty", "slack", "webhook", "email"].contains(&channel.kind());
                require(known, || format!("{channel:?}"))?;
                let variables = channel.variables();
                require(variables.iter().all(|name| !name.is_empty()), || format!("{channel:?}"))?;
            }
            Err(error) => named(&error.to_string(), name)?,
        }
    }
    if let Some(providers) = part("providers") {
        check_providers(providers)?;
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let flat: BTreeMap<String, String> =
        config.iter().map(|(key, value)| (key.clone(), text(value))).collect();
    match search_settings(&flat) {
        Ok(settings) => {
            let finite = settings.values().iter().all(|(_, value)| value.is_finite());
            require(finite, || format!("{settings:?}"))
        }
        Err(error) => check_words(&error.to_string()),
    }
}

fn named(words: &str, name: &str) -> Result<(), Broken> {
    check_words(words)?;
    require(words.contains(name), || format!("{words:?} does not name {name:?}"))
}

/// A target that is taken can be shown and asked.
fn check_target(target: &TargetSettings) -> Result<(), Broken> {
    require(!target.describe_address().contains(SECRET), || {
        format!("shown: {}", target.describe_address())
    })?;
    require(target.max_results() != Some(0), || "nothing can be asked for".to_owned())?;
    let limits = &target.limits;
    let has_limits = !limits.timeout.is_zero() && limits.attempts > 0 && limits.concurrency > 0;
    require(has_limits, || format!("{limits:?}"))?;
    let question = Question::new("who leads {{query}}?", 10);
    let filling = TemplateValues { question: &question, vector: Some(&[0.5, 0.25]) };
    match &target.kind {
        TargetKind::Http(http) => {
            let outgoing = http.shape.outgoing(&filling);
            let is_line = |(name, value): &(String, String)| {
                !name.contains(['\r', '\n']) && !value.contains(['\r', '\n'])
            };
            let headers = outgoing.headers.iter().chain(&http.address.headers);
            require(headers.clone().all(is_line), || format!("{:?}", outgoing.headers))
        }
        TargetKind::Mcp(mcp) => {
            mcp.arguments.fill(&filling);
            require(!mcp.tool.is_empty(), || "a tool without a name".to_owned())
        }
        TargetKind::Command(program) => {
            require(!program.words.is_empty(), || "a command without words".to_owned())
        }
        TargetKind::Local | TargetKind::Run(_) => Ok(()),
    }
}

fn check_providers(settings: &Map<String, Value>) -> Result<(), Broken> {
    let providers = match Providers::with(settings) {
        Ok(providers) => providers,
        Err(error) => {
            let words = error.to_string();
            check_words(&words)?;
            let is_named = settings.keys().any(|name| words.contains(name));
            return require(is_named, || format!("{words:?} names no provider"));
        }
    };
    for name in settings.keys() {
        let provider = providers.find(name).ok_or_else(|| format!("{name} is lost"))?;
        let is_address = ["http://", "https://"].iter().any(|s| provider.base_url.starts_with(s));
        require(is_address, || format!("{provider:?}"))?;
        provider.is_local();
        provider.has_key(&|_| None);
    }
    Ok(())
}

/// Moments at both ends of time, and one in the middle of a leap year.
fn moments() -> [Timestamp; 4] {
    let leap = Timestamp::from_second(1_709_164_800).unwrap_or(Timestamp::UNIX_EPOCH);
    [Timestamp::MIN, Timestamp::UNIX_EPOCH, leap, Timestamp::MAX]
}

/// `suites.yaml`: the same when written as JSON and read again; a suite that is added is there, and
/// nothing else is changed; a refusal says where or in which suite.
pub(super) fn check_suites(bytes: &[u8]) -> Result<(), Broken> {
    let text = String::from_utf8_lossy(bytes);
    // The file is checked as `suites validate` does it, whatever it holds.
    let checked = check(&text, &BTreeSet::new(), &BTreeSet::new());
    let lines = text.lines().count();
    for problem in checked.problems.iter().chain(&checked.warnings) {
        let is_there = problem.line <= lines.max(1) && problem.message.len() > 3;
        require(is_there, || format!("{problem:?} of {lines} lines"))?;
    }
    let file = match SuiteFile::parse(&text) {
        Ok(file) => file,
        Err(error) => return check_words(&error.to_string()),
    };
    let json = serde_json::to_string(&file).map_err(|error| error.to_string())?;
    let again = SuiteFile::parse(&json).map_err(|error| format!("{error}: {json}"))?;
    require(again == file, || format!("written, it is another: {json}"))?;
    match file.suites() {
        Ok(suites) => suites.iter().try_for_each(check_suite)?,
        Err(error) => {
            check_words(&error.to_string())?;
            require(!checked.problems.is_empty(), || format!("nothing is wrong, but {error}"))?;
        }
    }
    let Some(entry) = file.suites.first() else { return Ok(()) };
    let mut entry = entry.clone();
    entry.name = format!("{}-x", entry.name);
    match with_suite(&text, &entry) {
        Ok(edited) => {
            let edited = SuiteFile::parse(&edited).map_err(|error| format!("{error}: {edited}"))?;
            require(edited.suites.len() == file.suites.len() + 1, || "a suite is lost".to_owned())
        }
        Err(error) => check_words(&error.to_string()),
    }
}

fn check_suite(suite: &Suite) -> Result<(), Broken> {
    require(!suite.name.is_empty(), || "a suite without a name".to_owned())?;
    for trigger in &suite.triggers {
        if let Trigger::Cron(cron) = trigger {
            check_schedule(cron)?;
        }
    }
    Ok(())
}

/// A schedule fires after and until any moment, and prints as what it was read from.
pub(super) fn check_schedule(cron: &Cron) -> Result<(), Broken> {
    let again: Cron = cron.to_string().parse().map_err(|error| format!("{error}"))?;
    require(again == *cron, || format!("{cron:?} prints as {cron}"))?;
    for moment in moments() {
        if let Some(next) = cron.after(moment) {
            require(next > moment, || format!("{cron} fires at {next} after {moment}"))?;
        }
        if let Some(last) = cron.until(moment) {
            require(last <= moment, || format!("{cron} fired at {last} until {moment}"))?;
        }
    }
    Ok(())
}
