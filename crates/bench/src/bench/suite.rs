//! `bench suite`: what a suite costs beside the calls that it makes, against a server with a fixed answer
//! time. Bare calls and suites take turns in one run.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use gbrain_core::format::suite::QueryEntry;
use gbrain_core::format::target::read_target;
use gbrain_core::gate::Verdict;
use gbrain_core::id::WorkspaceId;
use gbrain_core::replay::LiveContext;
use gbrain_core::scrub::Scrubber;
use gbrain_core::suite::run::RunTrigger;
use gbrain_core::suite::{Sample, Suite, SuiteKind};
use gbrain_core::target::Question;
use gbrain_eval::retriever::{Retriever, TargetEnvironment, open};
use gbrain_eval::suite::{
    RunContext, RunTarget, import_queries, record, run as run_suite, unverifiable,
};
use gbrain_store::{Location, OpenMode};
use gbrain_testkit::retrieval::{Fault, Reply, RetrievalServer};
use jiff::Timestamp;
use serde_json::json;

use super::percentile::median;
use super::report::{Cell, Report};

/// How long the server takes.
const ANSWER: Duration = Duration::from_millis(20);
const CONCURRENCY: usize = 16;
/// How much longer a suite may take.
const MOST: f64 = 1.05;

#[derive(Debug, clap::Args)]
#[command(name = "cargo xtask bench suite")]
pub(crate) struct SuiteArgs {
    /// Questions of a suite.
    #[arg(long, default_value_t = 2_000)]
    questions: usize,
    /// Turns.
    #[arg(long, default_value_t = 5)]
    turns: usize,
}

pub(crate) fn run(args: &SuiteArgs) -> Result<Report> {
    let server = RetrievalServer::start_with(
        ANSWER,
        64,
        |asked| Reply::of(&[&asked.text]),
        |_| Fault::None,
    )?;
    let settings = json!({ "kind": "http", "api": "lightfast-v1", "url": server.url(), "concurrency": CONCURRENCY });
    let environment = TargetEnvironment {
        lookup: Arc::new(|_: &str| None),
        dir: std::env::temp_dir(),
        cancel: Arc::default(),
    };
    let target = open(
        read_target("prod", &settings)?,
        LiveContext::at(Timestamp::UNIX_EPOCH),
        &environment,
    )?;
    let dir = tempfile::tempdir()?;
    let location = Location::Sqlite(dir.path().join("brain.db"));
    let store = gbrain_store::Store::open(&location, OpenMode::Use, Timestamp::now())?;
    let workspace = WorkspaceId::default();
    let entry = |at: usize| -> Result<QueryEntry> {
        let query = json!({ "query": text(at), "expected": [text(at)] });
        Ok(serde_json::from_value(query)?)
    };
    let entries = (0..args.questions).map(entry).collect::<Result<Vec<_>>>()?;
    import_queries(&store, &workspace, entries, &Scrubber::default(), None, Timestamp::now())?;
    let mut suite = Suite::new("bench", SuiteKind::Regression, vec!["@bench".to_owned()]);
    suite.sample = Sample::Total(args.questions);
    suite.concurrency = CONCURRENCY;
    let (mut bare, mut whole) = (Vec::new(), Vec::new());
    // The first turn opens connections and warms everything: it does not count.
    for turn in 0..=args.turns {
        let calls = seconds(|| calls(target.as_ref(), args.questions))?;
        let suites = seconds(|| {
            let key = format!("turn-{turn}");
            let context = RunContext {
                store: &store,
                workspace: &workspace,
                scrubber: &Scrubber::default(),
                stop: &Arc::default(),
                progress: &|_, _| (),
                clock: Timestamp::now,
            };
            let target = RunTarget {
                retriever: target.as_ref(),
                ad_hoc: false,
                facts: &unverifiable,
                scorer: None,
            };
            let trigger = RunTrigger { key: &key, trigger: "manual" };
            let body = run_suite(&context, &target, &suite, trigger)?;
            ensure!(body.verdict == Verdict::Pass, "{:?}", body.inconclusive_reasons);
            record(&store, &workspace, &body, Timestamp::now())?.context("it is recorded once")?;
            Ok(())
        })?;
        if turn > 0 {
            bare.push(calls);
            whole.push(suites);
        }
    }
    Ok(told(args, &bare, &whole))
}

fn text(at: usize) -> String {
    format!("question-{at:05}")
}

fn seconds(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed().as_secs_f64())
}

/// The same questions with nothing round them.
fn calls(target: &dyn Retriever, questions: usize) -> Result<()> {
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..CONCURRENCY {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= questions {
                        return;
                    }
                    if target.retrieve(&Question::new(text(at), 10)).is_err() {
                        failed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    ensure!(failed.into_inner() == 0, "a call failed");
    Ok(())
}

fn told(args: &SuiteArgs, bare: &[f64], whole: &[f64]) -> Report {
    let mut report = Report::new("suite", &["what", "n", "turns", "median s"]);
    for (what, seconds) in [("bare calls", bare), ("suite", whole)] {
        report.row(vec![
            Cell::text(what),
            Cell::Count(args.questions as u64),
            Cell::Count(args.turns as u64),
            Cell::number(median(seconds), 3),
        ]);
    }
    let ratio = median(whole) / median(bare);
    report.fact("ratio", Cell::number(ratio, 3));
    report
        .target(format!("a suite takes at most {MOST} times as long as its calls"), ratio <= MOST);
    report
}
