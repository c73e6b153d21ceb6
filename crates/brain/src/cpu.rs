//! CPU times of retrievals and of the machine.
//!
//! A retrieval runs on one thread, so the CPU clock of the calling thread measures it regardless of
//! other load. The result is the shortest of several repeats after a warm-up, interleaved with a
//! fixed calibration workload that measures the processor's current speed.
//!
//! Deliberately absent: retrievals that wait for others. A remote model, or one with its own
//! threads, has no CPU time of this kind.

use std::hint::black_box;
use std::time::{Duration, Instant};

use gbrain_core::latency::{CPU_REPEATS, CpuTime};
use gbrain_core::request::Request;

use crate::{QueryOptions, Snapshot};

/// Slots of the calibration table: 32 KiB, the size of an L1 cache.
const SLOTS: usize = 4_096;
/// Steps of a calibration: about 30 microseconds in a release build.
const STEPS: usize = 10_000;

/// CPU time limit for the repeats of one capture: a command waits for them before it exits.
const CAPTURE_LIMIT: Duration = Duration::from_millis(100);

/// Wall-clock time after which no repeat for a capture starts.
const CAPTURE_TIMEOUT: Duration = Duration::from_secs(1);

/// CPU time of a busy check: several scheduler time slices.
const BUSY_SAMPLE: Duration = Duration::from_millis(20);
/// A ratio of wall-clock to CPU time above this means that other work occupies the processors.
const BUSY_SHARE: f64 = 1.25;

/// The CPU time of the calling thread so far; `None` if the system has no such clock.
pub fn thread_cpu_time() -> Option<Duration> {
    #[cfg(unix)]
    {
        use rustix::time::{ClockId, clock_gettime};
        Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).ok()
    }
    #[cfg(not(unix))]
    None
}

/// Runs `work` once to warm up, then up to `repeats` times, and measures it; `None` if the system
/// has no CPU clock. A limit reduces the number of repeats, but not below one. The first failure
/// ends it.
pub fn measure_cpu<E>(
    repeats: u32,
    limit: Option<Duration>,
    mut work: impl FnMut() -> Result<(), E>,
) -> Result<Option<CpuTime>, E> {
    let started = thread_cpu_time();
    work()?;
    let warm_up = thread_cpu_time().zip(started).map(|(now, then)| now.saturating_sub(then));
    let repeats =
        limit.zip(warm_up).map_or(repeats, |(limit, one)| affordable_repeats(repeats, limit, one));
    let mut calibration = CalibrationWorkload::new();
    let mut shortest: Option<(Duration, Duration)> = None;
    for _ in 0..repeats {
        let started = thread_cpu_time();
        calibration.run();
        let calibrated = thread_cpu_time();
        work()?;
        let worked = thread_cpu_time();
        let (Some(started), Some(calibrated), Some(worked)) = (started, calibrated, worked) else {
            return Ok(None);
        };
        let (machine, own) =
            (calibrated.saturating_sub(started), worked.saturating_sub(calibrated));
        shortest = Some(shortest.map_or((machine, own), |(least_machine, least_own)| {
            (least_machine.min(machine), least_own.min(own))
        }));
    }
    Ok(shortest.map(|(machine, own)| CpuTime {
        cpu_ms: milliseconds(own),
        calibration_ms: milliseconds(machine),
        repeats,
    }))
}

/// How many repeats that take `one` fit into `limit`, at least one.
fn affordable_repeats(repeats: u32, limit: Duration, one: Duration) -> u32 {
    let fits = limit.as_nanos() / one.as_nanos().max(1);
    repeats.min(u32::try_from(fits).unwrap_or(u32::MAX)).max(1)
}

/// Whether other work on this machine competes with the calling thread.
pub fn is_machine_busy() -> bool {
    let (Some(cpu), wall) = (thread_cpu_time(), Instant::now()) else { return false };
    let mut calibration = CalibrationWorkload::new();
    loop {
        calibration.run();
        let Some(worked) = thread_cpu_time().map(|now| now.saturating_sub(cpu)) else {
            return false;
        };
        if worked >= BUSY_SAMPLE {
            return wall.elapsed().as_secs_f64() > BUSY_SHARE * worked.as_secs_f64();
        }
    }
}

/// Busy-waits until the calling thread has used this much CPU time.
pub fn burn_cpu(time: Duration) {
    let Some(started) = thread_cpu_time() else { return };
    let mut state = 1;
    while thread_cpu_time().is_some_and(|now| now.saturating_sub(started) < time) {
        for _ in 0..100 {
            step(&mut state);
        }
    }
    black_box(state);
}

impl Snapshot {
    /// Whether the calling thread does all the work of a request.
    pub fn is_answered_here(&self, request: &Request) -> bool {
        let is_remote_or_threaded =
            |model: &dyn gbrain_embed::Embedder| model.is_remote() || model.has_threads();
        !(request.vectors
            && self.embedder().is_some_and(|model| is_remote_or_threaded(model.as_ref())))
    }

    /// The CPU time of a request, measured as in a replay; `None` if it cannot be measured or the
    /// request fails.
    pub fn cpu_time(&self, request: &Request) -> Option<CpuTime> {
        if !self.is_answered_here(request) {
            return None;
        }
        let (ask, started) = (QueryOptions::default(), Instant::now());
        let answer = || {
            // On a machine this busy, storing the capture matters more than measuring it.
            let is_late = started.elapsed() > CAPTURE_TIMEOUT;
            if is_late { Err(()) } else { self.answer(request, &ask).map(drop).map_err(drop) }
        };
        measure_cpu(CPU_REPEATS, Some(CAPTURE_LIMIT), answer).ok().flatten()
    }
}

fn milliseconds(time: Duration) -> f64 {
    // At least 1 ns, to avoid division by zero.
    (time.as_nanos() as f64).max(1.0) / 1e6
}

/// The calibration workload: dependent loads and stores, arithmetic and unpredictable branches,
/// similar to a search.
struct CalibrationWorkload {
    table: Vec<u64>,
}

impl CalibrationWorkload {
    fn new() -> Self {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let table = (0..SLOTS).map(|_| step(&mut state)).collect();
        Self { table }
    }

    fn run(&mut self) {
        let mut state = 1_u64;
        for _ in 0..STEPS {
            let at = (step(&mut state) as usize) % SLOTS;
            let value = self.table[at];
            // Every run leaves the table unchanged except for this toggled bit.
            self.table[at] = value ^ 1;
            state =
                if value & 2 == 0 { (state ^ (value >> 7)) | 1 } else { state.rotate_left(5) | 1 };
        }
        black_box(state);
    }
}

fn step(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_not_working() {
        let waited = |time: Duration| {
            measure_cpu(2, None, || {
                std::thread::sleep(time);
                Ok::<(), ()>(())
            })
        };
        let found = waited(Duration::from_millis(20)).unwrap().unwrap();
        assert!(found.cpu_ms < 10.0, "{found:?}");
    }

    #[test]
    fn burning_is_working() {
        let burnt = measure_cpu(3, None, || {
            burn_cpu(Duration::from_millis(5));
            Ok::<(), ()>(())
        });
        let found = burnt.unwrap().unwrap();
        assert!(found.cpu_ms >= 5.0 && found.calibration_ms > 0.0, "{found:?}");
        assert_eq!(found.repeats, 3);
    }

    #[test]
    fn long_work_is_repeated_less() {
        let check = |limit: u64, one: u64, expected: u32| {
            let (limit, one) = (Duration::from_millis(limit), Duration::from_millis(one));
            assert_eq!(affordable_repeats(5, limit, one), expected, "{limit:?} {one:?}");
        };
        check(100, 1, 5);
        check(100, 20, 5);
        check(100, 40, 2);
        check(100, 1_000, 1);
        check(100, 0, 5);
    }

    #[test]
    fn the_first_failure_ends_it() {
        let mut calls = 0;
        let found = measure_cpu(3, None, || {
            calls += 1;
            if calls == 2 { Err("no") } else { Ok(()) }
        });
        assert_eq!((found, calls), (Err("no"), 2));
    }
}
