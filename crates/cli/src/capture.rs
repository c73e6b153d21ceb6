//! Whether and how this process captures: the one place where the order of the contract is decided.

use gbrain_brain::capture::{AuditLog, CaptureOptions, QUEUE, software};
use gbrain_core::capture::CapturePolicy;
use gbrain_core::scrub::Scrubber;
use serde_json::Value;

use crate::error::CliError;
use crate::home::Home;
use crate::identity::make_home_key;

/// Whether requests are captured, and who says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Switch {
    pub(crate) is_on: bool,
    pub(crate) because: &'static str,
}

/// `eval.capture` true, then false, in the file; then the environment variable, equal to `1`; else
/// off.
pub(crate) fn switch(home: &Home) -> Result<Switch, CliError> {
    let on = |is_on, because| Ok(Switch { is_on, because });
    match flag(home, "eval.capture")? {
        Some(true) => on(true, "eval.capture is true in config.json"),
        Some(false) => on(false, "eval.capture is false in config.json"),
        None if home.contributor_mode.as_deref() == Some("1") => {
            on(true, "GBRAIN_CONTRIBUTOR_MODE is 1")
        }
        None => on(false, "off is the default"),
    }
}

/// How to capture; none when capture is off.
pub(crate) fn options(home: &Home) -> Result<Option<CaptureOptions>, CliError> {
    if !switch(home)?.is_on {
        return Ok(None);
    }
    Ok(Some(CaptureOptions {
        policy: policy(home)?,
        sample_rate: sample_rate(home)?,
        retention_days: retention_days(home)?,
        queue: QUEUE,
        audit: AuditLog { dir: home.audit_dir() },
        watch: None,
    }))
}

/// A scrubber that can't be made is no reason to refuse an answer: each capture fails, and doctor
/// says why. Nothing unscrubbed is kept. Without an identity key rows are made too: those with scrubbed
/// names can't be compared, and doctor says so.
pub(crate) fn policy(home: &Home) -> Result<Result<CapturePolicy, String>, CliError> {
    let synthetic = flag(home, "eval.synthetic")?.unwrap_or(false);
    if !is_scrubbing(home)? {
        let software = software();
        return Ok(Ok(CapturePolicy { scrubber: None, identity: None, synthetic, software }));
    }
    Ok(scrubber(home).map(|scrubber| CapturePolicy {
        scrubber: Some(scrubber),
        identity: make_home_key(home).ok(),
        synthetic,
        software: software(),
    }))
}

/// Whether captures are scrubbed: unless `eval.scrub_pii` is false.
pub(crate) fn is_scrubbing(home: &Home) -> Result<bool, CliError> {
    Ok(flag(home, "eval.scrub_pii")? != Some(false))
}

/// The scrubber of this home, with the owner's own patterns.
pub(crate) fn scrubber(home: &Home) -> Result<Scrubber, String> {
    let patterns = match home.file.get("eval.scrub_patterns") {
        None => Vec::new(),
        Some(Value::Array(patterns)) => patterns
            .iter()
            .map(|pattern| pattern.as_str().map(str::to_owned))
            .collect::<Option<Vec<String>>>()
            .ok_or("eval.scrub_patterns is not a list of texts")?,
        Some(_) => return Err("eval.scrub_patterns is not a list of texts".to_owned()),
    };
    Scrubber::new(&patterns).map_err(|error| error.to_string())
}

fn flag(home: &Home, key: &str) -> Result<Option<bool>, CliError> {
    match home.file.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(value)) => Ok(Some(*value)),
        Some(other) => Err(wrong(home, key, other, "true or false")),
    }
}

fn sample_rate(home: &Home) -> Result<f64, CliError> {
    match home.file.get("eval.sample_rate") {
        None => Ok(1.0),
        Some(value) => match value.as_f64() {
            Some(rate) if (0.0..=1.0).contains(&rate) => Ok(rate),
            _ => Err(wrong(home, "eval.sample_rate", value, "a number from 0 to 1")),
        },
    }
}

fn retention_days(home: &Home) -> Result<Option<u32>, CliError> {
    match home.file.get("eval.retention_days") {
        None => Ok(None),
        Some(value) => match value.as_u64().and_then(|days| u32::try_from(days).ok()) {
            Some(days) if days > 0 => Ok(Some(days)),
            _ => Err(wrong(home, "eval.retention_days", value, "a number of days, at least 1")),
        },
    }
}

fn wrong(home: &Home, key: &str, value: &Value, expected: &str) -> CliError {
    let path = home.config_path();
    CliError::config(format!("{}: `{key}` is {value}, expected {expected}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::{Environment, HomeFlags};

    fn switched(config: &str, variable: Option<&str>) -> Result<bool, CliError> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("config.json"), config).unwrap();
        let flags = HomeFlags { home: Some(dir.path().to_owned()), ..HomeFlags::default() };
        let environment =
            Environment { contributor_mode: variable.map(str::to_owned), ..Environment::default() };
        switch(&Home::resolve(&flags, &environment)?).map(|switch| switch.is_on)
    }

    #[test]
    fn the_file_beats_the_environment_both_ways() {
        let (on, off, silent) =
            (r#"{"eval":{"capture":true}}"#, r#"{"eval":{"capture":false}}"#, "{}");
        assert!(switched(on, None).unwrap());
        assert!(!switched(off, Some("1")).unwrap());
        assert!(switched(silent, Some("1")).unwrap());
        assert!(!switched(silent, None).unwrap());
        for other in ["true", "yes", "0", " 1", "on"] {
            assert!(!switched(silent, Some(other)).unwrap(), "{other:?}");
        }
    }

    #[test]
    fn a_switch_that_is_no_switch_is_an_error() {
        assert!(switched(r#"{"eval":{"capture":"true"}}"#, None).is_err());
    }
}
