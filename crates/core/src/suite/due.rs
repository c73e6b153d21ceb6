//! Whether a suite runs now: schedules with missed times caught up once, events after a pause.
//!
//! A cursor says how far a trigger has been fired. Many missed times are one run, because a run measures
//! what is there now. Events come before the index holds what they tell of, so a run waits until they
//! have been quiet for a while, but not for ever.

use jiff::{SignedDuration, Timestamp, ToSpan};

use super::cron::Cron;
use crate::capture::CLOCK_SKEW;
use crate::clock::moment_of_milliseconds;
use crate::named;

/// What makes a suite run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trigger {
    Manual,
    Ci,
    Event(EventKind),
    /// A schedule, in UTC.
    Cron(Cron),
    /// A time has passed since the last run.
    Every(Interval),
}

impl Trigger {
    /// What names its cursor; none for what has none.
    pub fn cursor(&self) -> Option<String> {
        match self {
            Self::Manual | Self::Ci => None,
            Self::Event(kind) => Some(format!("event:{kind}")),
            Self::Cron(cron) => Some(format!("cron:{cron}")),
            Self::Every(interval) => Some(format!("interval:{interval}")),
        }
    }
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventKind {
    /// A document was taken in.
    KnowledgePersisted,
    /// A link came or went.
    GraphChanged,
    /// The reranker or its threshold changed.
    RerankChanged,
    /// A version went live.
    DeployFinished,
}

named! {
    EventKind {
        KnowledgePersisted = "knowledge.persisted",
        GraphChanged = "graph.changed",
        RerankChanged = "rerank.changed",
        DeployFinished = "deploy.finished",
    }
}

/// A time between runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interval {
    /// Three months, by the calendar.
    Quarterly,
    /// One month, by the calendar.
    Monthly,
    For(SignedDuration),
}

impl std::fmt::Display for Interval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Quarterly => f.write_str("quarterly"),
            Self::Monthly => f.write_str("monthly"),
            Self::For(time) => write!(f, "{}s", time.as_secs()),
        }
    }
}

impl Interval {
    /// That long after a moment.
    pub fn after(self, moment: Timestamp) -> Timestamp {
        let months = |months: i32| {
            let zoned = moment.to_zoned(jiff::tz::TimeZone::UTC);
            zoned.checked_add(months.months()).map_or(Timestamp::MAX, |later| later.timestamp())
        };
        match self {
            Self::Quarterly => months(3),
            Self::Monthly => months(1),
            Self::For(time) => moment.saturating_add(time).unwrap_or(Timestamp::MAX),
        }
    }
}

/// A run that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// What names it: once for this suite, whoever fires it.
    pub key: String,
    /// Where the cursor is when it has been fired.
    pub cursor: i64,
    /// When it became due.
    pub at: Timestamp,
}

/// A clock that moved a cursor further ahead than this is wrong.
const WRONG_CLOCK: SignedDuration = SignedDuration::from_hours(24);

/// Whether a schedule or an interval is due. A cursor is the moment that was fired last, in milliseconds;
/// a new trigger starts at the moment it was enabled.
///
/// A cursor that is more than a day, or more than its interval, in the future was moved by a clock that is wrong. Waiting
/// for it would skip runs, so that the trigger is due and its cursor comes back. A scheduled time that was fired before
/// has the same key and is not run again.
pub fn timed(trigger: &Trigger, cursor: i64, now: Timestamp) -> Option<Due> {
    let last = moment_of_milliseconds(cursor);
    let ahead = last.duration_since(now);
    let is_ahead = match trigger {
        Trigger::Every(interval) => last > interval.after(now) || ahead > WRONG_CLOCK,
        _ => ahead > WRONG_CLOCK,
    };
    let at = match trigger {
        Trigger::Cron(cron) => cron.until(now).filter(|at| is_ahead || *at > last)?,
        Trigger::Every(_) if is_ahead => now,
        Trigger::Every(interval) => Some(interval.after(last)).filter(|at| *at <= now)?,
        Trigger::Manual | Trigger::Ci | Trigger::Event(_) => return None,
    };
    let fired = match trigger {
        // A schedule has times of its own; an interval counts from when it was last fired.
        Trigger::Every(_) => now,
        _ => at,
    };
    let key = format!("{}@{at:.0}", trigger.cursor()?);
    Some(Due { key, cursor: fired.as_millisecond(), at })
}

/// How long events must have been quiet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Debounce {
    /// Since the last one.
    pub quiet: SignedDuration,
    /// At most, since the first one.
    pub longest: SignedDuration,
}

impl Default for Debounce {
    fn default() -> Self {
        Self { quiet: SignedDuration::from_mins(5), longest: SignedDuration::from_mins(30) }
    }
}

/// Events that no run has covered yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pending {
    /// When the first of them happened.
    pub first: Timestamp,
    /// When the last of them happened.
    pub last: Timestamp,
    /// The number of the last of them.
    pub up_to: i64,
}

/// Whether events are due: after a pause, or when the first has waited long enough. Events follow each other by their
/// numbers, and not by the clocks of those who told them; those that are dated further in the future than clocks differ
/// are due at once, as their times say nothing of a pause.
pub fn evented(
    kind: EventKind,
    pending: Option<Pending>,
    debounce: Debounce,
    now: Timestamp,
) -> Option<Due> {
    let Pending { first, last, up_to } = pending?;
    let is_quiet = now.duration_since(last) >= debounce.quiet;
    let is_late = now.duration_since(first) >= debounce.longest;
    let is_ahead = last.duration_since(now) > CLOCK_SKEW;
    (is_quiet || is_late || is_ahead).then(|| Due {
        key: format!("event:{kind}@{up_to}"),
        cursor: up_to,
        at: last,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[track_caller]
    fn check(trigger: &Trigger, cursor: &str, now: &str, expected: Option<&str>) {
        let due = timed(trigger, moment(cursor).as_millisecond(), moment(now));
        assert_eq!(due.map(|due| due.at), expected.map(moment));
    }

    #[test]
    fn a_clock_that_was_ahead_skips_no_run() {
        let ahead = "2027-11-07T02:00:00Z";
        check(&sundays(), ahead, "2026-11-08T03:00:00Z", Some("2026-11-08T02:00:00Z"));
        let due = timed(&sundays(), moment(ahead).as_millisecond(), moment("2026-11-08T03:00:00Z"));
        let due = due.unwrap();
        assert_eq!(due.cursor, moment("2026-11-08T02:00:00Z").as_millisecond(), "it comes back");
        assert_eq!(timed(&sundays(), due.cursor, moment("2026-11-08T03:00:01Z")), None);
        let daily = Trigger::Every(Interval::For(SignedDuration::from_hours(24)));
        check(&daily, ahead, "2026-11-08T03:00:00Z", Some("2026-11-08T03:00:00Z"));
    }

    #[test]
    fn a_clock_that_is_behind_repeats_no_run() {
        let last = "2026-11-08T02:00:00Z";
        for now in ["2026-11-08T01:59:58Z", "2026-11-07T03:00:00Z", "2026-11-08T02:00:00Z"] {
            check(&sundays(), last, now, None);
        }
        let hourly = Trigger::Every(Interval::For(SignedDuration::from_hours(1)));
        check(&hourly, last, "2026-11-08T01:10:00Z", None);
        check(&hourly, last, "2026-11-08T00:30:00Z", Some("2026-11-08T00:30:00Z"));
        // Further behind: the week before is named again, and its key was recorded when it was run.
        let due = timed(&sundays(), moment(last).as_millisecond(), moment("2026-11-05T00:00:00Z"));
        let before = moment("2026-10-25T02:00:00Z").as_millisecond();
        let then = timed(&sundays(), before, moment("2026-11-01T02:00:00Z"));
        assert_eq!(due.unwrap().key, then.unwrap().key);
    }

    #[test]
    fn events_dated_in_the_future_do_not_wait_for_it() {
        let now = moment("2026-11-08T02:00:00Z");
        let due = |first: &str, last: &str| {
            let pending = Pending { first: moment(first), last: moment(last), up_to: 7 };
            let kind = EventKind::KnowledgePersisted;
            evented(kind, Some(pending), Debounce::default(), now).map(|due| due.cursor)
        };
        assert_eq!(due("2027-11-08T02:00:00Z", "2027-11-08T02:00:00Z"), Some(7));
        assert_eq!(due("2026-11-08T01:59:00Z", "2027-11-08T02:00:00Z"), Some(7));
        assert_eq!(
            due("2026-11-08T01:59:00Z", "2026-11-08T02:00:20Z"),
            None,
            "clocks differ a little"
        );
        assert_eq!(due("2026-11-08T01:50:00Z", "2026-11-08T01:54:00Z"), Some(7));
    }

    fn sundays() -> Trigger {
        Trigger::Cron("0 2 * * 0".parse().unwrap())
    }

    #[test]
    fn a_schedule_fires_once_for_all_that_was_missed() {
        let last = "2026-11-01T02:00:00Z";
        check(&sundays(), last, "2026-11-08T01:59:59Z", None);
        check(&sundays(), last, "2026-11-08T02:00:00Z", Some("2026-11-08T02:00:00Z"));
        check(&sundays(), last, "2026-12-05T00:00:00Z", Some("2026-11-29T02:00:00Z"));
        let due = timed(&sundays(), moment(last).as_millisecond(), moment("2026-12-05T00:00:00Z"));
        let cursor = due.unwrap().cursor;
        assert_eq!(timed(&sundays(), cursor, moment("2026-12-05T00:00:01Z")), None);
    }

    #[test]
    fn the_same_due_run_has_the_same_name_for_everybody() {
        let last = moment("2026-11-01T02:00:00Z").as_millisecond();
        let key = |now: &str| timed(&sundays(), last, moment(now)).unwrap().key;
        assert_eq!(key("2026-11-08T02:00:00Z"), key("2026-11-09T17:23:45Z"));
        assert_eq!(key("2026-11-08T02:00:00Z"), "cron:0 2 * * 0@2026-11-08T02:00:00Z");
    }

    #[test]
    fn intervals_by_the_calendar_and_by_the_clock() {
        let quarterly = Trigger::Every(Interval::Quarterly);
        check(&quarterly, "2026-08-31T00:00:00Z", "2026-11-29T23:59:59Z", None);
        let due = Some("2026-11-30T00:00:00Z");
        check(&quarterly, "2026-08-31T00:00:00Z", "2026-11-30T00:00:00Z", due);
        let hourly = Trigger::Every(Interval::For(SignedDuration::from_hours(1)));
        let due = Some("2026-11-17T01:00:00Z");
        check(&hourly, "2026-11-17T00:00:00Z", "2026-11-17T09:30:00Z", due);
        check(&Trigger::Manual, "2026-11-17T00:00:00Z", "2026-11-18T00:00:00Z", None);
    }

    #[track_caller]
    fn check_events(first: &str, last: &str, now: &str, expected: bool) {
        let pending = Pending { first: moment(first), last: moment(last), up_to: 7 };
        let kind = EventKind::KnowledgePersisted;
        let due = evented(kind, Some(pending), Debounce::default(), moment(now));
        assert_eq!(due.is_some(), expected);
        if let Some(due) = due {
            assert_eq!((due.key.as_str(), due.cursor), ("event:knowledge.persisted@7", 7));
        }
    }

    #[test]
    fn events_wait_for_quiet_but_not_for_ever() {
        let [a, b] = ["2026-11-17T10:00:00Z", "2026-11-17T10:28:00Z"];
        check_events(a, a, "2026-11-17T10:04:59Z", false);
        check_events(a, a, "2026-11-17T10:05:00Z", true);
        check_events(a, b, "2026-11-17T10:29:59Z", false);
        check_events(a, b, "2026-11-17T10:30:00Z", true);
        let kind = EventKind::GraphChanged;
        assert_eq!(evented(kind, None, Debounce::default(), moment(b)), None);
    }
}
