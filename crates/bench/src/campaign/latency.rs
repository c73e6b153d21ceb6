//! `campaign latency`: whether the gate tells a slow retriever from a slow machine.
//!
//! The real binary captures questions of the demo brain, once command by command and once in a server;
//! what it captured is published and gated again and again. On an unchanged brain the ratio of times
//! is near one, whether the machine has nothing else to do or four loops keep it busy; a retriever that
//! does three times the work fails the gate.
//!
//! Deliberately absent: multiplied numbers. Loops turn, and the slow retriever works.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, ensure};
use clap::{Args, Parser};
use fastrand::Rng;
use gbrain_brain::{Brain, BrainOptions, IndexKind};
use gbrain_core::gate::CheckStatus;
use gbrain_core::id::WorkspaceId;
use gbrain_core::replay::LiveContext;
use gbrain_eval::{
    GateInputs, Input, JudgedPipeline, LocalOptions, LocalRetriever, ReplayOptions,
    SlowedRetriever, gate, read_baseline,
};
use gbrain_store::{Location, OpenMode};
use gbrain_testkit::process::{Gbrain, Output};
use gbrain_testkit::served::Served;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::identity::{Corpus, CorpusFolder, demo};
use super::scaffold::{Campaign, Part, ProgramArgs, Progress, SeedArgs, Setup, progress, table};

/// What an unchanged brain's ratio must stay within.
const UNCHANGED: std::ops::RangeInclusive<f64> = 0.8..=1.25;
/// How many times as much the slowed retriever works.
const SLOWDOWN: u32 = 3;

#[derive(Debug, Parser)]
pub struct LatencyArgs {
    #[command(flatten)]
    plan: LatencyPlan,
    #[command(flatten)]
    seed: SeedArgs,
}

/// What to measure.
#[derive(Debug, Clone, Args)]
pub struct LatencyPlan {
    /// How often everything is captured and gated.
    #[arg(long, default_value_t = 10)]
    pub runs: usize,
    /// Questions of one run.
    #[arg(long, default_value_t = 20)]
    pub questions: usize,
    /// Loops that keep the machine busy.
    #[arg(long, default_value_t = 4)]
    pub loops: usize,
    /// Whether ratios of unchanged brains are held to their range: only where nothing else runs.
    #[arg(skip = true)]
    pub is_machine_idle: bool,
}

/// What one gate ran under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    Unchanged,
    /// Loops run during the gate.
    BusyGate,
    /// Loops ran during the capture.
    BusyCapture,
    /// The retriever works three times as much.
    Slowed,
}

/// What captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capturer {
    /// One command for each question.
    Cli,
    /// One server for all.
    Server,
}

/// What a gate said of latency.
#[derive(Debug, Clone)]
pub struct GateLatency {
    pub capturer: Capturer,
    pub condition: Condition,
    /// The ratio of times.
    pub ratio: Option<f64>,
    /// How the check of latency came out.
    pub status: String,
    /// Rows that were compared.
    pub n: usize,
}

#[derive(Debug, Default)]
pub struct Report {
    pub gates: Vec<GateLatency>,
    pub violations: Vec<String>,
}

pub fn run(args: &LatencyArgs) -> Result<ExitCode> {
    let mut campaign = Campaign::start(&args.seed);
    let setup = campaign.setup(&ProgramArgs::default())?;
    campaign.part("latency", || {
        let report = measure(&setup, &args.plan)?;
        let lines = report.lines();
        Ok(Part::new(format!("{} gates", report.gates.len()), report.violations).lines(lines))
    })?;
    Ok(campaign.end())
}

/// Captures and gates as often as said.
pub fn measure(setup: &Setup, plan: &LatencyPlan) -> Result<Report> {
    let corpus = demo()?;
    let brain = setup.brain()?;
    let config = json!({ "format": "gbrain/1", "eval": { "capture": true, "synthetic": true } });
    std::fs::write(brain.home().join("config.json"), config.to_string())?;
    succeed(&brain.run(&["init"])?)?;
    let mut folder = CorpusFolder::new()?;
    folder.lay_out(corpus.files.clone())?;
    folder.bring(2, &brain)?;
    let mut rng = setup.rng();
    let mut report = Report::default();
    let progress = Progress::new("runs", plan.runs);
    for _ in 0..plan.runs {
        progress.step();
        let questions = questions(&corpus, plan.questions, &mut rng);
        let site = Site { plan, brain: &brain, questions: &questions };
        site.run(&mut report)?;
    }
    report.check(plan);
    Ok(report)
}

/// A brain and what it is asked in one run.
struct Site<'a> {
    plan: &'a LatencyPlan,
    brain: &'a Gbrain,
    questions: &'a [String],
}

impl Site<'_> {
    fn run(&self, report: &mut Report) -> Result<()> {
        use Condition::{BusyCapture, BusyGate, Slowed, Unchanged};
        for capturer in [Capturer::Cli, Capturer::Server] {
            let mut add = |condition, gated: Measured| report.add(capturer, condition, gated);
            let baseline = self.capture(capturer)?;
            add(Unchanged, self.gate(&baseline)?);
            add(BusyGate, busy(self.plan.loops, || self.gate(&baseline))?);
            add(Slowed, self.slowed_gate(&baseline)?);
            let baseline = busy(self.plan.loops, || self.capture(capturer))?;
            add(BusyCapture, self.gate(&baseline)?);
        }
        Ok(())
    }

    /// Asks everything and publishes what was captured.
    fn capture(&self, capturer: Capturer) -> Result<PathBuf> {
        succeed(&self.brain.run(&["eval", "prune", "--older-than", "0d"])?)?;
        match capturer {
            Capturer::Cli => {
                for question in self.questions {
                    succeed(&self.brain.run(&["query", question])?)?;
                }
            }
            Capturer::Server => self.ask_server()?,
        }
        let captured = self.brain.home().join("captured.ndjson");
        let exported = self.brain.run(&["eval", "export", "--quiet"])?;
        succeed(&exported)?;
        std::fs::write(&captured, &exported.stdout)?;
        let baseline = self.brain.home().join("baselines/latency.baseline.ndjson");
        let (from, to) = (text(&captured)?, text(&baseline)?);
        let publish = ["bench", "publish", "--from", from, "--to", to, "--force", "--why", "run"];
        succeed(&self.brain.run(&publish)?)?;
        Ok(baseline)
    }

    fn ask_server(&self) -> Result<()> {
        let served = Served::start(self.brain.command(&["serve"]))?;
        let mut caller = served.connect()?;
        for question in self.questions {
            let answer = caller.send("POST", "/v1/query", &json!({ "query": question }))?;
            ensure!(answer.status == 200, "the server says {}: {}", answer.status, answer.text());
        }
        succeed(&served.stop()?)
    }

    /// Gates with the binary.
    fn gate(&self, baseline: &Path) -> Result<Measured> {
        let output = self.brain.run(&["eval", "gate", "--baseline", text(baseline)?, "--json"])?;
        let report: Value = serde_json::from_str(&output.stdout)
            .with_context(|| format!("not a report: {} {}", output.stdout, output.stderr))?;
        let check = &report["timing"]["latency"];
        Ok(Measured {
            ratio: check["observed"].as_f64(),
            status: check["status"].as_str().context("a gate checks latency")?.to_owned(),
            n: check["n"].as_u64().unwrap_or(0) as usize,
        })
    }

    /// Gates a retriever that works three times as much, in this process.
    fn slowed_gate(&self, path: &Path) -> Result<Measured> {
        let brain = self.open()?;
        let live = LiveContext { settings: brain.settings()?, now: Timestamp::now() };
        let local = LocalRetriever::new(&brain, LocalOptions::new(live), &|_, _| ())?;
        let baseline = read_baseline(Input::open(path)?)?;
        let inputs = GateInputs {
            baseline: Some((&baseline, baseline.metadata.thresholds)),
            judged: None,
            k: 10,
            confidence: None,
            pipeline: JudgedPipeline::Fixed,
            replay: ReplayOptions::default(),
        };
        let slowed = SlowedRetriever { retriever: Box::new(&local), factor: SLOWDOWN };
        let outcome = gate(&slowed, &inputs, &|_| ())?;
        let (found, _) = outcome.regression.context("a baseline is gated")?;
        let status = found.latency.status.name().to_owned();
        Ok(Measured { ratio: found.latency.observed, status, n: found.latency.n })
    }

    fn open(&self) -> Result<Brain> {
        let options = BrainOptions {
            location: Location::Sqlite(self.brain.home().join("brain.db")),
            mode: OpenMode::Use,
            index: IndexKind::Disk,
            index_dir: self.brain.home().join("index"),
            workspace: WorkspaceId::default(),
            models: gbrain_brain::built_in_models(),
        };
        Ok(Brain::open(options, Timestamp::now())?)
    }
}

struct Measured {
    ratio: Option<f64>,
    status: String,
    n: usize,
}

/// Works while so many loops turn.
fn busy<T>(loops: usize, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..loops {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let done = work();
        is_over.store(true, Ordering::Relaxed);
        done
    })
}

/// Different questions about what pages are called.
fn questions(corpus: &Corpus, count: usize, rng: &mut Rng) -> Vec<String> {
    const KINDS: [&str; 5] =
        ["{}", "who owns {}?", "what depends on {}?", "tell me about {}", "latest on {}"];
    let mut titles: Vec<String> =
        corpus.files.iter().filter_map(|file| Some(file.page()?.title)).collect();
    titles.sort();
    titles.dedup();
    rng.shuffle(&mut titles);
    titles.truncate(count);
    titles.iter().map(|title| KINDS[rng.usize(..KINDS.len())].replace("{}", title)).collect()
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("a temporary directory has a name in UTF-8")
}

fn succeed(output: &Output) -> Result<()> {
    output.complaint().map_or(Ok(()), |complaint| anyhow::bail!("gbrain {complaint}"))
}

impl Condition {
    fn name(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::BusyGate => "busy loops during the gate",
            Self::BusyCapture => "busy loops during the capture",
            Self::Slowed => "three times the work",
        }
    }
}

impl Capturer {
    fn name(self) -> &'static str {
        match self {
            Self::Cli => "commands",
            Self::Server => "server",
        }
    }
}

impl GateLatency {
    fn name(&self) -> String {
        format!("{}, {}", self.capturer.name(), self.condition.name())
    }

    fn violation(&self, plan: &LatencyPlan) -> Option<String> {
        let (fail, pass) = (CheckStatus::Fail.name(), CheckStatus::Pass.name());
        let is_in_range = self.ratio.is_some_and(|ratio| UNCHANGED.contains(&ratio));
        let what = match self.condition {
            // A busy server measures what it has time for.
            _ if self.n < 2 && !plan.is_machine_idle => return None,
            _ if self.n < 2 => "too few rows were compared",
            _ if plan.is_machine_idle && self.n * 2 < plan.questions => {
                "half of the rows have no time"
            }
            Condition::Slowed if self.status != fail => "a slow retriever did not fail",
            Condition::Slowed => return None,
            _ if self.status == fail => "an unchanged brain failed",
            Condition::Unchanged if plan.is_machine_idle && !is_in_range => "out of range",
            Condition::Unchanged if plan.is_machine_idle && self.status != pass => "no pass",
            Condition::Unchanged | Condition::BusyGate | Condition::BusyCapture => return None,
        };
        let ratio = self.ratio.unwrap_or(f64::NAN);
        Some(format!("{}: {what}: {} {ratio:.3}, n = {}", self.name(), self.status, self.n))
    }
}

impl Report {
    fn add(&mut self, capturer: Capturer, condition: Condition, measured: Measured) {
        let Measured { ratio, status, n } = measured;
        let gated = GateLatency { capturer, condition, ratio, status, n };
        progress(format!(
            "  {}: {} {:.3}, n = {n}",
            gated.name(),
            gated.status,
            ratio.unwrap_or(f64::NAN)
        ));
        self.gates.push(gated);
    }

    fn check(&mut self, plan: &LatencyPlan) {
        self.violations.extend(self.gates.iter().filter_map(|gated| gated.violation(plan)));
    }

    fn lines(&self) -> Vec<String> {
        let mut table = table([
            "captured by",
            "condition",
            "runs",
            "least ratio",
            "median",
            "most",
            "pass",
            "inconclusive",
            "fail",
        ]);
        for capturer in [Capturer::Cli, Capturer::Server] {
            for condition in [
                Condition::Unchanged,
                Condition::BusyGate,
                Condition::BusyCapture,
                Condition::Slowed,
            ] {
                table.add_row(self.cells(capturer, condition));
            }
        }
        vec![table.to_string()]
    }

    fn cells(&self, capturer: Capturer, condition: Condition) -> Vec<String> {
        let gates: Vec<&GateLatency> = self
            .gates
            .iter()
            .filter(|gated| (gated.capturer, gated.condition) == (capturer, condition))
            .collect();
        let mut ratios: Vec<f64> = gates.iter().filter_map(|gated| gated.ratio).collect();
        ratios.sort_by(f64::total_cmp);
        let places = [0, ratios.len() / 2, ratios.len().saturating_sub(1)];
        let at = |place: usize| format!("{:.2}", ratios.get(place).copied().unwrap_or(f64::NAN));
        let count = |status: CheckStatus| {
            gates.iter().filter(|gated| gated.status == status.name()).count().to_string()
        };
        let mut cells = vec![capturer.name().to_owned(), condition.name().to_owned()];
        cells.push(gates.len().to_string());
        cells.extend(places.map(at));
        cells.extend([CheckStatus::Pass, CheckStatus::Inconclusive, CheckStatus::Fail].map(count));
        cells
    }
}
