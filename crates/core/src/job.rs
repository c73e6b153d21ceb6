//! The life of a background job.
//!
//! A job waits in the queue, is run by one worker at a time under a lease, and ends once. A worker
//! that lets its lease run out loses the job to another; what the first one still does is refused.

use crate::named;

/// Where a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum JobState {
    /// Waiting for a worker.
    Queued,
    /// A worker has a lease on it.
    Running,
    /// It has a result.
    Done,
    /// It has an error, and no attempts left.
    Failed,
    /// Somebody did not want it any more.
    Cancelled,
}

named! {
    JobState {
        Queued = "queued",
        Running = "running",
        Done = "done",
        Failed = "failed",
        Cancelled = "cancelled",
    }
}

impl JobState {
    /// Whether nothing can happen to the job any more.
    pub fn is_over(self) -> bool {
        match self {
            Self::Queued | Self::Running => false,
            Self::Done | Self::Failed | Self::Cancelled => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_states_are_ends() {
        let over: Vec<_> = JobState::ALL.iter().filter(|state| state.is_over()).collect();
        assert_eq!(over, [&JobState::Done, &JobState::Failed, &JobState::Cancelled]);
    }
}
