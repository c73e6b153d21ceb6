use super::*;
use crate::suite::case::{self, CaseResult, RationaleRequirement};
use crate::suite::graph::EdgeCheck;
use crate::suite::measure::SuiteMeasure;
use crate::suite::query::Difficulty;
use crate::suite::report::{InconclusiveReason, RunEnd, report};
use crate::suite::run::RunTrigger;
use crate::suite::size::SampleSize;
use crate::suite::threshold::SuiteThresholds;
use crate::suite::trend::DecliningMeasure;
use crate::suite::{Suite, SuiteKind, sample};
use crate::target::{TargetAnswer, TargetError, TargetErrorKind, TargetResult};

fn now() -> Timestamp {
    "2026-11-17T12:00:00Z".parse().unwrap()
}

fn later(hours: i64) -> Timestamp {
    now() + SignedDuration::from_hours(hours)
}

/// A run of twenty cases with so many misses and errors.
pub(in crate::alert) fn run(misses: usize, errors: usize) -> SuiteRun {
    run_of(20, misses, errors, SampleSize::exactly(20))
}

/// A run of so many cases with so many misses and errors, all answered in one mode.
fn run_of(count: usize, misses: usize, errors: usize, sample: SampleSize) -> SuiteRun {
    let case = |at: usize| -> CaseResult {
        let id = format!("q{at:02}");
        let query = sample::tests::query(&id, "slack", Difficulty::Easy);
        let document = if at < misses { "other".to_owned() } else { id };
        let results = vec![TargetResult { document, ..TargetResult::default() }];
        let answer = match at >= count - errors {
            true => Err(TargetError::new(TargetErrorKind::Timeout, "late")),
            false => Ok(TargetAnswer { results, latency_ms: 5.0, ..TargetAnswer::default() }),
        };
        case::judge(&query, RationaleRequirement::No, &answer, &|_| EdgeCheck::Holds)
    };
    let suite = Suite::new("weekly", SuiteKind::WeeklyBenchmark, vec!["@search".to_owned()]);
    let report = report(
        (0..count).map(case).collect(),
        (count, sample),
        RunEnd::Whole,
        &SuiteThresholds::default(),
        None,
    );
    SuiteRun::new(
        &suite,
        "default",
        RunTrigger { key: "manual:1", trigger: "manual" },
        (now(), now()),
        &report,
    )
}

/// The alert changes of a run, and the board after it.
fn step(board: &mut Vec<Alert>, run: &SuiteRun, silenced: &[String], at: Timestamp) -> Vec<String> {
    let looked = EvaluatedRun { id: 7, run };
    let changes =
        decide(&looked, &AlertStates { alerts: board, silenced }, &NotifyPolicy::default(), at);
    let mut told = Vec::new();
    for change in changes {
        let known = change.alert().clone();
        let what = match &change {
            AlertChange::Raise(_) => "raise",
            AlertChange::Keep(_) => "keep",
            AlertChange::Resolve(_) => "resolve",
        };
        told.push(format!(
            "{what} {}{}",
            known.subject.name(),
            if change.is_notified() { "" } else { " (quiet)" }
        ));
        board.retain(|one| one.key != known.key);
        board.push(known);
    }
    told.sort();
    told
}

#[test]
fn alerts_are_raised_repeated_and_resolved() {
    let mut board = Vec::new();
    assert_eq!(step(&mut board, &run(0, 0), &[], now()), Vec::<String>::new());
    let raised = ["raise recall@10/all", "raise recall@5/all"];
    assert_eq!(step(&mut board, &run(3, 0), &[], now()), raised);
    let severities: Vec<AlertSeverity> = board.iter().map(|known| known.severity).collect();
    assert_eq!(severities, [AlertSeverity::Critical, AlertSeverity::Error], "only recall@5 pages");
    let kept = ["keep recall@10/all (quiet)", "keep recall@5/all (quiet)"];
    assert_eq!(step(&mut board, &run(3, 0), &[], later(1)), kept);
    assert_eq!(step(&mut board, &run(3, 0), &[], later(4)), raised, "the cooldown is over");
    let over = ["resolve recall@10/all", "resolve recall@5/all"];
    assert_eq!(step(&mut board, &run(0, 0), &[], later(5)), over);
    assert_eq!(step(&mut board, &run(0, 0), &[], later(6)), Vec::<String>::new());
    assert!(board.iter().all(|known| !known.is_firing()));
}

#[test]
fn unmeasured_alerts_are_not_resolved() {
    let mut board = Vec::new();
    step(&mut board, &run(3, 0), &[], now());
    let mut empty = run(0, 0);
    empty.measures.clear();
    empty.verdict = Verdict::Inconclusive;
    assert_eq!(step(&mut board, &empty, &[], later(1)), ["raise run"]);
    assert_eq!(board.iter().filter(|known| known.is_firing()).count(), 3);
}

/// Results without slow or broken answers look better than they are.
#[test]
fn a_part_of_a_run_takes_nothing_back() {
    for reason in
        [InconclusiveReason::OverTime, InconclusiveReason::Errors, InconclusiveReason::Degraded]
    {
        let mut board = Vec::new();
        step(&mut board, &run(3, 0), &[], now());
        let mut part = run(0, 0);
        part.verdict = Verdict::Inconclusive;
        part.inconclusive_reasons = vec![reason];
        step(&mut board, &part, &[], later(1));
        let firing = board.iter().filter(|known| known.is_firing()).count();
        assert_eq!(firing, 3, "{reason}: both measures, and the run");
    }
    let mut board = Vec::new();
    step(&mut board, &run(3, 0), &[], now());
    let mut few = run(0, 0);
    few.measures.iter_mut().for_each(|measure| measure.decides = false);
    assert_eq!(step(&mut board, &few, &[], later(1)), Vec::<String>::new());
}

/// A build that asks staging by the suite of production closes nobody's page, and opens none; nor does
/// somebody who stops a run.
#[test]
fn runs_without_evidence_change_no_alert() {
    let ad_hoc = |run: SuiteRun| SuiteRun { ad_hoc: true, ..run };
    let stopped = |run: SuiteRun| SuiteRun {
        verdict: Verdict::Inconclusive,
        inconclusive_reasons: vec![InconclusiveReason::Cancelled],
        ..run
    };
    for strange in [&ad_hoc as &dyn Fn(_) -> _, &stopped] {
        let mut board = Vec::new();
        let none: [&str; 0] = [];
        assert_eq!(step(&mut board, &strange(run(3, 0)), &[], now()), none);
        step(&mut board, &run(3, 0), &[], now());
        let mut odd = run(0, 0);
        odd.verdict = Verdict::Inconclusive;
        odd.measures.clear();
        step(&mut board, &odd, &[], now());
        let before = board.clone();
        assert_eq!(before.iter().filter(|known| known.is_firing()).count(), 3, "{before:?}");
        for run in [run(0, 0), run(3, 0), run(0, 1)] {
            assert_eq!(step(&mut board, &strange(run), &[], later(9)), none);
        }
        assert_eq!(board, before);
    }
}

/// A recovery carries the measured, recovered value and nothing unmeasured.
#[test]
fn a_recovery_says_what_is_well() {
    let check = |before: &dyn Fn(&mut SuiteRun), key: &str, summary: &str, figures: &[&str]| {
        let mut board = Vec::new();
        let mut bad = run(3, 0);
        before(&mut bad);
        step(&mut board, &bad, &[], now());
        let healthy = run(0, 0);
        let looked = EvaluatedRun { id: 8, run: &healthy };
        let known = AlertStates { alerts: &board, silenced: &[] };
        let changes = decide(&looked, &known, &NotifyPolicy::default(), later(1));
        let over = changes.iter().find(|one| one.alert().key.ends_with(key)).unwrap();
        let AlertChange::Resolve(alert) = over else { panic!("{over:?}") };
        assert_eq!(alert.summary, summary);
        assert_eq!((alert.run, alert.failing_count, alert.failing.len()), (Some(8), 0, 0));
        let shown: Vec<String> = alert.figures.iter().map(|(n, v)| format!("{n} {v}")).collect();
        assert_eq!(shown, figures);
        assert_eq!(alert.target.as_deref(), Some("local"));
    };
    check(
        &|_| (),
        "recall@5/all",
        "weekly recall@5/all is 100.0% (20) (n = 20), within its alert of 92%",
        &["value 100.0% (20)", "n 20", "target 95%", "alert 92%"],
    );
    let inconclusive = |run: &mut SuiteRun| run.verdict = Verdict::Inconclusive;
    check(&inconclusive, "weekly/run", "weekly has a verdict again: pass", &[]);
}

/// A closed alert keeps its summary and the reason for closing it.
#[test]
fn a_closed_alert_records_its_last_value() {
    let mut board = Vec::new();
    step(&mut board, &run(3, 0), &[], now());
    let was = board.iter().find(|known| known.key.contains("recall@5")).unwrap();
    let AlertChange::Resolve(known) = close_alert(was, "it is planned", later(1)) else { panic!() };
    assert_eq!(
        known.summary,
        "weekly recall@5/all is 85.0% (17) (n = 20), past its alert of 92%; closed by hand: it is planned"
    );
    assert_eq!((known.run, known.failing_count), (Some(7), 3));
}

#[test]
fn errors_are_reported_as_errors() {
    let mut board = Vec::new();
    let told = step(&mut board, &run(0, 1), &[], now());
    assert_eq!(told, ["raise unreachable"], "19 of 20 is past recall@10's alert");
    assert_eq!(
        board[0].summary,
        "weekly: target local was unreachable for 1 of 20 queries (timeout: 1)"
    );
    assert_eq!(board[0].severity, AlertSeverity::Error, "recall@10 does not page");
}

#[test]
fn a_silence_keeps_messages_back_and_not_the_state() {
    let mut board = Vec::new();
    let silenced = ["gbrain/default/weekly/*".to_owned()];
    let kept = ["keep recall@10/all (quiet)", "keep recall@5/all (quiet)"];
    assert_eq!(step(&mut board, &run(3, 0), &silenced, now()), kept);
    assert!(board.iter().all(|known| known.is_firing()));
    let raised = ["raise recall@10/all", "raise recall@5/all"];
    assert_eq!(
        step(&mut board, &run(3, 0), &[], later(1)),
        raised,
        "it is told once the silence is over"
    );
    let mut quiet = Vec::new();
    step(&mut quiet, &run(3, 0), &silenced, now());
    let over = ["resolve recall@10/all (quiet)", "resolve recall@5/all (quiet)"];
    assert_eq!(step(&mut quiet, &run(0, 0), &[], later(1)), over, "nobody was told of it");
}

/// Told before the silence, worse in it: after it, it is told at once, and its end closes what was opened.
#[test]
fn held_notifications_are_sent_when_the_silence_ends() {
    let silenced = ["gbrain/default/weekly/*".to_owned()];
    let open = |known: &[Alert]| {
        release_held(&AlertStates { alerts: known, silenced: &[] }, later(2))
            .iter()
            .map(|change| change.alert().subject.name())
            .collect::<Vec<_>>()
    };
    let mut board = Vec::new();
    step(&mut board, &run(3, 0), &silenced, now());
    assert_eq!(release_held(&AlertStates { alerts: &board, silenced: &silenced }, later(1)), []);
    assert_eq!(open(&board).len(), 2, "nobody waits for the next run");
    let mut told = Vec::new();
    step(&mut told, &run(3, 0), &[], now());
    step(&mut told, &run(3, 0), &silenced, later(1));
    assert_eq!(open(&told), [] as [String; 0], "it was told, and is no worse");
    for known in &mut told {
        known.severity = AlertSeverity::Warning;
    }
    step(&mut told, &run(3, 0), &silenced, later(1));
    assert_eq!(open(&told).len(), 2, "it got worse meanwhile");
    let over = ["resolve recall@10/all", "resolve recall@5/all"];
    assert_eq!(step(&mut told, &run(0, 0), &silenced, later(2)), over, "it closes what was opened");
    assert_eq!(open(&told), [] as [String; 0]);
}

#[test]
fn an_unreadable_suite_raises_an_alert() {
    let board = AlertStates::default();
    let owners = ["@search".to_owned()];
    let change =
        unreadable(("default", "weekly", &owners), 9, &board, &NotifyPolicy::default(), now());
    let AlertChange::Raise(known) = change else { panic!("{change:?}") };
    assert_eq!(known.key, "gbrain/default/weekly/run");
    assert!(known.summary.contains("run 9"), "{}", known.summary);
    let board = [known];
    let healthy = run(0, 0);
    let looked = EvaluatedRun { id: 10, run: &healthy };
    let known = AlertStates { alerts: &board, silenced: &[] };
    let changes = decide(&looked, &known, &NotifyPolicy::default(), later(1));
    assert!(matches!(&changes[..], [AlertChange::Resolve(_)]), "{changes:?}");
}

#[test]
fn weeks_that_fall() {
    let healthy = run(0, 0);
    let fall =
        DecliningMeasure { measure: SuiteMeasure::RecallAt5, values: vec![0.9, 0.8, 0.7, 0.6] };
    let falling = SuiteRun { recalibrate: vec![fall], ..healthy.clone() };
    let looked = EvaluatedRun { id: 1, run: &falling };
    let changes = decide(&looked, &AlertStates::default(), &NotifyPolicy::default(), now());
    assert_eq!(changes.len(), 1);
    let raised = changes[0].alert().clone();
    assert_eq!(
        (&raised.subject, raised.severity),
        (&AlertSubject::Recalibrate, AlertSeverity::Warning)
    );
    let board = [raised];
    let known = AlertStates { alerts: &board, silenced: &[] };
    let looked = EvaluatedRun { run: &healthy, ..looked };
    let changes = decide(&looked, &known, &NotifyPolicy::default(), later(200));
    let [AlertChange::Resolve(over)] = &changes[..] else { panic!("{changes:?}") };
    assert_eq!(over.summary, "weekly: recall and precision do not fall week after week");
}

#[test]
fn an_overdue_suite_raises_an_alert() {
    let owners = ["@search".to_owned()];
    let long_ago = later(-9000);
    let check = |heard: LastRun, board: &AlertStates<'_>| {
        check_overdue(
            ("default", "weekly", &owners),
            &heard,
            8,
            board,
            &NotifyPolicy::default(),
            later(24 * 8),
        )
    };
    let ran = |at: Timestamp| LastRun { ran: Some((4, at)), changed: long_ago };
    let changed = |changed: Timestamp| LastRun { ran: Some((4, long_ago)), changed };
    assert_eq!(
        check(ran(now()), &AlertStates::default()),
        None,
        "eight days are not more than eight"
    );
    let raised = check(ran(now() - SignedDuration::from_secs(1)), &AlertStates::default()).unwrap();
    assert!(matches!(&raised, AlertChange::Raise(known) if known.subject == AlertSubject::Silent));
    let says = |change: Option<AlertChange>| change.unwrap().alert().summary.clone();
    let never = LastRun { ran: None, changed: later(-1) };
    assert_eq!(
        says(check(never, &AlertStates::default())),
        "suite weekly of default has not run since it was enabled or changed at 2026-11-17T11:00:00Z, \
         for more than 8 days"
    );
    let known = [raised.alert().clone()];
    let board = AlertStates { alerts: &known, silenced: &[] };
    let over = check(ran(later(24 * 8)), &board);
    assert!(matches!(&over, Some(AlertChange::Resolve(known)) if known.run == Some(4)));
    assert_eq!(says(over), "suite weekly of default ran at 2026-11-25T12:00:00Z");
    let anew = says(check(changed(later(24)), &board));
    assert!(anew.contains("has a new deadline: it was enabled or changed at 2026-11-18"), "{anew}");
    let withdrawn = resolve_withdrawn(&known[0], later(1)).alert().summary.clone();
    assert!(withdrawn.contains("no longer expected to run"), "{withdrawn}");
    let healthy = run(0, 0);
    let looked = EvaluatedRun { id: 1, run: &healthy };
    let changes = decide(&looked, &board, &NotifyPolicy::default(), later(1));
    let [AlertChange::Resolve(over)] = &changes[..] else { panic!("{changes:?}") };
    assert_eq!(over.summary, "suite weekly of default ran at 2026-11-17T12:00:00.000Z");
    assert_eq!(over.run, Some(1));
}

#[test]
fn a_worsening_alert_notifies_immediately() {
    let mut board = Vec::new();
    step(&mut board, &run(3, 0), &[], now());
    for known in &mut board {
        known.severity = AlertSeverity::Warning;
    }
    assert_eq!(
        step(&mut board, &run(3, 0), &[], later(1)),
        ["raise recall@10/all", "raise recall@5/all"]
    );
    let figures = &board.iter().find(|one| one.key.contains("recall@5")).unwrap().figures;
    let figure = |name: &str| figures.iter().find(|(key, _)| key == name).unwrap().1.clone();
    assert_eq!((figure("value"), figure("n")), ("85.0% (17)".to_owned(), "20".to_owned()));
    assert_eq!(board[0].failing.len(), 3);
    let recall =
        AlertSubject::Measure { measure: SuiteMeasure::RecallAt5, segment: "all".to_owned() };
    assert!(board.iter().any(|one| one.subject == recall));
}

/// An outage is one page that says so, and nothing about recall.
#[test]
fn an_outage_is_one_page() {
    let mut board = Vec::new();
    assert_eq!(step(&mut board, &run(0, 20), &[], now()), ["raise unreachable"]);
    let alert = &board[0];
    assert_eq!(alert.severity, AlertSeverity::Critical);
    assert_eq!(
        alert.summary,
        "weekly: target local is unreachable: no answer to any of 20 queries (timeout: 20)"
    );
    assert!(!alert.figures.iter().any(|(_, value)| value.contains('%')), "{alert:?}");
    // It answers again, and has lost pages meanwhile: two things, told as such.
    let told = step(&mut board, &run(3, 0), &[], later(1));
    assert_eq!(told, ["raise recall@10/all", "raise recall@5/all", "resolve unreachable"]);
    // A firing alert keeps firing during an outage.
    let told = step(&mut board, &run(0, 20), &[], later(2));
    assert_eq!(told, ["raise unreachable"]);
    assert_eq!(board.iter().filter(|known| known.is_firing()).count(), 3);
}

/// Pages are told of once: over all cases, and not again for the mode that they were all answered in.
#[test]
fn a_mode_with_the_same_cases_is_one_incident() {
    let in_mode = |mut run: SuiteRun, n: u64, hits: u64| {
        let own: Vec<RunMeasure> = run.breaches().cloned().collect();
        run.measures.extend(own.into_iter().map(|one| RunMeasure {
            segment: "mode:hybrid".to_owned(),
            n,
            hits: Some(hits),
            ..one
        }));
        run
    };
    let mut board = Vec::new();
    let told = step(&mut board, &in_mode(run(3, 0), 20, 17), &[], now());
    assert_eq!(told, ["raise recall@10/all", "raise recall@5/all"]);
    let same = ("same cases as".to_owned(), "mode:hybrid".to_owned());
    assert!(board.iter().all(|known| known.figures.contains(&same)), "{board:?}");
    // All that was missed was missed in one mode.
    let told = step(&mut Vec::new(), &in_mode(run(3, 0), 6, 3), &[], now());
    assert_eq!(told.len(), 2, "{told:?}");
    // A mode that misses less than all is a matter of its own.
    let told = step(&mut Vec::new(), &in_mode(run(3, 0), 6, 4), &[], now());
    assert_eq!(told.len(), 4, "{told:?}");
}

/// An alert for one mode that grows to all cases by the same misses stays one incident.
#[test]
fn an_incident_of_a_mode_goes_on_as_that() {
    let mut alone = run(3, 0);
    for measure in alone.measures.iter_mut().filter(|one| one.status == MeasureStatus::Alert) {
        measure.segment = "mode:hybrid".to_owned();
    }
    let mut board = Vec::new();
    step(&mut board, &alone, &[], now());
    let mut both = run(3, 0);
    both.measures.extend(alone.measures.iter().filter(|one| one.segment != "all").cloned());
    let told = step(&mut board, &both, &[], later(1));
    assert_eq!(told, ["keep recall@10/mode:hybrid (quiet)", "keep recall@5/mode:hybrid (quiet)"]);
}

/// A run that asks fewer queries resolves nothing, and says so.
#[test]
fn a_smaller_run_leaves_alerts_open() {
    let mut board = Vec::new();
    step(&mut board, &run(3, 0), &[], now());
    let smaller = run_of(5, 0, 0, SampleSize::exactly(5));
    assert_eq!(smaller.verdict, Verdict::Pass);
    let kept = ["keep recall@10/all (quiet)", "keep recall@5/all (quiet)"];
    assert_eq!(step(&mut board, &smaller, &[], later(1)), kept);
    for known in &board {
        let why = known.still_open.as_deref().unwrap();
        assert!(known.is_firing() && why.contains("run 7 asked 5, and 20 were asked"), "{why}");
        assert!(why.contains("alerts close gbrain/default/weekly/recall@"), "{why}");
    }
    // A smaller run in which it fires again does not make a smaller recovery enough.
    step(&mut board, &run_of(5, 3, 0, SampleSize::exactly(5)), &[], later(2));
    assert!(board.iter().all(|known| known.still_open.is_none()));
    assert_eq!(step(&mut board, &smaller, &[], later(3)), kept);
    let over = ["resolve recall@10/all", "resolve recall@5/all"];
    assert_eq!(step(&mut board, &run(0, 0), &[], later(4)), over);
    assert!(board.iter().all(|known| known.still_open.is_none()));
}

/// Alerts stored before runs were counted keep their figures.
#[test]
fn an_alert_of_before_counts_by_its_figures() {
    let mut board = Vec::new();
    step(&mut board, &run(3, 0), &[], now());
    board.iter_mut().for_each(|known| known.asked = None);
    let kept = ["keep recall@10/all (quiet)", "keep recall@5/all (quiet)"];
    assert_eq!(step(&mut board, &run_of(5, 0, 0, SampleSize::exactly(5)), &[], later(1)), kept);
}

/// Too small a sample resolves nothing, whatever it found, and is told as what it is.
#[test]
fn too_small_a_sample_resolves_nothing() {
    let mut board = Vec::new();
    step(&mut board, &run(3, 0), &[], now());
    let shortage = crate::suite::size::SampleShortage { source: None, drawn: 20, required: 25 };
    let short = SampleSize { required: 25, short: vec![shortage], ..SampleSize::exactly(20) };
    let told = step(&mut board, &run_of(20, 0, 0, short), &[], later(1));
    let expected = ["keep recall@10/all (quiet)", "keep recall@5/all (quiet)", "raise run"];
    assert_eq!(told, expected);
    let run = board.iter().find(|known| known.subject == AlertSubject::Run).unwrap();
    assert_eq!(
        run.summary,
        "weekly could not say: sample_too_small \
         (sample too small: 20 of 25 required queries)"
    );
}

#[test]
fn a_reduced_sample_is_shown_in_every_alert() {
    let smaller =
        SampleSize { playbook: 100, smaller_than_playbook: true, ..SampleSize::exactly(20) };
    let mut board = Vec::new();
    step(&mut board, &run_of(20, 3, 0, smaller.clone()), &[], now());
    step(&mut board, &run_of(20, 0, 20, smaller), &[], now());
    let expected = "smaller sample: this suite requires 20 queries, the playbook 100";
    assert_eq!(board.len(), 3);
    for alert in &board {
        assert!(alert.summary.ends_with(&format!("({expected})")), "{alert:?}");
        assert!(alert.figures.contains(&("sample".to_owned(), expected.to_owned())), "{alert:?}");
    }
}
