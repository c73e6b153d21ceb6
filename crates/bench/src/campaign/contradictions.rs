//! `campaign contradictions`: brains with planted contradictions before a judge that errs.
//!
//! Each seed makes a brain whose pairs of pages are known to contradict each other or not ([`brain`]). The probe
//! asks it, pairs what it answers and has the pairs judged, planted ones included, by judges that err one time in
//! five ([`judge`]); its report corrects the rate of contradictions for their errors. In the end the 95 % intervals
//! must hold the truth in 93 of 100 runs at least and in 98.5 at most, and the estimates be right on average to half a point.
//!
//! What the truth is: the rate at which contradictions were planted. A report's interval is for the process
//! that wrote the brain, of which its pairs are a sample, and holds the brain's own share of contradictions,
//! which is printed too, at least as often.
//!
//! How many runs: two hundred know a coverage to 1.5 points, so that a method without a fault leaves 93 to 97 %
//! at one of three rates in one table out of three. Every brain is therefore heard by several judges who err about
//! other pairs, and all of these runs decide; the first judge's are told apart.

pub mod brain;
pub mod judge;
pub mod labelled;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use clap::Parser;
use gbrain_core::contradiction::rate::CANARIES_OF_EACH;
use gbrain_core::contradiction::report::RunInfo;
use gbrain_core::contradiction::{Canary, JudgingOutcome, PairSet, Report, canaries, prompt};
use gbrain_core::money::Usd;
use gbrain_core::stats::Interval;
use gbrain_eval::contradictions::SessionResult;
use gbrain_eval::spread;

use super::scaffold::{Campaign, Part, Progress, SeedArgs, say, table};
use brain::{PAGES, SyntheticBrain};
use judge::ErringJudge;

/// The rates at which contradictions are planted.
const RATES: [f64; 3] = [0.02, 0.1, 0.3];
/// How often an interval must hold the truth.
const COVERAGE: std::ops::RangeInclusive<f64> = 0.93..=0.985;
/// How far off estimates may be on average.
const BIAS: f64 = 0.005;

#[derive(Debug, Parser)]
#[command(name = "cargo xtask campaign contradictions")]
pub struct ContradictionsArgs {
    /// Brains, for each of three rates.
    #[arg(long, default_value_t = 200)]
    seeds: usize,
    /// Judges of each brain.
    #[arg(long, default_value_t = 10)]
    judges: u64,
    /// Topics of each brain: ten pairs each.
    #[arg(long, default_value_t = 100)]
    topics: usize,
    /// Brains of each rate whose first judge is asked over a wire, too.
    #[arg(long, default_value_t = 4)]
    wired: usize,
    #[command(flatten)]
    seed: SeedArgs,
}

#[derive(Debug, Clone, Copy)]
pub struct SurveyPlan {
    /// The rate at which contradictions are planted.
    pub rate: f64,
    /// Brains.
    pub seeds: usize,
    /// The first seed.
    pub seed: u64,
    /// Judges of each brain.
    pub judges: u64,
    /// Topics of each brain.
    pub topics: usize,
    /// Brains whose first judge is asked over a wire, too.
    pub wired: usize,
}

/// One report, and what is true of its brain.
#[derive(Debug)]
pub struct Run {
    /// Which judge, from 0.
    pub judge: u64,
    /// The share of contradictions among the brain's pairs.
    pub share: f64,
    /// The report's estimate, which may be below nothing.
    pub estimate: f64,
    /// The same as a reader sees it.
    pub shown: f64,
    pub interval: Interval,
    /// The interval of the rate that is not corrected.
    pub raw: Interval,
}

/// All runs of a survey.
#[derive(Debug, Default)]
pub struct Found {
    pub runs: Vec<Run>,
    /// Pairs that were judged, planted ones not included.
    pub pairs: usize,
    /// Judgements that came over a wire.
    pub wired: usize,
    pub violations: Vec<String>,
}

pub fn run(args: &ContradictionsArgs) -> Result<ExitCode> {
    let mut campaign = Campaign::start(&args.seed);
    let seed = campaign.seed;
    let ContradictionsArgs { seeds, judges, topics, wired, .. } = *args;
    let mut table = table(HEADER);
    for rate in RATES {
        campaign.part(&format!("rate {rate}"), || {
            let begun = Instant::now();
            let found = survey(&SurveyPlan { rate, seeds, seed, judges, topics, wired })?;
            let figures = RunTotals::of(&found.runs, rate);
            table.add_row(figures.row(rate, &found, begun));
            let part = Part::new(format!("{} reports", found.runs.len()), found.violations);
            Ok(part.require(figures.holds(), "a figure is outside of its bounds"))
        })?;
    }
    say(table.to_string());
    tell_labelled()?;
    Ok(campaign.end())
}

/// Makes the brains, has them judged and reported.
pub fn survey(survey: &SurveyPlan) -> Result<Found> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let progress = Progress::new("brains", survey.seeds);
    let judged_session = spread(survey.seeds, threads, |at| {
        progress.step();
        survey.one(at)
    });
    let mut all = Found::default();
    for found in judged_session {
        let Found { runs, pairs, wired, violations } = found?;
        all.runs.extend(runs);
        all.pairs += pairs;
        all.wired += wired;
        all.violations.extend(violations);
    }
    Ok(all)
}

impl SurveyPlan {
    /// One brain before all its judges.
    fn one(&self, at: usize) -> Result<Found> {
        // Rates have brains of their own: the same pages thrice would be a third of the chance.
        let seed = self.seed + at as u64 + ((self.rate * 1e4) as u64) * 1_000_003;
        let brain = SyntheticBrain::new(seed, self.topics, self.rate)?;
        let docket = brain.docket()?;
        let (answers, violations) = brain.answers(&docket);
        let planted = canaries(seed, CANARIES_OF_EACH);
        let share = answers.iter().filter(|is| **is).count() as f64 / answers.len().max(1) as f64;
        let mut found = Found { pairs: answers.len(), violations, ..Found::default() };
        for number in 0..self.judges {
            let judge = ErringJudge { seed, number };
            let judged_session = judge.judge_pairs(&docket, &answers, &planted);
            if number == 0 && at < self.wired {
                found.wired += judged_session.outcomes.len() + judged_session.planted.len();
                found.violations.extend(compare(
                    judge,
                    &judged_session,
                    &docket,
                    &answers,
                    &planted,
                )?);
            }
            let report = report_of(seed, &docket, &judged_session);
            let run = Run::of(number, share, &report);
            found.violations.extend(check_counts(&report, &judged_session, &answers));
            match run {
                Some(run) => found.runs.push(run),
                None => {
                    found.violations.push(format!("seed {seed}: no rate: {:?}", report.reasons))
                }
            }
        }
        Ok(found)
    }
}

impl Run {
    fn of(judge: u64, share: f64, report: &Report) -> Option<Self> {
        let corrected = report.corrected.filter(|_| report.reasons.is_empty())?;
        Some(Self {
            judge,
            share,
            estimate: corrected.estimate,
            shown: corrected.shown,
            interval: corrected.interval,
            raw: report.pair_rate.interval()?,
        })
    }
}

/// Whether a judge that is asked over a wire says the same.
fn compare(
    judge: ErringJudge,
    judged_session: &SessionResult,
    docket: &PairSet,
    answers: &[bool],
    planted: &[Canary],
) -> Result<Option<String>> {
    let wired = judge.judge_over_http(docket, answers, planted)?;
    let is_same =
        wired.outcomes == judged_session.outcomes && wired.planted == judged_session.planted;
    Ok((!is_same)
        .then(|| format!("{judge:?} says something else over a wire: {:?}", wired.first_error)))
}

/// Whether a report counts what was said: every pair once, planted ones by their kind.
fn check_counts(
    report: &Report,
    judged_session: &SessionResult,
    answers: &[bool],
) -> Option<String> {
    let accused = |outcome: &&JudgingOutcome| matches!(outcome, JudgingOutcome::Judged(one, _) if one.verdict.is_finding());
    let hits = judged_session.outcomes.iter().filter(accused).count();
    let of_kind = |kind: bool| {
        judged_session.planted.iter().filter(move |(canary, _)| canary.is_contradiction == kind)
    };
    let planted = [true, false].map(|kind| {
        let accused = of_kind(kind).map(|(_, outcome)| outcome).filter(accused).count();
        (accused as u64, of_kind(kind).count() as u64)
    });
    let counted = [report.canaries.caught, report.canaries.accused].map(|one| (one.hits, one.n));
    let is_right = planted == counted
        && (report.pair_rate.hits, report.pair_rate.n) == (hits as u64, answers.len() as u64);
    (!is_right).then(|| format!("the report counts {counted:?} and {:?}", report.pair_rate))
}

/// The report of a hearing.
pub fn report_of(seed: u64, docket: &PairSet, judged_session: &SessionResult) -> Report {
    let info = RunInfo {
        run_id: format!("campaign-{seed}"),
        judge_model: "campaign".to_owned(),
        prompt_version: prompt::PROMPT_VERSION.to_owned(),
        prompt_hash: prompt::prompt_hash().short(),
        truncation_policy: prompt::truncation_policy(prompt::MAX_PAIR_CHARS),
        top_k: PAGES,
        sampling: "all".to_owned(),
        canary_seed: seed,
        judge_cost: Usd::ZERO,
        embedding_cost: Usd::ZERO,
        duration_ms: 0,
    };
    Report::new(info, docket, &judged_session.outcomes, &judged_session.planted)
}

/// Runs, added up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RunTotals {
    /// How often the interval holds the planted rate.
    pub coverage: f64,
    /// The same, of every brain's first judge.
    pub first: f64,
    /// How often it holds the brain's own share.
    pub own: f64,
    /// How often the interval of the rate that is not corrected holds the planted rate.
    pub raw: f64,
    /// How far estimates are off on average.
    pub bias: f64,
    /// How far off the value that a reader sees is on average: it can't be below nothing.
    pub shown_bias: f64,
    /// How wide intervals are on average.
    pub width: f64,
}

impl RunTotals {
    /// Adds runs up.
    pub fn of(runs: &[Run], rate: f64) -> Self {
        let first: Vec<&Run> = runs.iter().filter(|run| run.judge == 0).collect();
        let all: Vec<&Run> = runs.iter().collect();
        let mean = |of: &dyn Fn(&Run) -> f64| mean(&all, of);
        let share = |is: bool| f64::from(u8::from(is));
        Self {
            coverage: mean(&|run| share(run.interval.contains(rate))),
            first: self::mean(&first, &|run| share(run.interval.contains(rate))),
            own: mean(&|run| share(run.interval.contains(run.share))),
            raw: mean(&|run| share(run.raw.contains(rate))),
            bias: mean(&|run| run.estimate - rate),
            shown_bias: mean(&|run| run.shown - rate),
            width: mean(&|run| run.interval.high - run.interval.low),
        }
    }

    /// Whether they are what is promised.
    pub fn holds(&self) -> bool {
        COVERAGE.contains(&self.coverage) && self.own >= *COVERAGE.start() && self.bias.abs() < BIAS
    }

    fn row(&self, rate: f64, found: &Found, begun: Instant) -> Vec<String> {
        let percent = |share: f64| format!("{:.1} %", share * 100.0);
        let points = |share: f64| format!("{:+.2}", share * 100.0);
        vec![
            percent(rate),
            found.runs.len().to_string(),
            found.pairs.to_string(),
            percent(self.coverage),
            percent(self.first),
            percent(self.own),
            percent(self.raw),
            points(self.bias),
            points(self.shown_bias),
            format!("{:.1}", self.width * 100.0),
            found.wired.to_string(),
            found.violations.len().to_string(),
            begun.elapsed().as_secs().to_string(),
        ]
    }
}

const HEADER: [&str; 13] = [
    "planted",
    "runs",
    "pairs",
    "interval holds it",
    "by the first judge",
    "holds the brain's share",
    "raw holds it",
    "bias, points",
    "as shown",
    "width, points",
    "by wire",
    "violations",
    "s",
];

fn mean(runs: &[&Run], of: &dyn Fn(&Run) -> f64) -> f64 {
    runs.iter().map(|run| of(run)).sum::<f64>() / runs.len().max(1) as f64
}

/// Tells what the judge that needs no model is worth.
fn tell_labelled() -> Result<()> {
    let Some(data) = std::env::var_os("GBRAIN_TEST_DATA") else {
        say("GBRAIN_TEST_DATA is not set: the offline judge is not measured");
        return Ok(());
    };
    for ((source, half), one) in labelled::measure(&Path::new(&data).join("nli/train.jsonl"))? {
        let labelled::DetectionCounts { pairs, there, accused, .. } = one;
        let (precision, recall, f1) = (one.precision(), one.recall(), one.f1());
        say(format!(
            "offline judge, {source}, {half} half: precision {precision:.3}, recall {recall:.3}, F1 {f1:.3} \
             ({pairs} pairs, {there} contradictions, {accused} accused)"
        ));
    }
    Ok(())
}
