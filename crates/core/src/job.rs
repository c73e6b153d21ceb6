//! The states of a background job.
//!
//! A job waits in the queue, runs on one worker at a time under a lease, and ends once. When a
//! lease expires, another worker may claim the job, and later writes of the first worker are
//! rejected.

use crate::named;

named! {
    /// The state of a job.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum JobState {
        Queued = "queued",
        /// A worker holds its lease.
        Running = "running",
        Done = "done",
        /// It failed and has no attempts left.
        Failed = "failed",
        Cancelled = "cancelled",
    }
}

impl JobState {
    /// Whether the state is final.
    pub fn is_finished(self) -> bool {
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
        let over: Vec<_> = JobState::ALL.iter().filter(|state| state.is_finished()).collect();
        assert_eq!(over, [&JobState::Done, &JobState::Failed, &JobState::Cancelled]);
    }
}
