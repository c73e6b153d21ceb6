//! Converts machine clocks to timestamps. Nothing here reads a clock: callers pass its value in.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::{SignedDuration, Timestamp};
use serde::Serializer;

/// The latest timestamp that a clock can give. It is a whole second: jiff represents some later
/// milliseconds, but rejects them when read back from their number, which is how timestamps are
/// stored.
pub const LATEST: Timestamp = Timestamp::constant(253_402_207_200, 0);

/// A machine's time as a timestamp. A time outside the supported range, which ends on the last day
/// of the year 9999, becomes the first or last timestamp: a wrong clock dates rows wrongly but does
/// not fail.
pub fn moment(clock: SystemTime) -> Timestamp {
    let signed = |time: Duration| SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX);
    let since_1970 = match clock.duration_since(UNIX_EPOCH) {
        Ok(after) => signed(after),
        Err(before) => -signed(before.duration()),
    };
    clamped(Timestamp::from_duration(since_1970), since_1970.is_negative())
}

/// Milliseconds since 1970, from a database clock, as a timestamp.
pub fn moment_of_milliseconds(milliseconds: i64) -> Timestamp {
    clamped(Timestamp::from_millisecond(milliseconds), milliseconds.is_negative())
}

/// Serializes a timestamp with milliseconds.
pub fn with_milliseconds<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{at:.3}"))
}

fn clamped(moment: Result<Timestamp, jiff::Error>, is_negative: bool) -> Timestamp {
    let beyond = if is_negative { Timestamp::MIN } else { LATEST };
    moment.unwrap_or(beyond).min(LATEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clock_gives_a_timestamp() {
        let check = |clock: Option<SystemTime>, expected: Timestamp| {
            assert_eq!(moment(clock.expect("the platform represents it")), expected);
        };
        let at = |seconds: u64| UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
        check(at(0), Timestamp::UNIX_EPOCH);
        check(at(1_800_000_000), "2027-01-15T08:00:00Z".parse().unwrap());
        check(
            UNIX_EPOCH.checked_sub(Duration::from_millis(1)),
            "1969-12-31T23:59:59.999Z".parse().unwrap(),
        );
        // The 31st of December 9999, and the year 10000.
        check(at(253_402_214_400), LATEST);
        check(at(253_402_300_800), LATEST);
        check(UNIX_EPOCH.checked_add(Duration::from_millis(253_402_207_200_999)), LATEST);
        check(UNIX_EPOCH.checked_sub(Duration::from_secs(400_000_000_000)), Timestamp::MIN);
        assert_eq!(moment_of_milliseconds(1), Timestamp::from_millisecond(1).unwrap());
        assert_eq!(moment_of_milliseconds(i64::MAX), LATEST);
        assert_eq!(moment_of_milliseconds(i64::MIN), Timestamp::MIN);
        for moment in [LATEST, Timestamp::MIN] {
            assert_eq!(Timestamp::from_millisecond(moment.as_millisecond()).unwrap(), moment);
        }
    }
}
