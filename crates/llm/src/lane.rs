//! How many calls may be under way at once.

use std::sync::{Condvar, Mutex, PoisonError};

use crate::ask::GLANCE;

/// Places for calls.
#[derive(Debug)]
pub(crate) struct Lane {
    free: Mutex<usize>,
    freed: Condvar,
}

/// A place, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Place<'a>(&'a Lane);

impl Lane {
    /// So many places, at least one.
    pub(crate) fn new(places: usize) -> Self {
        Self { free: Mutex::new(places.max(1)), freed: Condvar::new() }
    }

    /// Waits for a place; none if it is stopped before it has one.
    pub(crate) fn enter(&self, is_stopped: &dyn Fn() -> bool) -> Option<Place<'_>> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while !is_stopped() {
            if *free > 0 {
                *free -= 1;
                return Some(Place(self));
            }
            let waited = self.freed.wait_timeout(free, GLANCE);
            free = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        None
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[test]
    fn no_more_than_the_places_are_inside() {
        let (lane, inside, most) = (Lane::new(3), AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..12 {
                scope.spawn(|| {
                    let _place = lane.enter(&|| false);
                    let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
                    most.fetch_max(now, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(5));
                    inside.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(most.load(Ordering::SeqCst), 3);
    }

    #[test]
    fn nobody_waits_longer_than_he_wishes() {
        let lane = Lane::new(0);
        let place = lane.enter(&|| false);
        assert!(place.is_some(), "there is at least one");
        let asked = AtomicUsize::new(0);
        assert!(lane.enter(&|| asked.fetch_add(1, Ordering::SeqCst) == 2).is_none());
        drop(place);
        assert!(lane.enter(&|| true).is_none() && lane.enter(&|| false).is_some());
    }
}
