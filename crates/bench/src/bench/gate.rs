//! `bench gate`: what a gate takes for itself, beside what it waits for retrieval.
//!
//! A baseline of captured rows and as many judged queries are read from files, gated and reported
//! in every form, as `gbrain eval gate` does. Retrieval is what the retriever is called for, each
//! row and query once; everything else is the gate's own. Once on a brain that is as it was, and
//! once with another setting, so that there are moved rows to blame, explain and report.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use anyhow::{Result, ensure};
use gbrain_bench::campaign::identity::{Place, Question, demo, markdown};
use gbrain_bench::campaign::replay::{IDENTITY_KEY, capture, lines};
use gbrain_bench::campaign::scaffold::progress;
use gbrain_brain::{Brain, IndexKind};
use gbrain_console::page::view::RowView;
use gbrain_core::baseline::{Baseline, BaselineDraft, BaselineThresholds, publish};
use gbrain_core::capture::{CapturedPage, CapturedRow};
use gbrain_core::gate::{CorrectnessParts, CorrectnessThresholds, GateParts, RegressionParts};
use gbrain_core::id::{PageKey, WorkspaceId};
use gbrain_core::latency::TimingMethod;
use gbrain_core::provenance::CorpusSnapshot;
use gbrain_core::qrels::Qrels;
use gbrain_core::replay::{LiveContext, LostPage};
use gbrain_core::report::json::GateReport;
use gbrain_core::report::{Queries, junit, markdown as in_markdown, text};
use gbrain_core::request::{Request, Viewer};
use gbrain_eval::{
    EvalError, GateInputs, GateOutcome, Input, JudgedPipeline, LocalOptions, LocalRetriever,
    ReplayOptions, Retriever, gate, read_baseline, read_document, read_publishable,
    write_atomically,
};
use gbrain_testkit::engine::Engine;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::asked::requests;
use super::data_dir;
use super::percentile::median;
use super::report::{Cell, Report};

const K: usize = 10;
/// The most that a gate may take for itself, as a share of retrieval.
const TARGET: f64 = 0.10;
/// Pages of a judged query that are relevant.
const RELEVANT: usize = 3;
const HEADERS: [&str; 5] = ["brain", "what", "n", "ms", "share of retrieval"];
const PHASES: [&str; 8] =
    ["read", "compare, measure", "text", "json", "markdown", "html", "junit", "write"];

/// The resources that a gate uses.
#[derive(Debug, clap::Args)]
pub(crate) struct GateArgs {
    /// Pages of the markdown trees, beside the demo corpus.
    #[arg(long, default_value_t = 3_000)]
    pages: usize,
    /// Rows of the baseline, and judged queries.
    #[arg(long, default_value_t = 1_000)]
    rows: usize,
    /// How often each gate is run.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
}

/// How long one run took, in milliseconds.
struct Times {
    retrieval: f64,
    /// By [`PHASES`].
    own: [f64; 8],
}

pub(crate) fn run(args: &GateArgs) -> Result<Report> {
    let mut corpus = demo()?;
    corpus.extend(markdown(&data_dir()?, args.pages, 0)?);
    let place = Place::new(Engine::Sqlite)?;
    place.bring(&corpus.files)?;
    let brain = Arc::new(place.open(IndexKind::Disk)?);
    let files = tempfile::tempdir()?;
    // Some find nothing and are not published.
    let asked = requests(&corpus, 3 * args.rows, &brain)?;
    write_inputs(&brain, asked, args.rows, files.path())?;
    progress(format!("{} rows and as many judged queries", args.rows));

    let mut report = Report::new("gate", &HEADERS);
    report.fact("pages", Cell::Count(corpus.files.len() as u64));
    let settings = brain.settings()?;
    let mut other = settings.clone();
    other.set("page_weight", "0")?;
    for (name, settings) in [("as it was", settings), ("another setting", other)] {
        let live = LiveContext { settings, now: Timestamp::UNIX_EPOCH };
        let times = (0..=args.rounds).map(|_| time(&brain, &live, files.path()));
        // The first round warms up and does not count.
        let times: Vec<Times> = times.skip(1).collect::<Result<_>>()?;
        tell(name, &times, &mut report);
    }
    Ok(report)
}

fn tell(name: &'static str, times: &[Times], report: &mut Report) {
    let typical = |of: &dyn Fn(&Times) -> f64| median(&times.iter().map(of).collect::<Vec<_>>());
    let retrieval = typical(&|times| times.retrieval);
    let own = typical(&|times| times.own.iter().sum());
    let mut row = |what: &str, ms: f64| {
        report.row(vec![
            Cell::text(name),
            Cell::text(what),
            Cell::Count(times.len() as u64),
            Cell::number(ms, 1),
            Cell::number(ms / retrieval, 4),
        ]);
    };
    row("retrieval", retrieval);
    for (at, phase) in PHASES.iter().enumerate() {
        row(phase, typical(&|times| times.own[at]));
    }
    row("the gate's own", own);
    let share = own / retrieval;
    report.target(
        format!("{name}: a gate takes {share:.3} of retrieval for itself, below {TARGET}"),
        share < TARGET,
    );
}

/// Captures, and makes a baseline of the first rows and qrels of the next.
fn write_inputs(brain: &Arc<Brain>, asked: Vec<Request>, rows: usize, dir: &Path) -> Result<()> {
    let questions: Vec<Question> = asked
        .into_iter()
        .map(|request| Question { request, explain: false, why_not: None })
        .collect();
    capture(brain, &questions)?;
    let lines = lines(brain)?;
    let mut captured = read_publishable(Input::new(Path::new("export"), lines.as_slice()))?;
    captured.retain(|(_, row)| row.expected().is_some_and(|pages| !pages.is_empty()));
    ensure!(captured.len() >= 2 * rows, "only {} requests found something", captured.len());
    let judged: Vec<Value> =
        captured[rows..2 * rows].iter().filter_map(|(_, row)| judged(row)).collect();
    captured.truncate(rows);
    let draft = BaselineDraft {
        label: "bench".to_owned(),
        published_at: Timestamp::UNIX_EPOCH,
        thresholds: BaselineThresholds::default(),
        why: None,
        previous: None,
        key: None,
    };
    let published = publish(captured, &draft)?;
    ensure!(published.metadata.row_count == rows, "some rows were not published");
    write_atomically(&dir.join("baseline.ndjson"), published.text.as_bytes())?;
    let qrels = json!({ "schema_version": 1, "queries": judged });
    Ok(write_atomically(&dir.join("qrels.json"), qrels.to_string().as_bytes())?)
}

/// A captured query with its first pages as the right answers.
fn judged(row: &CapturedRow) -> Option<Value> {
    let page = |page: &CapturedPage| json!({ "source_id": page.source, "slug": page.slug });
    let pages: Vec<Value> = row.expected()?.iter().take(RELEVANT).map(page).collect();
    let (query_id, first) = (format!("q{}", row.line), pages.first()?.clone());
    Some(json!({
        "query_id": query_id, "query": row.query, "relevant": pages, "expected_top1": first,
    }))
}

/// One gate, from its files to its reports.
fn time(brain: &Brain, live: &LiveContext, dir: &Path) -> Result<Times> {
    let mut watch = Instant::now();
    let mut lap = || {
        let ms = watch.elapsed().as_secs_f64() * 1000.0;
        watch = Instant::now();
        ms
    };
    let (baseline_path, qrels_path) = (dir.join("baseline.ndjson"), dir.join("qrels.json"));
    let baseline = read_baseline(Input::open(&baseline_path)?)?;
    let qrels = Qrels::parse(&read_document(&qrels_path)?)?;
    let read = lap();

    let local = LocalRetriever::new(brain, LocalOptions::new(live.clone()), &|_, _| ())?;
    let nanos = AtomicU64::new(0);
    let timed = TimedRetriever { retriever: Box::new(&local), nanos: &nanos };
    let outcome = gate(&timed, &inputs(&baseline, &qrels), &|_| ())?;
    let retrieval = nanos.load(Ordering::Relaxed) as f64 / 1e6;
    let provenance = local.info().provenance.clone();
    let compare = lap() - retrieval;

    let mut parts = parts(&baseline, &outcome);
    parts.provenance = Some(&provenance);
    let mut forms = Vec::new();
    let mut form = |name: &'static str, text: String| {
        forms.push((name, text));
        lap()
    };
    let text = form("gate.txt", text::gate(&parts));
    let json = form("gate.json", serde_json::to_string_pretty(&GateReport::new(&parts))?);
    let markdown = form("gate.md", in_markdown::gate(&parts, Queries::Shown));
    let html = form("gate.html", web_page(&GateReport::new(&parts))?);
    let junit = form("gate.xml", junit::gate(&parts, Queries::Shown));
    for (name, text) in &forms {
        write_atomically(&dir.join(name), text.as_bytes())?;
    }
    let write = lap();
    Ok(Times { retrieval, own: [read, compare, text, json, markdown, html, junit, write] })
}

/// The report as a web page, made from its JSON as `--html` does.
fn web_page(report: &GateReport<'_>) -> Result<String> {
    let report = gbrain_console::report::read(serde_json::to_string(report)?)?;
    Ok(gbrain_console::file(&report.page(&RowView::default())))
}

/// As `gbrain eval gate` asks, each row once.
fn inputs<'a>(baseline: &'a Baseline, qrels: &'a Qrels) -> GateInputs<'a> {
    GateInputs {
        baseline: Some((baseline, baseline.metadata.thresholds)),
        judged: Some((&qrels.queries, CorrectnessThresholds::default())),
        k: K,
        confidence: None,
        pipeline: JudgedPipeline::Fixed,
        replay: ReplayOptions {
            repeats: 1,
            explain: 5,
            blame: true,
            identity: Some(IDENTITY_KEY.for_workspace(&WorkspaceId::default())),
            ..ReplayOptions::default()
        },
    }
}

fn parts<'a>(baseline: &'a Baseline, outcome: &'a GateOutcome) -> GateParts<'a> {
    GateParts {
        verdict: outcome.verdict,
        regression: outcome.regression.as_ref().map(|(found, rows)| RegressionParts {
            path: "baseline.ndjson",
            metadata: &baseline.metadata,
            integrity: baseline.integrity,
            thresholds: baseline.metadata.thresholds,
            found,
            rows,
        }),
        correctness: outcome.correctness.as_ref().map(|found| CorrectnessParts {
            path: "qrels.json",
            thresholds: CorrectnessThresholds::default(),
            pipeline: "fixed",
            found,
        }),
        confidence: None,
        provenance: None,
        elapsed_ms: 0.0,
    }
}

struct TimedRetriever<'a> {
    retriever: Box<dyn Retriever + 'a>,
    nanos: &'a AtomicU64,
}

impl TimedRetriever<'_> {
    fn timed<T>(&self, work: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let done = work();
        self.nanos.fetch_add(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
        done
    }
}

impl Retriever for TimedRetriever<'_> {
    fn info(&self) -> &gbrain_eval::retriever::RetrieverInfo {
        self.retriever.info()
    }

    fn retrieve(
        &self,
        question: &gbrain_core::target::Question,
    ) -> Result<gbrain_core::target::TargetAnswer, gbrain_core::target::TargetError> {
        self.timed(|| self.retriever.retrieve(question))
    }

    // Comparing times asks again; here each row is asked once.
    fn timing(&self, _: &gbrain_core::target::Question) -> TimingMethod {
        TimingMethod::Untimed
    }

    fn at_corpus(
        &self,
        corpus: &CorpusSnapshot,
    ) -> Result<Option<Box<dyn Retriever + '_>>, EvalError> {
        let past = self.retriever.at_corpus(corpus)?;
        let timed = |retriever| Box::new(TimedRetriever { retriever, nanos: self.nanos });
        Ok(past.map(|past| timed(past) as Box<dyn Retriever>))
    }

    fn why_not(
        &self,
        question: &gbrain_core::target::Question,
        page: &PageKey,
    ) -> Option<LostPage> {
        self.timed(|| self.retriever.why_not(question, page))
    }

    fn has_pages(&self, names: &[&str], viewer: Viewer) -> Result<Option<Vec<bool>>, EvalError> {
        self.retriever.has_pages(names, viewer)
    }
}
