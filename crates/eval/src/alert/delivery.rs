//! Sending what is queued: several messages at once, a few of each channel, each under a lease.
//!
//! A channel that fails is left alone for a while that doubles, so a receiver that is down costs an
//! attempt now and then and not one for every message; the first that is received opens it again. Beside that
//! every message has a wait of its own that doubles, so one that alone fails holds up its own key only.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};
use gbrain_core::alert::Message;
use gbrain_net::Retry;
use gbrain_store::{Delivery, DeliveryClaim, DeliveryEnd, Store, StoreError};
use jiff::{SignedDuration, Timestamp};

use super::channels::{ChannelRegistry, Channels};
use super::transport::{MessageId, SendResult, Transport};

/// How often it is looked whether it is time to stop.
const TICK: Duration = Duration::from_millis(50);
/// The waits of a message: a second, doubled to a quarter of an hour, for as long as it takes.
const RETRY: Retry =
    Retry { attempts: u32::MAX, first: Duration::from_secs(1), longest: Duration::from_secs(900) };
/// The waits of a channel.
const PAUSE: Retry =
    Retry { attempts: u32::MAX, first: Duration::from_secs(1), longest: Duration::from_secs(60) };
/// The longest wait that a receiver may ask for.
const ASKED: Duration = Duration::from_secs(3600);
/// How long a channel that can't be used here is left alone, and how soon another process may try.
const UNUSABLE: Duration = Duration::from_secs(60);
const ELSEWHERE: SignedDuration = SignedDuration::from_secs(5);

/// How messages are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendLimits {
    /// How long one may take.
    pub timeout: Duration,
    /// How long it is a sender's: longer than it may take, or it would be sent twice.
    pub lease: Duration,
    /// How many are under way at once.
    pub at_once: usize,
    /// How many of a channel are taken at once.
    pub of_a_channel: usize,
    /// How often it is looked whether there are any.
    pub poll: Duration,
}

impl Default for SendLimits {
    fn default() -> Self {
        Self::of_lease(Duration::from_secs(30))
    }
}

impl SendLimits {
    /// Those of a sender that is given up after so long without a word.
    pub fn of_lease(lease: Duration) -> Self {
        let lease = lease.max(Duration::from_secs(3));
        let timeout = (lease / 3).min(Duration::from_secs(10));
        Self { timeout, lease, at_once: 32, of_a_channel: 8, poll: Duration::from_secs(1) }
    }
}

/// How long to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryMode {
    /// Until told to stop.
    Forever,
    /// What is due, once, and not longer than this.
    Due(Instant),
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryOutcome {
    Sent,
    /// It is tried again.
    Later(String),
    /// It was given up.
    Dead(String),
}

/// What became of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeliveryCount {
    pub sent: usize,
    /// To be tried again.
    pub failed: usize,
    pub dead: usize,
}

/// Called for every message that was tried.
pub type OnDelivery<'a> = dyn Fn(&Delivery, &DeliveryOutcome) + Sync + 'a;

/// Sends what is queued, of all workspaces.
#[derive(Clone, Copy)]
pub struct DeliveryWorker<'a> {
    /// Where messages are queued.
    pub store: &'a Store,
    /// Where channels are looked up.
    pub registry: &'a ChannelRegistry,
    /// What no other sender is called.
    pub worker: &'a str,
    /// How messages are sent.
    pub limits: SendLimits,
}

/// A message that was tried.
struct DeliveryAttempt {
    channel: String,
    outcome: DeliveryOutcome,
    /// How long to leave the channel alone, if it is the channel; a wait that was asked for, or the next.
    pause: Option<Option<Duration>>,
}

/// What a channel is doing.
#[derive(Default)]
struct ChannelState {
    under_way: usize,
    failures: u32,
    paused: Option<Instant>,
}

impl DeliveryWorker<'_> {
    /// Sends what is queued. A store that does not answer ends it; what is under way is waited for.
    pub fn run(
        &self,
        mode: DeliveryMode,
        stop: &AtomicBool,
        on_delivery: &OnDelivery<'_>,
    ) -> Result<DeliveryCount, StoreError> {
        let (done, ended) = crossbeam_channel::unbounded::<DeliveryAttempt>();
        let transport = Transport::new(self.limits.timeout);
        let (mut states, mut tally) = (ChannelStates::default(), DeliveryCount::default());
        let mut next = Instant::now();
        std::thread::scope(|scope| {
            loop {
                let is_over = stop.load(Ordering::Acquire) || mode.is_over();
                let is_time = Instant::now() >= next
                    && states.under_way() + self.limits.of_a_channel <= self.limits.at_once;
                if !is_over && is_time {
                    let claimed = self.claim(&states)?;
                    if claimed.is_empty() {
                        next = Instant::now() + self.limits.poll;
                    }
                    let channels = Arc::new(match claimed.is_empty() {
                        true => Channels::default(),
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
        let (worker, limit) = (self.worker.to_owned(), self.limits.of_a_channel);
        let except = states.except(limit, Instant::now());
        self.store.claim_deliveries(&DeliveryClaim { worker, lease_until, limit, except }, now)
    }

    /// Sends a message, and says what became of it, to the store first.
    fn attempt_one(
        &self,
        delivery: Delivery,
        transport: &Transport,
        channels: &Channels,
        done: &Sender<DeliveryAttempt>,
        on_delivery: &OnDelivery<'_>,
    ) {
        let sent = catch_unwind(AssertUnwindSafe(|| self.send(&delivery, transport, channels)));
        let sent = sent.unwrap_or_else(|_| {
            Ok(SendResult::Later { error: "sending it ended in a panic".to_owned(), after: None })
        });
        let channel = delivery.channel.clone();
        // Without a clock there is no word either: its lease runs out.
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
        // Whoever waited for it may have gone.
        let _ = done.send(attempt);
    }

    fn send(
        &self,
        delivery: &Delivery,
        transport: &Transport,
        channels: &Channels,
    ) -> Result<SendResult, StoreError> {
        let message: Message = match serde_json::from_str(&delivery.payload) {
            Ok(message) => message,
            Err(error) => {
                return Ok(SendResult::Never(format!("the message can't be read: {error}")));
            }
        };
        let channel = match channels.channel(&delivery.channel) {
            Ok(channel) => channel,
            Err(why) => return Ok(SendResult::Unusable(why)),
        };
        let now = self.store.clock()?;
        // Somebody else may have it by now: what they send next must not be overtaken.
        let needed = SignedDuration::try_from(self.limits.timeout).unwrap_or_default();
        let is_ours = delivery.lease_until.is_some_and(|until| until.duration_since(now) >= needed);
        if !is_ours {
            let error = "its lease ran out before it could be sent".to_owned();
            return Ok(SendResult::Later { error, after: None });
        }
        let id = MessageId { id: name(delivery), written: delivery.created_at, now };
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
                let end = DeliveryEnd::Retry { at: later(ELSEWHERE), error: error.clone() };
                (end, DeliveryOutcome::Later(error), Some(Some(UNUSABLE)))
            }
            SendResult::Later { error, after } => {
                let after = after.map(|after| after.min(ASKED));
                let own = RETRY.wait(delivery.attempt.max(1), None, fastrand::f64());
                let wait = own.unwrap_or(RETRY.longest).max(after.unwrap_or_default());
                let at = later(SignedDuration::try_from(wait).unwrap_or(SignedDuration::MAX));
                let end = DeliveryEnd::Retry { at, error: error.clone() };
                (end, DeliveryOutcome::Later(error), Some(after))
            }
        };
        self.say(delivery, &end, now)?;
        Ok((outcome, pause))
    }

    /// A store that hiccups is asked again: a word that is lost is a message that comes twice.
    fn say(
        &self,
        delivery: &Delivery,
        end: &DeliveryEnd,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let Some(lease) = delivery.lease() else { return Ok(()) };
        let mut tries = 0;
        loop {
            tries += 1;
            match self.store.end_delivery(&delivery.workspace, delivery.id, &lease, end, now) {
                Ok(_) => return Ok(()),
                Err(error) if tries == 5 => return Err(error),
                Err(_) => std::thread::sleep(TICK * tries),
            }
        }
    }
}

/// What names a message everywhere: brains that share a receiver do not share names.
pub(super) fn name(delivery: &Delivery) -> String {
    let Delivery { workspace, id, created_at, .. } = delivery;
    format!("{workspace}-{id}-{}", created_at.as_millisecond())
}

/// Waits a little for a message to end; whether one did.
fn wait(
    ended: &Receiver<DeliveryAttempt>,
    states: &mut ChannelStates,
    tally: &mut DeliveryCount,
) -> bool {
    let Ok(first) = ended.recv_timeout(TICK) else { return false };
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

    /// Channels that nothing is wanted of now: as much as may be is under way, or they are left alone.
    fn except(&self, most: usize, now: Instant) -> Vec<String> {
        let is_busy = |state: &ChannelState| {
            state.under_way >= most || state.paused.is_some_and(|until| now < until)
        };
        self.0.iter().filter(|(_, state)| is_busy(state)).map(|(name, _)| name.clone()).collect()
    }

    fn begin(&mut self, channel: &str) {
        self.0.entry(channel.to_owned()).or_default().under_way += 1;
    }

    fn end(&mut self, attempt: &DeliveryAttempt, now: Instant) {
        let state = self.0.entry(attempt.channel.clone()).or_default();
        state.under_way = state.under_way.saturating_sub(1);
        match attempt.pause {
            None => (state.failures, state.paused) = (0, None),
            Some(asked) => {
                // Those that were under way together failed together.
                let is_known = state.paused.is_some_and(|until| now < until);
                state.failures += u32::from(!is_known);
                let own = PAUSE.wait(state.failures.max(1), None, fastrand::f64());
                let pause = own.unwrap_or(PAUSE.longest).max(asked.unwrap_or_default());
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
            assert_eq!(states.except(8, now), ["pager"]);
            waits.push(until - now);
            now = until;
            assert_eq!(states.except(8, now), [] as [String; 0]);
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
    fn what_is_asked_for_is_waited_for() {
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
        assert_eq!(states.except(3, Instant::now()), ["slow"]);
        assert_eq!(states.under_way(), 4);
    }
}
