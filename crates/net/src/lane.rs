//! How many calls may be under way at once.

use std::sync::{Condvar, Mutex, PoisonError};

use crate::pause::GLANCE;

/// Places for calls.
#[derive(Debug)]
pub struct Lane {
    free: Mutex<usize>,
    freed: Condvar,
}

/// A place, given back when it is dropped.
#[derive(Debug)]
pub struct Place<'a>(&'a Lane);

impl Lane {
    /// So many places, at least one.
    pub fn new(places: usize) -> Self {
        Self { free: Mutex::new(places.max(1)), freed: Condvar::new() }
    }

    /// Waits for a place.
    pub fn enter(&self) -> Place<'_> {
        self.enter_unless(&|| false).expect("nobody wants to stop")
    }

    /// Waits for a place, unless somebody wants to stop.
    pub fn enter_unless(&self, is_over: &dyn Fn() -> bool) -> Option<Place<'_>> {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free == 0 {
            if is_over() {
                return None;
            }
            let waited = self.freed.wait_timeout(free, GLANCE);
            free = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        *free -= 1;
        Some(Place(self))
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
                    let _place = lane.enter();
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
    fn a_wait_for_a_place_can_be_ended() {
        let lane = Lane::new(1);
        let place = lane.enter();
        assert!(lane.enter_unless(&|| true).is_none());
        drop(place);
        assert!(lane.enter_unless(&|| true).is_some());
    }
}
