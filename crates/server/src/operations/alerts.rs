//! Alerts, their messages, and silences. Delivery errors may name hosts and are not returned.

use gbrain_brain::wire::truncate_page;
use gbrain_core::alert::ALERT_VERSION;
use gbrain_core::duration::duration;
use gbrain_core::fault::Fault;
use gbrain_core::format::alert::{
    ClosedAlertBody, DeliveryBody, DeliveryPageBody, EndedSilenceBody, SilenceRecord,
};
use gbrain_eval::alert::{AlertEvaluator, wire};
use gbrain_store::{AlertStatus, Delivery, DeliveryFilter, DeliveryState, NewSilence, Silence};
use schemars::JsonSchema;
use serde::Deserialize;

use super::bounds::{at_most, filled_at_most, within};
use crate::http::{NoParameters, OperationCall, Reply};

/// Default number of listed messages.
const DEFAULT_DELIVERIES: u16 = 50;
/// Maximum length of a reason, in characters.
const REASON: usize = 1_000;

/// Which alerts to list.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListAlerts {
    /// Only alerts in this state: `firing` or `resolved`.
    #[serde(default)]
    state: Option<AlertStatus>,
}

/// Lists alerts, firing ones first.
pub(crate) fn list(call: &OperationCall<'_>, input: ListAlerts) -> Result<Reply, Fault> {
    let (store, workspace) = (call.registry.store(), &call.principal.workspace);
    Reply::json(&wire::alerts(store, workspace, input.state, call.now)?)
}

/// Which messages to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListDeliveries {
    /// Only messages in this state: `queued`, `sent` or `dead`.
    #[serde(default)]
    state: Option<DeliveryState>,
    /// Only messages about this alert.
    #[serde(default)]
    #[schemars(length(min = 1, max = 255))]
    key: Option<String>,
    /// Only messages to this channel.
    #[serde(default)]
    #[schemars(length(min = 1, max = 200))]
    channel: Option<String>,
    /// Messages with a lower id than this.
    #[serde(default)]
    #[schemars(range(min = 1))]
    before: Option<i64>,
    /// The maximum number of messages; 50 by default.
    #[serde(default)]
    #[schemars(range(min = 1, max = 200))]
    limit: Option<u16>,
}

/// An alert to resolve by hand.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CloseAlert {
    /// The key of the alert, as listed.
    #[schemars(length(min = 1, max = 255))]
    key: String,
    /// The reason, recorded with the alert.
    #[schemars(length(min = 1, max = 1_000), regex(pattern = r"\S"))]
    reason: String,
}

/// A period in which alerts send no messages.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddSilence {
    /// The key of an alert, or the beginning of keys followed by `*`.
    #[schemars(
        length(min = 1, max = 255),
        regex(pattern = r"^(?:gbrain/[\s\S]*|(?:g(?:b(?:r(?:a(?:in?)?)?)?)?)?\*?)$")
    )]
    key: String,
    /// How long, beginning now: `30m`, `2h`, `7d`.
    #[serde(rename = "for")]
    #[schemars(length(min = 2, max = 20), regex(pattern = "^[1-9][0-9]{0,4}(?:s|m|h|d|w)$"))]
    how_long: String,
    /// The reason, shown with the silence.
    #[schemars(length(min = 1, max = 1_000), regex(pattern = r"\S"))]
    reason: String,
}

/// A silence by its id.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SilenceNumber {
    /// The id of the silence, as listed.
    #[schemars(range(min = 1))]
    id: i64,
}

/// Lists messages, newest first.
pub(crate) fn deliveries(call: &OperationCall<'_>, input: ListDeliveries) -> Result<Reply, Fault> {
    within("limit", input.limit, 1..=200)?;
    let limit = usize::from(input.limit.unwrap_or(DEFAULT_DELIVERIES));
    within("before", input.before, 1..=i64::MAX)?;
    filled_at_most("the key of an alert", input.key.as_deref(), 255)?;
    filled_at_most("the name of a channel", input.channel.as_deref(), 200)?;
    let ListDeliveries { state, key, channel, before, limit: _ } = input;
    let filter = DeliveryFilter { state, channel, dedup_key: key, before };
    let mut found =
        call.registry.store().deliveries(&call.principal.workspace, &filter, limit + 1)?;
    let next_before = truncate_page(&mut found, limit).map(|one| one.id);
    let shown = |one: &Delivery| DeliveryBody { error: None, ..wire::delivery(one) };
    Reply::json(&DeliveryPageBody { deliveries: found.iter().map(shown).collect(), next_before })
}

/// Resolves an alert that no run will resolve, and notifies its channels.
pub(crate) fn close(
    call: &OperationCall<'_>,
    _: NoParameters,
    body: CloseAlert,
) -> Result<Reply, Fault> {
    let reason = checked_reason(&body.reason)?;
    let (store, ws) = (call.registry.store(), &call.principal.workspace);
    let tools = &call.registry.suites().alerts;
    let evaluator = AlertEvaluator { store, registry: &tools.registry, settings: &tools.settings };
    let closed = evaluator.close(ws, &body.key, reason, call.now)?;
    let closed = closed.ok_or_else(|| Fault::not_found("no firing alert has this key"))?;
    let (key, state) = (body.key, AlertStatus::Resolved.name().to_owned());
    Reply::json(&ClosedAlertBody { key, state, notified: closed.queued })
}

pub(crate) fn add_silence(
    call: &OperationCall<'_>,
    _: NoParameters,
    body: AddSilence,
) -> Result<Reply, Fault> {
    let AddSilence { key, how_long, reason } = body;
    filled_at_most("the key of an alert", Some(&key), 255)?;
    let beginning = key.strip_suffix('*').unwrap_or(&key);
    if !"gbrain/".starts_with(beginning) && !beginning.starts_with("gbrain/") {
        return Err(Fault::usage("no alert has a key that begins like this")
            .hint("keys are written gbrain/WORKSPACE/SUITE/WHAT"));
    }
    let reason = checked_reason(&reason)?.to_owned();
    let length = duration(&how_long).map_err(|why| Fault::usage(format!("`for`: {why}")))?;
    if !length.is_positive() {
        return Err(Fault::usage("`for` is zero or negative").hint("write it as 30m or 2h"));
    }
    let (store, ws) = (call.registry.store(), &call.principal.workspace);
    let starts_at = store.clock()?;
    let ends_at = starts_at.checked_add(length).map_err(|_| Fault::usage("`for` is too long"))?;
    let record = SilenceRecord { schema_version: ALERT_VERSION, key, reason };
    let body =
        serde_json::to_string(&record).map_err(|error| Fault::internal(error.to_string()))?;
    let id = store.add_silence(ws, &NewSilence { starts_at, ends_at, body: body.clone() })?;
    Reply::json(&wire::silence(&Silence { id, starts_at, ends_at, body }))
}

/// Ends a silence now.
pub(crate) fn end_silence(call: &OperationCall<'_>, input: SilenceNumber) -> Result<Reply, Fault> {
    let store = call.registry.store();
    if !store.end_silence(&call.principal.workspace, input.id, store.clock()?)? {
        return Err(Fault::not_found(format!("there is no silence {} in force", input.id)));
    }
    Reply::json(&EndedSilenceBody { id: input.id, ended: true })
}

fn checked_reason(text: &str) -> Result<&str, Fault> {
    at_most("the reason", Some(text), REASON)?;
    match text.trim() {
        "" => Err(Fault::usage("the reason is empty")),
        reason => Ok(reason),
    }
}
