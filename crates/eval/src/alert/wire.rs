//! Wire bodies of stored alerts, as defined in `core/format`: the same for `--json` and the API.

use gbrain_core::alert::{Alert, AlertMessage, AlertSeverity, AlertStates, AlertSubject};
use gbrain_core::format::alert::{AlertsBody, DeliveryBody, SilenceBody, SilenceRecord};
use gbrain_core::id::WorkspaceId;
use gbrain_store::{AlertState, AlertStatus, Delivery, DeliveryState, Silence, Store, StoreError};
use jiff::Timestamp;

use super::evaluator::read;

/// The alerts of a workspace, firing ones first; of one state, or all.
pub fn alerts(
    store: &Store,
    workspace: &WorkspaceId,
    state: Option<AlertStatus>,
    now: Timestamp,
) -> Result<AlertsBody, StoreError> {
    let silences = store.silences(workspace, Some(now))?;
    let in_force = silences.iter().filter(|one| one.starts_at <= now);
    let silenced: Vec<String> = in_force.filter_map(|one| Some(record(one)?.key)).collect();
    let silenced = AlertStates { alerts: &[], silenced: &silenced };
    let mut states = store.alert_board(workspace)?.states;
    states.retain(|one| state.is_none_or(|state| one.state == state));
    states.sort_by(|a, b| (a.state, &a.dedup_key).cmp(&(b.state, &b.dedup_key)));
    Ok(AlertsBody {
        alerts: states.iter().map(|state| alert(workspace, state, &silenced)).collect(),
        silences: silences.iter().map(silence).collect(),
        deliveries: store.delivery_counts(workspace)?,
    })
}

fn time(at: Timestamp) -> String {
    format!("{at:.3}")
}

/// An alert for lists. If its body cannot be parsed, only its columns are shown.
fn alert(workspace: &WorkspaceId, state: &AlertState, silences: &AlertStates<'_>) -> Alert {
    let unreadable = || {
        let AlertState { dedup_key, state, severity, suite, since, updated_at, body: _ } = state;
        let owner = (workspace.as_str(), suite.as_deref().unwrap_or_default(), &[][..]);
        let severity = AlertSeverity::from_name(severity).unwrap_or(AlertSeverity::Info);
        let alert = Alert::new(owner, AlertSubject::Run, severity, String::new(), *since);
        Alert { key: dedup_key.clone(), state: *state, updated_at: *updated_at, ..alert }
    };
    let alert = read(state).unwrap_or_else(unreadable);
    Alert { silenced: silences.is_silenced(&state.dedup_key), ..alert }
}

fn record(silence: &Silence) -> Option<SilenceRecord> {
    serde_json::from_str(&silence.body).ok()
}

pub fn silence(silence: &Silence) -> SilenceBody {
    let (key, reason) =
        record(silence).map_or_else(Default::default, |record| (record.key, record.reason));
    let Silence { id, starts_at, ends_at, body: _ } = silence;
    SilenceBody { id: *id, key, reason, from: time(*starts_at), until: time(*ends_at) }
}

pub fn delivery(delivery: &Delivery) -> DeliveryBody {
    let message: Option<AlertMessage> = serde_json::from_str(&delivery.payload).ok();
    let is_queued = delivery.state == DeliveryState::Queued;
    DeliveryBody {
        id: delivery.id,
        channel: delivery.channel.clone(),
        key: delivery.dedup_key.clone(),
        action: delivery.action.name().to_owned(),
        state: delivery.state.name().to_owned(),
        attempts: delivery.attempt,
        created_at: time(delivery.created_at),
        next_at: is_queued.then(|| time(delivery.run_after)),
        ended_at: delivery.ended_at.map(time),
        error: delivery.error.clone(),
        summary: message.map_or_else(String::new, |message| message.summary),
    }
}
