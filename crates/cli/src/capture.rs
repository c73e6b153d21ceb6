//! How this process captures, by the settings of its home.

use gbrain_brain::capture::{AuditLog, CaptureOptions, QUEUE, software};
use gbrain_core::capture::{CapturePolicy, CaptureSettingError, CaptureSettings, CaptureSwitch};
use gbrain_core::scrub::Scrubber;

use crate::error::CliError;
use crate::home::Home;
use crate::identity::make_home_key;

fn settings(home: &Home) -> CaptureSettings<'_> {
    CaptureSettings { file: &home.file, contributor_mode: home.contributor_mode.as_deref() }
}

/// Whether requests are captured, and who says so.
pub(crate) fn switch(home: &Home) -> Result<CaptureSwitch, CliError> {
    settings(home).switch().map_err(|error| wrong(home, &error))
}

/// How to capture; none when capture is off.
pub(crate) fn options(home: &Home) -> Result<Option<CaptureOptions>, CliError> {
    if !switch(home)?.is_on {
        return Ok(None);
    }
    let (settings, wrong) = (settings(home), |error| wrong(home, &error));
    Ok(Some(CaptureOptions {
        policy: policy(home)?,
        sample_rate: settings.sample_rate().map_err(wrong)?,
        retention_days: settings.retention_days().map_err(wrong)?,
        queue: QUEUE,
        audit: AuditLog { dir: home.audit_dir() },
        watch: None,
    }))
}

/// A scrubber that can't be made is no reason to refuse an answer: each capture fails, and doctor
/// says why. Nothing unscrubbed is kept. Without an identity key rows are made too: those with scrubbed
/// names can't be compared, and doctor says so.
pub(crate) fn policy(home: &Home) -> Result<Result<CapturePolicy, String>, CliError> {
    let synthetic = settings(home).is_synthetic().map_err(|error| wrong(home, &error))?;
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
    settings(home).is_scrubbing().map_err(|error| wrong(home, &error))
}

/// The scrubber of this home, with the owner's own patterns.
pub(crate) fn scrubber(home: &Home) -> Result<Scrubber, String> {
    settings(home).scrubber()
}

fn wrong(home: &Home, error: &CaptureSettingError) -> CliError {
    CliError::config(format!("{}: {error}", home.config_path().display()))
}
