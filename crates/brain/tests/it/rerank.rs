//! A caller's judge: what it may do to an answer, and what becomes of one that can't judge.

use gbrain_brain::{Brain, QueryOptions, QueryResponse, Rerank, RerankPassage, Reranker};
use gbrain_core::hook::HookError;
use gbrain_core::id::{PageKey, SourceId};
use gbrain_core::ranking::MatchEvidence;

use super::{brain, degraded, plain, request, slugs};

fn judged_by(
    brain: &Brain,
    query: &str,
    judge: &Rerank<'_>,
    settings: &[(&str, &str)],
) -> QueryResponse {
    let mut request = request(query);
    for (name, value) in settings {
        request.settings.set(name, value).unwrap();
    }
    let rerank = Some(Reranker { id: "judge-1", judge });
    let why_not = Some(PageKey::parse("c", &SourceId::default()).unwrap());
    brain
        .answer(
            &request,
            &QueryOptions { explain: true, why_not, rerank, ..QueryOptions::default() },
        )
        .unwrap()
}

/// Judges by the length of the passage: b, a, c for "ferry quay".
fn longest(_: &str, judged: &[RerankPassage]) -> Result<Vec<f64>, HookError> {
    Ok(judged.iter().map(|judged| judged.text.len() as f64 / 100.0).collect())
}

#[test]
fn a_judge_reorders_what_is_found_but_not_what_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let brain = brain(dir.path());
    let without = plain(&brain, "ferry quay");
    assert_eq!((slugs(&without), &without.ranking.rerank_model), (vec!["a", "b", "c"], &None));
    let answered = judged_by(&brain, "ferry quay", &longest, &[]);
    assert_eq!(slugs(&answered), ["b", "a", "c"]);
    assert_eq!(answered.ranking.rerank_model.as_deref(), Some("judge-1"));
    let trace = &answered.ranking.hits[0].trace;
    let step = trace.iter().find(|step| step.stage == "rerank").unwrap();
    assert_eq!((step.rank, step.note.as_str()), (Some(1), "from #2 by judge-1"));
    assert_eq!(slugs(&judged_by(&brain, "lighthouse", &longest, &[]))[0], "lighthouse");
}

#[test]
fn a_judge_that_fails_is_named_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let brain = brain(dir.path());
    let check = |judge: &Rerank<'_>, reason: &str| {
        let answered = judged_by(&brain, "ferry quay", judge, &[("rerank_threshold", "0.5")]);
        assert_eq!(slugs(&answered), ["a", "b", "c"]);
        assert_eq!(degraded(&answered), [("rerank", reason)]);
        assert_eq!(answered.ranking.rerank_model, None);
    };
    for error in HookError::ALL {
        check(&|_, _| Err(*error), error.name());
    }
    check(&|_, _| Ok(vec![1.0]), "bad_scores");
    check(&|_, judged| Ok(vec![f64::NAN; judged.len()]), "bad_scores");
    check(&|_, judged| Ok(vec![f64::INFINITY; judged.len()]), "bad_scores");
}

#[test]
fn a_threshold_leaves_out_what_is_judged_below_it() {
    let dir = tempfile::tempdir().unwrap();
    let brain = brain(dir.path());
    // Passages of 36, 58 and 35 characters.
    let check = |settings: &[(&str, &str)], expected: &[&str], stage: &str| {
        let answered = judged_by(&brain, "ferry quay", &longest, settings);
        assert_eq!(slugs(&answered), expected, "{settings:?}");
        assert_eq!(answered.ranking.why_not.as_ref().unwrap().stage, stage, "{settings:?}");
        assert_eq!(degraded(&answered), []);
    };
    check(&[("rerank_threshold", "0")], &["b", "a", "c"], "answer");
    check(&[("rerank_threshold", "0.35")], &["b", "a", "c"], "answer");
    check(&[("rerank_threshold", "0.36")], &["b", "a"], "rerank");
    check(&[("rerank_threshold", "0.5")], &["b"], "rerank");
    // Whatever was not judged is not known to be good enough.
    check(&[("rerank_depth", "2"), ("rerank_threshold", "0.3")], &["b", "a"], "rerank");
    check(&[("rerank_depth", "2")], &["b", "a", "c"], "answer");
}

#[test]
fn a_judge_that_finds_nothing_good_enough_empties_no_answer() {
    let dir = tempfile::tempdir().unwrap();
    let brain = brain(dir.path());
    let answered = judged_by(&brain, "ferry quay", &longest, &[("rerank_threshold", "0.9")]);
    assert_eq!(slugs(&answered), ["b", "a", "c"]);
    assert_eq!(degraded(&answered), [("rerank", "all_below_threshold")]);
    assert_eq!(answered.ranking.rerank_model.as_deref(), Some("judge-1"));
}

#[test]
fn a_threshold_of_another_judge_leaves_nothing_out() {
    let dir = tempfile::tempdir().unwrap();
    let brain = brain(dir.path());
    let check = |setting: &str, expected: &[&str], reasons: &[(&str, &str)]| {
        let answered = judged_by(&brain, "ferry quay", &longest, &[(setting, "0.5")]);
        assert_eq!(slugs(&answered), expected, "{setting}");
        assert_eq!(degraded(&answered), reasons, "{setting}");
    };
    check("rerank_threshold_of.judge-1", &["b"], &[]);
    check("rerank_threshold_of.judge-2", &["b", "a", "c"], &[("rerank_threshold", "stale")]);
}

#[test]
fn named_pages_are_never_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let brain = brain(dir.path());
    let check = |judge: &Rerank<'_>, expected: &[&str]| {
        let answered = judged_by(&brain, "lighthouse", judge, &[("rerank_threshold", "0.5")]);
        assert_eq!(slugs(&answered), expected);
        assert_eq!(answered.ranking.hits[0].evidence, MatchEvidence::ExactName);
    };
    check(&|_, judged| Ok(vec![0.0; judged.len()]), &["lighthouse", "c"]);
    check(&|_, judged| Ok(vec![0.5; judged.len()]), &["lighthouse", "c"]);
}
