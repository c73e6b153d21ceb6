//! Findings about a whole installation.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::named;

/// The version of [`DoctorBody`].
pub(crate) const DOCTOR_VERSION: u32 = 1;

/// How a check came out, from good to bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wellness {
    Ok,
    Warn,
    Fail,
    /// It could not be checked.
    Unknown,
}

named! { Wellness { Ok = "ok", Warn = "warn", Fail = "fail", Unknown = "unknown" } }

/// What `doctor --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DoctorBody<'a> {
    schema_version: u32,
    /// The worst of the checks.
    status: Wellness,
    /// Every check.
    checks: &'a [Finding],
}

/// One check.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CheckRow")]
pub struct Finding {
    /// Which.
    pub name: &'static str,
    /// How it came out.
    pub status: Wellness,
    /// In words.
    pub message: String,
    /// What to do about it, ready to be pasted.
    pub remedy: Option<String>,
    /// Numbers and names for programs.
    pub details: Map<String, Value>,
}

impl<'a> DoctorBody<'a> {
    /// What all checks found.
    pub fn new(checks: &'a [Finding]) -> Self {
        let status = checks.iter().map(|check| check.status).max().unwrap_or(Wellness::Ok);
        Self { schema_version: DOCTOR_VERSION, status, checks }
    }
}

impl Finding {
    /// What a check found.
    pub fn new(name: &'static str, status: Wellness, message: impl Into<String>) -> Self {
        Self { name, status, message: message.into(), remedy: None, details: Map::new() }
    }

    /// All is well.
    pub fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, Wellness::Ok, message)
    }

    /// Worth a look.
    pub fn warn(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, Wellness::Warn, message)
    }

    /// Broken.
    pub fn fail(name: &'static str, message: impl Into<String>) -> Self {
        Self::new(name, Wellness::Fail, message)
    }

    /// What to do about it.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// A number or name for programs.
    #[must_use]
    pub fn detail(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.to_owned(), value.into());
        self
    }
}
