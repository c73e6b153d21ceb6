//! Decides whether a suite is due, by schedule or by events.
//!
//! A cursor records how far a trigger has fired. Several missed times cause one run, because a run
//! measures the current state. Events arrive before the index contains their changes, so a run
//! waits for a quiet period, up to a maximum.

use jiff::{SignedDuration, Timestamp, ToSpan};

use super::cron::Cron;
use crate::capture::CLOCK_SKEW;
use crate::clock::moment_of_milliseconds;
use crate::named;

/// A condition that starts a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trigger {
    Manual,
    Ci,
    Event(EventKind),
    /// A cron schedule in UTC.
    Cron(Cron),
    /// An interval since the last run.
    Every(RunInterval),
}

impl Trigger {
    /// The key of the trigger's cursor; none for triggers without one.
    pub fn cursor(&self) -> Option<String> {
        match self {
            Self::Manual | Self::Ci => None,
            Self::Event(kind) => Some(format!("event:{kind}")),
            Self::Cron(cron) => Some(format!("cron:{cron}")),
            Self::Every(interval) => Some(format!("interval:{interval}")),
        }
    }
}

named! {
    /// An event that can start a run.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum EventKind {
        /// A document was imported.
        KnowledgePersisted = "knowledge.persisted",
        /// A link was added or removed.
        GraphChanged = "graph.changed",
        /// The reranker or its threshold changed.
        RerankChanged = "rerank.changed",
        /// A new version was deployed.
        DeployFinished = "deploy.finished",
    }
}

/// An interval between runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunInterval {
    Quarterly,
    Monthly,
    For(SignedDuration),
}

impl std::fmt::Display for RunInterval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Quarterly => f.write_str("quarterly"),
            Self::Monthly => f.write_str("monthly"),
            Self::For(time) => write!(f, "{}s", time.as_secs()),
        }
    }
}

impl RunInterval {
    /// `moment` plus the interval.
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
pub struct DueRun {
    /// Idempotency key, unique within the suite.
    pub key: String,
    /// The cursor value after this run.
    pub cursor: i64,
    pub at: Timestamp,
}

/// A cursor further in the future than this was set by a wrong clock.
const WRONG_CLOCK: SignedDuration = SignedDuration::from_hours(24);

/// The run that a schedule or an interval makes due. The cursor is the last firing time in
/// milliseconds; a new trigger starts when it is enabled.
///
/// A cursor more than a day, or more than its interval, in the future was set by a wrong clock.
/// Waiting for it would skip runs, so the trigger is due now and its cursor is reset. A time that
/// already fired has the same key and does not run again.
pub fn scheduled_due_run(trigger: &Trigger, cursor: i64, now: Timestamp) -> Option<DueRun> {
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
        // Cron times are fixed; an interval starts at the last run.
        Trigger::Every(_) => now,
        _ => at,
    };
    let key = format!("{}@{at:.0}", trigger.cursor()?);
    Some(DueRun { key, cursor: fired.as_millisecond(), at })
}

/// How long to wait after events before a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Debounce {
    /// Quiet period after the last event.
    pub quiet: SignedDuration,
    /// Maximum wait after the first event.
    pub longest: SignedDuration,
}

impl Default for Debounce {
    fn default() -> Self {
        Self { quiet: SignedDuration::from_mins(5), longest: SignedDuration::from_mins(30) }
    }
}

/// Events that no run covers yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingEvents {
    /// Time of the first event.
    pub first: Timestamp,
    /// Time of the last event.
    pub last: Timestamp,
    /// Sequence number of the last event.
    pub up_to: i64,
}

/// The run that events make due: after the quiet period, or after the maximum wait. Sequence
/// numbers order the events, not the senders' clocks. Events dated further in the future than the
/// allowed clock skew are due at once, because their times say nothing about a quiet period.
pub fn event_due_run(
    kind: EventKind,
    pending: Option<PendingEvents>,
    debounce: Debounce,
    now: Timestamp,
) -> Option<DueRun> {
    let PendingEvents { first, last, up_to } = pending?;
    let is_quiet = now.duration_since(last) >= debounce.quiet;
    let is_late = now.duration_since(first) >= debounce.longest;
    let is_ahead = last.duration_since(now) > CLOCK_SKEW;
    (is_quiet || is_late || is_ahead).then(|| DueRun {
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
        let due = scheduled_due_run(trigger, moment(cursor).as_millisecond(), moment(now));
        assert_eq!(due.map(|due| due.at), expected.map(moment));
    }

    #[test]
    fn a_clock_that_was_ahead_skips_no_run() {
        let ahead = "2027-11-07T02:00:00Z";
        check(&sundays(), ahead, "2026-11-08T03:00:00Z", Some("2026-11-08T02:00:00Z"));
        let due = scheduled_due_run(
            &sundays(),
            moment(ahead).as_millisecond(),
            moment("2026-11-08T03:00:00Z"),
        );
        let due = due.unwrap();
        assert_eq!(due.cursor, moment("2026-11-08T02:00:00Z").as_millisecond(), "it comes back");
        assert_eq!(scheduled_due_run(&sundays(), due.cursor, moment("2026-11-08T03:00:01Z")), None);
        let daily = Trigger::Every(RunInterval::For(SignedDuration::from_hours(24)));
        check(&daily, ahead, "2026-11-08T03:00:00Z", Some("2026-11-08T03:00:00Z"));
    }

    #[test]
    fn a_clock_that_is_behind_repeats_no_run() {
        let last = "2026-11-08T02:00:00Z";
        for now in ["2026-11-08T01:59:58Z", "2026-11-07T03:00:00Z", "2026-11-08T02:00:00Z"] {
            check(&sundays(), last, now, None);
        }
        let hourly = Trigger::Every(RunInterval::For(SignedDuration::from_hours(1)));
        check(&hourly, last, "2026-11-08T01:10:00Z", None);
        check(&hourly, last, "2026-11-08T00:30:00Z", Some("2026-11-08T00:30:00Z"));
        // Further behind: the week before is named again, and its key was recorded when it was run.
        let due = scheduled_due_run(
            &sundays(),
            moment(last).as_millisecond(),
            moment("2026-11-05T00:00:00Z"),
        );
        let before = moment("2026-10-25T02:00:00Z").as_millisecond();
        let then = scheduled_due_run(&sundays(), before, moment("2026-11-01T02:00:00Z"));
        assert_eq!(due.unwrap().key, then.unwrap().key);
    }

    #[test]
    fn events_dated_in_the_future_do_not_wait_for_it() {
        let now = moment("2026-11-08T02:00:00Z");
        let due = |first: &str, last: &str| {
            let pending = PendingEvents { first: moment(first), last: moment(last), up_to: 7 };
            let kind = EventKind::KnowledgePersisted;
            event_due_run(kind, Some(pending), Debounce::default(), now).map(|due| due.cursor)
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
        let due = scheduled_due_run(
            &sundays(),
            moment(last).as_millisecond(),
            moment("2026-12-05T00:00:00Z"),
        );
        let cursor = due.unwrap().cursor;
        assert_eq!(scheduled_due_run(&sundays(), cursor, moment("2026-12-05T00:00:01Z")), None);
    }

    #[test]
    fn the_same_due_run_has_the_same_name_for_everybody() {
        let last = moment("2026-11-01T02:00:00Z").as_millisecond();
        let key = |now: &str| scheduled_due_run(&sundays(), last, moment(now)).unwrap().key;
        assert_eq!(key("2026-11-08T02:00:00Z"), key("2026-11-09T17:23:45Z"));
        assert_eq!(key("2026-11-08T02:00:00Z"), "cron:0 2 * * 0@2026-11-08T02:00:00Z");
    }

    #[test]
    fn intervals_by_the_calendar_and_by_the_clock() {
        let quarterly = Trigger::Every(RunInterval::Quarterly);
        check(&quarterly, "2026-08-31T00:00:00Z", "2026-11-29T23:59:59Z", None);
        let due = Some("2026-11-30T00:00:00Z");
        check(&quarterly, "2026-08-31T00:00:00Z", "2026-11-30T00:00:00Z", due);
        let hourly = Trigger::Every(RunInterval::For(SignedDuration::from_hours(1)));
        let due = Some("2026-11-17T01:00:00Z");
        check(&hourly, "2026-11-17T00:00:00Z", "2026-11-17T09:30:00Z", due);
        check(&Trigger::Manual, "2026-11-17T00:00:00Z", "2026-11-18T00:00:00Z", None);
    }

    #[track_caller]
    fn check_events(first: &str, last: &str, now: &str, expected: bool) {
        let pending = PendingEvents { first: moment(first), last: moment(last), up_to: 7 };
        let kind = EventKind::KnowledgePersisted;
        let due = event_due_run(kind, Some(pending), Debounce::default(), moment(now));
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
        assert_eq!(event_due_run(kind, None, Debounce::default(), moment(b)), None);
    }
}
