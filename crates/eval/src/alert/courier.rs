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

use super::book::{ChannelBook, Directory};
use super::post::{Post, Posted, Stamp};

/// How often it is looked whether it is time to stop.
const TICK: Duration = Duration::from_millis(50);
/// The waits of a message: a second, doubled to a quarter of an hour, for as long as it takes.
const PATIENCE: Retry =
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
pub enum Errand {
    /// Until told to stop.
    Forever,
    /// What is due, once, and not longer than this.
    Due(Instant),
}

/// What became of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It was received.
    Sent,
    /// It is tried again.
    Later(String),
    /// It was given up.
    Dead(String),
}

/// What became of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Received.
    pub sent: usize,
    /// To be tried again.
    pub failed: usize,
    /// Given up.
    pub dead: usize,
}

/// Told of every message that was tried.
pub type Witness<'a> = dyn Fn(&Delivery, &Fate) + Sync + 'a;

/// Somebody who sends what is queued, of all workspaces.
#[derive(Clone, Copy)]
pub struct Courier<'a> {
    /// Where messages are queued.
    pub store: &'a Store,
    /// Where channels are looked up.
    pub book: &'a ChannelBook,
    /// What no other sender is called.
    pub worker: &'a str,
    /// How messages are sent.
    pub limits: SendLimits,
}

/// A message that was tried.
struct Tried {
    channel: String,
    fate: Fate,
    /// How long to leave the channel alone, if it is the channel; a wait that was asked for, or the next.
    pause: Option<Option<Duration>>,
}

/// What a channel is doing.
#[derive(Default)]
struct Lane {
    under_way: usize,
    failures: u32,
    paused: Option<Instant>,
}

impl Courier<'_> {
    /// Sends what is queued. A store that does not answer ends it; what is under way is waited for.
    pub fn run(
        &self,
        errand: Errand,
        stop: &AtomicBool,
        witness: &Witness<'_>,
    ) -> Result<Tally, StoreError> {
        let (done, ended) = crossbeam_channel::unbounded::<Tried>();
        let post = Post::new(self.limits.timeout);
        let (mut lanes, mut tally) = (Lanes::default(), Tally::default());
        let mut next = Instant::now();
        std::thread::scope(|scope| {
            loop {
                let is_over = stop.load(Ordering::Acquire) || errand.is_over();
                let is_time = Instant::now() >= next
                    && lanes.under_way() + self.limits.of_a_channel <= self.limits.at_once;
                if !is_over && is_time {
                    let claimed = self.claim(&lanes)?;
                    if claimed.is_empty() {
                        next = Instant::now() + self.limits.poll;
                    }
                    let directory = Arc::new(match claimed.is_empty() {
                        true => Directory::default(),
                        false => (self.book.read)(),
                    });
                    for delivery in claimed {
                        lanes.begin(&delivery.channel);
                        let (done, post, directory) = (done.clone(), &post, directory.clone());
                        scope.spawn(move || self.carry(delivery, post, &directory, &done, witness));
                    }
                }
                if lanes.under_way() == 0
                    && (is_over || (errand != Errand::Forever && next > Instant::now()))
                {
                    return Ok(tally);
                }
                if wait(&ended, &mut lanes, &mut tally) {
                    next = Instant::now();
                }
            }
        })
    }

    fn claim(&self, lanes: &Lanes) -> Result<Vec<Delivery>, StoreError> {
        let now = self.store.clock()?;
        let lease = SignedDuration::try_from(self.limits.lease);
        let lease_until = lease.ok().and_then(|lease| now.checked_add(lease).ok()).unwrap_or(now);
        let (worker, limit) = (self.worker.to_owned(), self.limits.of_a_channel);
        let except = lanes.except(limit, Instant::now());
        self.store.claim_deliveries(&DeliveryClaim { worker, lease_until, limit, except }, now)
    }

    /// Sends a message, and says what became of it, to the store first.
    fn carry(
        &self,
        delivery: Delivery,
        post: &Post,
        directory: &Directory,
        done: &Sender<Tried>,
        witness: &Witness<'_>,
    ) {
        let posted = catch_unwind(AssertUnwindSafe(|| self.send(&delivery, post, directory)));
        let posted = posted.unwrap_or_else(|_| {
            Ok(Posted::Later { error: "sending it ended in a panic".to_owned(), after: None })
        });
        let channel = delivery.channel.clone();
        // Without a clock there is no word either: its lease runs out.
        let tried = match posted.and_then(|posted| self.end(&delivery, posted)) {
            Ok((fate, pause)) => {
                witness(&delivery, &fate);
                Tried { channel, fate, pause }
            }
            Err(error) => {
                Tried { channel, fate: Fate::Later(error.to_string()), pause: Some(None) }
            }
        };
        // Whoever waited for it may have gone.
        let _ = done.send(tried);
    }

    fn send(
        &self,
        delivery: &Delivery,
        post: &Post,
        directory: &Directory,
    ) -> Result<Posted, StoreError> {
        let message: Message = match serde_json::from_str(&delivery.payload) {
            Ok(message) => message,
            Err(error) => {
                return Ok(Posted::Never(format!("the message can't be read: {error}")));
            }
        };
        let channel = match directory.channel(&delivery.channel) {
            Ok(channel) => channel,
            Err(why) => return Ok(Posted::Unusable(why)),
        };
        let now = self.store.clock()?;
        // Somebody else may have it by now: what they send next must not be overtaken.
        let needed = SignedDuration::try_from(self.limits.timeout).unwrap_or_default();
        let is_ours = delivery.lease_until.is_some_and(|until| until.duration_since(now) >= needed);
        if !is_ours {
            let error = "its lease ran out before it could be sent".to_owned();
            return Ok(Posted::Later { error, after: None });
        }
        let stamp = Stamp { id: name(delivery), written: delivery.created_at, now };
        Ok(post.send(channel, self.book, &message, &stamp))
    }

    fn end(
        &self,
        delivery: &Delivery,
        posted: Posted,
    ) -> Result<(Fate, Option<Option<Duration>>), StoreError> {
        let now = self.store.clock()?;
        let later = |wait: SignedDuration| now.checked_add(wait).unwrap_or(now);
        let (end, fate, pause) = match posted {
            Posted::Received(_) => (DeliveryEnd::Sent, Fate::Sent, None),
            Posted::Never(error) => {
                (DeliveryEnd::Dead { error: error.clone() }, Fate::Dead(error), None)
            }
            Posted::Unusable(error) => {
                let end = DeliveryEnd::Retry { at: later(ELSEWHERE), error: error.clone() };
                (end, Fate::Later(error), Some(Some(UNUSABLE)))
            }
            Posted::Later { error, after } => {
                let after = after.map(|after| after.min(ASKED));
                let own = PATIENCE.wait(delivery.attempt.max(1), None, fastrand::f64());
                let wait = own.unwrap_or(PATIENCE.longest).max(after.unwrap_or_default());
                let at = later(SignedDuration::try_from(wait).unwrap_or(SignedDuration::MAX));
                let end = DeliveryEnd::Retry { at, error: error.clone() };
                (end, Fate::Later(error), Some(after))
            }
        };
        self.say(delivery, &end, now)?;
        Ok((fate, pause))
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
fn wait(ended: &Receiver<Tried>, lanes: &mut Lanes, tally: &mut Tally) -> bool {
    let Ok(first) = ended.recv_timeout(TICK) else { return false };
    for tried in std::iter::once(first).chain(ended.try_iter()) {
        match tried.fate {
            Fate::Sent => tally.sent += 1,
            Fate::Later(_) => tally.failed += 1,
            Fate::Dead(_) => tally.dead += 1,
        }
        lanes.end(&tried, Instant::now());
    }
    true
}

impl Errand {
    fn is_over(self) -> bool {
        matches!(self, Self::Due(until) if Instant::now() >= until)
    }
}

#[derive(Default)]
struct Lanes(BTreeMap<String, Lane>);

impl Lanes {
    fn under_way(&self) -> usize {
        self.0.values().map(|lane| lane.under_way).sum()
    }

    /// Channels that nothing is wanted of now: as much as may be is under way, or they are left alone.
    fn except(&self, most: usize, now: Instant) -> Vec<String> {
        let is_busy =
            |lane: &Lane| lane.under_way >= most || lane.paused.is_some_and(|until| now < until);
        self.0.iter().filter(|(_, lane)| is_busy(lane)).map(|(name, _)| name.clone()).collect()
    }

    fn begin(&mut self, channel: &str) {
        self.0.entry(channel.to_owned()).or_default().under_way += 1;
    }

    fn end(&mut self, tried: &Tried, now: Instant) {
        let lane = self.0.entry(tried.channel.clone()).or_default();
        lane.under_way = lane.under_way.saturating_sub(1);
        match tried.pause {
            None => (lane.failures, lane.paused) = (0, None),
            Some(asked) => {
                // Those that were under way together failed together.
                let is_known = lane.paused.is_some_and(|until| now < until);
                lane.failures += u32::from(!is_known);
                let own = PAUSE.wait(lane.failures.max(1), None, fastrand::f64());
                let pause = own.unwrap_or(PAUSE.longest).max(asked.unwrap_or_default());
                lane.paused = lane.paused.max(now.checked_add(pause));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(pause: Option<Option<Duration>>) -> Tried {
        Tried { channel: "pager".to_owned(), fate: Fate::Sent, pause }
    }

    #[test]
    fn a_channel_that_fails_is_left_alone_for_longer_and_longer() {
        let (mut lanes, mut now) = (Lanes::default(), Instant::now());
        let mut waits = Vec::new();
        for _ in 0..8 {
            lanes.begin("pager");
            lanes.end(&tried(Some(None)), now);
            let until = lanes.0["pager"].paused.unwrap();
            assert_eq!(lanes.except(8, now), ["pager"]);
            waits.push(until - now);
            now = until;
            assert_eq!(lanes.except(8, now), [] as [String; 0]);
        }
        assert!(
            waits[0] <= Duration::from_secs(1) && waits[7] >= Duration::from_secs(30),
            "{waits:?}"
        );
        assert!(waits.iter().all(|wait| *wait <= Duration::from_secs(60)), "{waits:?}");
        lanes.end(&tried(None), now);
        lanes.end(&tried(Some(None)), now);
        assert!(
            lanes.0["pager"].paused.unwrap() - now <= Duration::from_secs(1),
            "it had recovered"
        );
    }

    #[test]
    fn what_is_asked_for_is_waited_for() {
        let (mut lanes, now) = (Lanes::default(), Instant::now());
        lanes.begin("pager");
        lanes.end(&tried(Some(Some(Duration::from_secs(90)))), now);
        assert_eq!(lanes.0["pager"].paused, Some(now + Duration::from_secs(90)));
        lanes.end(&tried(Some(None)), now);
        assert_eq!(lanes.0["pager"].paused, Some(now + Duration::from_secs(90)), "no shorter");
    }

    #[test]
    fn as_much_as_may_be_is_under_way() {
        let mut lanes = Lanes::default();
        (0..3).for_each(|_| lanes.begin("slow"));
        lanes.begin("quick");
        assert_eq!(lanes.except(3, Instant::now()), ["slow"]);
        assert_eq!(lanes.under_way(), 4);
    }
}
