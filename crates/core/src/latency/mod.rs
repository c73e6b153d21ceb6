//! Comparing the durations of retrievals, like with like.
//!
//! The wall-clock time of one call says more about the machine than about the retriever: a first call
//! maps files, a busy machine makes every call wait. So a capture also records the CPU time of its
//! retrieval, the shortest of several warm repeats, beside the CPU time of a fixed piece of work, its
//! calibration. A replay measures both in the same way. The ratio of a row is its CPU time over its
//! calibration now, divided by the same when it was captured.
//!
//! A remote target works on another machine, where CPU time can't be seen: its wall-clock time is
//! compared with captures of the same target, taken over as many repeats.
//!
//! Deliberately absent: clocks. Measurements arrive as numbers.

mod ratio;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::named;

pub use ratio::TimeRatio;

pub(crate) use ratio::compare_times;

/// Names how [`CpuTime`] is measured. A time with another name is not compared.
pub const CPU_METHOD: &str = "thread_cpu_min_1";

/// How often a retrieval is timed after one call that warms it up. The shortest time counts.
pub const CPU_REPEATS: u32 = 5;

/// The CPU time of one retrieval, and how fast the machine was meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuTime {
    /// The shortest CPU time of the retrieval, in milliseconds.
    pub cpu_ms: f64,
    /// The shortest CPU time of the calibration between the repeats, in milliseconds.
    pub calibration_ms: f64,
    /// How often both were timed.
    pub repeats: u32,
}

impl CpuTime {
    /// The CPU time in units of the calibration.
    fn calibrated(&self) -> f64 {
        self.cpu_ms / self.calibration_ms
    }
}

/// How the time of a retriever is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimingMethod {
    /// By the CPU time of the calling thread: everything happens there.
    Cpu,
    /// By the wall clock: something else works while the caller waits.
    Wall,
    /// By nothing: the answer was saved before.
    Untimed,
}

named! {
    /// The clock that a ratio of times comes from.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Clock {
        /// CPU time of the retrieval over the machine's calibration.
        Cpu = "cpu",
        Wall = "wall",
    }
}

named! {
    /// Why the time of a row is not compared.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum NotComparedReason {
        /// The row has no CPU time measured with the current method.
        NoCpuTime = "no_cpu_time",
        /// The retriever's work is not done by the calling thread alone.
        NoCpuClock = "no_cpu_clock",
        /// The row was not captured from this target.
        OtherTarget = "other_target",
        /// The row was timed over another number of repeats.
        OtherRepeats = "other_repeats",
        /// The row of this target has no latency.
        NoLatency = "no_latency",
        /// The retriever gives saved answers.
        Untimed = "untimed",
    }
}

impl NotComparedReason {
    /// The reason in words.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NoCpuTime => "no CPU time was captured",
            Self::NoCpuClock => "the retrieval's CPU time can't be measured here",
            Self::OtherTarget => "captured from another retriever",
            Self::OtherRepeats => "captured over another number of repeats",
            Self::NoLatency => "no latency was captured",
            Self::Untimed => "saved answers take no time",
        }
    }
}

/// The times of one row, then and now.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TimeComparison {
    Cpu {
        /// When the row was captured.
        captured: CpuTime,
        current: CpuTime,
    },
    /// Wall-clock times, in milliseconds.
    Wall {
        /// When the row was captured.
        captured_ms: f64,
        current_ms: f64,
        /// Whether this machine had too much else to do: then a long time is not the target's.
        is_machine_busy: bool,
    },
    /// No times that can be compared.
    NotCompared(NotComparedReason),
}

impl TimeComparison {
    /// How many times as long the row takes now; none where it is not compared.
    pub fn ratio(&self) -> Option<f64> {
        match self {
            Self::Cpu { captured, current } => Some(current.calibrated() / captured.calibrated()),
            Self::Wall { captured_ms, current_ms, .. } => Some(current_ms / captured_ms),
            Self::NotCompared(_) => None,
        }
    }

    /// The clock that was read.
    pub fn clock(&self) -> Option<Clock> {
        match self {
            Self::Cpu { .. } => Some(Clock::Cpu),
            Self::Wall { .. } => Some(Clock::Wall),
            Self::NotCompared(_) => None,
        }
    }

    /// Why it is not compared, if it is not.
    pub fn not_compared(&self) -> Option<NotComparedReason> {
        match self {
            Self::NotCompared(why) => Some(*why),
            Self::Cpu { .. } | Self::Wall { .. } => None,
        }
    }
}
