//! Moments of a machine's clock. The clock itself is read by whoever may.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::{SignedDuration, Timestamp};

/// A machine's time as a moment. A clock that is set before or after all moments there are (the last day of the year
/// 9999) says the first or the last of them: a wrong clock dates rows wrongly and ends nothing.
pub fn moment(clock: SystemTime) -> Timestamp {
    let signed = |time: Duration| SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX);
    let since_1970 = match clock.duration_since(UNIX_EPOCH) {
        Ok(after) => signed(after),
        Err(before) => -signed(before.duration()),
    };
    let beyond = if since_1970.is_negative() { Timestamp::MIN } else { Timestamp::MAX };
    Timestamp::from_duration(since_1970).unwrap_or(beyond)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clock_says_a_moment() {
        let check = |clock: Option<SystemTime>, expected: Timestamp| {
            assert_eq!(moment(clock.expect("the machine can say it")), expected);
        };
        let at = |seconds: u64| UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
        check(at(0), Timestamp::UNIX_EPOCH);
        check(at(1_800_000_000), "2027-01-15T08:00:00Z".parse().unwrap());
        check(
            UNIX_EPOCH.checked_sub(Duration::from_millis(1)),
            "1969-12-31T23:59:59.999Z".parse().unwrap(),
        );
        // The 31st of December 9999, and the year 10000.
        check(at(253_402_214_400), Timestamp::MAX);
        check(at(253_402_300_800), Timestamp::MAX);
        check(UNIX_EPOCH.checked_sub(Duration::from_secs(400_000_000_000)), Timestamp::MIN);
    }
}
