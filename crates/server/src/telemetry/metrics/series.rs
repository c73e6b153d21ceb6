//! The series of one metric family: label values to a metric, bounded and lock-free.
//!
//! A family has few series, which are never removed, so they are slots filled from the front, found
//! by comparing a few strings. A hash map behind a lock would cost more per observation and have no
//! bound.

use std::sync::OnceLock;

/// Label value of the series for everything beyond the bound.
const OTHER: &str = "other";

type SeriesSlot<M, const K: usize> = OnceLock<([&'static str; K], M)>;

/// Metrics by the values of `K` labels.
pub(super) struct Series<M, const K: usize> {
    slots: Box<[SeriesSlot<M, K>]>,
    overflow: SeriesSlot<M, K>,
    make: fn() -> M,
}

impl<M: Default, const K: usize> Series<M, K> {
    pub(super) fn new(bound: usize) -> Self {
        Self::with(bound, M::default)
    }
}

impl<M, const K: usize> Series<M, K> {
    /// At most `bound` series, and one for all others.
    pub(super) fn with(bound: usize, make: fn() -> M) -> Self {
        let slots = (0..bound).map(|_| OnceLock::new()).collect();
        Self { slots, overflow: OnceLock::new(), make }
    }

    pub(super) fn at(&self, labels: [&'static str; K]) -> &M {
        for slot in &self.slots {
            // Two threads may want the same free slot for different labels: the second one
            // continues.
            let (held, metric) = slot.get_or_init(|| (labels, (self.make)()));
            if *held == labels {
                return metric;
            }
        }
        &self.overflow.get_or_init(|| ([OTHER; K], (self.make)())).1
    }

    /// All series in the order of their creation.
    pub(super) fn iter(&self) -> impl Iterator<Item = &([&'static str; K], M)> {
        self.slots.iter().chain([&self.overflow]).filter_map(OnceLock::get)
    }
}

impl<M, const K: usize> std::fmt::Debug for Series<M, K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Series").field("len", &self.iter().count()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use prometheus_client::metrics::counter::Counter;

    use super::*;

    fn counts<const K: usize>(series: &Series<Counter, K>) -> Vec<([&'static str; K], u64)> {
        series.iter().map(|(labels, counter)| (*labels, counter.get())).collect()
    }

    #[test]
    fn labels_beyond_the_limit_share_one_series() {
        let series: Series<Counter, 1> = Series::new(2);
        for word in ["a", "b", "a", "c", "d", "b", "c"] {
            series.at([word]).inc();
        }
        assert_eq!(counts(&series), [(["a"], 2), (["b"], 2), (["other"], 3)]);
    }

    #[test]
    fn threads_that_meet_at_a_slot_lose_nothing() {
        const WORDS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let series: Arc<Series<Counter, 1>> = Arc::new(Series::new(8));
        let threads: Vec<_> = (0..8)
            .map(|start| {
                let series = series.clone();
                std::thread::spawn(move || {
                    for n in 0..8_000 {
                        series.at([WORDS[(start + n) % 8]]).inc();
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
        let mut found = counts(&series);
        found.sort_unstable();
        assert_eq!(found, WORDS.map(|word| ([word], 8_000)));
    }
}
