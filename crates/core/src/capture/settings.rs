//! Whether and how requests are captured: what the file plane and the environment say, in the order of the contract.

use serde_json::{Map, Value};

use crate::scrub::Scrubber;

/// The settings of capture.
#[derive(Debug, Clone, Copy)]
pub struct CaptureSettings<'a> {
    /// The settings of the file plane, by their whole keys.
    pub file: &'a Map<String, Value>,
    /// `GBRAIN_CONTRIBUTOR_MODE`, if it is set.
    pub contributor_mode: Option<&'a str>,
}

/// Whether requests are captured, and the setting that decides it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaptureSwitch {
    pub is_on: bool,
    pub because: &'static str,
}

/// A setting of the file plane that has the wrong type, or is out of range.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("`{key}` is {value}, expected {expected}")]
pub struct CaptureSettingError {
    key: &'static str,
    value: Value,
    expected: &'static str,
}

impl CaptureSettings<'_> {
    /// `eval.capture` true, then false, in the file; then the environment variable, equal to `1`; else off.
    pub fn switch(&self) -> Result<CaptureSwitch, CaptureSettingError> {
        let (is_on, because) = match self.flag("eval.capture")? {
            Some(true) => (true, "eval.capture is true in config.json"),
            Some(false) => (false, "eval.capture is false in config.json"),
            None if self.contributor_mode == Some("1") => (true, "GBRAIN_CONTRIBUTOR_MODE is 1"),
            None => (false, "off is the default"),
        };
        Ok(CaptureSwitch { is_on, because })
    }

    /// Whether captures are of no person: unless `eval.synthetic` is true, they may be.
    pub fn is_synthetic(&self) -> Result<bool, CaptureSettingError> {
        Ok(self.flag("eval.synthetic")?.unwrap_or(false))
    }

    /// Whether captures are scrubbed: unless `eval.scrub_pii` is false.
    pub fn is_scrubbing(&self) -> Result<bool, CaptureSettingError> {
        Ok(self.flag("eval.scrub_pii")? != Some(false))
    }

    /// The scrubber with the owner's own patterns, or why there can't be one.
    pub fn scrubber(&self) -> Result<Scrubber, String> {
        let patterns = match self.file.get("eval.scrub_patterns") {
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

    /// The share of requests that are captured.
    pub fn sample_rate(&self) -> Result<f64, CaptureSettingError> {
        let Some(value) = self.file.get("eval.sample_rate") else { return Ok(1.0) };
        match value.as_f64() {
            Some(rate) if (0.0..=1.0).contains(&rate) => Ok(rate),
            _ => Err(wrong("eval.sample_rate", value, "a number from 0 to 1")),
        }
    }

    /// Retention of captures in days; none for ever.
    pub fn retention_days(&self) -> Result<Option<u32>, CaptureSettingError> {
        let Some(value) = self.file.get("eval.retention_days") else { return Ok(None) };
        match value.as_u64().and_then(|days| u32::try_from(days).ok()) {
            Some(days) if days > 0 => Ok(Some(days)),
            _ => Err(wrong("eval.retention_days", value, "a number of days, at least 1")),
        }
    }

    fn flag(&self, key: &'static str) -> Result<Option<bool>, CaptureSettingError> {
        match self.file.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(other) => Err(wrong(key, other, "true or false")),
        }
    }
}

fn wrong(key: &'static str, value: &Value, expected: &'static str) -> CaptureSettingError {
    CaptureSettingError { key, value: value.clone(), expected }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn switched(
        capture: Option<Value>,
        contributor_mode: Option<&str>,
    ) -> Result<bool, CaptureSettingError> {
        let file = capture.map(|value| ("eval.capture".to_owned(), value)).into_iter().collect();
        CaptureSettings { file: &file, contributor_mode }.switch().map(|switch| switch.is_on)
    }

    #[test]
    fn the_file_beats_the_environment_both_ways() {
        assert!(switched(Some(json!(true)), None).unwrap());
        assert!(!switched(Some(json!(false)), Some("1")).unwrap());
        assert!(switched(None, Some("1")).unwrap());
        assert!(!switched(None, None).unwrap());
        for other in ["true", "yes", "0", " 1", "on"] {
            assert!(!switched(None, Some(other)).unwrap(), "{other:?}");
        }
    }

    #[test]
    fn a_switch_that_is_no_switch_is_an_error() {
        assert_eq!(
            switched(Some(json!("true")), None).unwrap_err().to_string(),
            "`eval.capture` is \"true\", expected true or false"
        );
    }
}
