//! What the store says of alerts, as bodies of `core/format`: `--json` and the API alike.

use gbrain_core::alert::{Board, Message};
use gbrain_core::format::alert::{
    AlertBody, AlertRecord, AlertsBody, DeliveryBody, DeliveryFigures, SilenceBody, SilenceRecord,
};
use gbrain_core::id::WorkspaceId;
use gbrain_store::{
    AlertState, AlertStatus, Delivery, DeliveryCounts, DeliveryState, Silence, Store, StoreError,
};
use jiff::Timestamp;

/// The alerts of a workspace, those that fire first; of one state, or all.
pub fn alerts(
    store: &Store,
    workspace: &WorkspaceId,
    state: Option<AlertStatus>,
    now: Timestamp,
) -> Result<AlertsBody, StoreError> {
    let silences = store.silences(workspace, Some(now))?;
    let in_force = silences.iter().filter(|one| one.starts_at <= now);
    let silenced: Vec<String> = in_force.filter_map(|one| Some(record(one)?.key)).collect();
    let board = Board { known: &[], silenced: &silenced };
    let mut states = store.alert_board(workspace)?.states;
    states.retain(|one| state.is_none_or(|state| one.state == state));
    states.sort_by(|a, b| (a.state, &a.dedup_key).cmp(&(b.state, &b.dedup_key)));
    let DeliveryCounts { queued, dead, oldest_queued } = store.delivery_counts(workspace)?;
    Ok(AlertsBody {
        alerts: states.iter().map(|state| alert(state, &board)).collect(),
        silences: silences.iter().map(silence).collect(),
        deliveries: DeliveryFigures { queued, dead, oldest_queued: oldest_queued.map(time) },
    })
}

fn time(at: Timestamp) -> String {
    format!("{at:.3}")
}

fn alert(state: &AlertState, board: &Board<'_>) -> AlertBody {
    let AlertState { dedup_key, state, severity, suite, since, updated_at, body } = state;
    let record: Option<AlertRecord> = serde_json::from_str(body).ok();
    let shown = AlertBody {
        key: dedup_key.clone(),
        state: state.name().to_owned(),
        severity: severity.clone(),
        suite: suite.clone(),
        target: None,
        since: time(*since),
        updated_at: time(*updated_at),
        told_at: None,
        silenced: board.is_silenced(dedup_key),
        summary: String::new(),
        owners: Vec::new(),
        run: None,
        figures: Vec::new(),
        failing_count: 0,
        failing: Vec::new(),
        asked: None,
        still_open: None,
    };
    let Some(record) = record else { return shown };
    let AlertRecord {
        schema_version: _,
        subject: _,
        workspace: _,
        target,
        owners,
        summary,
        run,
        figures,
        failing,
        failing_count,
        asked,
        still_open,
        told_at,
        held: _,
        channels: _,
    } = record;
    AlertBody {
        target,
        told_at,
        summary,
        owners,
        run,
        figures,
        failing_count,
        failing,
        asked,
        still_open,
        ..shown
    }
}

fn record(silence: &Silence) -> Option<SilenceRecord> {
    serde_json::from_str(&silence.body).ok()
}

/// A silence.
pub fn silence(silence: &Silence) -> SilenceBody {
    let (key, reason) =
        record(silence).map_or_else(Default::default, |record| (record.key, record.reason));
    let Silence { id, starts_at, ends_at, body: _ } = silence;
    SilenceBody { id: *id, key, reason, from: time(*starts_at), until: time(*ends_at) }
}

/// A message.
pub fn delivery(delivery: &Delivery) -> DeliveryBody {
    let message: Option<Message> = serde_json::from_str(&delivery.payload).ok();
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
