use proptest::prelude::*;

use super::*;
use crate::qrels::{Judgement, Qrels};
use crate::run::Run;

fn graded(judged: &[(&str, f64)], ranking: &[&str]) -> GradedRanking {
    let judgements =
        judged.iter().map(|(doc, grade)| Judgement { doc: (*doc).into(), grade: *grade });
    GradedRanking::of(&judgements.collect::<Vec<_>>(), ranking.iter().copied())
}

#[track_caller]
fn check(measure: &str, judged: &[(&str, f64)], ranking: &[&str], expected: f64) {
    let found = measure.parse::<Measure>().unwrap().of(&graded(judged, ranking));
    assert!((found - expected).abs() < 1e-9, "{measure} of {ranking:?}: {found}, not {expected}");
}

#[test]
fn by_hand() {
    // Relevant at ranks 1 and 3 of 4, one of three never found.
    let (judged, ranking) =
        ([("a", 1.0), ("b", 0.0), ("c", 3.0), ("d", 1.0)], ["a", "b", "c", "x"]);
    let ideal = 3.0 + 1.0 / 3f64.log2() + 1.0 / 2.0;
    for (measure, expected) in [
        ("P@1", 1.0),
        ("P@4", 0.5),
        ("P@10", 0.2),
        ("P(rel=2)@4", 0.25),
        ("R@1", 1.0 / 3.0),
        ("R@4", 2.0 / 3.0),
        ("R(rel=2)@2", 0.0),
        ("R(rel=2)@3", 1.0),
        ("recall_any@1", 1.0),
        ("recall_all@4", 0.0),
        ("recall_all(rel=3)@3", 1.0),
        ("hit(rel=3)@2", 0.0),
        ("Success@5", 1.0),
        ("RR", 1.0),
        ("RR(rel=2)", 1.0 / 3.0),
        ("RR(rel=2)@2", 0.0),
        ("AP", (1.0 + 2.0 / 3.0) / 3.0),
        ("AP@2", 1.0 / 3.0),
        ("nDCG@4", (1.0 + 3.0 / 2.0) / ideal),
        ("nDCG@2", 1.0 / (3.0 + 1.0 / 3f64.log2())),
        ("nDCG", (1.0 + 3.0 / 2.0) / ideal),
        ("nDCG(dcg='exp-log2')@4", (1.0 + 7.0 / 2.0) / (7.0 + 1.0 / 3f64.log2() + 1.0 / 2.0)),
        ("RBP(p=0.8)", 0.2 * (1.0 + 0.64)),
        ("RBP(p=0.8)@2", 0.2),
        ("RBP(p=0.5,rel=2)", 0.5 * 0.25),
        ("Judged@2", 1.0),
        ("Judged@4", 0.75),
        ("Judged@10", 0.75),
        ("Judged", 0.75),
        ("Rprec", 2.0 / 3.0),
        ("Rprec(rel=2)", 0.0),
        // `b` is judged not relevant and ranks above `c`: 1 - 1 / min(3, 1).
        ("Bpref", 1.0 / 3.0),
        ("ERR@1", 1.0 / 16.0),
        ("ERR", 1.0 / 16.0 + 15.0 / 16.0 * 7.0 / 16.0 / 3.0),
        ("ERR(max=3)", 1.0 / 8.0 + 7.0 / 8.0 * 7.0 / 8.0 / 3.0),
    ] {
        check(measure, &judged, &ranking, expected);
    }
}

/// Figures of gdeval (ERR) and pytrec_eval (Rprec, Bpref), both through ir_measures 0.4.3.
#[test]
fn as_other_evaluators_have_it() {
    let first = [("a", 3.0), ("b", 0.0), ("c", 1.0), ("d", 4.0)];
    let second = [("a", 2.0), ("b", 1.0)];
    for (judged, ranking, measure, expected) in [
        (&first[..], &["b", "c", "a", "x", "d"][..], "ERR@1", 0.0),
        (&first[..], &["b", "c", "a", "x", "d"][..], "ERR@3", 0.16797),
        (&first[..], &["b", "c", "a", "x", "d"][..], "ERR@20", 0.26685),
        (&first[..], &["b", "c", "a", "x", "d"][..], "Rprec", 0.666_67),
        (&first[..], &["b", "c", "a", "x", "d"][..], "Bpref", 0.0),
        (&second[..], &["x", "b", "a"][..], "ERR@20", 0.08984),
        (&second[..], &["x", "b", "a"][..], "Rprec", 0.5),
        (&second[..], &["x", "b", "a"][..], "Bpref", 1.0),
    ] {
        let found = measure.parse::<Measure>().unwrap().of(&graded(judged, ranking));
        assert!((found - expected).abs() < 6e-6, "{measure} of {ranking:?}: {found}");
    }
}

/// Cases that other evaluators got wrong, from their issue trackers.
#[test]
fn known_mistakes_of_others() {
    let both = [("A", 1.0), ("B", 1.0)];
    check("R@10", &both, &["A", "A"], 0.5);
    check("R@10", &both[..1], &["A", "A", "X"], 1.0);
    check("nDCG@10", &both[..1], &["A", "A", "X"], 1.0);
    let five = [("a", 1.0), ("b", 1.0), ("c", 1.0), ("d", 1.0), ("e", 1.0)];
    let ideal: f64 = (1..=5).map(|rank| 1.0 / f64::from(rank + 1).log2()).sum();
    check("nDCG@5", &five, &["a"], 1.0 / ideal);
    assert_eq!(format!("{:.3}", 1.0 / ideal), "0.339");
    let ten: Vec<String> = (0..10).map(|id| id.to_string()).collect();
    let judged: Vec<(&str, f64)> = ten.iter().map(|id| (id.as_str(), 1.0)).collect();
    let ranking: Vec<&str> = ten.iter().map(String::as_str).collect();
    for measure in ["P@10", "R@10", "RR", "AP", "nDCG@10", "nDCG", "Success@1", "Judged@10"] {
        check(measure, &judged, &ranking, 1.0);
    }
    for measure in ["P@5", "R@5", "recall_all@5", "RR", "AP", "nDCG@5", "nDCG", "RBP", "Judged@5"] {
        check(measure, &judged, &[], 0.0);
        check(measure, &[("a", 0.0), ("b", -2.0)], &["b", "a"], f64::from(measure == "Judged@5"));
    }
}

#[test]
fn grades_below_zero_gain_nothing_and_huge_ones_do_no_harm() {
    check("nDCG@2", &[("a", -1.0), ("b", 1.0)], &["a", "b"], 1.0 / 3f64.log2());
    check("nDCG(dcg='exp-log2')@2", &[("a", 5000.0), ("b", 4999.0)], &["a", "b"], 1.0);
    check("R@2", &[("a", 0.5)], &["a"], 1.0);
}

fn scored(qrels: &str, run: &str, missing: MissingQueries) -> Evaluation {
    let measures = Measure::parse_list("RR nDCG@1").unwrap();
    let run = Run::parse(run.as_bytes()).unwrap();
    evaluate(&Qrels::parse(qrels.as_bytes()).unwrap(), &run, &measures, missing)
}

#[test]
fn missing_queries_count_zero_or_nothing_and_are_reported() {
    let (qrels, run) = ("1 0 a 1\n2 0 a 1\n", "1 Q0 a 1 1 t\n3 Q0 a 1 1 t\n");
    let zero = scored(qrels, run, MissingQueries::Zero);
    assert_eq!(zero.mean(&Measure::reciprocal_rank()), Some(0.5));
    assert_eq!(zero.missing_in_run, ["2"]);
    assert_eq!(zero.missing_in_qrels, ["3"]);
    assert_eq!(
        (zero.per_query[1].retrieved, &zero.per_query[1].scores[..]),
        (None, &[0.0, 0.0][..])
    );
    let skip = scored(qrels, run, MissingQueries::Skip);
    assert_eq!(skip.mean(&Measure::reciprocal_rank()), Some(1.0));
    assert_eq!((skip.per_query.len(), skip.missing_in_run.len()), (1, 1));
    let none = scored(qrels, "", MissingQueries::Zero);
    assert_eq!((none.mean(&Measure::reciprocal_rank()), none.judged_hits), (Some(0.0), 0));
    let nothing = scored(qrels, "", MissingQueries::Skip);
    assert_eq!(nothing.mean(&Measure::reciprocal_rank()), None);
    let empty = Qrels { queries: Vec::new(), ..Qrels::parse(b"1 0 a 1").unwrap() };
    let run = Run::parse(b"1 Q0 a 1 1 t").unwrap();
    let empty = evaluate(&empty, &run, &[Measure::recall(5)], MissingQueries::Zero);
    assert_eq!(empty.summary, [(Measure::recall(5), None)]);
}

/// With all scores tied the result depends on the document's name, as in trec_eval: that is told.
#[test]
fn ties_are_broken_by_name_and_counted() {
    let tied = scored("1 0 a 1\n", "1 Q0 a 1 1 t\n1 Q0 b 2 1 t\n", MissingQueries::Zero);
    assert_eq!(tied.mean(&Measure::reciprocal_rank()), Some(0.5));
    assert_eq!(tied.ties_at_cutoff, [TieCount { cutoff: 1, queries: 1 }]);
    let clear = scored("1 0 a 1\n", "1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n", MissingQueries::Zero);
    assert_eq!(clear.ties_at_cutoff, [TieCount { cutoff: 1, queries: 0 }]);
}

#[test]
fn segments_have_their_own_means() {
    let run = "1 Q0 a 1 1 t\n2 Q0 b 1 1 t\n3 Q0 a 1 1 t\n";
    let evaluation = scored("1 0 a 1\n2 0 a 1\n3 0 a 1\n", run, MissingQueries::Zero);
    let groups = evaluation.by_segment(|query| (query != "3").then_some(query > "1"));
    let rr = |key: bool| (groups[&key].queries, groups[&key].summary[0].1);
    assert_eq!((groups.len(), rr(false), rr(true)), (2, (1, Some(1.0)), (1, Some(0.0))));
}

#[test]
fn names_are_read_in_the_spelling_of_others() {
    for (text, expected) in [
        ("ndcg@10", "nDCG@10"),
        ("NDCG_cut_10", "nDCG@10"),
        ("nDCG(dcg='log2')@10", "nDCG@10"),
        ("nDCG(dcg=\"exp-log2\")@10", "nDCG(dcg='exp-log2')@10"),
        ("map", "AP"),
        ("MAP(rel=2)@100", "AP(rel=2)@100"),
        ("map_cut_5", "AP@5"),
        ("MRR@10", "RR@10"),
        ("recip_rank", "RR"),
        ("P_5", "P@5"),
        ("Recall@5", "R@5"),
        ("recall_1000", "R@1000"),
        ("success_1", "Success@1"),
        ("Hit@3", "hit@3"),
        ("RBP", "RBP(p=0.8)"),
        ("RBP(rel=2, p=0.5)@20", "RBP(p=0.5,rel=2)@20"),
        ("judged@10", "Judged@10"),
        ("Rprec", "Rprec"),
        ("bpref(rel=2)", "Bpref(rel=2)"),
        ("err@20", "ERR@20"),
        ("ERR(max=3)@5", "ERR(max=3)@5"),
    ] {
        assert_eq!(text.parse::<Measure>().unwrap().to_string(), expected);
    }
    let list = Measure::parse_list(" nDCG@10, AP RBP(p=0.5, rel=2)@5,\n").unwrap();
    assert_eq!(list.len(), 3);
}

#[test]
fn names_that_mean_nothing_say_what_would() {
    for (text, expected) in [
        ("accuracy@5", "there is no measure `accuracy@5`; there are P@k"),
        ("", "there is no measure ``"),
        ("P", "`P` needs a cutoff, such as `P@10`"),
        ("P@0", "`P@0` has no valid cutoff"),
        ("P@-1", "`P@-1` has no valid cutoff"),
        ("nDCG@ten", "`nDCG@ten` has no valid cutoff"),
        ("nDCG(rel=2)@5", "`rel=2` is no parameter of `nDCG(rel=2)@5`; expected dcg="),
        ("RBP(p=1.5)", "`p=1.5` is no parameter of `RBP(p=1.5)`; expected p between"),
        ("P(rel=0)@5", "`rel=0` is no parameter"),
        ("P(5)@5", "`5` is no parameter"),
        ("Rprec@5", "`Rprec@5` has a cutoff, and the measure takes none"),
        ("ERR(rel=2)", "`rel=2` is no parameter of `ERR(rel=2)`; expected max"),
        ("ERR(max=61)", "`max=61` is no parameter"),
    ] {
        let error = text.parse::<Measure>().unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

fn any_measure() -> impl Strategy<Value = Measure> {
    let kind = prop_oneof![
        Just(MeasureKind::Precision),
        Just(MeasureKind::Recall),
        Just(MeasureKind::RecallAny),
        Just(MeasureKind::RecallAll),
        Just(MeasureKind::Hit),
        Just(MeasureKind::Success),
        Just(MeasureKind::ReciprocalRank),
        Just(MeasureKind::AveragePrecision),
        Just(MeasureKind::Ndcg(Gain::Linear)),
        Just(MeasureKind::Ndcg(Gain::Exponential)),
        (0.0..=1.0).prop_map(|p| MeasureKind::Rbp { p }),
        Just(MeasureKind::Judged),
        Just(MeasureKind::RPrecision),
        Just(MeasureKind::Bpref),
        (1..60u32).prop_map(|max| MeasureKind::ExpectedReciprocalRank { max }),
    ];
    (kind, 1..5u32, 1..200usize, any::<bool>()).prop_map(|(kind, rel, k, whole)| {
        let is_binary = !matches!(
            kind,
            MeasureKind::Ndcg(_) | MeasureKind::Judged | MeasureKind::ExpectedReciprocalRank { .. }
        );
        let may_be_whole = matches!(
            kind,
            MeasureKind::ReciprocalRank
                | MeasureKind::AveragePrecision
                | MeasureKind::Ndcg(_)
                | MeasureKind::Rbp { .. }
                | MeasureKind::Judged
                | MeasureKind::ExpectedReciprocalRank { .. }
        );
        let is_whole = matches!(kind, MeasureKind::RPrecision | MeasureKind::Bpref);
        let cutoff = (!is_whole && (!whole || !may_be_whole)).then_some(k);
        Measure { kind, rel: if is_binary { rel } else { 1 }, cutoff }
    })
}

proptest! {
    #[test]
    fn names_parse_back(measure in any_measure()) {
        prop_assert_eq!(measure.to_string().parse::<Measure>(), Ok(measure));
    }

    #[test]
    fn values_are_in_bounds_and_repeats_change_nothing(
        measure in any_measure(),
        judged in prop::collection::btree_map(0..30u8, -2..5i8, 0..20),
        ranking in prop::collection::vec(0..40u8, 0..60),
        shift in 0..20usize,
    ) {
        let mut judgements: Vec<Judgement> = judged
            .iter()
            .map(|(doc, grade)| Judgement { doc: doc.to_string(), grade: f64::from(*grade) })
            .collect();
        let ranking: Vec<String> = ranking.iter().map(u8::to_string).collect();
        let value = |judgements: &[Judgement], ranking: &[String]| {
            measure.of(&GradedRanking::of(judgements, ranking.iter().map(String::as_str)))
        };
        let first = value(&judgements, &ranking);
        prop_assert!((0.0..=1.0).contains(&first), "{}: {}", measure, first);
        prop_assert!(first.is_sign_positive());
        let mut once = ranking.clone();
        let mut seen = std::collections::BTreeSet::new();
        once.retain(|doc| seen.insert(doc.clone()));
        prop_assert_eq!(value(&judgements, &once), first);
        let places = judgements.len().max(1);
        judgements.rotate_left(shift % places);
        prop_assert_eq!(value(&judgements, &ranking), first);
    }

    #[test]
    fn the_order_of_lines_changes_nothing(
        mut lines in prop::collection::btree_map((0..4u8, 0..12u8), (0..6u8, 0..3u8), 1..40)
            .prop_map(|all| all.into_iter().collect::<Vec<_>>()),
        seed in any::<u64>(),
    ) {
        let measures = defaults();
        let mut value = |turn: usize| {
            let places = lines.len();
            lines.rotate_left(turn % places);
            let (mut qrels, mut run) = (String::new(), String::new());
            for ((query, doc), (score, grade)) in &lines {
                qrels += &format!("{query} 0 d{doc} {grade}\n");
                run += &format!("{query} Q0 d{doc} 1 {score} t\n");
            }
            let (qrels, run) = (Qrels::parse(qrels.as_bytes()).unwrap(), Run::parse(run.as_bytes()).unwrap());
            let evaluation = evaluate(&qrels, &run, &measures, MissingQueries::Zero);
            let mut per_query = evaluation.per_query;
            per_query.sort_by(|a, b| a.query_id.cmp(&b.query_id));
            per_query
        };
        let first = value(0);
        prop_assert_eq!(value(seed as usize % 1000 + 1), first);
    }
}

/// Sums of huge grades leave the range of doubles; their proportions do not.
#[test]
fn huge_grades_are_measured_by_their_proportions() {
    let value = |unit: f64| {
        let judged = [("a", unit), ("b", unit / 2.0), ("c", unit / 4.0)];
        Measure::ndcg(3).of(&graded(&judged, &["c", "b", "x"]))
    };
    assert!((value(f64::MAX) - value(1.0)).abs() < 1e-12, "{} {}", value(f64::MAX), value(1.0));
    assert!(value(1.0) < 0.5);
}
