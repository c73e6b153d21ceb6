//! Queues for blocking work off the reactor: limited concurrency and queue length, the rest is
//! refused.
//!
//! Reads and writes have separate queues, so that writers waiting for the database do not block
//! readers. A refusal is immediate and says when to retry, which bounds the response time under
//! overload. Work whose caller disconnected or timed out is asked to stop, so that its permit goes
//! to a caller that still waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;

/// The kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WorkQueue {
    Read,
    Write,
}

/// Concurrency and queue length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLimits {
    pub readers: usize,
    pub writers: usize,
    /// Most waiting requests per queue.
    pub waiting: usize,
    /// Longest wait in a queue.
    pub timeout: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// The queue is full.
    #[error("too many requests are waiting")]
    Full,
    /// The work did not start in time.
    #[error("the request waited too long")]
    Late,
    #[error("the work panicked")]
    Panicked,
}

/// Tells running work whether its result is still needed.
#[derive(Debug, Clone, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Whether the caller is gone. Long work checks this between its steps and ends early.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Stops the work when its caller is dropped.
struct StopOnDrop(StopFlag);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// The queue of reads and the queue of writes.
#[derive(Debug, Clone)]
pub struct WorkQueues {
    read: Arc<QueueState>,
    write: Arc<QueueState>,
    timeout: Duration,
}

#[derive(Debug)]
struct QueueState {
    turns: Arc<Semaphore>,
    waiting: AtomicUsize,
    max_waiting: usize,
}

impl WorkQueues {
    pub fn new(queue_limits: QueueLimits) -> Self {
        let queue_state = |width: usize| {
            let turns = Arc::new(Semaphore::new(width.max(1)));
            Arc::new(QueueState {
                turns,
                waiting: AtomicUsize::new(0),
                max_waiting: queue_limits.waiting,
            })
        };
        let (read, write) = (queue_state(queue_limits.readers), queue_state(queue_limits.writers));
        Self { read, write, timeout: queue_limits.timeout }
    }

    /// Number of requests waiting in a queue.
    pub fn waiting(&self, queue: WorkQueue) -> usize {
        self.queue_state(queue).waiting.load(Ordering::Relaxed)
    }

    /// Runs blocking work when a permit is free. If this future is dropped, work that has not
    /// started never starts, and running work is asked to stop; it holds its permit until it ends.
    pub async fn run<T: Send + 'static>(
        &self,
        queue: WorkQueue,
        job: impl FnOnce(&StopFlag) -> T + Send + 'static,
    ) -> Result<T, QueueError> {
        let turn = self.turn(queue).await?;
        let flag = StopFlag::default();
        let _waiter = StopOnDrop(flag.clone());
        let done = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            (!flag.is_stopped()).then(|| job(&flag))
        });
        done.await.map_err(|_| QueueError::Panicked)?.ok_or(QueueError::Late)
    }

    async fn turn(
        &self,
        queue: WorkQueue,
    ) -> Result<tokio::sync::OwnedSemaphorePermit, QueueError> {
        let queue_state = self.queue_state(queue);
        if let Ok(turn) = queue_state.turns.clone().try_acquire_owned() {
            return Ok(turn);
        }
        let _slot = QueueSlot::take(queue_state)?;
        let turn =
            tokio::time::timeout(self.timeout, queue_state.turns.clone().acquire_owned()).await;
        turn.map_err(|_| QueueError::Late)?.map_err(|_| QueueError::Late)
    }

    fn queue_state(&self, queue: WorkQueue) -> &QueueState {
        match queue {
            WorkQueue::Read => &self.read,
            WorkQueue::Write => &self.write,
        }
    }
}

/// A position in the queue, released on drop.
struct QueueSlot<'r>(&'r QueueState);

impl<'r> QueueSlot<'r> {
    fn take(queue_state: &'r QueueState) -> Result<Self, QueueError> {
        let slot = Self(queue_state);
        if queue_state.waiting.fetch_add(1, Ordering::AcqRel) >= queue_state.max_waiting {
            return Err(QueueError::Full);
        }
        Ok(slot)
    }
}

impl Drop for QueueSlot<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn narrow(waiting: usize, timeout: Duration) -> WorkQueues {
        WorkQueues::new(QueueLimits { readers: 1, writers: 1, waiting, timeout })
    }

    #[tokio::test]
    async fn the_excess_is_refused_at_once() {
        let queues = narrow(1, Duration::from_secs(10));
        let (release, held) = std::sync::mpsc::channel::<()>();
        let busy = tokio::spawn({
            let queues = queues.clone();
            async move { queues.run(WorkQueue::Read, move |_| held.recv().is_ok()).await }
        });
        while queues.read.turns.available_permits() > 0 {
            tokio::task::yield_now().await;
        }
        let waiter = tokio::spawn({
            let queues = queues.clone();
            async move { queues.run(WorkQueue::Read, |_| 7).await }
        });
        while queues.waiting(WorkQueue::Read) == 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(queues.run(WorkQueue::Read, |_| 8).await, Err(QueueError::Full));
        assert_eq!(queues.run(WorkQueue::Write, |_| 9).await, Ok(9), "the other lane is free");
        release.send(()).unwrap();
        assert_eq!(busy.await.unwrap(), Ok(true));
        assert_eq!(waiter.await.unwrap(), Ok(7));
        assert_eq!(queues.waiting(WorkQueue::Read), 0);
    }

    #[tokio::test]
    async fn a_turn_that_does_not_come_is_given_up() {
        let queues = narrow(4, Duration::from_millis(5));
        let turn = queues.turn(WorkQueue::Read).await.unwrap();
        assert_eq!(queues.run(WorkQueue::Read, |_| ()).await, Err(QueueError::Late));
        assert_eq!(queues.waiting(WorkQueue::Read), 0);
        drop(turn);
        assert_eq!(queues.run(WorkQueue::Read, |_| 1).await, Ok(1));
    }

    #[tokio::test]
    async fn a_panic_gives_its_turn_back() {
        let queues = narrow(0, Duration::from_millis(5));
        for _ in 0..3 {
            let refused: Result<(), _> =
                queues.run(WorkQueue::Write, |_| panic!("on purpose")).await;
            assert_eq!(refused, Err(QueueError::Panicked));
        }
        assert_eq!(queues.run(WorkQueue::Write, |_| 1).await, Ok(1));
    }

    /// Work that checks its stop flag ends and frees its slot when its caller has left.
    #[tokio::test]
    async fn work_stops_when_the_caller_leaves() {
        let queues = narrow(4, Duration::from_secs(60));
        let (sender, begun) = tokio::sync::oneshot::channel();
        let waiter = tokio::spawn({
            let queues = queues.clone();
            async move {
                let job = move |flag: &StopFlag| {
                    let _ = sender.send(());
                    while !flag.is_stopped() {
                        std::thread::yield_now();
                    }
                };
                queues.run(WorkQueue::Read, job).await
            }
        });
        begun.await.unwrap();
        waiter.abort();
        // The only turn is free again, or this would wait for a minute and be late.
        assert_eq!(queues.run(WorkQueue::Read, |_| 2).await, Ok(2));
    }
}
