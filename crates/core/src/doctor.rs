//! Results of the checks that `gbrain doctor` runs on an installation.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::named;

/// The version of [`DoctorBody`].
pub(crate) const DOCTOR_VERSION: u32 = 1;

named! {
    /// The status of a check, from good to bad.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum DoctorStatus {
        Ok = "ok",
        Warn = "warn",
        Fail = "fail",
        /// The check could not run.
        Unknown = "unknown",
    }
}

/// The output of `gbrain doctor --json`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DoctorBody<'a> {
    schema_version: u32,
    /// The worst status of all checks.
    status: DoctorStatus,
    /// The results of all checks.
    checks: &'a [DoctorCheck],
}

/// The result of one check.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CheckRow")]
pub struct DoctorCheck {
    /// Name of the check.
    pub name: &'static str,
    /// Status of the check.
    pub status: DoctorStatus,
    /// The result as a sentence.
    pub message: String,
    /// A command or step that fixes the problem.
    pub remedy: Option<String>,
    /// Machine-readable details of the result.
    pub details: Map<String, Value>,
}

impl<'a> DoctorBody<'a> {
    pub fn new(checks: &'a [DoctorCheck]) -> Self {
        let status = checks.iter().map(|check| check.status).max().unwrap_or(DoctorStatus::Ok);
        Self { schema_version: DOCTOR_VERSION, status, checks }
    }
}

impl DoctorCheck {
    pub fn new(name: &'static str, status: DoctorStatus, message: impl Into<String>) -> Self {
        Self { name, status, message: message.into(), remedy: None, details: Map::new() }
    }

    pub fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, DoctorStatus::Ok, message)
    }

    pub fn warn(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, DoctorStatus::Warn, message)
    }

    pub fn fail(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, DoctorStatus::Fail, message)
    }

    /// Adds the command or step that fixes the problem.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// Adds a machine-readable detail.
    #[must_use]
    pub fn detail(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }
}
