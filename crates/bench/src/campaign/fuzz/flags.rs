//! What must hold for words of flags and settings, and for addresses of databases.

use std::str::FromStr;

use gbrain_core::address;
use gbrain_core::baseline::BaselineKey;
use gbrain_core::config::{self, model_parts};
use gbrain_core::contradiction::date::mentions;
use gbrain_core::duration::{duration, format_duration};
use gbrain_core::fault::Fault;
use gbrain_core::hash::Hash;
use gbrain_core::id::{PageKey, Slug, SourceId, WorkspaceId};
use gbrain_core::identity::IdentityKey;
use gbrain_core::money::Usd;
use gbrain_core::search::Settings;
use gbrain_core::search::window::find_time_reference;
use gbrain_core::suite::cron::Cron;
use gbrain_core::suite::threshold::Percent;
use gbrain_core::target::path::Path;
use gbrain_core::variable;
use gbrain_llm::ModelRef;
use gbrain_net::retry_after;
use gbrain_store::Location;
use jiff::Timestamp;
use jiff::civil::Date;

use super::promises::{Broken, SECRET, require, shows_password};
use super::settings::check_schedule;

/// How many lines of a file are tried.
const LINES: usize = 200;

/// Every line as each kind of word: what is taken prints as what reads back as the same, and a
/// refusal says something.
pub(super) fn check_flags(bytes: &[u8]) -> Result<(), Broken> {
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines().take(LINES) {
        check_word(line).map_err(|broken| format!("{line:?}: {broken}"))?;
    }
    Ok(())
}

fn check_word(line: &str) -> Result<(), Broken> {
    match duration(line) {
        Ok(time) => {
            let again = duration(&format_duration(time))?;
            require(again == time, || format!("{time:?} is typed as {}", format_duration(time)))?;
        }
        Err(error) => check_words(&error)?,
    }
    same::<Usd>(line)?;
    same::<Percent>(line)?;
    same::<ModelRef>(line)?;
    match line.parse::<Cron>() {
        Ok(cron) => check_schedule(&cron)?,
        Err(error) => check_words(&error.to_string())?,
    }
    check_names(line)?;
    check_keys(line)?;
    check_days(line)
}

/// A refusal quotes what was typed; a fault shows it without the password of an address.
fn check_words(words: &str) -> Result<(), Broken> {
    super::promises::check_words(&Fault::usage(words).message)
}

/// What is read is written so that it reads back.
fn same<T>(line: &str) -> Result<(), Broken>
where
    T: FromStr<Err: ToString> + PartialEq + ToString,
{
    match line.parse::<T>() {
        Ok(read) => {
            let written = read.to_string();
            let again = written.parse::<T>().map_err(|error| error.to_string())?;
            require(again == read, || format!("it is written as {written}"))
        }
        Err(error) => check_words(&error.to_string()),
    }
}

fn check_names(line: &str) -> Result<(), Broken> {
    let source = SourceId::default();
    match PageKey::parse(line, &source) {
        Ok(key) => {
            let again = PageKey::parse(&key.to_string(), &source);
            require(again.as_ref() == Ok(&key), || format!("{key} is {again:?}"))?;
            require(Slug::new(key.slug.as_str()).is_ok(), || format!("{key} has a bad slug"))?;
        }
        Err(error) => check_words(&error.to_string())?,
    }
    let refused = [SourceId::new(line).err(), WorkspaceId::new(line).err()];
    for error in refused.into_iter().flatten() {
        check_words(&error.to_string())?;
    }
    if let Ok(workspace) = WorkspaceId::new(line) {
        let is_plain = !workspace.as_str().contains(['/', '\\', '\0']) && line != "..";
        require(is_plain, || "a workspace names a path".to_owned())?;
    }
    match Path::parse(line) {
        Ok(path) => {
            let again = Path::parse(&path.to_string()).map_err(|error| error.to_string())?;
            require(again == path, || format!("it is written as {path}"))?;
        }
        Err(error) => check_words(&error.to_string())?,
    }
    if let Err(error) = address::check(line) {
        require(!error.to_string().contains(SECRET), || error.to_string())?;
    }
    if let Err(error) = variable::check("key_env", line) {
        require(!error.to_string().contains(SECRET), || error.to_string())?;
    }
    let mut settings = Settings::default();
    for (name, _) in Settings::default().values() {
        if let Err(error) = settings.set(name, line) {
            check_words(&error.to_string())?;
        }
    }
    if let Err(error) = settings.set(line, "1") {
        check_words(&error.to_string())?;
    }
    let finite = settings.values().iter().all(|(_, value)| value.is_finite());
    require(finite, || format!("{settings:?}"))?;
    config::find(line);
    model_parts(line);
    Ok(())
}

/// Keys are read or not, and never shown.
fn check_keys(line: &str) -> Result<(), Broken> {
    if let Some(key) = IdentityKey::from_hex(line) {
        let again = IdentityKey::from_hex(&key.to_hex());
        require(again == Some(key), || "another key".to_owned())?;
        let digits = key.to_hex();
        require(!format!("{key:?}").contains(&digits[..32]), || "it is shown".to_owned())?;
    }
    if let Some(hash) = Hash::from_hex(line) {
        require(Hash::from_hex(&hash.to_hex()) == Some(hash), || "another hash".to_owned())?;
    }
    match BaselineKey::new(line) {
        Ok(key) => require(!format!("{key:?}").contains(line.trim()), || "shown".to_owned()),
        Err(error) => check_words(&error.to_string()),
    }
}

/// Days that a text names, asked at both ends of time too.
fn check_days(line: &str) -> Result<(), Broken> {
    for today in [Date::MIN, Date::MAX, Date::constant(2024, 2, 29)] {
        if let Some(spoken) = find_time_reference(line, today) {
            let window = spoken.window;
            require(window.from <= window.until, || format!("{window:?}"))?;
        }
    }
    for now in [Timestamp::MIN, Timestamp::UNIX_EPOCH, Timestamp::MAX] {
        retry_after(line, now);
    }
    mentions(line);
    Ok(())
}

/// Every line as the address of a database: its password is shown nowhere.
pub(super) fn check_location(bytes: &[u8]) -> Result<(), Broken> {
    let text = String::from_utf8_lossy(bytes);
    for line in text.lines().take(LINES) {
        let shown = match Location::parse(line) {
            Ok(location) => format!("{location} {location:?}"),
            Err(error) => {
                check_words(&error.to_string())?;
                error.to_string()
            }
        };
        let is_told = shown.contains(SECRET) && is_password(line);
        require(!is_told, || format!("the password of {line:?} is shown: {shown}"))?;
    }
    Ok(())
}

/// Whether the secret stands where a password stands, and nowhere else.
fn is_password(line: &str) -> bool {
    shows_password(line) && line.matches(SECRET).count() == 1
}
