//! Charges against budgets, model answers, runs.

use gbrain_core::hash::Hash;
use gbrain_core::money::Usd;
use gbrain_store::{
    AnswerKind, Budget, ChargeState, JudgingRun, ModelAnswer, NewCharge, RunKind, Settlement,
    Store, StoreError,
};
use serde_json::json;

use crate::database::Database;
use crate::fixture::*;
use crate::jobs::other;

on_both_engines! {
    a_call_is_charged_at_its_worst_and_then_at_its_cost,
    a_budget_is_never_passed_by_threads_and_connections,
    a_refusal_charges_nothing_anywhere,
    a_call_that_costs_more_than_its_worst_is_charged_in_full,
    what_was_spent_is_told_by_model_and_purpose,
    answers_are_kept_until_their_end,
    runs_are_kept_once,
    a_purged_page_takes_what_was_said_of_it,
    only_answers_of_the_page_go_and_those_that_do_not_say,
}

/// An answer of unknown pages.
pub(crate) fn unrecorded(key: Hash, body: &str) -> ModelAnswer {
    ModelAnswer { key, body: body.to_owned(), pages: None }
}

/// A charge against a budget with a cap, both in billionths.
pub(crate) fn charge(budget: &str, worst: i64, cap: i64) -> NewCharge {
    NewCharge {
        budget: Budget { name: budget.to_owned(), cap: Usd::nanos(cap) },
        standing: None,
        model: "test:model".to_owned(),
        purpose: "test".to_owned(),
        worst: Usd::nanos(worst),
    }
}

pub(crate) fn run(id: &str, second: i64) -> JudgingRun {
    JudgingRun {
        id: id.to_owned(),
        at: at(second),
        outcome: "pass".to_owned(),
        body: format!("{{\"about\":\"{id}\"}}"),
    }
}

fn cost(nanos: i64) -> Settlement {
    Settlement::Cost { usd: Usd::nanos(nanos), input: 3, output: 4 }
}

#[track_caller]
fn charged(store: &Store, budget: &str) -> i64 {
    store.budget(&ws(), budget).unwrap().map_or(0, |state| state.charged.as_nanos())
}

fn a_call_is_charged_at_its_worst_and_then_at_its_cost(db: &Database) {
    let store = db.open();
    let reserve = |worst| store.reserve(&ws(), &charge("run", worst, 100), at(1));
    let first = reserve(60).unwrap();
    assert_eq!((first.number, charged(&store, "run")), (1, 60));
    assert!(
        matches!(reserve(41), Err(StoreError::OverBudget { left, .. }) if left == Usd::nanos(40))
    );
    assert!(store.settle(&ws(), &first, &cost(10), at(2)).unwrap());
    assert_eq!(charged(&store, "run"), 10);
    assert!(!store.settle(&ws(), &first, &cost(99), at(3)).unwrap(), "once only");
    assert!(!store.settle(&ws(), &first, &Settlement::Free, at(3)).unwrap());
    assert_eq!(charged(&store, "run"), 10);

    let free = reserve(90).unwrap();
    assert!(store.settle(&ws(), &free, &Settlement::Free, at(4)).unwrap());
    let lost = reserve(50).unwrap();
    assert!(store.settle(&ws(), &lost, &Settlement::Unknown, at(5)).unwrap());
    let open = reserve(40).unwrap();
    assert_eq!((open.number, charged(&store, "run")), (4, 100));
    let charges = store.charges(&ws(), "run").unwrap();
    let states: Vec<_> = charges.iter().map(|charge| (charge.state, charge.actual)).collect();
    use ChargeState::{Lost, Released, Reserved, Settled};
    let nanos = |nanos| Some(Usd::nanos(nanos));
    let expected =
        [(Settled, nanos(10)), (Released, nanos(0)), (Lost, nanos(50)), (Reserved, None)];
    assert_eq!(states, expected);
    let tokens: Vec<_> = charges.iter().map(|charge| (charge.input, charge.output)).collect();
    let none = (None, None);
    assert_eq!(tokens, [(Some(3), Some(4)), none, none, none]);
    assert_eq!(store.budget(&ws(), "never").unwrap(), None);
    assert_eq!(store.budget(&ws(), "run").unwrap().unwrap().calls, 4);
}

fn a_budget_is_never_passed_by_threads_and_connections(db: &Database) {
    let (threads, each, cap) = (8, 20, 1000);
    db.open();
    let refused: usize = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|worker| {
                scope.spawn(move || {
                    let store = db.open();
                    let mut refused = 0;
                    for n in 0..each {
                        let worst = 1 + (worker * 7 + n * 13) % 23;
                        match store.reserve(&ws(), &charge("shared", worst, cap), at(1)) {
                            Ok(id) if n % 3 == 0 => {
                                store.settle(&ws(), &id, &cost(worst / 2), at(2)).unwrap();
                            }
                            Ok(_) => {}
                            Err(StoreError::OverBudget { .. }) => refused += 1,
                            Err(error) => panic!("{error}"),
                        }
                        assert!(charged(&store, "shared") <= cap);
                    }
                    refused
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    let store = db.open();
    let charges = store.charges(&ws(), "shared").unwrap();
    assert_eq!(charges.len() + refused, (threads * each) as usize, "none is lost");
    let sum: i64 = charges.iter().map(|c| c.actual.unwrap_or(c.worst).as_nanos()).sum();
    assert_eq!(sum, charged(&store, "shared"), "the budget is the sum of its charges");
    let numbers: Vec<u64> = charges.iter().map(|charge| charge.id.number).collect();
    assert_eq!(numbers, (1..=charges.len() as u64).collect::<Vec<_>>());
    assert!(refused > 0, "the cap was reached");
}

fn a_refusal_charges_nothing_anywhere(db: &Database) {
    let store = db.open();
    let day = |cap| Some(Budget { name: "day:2026-01-01".to_owned(), cap: Usd::nanos(cap) });
    let both = |worst, day_cap| NewCharge { standing: day(day_cap), ..charge("run", worst, 100) };
    let first = store.reserve(&ws(), &both(60, 70), at(1)).unwrap();
    let refused = store.reserve(&ws(), &both(20, 70), at(1));
    assert!(
        matches!(refused, Err(StoreError::OverBudget { budget, .. }) if budget.starts_with("day:"))
    );
    assert_eq!((charged(&store, "run"), charged(&store, "day:2026-01-01")), (60, 60));
    assert_eq!(store.budget(&ws(), "run").unwrap().unwrap().calls, 1);
    store.settle(&ws(), &first, &cost(5), at(2)).unwrap();
    assert_eq!((charged(&store, "run"), charged(&store, "day:2026-01-01")), (5, 5));
    // More than the whole budget, as its first call.
    let refused = store.reserve(&ws(), &charge("new", 11, 10), at(1));
    assert!(matches!(refused, Err(StoreError::OverBudget { .. })));
    assert_eq!(store.budget(&ws(), "new").unwrap(), None);
    store.add_workspace(&other(), at(0)).unwrap();
    assert_eq!(store.budget(&other(), "run").unwrap(), None, "of another workspace");
    for bad in ["", "a\0b", &"x".repeat(201)] {
        assert!(store.reserve(&ws(), &charge(bad, 1, 10), at(1)).is_err(), "{bad:?}");
    }
}

fn a_call_that_costs_more_than_its_worst_is_charged_in_full(db: &Database) {
    let store = db.open();
    let id = store.reserve(&ws(), &charge("run", 10, 20), at(1)).unwrap();
    store.settle(&ws(), &id, &cost(25), at(2)).unwrap();
    assert_eq!(charged(&store, "run"), 25);
    let refused = store.reserve(&ws(), &charge("run", 0, 20), at(3));
    assert!(matches!(refused, Err(StoreError::OverBudget { left: Usd::ZERO, .. })));
    // A caller with a higher cap continues.
    let more = store.reserve(&ws(), &charge("run", 5, 30), at(3)).unwrap();
    // An absurd cost exhausts every budget, however often it is reported.
    assert!(store.settle(&ws(), &more, &cost(i64::MAX), at(4)).unwrap());
    let big = 3_000_000_000_000_000_000;
    for _ in 0..3 {
        let id = store.reserve(&ws(), &charge("run", 5, big), at(5)).unwrap();
        assert!(store.settle(&ws(), &id, &cost(i64::MAX), at(6)).unwrap());
    }
    assert_eq!(charged(&store, "run"), 25 + 4 * 1_000_000_000_000_000);
    let refused = store.reserve(&ws(), &charge("run", 1, 1_000_000_000), at(7));
    assert!(matches!(refused, Err(StoreError::OverBudget { left: Usd::ZERO, .. })));
}

fn what_was_spent_is_told_by_model_and_purpose(db: &Database) {
    let store = db.open();
    let of = |model: &str, second| {
        let charge = NewCharge { model: model.to_owned(), ..charge("run", 10, 1000) };
        store.reserve(&ws(), &charge, at(second)).unwrap()
    };
    let settled = of("a:one", 1);
    store.settle(&ws(), &settled, &cost(3), at(2)).unwrap();
    of("a:one", 3);
    of("b:two", 5);
    let lines = |since| {
        let lines = store.spend(&ws(), at(since)).unwrap();
        let line = |line: gbrain_core::activity::SpendLine| {
            (line.model, line.calls, line.unsettled, line.charged.as_nanos())
        };
        lines.into_iter().map(line).collect::<Vec<_>>()
    };
    assert_eq!(lines(0), [("a:one".to_owned(), 2, 1, 13), ("b:two".to_owned(), 1, 1, 10)]);
    assert_eq!(lines(4), [("b:two".to_owned(), 1, 1, 10)]);
    assert_eq!(lines(6), []);
}

fn answers_are_kept_until_their_end(db: &Database) {
    let store = db.open();
    let (kind, key) = (AnswerKind::Contradiction, Hash::of(b"pair"));
    let get = |second| store.model_answers(&ws(), kind, &[key], at(second)).unwrap().remove(0);
    let keep = |key: Hash, body: &str, now, until| {
        store.store_model_answers(&ws(), kind, &[unrecorded(key, body)], at(now), at(until))
    };
    assert_eq!(get(1), None);
    keep(key, "one", 1, 10).unwrap();
    assert_eq!((get(9).as_deref(), get(10)), (Some("one"), None));
    keep(key, "two", 2, 20).unwrap();
    assert_eq!(get(10).as_deref(), Some("two"));
    let unknown = Hash::of(b"unknown");
    let both = store.model_answers(&ws(), kind, &[unknown, key], at(3)).unwrap();
    assert_eq!(both, [None, Some("two".to_owned())], "in the order of the keys");
    let of_another_kind = store.model_answers(&ws(), AnswerKind::Expansion, &[key], at(3)).unwrap();
    assert_eq!(of_another_kind, [None]);
    assert!(keep(key, "a\0b", 1, 9).is_err());
    keep(Hash::of(b"later"), "x", 30, 40).unwrap();
    assert_eq!(get(3), None, "what is past its end is dropped");
}

fn runs_are_kept_once(db: &Database) {
    let store = db.open();
    let kind = RunKind::QualityProbe;
    assert!(store.add_run(&ws(), kind, &run("a", 1)).unwrap());
    assert!(
        !store
            .add_run(&ws(), kind, &JudgingRun { body: "other".to_owned(), ..run("a", 2) })
            .unwrap()
    );
    assert!(store.add_run(&ws(), kind, &run("b", 3)).unwrap());
    assert!(store.add_run(&ws(), RunKind::Contradictions, &run("a", 9)).unwrap());
    assert_eq!(store.runs(&ws(), kind, at(0), 9).unwrap(), [run("b", 3), run("a", 1)]);
    assert_eq!(store.runs(&ws(), kind, at(2), 9).unwrap(), [run("b", 3)]);
    assert_eq!(store.runs(&ws(), kind, at(0), 1).unwrap(), [run("b", 3)]);
}

fn a_purged_page_takes_what_was_said_of_it(db: &Database) {
    let store = db.open();
    write(&store, &[&plain("people/a_b", "one"), &plain("people/axb", "two")], 1);
    let kind = RunKind::Contradictions;
    let member = |slug: &str| json!({ "source_id": "default", "slug": slug, "text": format!("says {slug}") });
    let report = |a: &str, b: &str| {
        let finding = json!({ "pair_id": "p", "a": member(a), "b": member(b), "axis": "x" });
        json!({ "verdict": "fail", "findings": [finding], "hot_pages": [] }).to_string()
    };
    let own = JudgingRun { body: report("people/a_b", "people/axb"), ..run("own", 1) };
    let other = JudgingRun { body: report("people/axb", "people/axb"), ..run("other", 1) };
    for run in [&own, &other] {
        store.add_run(&ws(), kind, run).unwrap();
    }
    let probe = JudgingRun { body: own.body.clone(), ..run("probe", 1) };
    store.add_run(&ws(), RunKind::QualityProbe, &probe).unwrap();
    let purged = store.purge_page(&ws(), &crate::fixture::key("people/a_b"), at(2)).unwrap();
    assert_eq!(purged.erased.contradiction_reports, 1);
    let runs = store.runs(&ws(), kind, at(0), 9).unwrap();
    assert!(runs.contains(&other), "a run without the page stays as it is");
    let erased = &runs.iter().find(|run| run.id == "own").unwrap().body;
    assert!(!erased.contains("people/a_b") && erased.contains("says people/axb"), "{erased}");
    assert!(erased.contains(r#""verdict":"fail""#));
    let probes = store.runs(&ws(), RunKind::QualityProbe, at(0), 9).unwrap();
    assert_eq!(probes, [probe], "its questions are its own");
    assert_sound(&store);
}

fn only_answers_of_the_page_go_and_those_that_do_not_say(db: &Database) {
    let store = db.open();
    write(&store, &[&plain("a", "one"), &plain("ab", "two")], 1);
    let of = |name: &str, pages: Option<&[&str]>| ModelAnswer {
        key: Hash::of(name.as_bytes()),
        body: name.to_owned(),
        pages: pages.map(|pages| pages.iter().map(|page| (*page).to_owned()).collect()),
    };
    let answers = [
        of("own", Some(&["default::a", "default::ab"])),
        of("longer", Some(&["default::ab"])),
        of("another source", Some(&["wiki::a"])),
        of("query", Some(&[])),
        of("old", None),
    ];
    let kind = AnswerKind::Contradiction;
    store.store_model_answers(&ws(), kind, &answers, at(1), at(99)).unwrap();
    let purged = store.purge_page(&ws(), &key("a"), at(2)).unwrap().erased;
    assert_eq!((purged.model_answers, purged.model_answers_without_pages), (1, 1));
    let keys: Vec<Hash> = answers.iter().map(|answer| answer.key).collect();
    let left = store.model_answers(&ws(), kind, &keys, at(3)).unwrap();
    let left: Vec<&str> = left.iter().map(|one| one.as_deref().unwrap_or("gone")).collect();
    assert_eq!(left, ["gone", "longer", "another source", "query", "gone"]);
}
