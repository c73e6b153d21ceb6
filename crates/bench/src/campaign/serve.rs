//! `campaign serve`: one server under mixed load, for as long as one likes.
//!
//! Services ask, read, put and delete over HTTP, an agent calls tools over MCP, imports, replays and
//! gates run, captures are collected, and now and then a crowd asks more than can be answered. No
//! answer is a fault, nobody is refused but while there is a crowd, memory, descriptors, threads and
//! files stay as they are. In the end every acknowledged write is there and no refused one, every job
//! ended once, and every question that was answered is captured or counted as a failure.

mod background;
mod callers;
mod site;
mod trend;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use fastrand::Rng;
use gbrain_core::id::WorkspaceId;
use gbrain_store::CaptureFilter;
use gbrain_testkit::process::Gbrain;
use gbrain_testkit::served::Served;
use serde_json::json;

use background::Collector;
use site::{Client, Site};
use trend::{Sample, trends};

pub use site::{Tallies, Tally};
pub use trend::Trend;

use super::aftermath::{self, Asked, BrainAfterRun};
use super::ledger::Ledger;
use super::scaffold::{CampaignArgs, Part, Setup, keep_if_violated, minutes, progress, table};
use super::tree::{Change, Tree};

const ASKERS: usize = 4;
/// The time limit for storing captures after the last query.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a load must last before its figures can be held to stay as they are.
const LONG: Duration = Duration::from_secs(60);
/// How many times as large as one made anew an index may be.
const DEAD_WEIGHT: u64 = 3;

/// The work for each engine.
#[derive(Debug, Clone, Args)]
pub struct ServePlan {
    /// Minutes on each engine.
    #[arg(long = "minutes", default_value = "30", value_parser = minutes)]
    pub time: Duration,
    /// Pages that never change.
    #[arg(long, default_value_t = 2_000)]
    pub pages: usize,
    /// How often a crowd comes, at least.
    #[arg(skip = Duration::from_secs(20))]
    pub crowds: Duration,
}

#[derive(Debug, Default)]
pub struct Report {
    /// The outcomes of every kind of request.
    pub tallies: Tallies,
    /// The figures that must not grow.
    pub trends: Vec<Trend>,
    /// Questions that were answered.
    pub questions: u64,
    /// Captures that were stored.
    pub captures: u64,
    /// Captures that were counted as failures.
    pub failures: u64,
    /// Captures that were collected over the wire.
    pub collected: u64,
    /// Writes that were acknowledged.
    pub acknowledged: usize,
    /// The index in the end, and made anew, in MiB.
    pub index: (u64, u64),
    pub aftermath: BrainAfterRun,
    pub violations: Vec<String>,
}

/// Runs the campaign on the engines that were asked for.
pub fn run(args: &CampaignArgs<ServePlan>) -> Result<ExitCode> {
    args.each(|setup, plan| {
        let report = serve(setup, plan)?;
        let (figures, lines) = (format!("{} s of load", plan.time.as_secs()), report.lines());
        Ok(Part::new(figures, report.violations).lines(lines))
    })
}

pub fn serve(setup: &Setup, plan: &ServePlan) -> Result<Report> {
    let mut rng = setup.rng();
    let dir = tempfile::Builder::new().prefix("gbrain-tree-").tempdir()?;
    let mut stable = Tree::new(dir.path(), "stable")?;
    stable.change(&mut rng, Change { edits: 0, additions: plan.pages, deletions: 0 })?;
    let brain = setup.brain()?;
    let mut server = begin(&brain, &stable)?;
    let site = Site::new(server.address());
    let mut report = Report::default();

    let mut collector = Collector::new(&site)?;
    let (asked, samples) =
        under_load(setup, plan, &site, &stable, &brain, &mut server, &mut collector)?;
    if !site.violations.any() {
        settle(&site, &mut collector, &mut report)?;
    }
    let output = server.stop()?;
    site.violations.expect("a server that was told to end", &output);
    if site.violations.any() {
        std::fs::write(brain.home().join("serve.log"), output.stderr)?;
    }
    again(&brain, &site)?;

    report.collected = collector.rows;
    report.questions = site.questions() + 1;
    let (tallies, violations) = site.close();
    (report.tallies, report.violations) = (tallies, violations);
    report.trends = trends(&samples);
    report.acknowledged = asked.ledger.counts().0;
    report.check(plan, &brain, &asked)?;
    keep_if_violated(brain, &report.violations);
    Ok(report)
}

/// A brain that holds the pages that never change, and a server for it that captures.
fn begin(brain: &Gbrain, stable: &Tree) -> Result<Served> {
    for args in [&["init"][..], &["import", stable.root()]] {
        let output = brain.run(args)?;
        anyhow::ensure!(output.complaint().is_none(), "{args:?} {:?}", output.complaint());
    }
    start(brain)
}

fn start(brain: &Gbrain) -> Result<Served> {
    let mut command = brain.command(&["serve"]);
    command.env("GBRAIN_CONTRIBUTOR_MODE", "1");
    Served::start(command)
}

/// The work of one client until the run ends.
type Work<'a> = Box<dyn FnOnce(Rng) -> Result<()> + Send + 'a>;

/// Starts all clients, and watches the server until the run ends.
fn under_load<'s>(
    setup: &Setup,
    plan: &ServePlan,
    site: &'s Site,
    stable: &Tree,
    brain: &Gbrain,
    server: &mut Served,
    collector: &mut Collector<'s>,
) -> Result<(Asked, Vec<Sample>)> {
    let mut rng = Rng::with_seed(setup.seed ^ 1);
    let mut asked = Asked::default();
    let mut ledgers: [Ledger; 4] = Default::default();
    let [one, two, agent, crowd] = &mut ledgers;
    let (imports, runs) = (&mut asked.imports, &mut asked.others);
    let mut everybody: Vec<(&str, Work<'_>)> = vec![
        ("a reader", Box::new(|rng| callers::read(site, stable, rng))),
        ("a collector", Box::new(|rng| collector.collect(site, rng))),
        ("a writer", Box::new(|rng| callers::write(site, "desk1", rng, one))),
        ("a writer", Box::new(|rng| callers::write(site, "desk2", rng, two))),
        ("an agent", Box::new(|rng| callers::converse(site, stable, rng, agent))),
        ("crowds", Box::new(|rng| callers::crowd(site, plan.crowds, rng, crowd))),
        ("an importer", Box::new(|rng| background::import(site, rng, imports))),
        ("who measures", Box::new(|rng| background::measure(site, rng, runs))),
    ];
    for _ in 0..ASKERS {
        everybody.push(("an asker", Box::new(|rng| callers::ask(site, stable, rng))));
    }
    let watched = std::thread::scope(|scope| {
        for (who, work) in everybody {
            let rng = rng.fork();
            scope.spawn(move || site.violations.note(who, work(rng)));
        }
        let watched = watch(plan.time, site, brain, server);
        site.end();
        watched
    })?;
    ledgers.into_iter().for_each(|ledger| asked.ledger.join(ledger));
    Ok((asked, watched))
}

/// Looks at the server every second.
fn watch(time: Duration, site: &Site, brain: &Gbrain, server: &mut Served) -> Result<Vec<Sample>> {
    let (begun, mut samples) = (Instant::now(), Vec::new());
    while begun.elapsed() < time && !site.violations.any() {
        std::thread::sleep(Duration::from_secs(1).min(time / 8));
        if server.has_ended()? {
            site.violations.add("the server has ended by itself");
            break;
        }
        samples.push(Sample::take(server, brain.home())?);
        if samples.len() % 60 == 0 {
            let mib = samples[samples.len() - 1].own_mib();
            progress(format!("  {} s: {mib} MiB", begun.elapsed().as_secs()));
        }
    }
    Ok(samples)
}

/// Waits until every answer is captured, and collects the rest: what the server counts, stores and
/// gives must agree.
fn settle(site: &Site, collector: &mut Collector<'_>, report: &mut Report) -> Result<()> {
    let mut client = Client::new(site);
    let begun = Instant::now();
    let (captures, failures) = loop {
        let text = client.get("metrics", "/metrics")?.map(|answer| answer.text());
        let text = text.unwrap_or_default();
        let counted =
            (total(&text, "gbrain_captures_total"), total(&text, "gbrain_capture_failures_total"));
        if counted.0 + counted.1 >= site.questions() || begun.elapsed() > PATIENCE {
            break counted;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    collector.take(site)?;
    let status = client.get("eval status", "/v1/eval/status")?.map(|answer| answer.json());
    let status = status.unwrap_or_default();
    let stored = (status["captures"].as_u64(), status["capture_failures_24h"].as_u64());
    let questions = site.questions();
    if captures + failures != questions {
        site.violations.add(format!(
            "{questions} questions were answered, {captures} counted as captured, {failures} as failed"
        ));
    }
    if stored != (Some(captures), Some(failures)) || collector.rows != captures {
        site.violations.add(format!(
            "{captures} captures and {failures} failures were counted, {stored:?} are stored, {} \
             collected",
            collector.rows
        ));
    }
    (report.captures, report.failures) = (captures, failures);
    Ok(())
}

/// The sum of a counter's series.
fn total(metrics: &str, name: &str) -> u64 {
    let series = metrics.lines().filter(|line| line.starts_with(&format!("{name}{{")));
    let values = series.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok());
    values.sum::<f64>() as u64
}

/// A server that was ended in order begins again: ready, and with everything.
fn again(brain: &Gbrain, site: &Site) -> Result<()> {
    let server = start(brain)?;
    let mut caller = server.connect()?;
    let ready = caller.get("/v1/ready")?;
    let body = json!({ "query": "harbour" });
    let answer = caller.send("POST", "/v1/query", &body)?;
    if ready.status != 200 || answer.status != 200 || answer.json()["served"]["behind"] != 0 {
        site.violations.add(format!("a server that began again says {}", answer.text()));
    }
    site.violations.expect("a server that began again", &server.stop()?);
    Ok(())
}

impl Report {
    /// Invariants after everything has stopped.
    fn check(&mut self, plan: &ServePlan, brain: &Gbrain, asked: &Asked) -> Result<()> {
        self.check_captures(brain)?;
        // A load that was cut short has not shown whether anything grows.
        if plan.time >= LONG && self.violations.is_empty() {
            self.violations.extend(self.trends.iter().filter_map(Trend::complaint));
            if !self.tallies.values().any(|tally| tally.refused > 0) {
                self.violations.push("no crowd was large enough to be refused".to_owned());
            }
        }
        self.aftermath = aftermath::compare_with_responses(brain, asked)?;
        self.violations.append(&mut self.aftermath.violations);
        self.check_index(brain)
    }

    fn check_captures(&mut self, brain: &Gbrain) -> Result<()> {
        let (store, ws) = (brain.store()?, WorkspaceId::default());
        let captures = store.count_captures(&ws, &CaptureFilter::default())?;
        let failures = store.count_capture_failures(&ws, None, None)?;
        if captures + failures != self.questions {
            self.violations.push(format!(
                "{} questions were answered, {captures} are captured and {failures} failed",
                self.questions
            ));
        }
        (self.captures, self.failures) = (captures, failures);
        Ok(())
    }

    /// The index holds little that is dead: it is not much larger than one made anew.
    fn check_index(&mut self, brain: &Gbrain) -> Result<()> {
        let dir = brain.home().join("index");
        let held = trend::bytes(&dir);
        let output = brain.run(&["reindex"])?;
        self.violations.extend(output.complaint());
        let anew = trend::bytes(&dir);
        if held > DEAD_WEIGHT * anew {
            self.violations.push(format!("the index has {held} bytes, made anew {anew}"));
        }
        self.index = (held >> 20, anew >> 20);
        Ok(())
    }

    fn lines(&self) -> Vec<String> {
        let mut requests = table(["request", "answered", "refused", "p50 ms", "p99 ms", "max ms"]);
        for (what, Tally { times, refused }) in &self.tallies {
            let mut sorted = times.clone();
            sorted.sort_by(f64::total_cmp);
            let at = |share: f64| {
                let last = sorted.len().saturating_sub(1);
                let time = sorted.get((last as f64 * share).round() as usize);
                format!("{:.1}", time.copied().unwrap_or(0.0))
            };
            let counts = [what.to_string(), times.len().to_string(), refused.to_string()];
            requests.add_row(counts.into_iter().chain([0.5, 0.99, 1.0].map(at)));
        }
        let mut trends = table(["figure", "second quarter", "last quarter", "peak", "bound"]);
        for Trend { name, early, late, peak, bound } in &self.trends {
            let figures = [early, late, peak, bound].map(|figure| format!("{figure:.1}"));
            trends.add_row([name.to_string()].into_iter().chain(figures));
        }
        let BrainAfterRun { versions, jobs, .. } = &self.aftermath;
        let (held, anew) = self.index;
        vec![
            requests.to_string(),
            trends.to_string(),
            format!(
                "  {} writes acknowledged, {versions} versions compared, {jobs} jobs, claimed at most: {}",
                self.acknowledged,
                self.aftermath.attempts()
            ),
            format!(
                "  {} questions answered, {} captured, {} failures; {} collected over the wire",
                self.questions, self.captures, self.failures, self.collected
            ),
            format!("  index {held} MiB, made anew {anew} MiB"),
        ]
    }
}
