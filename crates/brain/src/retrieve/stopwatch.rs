//! Measures the time of each stage.

use std::time::Instant;

use gbrain_core::ranking::StageTime;

pub(super) struct Stopwatch {
    last: Instant,
    laps: Vec<StageTime>,
}

impl Stopwatch {
    pub(super) fn start() -> Self {
        Self { last: Instant::now(), laps: Vec::with_capacity(8) }
    }

    /// Ends a stage. Repeated stages accumulate.
    pub(super) fn lap(&mut self, stage: &'static str) {
        let now = Instant::now();
        let micros = u64::try_from((now - self.last).as_micros()).unwrap_or(u64::MAX);
        self.last = now;
        match self.laps.iter_mut().find(|lap| lap.stage == stage) {
            Some(lap) => lap.micros += micros,
            None => self.laps.push(StageTime { stage, micros }),
        }
    }

    pub(super) fn laps(self) -> Vec<StageTime> {
        self.laps
    }
}
