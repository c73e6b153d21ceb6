//! Saved runs.

use gbrain_core::target::{Question, TargetErrorKind};
use serde_json::json;

use super::conformance::conforms;
use super::{target, try_target, world};

fn written(name: &str, text: &str) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (dir, path)
}

#[test]
fn a_run_conforms() {
    let row = |expected: &super::Expected| {
        let found = expected.documents.iter().zip(&expected.scores).zip(&expected.snippets);
        let results = found.map(|((document, score), snippet)| {
            json!({ "document": document, "score": score, "snippet": snippet })
        });
        let results: Vec<_> = results.collect();
        format!("{}\n", json!({ "query": expected.question.text, "results": results }))
    };
    let rows: String = world().iter().map(row).collect();
    let (_dir, path) = written("answers.ndjson", &rows);
    conforms(target(json!({ "kind": "run", "file": path })).as_ref(), &world());
}

#[test]
fn a_trec_run_is_asked_by_id_or_by_the_texts_of_its_queries() {
    let (dir, run) = written("bm25.run", "q1 Q0 a 1 2.0 x\nq1 Q0 b 2 1.0 x\n");
    let queries = dir.path().join("queries.jsonl");
    std::fs::write(&queries, "{\"_id\":\"q1\",\"text\":\"who?\"}\n").unwrap();
    let by_id = target(json!({ "kind": "run", "file": run }));
    let question = Question { id: Some("q1".to_owned()), ..Question::new("who?", 1) };
    assert_eq!(by_id.retrieve(&question).unwrap().documents(), ["a"]);
    assert!(by_id.info().capabilities.is_saved);
    let error = by_id.retrieve(&Question::new("who?", 5)).unwrap_err();
    assert_eq!(error.kind, TargetErrorKind::NotRecorded);
    let by_text = target(json!({ "kind": "run", "file": run, "queries": queries }));
    assert_eq!(by_text.retrieve(&Question::new("who?", 5)).unwrap().documents(), ["a", "b"]);
}

#[test]
fn a_file_that_is_none_is_an_error() {
    let check = |path: &str, kind| {
        let error = try_target(json!({ "kind": "run", "file": path })).err().unwrap();
        assert_eq!(error.kind, kind, "{error}");
    };
    check("/nowhere/run", TargetErrorKind::Unreachable);
    let (_dir, path) = written("run", "what is this");
    check(&path, TargetErrorKind::Malformed);
    let (_dir, path) = written("run", "");
    check(&path, TargetErrorKind::Malformed);
}
