use super::*;
use crate::format::suite::SuiteRunParts;
use crate::suite::case::{self, AskedWhy, CaseResult};
use crate::suite::graph::Fact;
use crate::suite::measure::Measure;
use crate::suite::query::Difficulty;
use crate::suite::report::{Ended, report};
use crate::suite::threshold::Thresholds;
use crate::suite::{Kind, Suite, sample};
use crate::target::{Found, TargetAnswer, TargetError, TargetErrorKind};

fn now() -> Timestamp {
    "2026-11-17T12:00:00Z".parse().unwrap()
}

fn later(hours: i64) -> Timestamp {
    now() + SignedDuration::from_hours(hours)
}

/// A run of twenty cases with so many misses and errors.
pub(in crate::alert) fn run(misses: usize, errors: usize) -> SuiteRunBody {
    let case = |at: usize| -> CaseResult {
        let id = format!("q{at:02}");
        let query = sample::tests::query(&id, "slack", Difficulty::Easy);
        let document = if at < misses { "other".to_owned() } else { id };
        let results = vec![Found { document, ..Found::default() }];
        let answer = match at >= 20 - errors {
            true => Err(TargetError::new(TargetErrorKind::Timeout, "late")),
            false => Ok(TargetAnswer { results, latency_ms: 5.0, ..TargetAnswer::default() }),
        };
        case::judge(&query, AskedWhy::No, &answer, &|_| Fact::Holds)
    };
    let suite = Suite::new("weekly", Kind::WeeklyBenchmark, vec!["@search".to_owned()]);
    let report =
        report((0..20).map(case).collect(), 20, Ended::Whole, &Thresholds::default(), None);
    SuiteRunBody::new(&SuiteRunParts {
        suite: &suite,
        workspace: "default",
        key: "manual:1",
        trigger: "manual",
        started: now(),
        finished: now(),
        rerank_threshold: None,
        notes: &[],
        recalibrate: &[],
        report: &report,
    })
}

/// What a run changes of a board, and the board after it.
fn step(
    board: &mut Vec<Known>,
    run: &SuiteRunBody,
    silenced: &[String],
    at: Timestamp,
) -> Vec<String> {
    let looked = Looked { id: 7, run, recalibrate: false };
    let changes = decide(&looked, &Board { known: board, silenced }, &Policy::default(), at);
    let mut told = Vec::new();
    for change in changes {
        let known = change.known().clone();
        let what = match &change {
            Change::Raise(_) => "raise",
            Change::Keep(_) => "keep",
            Change::Resolve(_) => "resolve",
        };
        told.push(format!(
            "{what} {}{}",
            known.alert.subject.name(),
            if change.is_told() { "" } else { " (quiet)" }
        ));
        board.retain(|one| one.alert.key != known.alert.key);
        board.push(known);
    }
    told.sort();
    told
}

#[test]
fn raised_kept_told_again_and_taken_back() {
    let mut board = Vec::new();
    assert_eq!(step(&mut board, &run(0, 0), &[], now()), Vec::<String>::new());
    let raised = ["raise recall@10/all", "raise recall@5/all"];
    assert_eq!(step(&mut board, &run(3, 0), &[], now()), raised);
    let severities: Vec<Severity> = board.iter().map(|known| known.alert.severity).collect();
    assert_eq!(severities, [Severity::Critical, Severity::Error], "only recall@5 pages");
    let kept = ["keep recall@10/all (quiet)", "keep recall@5/all (quiet)"];
    assert_eq!(step(&mut board, &run(3, 0), &[], later(1)), kept);
    assert_eq!(step(&mut board, &run(3, 0), &[], later(4)), raised, "the cooldown is over");
    let over = ["resolve recall@10/all", "resolve recall@5/all"];
    assert_eq!(step(&mut board, &run(0, 0), &[], later(5)), over);
    assert_eq!(step(&mut board, &run(0, 0), &[], later(6)), Vec::<String>::new());
    assert!(board.iter().all(|known| !known.is_firing));
}

#[test]
fn what_was_not_measured_is_not_over() {
    let mut board = Vec::new();
    step(&mut board, &run(3, 0), &[], now());
    let mut empty = run(0, 0);
    empty.measures.clear();
    empty.verdict = Verdict::Inconclusive;
    assert_eq!(step(&mut board, &empty, &[], later(1)), ["raise run"]);
    assert_eq!(board.iter().filter(|known| known.is_firing).count(), 3);
}

/// What is left when slow or broken answers are missing looks better than it is.
#[test]
fn a_part_of_a_run_takes_nothing_back() {
    for reason in [Reason::OverTime, Reason::Errors, Reason::Cancelled, Reason::Degraded] {
        let mut board = Vec::new();
        step(&mut board, &run(3, 0), &[], now());
        let mut part = run(0, 0);
        part.verdict = Verdict::Inconclusive;
        part.inconclusive_reasons = vec![reason];
        step(&mut board, &part, &[], later(1));
        let firing = board.iter().filter(|known| known.is_firing).count();
        assert_eq!(firing, 3, "{reason}: both measures, and the run");
    }
    let mut board = Vec::new();
    step(&mut board, &run(3, 0), &[], now());
    let mut few = run(0, 0);
    few.measures.iter_mut().for_each(|measure| measure.decides = false);
    assert_eq!(step(&mut board, &few, &[], later(1)), Vec::<String>::new());
}

#[test]
fn an_error_is_told_as_such() {
    let mut board = Vec::new();
    let told = step(&mut board, &run(0, 1), &[], now());
    assert_eq!(told, ["raise recall@10/all"], "19 of 20 is past recall@10's alert");
}

#[test]
fn a_silence_keeps_messages_back_and_not_the_state() {
    let mut board = Vec::new();
    let silenced = ["gbrain/default/weekly/*".to_owned()];
    let kept = ["keep recall@10/all (quiet)", "keep recall@5/all (quiet)"];
    assert_eq!(step(&mut board, &run(3, 0), &silenced, now()), kept);
    assert!(board.iter().all(|known| known.is_firing));
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
fn what_a_silence_kept_back_is_told_when_it_ends() {
    let silenced = ["gbrain/default/weekly/*".to_owned()];
    let open = |known: &[Known]| {
        released(&Board { known, silenced: &[] }, later(2))
            .iter()
            .map(|change| change.known().alert.subject.name())
            .collect::<Vec<_>>()
    };
    let mut board = Vec::new();
    step(&mut board, &run(3, 0), &silenced, now());
    assert_eq!(released(&Board { known: &board, silenced: &silenced }, later(1)), []);
    assert_eq!(open(&board).len(), 2, "nobody waits for the next run");
    let mut told = Vec::new();
    step(&mut told, &run(3, 0), &[], now());
    step(&mut told, &run(3, 0), &silenced, later(1));
    assert_eq!(open(&told), [] as [String; 0], "it was told, and is no worse");
    for known in &mut told {
        known.alert.severity = Severity::Warning;
    }
    step(&mut told, &run(3, 0), &silenced, later(1));
    assert_eq!(open(&told).len(), 2, "it got worse meanwhile");
    let over = ["resolve recall@10/all", "resolve recall@5/all"];
    assert_eq!(step(&mut told, &run(0, 0), &silenced, later(2)), over, "it closes what was opened");
    assert_eq!(open(&told), [] as [String; 0]);
}

#[test]
fn what_can_not_be_read_is_told_of() {
    let board = Board::default();
    let owners = ["@search".to_owned()];
    let change = unreadable(("default", "weekly", &owners), 9, &board, &Policy::default(), now());
    let Change::Raise(known) = change else { panic!("{change:?}") };
    assert_eq!(known.alert.key, "gbrain/default/weekly/run");
    assert!(known.alert.summary.contains("run 9"), "{}", known.alert.summary);
    let board = [known];
    let healthy = run(0, 0);
    let looked = Looked { id: 10, run: &healthy, recalibrate: false };
    let known = Board { known: &board, silenced: &[] };
    let changes = decide(&looked, &known, &Policy::default(), later(1));
    assert!(matches!(&changes[..], [Change::Resolve(_)]), "{changes:?}");
}

#[test]
fn weeks_that_fall() {
    let healthy = run(0, 0);
    let looked = Looked { id: 1, run: &healthy, recalibrate: true };
    let changes = decide(&looked, &Board::default(), &Policy::default(), now());
    assert_eq!(changes.len(), 1);
    let raised = changes[0].known().clone();
    assert_eq!(
        (&raised.alert.subject, raised.alert.severity),
        (&Subject::Recalibrate, Severity::Warning)
    );
    let board = [raised];
    let known = Board { known: &board, silenced: &[] };
    let looked = Looked { recalibrate: false, ..looked };
    assert!(matches!(
        &decide(&looked, &known, &Policy::default(), later(200))[..],
        [Change::Resolve(_)]
    ));
}

#[test]
fn a_suite_that_does_not_run_is_told_of() {
    let owners = ["@search".to_owned()];
    let check = |last: Option<Timestamp>, board: &Board<'_>| {
        silent(("default", "weekly", &owners), last, 8, board, &Policy::default(), later(24 * 8))
    };
    assert_eq!(check(Some(now()), &Board::default()), None, "eight days are not more than eight");
    let raised = check(Some(now() - SignedDuration::from_secs(1)), &Board::default()).unwrap();
    assert!(matches!(&raised, Change::Raise(known) if known.alert.subject == Subject::Silent));
    assert!(check(None, &Board::default()).is_some());
    let known = [raised.known().clone()];
    let board = Board { known: &known, silenced: &[] };
    assert!(matches!(check(Some(later(24 * 8)), &board), Some(Change::Resolve(_))));
    let healthy = run(0, 0);
    let looked = Looked { id: 1, run: &healthy, recalibrate: false };
    assert!(matches!(
        &decide(&looked, &board, &Policy::default(), later(1))[..],
        [Change::Resolve(_)]
    ));
}

#[test]
fn what_gets_worse_is_told_at_once() {
    let mut board = Vec::new();
    step(&mut board, &run(3, 0), &[], now());
    for known in &mut board {
        known.alert.severity = Severity::Warning;
    }
    assert_eq!(
        step(&mut board, &run(3, 0), &[], later(1)),
        ["raise recall@10/all", "raise recall@5/all"]
    );
    let figures =
        &board.iter().find(|one| one.alert.key.contains("recall@5")).unwrap().alert.figures;
    let figure = |name: &str| figures.iter().find(|(key, _)| key == name).unwrap().1.clone();
    assert_eq!((figure("value"), figure("n")), ("85.0% (17)".to_owned(), "20".to_owned()));
    assert_eq!(board[0].alert.failing.len(), 3);
    assert!(
        board
            .iter()
            .any(|one| one.alert.subject == Subject::Measure(Measure::RecallAt5, "all".to_owned()))
    );
}
