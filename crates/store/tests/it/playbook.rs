//! Hand-made rows of suites, calibration and alerts.

use gbrain_core::gate::Verdict;
use gbrain_core::hash::Hash;
use gbrain_core::id::WorkspaceId;
use gbrain_store::{
    AlertBoard, AlertState, AlertStatus, BacklogPolicy, CursorMove, Delivery, DeliveryAction,
    DeliveryClaim, NewDelivery, NewDueRun, NewEvent, NewFeedback, NewJob, NewPair, NewQuery,
    NewRetrievalLog, NewSilence, NewSuiteRun, NewThreshold, QueryState, RerankScore,
    RetrievalFields, Store,
};

use crate::fixture::*;
use crate::jobs::new_job;

/// Stores an enabled suite.
pub(crate) fn put_suite(store: &Store, name: &str) {
    store.put_suite(&ws(), name, "{}", at(0)).unwrap();
    assert!(store.enable_suite(&ws(), name, at(0)).unwrap());
}

/// A job of kind `import`, which [`crate::jobs::try_claim`] claims, in the group of a suite.
pub(crate) fn suite_job(suite: &str, key: Option<&str>) -> NewJob {
    let key = key.map(|key| format!("{suite} {key}"));
    NewJob { key, group: Some(format!("suite {suite}")), ..new_job("import") }
}

/// A scheduled due run.
pub(crate) fn due(suite: &str, key: &str, from: Option<i64>, to: i64) -> NewDueRun {
    NewDueRun {
        suite: suite.to_owned(),
        trigger: "cron".to_owned(),
        cursor: Some(CursorMove { from, to }),
        backlog: BacklogPolicy::Add,
        job: suite_job(suite, Some(key)),
    }
}

pub(crate) fn new_run(suite: &str, key: Option<&str>) -> NewSuiteRun {
    NewSuiteRun {
        suite: suite.to_owned(),
        key: key.map(str::to_owned),
        trigger: "cron".to_owned(),
        started_at: at(1),
        verdict: Verdict::Pass,
        summary: r#"{"n":25}"#.to_owned(),
        report: r#"{"cases":[]}"#.to_owned(),
    }
}

pub(crate) fn event(document: &str, version: &str) -> NewEvent {
    NewEvent {
        kind: "knowledge.persisted".to_owned(),
        document: document.to_owned(),
        version: version.to_owned(),
        body: r#"{"größe":1}"#.to_owned(),
    }
}

pub(crate) fn query(text: &str) -> NewQuery {
    NewQuery {
        text_hash: Hash::of(text.as_bytes()),
        state: QueryState::Candidate,
        source: "github".to_owned(),
        difficulty: Some("hard".to_owned()),
        origin: "feedback".to_owned(),
        body: serde_json::json!({ "text": text }).to_string(),
    }
}

/// A retrieval with a value in every field.
pub(crate) fn retrieval(query: &str, second: i64) -> NewRetrievalLog {
    let fields = RetrievalFields {
        request_id: Some(format!("req {query}")),
        query_text: query.to_owned(),
        retrieval_mode: Some("hybrid".to_owned()),
        experiment_id: Some("run 1".to_owned()),
        user_id: Some("eval".to_owned()),
        top_k: Some(10),
        rerank_threshold: Some(0.1 + 0.2),
        total_ms: Some(120.5),
        dense_ms: Some(40.0),
        rerank_ms: Some(30.25),
        hydration_ms: Some(0.0),
        body: Some(r#"{"lexical":["default::a"]}"#.to_owned()),
    };
    let feedback = vec![said("eval_recall_at_5", 1.0), said("eval_snippet", 0.0)];
    NewRetrievalLog { at: at(second), fields, feedback }
}

pub(crate) fn said(signal: &str, score: f64) -> NewFeedback {
    NewFeedback {
        signal_type: signal.to_owned(),
        score: Some(score),
        comment: Some(r#"{"case":"ünd"}"#.to_owned()),
    }
}

pub(crate) fn pair(query: &str, document: &str) -> NewPair {
    NewPair {
        query_hash: Hash::of(query.as_bytes()),
        chunk_id: format!("{document}#0"),
        document: document.to_owned(),
        label: "borderline".to_owned(),
        body: serde_json::json!({ "query": query, "chunk_text": "a passage" }).to_string(),
        replaces: Vec::new(),
    }
}

pub(crate) fn threshold(model: &str) -> NewThreshold {
    NewThreshold {
        model: model.to_owned(),
        threshold: 0.31,
        n: 2,
        mean: 0.4,
        sigma: 0.09,
        body: "{}".to_owned(),
        scores: vec![RerankScore { pair: 2, score: 0.25 }, RerankScore { pair: 1, score: 0.5 }],
    }
}

pub(crate) fn alert(key: &str, state: AlertStatus) -> AlertState {
    AlertState {
        dedup_key: key.to_owned(),
        state,
        severity: "page".to_owned(),
        suite: Some("smoke".to_owned()),
        since: at(1),
        updated_at: at(2),
        body: "{}".to_owned(),
    }
}

pub(crate) fn message(channel: &str, key: &str, payload: &str) -> NewDelivery {
    NewDelivery {
        channel: channel.to_owned(),
        dedup_key: key.to_owned(),
        action: DeliveryAction::Trigger,
        payload: payload.to_owned(),
    }
}

/// Claims up to `limit` messages for ten seconds.
pub(crate) fn send(store: &Store, worker: &str, limit: usize, second: i64) -> Vec<Delivery> {
    let claim = DeliveryClaim {
        worker: worker.to_owned(),
        lease_until: at(second + 10),
        limit,
        except: Vec::new(),
    };
    store.claim_deliveries(&claim, at(second)).unwrap()
}

pub(crate) fn silence(from: i64, until: i64) -> NewSilence {
    NewSilence { starts_at: at(from), ends_at: at(until), body: "{}".to_owned() }
}

/// A row in every table, identified by `what`.
pub(crate) fn one_of_each(store: &Store, ws: &WorkspaceId, what: &str) {
    store.put_suite(ws, what, &format!("{{\"of\":\"{what}\"}}"), at(1)).unwrap();
    store.enable_suite(ws, what, at(1)).unwrap();
    store.queue_due_run(ws, &due(what, what, None, 7), at(1)).unwrap().unwrap();
    store.add_event(ws, &event(what, "1"), at(1)).unwrap();
    store.add_suite_run(ws, &new_run(what, Some("1")), at(1)).unwrap().unwrap();
    store.put_queries(ws, &[query(what)], gbrain_store::OnDuplicate::Keep, at(1)).unwrap();
    store.add_retrieval_logs(ws, &[retrieval(what, 1)], at(1)).unwrap();
    store.put_pairs(ws, &[pair(what, what)], at(1)).unwrap();
    store.add_threshold(ws, &threshold(what), at(1)).unwrap();
    let AlertBoard { cursor, .. } = store.alert_board(ws).unwrap();
    let alerts = [alert(what, AlertStatus::Firing)];
    assert!(
        store
            .store_alert_evaluation(ws, cursor, 1, &alerts, &[message("pager", what, what)], at(1))
            .unwrap()
    );
    store.add_silence(ws, &silence(1, 9)).unwrap();
    store.open_incident(ws, what, "{}", at(1)).unwrap();
}
