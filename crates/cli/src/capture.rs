//! Capture options from the settings of a home.

use gbrain_brain::capture::{AuditLog, CaptureOptions, QUEUE, software};
use gbrain_core::capture::{CapturePolicy, CaptureSettingError, CaptureSettings, CaptureSwitch};
use gbrain_core::scrub::Scrubber;

use crate::error::CliError;
use crate::home::Home;
use crate::identity::make_home_key;

fn settings(home: &Home) -> CaptureSettings<'_> {
    CaptureSettings { file: &home.file, contributor_mode: home.contributor_mode.as_deref() }
}

/// Whether capture is on, and the setting that decides it.
pub(crate) fn capture_switch(home: &Home) -> Result<CaptureSwitch, CliError> {
    settings(home).switch().map_err(|error| invalid(home, &error))
}

/// The capture options; `None` if capture is off.
pub(crate) fn options(home: &Home) -> Result<Option<CaptureOptions>, CliError> {
    if !capture_switch(home)?.is_on {
        return Ok(None);
    }
    let (settings, invalid_setting) = (settings(home), |error| invalid(home, &error));
    Ok(Some(CaptureOptions {
        policy: policy(home)?,
        sample_rate: settings.sample_rate().map_err(invalid_setting)?,
        retention_days: settings.retention_days().map_err(invalid_setting)?,
        queue: QUEUE,
        audit: AuditLog { dir: home.audit_dir() },
        observer: None,
    }))
}

/// The capture policy. An invalid scrubber is the inner error: queries are still answered, each capture
/// fails, nothing unscrubbed is stored, and `doctor` reports it. Without an identity key rows are captured,
/// but those with scrubbed names can't be compared; `doctor` reports that too.
pub(crate) fn policy(home: &Home) -> Result<Result<CapturePolicy, String>, CliError> {
    let synthetic = settings(home).is_synthetic().map_err(|error| invalid(home, &error))?;
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

/// Whether captures are scrubbed.
pub(crate) fn is_scrubbing(home: &Home) -> Result<bool, CliError> {
    settings(home).is_scrubbing().map_err(|error| invalid(home, &error))
}

/// The scrubber with the patterns of config.json.
pub(crate) fn scrubber(home: &Home) -> Result<Scrubber, String> {
    settings(home).scrubber()
}

fn invalid(home: &Home, error: &CaptureSettingError) -> CliError {
    CliError::config(format!("{}: {error}", home.config_path().display()))
}
