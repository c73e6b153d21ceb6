//! Places for connections: who may have one, and who loses it when somebody new comes.
//!
//! A connection is *open* until a whole request was read from it, and again when the last byte of the answer
//! was handed to the operating system; it is *busy* in between. When all places are taken, or all that one address may have, the one that
//! has been open for longest is closed: whoever sends nothing, or sends slowly, keeps nobody out. A busy
//! one is never closed for another. When all are busy, a newcomer gets one of a few reserved places, where
//! only health checks are answered.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::unsent::Unsent;

/// Places beside the others, for health checks while all the others are busy.
pub(crate) const RESERVED: usize = 32;

/// How many places there are.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlaceLimits {
    /// For all addresses together.
    pub(super) all: usize,
    pub(super) of_address: usize,
    /// Beside these, for health checks.
    pub(super) reserved: usize,
}

const OPEN: u8 = 0;
const BUSY: u8 = 1;
const CLOSED: u8 = 2;

/// The place of one connection.
#[derive(Debug)]
pub(crate) struct Place {
    address: IpAddr,
    /// Whether it is one of the reserved ones.
    pub(super) is_reserved: bool,
    state: AtomicU8,
    /// Whether a request ever began.
    has_begun: AtomicBool,
    /// Whether a request was answered before all of it was read.
    is_answered_early: AtomicBool,
    /// Whether a whole request was read whose answer is not all in the buffer of the connection.
    is_answering: AtomicBool,
    /// Whether all of an answer is in that buffer, and some of it may not be written yet.
    is_buffered: AtomicBool,
    unsent: Mutex<UnsentAnswers>,
    /// When it was last busy, as a number that only rises.
    since: AtomicU64,
    clock: Arc<AtomicU64>,
    closed: Notify,
}

/// The memory of the answers of a connection. A caller that sends its next request before it has taken the
/// answer to the last one has two.
#[derive(Debug, Default)]
struct UnsentAnswers {
    made: Option<Unsent>,
    buffered: Vec<Unsent>,
}

impl Place {
    /// A whole request was read: from now on it is not closed for another. False when it already was.
    pub(crate) fn is_whole(&self) -> bool {
        let changed = self.state.compare_exchange(OPEN, BUSY, Ordering::AcqRel, Ordering::Acquire);
        self.is_answering.store(true, Ordering::Release);
        changed != Err(CLOSED)
    }

    /// The head of a request was read.
    pub(super) fn begin(&self) {
        self.has_begun.store(true, Ordering::Relaxed);
        self.is_answered_early.store(false, Ordering::Relaxed);
        self.is_answering.store(false, Ordering::Release);
    }

    /// There is an answer, whether or not all of the request was read.
    pub(super) fn answer(&self, unsent: Option<Unsent>) {
        let is_early = !self.is_answering.load(Ordering::Acquire);
        self.is_answered_early.store(is_early, Ordering::Relaxed);
        self.unsent().made = unsent;
    }

    fn unsent(&self) -> MutexGuard<'_, UnsentAnswers> {
        self.unsent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All of the answer is in the buffer of the connection.
    pub(super) fn body_is_buffered(&self) {
        let mut unsent = self.unsent();
        let made = unsent.made.take();
        unsent.buffered.extend(made);
        self.is_answering.store(false, Ordering::Release);
        self.is_buffered.store(true, Ordering::Release);
    }

    /// Nothing is left in the buffer of the connection.
    pub(super) fn is_flushed(&self) {
        if !self.is_buffered.swap(false, Ordering::AcqRel) {
            return;
        }
        self.unsent().buffered.clear();
        if !self.is_answering.load(Ordering::Acquire) {
            self.end();
        }
    }

    /// Whether the other end may still be sending what nobody reads.
    pub(super) fn is_answered_early(&self) -> bool {
        self.is_answered_early.load(Ordering::Relaxed)
    }

    pub(super) fn has_begun(&self) -> bool {
        self.has_begun.load(Ordering::Relaxed)
    }

    /// The request was answered.
    fn end(&self) {
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
pub(super) struct Places {
    limits: PlaceLimits,
    clock: Arc<AtomicU64>,
    taken: Arc<Mutex<HashMap<u64, Arc<Place>>>>,
}

/// A place that is given back when this is dropped.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) place: Arc<Place>,
    number: u64,
    places: Places,
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.remove(&self.number);
    }
}

impl Places {
    pub(super) fn new(limits: PlaceLimits) -> Self {
        Self { limits, clock: Arc::default(), taken: Arc::default() }
    }

    /// How many are taken.
    pub(super) fn count(&self) -> usize {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Closes one connection that is open, because the process can't have more files.
    pub(super) fn close_one(&self) {
        close_one(&mut self.taken.lock().unwrap_or_else(PoisonError::into_inner), |_| true);
    }

    /// A place for a connection of an address; none when even the reserved ones are busy.
    pub(super) fn take(&self, address: IpAddr) -> Option<Taken> {
        let address = network(address);
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let is_reserved = match self.make_room(&mut taken, address) {
            true => false,
            false if self.make_reserved_room(&mut taken, address) => true,
            false => return None,
        };
        let number = self.clock.fetch_add(1, Ordering::Relaxed);
        let place = Arc::new(Place {
            address,
            is_reserved,
            state: AtomicU8::new(OPEN),
            has_begun: AtomicBool::new(false),
            is_answered_early: AtomicBool::new(false),
            is_answering: AtomicBool::new(false),
            is_buffered: AtomicBool::new(false),
            unsent: Mutex::default(),
            since: AtomicU64::new(number),
            clock: self.clock.clone(),
            closed: Notify::new(),
        });
        taken.insert(number, place.clone());
        Some(Taken { place, number, places: self.clone() })
    }

    /// Whether there is a place for one more of an address, after one that is open was closed for it if
    /// need be.
    fn make_room(&self, taken: &mut HashMap<u64, Arc<Place>>, address: IpAddr) -> bool {
        let PlaceLimits { all, of_address, .. } = self.limits;
        if taken.len() < all.min(of_address) {
            return true;
        }
        let others = taken.values().filter(|place| !place.is_reserved);
        let (mut count, mut own) = (0, 0);
        for place in others {
            count += 1;
            own += usize::from(place.address == address);
        }
        (own < of_address
            || close_one(taken, |place| !place.is_reserved && place.address == address))
            && (count < all || own >= of_address || close_one(taken, |place| !place.is_reserved))
    }

    /// The same of the reserved places. An address that has all that it may have gets few of them.
    fn make_reserved_room(&self, taken: &mut HashMap<u64, Arc<Place>>, address: IpAddr) -> bool {
        let most_of_one = self.limits.reserved.div_ceil(4);
        let reserved = || taken.values().filter(|place| place.is_reserved);
        let own = reserved().filter(|place| place.address == address).count();
        let count = reserved().count();
        if own >= most_of_one {
            return close_one(taken, |place| place.is_reserved && place.address == address);
        }
        count < self.limits.reserved || close_one(taken, |place| place.is_reserved)
    }
}

/// The address that limits go by: of IPv6 the network, because one machine has all of it.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            std::net::Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
    }
}

/// Closes the connection that has been open for longest, one without any request before those that
/// wait for their next.
fn close_one(taken: &mut HashMap<u64, Arc<Place>>, may: impl Fn(&Place) -> bool) -> bool {
    let mut open: Vec<(bool, u64, u64)> = taken
        .iter()
        .filter(|(_, place)| may(place) && place.state.load(Ordering::Acquire) == OPEN)
        .map(|(number, place)| (place.has_begun(), place.since.load(Ordering::Relaxed), *number))
        .collect();
    open.sort_unstable();
    // One may have become busy since it was looked at.
    let closed = open.into_iter().map(|(_, _, number)| number);
    let closed = closed.into_iter().find(|number| taken[number].close());
    closed.is_some_and(|number| taken.remove(&number).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(all: usize, of_address: usize) -> Places {
        Places::new(PlaceLimits { all, of_address, reserved: 4 })
    }

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    fn is_closed(taken: &Taken) -> bool {
        taken.place.state.load(Ordering::Acquire) == CLOSED
    }

    #[test]
    fn the_one_that_is_open_for_longest_makes_room() {
        let places = places(3, 3);
        let held: Vec<Taken> = (0..3).map(|_| places.take(address(1)).unwrap()).collect();
        assert!(held[0].place.is_whole());
        let next = places.take(address(2)).unwrap();
        assert!(!next.place.is_reserved);
        assert_eq!(held.iter().map(is_closed).collect::<Vec<_>>(), [false, true, false]);
        assert!(!held[1].place.is_whole(), "a closed one is not answered");
        held[0].place.end();
        // It was answered, and waits for its next request: those without any go first.
        let _more = places.take(address(2)).unwrap();
        assert_eq!(held.iter().map(is_closed).collect::<Vec<_>>(), [false, true, true]);
    }

    #[test]
    fn a_connection_is_busy_until_its_answer_was_written() {
        let places = places(1, 1);
        let taken = places.take(address(1)).unwrap();
        let is_busy = || taken.place.state.load(Ordering::Acquire) == BUSY;
        taken.place.begin();
        assert!(taken.place.is_whole());
        taken.place.is_flushed();
        taken.place.answer(None);
        assert!(is_busy(), "it is not answered yet");
        taken.place.body_is_buffered();
        assert!(is_busy(), "its answer is not written yet");
        // The next request comes before the answer to this one was taken.
        taken.place.begin();
        assert!(taken.place.is_whole());
        taken.place.is_flushed();
        assert!(is_busy(), "the next one is not answered yet");
        taken.place.answer(None);
        taken.place.body_is_buffered();
        taken.place.begin();
        taken.place.is_flushed();
        assert!(!is_busy(), "nothing more was read than a head");
        taken.place.answer(None);
        assert!(taken.place.is_answered_early());
    }

    #[test]
    fn an_address_has_its_share() {
        let places = places(8, 2);
        let own: Vec<Taken> = (0..6).map(|_| places.take(address(1)).unwrap()).collect();
        assert_eq!(own.iter().filter(|taken| !is_closed(taken)).count(), 2);
        for taken in own.iter().filter(|taken| !is_closed(taken)) {
            assert!(taken.place.is_whole());
        }
        assert!(places.take(address(1)).unwrap().place.is_reserved, "all of its own are busy");
        assert!(!places.take(address(2)).unwrap().place.is_reserved);
        let same = ["2001:db8::1", "2001:db8::2", "::ffff:10.0.0.3"]
            .map(|text| network(text.parse().unwrap()));
        assert_eq!((same[0], same[2]), (same[1], address(3)));
    }

    #[test]
    fn reserved_places_are_bounded_too() {
        let places = places(1, 1);
        let busy = places.take(address(1)).unwrap();
        assert!(busy.place.is_whole());
        let held: Vec<Taken> = (0..40).map(|n| places.take(address(2 + n)).unwrap()).collect();
        assert!(held.iter().all(|taken| taken.place.is_reserved));
        let open: Vec<_> = held.iter().filter(|taken| !is_closed(taken)).collect();
        assert_eq!((open.len(), places.count()), (4, 5));
        for taken in open {
            assert!(taken.place.is_whole());
        }
        assert!(places.take(address(99)).is_none(), "all are busy");
        drop((held, busy));
        assert_eq!(places.count(), 0);
        assert!(!places.take(address(99)).unwrap().place.is_reserved);
    }
}
