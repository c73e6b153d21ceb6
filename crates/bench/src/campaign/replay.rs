//! `campaign replay`: on an unchanged brain a replay finds nothing, and on a changed one it blames
//! what was changed.
//!
//! Requests of every kind are captured through the door, exported, read back and asked again:
//! through the index as it came, made again from nothing, and in memory. Then the corpus grows, a
//! setting changes and pages are purged; after each, what can be put back must give the captured
//! rankings exactly, and what can't must be said. Measuring changes nothing and is not captured.
//!
//! Deliberately absent: latencies, which are never twice the same.

mod capture;
mod corpus;
mod report;
mod still;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result};
use clap::Parser;
use gbrain_brain::{Brain, IndexKind, PurgeScope};
use gbrain_core::blame::Blame;
use gbrain_core::capture::CapturedRow;
use gbrain_core::replay::{Caveat, LiveContext, SettingsSource};
use gbrain_eval::{LocalOptions, LocalRetriever, Replay, ReplayCorpus, ReplayOptions, replay};
use gbrain_testkit::engine::Engine;
use jiff::Timestamp;

pub use capture::{IDENTITY_KEY, capture, lines, options};
pub use corpus::GrowingCorpus;
pub use report::{Measured, Report};

use super::identity::{Corpus, CorpusFolder, File, Place, Question, demo, markdown, questions};
use super::scaffold::{Campaign, EngineArgs, Part, SeedArgs, say};
use still::Still;

/// A setting that moves rankings, and a value far from its default.
const SETTING: (&str, &str) = ("search.page_weight", "0");
/// A setting that every capture is made with: as many digits as a number can have, all of which
/// must come back.
const DIGITS: (&str, &str) = ("search.exact_weight", "0.15000000000000002");

#[derive(Debug, Parser)]
#[command(name = "cargo xtask campaign replay")]
pub struct ReplayArgs {
    /// Requests that are captured, on each engine.
    #[arg(long, default_value_t = 1_000)]
    queries: usize,
    /// Pages of the markdown trees, beside the demo corpus.
    #[arg(long, default_value_t = 2_000)]
    pages: usize,
    #[command(flatten)]
    seed: SeedArgs,
    #[command(flatten)]
    engine: EngineArgs,
}

#[derive(Debug)]
pub struct EngineRun<'a> {
    pub engine: Engine,
    /// The pages before and after.
    pub growth: &'a GrowingCorpus,
    /// The queries to ask and capture.
    pub questions: &'a [Question],
}

/// Runs the campaign on the engines that were asked for.
pub fn run(args: &ReplayArgs) -> Result<ExitCode> {
    let mut campaign = Campaign::start(&args.seed);
    let data = std::env::var_os("GBRAIN_TEST_DATA").context("GBRAIN_TEST_DATA is not set")?;
    let mut corpus = demo()?;
    corpus.extend(markdown(data.as_ref(), args.pages, args.pages / 5)?);
    let (growth, questions) = prepare(corpus, args.queries, campaign.seed);
    say(format!("{} pages, {} requests", growth.before.len(), questions.len()));
    for &engine in args.engine.list() {
        campaign.part(engine.name(), || {
            let report =
                run_on_engine(&EngineRun { engine, growth: &growth, questions: &questions })?;
            let (figures, lines) = (report.figures(), report.lines());
            Ok(Part::new(figures, report.violations).lines(lines))
        })?;
    }
    Ok(campaign.end())
}

/// A corpus with its changes, and so many requests to it, some of which hold personal data.
pub fn prepare(corpus: Corpus, requests: usize, seed: u64) -> (GrowingCorpus, Vec<Question>) {
    let corpus = corpus::with_contacts(corpus);
    let mut questions = questions(&corpus, requests, seed);
    corpus::make_personal(&mut questions);
    (corpus::grown(corpus, seed), questions)
}

pub fn run_on_engine(hunt: &EngineRun<'_>) -> Result<Report> {
    let place = Place::new(hunt.engine)?;
    let mut steps = Steps { place, hunt, folder: CorpusFolder::new()?, report: Report::default() };
    let rows = steps.capture_first()?;
    steps.unchanged(&rows)?;
    steps.gate_unchanged(&rows)?;
    let later = steps.grow()?;
    steps.after_growth(&rows, &later)?;
    steps.after_setting(&rows)?;
    steps.after_purges(&rows, &later)?;
    Ok(steps.report)
}

struct Steps<'a> {
    place: Place,
    hunt: &'a EngineRun<'a>,
    folder: CorpusFolder,
    report: Report,
}

impl Steps<'_> {
    fn capture_first(&mut self) -> Result<Vec<CapturedRow>> {
        self.bring(&self.hunt.growth.before)?;
        let brain = self.place.open(IndexKind::Disk)?;
        brain.store().config_set(brain.workspace(), DIGITS.0, DIGITS.1)?;
        self.capture(self.hunt.questions, 0)
    }

    /// The corpus is the same for every kind of index.
    fn unchanged(&mut self, rows: &[CapturedRow]) -> Result<()> {
        let often = ReplayOptions { repeats: 2, concurrency: 2, ..ONCE };
        let brain = self.place.open(IndexKind::Disk)?;
        let found = self.replay("unchanged, index as it came", &brain, rows, &often)?;
        self.report.expect_exact("unchanged, index as it came", &found);
        brain.reindex(&|_, _| ())?;
        let found = self.replay("unchanged, index made again", &brain, rows, &ONCE)?;
        self.report.expect_exact("unchanged, index made again", &found);
        let brain = self.place.open(IndexKind::Memory)?;
        let found = self.replay("unchanged, index in memory", &brain, rows, &ONCE)?;
        self.report.expect_exact("unchanged, index in memory", &found);
        Ok(())
    }

    /// A gate whose thresholds forgive nothing passes, and changes nothing.
    fn gate_unchanged(&mut self, rows: &[CapturedRow]) -> Result<()> {
        let brain = self.place.open(IndexKind::Disk)?;
        let before = Still::of(&brain)?;
        let outcome = capture::strict_gate(&brain, &live(&brain)?, rows)?;
        self.report.expect_same("gate", &before, &Still::of(&brain)?);
        self.report.expect_pass(&outcome);
        Ok(())
    }

    /// More pages, edited pages, deleted pages; then some of the requests again.
    fn grow(&mut self) -> Result<Vec<CapturedRow>> {
        self.bring(&self.hunt.growth.after)?;
        let some: Vec<Question> = self.hunt.questions.iter().step_by(7).cloned().collect();
        let newest = self.hunt.questions.len();
        self.capture(&some, newest)
    }

    fn after_growth(&mut self, rows: &[CapturedRow], later: &[CapturedRow]) -> Result<()> {
        let all: Vec<CapturedRow> = rows.iter().chain(later).cloned().collect();
        let as_of = ReplayOptions { as_of: ReplayCorpus::Capture, ..ONCE };
        for (what, kind) in [
            ("grown, as of the capture, on disk", IndexKind::Disk),
            ("grown, as of the capture, in memory", IndexKind::Memory),
        ] {
            let brain = self.place.open(kind)?;
            let found = self.replay(what, &brain, &all, &as_of)?;
            self.report.expect_exact(what, &found);
        }
        let brain = self.place.open(IndexKind::Disk)?;
        let found = self.replay("grown", &brain, rows, &BLAMED)?;
        self.report.expect_blamed("grown", &found, &[Blame::Corpus]);
        Ok(())
    }

    fn after_setting(&mut self, rows: &[CapturedRow]) -> Result<()> {
        let brain = self.place.open(IndexKind::Disk)?;
        let (name, value) = SETTING;
        brain.store().config_set(brain.workspace(), name, value)?;
        let what = "another setting, as of the capture";
        let as_of = ReplayOptions { as_of: ReplayCorpus::Capture, ..BLAMED };
        let found = self.replay(what, &brain, rows, &as_of)?;
        self.report.expect_blamed(what, &found, &[Blame::Settings]);
        let what = "another setting, all as of the capture";
        let put_back = ReplayOptions { settings: SettingsSource::Capture, ..as_of };
        let found = self.replay(what, &brain, rows, &put_back)?;
        self.report.expect_exact(what, &found);
        let found = self.replay("grown, another setting", &brain, rows, &BLAMED)?;
        let either = [Blame::Corpus, Blame::Settings, Blame::CorpusAndSettings];
        self.report.expect_blamed("grown, another setting", &found, &either);
        brain.store().config_unset(brain.workspace(), name)?;
        Ok(())
    }

    /// A page that came after the capture was never part of its corpus; one that was takes the
    /// corpus with it.
    fn after_purges(&mut self, rows: &[CapturedRow], later: &[CapturedRow]) -> Result<()> {
        let GrowingCorpus { late, early, .. } = self.hunt.growth;
        let as_of = ReplayOptions { as_of: ReplayCorpus::Capture, ..BLAMED };
        let brain = self.place.open(IndexKind::Disk)?;
        brain.purge(late, &PurgeScope::default(), Timestamp::now())?;
        let what = "a later page purged, as of the capture";
        let found = self.replay(what, &brain, rows, &as_of)?;
        self.report.expect_exact(what, &found);
        let what = "a page of theirs purged, later rows";
        let found = self.replay(what, &brain, later, &as_of)?;
        self.report.expect_unknown(what, &found);
        brain.purge(early, &PurgeScope::default(), Timestamp::now())?;
        let what = "a page of theirs purged, as of the capture";
        let found = self.replay(what, &brain, rows, &as_of)?;
        self.report.expect_unknown(what, &found);
        let found = self.replay("grown, a page purged", &brain, rows, &BLAMED)?;
        self.report.expect_blamed("grown, a page purged", &found, &[Blame::Undetermined]);
        Ok(())
    }

    fn bring(&mut self, files: &[File]) -> Result<()> {
        self.folder.lay_out(files.to_vec())?;
        self.folder.bring(2, &self.place)
    }

    /// Captures requests and reads them back; `before` rows are there already.
    fn capture(&mut self, questions: &[Question], before: usize) -> Result<Vec<CapturedRow>> {
        let brain = Arc::new(self.place.open(IndexKind::Disk)?);
        capture(&brain, questions)?;
        let rows = capture::export(&brain)?;
        let new = rows.len().saturating_sub(before);
        self.report.expect_captured(questions, &rows[..new])
    }

    /// Replays, and makes sure that this changed nothing.
    fn replay(
        &mut self,
        what: &'static str,
        brain: &Brain,
        rows: &[CapturedRow],
        options: &ReplayOptions,
    ) -> Result<Replay> {
        let before = Still::of(brain)?;
        let start = Instant::now();
        let target = LocalRetriever::new(brain, LocalOptions::new(live(brain)?), &|_, _| ())?;
        let identity = Some(IDENTITY_KEY.for_workspace(brain.workspace()));
        let options = ReplayOptions { identity, ..*options };
        let found = replay(&target, rows, &options, &|_| ())?;
        self.report.measured.push(Measured::new(what, &found, start.elapsed()));
        self.report.expect_same(what, &before, &Still::of(brain)?);
        Ok(found)
    }
}

/// One ranking a row.
const ONCE: ReplayOptions = ReplayOptions {
    as_of: ReplayCorpus::Now,
    settings: SettingsSource::Live,
    concurrency: 1,
    repeats: 1,
    blame: false,
    explain: 0,
    identity: None,
};
/// As a user asks who moved it.
const BLAMED: ReplayOptions = ReplayOptions { blame: true, explain: 5, ..ONCE };

/// The current state of a brain.
fn live(brain: &Brain) -> Result<LiveContext> {
    Ok(LiveContext { settings: brain.settings()?, now: Timestamp::now() })
}

/// Whether a row says that its corpus can't be had.
fn is_unknown(caveats: &[Caveat]) -> bool {
    caveats.contains(&Caveat::CorpusUnknown)
}
