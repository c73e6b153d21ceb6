//! Messages to receivers that behave and to those that do not.

mod delivery;
mod mail;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use gbrain_core::alert::AlertMessage;
use gbrain_core::id::WorkspaceId;
use gbrain_eval::alert::{
    ChannelRegistry, ChannelSettings, DeliveryMode, DeliveryOutcome, DeliveryTally, DeliveryWorker,
    SendLimits,
};
use gbrain_store::{
    Delivery, DeliveryAction, DeliveryFilter, DeliveryState, Location, NewDelivery, OpenMode, Store,
};
use jiff::Timestamp;
use serde_json::{Value, json};

/// A secret that only its receiver may see.
const SECRETS: [&str; 4] =
    ["pd-routing-key-1", "chat-path-secret-2", "hook-secret-3", "mail-pass-4"];

/// A store with a queue, and channels.
struct Room {
    _dir: tempfile::TempDir,
    store: Store,
    channels: BTreeMap<String, Value>,
    variables: BTreeMap<String, String>,
    limits: SendLimits,
    fates: Mutex<Vec<(i64, DeliveryOutcome)>>,
}

impl Room {
    fn new(channels: Value) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(dir.path().join("brain.db"));
        let store = gbrain_store::Store::open(&location, OpenMode::Use, Timestamp::now()).unwrap();
        let limits = SendLimits {
            timeout: Duration::from_secs(3),
            poll: Duration::from_millis(50),
            ..SendLimits::default()
        };
        let variables =
            [("PD", SECRETS[0]), ("HOOK", SECRETS[2]), ("USER", "ada"), ("PASS", SECRETS[3])];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let channels = serde_json::from_value(channels).unwrap();
        let fates = Mutex::default();
        Self { _dir: dir, store, channels, variables, limits, fates }
    }

    fn set(&mut self, name: &str, value: &str) {
        self.variables.insert(name.to_owned(), value.to_owned());
    }

    fn registry(&self) -> ChannelRegistry {
        let (channels, variables) = (self.channels.clone(), self.variables.clone());
        ChannelRegistry {
            read: Arc::new(move || ChannelSettings::parse(&channels, None, None)),
            environment: Arc::new(move |name: &str| variables.get(name).cloned()),
        }
    }

    /// Queues a message of a key; its number.
    fn queue(&self, channel: &str, key: &str, action: DeliveryAction) -> i64 {
        let message = AlertMessage {
            action: action.name().to_owned(),
            ..AlertMessage::notice(
                "default",
                key,
                format!("about {key} <&>"),
                "2026-11-17T12:00:00Z".to_owned(),
            )
        };
        let new = NewDelivery {
            channel: channel.to_owned(),
            dedup_key: key.to_owned(),
            action,
            payload: json!(message).to_string(),
        };
        self.store.add_deliveries(&ws(), &[new], Timestamp::now()).unwrap()[0]
    }

    /// Sends what is due, once.
    fn send(&self) -> DeliveryTally {
        self.send_for(Duration::from_secs(30))
    }

    fn send_for(&self, within: Duration) -> DeliveryTally {
        let registry = self.registry();
        let (store, limits) = (&self.store, self.limits);
        let worker = DeliveryWorker { store, registry: &registry, worker: "w", limits };
        let errand = DeliveryMode::Due(Instant::now() + within);
        let on_delivery = |delivery: &Delivery, outcome: &DeliveryOutcome| {
            self.fates.lock().unwrap().push((delivery.id, outcome.clone()));
        };
        worker.run(errand, &AtomicBool::new(false), &on_delivery).unwrap()
    }

    fn message(&self, id: i64) -> Delivery {
        let all = self.store.deliveries(&ws(), &DeliveryFilter::default(), 1000).unwrap();
        all.into_iter().find(|one| one.id == id).unwrap()
    }

    #[track_caller]
    fn is(&self, id: i64, state: DeliveryState, says: &str) {
        let message = self.message(id);
        let error = message.error.clone().unwrap_or_default();
        assert!(message.state == state && error.contains(says), "{message:?}");
        self.shows_no_secret();
    }

    /// Neither what is stored nor what was told holds a secret.
    fn shows_no_secret(&self) {
        let all = self.store.deliveries(&ws(), &DeliveryFilter::default(), 1000).unwrap();
        let shown = format!("{all:?} {:?}", self.fates.lock().unwrap());
        for secret in SECRETS {
            assert!(!shown.contains(secret), "{secret} in {shown}");
        }
    }
}

fn ws() -> WorkspaceId {
    WorkspaceId::default()
}
