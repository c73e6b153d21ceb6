use super::*;

fn measured(name: &str, rows: &[(&str, f64, bool)]) -> Measured {
    let column = |measure: &str, role| Column { measure: measure.to_owned(), role };
    let row = |(key, value, hit): &(&str, f64, bool)| Row {
        key: (*key).to_owned(),
        label: (*key).to_owned(),
        against: Some("same".to_owned()),
        is_answered: true,
        values: vec![Some(*value), Some(f64::from(u8::from(*hit)))],
    };
    Measured {
        name: name.to_owned(),
        kind: Kind::Scores,
        conditions: vec![("k".to_owned(), "10".to_owned())],
        notes: Vec::new(),
        columns: vec![column("nDCG@10", Role::Quality), column("hit", Role::Binary)],
        rows: rows.iter().map(row).collect(),
    }
}

fn many(name: &str, value: impl Fn(usize) -> (f64, bool)) -> Measured {
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
fn differences_by_hand() {
    let a = measured("a", &[("1", 0.5, true), ("2", 1.0, true), ("only a", 0.0, false)]);
    let b = measured("b", &[("2", 0.5, true), ("1", 0.75, false), ("only b", 0.0, true)]);
    let found = compare(&a, &[b], false).unwrap();
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
    assert_eq!((hit.test, hit.p), (Test::McNemar, Some(1.0)));
    let moved: Vec<(&str, &str)> =
        against.moves.iter().map(|one| (one.key.as_str(), one.measure.as_str())).collect();
    assert_eq!(moved, [("1", "hit"), ("2", "nDCG@10")]);
    assert!(!found.has_regression());
}

#[test]
fn a_drop_of_every_query_is_a_regression() {
    let a = many("a", |at| (0.5 + at as f64 / 100.0, true));
    let b = many("b", |at| (0.4 + at as f64 / 100.0, at > 9));
    let found = compare(&a, std::slice::from_ref(&b), false).unwrap();
    assert!(found.has_regression());
    let [ndcg, hit] = &found.against[0].deltas[..] else { panic!("two measures") };
    assert!(ndcg.is_regression() && hit.is_regression());
    // Two tests: the smaller p-value counts twice.
    assert!((ndcg.p_adjusted.unwrap() - 2.0 * ndcg.p.unwrap()).abs() < 1e-12);
    let back = compare(&b, &[a], false).unwrap();
    assert!(!back.has_regression() && back.against[0].deltas[0].is_improvement());
}

#[test]
fn the_same_is_no_difference() {
    let a = many("a", |at| (at as f64 / 40.0, at % 2 == 0));
    let found = compare(&a, &[Measured { name: "b".to_owned(), ..a.clone() }], false).unwrap();
    let delta = &found.against[0].deltas[0];
    assert_eq!((delta.delta, delta.p, delta.better_worse_same), (Some(0.0), Some(1.0), [0, 0, 40]));
    assert!(found.against[0].moves.is_empty());
}

#[test]
fn what_is_not_comparable_is_refused() {
    let a = measured("a", &[("1", 0.5, true)]);
    let mut b = measured("b", &[("1", 0.5, true)]);
    b.conditions = vec![("k".to_owned(), "5".to_owned())];
    let refused = compare(&a, std::slice::from_ref(&b), false).unwrap_err();
    assert_eq!(refused[0].to_string(), "`k` is 10 in `a` and 5 in `b`");
    let forced = compare(&a, std::slice::from_ref(&b), true).unwrap();
    assert_eq!(forced.against[0].forced, refused);
    b.conditions.clear();
    b.rows[0].against = Some("other".to_owned());
    assert!(compare(&a, std::slice::from_ref(&b), false).is_err());
    b.kind = Kind::Replay;
    let refused = compare(&a, &[b], true).unwrap_err();
    assert_eq!(
        refused[0].to_string(),
        "`a` is scores output and `b` is replay output; compare results of one kind"
    );
}

#[test]
fn what_failed_here_alone_is_told_and_is_not_whole() {
    let a = measured("a", &[("1", 0.5, true), ("2", 0.5, true)]);
    let whole = compare(&a, std::slice::from_ref(&a), false).unwrap();
    assert!(whole.is_whole());
    let mut b = a.clone();
    b.rows[1].is_answered = false;
    b.rows[1].values = vec![None; 2];
    let found = compare(&a, &[b], false).unwrap();
    assert_eq!(
        (found.against[0].deltas[0].n, &found.against[0].unanswered[..]),
        (1, &["2".to_owned()][..])
    );
    assert!(!found.is_whole() && !found.has_regression());
    let less = Measured { rows: a.rows[..1].to_vec(), ..a.clone() };
    assert!(!compare(&a, &[less], false).unwrap().is_whole());
}

#[test]
fn nothing_in_common_cannot_be_forced() {
    let (a, b) = (measured("a", &[("1", 0.5, true)]), measured("b", &[("2", 0.5, true)]));
    assert!(compare(&a, &[b], true).is_err());
}
