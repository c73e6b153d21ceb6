//! The window of time that an export reads.
//!
//! Windows are half-open, `[since, until)`, and end at a whole millisecond, as rows are dated: the end that is printed is
//! the end that was read, so that the next window can begin there.

use jiff::{RoundMode, SignedDuration, Timestamp, TimestampRound, Unit};
use thiserror::Error;

/// How far two clocks may differ before one of them counts as wrong. A capture that is dated later than this from now is
/// from the future.
pub const CLOCK_SKEW: SignedDuration = SignedDuration::from_secs(60);

/// A window of captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaptureWindow {
    /// Stored at this moment or later; none for all.
    pub since: Option<Timestamp>,
    /// Stored before this moment.
    pub until: Timestamp,
}

/// A window that ends before it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the window is empty: it begins at {since:.3} and ends at {until:.3}")]
pub struct EmptyWindow {
    pub since: Timestamp,
    pub until: Timestamp,
}

impl CaptureWindow {
    /// The requested window at `now`. Without an end, or with one in the future, it ends now:
    /// captures that come later could not be in it.
    pub fn new(
        since: Option<Timestamp>,
        until: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<Self, EmptyWindow> {
        if let (Some(since), Some(until)) = (since, until)
            && since > until
        {
            return Err(EmptyWindow { since, until });
        }
        let end = whole_millisecond(until.map_or(now, |until| until.min(now)));
        // The clock that ended the last window was a little ahead of this one.
        let until = match since {
            Some(since) if since > end && since.duration_since(end) <= CLOCK_SKEW => since,
            _ => end,
        };
        Ok(Self { since, until })
    }

    /// Whether it begins in the future: the clock that ended the last window was wrong, or this one is.
    pub fn begins_in_the_future(&self) -> bool {
        self.since.is_some_and(|since| since > self.until)
    }
}

fn whole_millisecond(moment: Timestamp) -> Timestamp {
    let floor = TimestampRound::new().smallest(Unit::Millisecond).mode(RoundMode::Floor);
    moment.round(floor).unwrap_or(moment)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        format!("2026-03-01T{text}Z").parse().unwrap()
    }

    fn window(since: Option<&str>, until: Option<&str>) -> Result<Timestamp, EmptyWindow> {
        let window = CaptureWindow::new(since.map(at), until.map(at), at("12:00:00.0005"))?;
        assert_eq!(window.since, since.map(at));
        Ok(window.until)
    }

    #[test]
    fn a_window_ends_now_at_the_latest_and_at_a_whole_millisecond() {
        let now = Ok(at("12:00:00"));
        assert_eq!(window(None, None), now);
        assert_eq!(window(None, Some("13:00:00")), now);
        assert_eq!(window(Some("11:00:00"), Some("11:30:00.0019")), Ok(at("11:30:00.001")));
        assert_eq!(window(Some("12:00:00"), None), now);
    }

    #[test]
    fn a_window_that_ends_before_it_begins_is_refused() {
        assert!(window(Some("11:00:00"), Some("10:00:00")).is_err());
        assert_eq!(window(Some("11:00:00"), Some("11:00:00")), Ok(at("11:00:00")));
    }

    /// Otherwise the next window would begin before this one, and repeat.
    #[test]
    fn a_clock_that_is_a_little_behind_moves_no_window_back() {
        assert_eq!(window(Some("12:00:40"), None), Ok(at("12:00:40")));
        assert_eq!(window(Some("12:02:00"), None), Ok(at("12:00:00")));
        let ahead = CaptureWindow::new(Some(at("12:02:00")), None, at("12:00:00")).unwrap();
        assert!(ahead.begins_in_the_future());
    }
}
