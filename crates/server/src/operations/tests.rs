//! Remote callers' access to jobs and runs, and its limits.

use gbrain_core::access::Scope;
use gbrain_core::fault::{Fault, FaultKind};
use gbrain_core::id::WorkspaceId;
use gbrain_core::job::JobState;
use gbrain_core::request::Caller;
use gbrain_store::{Job, JobClaim, JobInfo, JobOutcome, Lease, NewJob};
use jiff::{SignedDuration, Timestamp};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;

use gbrain_core::format::ask::AskBody;

use super::compare::compare;
use super::jobs::{
    JobNumber, job_result, list_jobs, run_result, show_job, shown, shown_to_owner, start_job,
    start_run,
};
use super::pages::{PageName, PageText};
use super::{ask, documents, pages};
use crate::http::{
    MemoryBudget, NoParameters, OperationCall, Reply, RequestMemoryAccount, RequestOrigin,
};
use crate::principal::Principal;
use crate::work_queue::StopFlag;
use crate::workspace_registry::WorkspaceRegistry;

struct Site {
    _dir: TempDir,
    registry: WorkspaceRegistry,
}

impl Site {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let registry = WorkspaceRegistry::in_dir(dir.path());
        Self { _dir: dir, registry }
    }

    /// The response to a caller with this scope.
    fn call(
        &self,
        scope: Scope,
        ask: impl FnOnce(&OperationCall<'_>) -> Result<Reply, Fault>,
    ) -> Result<Value, Fault> {
        self.call_until(&StopFlag::default(), scope, ask)
    }

    /// The same of a caller who may have gone.
    fn call_until(
        &self,
        stop: &StopFlag,
        scope: Scope,
        ask: impl FnOnce(&OperationCall<'_>) -> Result<Reply, Fault>,
    ) -> Result<Value, Fault> {
        self.call_within(&MemoryBudget::new(), stop, scope, ask)
    }

    /// The same of a caller who shares memory with others.
    fn call_within(
        &self,
        budget: &MemoryBudget,
        stop: &StopFlag,
        scope: Scope,
        ask: impl FnOnce(&OperationCall<'_>) -> Result<Reply, Fault>,
    ) -> Result<Value, Fault> {
        let principal = Principal::local(WorkspaceId::default(), scope, "test");
        let (caller, origin, now) = (Caller::default(), RequestOrigin::default(), Timestamp::now());
        let memory = &RequestMemoryAccount::new(budget, self.registry.metrics(), 1 << 20);
        let reply = ask(&OperationCall {
            registry: &self.registry,
            principal: &principal,
            now,
            caller,
            origin,
            stop,
            memory,
        })?;
        match reply {
            Reply::Json(bytes) | Reply::Accepted(bytes) => {
                Ok(serde_json::from_slice(&bytes).unwrap())
            }
            other => panic!("{other:?}"),
        }
    }

    /// A job of this kind that ended so.
    fn ended(&self, kind: &str, outcome: &JobOutcome) -> i64 {
        let store = self.registry.store();
        let (ws, now) = (WorkspaceId::default(), store.clock().unwrap());
        let job = NewJob {
            kind: kind.to_owned(),
            spec: "{}".to_owned(),
            created_by: "test".to_owned(),
            max_attempts: 5,
            key: None,
            group: None,
        };
        store.add_job(&ws, &job, now).unwrap();
        let lease_until = now.checked_add(SignedDuration::from_secs(60)).unwrap();
        let worker = "host.example:4711/0".to_owned();
        let claim = JobClaim {
            worker: worker.clone(),
            kinds: vec![kind.to_owned()],
            lease_until,
            last: None,
        };
        let Job { info, .. } = store.claim_job(&claim, now).unwrap().unwrap();
        let lease = Lease { worker, attempt: info.attempt };
        assert!(store.finish_job(&ws, info.id, &lease, outcome, now).unwrap());
        info.id
    }

    fn info(&self, id: i64) -> JobInfo {
        self.registry.store().job(&WorkspaceId::default(), id).unwrap().unwrap().info
    }
}

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn number(id: i64) -> JobNumber {
    read(json!({ "id": id }))
}

fn failed(kind: FaultKind, message: &str) -> JobOutcome {
    JobOutcome::Failed(Fault::new(kind, message).hint("look there").to_json().to_string())
}

#[test]
fn internal_errors_are_shown_to_the_owner_only() {
    let site = Site::new();
    let secret = "/home/ada/private/therapy.md";
    for (job, kind) in [
        ("import_files", FaultKind::Io),
        ("reindex", FaultKind::Index),
        ("import", FaultKind::Store),
        ("replay", FaultKind::Input),
        ("gate", FaultKind::Internal),
    ] {
        let id = site.ended(job, &failed(kind, secret));
        let body = site.call(Scope::Admin, |call| show_job(call, number(id))).unwrap();
        assert_eq!((&body["state"], &body["worker"]), (&json!("failed"), &Value::Null));
        assert_eq!(body["error"]["error"]["kind"], "internal", "{body}");
        let owner = serde_json::to_string(&shown_to_owner(&site.info(id))).unwrap();
        assert!(owner.contains(secret) && owner.contains("host.example"), "{owner}");
    }
    let list = site.call(Scope::Admin, |call| list_jobs(call, read(json!({})))).unwrap();
    let list = list.to_string();
    for hidden in ["therapy", "host.example", "look there"] {
        assert!(!list.contains(hidden), "{list}");
    }
}

#[test]
fn errors_that_a_caller_can_fix_are_shown() {
    let site = Site::new();
    for (job, kind) in [
        ("gate", FaultKind::Usage),
        ("import", FaultKind::Input),
        ("import", FaultKind::AttemptsExhausted),
    ] {
        let id = site.ended(job, &failed(kind, "name a baseline"));
        let error = shown(&site.info(id)).error.unwrap().error;
        assert_eq!((&*error.kind, error.message.as_str()), (kind.name(), "name a baseline"));
    }
}

#[test]
fn results_of_files_are_for_the_owner() {
    let site = Site::new();
    let done = JobOutcome::Done(r#"{"failed":[{"path":"/home/ada/x.md"}]}"#.to_owned());
    for (job, is_seen) in [("import", true), ("reindex", true), ("import_files", false)] {
        let id = site.ended(job, &done);
        let result = site.call(Scope::Admin, |call| job_result(call, number(id)));
        match (is_seen, result) {
            (true, Ok(body)) => assert_eq!(body["failed"][0]["path"], "/home/ada/x.md"),
            (false, Err(fault)) => assert_eq!(fault.kind, FaultKind::NotFound),
            other => panic!("{job}: {other:?}"),
        }
    }
}

#[test]
fn results_of_runs_are_compared_for_admin_only() {
    let site = Site::new();
    let id = site.ended("replay", &JobOutcome::Done("{}".to_owned()));
    let body = json!({ "results": [{ "run": id }, { "body": {} }] });
    let ask = |scope| {
        let compared = site.call(scope, |call| compare(call, NoParameters {}, read(body.clone())));
        compared.unwrap_err().kind.name()
    };
    assert_eq!((ask(Scope::Read), ask(Scope::Write)), ("forbidden", "forbidden"));
    assert_eq!(ask(Scope::Admin), "input", "it is read, and is no report");
    assert!(site.call(Scope::Admin, |call| run_result(call, number(id))).is_ok());
}

#[test]
fn a_comparison_says_what_decides_and_whether_it_can() {
    let site = Site::new();
    let scores = |n: usize, value: f64| {
        let scores = json!({ "nDCG@10": value, "R@10": value, "Judged@10": value });
        let rows: Vec<Value> =
            (0..n).map(|at| json!({ "query_id": at.to_string(), "scores": scores })).collect();
        let counts = json!({ "judged_queries": n, "judgements": n });
        json!({ "schema_version": 1, "summary": scores, "counts": counts, "per_query": rows })
    };
    let ask = |n: usize, primary: Option<&str>| {
        let results = json!([{ "body": scores(n, 1.0) }, { "body": scores(n, 0.0) }]);
        let body = json!({ "results": results, "primary": primary });
        site.call(Scope::Read, |call| compare(call, NoParameters {}, read(body.clone())))
    };
    let all = ask(8, None).unwrap();
    assert_eq!((&all["verdict"], &all["primary"]), (&json!("fail"), &json!(["nDCG@10"])));
    assert_eq!(ask(4, None).unwrap()["verdict"], "inconclusive");
    assert_eq!(ask(8, Some("R@10")).unwrap()["primary"], json!(["R@10"]));
    assert_eq!(ask(8, Some("Judged@10")).unwrap_err().kind.name(), "input");
}

#[test]
fn numbers_out_of_range_are_refused() {
    let site = Site::new();
    let start =
        |run: Value| site.call(Scope::Admin, |call| start_run(call, NoParameters {}, read(run)));
    let replay = |name: &str, value: u32| {
        let mut run = json!({ "kind": "replay", "against": {} });
        run[name] = json!(value);
        start(run)
    };
    let gate = |name: &str, value: u32| start(json!({ "kind": "gate", "qrels": "q", name: value }));
    let limit = |value: u32| start(json!({ "kind": "replay", "against": { "limit": value } }));
    let refused = [
        replay("repeats", 0),
        replay("repeats", 101),
        replay("repeats", 65535),
        replay("top_regressions", 1001),
        gate("k", 0),
        gate("k", 1001),
        gate("repeats", 101),
        limit(0),
        limit(100_001),
    ];
    for answer in refused {
        assert_eq!(answer.unwrap_err().kind.name(), "usage");
    }
    for answer in [replay("repeats", 100), gate("k", 1), gate("k", 1000), limit(100_000)] {
        assert_eq!(answer.unwrap()["state"], "queued");
    }
}

#[test]
fn the_queue_of_a_workspace_is_bounded() {
    let site = Site::new();
    let start = || {
        let job = read(json!({ "kind": "reindex" }));
        site.call(Scope::Write, |call| start_job(call, NoParameters {}, job))
    };
    for n in 1..=100 {
        assert_eq!(start().unwrap()["id"], n);
    }
    assert_eq!(start().unwrap_err().kind.name(), "overloaded");
    let (store, ws) = (site.registry.store(), WorkspaceId::default());
    let state = store.cancel_job(&ws, 1, store.clock().unwrap()).unwrap();
    assert_eq!(state, Some(JobState::Cancelled));
    assert_eq!(start().unwrap()["id"], 101);
}

/// A long operation ends when its caller has left, and a writing one writes nothing.
#[test]
fn nothing_is_done_for_a_caller_who_has_gone() {
    let site = Site::new();
    let page: PageName = read(json!({ "page": "a" }));
    let text = || -> PageText { read(json!({ "content": "[[b]] boats" })) };
    site.call(Scope::Write, |call| pages::put(call, page, text())).unwrap();
    let stop = StopFlag::default();
    stop.stop();
    let kind = |ask: &dyn Fn(&OperationCall<'_>) -> Result<Reply, Fault>| {
        site.call_until(&stop, Scope::Admin, ask).unwrap_err().kind.name()
    };
    let name = |name: &str| -> PageName { read(json!({ "page": name })) };
    let body = || -> AskBody { read(json!({ "query": "boats" })) };
    assert_eq!(kind(&|call| ask::query(call, NoParameters {}, body())), "cancelled");
    assert_eq!(kind(&|call| ask::search(call, NoParameters {}, body())), "cancelled");
    assert_eq!(kind(&|call| pages::links(call, name("a"))), "cancelled");
    assert_eq!(kind(&|call| pages::put(call, name("new"), text())), "cancelled");
    let qrels = |call: &OperationCall<'_>| {
        documents::put_qrels(call, read(json!({ "name": "q" })), "q 0 a 1")
    };
    assert_eq!(kind(&qrels), "cancelled");
    let results = json!([{ "body": "q1 Q0 a 1 2.0 r" }, { "body": "q1 Q0 a 1 2.0 r" }]);
    let compared = |call: &OperationCall<'_>| {
        compare(call, NoParameters {}, read(json!({ "results": results.clone() })))
    };
    assert_eq!(kind(&compared), "cancelled");
    let listed = site.call(Scope::Read, |call| pages::list(call, pages::ListPages::default()));
    assert_eq!(listed.unwrap()["pages"].as_array().unwrap().len(), 1);
    let stored = site.call(Scope::Read, |call| documents::list_qrels(call, NoParameters {}));
    assert_eq!(stored.unwrap()["documents"], json!([]));
}

type Operation<'o> = Box<dyn Fn(&OperationCall<'_>) -> Result<Reply, Fault> + 'o>;

/// What is read from texts in a body, and from what was stored, is counted in the memory that requests share: it is
/// refused while others have all of it, and given back when the request is over.
#[test]
fn read_documents_are_counted_in_the_memory_budget() {
    let site = Site::new();
    let judged: String = (0..3_000).map(|at| format!("q{at} 0 d 1\n")).collect();
    let stored = site.call(Scope::Write, |call| {
        documents::put_qrels(call, read(json!({ "name": "judged" })), &judged)
    });
    assert_eq!(stored.unwrap()["queries"], 3_000);
    let rows: Vec<Value> = (0..5_000).map(|at| json!({ "id": at, "a": 1, "b": 1 })).collect();
    let text = Value::from(rows).to_string();
    let run = "q1 0 d 1 1 t\n";
    let turns: Vec<Value> = (0..5_000).map(|_| json!({ "text": "a" })).collect();
    let chat = json!({ "format": "chat-json", "content": Value::from(turns).to_string() });
    let of_texts = json!({ "results": [{ "body": text }, { "body": text }] });
    let of_stored = json!({ "results": [{ "body": run }, { "body": run }], "qrels": "judged" });
    let calls: [(&str, Operation<'_>); 3] = [
        ("texts", Box::new(|call| compare(call, read(json!({})), read(of_texts.clone())))),
        ("stored", Box::new(|call| compare(call, read(json!({})), read(of_stored.clone())))),
        (
            "chat",
            Box::new(|call| {
                pages::put(call, read::<PageName>(json!({ "page": "c" })), read(chat.clone()))
            }),
        ),
    ];
    let stop = StopFlag::default();
    for (name, ask) in calls {
        let budget = MemoryBudget::new();
        let all = budget.available();
        let done = site.call_within(&budget, &stop, Scope::Write, &ask);
        assert!(done.is_ok(), "{name}: {done:?}");
        assert_eq!(budget.available(), all, "{name} keeps memory");
        let others = budget.acquire(all - 256).unwrap();
        let refused = site.call_within(&budget, &stop, Scope::Write, &ask).unwrap_err();
        assert_eq!(refused.kind.name(), "overloaded", "{name}: {refused:?}");
        drop(others);
    }
}

/// All results of a body share what its bytes allow.
#[test]
fn many_texts_share_one_allowance() {
    let site = Site::new();
    let rows: Vec<Value> = (0..2_500).map(|at| json!({ "id": at, "a": at % 2 })).collect();
    let text = Value::from(rows).to_string();
    let compare_of = |count: usize| {
        let results = vec![json!({ "body": text }); count];
        let body = json!({ "results": results });
        site.call(Scope::Read, move |call| compare(call, read(json!({})), read(body)))
    };
    assert!(compare_of(2).is_ok());
    assert_eq!(compare_of(20).unwrap_err().kind.name(), "too_large");
    assert_eq!(compare_of(2).unwrap()["comparisons"][0]["queries_shared"], 2_500);
}
