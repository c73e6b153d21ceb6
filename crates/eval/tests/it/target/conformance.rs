//! What must hold for every kind of target, whoever answers behind it. The tests of the command line run it
//! on this program's own servers.

use gbrain_core::target::{Question, TargetErrorKind};
use gbrain_eval::retriever::Retriever;

/// A question, and what must be answered to it.
pub(crate) struct Expected {
    pub(crate) question: Question,
    pub(crate) documents: Vec<String>,
    pub(crate) scores: Vec<Option<f64>>,
    pub(crate) snippets: Vec<Option<String>>,
}

/// Questions that try what may break on the way.
pub(crate) const TEXTS: [&str; 7] = [
    "who owns the berths?",
    "größe \"quoted\" 'single' \\ back",
    "日本語 🦀 \u{202e}turned",
    "a tab\tand a\nnewline",
    "{{query}} $.x %20 &amp; </script> ; DROP TABLE pages",
    "null",
    "nothing is like this",
];

/// Holds a target against what must be answered.
pub(crate) fn conforms(ask: &dyn Retriever, world: &[Expected]) {
    for expected in world {
        for k in [expected.question.k, 1, 2] {
            answers(ask, expected, k);
        }
    }
    // Asked at once from many threads, everybody gets the answer to their own question.
    std::thread::scope(|scope| {
        for first in 0..6 {
            scope.spawn(move || {
                for expected in world.iter().cycle().skip(first).take(world.len()) {
                    answers(ask, expected, expected.question.k);
                }
            });
        }
    });
    for (text, k) in [("", 5), (" \n", 5), ("a", 0)] {
        let error = ask.retrieve(&Question::new(text, k)).unwrap_err();
        assert_eq!(error.kind, TargetErrorKind::BadRequest, "{}: {error}", ask.info().name);
    }
    assert!(!ask.info().name.is_empty() && !ask.info().place.is_empty());
}

fn answers(ask: &dyn Retriever, expected: &Expected, k: usize) {
    let question = Question { k, ..expected.question.clone() };
    let answer = ask.retrieve(&question).unwrap_or_else(|error| {
        panic!("{} does not answer {:?}: {error}", ask.info().name, question.text)
    });
    let cut = k.min(expected.documents.len());
    let about = format!("{}: {:?} with k = {k}", ask.info().name, question.text);
    let documents: Vec<&str> = answer.results.iter().map(|found| found.document.as_str()).collect();
    assert_eq!(documents, expected.documents[..cut], "{about}");
    for (found, score) in answer.results.iter().zip(&expected.scores) {
        let is_same = match (found.score, score) {
            (Some(a), Some(b)) => (a - b).abs() < 1e-6,
            (_, None) => true,
            (None, Some(_)) => false,
        };
        assert!(is_same, "{about}: {:?} is not {score:?}", found.score);
    }
    for (found, snippet) in answer.results.iter().zip(&expected.snippets) {
        if snippet.is_some() {
            assert_eq!(found.snippet, *snippet, "{about}");
        }
    }
    assert!(answer.latency_ms.is_finite() && answer.latency_ms >= 0.0, "{about}");
    let times = answer.timings;
    let times =
        [times.lexical_ms, times.dense_ms, times.rerank_ms, times.hydration_ms, times.total_ms];
    assert!(times.into_iter().flatten().all(|ms| ms >= 0.0), "{about}: {times:?}");
}
