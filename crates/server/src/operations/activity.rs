//! What happened by day: captures, spending, and changes of pages that are not private.

use gbrain_core::fault::Fault;
use gbrain_eval::activity;
use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::Deserialize;

use super::bounds::within;
use crate::http::{OperationCall, Reply};

const DEFAULT_DAYS: u16 = 30;
const DEFAULT_CHANGES: u16 = 20;

/// How far to look back.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LastDays {
    /// The number of days, including today; 30 by default.
    #[serde(default)]
    #[schemars(range(min = 1, max = 366))]
    pub(super) days: Option<u16>,
}

impl LastDays {
    pub(super) fn checked(&self, default: u16) -> Result<u16, Fault> {
        within("days", self.days, 1..=366)?;
        Ok(self.days.unwrap_or(default))
    }
}

/// How many changes to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListChanges {
    /// The maximum number of changes; 20 by default.
    #[serde(default)]
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u16>,
}

pub(crate) fn captures(call: &OperationCall<'_>, input: LastDays) -> Result<Reply, Fault> {
    let (store, ws) = (call.registry.store(), &call.principal.workspace);
    Reply::json(&activity::capture_days(store, ws, input.checked(DEFAULT_DAYS)?, call.now)?)
}

pub(crate) fn changes(call: &OperationCall<'_>, input: ListChanges) -> Result<Reply, Fault> {
    within("limit", input.limit, 1..=200)?;
    let limit = usize::from(input.limit.unwrap_or(DEFAULT_CHANGES));
    let (store, ws) = (call.registry.store(), &call.principal.workspace);
    Reply::json(&activity::page_changes(store, ws, limit)?)
}

pub(crate) fn spending(call: &OperationCall<'_>, input: LastDays) -> Result<Reply, Fault> {
    let back = SignedDuration::from_hours(24 * i64::from(input.checked(DEFAULT_DAYS)?));
    let since = call.now.saturating_sub(back).unwrap_or(call.now);
    let (store, ws) = (call.registry.store(), &call.principal.workspace);
    Reply::json(&activity::spending(store, ws, since, call.now)?)
}
