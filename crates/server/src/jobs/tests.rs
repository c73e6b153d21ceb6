//! Jobs that meet bad pages, lost leases and the end of their process.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gbrain_core::fault::Fault;
use gbrain_core::hash::Hash;
use gbrain_core::id::{PageKey, SourceId, WorkspaceId};
use gbrain_core::job::JobState;
use gbrain_core::page::PageFormat;
use gbrain_store::{DocumentKind, Job, JobClaim, Lease, NewJob};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::control::{JobControl, StopReason};
use super::worker::{JobOutput, RunningJob, end, run};
use crate::telemetry::metrics::ScrapeScope;
use crate::workspace_registry::WorkspaceRegistry;

/// A house without workers: tests are the workers.
struct Site {
    dir: TempDir,
    registry: WorkspaceRegistry,
}

impl Site {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let registry = WorkspaceRegistry::in_dir(dir.path());
        Self { dir, registry }
    }

    fn put(&self, slug: &str, text: &str) {
        let service = self.registry.query_service(&ws()).unwrap();
        service.brain().put(&key(slug), text, PageFormat::Markdown, Timestamp::now()).unwrap();
    }

    fn text(&self, slug: &str) -> Option<String> {
        let page = self.registry.store().page(&ws(), &key(slug)).unwrap();
        page.map(|stored| stored.page.content.clone())
    }

    fn add(&self, kind: &str, spec: &Value) -> i64 {
        let job = NewJob {
            kind: kind.to_owned(),
            spec: spec.to_string(),
            created_by: "test".to_owned(),
            max_attempts: 5,
            key: None,
            group: None,
        };
        let store = self.registry.store();
        store.add_job(&ws(), &job, store.clock().unwrap()).unwrap()
    }

    /// Claims the next job for so many seconds.
    fn claim(&self, worker: &str, seconds: i64) -> Job {
        let store = self.registry.store();
        let now = store.clock().unwrap();
        let kinds =
            ["import", "import_files", "reindex", "gate", "replay"].map(str::to_owned).to_vec();
        let lease_until = now.checked_add(SignedDuration::from_secs(seconds)).unwrap();
        let claim = JobClaim { worker: worker.to_owned(), kinds, lease_until, last: None };
        store.claim_job(&claim, now).unwrap().expect("a job is due")
    }

    fn running<'a>(&'a self, job: &'a Job) -> RunningJob<'a> {
        let lease = Lease { worker: job.info.worker.clone().unwrap(), attempt: job.info.attempt };
        RunningJob {
            registry: &self.registry,
            job,
            lease,
            control: Arc::new(JobControl::default()),
        }
    }

    fn state(&self, id: i64) -> JobState {
        self.registry.store().job(&ws(), id).unwrap().unwrap().info.state
    }

    /// The lines of a scrape that begin so.
    fn metrics(&self, name: &str) -> Vec<String> {
        let text = self.registry.metrics().render(ScrapeScope::All);
        text.lines().filter(|line| line.starts_with(name)).map(str::to_owned).collect()
    }
}

fn ws() -> WorkspaceId {
    WorkspaceId::default()
}

fn key(slug: &str) -> PageKey {
    PageKey::parse(slug, &SourceId::default()).unwrap()
}

fn result(done: Result<JobOutput, Fault>) -> Value {
    let done = done.unwrap_or_else(|fault| panic!("{fault:?}"));
    serde_json::from_str(&done.result).unwrap()
}

fn kind(done: Result<JobOutput, Fault>) -> &'static str {
    done.err().expect("it must not succeed").kind.name()
}

#[test]
fn one_bad_page_does_not_fail_an_import() {
    let site = Site::new();
    let page = |slug: &str| json!({ "slug": slug, "content": format!("text of {slug}") });
    let mut pages: Vec<Value> = (0..250).map(|n| page(&format!("p{n}"))).collect();
    pages[120] = page("wiki::x");
    pages[130] = json!({ "slug": "p130", "content": "---\nvisibility: private\n---\nno" });
    pages[249] = page("wiki::y");
    site.add("import", &json!({ "pages": pages }));
    let job = site.claim("w", 60);
    let running = site.running(&job);
    let summary = result(run(&running));
    assert_eq!((&summary["added"], &summary["changed"]), (&json!(247), &json!(0)));
    let failed = summary["failed"].as_array().unwrap();
    let mut names: Vec<&str> = failed.iter().map(|one| one["path"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, ["p130", "wiki::x", "wiki::y"]);
    assert!(
        failed.iter().any(|one| one["reason"].as_str().unwrap().contains("wiki")),
        "{failed:?}"
    );
    for n in [0, 119, 121, 248] {
        assert!(site.text(&format!("p{n}")).is_some(), "p{n}");
    }
    assert_eq!(running.control.progress().done, 250);
}

/// A directory with pages, and a job that takes it in.
fn files(site: &Site, names: &[&str]) -> Value {
    let dir = site.dir.path().join("notes");
    std::fs::create_dir_all(&dir).unwrap();
    for name in names {
        std::fs::write(dir.join(format!("{name}.md")), format!("{name} of the files")).unwrap();
    }
    json!({ "source": "default", "paths": [dir], "allow_empty": false })
}

fn path(site: &Site, name: &str) -> String {
    let path = site.dir.path().join("notes").canonicalize().unwrap().join(name);
    path.to_str().unwrap().to_owned()
}

#[test]
fn files_that_were_done_are_not_taken_in_again() {
    let site = Site::new();
    site.put("old", "written here, and never from a file");
    let id = site.add("import_files", &files(&site, &["a", "b", "c"]));
    // The first attempt wrote `a` and died.
    let summary = json!({ "added": 1, "changed": 0, "unchanged": 0, "deleted": 0, "failed": [],
        "warnings": [] });
    let checkpoint = json!({ "after": path(&site, "a.md"), "summary": summary }).to_string();
    let job = site.claim("first", 0);
    let running = site.running(&job);
    site.put("a", "a of the files");
    let step = gbrain_store::JobStep {
        id,
        lease: &running.lease,
        checkpoint: &|_| checkpoint.clone(),
        done: 1,
        total: Some(3),
    };
    site.registry.store().write_pages_in_job(&ws(), &[], &step, Timestamp::now()).unwrap();
    site.put("a", "a, corrected by a person");

    let job = site.claim("second", 60);
    let summary = result(run(&site.running(&job)));
    assert_eq!((&summary["added"], &summary["changed"]), (&json!(3), &json!(0)));
    assert_eq!(site.text("a").unwrap(), "a, corrected by a person");
    assert_eq!(site.text("c").unwrap(), "c of the files");
    let kept = site.registry.store().job(&ws(), id).unwrap().unwrap().checkpoint.unwrap();
    let kept: Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept["after"], path(&site, "c.md"), "the next attempt would find nothing to do");
}

#[test]
fn a_worker_that_lost_its_files_changes_nothing() {
    let site = Site::new();
    let spec = files(&site, &["a", "b"]);
    site.add("import_files", &spec);
    let job = site.claim("w", 60);
    let running = site.running(&job);
    end(&running, run(&running)).unwrap();
    // One file is gone, one is new: there is something to write and something to delete.
    std::fs::remove_file(path(&site, "a.md")).unwrap();
    for names in [&["c"][..], &[]] {
        files(&site, names);
        let id = site.add("import_files", &spec);
        let lost = site.claim("first", 0);
        let kept = site.claim("second", 60);
        let before = site.registry.store().head(&ws()).unwrap();
        assert_eq!(kind(run(&site.running(&lost))), "conflict");
        assert_eq!(site.registry.store().head(&ws()).unwrap(), before);
        let running = site.running(&kept);
        end(&running, run(&running)).unwrap();
        assert_eq!(site.state(id), JobState::Done);
        std::fs::remove_file(path(&site, "b.md")).ok();
    }
    assert_eq!((site.text("a"), site.text("b"), site.text("c").is_some()), (None, None, true));
}

#[test]
fn a_stopped_import_of_files_deletes_nothing() {
    let site = Site::new();
    let spec = files(&site, &["a", "b"]);
    site.add("import_files", &spec);
    let job = site.claim("w", 60);
    result(run(&site.running(&job)));
    std::fs::remove_file(path(&site, "a.md")).unwrap();
    let running = site.running(&job);
    running.control.stop(StopReason::Stopping);
    assert_eq!(kind(run(&running)), "cancelled");
    assert!(site.text("a").is_some());
}

#[test]
fn a_reindex_sees_a_stop_request() {
    let site = Site::new();
    site.put("a", "ferries");
    let id = site.add("reindex", &json!({}));
    let job = site.claim("w", 60);
    let running = site.running(&job);
    running.control.stop(StopReason::Cancelled);
    let done = run(&running);
    assert_eq!(done.as_ref().err().unwrap().kind.name(), "cancelled");
    end(&running, done).unwrap();
    assert_eq!(site.state(id), JobState::Cancelled);
    // Also while another process holds the index.
    let lock = index_lock(site.dir.path());
    lock.lock().unwrap();
    site.add("reindex", &json!({}));
    let job = site.claim("w", 60);
    let running = site.running(&job);
    let control = running.control.clone();
    std::thread::scope(|scope| {
        let at_work = scope.spawn(|| run(&running));
        std::thread::sleep(Duration::from_millis(300));
        assert!(!at_work.is_finished(), "it waits for the index");
        control.stop(StopReason::Stopping);
        assert_eq!(kind(at_work.join().unwrap()), "cancelled");
    });
}

/// The file that writers of the one index lock.
fn index_lock(dir: &Path) -> std::fs::File {
    let mut indexes = std::fs::read_dir(dir.join("index")).unwrap();
    let path = indexes.next().unwrap().unwrap().path().join("writer.lock");
    std::fs::File::options().write(true).open(path).unwrap()
}

/// A gate that fails: the judged page is not the one that is found.
fn failing_gate(site: &Site) -> i64 {
    site.put("boats", "boats at the quay");
    site.put("trains", "trains at the station");
    let query = |text: &str| json!({ "id": text, "query": text, "relevant": ["trains"] });
    // Enough for every check, and found too late for all of them.
    let queries = ["boats", "the quay", "boats at a quay", "quay with boats"].map(query);
    let qrels = json!({ "queries": queries });
    let (store, now) = (site.registry.store(), Timestamp::now());
    store.put_document(&ws(), DocumentKind::Qrels, "known", &qrels.to_string(), now).unwrap();
    // The queries must be indexed already: catching up would see the stop request.
    let job = site.add("gate", &json!({ "qrels": "known" }));
    let service = site.registry.query_service(&ws()).unwrap();
    service.brain().snapshot(&|_, _| ()).unwrap();
    job
}

#[test]
fn a_gate_counts_when_its_result_is_stored() {
    let site = Site::new();
    let id = failing_gate(&site);
    let job = site.claim("w", 60);
    let running = site.running(&job);
    let done = run(&running);
    assert!(site.metrics("gbrain_verdicts").iter().all(|line| line.starts_with('#')), "not yet");
    end(&running, done).unwrap();
    assert_eq!(site.state(id), JobState::Done);
    let verdicts = site.metrics("gbrain_verdicts_total{");
    assert_eq!(verdicts.len(), 1, "{verdicts:?}");
    assert!(verdicts[0].contains("\"fail\"") && verdicts[0].ends_with(" 1"), "{verdicts:?}");
}

/// A baseline of one row that a caller over a wire asked, without the hash that would show an edit.
fn unhashed_baseline(site: &Site) {
    site.put("boats", "boats at the quay");
    let query_hash = Hash::of(b"boats").short();
    let source_hash = Hash::of(query_hash.as_bytes()).to_hex();
    let metadata = json!({
        "_kind": "baseline_metadata", "schema_version": 1, "label": "old", "source_hash": source_hash,
        "thresholds": { "jaccard": 0.8, "top1": 0.8, "latency_multiplier": 2.0 },
        "published_at": "2026-05-01T00:00:00Z", "row_count": 1,
    });
    let row = json!({
        "schema_version": 1, "id": 1, "tool_name": "search", "query": "boats", "query_hash": query_hash,
        "retrieved_slugs": ["boats"], "source_ids": ["default"], "latency_ms": 3.0,
        "created_at": "2026-05-01T00:00:00Z", "remote": true,
    });
    let (text, now) = (format!("{metadata}\n{row}\n"), Timestamp::now());
    let store = site.registry.store();
    store.put_document(&ws(), DocumentKind::Baseline, "old", &text, now).unwrap();
}

#[test]
fn reports_of_jobs_say_what_of_a_baseline_could_not_be_checked() {
    let site = Site::new();
    unhashed_baseline(&site);
    for (kind, spec) in [
        ("replay", json!({ "against": { "baseline": "old" } })),
        ("gate", json!({ "baseline": "old" })),
    ] {
        site.add(kind, &spec);
        let job = site.claim("w", 60);
        let running = site.running(&job);
        let done = run(&running);
        let report = result(done);
        let text = report.to_string();
        assert!(text.contains("edits cannot be detected"), "{kind}: {text}");
        let lease = site.running(&job);
        end(&lease, Err(Fault::cancelled("over"))).unwrap();
    }
}

#[test]
fn a_gate_that_was_stopped_is_no_verdict() {
    let site = Site::new();
    let id = failing_gate(&site);
    for (why, state) in
        [(StopReason::Stopping, JobState::Queued), (StopReason::Cancelled, JobState::Cancelled)]
    {
        let job = site.claim("w", 60);
        let running = site.running(&job);
        running.control.stop(why);
        end(&running, run(&running)).unwrap();
        assert_eq!(site.state(id), state);
    }
    let counted =
        [site.metrics("gbrain_verdicts_total{"), site.metrics("gbrain_run_last")].concat();
    assert_eq!(counted, Vec::<String>::new());
}

#[test]
fn a_worker_that_lost_its_job_counts_nothing() {
    let site = Site::new();
    let id = failing_gate(&site);
    let lost = site.claim("first", 0);
    let kept = site.claim("second", 60);
    for done in [run(&site.running(&lost)), Err(Fault::internal("it broke"))] {
        end(&site.running(&lost), done).unwrap();
        assert_eq!(site.state(id), JobState::Running);
    }
    assert_eq!(site.metrics("gbrain_verdicts_total{"), Vec::<String>::new());
    let jobs = site.metrics("gbrain_jobs_total{");
    assert_eq!(jobs.len(), 1, "{jobs:?}");
    assert!(jobs[0].contains("\"lost\"") && jobs[0].ends_with(" 2"), "{jobs:?}");
    let running = site.running(&kept);
    end(&running, run(&running)).unwrap();
    assert_eq!(site.metrics("gbrain_verdicts_total{").len(), 1);
}

/// The run context of tests: the local brain is the only target.
pub(crate) fn tools(dir: &std::path::Path) -> crate::workspace_registry::SuiteTools {
    use gbrain_core::target::{TargetError, TargetErrorKind};
    let unknown = |name: &str| Err(TargetError::new(TargetErrorKind::BadRequest, name));
    crate::workspace_registry::SuiteTools {
        targets: gbrain_eval::suite::TargetRegistry {
            find: Arc::new(unknown),
            environment: Arc::new(|_: &str| None),
            dir: dir.to_owned(),
        },
        scrubber: gbrain_core::scrub::Scrubber::default(),
        identity: None,
        catalog: gbrain_llm::ModelCatalog {
            providers: gbrain_llm::Providers::with(&serde_json::Map::new()).unwrap(),
            prices: gbrain_llm::load_prices(&dir.join("prices.json")).unwrap(),
            limits: gbrain_llm::ModelLimits::default(),
            environment: Arc::new(|_: &str| None),
        },
        alerts: crate::alerts::AlertTools {
            registry: gbrain_eval::alert::ChannelRegistry {
                read: Arc::new(gbrain_eval::alert::ChannelSettings::default),
                environment: Arc::new(|_: &str| None),
            },
            settings: gbrain_eval::alert::AlertSettings::default(),
            limits: gbrain_eval::alert::SendLimits::default(),
        },
    }
}
