//! Blocking work off the reactor, in lanes: so many at once, so many waiting, the rest refused.
//!
//! Reads and writes have lanes of their own, so that writers waiting for a database do not keep
//! readers out. A refusal is quick and says when to come back: under overload the time an answer
//! takes stays bounded because excess is refused. Work whose caller has gone, or has waited too long, is
//! told to stop: its turn is for somebody who still waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;

/// Which kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Looks and changes nothing.
    Read,
    Write,
}

/// How wide the lanes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneSizes {
    pub readers: usize,
    pub writers: usize,
    /// How many of each wait at most.
    pub waiting: usize,
    /// How long one waits at most.
    pub patience: Duration,
}

/// Why work was not done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Too many are waiting already.
    #[error("too many requests are waiting")]
    Full,
    /// Its turn did not come in time.
    #[error("no turn came in time")]
    Late,
    #[error("the work ended in a panic")]
    Panicked,
}

/// Says to work in a lane whether its result is still waited for.
#[derive(Debug, Clone, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Whether nobody waits any more. Work that takes long asks this between its steps, and ends.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Tells the work to stop.
    pub(crate) fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Stops work when whoever waits for it goes away.
struct StopOnDrop(StopFlag);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Both lanes.
#[derive(Debug, Clone)]
pub struct Lanes {
    read: Arc<Road>,
    write: Arc<Road>,
    patience: Duration,
}

#[derive(Debug)]
struct Road {
    turns: Arc<Semaphore>,
    waiting: AtomicUsize,
    most: usize,
}

impl Lanes {
    /// Lanes of these sizes.
    pub fn new(sizes: LaneSizes) -> Self {
        let road = |width: usize| {
            let turns = Arc::new(Semaphore::new(width.max(1)));
            Arc::new(Road { turns, waiting: AtomicUsize::new(0), most: sizes.waiting })
        };
        let (read, write) = (road(sizes.readers), road(sizes.writers));
        Self { read, write, patience: sizes.patience }
    }

    /// How many wait in a lane.
    pub fn waiting(&self, lane: Lane) -> usize {
        self.road(lane).waiting.load(Ordering::Relaxed)
    }

    /// Does blocking work when its turn comes. When this future is dropped, work that has not begun
    /// never begins, and work that has begun is told to stop; it keeps its turn until it does.
    pub async fn run<T: Send + 'static>(
        &self,
        lane: Lane,
        job: impl FnOnce(&StopFlag) -> T + Send + 'static,
    ) -> Result<T, Refused> {
        let turn = self.turn(lane).await?;
        let flag = StopFlag::default();
        let _waiter = StopOnDrop(flag.clone());
        let done = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            (!flag.is_stopped()).then(|| job(&flag))
        });
        done.await.map_err(|_| Refused::Panicked)?.ok_or(Refused::Late)
    }

    async fn turn(&self, lane: Lane) -> Result<tokio::sync::OwnedSemaphorePermit, Refused> {
        let road = self.road(lane);
        if let Ok(turn) = road.turns.clone().try_acquire_owned() {
            return Ok(turn);
        }
        let _place = Place::take(road)?;
        let turn = tokio::time::timeout(self.patience, road.turns.clone().acquire_owned()).await;
        turn.map_err(|_| Refused::Late)?.map_err(|_| Refused::Late)
    }

    fn road(&self, lane: Lane) -> &Road {
        match lane {
            Lane::Read => &self.read,
            Lane::Write => &self.write,
        }
    }
}

/// A place among those who wait; given back also when the waiter goes away.
struct Place<'r>(&'r Road);

impl<'r> Place<'r> {
    fn take(road: &'r Road) -> Result<Self, Refused> {
        let place = Self(road);
        if road.waiting.fetch_add(1, Ordering::AcqRel) >= road.most {
            return Err(Refused::Full);
        }
        Ok(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn narrow(waiting: usize, patience: Duration) -> Lanes {
        Lanes::new(LaneSizes { readers: 1, writers: 1, waiting, patience })
    }

    #[tokio::test]
    async fn the_excess_is_refused_at_once() {
        let lanes = narrow(1, Duration::from_secs(10));
        let (release, held) = std::sync::mpsc::channel::<()>();
        let busy = tokio::spawn({
            let lanes = lanes.clone();
            async move { lanes.run(Lane::Read, move |_| held.recv().is_ok()).await }
        });
        while lanes.read.turns.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let waiter = tokio::spawn({
            let lanes = lanes.clone();
            async move { lanes.run(Lane::Read, |_| 7).await }
        });
        while lanes.waiting(Lane::Read) == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(lanes.run(Lane::Read, |_| 8).await, Err(Refused::Full));
        assert_eq!(lanes.run(Lane::Write, |_| 9).await, Ok(9), "the other lane is free");
        release.send(()).unwrap();
        assert_eq!(busy.await.unwrap(), Ok(true));
        assert_eq!(waiter.await.unwrap(), Ok(7));
        assert_eq!(lanes.waiting(Lane::Read), 0);
    }

    #[tokio::test]
    async fn a_turn_that_does_not_come_is_given_up() {
        let lanes = narrow(4, Duration::from_millis(5));
        let turn = lanes.turn(Lane::Read).await.unwrap();
        assert_eq!(lanes.run(Lane::Read, |_| ()).await, Err(Refused::Late));
        assert_eq!(lanes.waiting(Lane::Read), 0);
        drop(turn);
        assert_eq!(lanes.run(Lane::Read, |_| 1).await, Ok(1));
    }

    #[tokio::test]
    async fn a_panic_gives_its_turn_back() {
        let lanes = narrow(0, Duration::from_millis(5));
        for _ in 0..3 {
            let refused: Result<(), _> = lanes.run(Lane::Write, |_| panic!("on purpose")).await;
            assert_eq!(refused, Err(Refused::Panicked));
        }
        assert_eq!(lanes.run(Lane::Write, |_| 1).await, Ok(1));
    }

    /// Work that asks whether to stop gives its turn back when nobody waits for it.
    #[tokio::test]
    async fn work_stops_when_nobody_waits() {
        let lanes = narrow(4, Duration::from_secs(60));
        let (tell, begun) = tokio::sync::oneshot::channel();
        let waiter = tokio::spawn({
            let lanes = lanes.clone();
            async move {
                let job = move |flag: &StopFlag| {
                    let _ = tell.send(());
                    while !flag.is_stopped() {
                        std::thread::yield_now();
                    }
                };
                lanes.run(Lane::Read, job).await
            }
        });
        begun.await.unwrap();
        waiter.abort();
        // The only turn is free again, or this would wait for a minute and be late.
        assert_eq!(lanes.run(Lane::Read, |_| 2).await, Ok(2));
    }
}
