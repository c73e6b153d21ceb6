//! Sends queued messages: several at once, a few per channel, each under a lease.
//!
//! A failing channel is paused for a period that doubles, so a receiver that is down costs an
//! occasional attempt rather than one per message; the first successful delivery ends the pause.
//! Every message also has its own doubling wait, so a message that fails alone delays only its own
//! key.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};
use gbrain_core::alert::{AlertMessage, DeliveryTally};
use gbrain_net::RetryPolicy;
use gbrain_store::{Delivery, DeliveryClaim, DeliveryEnd, Store, StoreError};
use jiff::{SignedDuration, Timestamp};

use super::channels::{ChannelRegistry, ChannelSettings};
use super::transport::{MessageId, SendResult, Transport};

const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// Retry policy of a message: from one second, doubling to 15 minutes, without a limit of attempts.
const RETRY: RetryPolicy = RetryPolicy {
    attempts: u32::MAX,
    first: Duration::from_secs(1),
    max_wait: Duration::from_secs(900),
};
/// Pauses of a failing channel.
const PAUSE: RetryPolicy = RetryPolicy {
    attempts: u32::MAX,
    first: Duration::from_secs(1),
    max_wait: Duration::from_secs(60),
};
/// The longest wait that a receiver may request.
const MAX_REQUESTED_WAIT: Duration = Duration::from_secs(3600);
/// How long an unusable channel is paused here, and how soon another process may try it.
const UNUSABLE_PAUSE: Duration = Duration::from_secs(60);
const UNUSABLE_RETRY: SignedDuration = SignedDuration::from_secs(5);

/// How many messages are sent at once, and for how long each is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendLimits {
    /// Timeout of one delivery.
    pub timeout: Duration,
    /// Lease of a message: longer than the timeout, or it would be sent twice.
    pub lease: Duration,
    pub concurrency: usize,
    pub per_channel: usize,
    /// How often to check for due messages.
    pub poll: Duration,
}

impl Default for SendLimits {
    fn default() -> Self {
        Self::for_lease(Duration::from_secs(30))
    }
}

impl SendLimits {
    pub fn for_lease(lease: Duration) -> Self {
        let lease = lease.max(Duration::from_secs(3));
        let timeout = (lease / 3).min(Duration::from_secs(10));
        Self { timeout, lease, concurrency: 32, per_channel: 8, poll: Duration::from_secs(1) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryMode {
    /// Runs until the stop flag is set.
    Forever,
    /// Send the messages that are due, once, and stop at this time.
    Due(Instant),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryOutcome {
    Sent,
    /// It will be retried.
    Later(String),
    /// It is not retried.
    Dead(String),
}

/// Called for every delivery attempt.
pub type OnDelivery<'a> = dyn Fn(&Delivery, &DeliveryOutcome) + Sync + 'a;

/// Sends the queued messages of all workspaces.
#[derive(Clone, Copy)]
pub struct DeliveryWorker<'a> {
    pub store: &'a Store,
    pub registry: &'a ChannelRegistry,
    /// A name that is unique among senders.
    pub worker: &'a str,
    pub limits: SendLimits,
}

struct DeliveryAttempt {
    channel: String,
    outcome: DeliveryOutcome,
    /// The pause of the channel if it failed: the requested wait, or `None` for the next in its
    /// policy.
    pause: Option<Option<Duration>>,
}

#[derive(Default)]
struct ChannelState {
    under_way: usize,
    failures: u32,
    paused: Option<Instant>,
}

impl DeliveryWorker<'_> {
    /// Sends queued messages. A store error ends it, after deliveries in progress have finished.
    pub fn run(
        &self,
        mode: DeliveryMode,
        stop: &AtomicBool,
        on_delivery: &OnDelivery<'_>,
    ) -> Result<DeliveryTally, StoreError> {
        let (done, ended) = crossbeam_channel::unbounded::<DeliveryAttempt>();
        let transport = Transport::new(self.limits.timeout);
        let (mut states, mut tally) = (ChannelStates::default(), DeliveryTally::default());
        let mut next = Instant::now();
        std::thread::scope(|scope| {
            loop {
                let is_over = stop.load(Ordering::Acquire) || mode.is_over();
                let is_time = Instant::now() >= next
                    && states.under_way() + self.limits.per_channel <= self.limits.concurrency;
                if !is_over && is_time {
                    let claimed = self.claim(&states)?;
                    if claimed.is_empty() {
                        next = Instant::now() + self.limits.poll;
                    }
                    let channels = Arc::new(match claimed.is_empty() {
                        true => ChannelSettings::default(),
                        false => (self.registry.read)(),
                    });
                    for delivery in claimed {
                        states.begin(&delivery.channel);
                        let (done, transport, channels) =
                            (done.clone(), &transport, channels.clone());
                        scope.spawn(move || {
                            self.attempt_one(delivery, transport, &channels, &done, on_delivery)
                        });
                    }
                }
                if states.under_way() == 0
                    && (is_over || (mode != DeliveryMode::Forever && next > Instant::now()))
                {
                    return Ok(tally);
                }
                if wait(&ended, &mut states, &mut tally) {
                    next = Instant::now();
                }
            }
        })
    }

    fn claim(&self, states: &ChannelStates) -> Result<Vec<Delivery>, StoreError> {
        let now = self.store.clock()?;
        let lease = SignedDuration::try_from(self.limits.lease);
        let lease_until = lease.ok().and_then(|lease| now.checked_add(lease).ok()).unwrap_or(now);
        let (worker, limit) = (self.worker.to_owned(), self.limits.per_channel);
        let unavailable = states.unavailable(limit, Instant::now());
        self.store.claim_deliveries(
            &DeliveryClaim { worker, lease_until, limit, except: unavailable },
            now,
        )
    }

    /// Sends a message and records its outcome in the store first.
    fn attempt_one(
        &self,
        delivery: Delivery,
        transport: &Transport,
        channels: &ChannelSettings,
        done: &Sender<DeliveryAttempt>,
        on_delivery: &OnDelivery<'_>,
    ) {
        let sent = catch_unwind(AssertUnwindSafe(|| self.send(&delivery, transport, channels)));
        let sent = sent.unwrap_or_else(|_| {
            Ok(SendResult::Later { error: "sending panicked".to_owned(), after: None })
        });
        let channel = delivery.channel.clone();
        // Without the store's clock nothing can be recorded: the lease expires.
        let attempt = match sent.and_then(|sent| self.end(&delivery, sent)) {
            Ok((outcome, pause)) => {
                on_delivery(&delivery, &outcome);
                DeliveryAttempt { channel, outcome, pause }
            }
            Err(error) => DeliveryAttempt {
                channel,
                outcome: DeliveryOutcome::Later(error.to_string()),
                pause: Some(None),
            },
        };
        // The receiver may have ended.
        let _ = done.send(attempt);
    }

    fn send(
        &self,
        delivery: &Delivery,
        transport: &Transport,
        channels: &ChannelSettings,
    ) -> Result<SendResult, StoreError> {
        let message: AlertMessage = match serde_json::from_str(&delivery.payload) {
            Ok(message) => message,
            Err(error) => {
                return Ok(SendResult::Never(format!("the message cannot be parsed: {error}")));
            }
        };
        let channel = match channels.channel(&delivery.channel) {
            Ok(channel) => channel,
            Err(why) => return Ok(SendResult::Unusable(why)),
        };
        let now = self.store.clock()?;
        // Another process may have claimed it: its next message must not be overtaken.
        let needed = SignedDuration::try_from(self.limits.timeout).unwrap_or_default();
        let is_ours = delivery.lease_until.is_some_and(|until| until.duration_since(now) >= needed);
        if !is_ours {
            let error = "the lease expired before the message could be sent".to_owned();
            return Ok(SendResult::Later { error, after: None });
        }
        let id = MessageId { id: message_id(delivery), written: delivery.created_at, now };
        Ok(transport.send(channel, self.registry, &message, &id))
    }

    fn end(
        &self,
        delivery: &Delivery,
        sent: SendResult,
    ) -> Result<(DeliveryOutcome, Option<Option<Duration>>), StoreError> {
        let now = self.store.clock()?;
        let later = |wait: SignedDuration| now.checked_add(wait).unwrap_or(now);
        let (end, outcome, pause) = match sent {
            SendResult::Received(_) => (DeliveryEnd::Sent, DeliveryOutcome::Sent, None),
            SendResult::Never(error) => {
                (DeliveryEnd::Dead { error: error.clone() }, DeliveryOutcome::Dead(error), None)
            }
            SendResult::Unusable(error) => {
                let end = DeliveryEnd::Retry { at: later(UNUSABLE_RETRY), error: error.clone() };
                (end, DeliveryOutcome::Later(error), Some(Some(UNUSABLE_PAUSE)))
            }
            SendResult::Later { error, after } => {
                let after = after.map(|after| after.min(MAX_REQUESTED_WAIT));
                let own = RETRY.wait(delivery.attempt.max(1), None, fastrand::f64());
                let wait = own.unwrap_or(RETRY.max_wait).max(after.unwrap_or_default());
                let at = later(SignedDuration::try_from(wait).unwrap_or(SignedDuration::MAX));
                let end = DeliveryEnd::Retry { at, error: error.clone() };
                (end, DeliveryOutcome::Later(error), Some(after))
            }
        };
        self.record_end(delivery, &end, now)?;
        Ok((outcome, pause))
    }

    /// Retries on store errors: an unrecorded outcome means that the message is sent twice.
    fn record_end(
        &self,
        delivery: &Delivery,
        end: &DeliveryEnd,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let Some(lease) = delivery.lease() else { return Ok(()) };
        let mut attempts = 0;
        loop {
            attempts += 1;
            match self.store.end_delivery(&delivery.workspace, delivery.id, &lease, end, now) {
                Ok(_) => return Ok(()),
                Err(error) if attempts == 5 => return Err(error),
                Err(_) => std::thread::sleep(STOP_CHECK_INTERVAL * attempts),
            }
        }
    }
}

/// A globally unique message id: brains may share a receiver.
pub(super) fn message_id(delivery: &Delivery) -> String {
    let Delivery { workspace, id, created_at, .. } = delivery;
    format!("{workspace}-{id}-{}", created_at.as_millisecond())
}

/// Waits briefly for attempts to end; returns whether one did.
fn wait(
    ended: &Receiver<DeliveryAttempt>,
    states: &mut ChannelStates,
    tally: &mut DeliveryTally,
) -> bool {
    let Ok(first) = ended.recv_timeout(STOP_CHECK_INTERVAL) else { return false };
    for attempt in std::iter::once(first).chain(ended.try_iter()) {
        match attempt.outcome {
            DeliveryOutcome::Sent => tally.sent += 1,
            DeliveryOutcome::Later(_) => tally.failed += 1,
            DeliveryOutcome::Dead(_) => tally.dead += 1,
        }
        states.end(&attempt, Instant::now());
    }
    true
}

impl DeliveryMode {
    fn is_over(self) -> bool {
        matches!(self, Self::Due(until) if Instant::now() >= until)
    }
}

#[derive(Default)]
struct ChannelStates(BTreeMap<String, ChannelState>);

impl ChannelStates {
    fn under_way(&self) -> usize {
        self.0.values().map(|state| state.under_way).sum()
    }

    /// Channels that may not be used now: they are at their limit or paused.
    fn unavailable(&self, limit: usize, now: Instant) -> Vec<String> {
        let is_busy = |state: &ChannelState| {
            state.under_way >= limit || state.paused.is_some_and(|until| now < until)
        };
        self.0
            .iter()
            .filter(|(_, state)| is_busy(state))
            .map(|(message_id, _)| message_id.clone())
            .collect()
    }

    fn begin(&mut self, channel: &str) {
        self.0.entry(channel.to_owned()).or_default().under_way += 1;
    }

    fn end(&mut self, attempt: &DeliveryAttempt, now: Instant) {
        let state = self.0.entry(attempt.channel.clone()).or_default();
        state.under_way = state.under_way.saturating_sub(1);
        match attempt.pause {
            None => (state.failures, state.paused) = (0, None),
            Some(requested) => {
                // Deliveries in progress at the same time failed together: count them once.
                let is_paused = state.paused.is_some_and(|until| now < until);
                state.failures += u32::from(!is_paused);
                let own = PAUSE.wait(state.failures.max(1), None, fastrand::f64());
                let pause = own.unwrap_or(PAUSE.max_wait).max(requested.unwrap_or_default());
                state.paused = state.paused.max(now.checked_add(pause));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempt(pause: Option<Option<Duration>>) -> DeliveryAttempt {
        DeliveryAttempt { channel: "pager".to_owned(), outcome: DeliveryOutcome::Sent, pause }
    }

    #[test]
    fn a_channel_that_fails_is_left_alone_for_longer_and_longer() {
        let (mut states, mut now) = (ChannelStates::default(), Instant::now());
        let mut waits = Vec::new();
        for _ in 0..8 {
            states.begin("pager");
            states.end(&attempt(Some(None)), now);
            let until = states.0["pager"].paused.unwrap();
            assert_eq!(states.unavailable(8, now), ["pager"]);
            waits.push(until - now);
            now = until;
            assert_eq!(states.unavailable(8, now), [] as [String; 0]);
        }
        assert!(
            waits[0] <= Duration::from_secs(1) && waits[7] >= Duration::from_secs(30),
            "{waits:?}"
        );
        assert!(waits.iter().all(|wait| *wait <= Duration::from_secs(60)), "{waits:?}");
        states.end(&attempt(None), now);
        states.end(&attempt(Some(None)), now);
        assert!(
            states.0["pager"].paused.unwrap() - now <= Duration::from_secs(1),
            "it had recovered"
        );
    }

    #[test]
    fn retry_after_is_respected() {
        let (mut states, now) = (ChannelStates::default(), Instant::now());
        states.begin("pager");
        states.end(&attempt(Some(Some(Duration::from_secs(90)))), now);
        assert_eq!(states.0["pager"].paused, Some(now + Duration::from_secs(90)));
        states.end(&attempt(Some(None)), now);
        assert_eq!(states.0["pager"].paused, Some(now + Duration::from_secs(90)), "no shorter");
    }

    #[test]
    fn as_much_as_may_be_is_under_way() {
        let mut states = ChannelStates::default();
        (0..3).for_each(|_| states.begin("slow"));
        states.begin("quick");
        assert_eq!(states.unavailable(3, Instant::now()), ["slow"]);
        assert_eq!(states.under_way(), 4);
    }
}
