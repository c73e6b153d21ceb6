//! Findings about a whole installation.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::named;

/// The version of [`DoctorBody`].
pub const DOCTOR_VERSION: u32 = 1;

/// How a check came out, from good to bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wellness {
    /// All is well.
    Ok,
    /// Worth a look.
    Warn,
    /// Broken.
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
    checks: Vec<CheckRow<'a>>,
}

/// One check.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CheckRow<'a> {
    /// Which.
    pub name: &'a str,
    /// How it came out.
    pub status: Wellness,
    /// In words.
    pub message: &'a str,
    /// What to do about it, ready to be pasted.
    pub remedy: Option<&'a str>,
    /// Numbers and names for programs.
    pub details: &'a Map<String, Value>,
}

impl<'a> DoctorBody<'a> {
    /// The wire form of checks.
    pub fn new(checks: Vec<CheckRow<'a>>) -> Self {
        let status = checks.iter().map(|check| check.status).max().unwrap_or(Wellness::Ok);
        Self { schema_version: DOCTOR_VERSION, status, checks }
    }
}
