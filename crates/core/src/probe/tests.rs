use ProbeOutcome::{
    BudgetExceeded, Disabled, Error, Fail, Inconclusive, NoEmbeddingKey, Pass, RateLimited,
};
use proptest::prelude::*;

use super::*;
use crate::doctor::DoctorStatus;

fn now() -> Timestamp {
    "2026-11-16T03:00:00Z".parse().unwrap()
}

/// Events so many hours ago.
fn past(events: &[(i64, ProbeOutcome)]) -> Vec<Event> {
    let event = |(hours, outcome): &(i64, ProbeOutcome)| {
        let at = now() - SignedDuration::from_hours(*hours);
        let detail = (*outcome != Pass).then(|| "no luck".to_owned());
        Event::bare(at, *outcome, detail)
    };
    events.iter().map(event).collect()
}

#[track_caller]
fn check(events: &[(i64, ProbeOutcome)], expected: ProbeDecision) {
    assert_eq!(
        decide(ProbeSwitch::On, &past(events), now(), Embedder::Local),
        expected,
        "{events:?}"
    );
}

#[test]
fn once_in_a_window() {
    check(&[], ProbeDecision::Go);
    for counts in [Pass, Fail, Inconclusive] {
        check(&[(23, counts)], ProbeDecision::Not(RateLimited));
        check(&[(24, counts)], ProbeDecision::Go);
        check(&[(23, counts), (30, Error)], ProbeDecision::Not(RateLimited));
    }
    check(&[(0, NoEmbeddingKey)], ProbeDecision::Go);
}

#[test]
fn a_refusal_does_not_use_the_window() {
    let refused = |hours: i64, why: &str| {
        let at = now() - SignedDuration::from_hours(hours);
        Event::bare(at, BudgetExceeded, Some(why.to_owned()))
    };
    let decision = |past: &[Event]| decide(ProbeSwitch::On, past, now(), Embedder::Local);
    assert_eq!(decision(&[refused(0, "too dear")]), ProbeDecision::Go);
    let spent = Event { cost: Usd::cents(1), ..refused(1, "over_budget") };
    let judged = Event { pass: 1, ..refused(1, "over_budget") };
    for ran in [spent, judged] {
        assert_eq!(decision(&[ran]), ProbeDecision::Not(RateLimited));
    }
    let past = [refused(2, "too dear")];
    assert!(refused(1, "too dear").repeats(&past) && !refused(1, "less money").repeats(&past));
    assert!(!refused(0, "too dear").repeats(&[refused(25, "too dear")]));
    assert!(!refused(0, "x").repeats(&[refused(2, "x"), Event::bare(now(), Pass, None)]));
}

#[test]
fn failures_do_not_use_the_window_and_wait_longer_each_time() {
    check(&[(0, Error)], ProbeDecision::Not(RateLimited));
    check(&[(1, Error)], ProbeDecision::Go);
    check(&[(1, Error), (2, Error)], ProbeDecision::Not(RateLimited));
    check(&[(2, Error), (3, Error)], ProbeDecision::Go);
    check(&[(3, Error), (5, Error), (6, Error)], ProbeDecision::Not(RateLimited));
    check(&[(4, Error), (6, Error), (7, Error)], ProbeDecision::Go);
    let many: Vec<(i64, ProbeOutcome)> = (0..99).map(|n| (24 + n, Error)).collect();
    check(&many, ProbeDecision::Go);
    // Failures before the last verdict are forgotten.
    check(&[(1, Error), (25, Pass), (26, Error), (27, Error)], ProbeDecision::Go);
}

#[test]
fn a_clock_that_was_set_back() {
    check(&[(-2, Pass)], ProbeDecision::Not(RateLimited));
    check(&[(-30, Pass)], ProbeDecision::Go);
}

#[test]
fn the_next_run_is_due_at_a_time() {
    let check = |events: &[(i64, ProbeOutcome)], hours: Option<i64>| {
        let expected = hours.map(|hours| now() + SignedDuration::from_hours(hours));
        assert_eq!(due(&past(events), now()), expected, "{events:?}");
    };
    check(&[], None);
    check(&[(20, Pass), (3, NoEmbeddingKey)], Some(4));
    check(&[(24, Pass)], None);
    check(&[(1, Error), (2, Error)], Some(1));
    check(&[(30, Pass), (1, Error), (2, Error)], Some(1));
    check(&[(2, Error), (40, Error)], None);
}

#[test]
fn runs_of_several_places_are_listed_once() {
    let (a, b) = (past(&[(3, Pass), (9, Fail)]), past(&[(9, Fail), (5, Error), (3, Pass)]));
    assert_eq!(merged([a, b]), past(&[(9, Fail), (5, Error), (3, Pass)]));
    assert_eq!(merged([Vec::new(), Vec::new()]), []);
}

#[test]
fn switches_and_keys() {
    let decide = |switch, embedder| decide(switch, &[], now(), embedder);
    for embedder in [Embedder::Local, Embedder::Remote, Embedder::RemoteWithoutKey] {
        assert_eq!(decide(ProbeSwitch::Off, embedder), ProbeDecision::Not(Disabled));
    }
    assert_eq!(decide(ProbeSwitch::On, Embedder::Local), ProbeDecision::Go);
    assert_eq!(decide(ProbeSwitch::On, Embedder::Remote), ProbeDecision::Go);
    assert_eq!(
        decide(ProbeSwitch::On, Embedder::RemoteWithoutKey),
        ProbeDecision::Not(NoEmbeddingKey)
    );
}

#[test]
fn batches_become_outcomes() {
    let check = |verdict, spending, outcome| {
        assert_eq!(ProbeOutcome::of_batch(verdict, spending), outcome);
    };
    for spending in [Spending::Within, Spending::Exceeded] {
        check(BatchVerdict::Pass, spending, Pass);
        check(BatchVerdict::Fail, spending, Fail);
        check(BatchVerdict::Error, spending, Error);
    }
    check(BatchVerdict::Inconclusive, Spending::Within, Inconclusive);
    check(BatchVerdict::Inconclusive, Spending::Exceeded, BudgetExceeded);
}

#[test]
fn only_a_pass_is_green() {
    let codes: Vec<u8> = ProbeOutcome::ALL.iter().map(|outcome| outcome.exit_code()).collect();
    assert_eq!(codes, [0, 1, 2, 2, 2, 2, 2, 2]);
}

#[test]
fn repeated_outcomes_are_recorded_once() {
    let recorded = |outcome, events| is_recorded(outcome, &past(events), now());
    assert!(!recorded(Disabled, &[]));
    assert!(!recorded(RateLimited, &[]));
    assert!(recorded(Error, &[(0, Error)]));
    assert!(recorded(NoEmbeddingKey, &[]));
    assert!(!recorded(NoEmbeddingKey, &[(1, NoEmbeddingKey)]));
    assert!(recorded(NoEmbeddingKey, &[(24, NoEmbeddingKey)]));
    assert!(recorded(NoEmbeddingKey, &[(5, NoEmbeddingKey), (1, Error)]));
}

#[test]
fn files_by_week() {
    let check = |at: &str, name: &str| assert_eq!(file_name(at.parse().unwrap()), name);
    check("2026-11-16T03:00:00Z", "quality-probe-2026-W47.jsonl");
    check("2027-01-01T00:00:00Z", "quality-probe-2026-W53.jsonl");
    check("2026-01-04T23:59:59Z", "quality-probe-2026-W01.jsonl");
}

#[track_caller]
fn check_health(
    switch: ProbeSwitch,
    events: &[(i64, ProbeOutcome)],
    doctor_status: DoctorStatus,
    message: &str,
    remedy: Option<&str>,
) {
    let health = health(switch, &past(events), now());
    assert_eq!(health.message(), message);
    assert_eq!((health.doctor_status(), health.remedy()), (doctor_status, remedy));
}

#[test]
fn health_when_all_is_well() {
    let enable = "gbrain config set autopilot.nightly_quality_probe.enabled true";
    check_health(
        ProbeSwitch::Off,
        &[(1, Fail)],
        DoctorStatus::Ok,
        "skipped (disabled)",
        Some(enable),
    );
    check_health(ProbeSwitch::On, &[], DoctorStatus::Ok, "enabled, no events yet", None);
    let message = "the last 7 days all pass (n = 2), latest 2026-11-16T00:00:00Z";
    check_health(
        ProbeSwitch::On,
        &[(3, Pass), (27, Pass), (200, Fail)],
        DoctorStatus::Ok,
        message,
        None,
    );
}

#[test]
fn health_when_something_is_not() {
    let run = Some("gbrain eval probe run");
    let mend =
        Some("see why: gbrain eval probe history; when it is fixed: gbrain eval probe run --force");
    for trouble in [Fail, Inconclusive, Error, BudgetExceeded, NoEmbeddingKey] {
        let message = format!(
            "in the last 7 days 1 {trouble}; latest 2026-11-16T00:00:00Z {trouble}: no luck"
        );
        check_health(ProbeSwitch::On, &[(3, trouble)], DoctorStatus::Warn, &message, mend);
    }
    let message = "in the last 7 days 2 pass, 1 fail; latest 2026-11-16T00:00:00Z pass; before that \
                   2026-11-15T00:00:00Z fail: no luck";
    check_health(
        ProbeSwitch::On,
        &[(51, Pass), (3, Pass), (27, Fail)],
        DoctorStatus::Warn,
        message,
        mend,
    );
    let message = "enabled, but has not run since 2026-11-14T02:00:00Z pass";
    check_health(ProbeSwitch::On, &[(49, Pass)], DoctorStatus::Warn, message, run);
    let message = "enabled, but has not run since 2026-11-06T03:00:00Z fail: no luck";
    check_health(ProbeSwitch::On, &[(240, Fail)], DoctorStatus::Warn, message, run);
    let message = "in the last 7 days 1 fail; latest 2026-11-13T03:00:00Z fail: no luck; it has not run since";
    check_health(ProbeSwitch::On, &[(72, Fail)], DoctorStatus::Warn, message, mend);
}

proptest! {
    /// At most one counted run starts in 24 hours, and few that fail.
    #[test]
    fn a_probe_asked_every_ten_minutes_runs_rarely(
        outcomes in prop::collection::vec(prop::sample::select(vec![Pass, Fail, Error, Error, Error]), 40),
    ) {
        let mut events: Vec<Event> = Vec::new();
        let mut outcomes = outcomes.into_iter();
        for tick in 0..(3 * 24 * 6) {
            let at = now() + SignedDuration::from_mins(tick * 10);
            if decide(ProbeSwitch::On, &events, at, Embedder::Local) == ProbeDecision::Go {
                events.push(Event::bare(at, outcomes.next().unwrap_or(Pass), None));
            }
        }
        for first in events.iter().filter(|event| event.outcome.counts()) {
            let next = events.iter().find(|event| event.at > first.at);
            prop_assert!(next.is_none_or(|next| next.at.duration_since(first.at) >= WINDOW));
        }
        prop_assert!((3..=15).contains(&events.len()), "{}", events.len());
    }
}
