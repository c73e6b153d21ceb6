//! Connection slots: which connections are accepted, and which one is closed when all slots are
//! taken.
//!
//! A connection is *busy* from when a whole request was read until the last byte of the response
//! was handed to the operating system; otherwise it is *open*. When all slots, or all slots of one
//! address, are taken, one open connection is closed, so idle and slow clients block no others: the
//! oldest of those that were never answered, or else the one that has been open for longest. What a
//! client has sent so far does not count, because it depends on how soon the server reads it. A
//! busy connection is never closed for another. When all are busy, a new connection gets one of a
//! few reserved slots, which answer only health checks.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::response_memory::ResponsePermit;

/// Additional slots for health checks while all others are busy.
pub(crate) const RESERVED: usize = 32;

#[derive(Debug, Clone, Copy)]
pub(super) struct ConnectionLimits {
    pub(super) all: usize,
    pub(super) per_address: usize,
    /// Additional slots for health checks.
    pub(super) reserved: usize,
}

const OPEN: u8 = 0;
const BUSY: u8 = 1;
const CLOSED: u8 = 2;

#[derive(Debug)]
pub(crate) struct ConnectionSlot {
    address: IpAddr,
    pub(super) is_reserved: bool,
    state: AtomicU8,
    /// Whether the head of a request was ever read.
    has_begun: AtomicBool,
    /// Whether a response was ever written completely.
    has_answered: AtomicBool,
    /// Whether a request was answered before all of it was read.
    is_answered_early: AtomicBool,
    /// Whether a whole request was read and its response is not completely in the connection's
    /// buffer.
    is_answering: AtomicBool,
    /// Whether a response is completely in that buffer and may not be written yet.
    is_buffered: AtomicBool,
    unsent: Mutex<PendingResponses>,
    /// Logical time at which the connection last became open.
    since: AtomicU64,
    clock: Arc<AtomicU64>,
    closed: Notify,
}

/// Memory permits of a connection's responses. A client that pipelines requests has several.
#[derive(Debug, Default)]
struct PendingResponses {
    made: Option<ResponsePermit>,
    buffered: Vec<ResponsePermit>,
}

impl ConnectionSlot {
    /// Marks the connection busy after a whole request was read. Returns false if it was already
    /// closed for another.
    pub(crate) fn mark_request_read(&self) -> bool {
        let changed = self.state.compare_exchange(OPEN, BUSY, Ordering::AcqRel, Ordering::Acquire);
        self.is_answering.store(true, Ordering::Release);
        changed != Err(CLOSED)
    }

    /// Called when the head of a request was read.
    pub(super) fn start_request(&self) {
        self.has_begun.store(true, Ordering::Relaxed);
        self.is_answered_early.store(false, Ordering::Relaxed);
        self.is_answering.store(false, Ordering::Release);
    }

    /// Called when a response starts, whether or not the whole request was read.
    pub(super) fn start_response(&self, unsent: Option<ResponsePermit>) {
        let is_early = !self.is_answering.load(Ordering::Acquire);
        self.is_answered_early.store(is_early, Ordering::Relaxed);
        self.unsent().made = unsent;
    }

    fn unsent(&self) -> MutexGuard<'_, PendingResponses> {
        self.unsent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Called when the whole response is in the connection's buffer.
    pub(super) fn mark_response_buffered(&self) {
        let mut unsent = self.unsent();
        let made = unsent.made.take();
        unsent.buffered.extend(made);
        self.is_answering.store(false, Ordering::Release);
        self.is_buffered.store(true, Ordering::Release);
    }

    /// Called when the connection's buffer is empty.
    pub(super) fn mark_flushed(&self) {
        if !self.is_buffered.swap(false, Ordering::AcqRel) {
            return;
        }
        self.unsent().buffered.clear();
        if !self.is_answering.load(Ordering::Acquire) {
            self.finish_response();
        }
    }

    /// Whether the client may still be sending a request that is not read.
    pub(super) fn is_answered_early(&self) -> bool {
        self.is_answered_early.load(Ordering::Relaxed)
    }

    pub(super) fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::Relaxed)
    }

    fn finish_response(&self) {
        self.has_answered.store(true, Ordering::Relaxed);
        self.since.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        let _ = self.state.compare_exchange(BUSY, OPEN, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Resolves when the connection must be closed for another.
    pub(super) async fn closed(&self) {
        self.closed.notified().await;
    }

    fn close(&self) -> bool {
        let changed =
            self.state.compare_exchange(OPEN, CLOSED, Ordering::AcqRel, Ordering::Acquire);
        if changed.is_ok() {
            self.closed.notify_one();
        }
        changed.is_ok()
    }
}

#[derive(Debug, Clone)]
pub(super) struct ConnectionSlots {
    limits: ConnectionLimits,
    clock: Arc<AtomicU64>,
    taken: Arc<Mutex<HashMap<u64, Arc<ConnectionSlot>>>>,
}

/// Dropping it releases the slot.
#[derive(Debug)]
pub(super) struct SlotGuard {
    pub(super) slot: Arc<ConnectionSlot>,
    number: u64,
    slots: ConnectionSlots,
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        let mut taken = self.slots.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.remove(&self.number);
    }
}

impl ConnectionSlots {
    pub(super) fn new(limits: ConnectionLimits) -> Self {
        Self { limits, clock: Arc::default(), taken: Arc::default() }
    }

    pub(super) fn count(&self) -> usize {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Closes one open connection, because the process has no file descriptors left.
    pub(super) fn close_one(&self) {
        close_one(&mut self.taken.lock().unwrap_or_else(PoisonError::into_inner), |_| true);
    }

    /// Takes a slot for a connection of an address; `None` when even the reserved slots are busy.
    pub(super) fn take(&self, address: IpAddr) -> Option<SlotGuard> {
        let address = network(address);
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let is_reserved = match self.make_room(&mut taken, address) {
            true => false,
            false if self.make_reserved_room(&mut taken, address) => true,
            false => return None,
        };
        let number = self.clock.fetch_add(1, Ordering::Relaxed);
        let slot = Arc::new(ConnectionSlot {
            address,
            is_reserved,
            state: AtomicU8::new(OPEN),
            has_begun: AtomicBool::new(false),
            has_answered: AtomicBool::new(false),
            is_answered_early: AtomicBool::new(false),
            is_answering: AtomicBool::new(false),
            is_buffered: AtomicBool::new(false),
            unsent: Mutex::default(),
            since: AtomicU64::new(number),
            clock: self.clock.clone(),
            closed: Notify::new(),
        });
        taken.insert(number, slot.clone());
        Some(SlotGuard { slot, number, slots: self.clone() })
    }

    /// Whether a slot is free for this address, after closing an open connection if necessary.
    fn make_room(&self, taken: &mut HashMap<u64, Arc<ConnectionSlot>>, address: IpAddr) -> bool {
        let ConnectionLimits { all, per_address, .. } = self.limits;
        if taken.len() < all.min(per_address) {
            return true;
        }
        let others = taken.values().filter(|slot| !slot.is_reserved);
        let (mut count, mut own) = (0, 0);
        for slot in others {
            count += 1;
            own += usize::from(slot.address == address);
        }
        (own < per_address || close_one(taken, |slot| !slot.is_reserved && slot.address == address))
            && (count < all || own >= per_address || close_one(taken, |slot| !slot.is_reserved))
    }

    /// The same for reserved slots, of which one address gets at most a quarter.
    fn make_reserved_room(
        &self,
        taken: &mut HashMap<u64, Arc<ConnectionSlot>>,
        address: IpAddr,
    ) -> bool {
        let most_of_one = self.limits.reserved.div_ceil(4);
        let reserved = || taken.values().filter(|slot| slot.is_reserved);
        let own = reserved().filter(|slot| slot.address == address).count();
        let count = reserved().count();
        if own >= most_of_one {
            return close_one(taken, |slot| slot.is_reserved && slot.address == address);
        }
        count < self.limits.reserved || close_one(taken, |slot| slot.is_reserved)
    }
}

/// The address that limits apply to: for IPv6 the /64 network, because one machine can use all of
/// it.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            std::net::Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
    }
}

/// Closes the connection that has been open for longest; those that were never answered go first.
fn close_one(
    taken: &mut HashMap<u64, Arc<ConnectionSlot>>,
    may: impl Fn(&ConnectionSlot) -> bool,
) -> bool {
    let mut open: Vec<(bool, u64, u64)> = taken
        .iter()
        .filter(|(_, slot)| may(slot) && slot.state.load(Ordering::Acquire) == OPEN)
        .map(|(number, slot)| {
            let has_answered = slot.has_answered.load(Ordering::Relaxed);
            (has_answered, slot.since.load(Ordering::Relaxed), *number)
        })
        .collect();
    open.sort_unstable();
    // A connection may have become busy since the list was built.
    let closed = open.into_iter().map(|(_, _, number)| number);
    let closed = closed.into_iter().find(|number| taken[number].close());
    closed.is_some_and(|number| taken.remove(&number).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(all: usize, per_address: usize) -> ConnectionSlots {
        ConnectionSlots::new(ConnectionLimits { all, per_address, reserved: 4 })
    }

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    fn is_closed(taken: &SlotGuard) -> bool {
        taken.slot.state.load(Ordering::Acquire) == CLOSED
    }

    #[test]
    fn the_one_that_is_open_for_longest_makes_room() {
        let slots = slots(3, 3);
        let held: Vec<SlotGuard> = (0..3).map(|_| slots.take(address(1)).unwrap()).collect();
        assert!(held[0].slot.mark_request_read());
        let next = slots.take(address(2)).unwrap();
        assert!(!next.slot.is_reserved);
        assert_eq!(held.iter().map(is_closed).collect::<Vec<_>>(), [false, true, false]);
        assert!(!held[1].slot.mark_request_read(), "a closed one is not answered");
        held[0].slot.finish_response();
        // It was answered, and waits for its next request: those that were not go first, even if the
        // head of their request was read.
        held[2].slot.start_request();
        let more = slots.take(address(2)).unwrap();
        assert_eq!(held.iter().map(is_closed).collect::<Vec<_>>(), [false, true, true]);
        assert!(![&next, &more].into_iter().any(is_closed), "they came later");
    }

    #[test]
    fn a_connection_is_busy_until_its_answer_was_written() {
        let slots = slots(1, 1);
        let taken = slots.take(address(1)).unwrap();
        let is_busy = || taken.slot.state.load(Ordering::Acquire) == BUSY;
        taken.slot.start_request();
        assert!(taken.slot.mark_request_read());
        taken.slot.mark_flushed();
        taken.slot.start_response(None);
        assert!(is_busy(), "it is not answered yet");
        taken.slot.mark_response_buffered();
        assert!(is_busy(), "its answer is not written yet");
        // The next request comes before the answer to this one was taken.
        taken.slot.start_request();
        assert!(taken.slot.mark_request_read());
        taken.slot.mark_flushed();
        assert!(is_busy(), "the next one is not answered yet");
        taken.slot.start_response(None);
        taken.slot.mark_response_buffered();
        taken.slot.start_request();
        taken.slot.mark_flushed();
        assert!(!is_busy(), "nothing more was read than a head");
        taken.slot.start_response(None);
        assert!(taken.slot.is_answered_early());
    }

    #[test]
    fn an_address_has_its_share() {
        let slots = slots(8, 2);
        let own: Vec<SlotGuard> = (0..6).map(|_| slots.take(address(1)).unwrap()).collect();
        assert_eq!(own.iter().filter(|taken| !is_closed(taken)).count(), 2);
        for taken in own.iter().filter(|taken| !is_closed(taken)) {
            assert!(taken.slot.mark_request_read());
        }
        assert!(slots.take(address(1)).unwrap().slot.is_reserved, "all of its own are busy");
        assert!(!slots.take(address(2)).unwrap().slot.is_reserved);
        let same = ["2001:db8::1", "2001:db8::2", "::ffff:10.0.0.3"]
            .map(|text| network(text.parse().unwrap()));
        assert_eq!((same[0], same[2]), (same[1], address(3)));
    }

    #[test]
    fn reserved_places_are_bounded_too() {
        let slots = slots(1, 1);
        let busy = slots.take(address(1)).unwrap();
        assert!(busy.slot.mark_request_read());
        let held: Vec<SlotGuard> = (0..40).map(|n| slots.take(address(2 + n)).unwrap()).collect();
        assert!(held.iter().all(|taken| taken.slot.is_reserved));
        let open: Vec<_> = held.iter().filter(|taken| !is_closed(taken)).collect();
        assert_eq!((open.len(), slots.count()), (4, 5));
        for taken in open {
            assert!(taken.slot.mark_request_read());
        }
        assert!(slots.take(address(99)).is_none(), "all are busy");
        drop((held, busy));
        assert_eq!(slots.count(), 0);
        assert!(!slots.take(address(99)).unwrap().slot.is_reserved);
    }
}
