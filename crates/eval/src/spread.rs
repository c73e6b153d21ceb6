//! Distributes work over threads.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls `work` with each index below `count`, on up to `threads` threads, starting in order;
/// returns the results in order.
pub fn spread<T: Send>(count: usize, threads: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let one = || {
        let mut done = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            if place >= count {
                return done;
            }
            done.push((place, work(place)));
        }
    };
    let mut done: Vec<(usize, T)> = std::thread::scope(|scope| {
        let threads = threads.clamp(1, count.max(1));
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(one)).collect();
        workers.into_iter().flat_map(|w| w.join().expect("the work does not panic")).collect()
    });
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order() {
        for threads in [0, 1, 3, 99] {
            assert_eq!(spread(10, threads, |n| n * n), (0..10).map(|n| n * n).collect::<Vec<_>>());
        }
        assert_eq!(spread(0, 4, |n| n), Vec::<usize>::new());
    }
}
