use super::*;
use crate::gate::Verdict;
use crate::reading::meter::{ReadingMeter, ReadingMeterError};

fn measured(name: &str, rows: &[(&str, f64, bool)]) -> ResultTable {
    let column = |measure: &str, role| MeasureColumn { measure: measure.to_owned(), role };
    let row = |(key, value, hit): &(&str, f64, bool)| ResultRow {
        key: (*key).to_owned(),
        label: (*key).to_owned(),
        against: Some("same".to_owned()),
        is_answered: true,
        values: vec![Some(*value), Some(f64::from(u8::from(*hit)))],
    };
    ResultTable {
        name: name.to_owned(),
        kind: EvalResultKind::Scores,
        conditions: vec![("k".to_owned(), "10".to_owned())],
        notes: Vec::new(),
        columns: vec![column("nDCG@10", MeasureRole::Quality), column("hit", MeasureRole::Binary)],
        rows: rows.iter().map(row).collect(),
    }
}

fn plain(
    reference: &ResultTable,
    others: &[ResultTable],
) -> Result<Comparison, Vec<IncomparableReason>> {
    compare(reference, others, &CompareOptions::default())
}

fn forced(
    reference: &ResultTable,
    others: &[ResultTable],
) -> Result<Comparison, Vec<IncomparableReason>> {
    compare(reference, others, &CompareOptions { is_forced: true, ..CompareOptions::default() })
}

fn by(reference: &ResultTable, other: &ResultTable, primary: &[&str]) -> Comparison {
    let primary = primary.iter().map(|name| (*name).to_owned()).collect();
    let options = CompareOptions { primary, ..CompareOptions::default() };
    compare(reference, std::slice::from_ref(other), &options).unwrap()
}

fn many(name: &str, value: impl Fn(usize) -> (f64, bool)) -> ResultTable {
    let keys: Vec<String> = (0..40).map(|at| format!("q{at}")).collect();
    let rows: Vec<(&str, f64, bool)> = keys
        .iter()
        .enumerate()
        .map(|(at, key)| {
            let (score, hit) = value(at);
            (key.as_str(), score, hit)
        })
        .collect();
    measured(name, &rows)
}

#[test]
fn a_comparison_stops_at_every_step() {
    let a = many("a", |at| (at as f64 / 40.0, true));
    let b = many("b", |at| ((at * at % 37) as f64 / 40.0, at % 3 == 0));
    let others = [b, a.clone()];
    let calls = std::cell::Cell::new(0);
    let stopped_after = |most: usize| {
        calls.set(0);
        let is_stopped = || calls.replace(calls.get() + 1) >= most;
        let mut meter = ReadingMeter::new(&|_| true, &is_stopped);
        compare_metered(&a, &others, &CompareOptions::default(), &mut meter)
    };
    let found = stopped_after(usize::MAX).unwrap();
    assert_eq!(found, plain(&a, &others).unwrap(), "asking changes nothing");
    // Each pair, each measure of it before and after its tests, and each of its 40 rows.
    let all = calls.get();
    assert!(all >= 2 + 2 * 2 * 2 + 2 * 40, "it was asked {all} times only");
    for most in [0, 1, 2, 3, 5, all / 3, all / 2, all - 41, all - 1] {
        let stopped = stopped_after(most);
        assert_eq!(stopped, Err(CompareError::Interrupted(ReadingMeterError::Stopped)), "{most}");
        // A test that was stopped ends its measure.
        assert!(calls.get() <= most + 3, "{} calls after {most}", calls.get() - most);
    }
}

#[test]
fn comparison_memory_is_counted() {
    let a = many("a", |_| (1.0, true));
    let b = many("b", |_| (0.5, false));
    let taken = std::cell::Cell::new(0);
    let reserve = |bytes| {
        taken.set(taken.get() + bytes);
        true
    };
    let mut meter = ReadingMeter::new(&reserve, &|| false);
    let others = vec![b; 19];
    compare_metered(&a, &others, &CompareOptions::default(), &mut meter).unwrap();
    // Every query moved in every result.
    assert!(taken.get() >= 19 * 40 * 400, "{}", taken.get());
    let mut none = ReadingMeter::new(&|_| false, &|| false);
    let refused = compare_metered(&a, &others, &CompareOptions::default(), &mut none);
    assert_eq!(refused, Err(CompareError::Interrupted(ReadingMeterError::NoMemory)));
}

#[test]
fn differences_by_hand() {
    let a = measured("a", &[("1", 0.5, true), ("2", 1.0, true), ("only a", 0.0, false)]);
    let b = measured("b", &[("2", 0.5, true), ("1", 0.75, false), ("only b", 0.0, true)]);
    let found = plain(&a, &[b]).unwrap();
    let against = &found.against[0];
    assert_eq!(against.shared, 2);
    assert_eq!(
        (&against.only_reference[..], &against.only_this[..]),
        (&["only a".to_owned()][..], &["only b".to_owned()][..])
    );
    let [ndcg, hit] = &against.deltas[..] else { panic!("two measures") };
    assert_eq!(
        (ndcg.n, ndcg.before, ndcg.after, ndcg.delta),
        (2, Some(0.75), Some(0.625), Some(-0.125))
    );
    assert_eq!(ndcg.better_worse_same, [1, 1, 0]);
    assert_eq!((hit.test, hit.p), (SignificanceTest::McNemar, Some(1.0)));
    let moved: Vec<(&str, &str)> =
        against.moves.iter().map(|one| (one.key.as_str(), one.measure.as_str())).collect();
    assert_eq!(moved, [("1", "hit"), ("2", "nDCG@10")]);
    assert!(!found.has_regression());
}

#[test]
fn a_drop_of_every_query_is_a_regression() {
    let a = many("a", |at| (0.5 + at as f64 / 100.0, true));
    let b = many("b", |at| (0.4 + at as f64 / 100.0, at > 9));
    let found = by(&a, &b, &["nDCG@10", "hit"]);
    assert!(found.has_regression());
    let [ndcg, hit] = &found.against[0].deltas[..] else { panic!("two measures") };
    assert!(ndcg.is_regression() && hit.is_regression());
    // Two tests: the smaller p-value counts twice.
    assert!((ndcg.p_adjusted.unwrap() - 2.0 * ndcg.p.unwrap()).abs() < 1e-12);
    let back = plain(&b, &[a]).unwrap();
    assert!(!back.has_regression() && back.against[0].deltas[0].is_improvement());
}

#[test]
fn the_same_is_no_difference() {
    let a = many("a", |at| (at as f64 / 40.0, at % 2 == 0));
    let found = plain(&a, &[ResultTable { name: "b".to_owned(), ..a.clone() }]).unwrap();
    let delta = &found.against[0].deltas[0];
    assert_eq!((delta.delta, delta.p, delta.better_worse_same), (Some(0.0), Some(1.0), [0, 0, 40]));
    assert!(found.against[0].moves.is_empty());
}

#[test]
fn incomparable_results_are_refused() {
    let a = measured("a", &[("1", 0.5, true)]);
    let mut b = measured("b", &[("1", 0.5, true)]);
    b.conditions = vec![("k".to_owned(), "5".to_owned())];
    let refused = plain(&a, std::slice::from_ref(&b)).unwrap_err();
    assert_eq!(refused[0].to_string(), "`k` is 10 in `a` and 5 in `b`");
    let found = forced(&a, std::slice::from_ref(&b)).unwrap();
    assert_eq!(found.against[0].forced, refused);
    b.conditions.clear();
    b.rows[0].against = Some("other".to_owned());
    assert!(plain(&a, std::slice::from_ref(&b)).is_err());
    b.kind = EvalResultKind::Replay;
    let refused = forced(&a, &[b]).unwrap_err();
    assert_eq!(
        refused[0].to_string(),
        "`a` is scores output and `b` is replay output; compare results of one kind"
    );
}

#[test]
fn one_sided_failures_are_reported_and_make_it_partial() {
    let a = measured("a", &[("1", 0.5, true), ("2", 0.5, true)]);
    let whole = plain(&a, std::slice::from_ref(&a)).unwrap();
    assert!(whole.is_whole());
    let mut b = a.clone();
    b.rows[1].is_answered = false;
    b.rows[1].values = vec![None; 2];
    let found = plain(&a, &[b]).unwrap();
    assert_eq!(
        (found.against[0].deltas[0].n, &found.against[0].unanswered[..]),
        (1, &["2".to_owned()][..])
    );
    assert!(!found.is_whole() && !found.has_regression());
    let less = ResultTable { rows: a.rows[..1].to_vec(), ..a.clone() };
    assert!(!plain(&a, &[less]).unwrap().is_whole());
}

#[test]
fn nothing_in_common_cannot_be_forced() {
    let (a, b) = (measured("a", &[("1", 0.5, true)]), measured("b", &[("2", 0.5, true)]));
    assert!(forced(&a, &[b]).is_err());
}

/// Every query falls from 1 to 0, in as many measures as a run has.
fn all_fall(n: usize) -> [ResultTable; 2] {
    let names = ["nDCG@10", "P@10", "R@10", "R@100", "RR", "AP", "RBP", "Judged@10"];
    let one = |name: &str, value: f64| ResultTable {
        columns: names
            .iter()
            .map(|name| MeasureColumn { measure: (*name).to_owned(), role: MeasureRole::Quality })
            .collect(),
        rows: (0..n)
            .map(|at| ResultRow {
                key: at.to_string(),
                label: at.to_string(),
                against: None,
                is_answered: true,
                values: vec![Some(value); names.len()],
            })
            .collect(),
        ..measured(name, &[])
    };
    [one("a", 1.0), one("b", 0.0)]
}

#[test]
fn eight_of_eight_queries_that_fall_are_a_regression() {
    let [a, b] = all_fall(8);
    let found = plain(&a, std::slice::from_ref(&b)).unwrap();
    assert_eq!((found.verdict(), found.deciding_tests()), (Verdict::Fail, 1));
    assert_eq!(found.primary, ["nDCG@10"]);
    let ndcg = &found.against[0].deltas[0];
    assert_eq!(ndcg.p, ndcg.p_adjusted);
    assert!((ndcg.p.unwrap() - 2.0 / 256.0).abs() < 1e-12, "{ndcg:?}");
    // The others are shown, not corrected, and do not decide.
    let recall = &found.against[0].deltas[2];
    assert_eq!((recall.p, recall.p_adjusted), (ndcg.p, None));
    assert!(recall.fell_without_deciding() && !recall.is_regression());
    assert_eq!(plain(&b, &[a]).unwrap().verdict(), Verdict::Pass);
}

#[test]
fn too_few_queries_for_the_level_are_no_verdict() {
    for (n, verdict) in [(4, Verdict::Inconclusive), (5, Verdict::Inconclusive), (6, Verdict::Fail)]
    {
        let [a, b] = all_fall(n);
        assert_eq!(plain(&a, &[b]).unwrap().verdict(), verdict, "{n}");
        // Not even equal results pass: a fall would not have been seen.
        let same = plain(&a, std::slice::from_ref(&a)).unwrap().verdict();
        let expected = if n < 6 { Verdict::Inconclusive } else { Verdict::Pass };
        assert_eq!(same, expected, "{n}");
    }
    // Two measures that decide need one query more.
    let [a, b] = all_fall(6);
    let both = by(&a, &b, &["nDCG@10", "R@10"]);
    assert_eq!(both.verdict(), Verdict::Inconclusive);
    assert!(both.doubts()[0].contains("at least 7 are needed"), "{:?}", both.doubts());
}

#[test]
fn a_fall_of_few_queries_among_many_is_no_verdict() {
    let a = many("a", |at| (0.5 + at as f64 / 100.0, true));
    for (fallen, verdict) in [
        (0, Verdict::Pass),
        (1, Verdict::Inconclusive),
        (5, Verdict::Inconclusive),
        (6, Verdict::Fail),
    ] {
        let b = many("b", |at| (if at < fallen { 0.0 } else { 0.5 + at as f64 / 100.0 }, true));
        assert_eq!(plain(&a, &[b]).unwrap().verdict(), verdict, "{fallen}");
    }
}

#[test]
fn judgement_counts_and_times_never_decide() {
    let [a, b] = all_fall(8);
    for name in ["Judged@10", "judged@10", "latency", "nothing"] {
        let options =
            CompareOptions { primary: vec![name.to_owned()], ..CompareOptions::default() };
        let refused = compare(&a, std::slice::from_ref(&b), &options).unwrap_err();
        assert!(refused[0].to_string().contains("cannot decide"), "{refused:?}");
        assert!(!refused[0].can_be_forced());
    }
    // Where nothing else is measured, nothing decides.
    let only = |one: &ResultTable| {
        let mut one = one.clone();
        one.columns.drain(..7);
        one.rows.iter_mut().for_each(|row| drop(row.values.drain(..7)));
        one
    };
    let found = plain(&only(&a), &[only(&b)]).unwrap();
    assert_eq!(found.verdict(), Verdict::Inconclusive);
    // Case does not matter, and a name twice counts once.
    assert_eq!(by(&a, &b, &["ndcg@10", "nDCG@10"]).deciding_tests(), 1);
}

#[test]
fn a_drop_of_fourteen_points_in_fifty_queries_is_a_regression() {
    let keys: Vec<String> = (0..50).map(|at| format!("q{at}")).collect();
    let one = |name: &str, fallen: usize| {
        let rows: Vec<(&str, f64, bool)> = keys
            .iter()
            .enumerate()
            .map(|(at, key)| (key.as_str(), if at < fallen { 0.0 } else { 1.0 }, true))
            .collect();
        measured(name, &rows)
    };
    let found = plain(&one("a", 0), &[one("b", 7)]).unwrap();
    assert_eq!(found.verdict(), Verdict::Fail);
    let ndcg = &found.against[0].deltas[0];
    assert!(ndcg.interval.unwrap().high < 0.0, "{ndcg:?}");
}

#[test]
fn a_value_that_is_lost_is_no_pass() {
    let a = many("a", |at| (at as f64 / 40.0, true));
    let mut b = a.clone();
    b.rows[3].values[0] = None;
    assert_eq!(plain(&a, &[b]).unwrap().verdict(), Verdict::Inconclusive);
}

#[test]
fn equal_values_have_an_interval_and_a_smallest_drop() {
    let a = many("a", |_| (0.5, true));
    let found = plain(&a, std::slice::from_ref(&a)).unwrap();
    let ndcg = &found.against[0].deltas[0];
    let interval = ndcg.interval.unwrap();
    assert!(interval.low < -0.05 && interval.high > 0.05, "{interval:?}");
    assert!(ndcg.smallest_drop.unwrap() > 0.05);
    let few = measured("few", &[("1", 0.5, true)]);
    let one = plain(&few, std::slice::from_ref(&few)).unwrap();
    assert_eq!(
        (one.against[0].deltas[0].interval, one.against[0].deltas[0].smallest_drop),
        (None, None)
    );
}

/// Five queries that fall can't decide, whatever small changes stand beside them.
#[test]
fn small_changes_do_not_make_few_falls_decide() {
    let before = many("a", |_| (0.9, true));
    let check = |falls: usize, small: &dyn Fn(usize) -> f64, expected: Verdict| {
        let after = many("b", |at| if at < falls { (0.0, true) } else { (0.9 + small(at), true) });
        let found = plain(&before, &[after]).unwrap();
        assert_eq!(found.verdict(), expected, "{falls}: {:?}", found.doubts());
    };
    check(5, &|_| 0.0, Verdict::Inconclusive);
    check(5, &|at| if at == 39 { 0.01 } else { 0.0 }, Verdict::Inconclusive);
    check(5, &|at| if at >= 20 { 0.001 } else { 0.0 }, Verdict::Inconclusive);
    check(4, &|at| [0.0, -0.001, 0.001][at % 3], Verdict::Inconclusive);
    check(8, &|at| if at == 39 { 0.01 } else { 0.0 }, Verdict::Fail);
    // As many rise as fall, by as much: nothing fell.
    check(0, &|at| [0.05, -0.05][at % 2], Verdict::Pass);
}
