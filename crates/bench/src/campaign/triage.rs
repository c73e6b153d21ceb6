//! `campaign triage`: faults of every class, planted in the system itself, and what triage says of them.
//!
//! Each variant is a brain of its own (or a target elsewhere) with one fault, drawn by a seed: vectors lost
//! or swapped in the index's files, a threshold raised before a reranker, rows and pages lost or changed,
//! stages that fail or take too long, rivals and weights. The program runs the suite and triages the run. Of
//! each class at least 95 of 100 runs, and 95 of 100 cases, must be called what they are; and nothing that
//! is wrong may be called well. A variant in which fewer than two cases are affected shows nothing: it is
//! drawn again, and counted.

pub mod elsewhere;
pub mod kind;
pub mod models;
pub mod plant;
pub mod trial;
pub mod vectors;
pub mod vocabulary;
pub mod world;

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Parser, ValueEnum as _};
use fastrand::Rng;
use gbrain_core::triage::FailureCause;
use gbrain_eval::spread;

use self::kind::{Kind, PLANTED};
use self::trial::{Ground, Outcome, triage_planted_fault};
use self::world::TriageBrain;
use super::scaffold::{Campaign, Part, ProgramArgs, Progress, SeedArgs, Setup, table};

/// The share that must be right.
const SHARE: f64 = 0.95;
/// Variants that one world serves.
const PER_WORLD: usize = 25;
/// How often a variant is drawn again at most.
const DRAWS: usize = 20;
/// As many wrong ones are told.
const TOLD: usize = 40;

#[derive(Debug, Parser)]
pub struct TriageArgs {
    #[command(flatten)]
    plan: TriagePlan,
    #[command(flatten)]
    seed: SeedArgs,
    #[command(flatten)]
    program: ProgramArgs,
}

/// The faults to plant.
#[derive(Debug, Clone, Args)]
pub struct TriagePlan {
    /// Variants of each class.
    #[arg(long, default_value_t = 100)]
    pub variants: usize,
    /// One kind of fault only.
    #[arg(long, value_enum)]
    pub kind: Option<Kind>,
    /// Variants at once.
    #[arg(long, default_value_t = 2)]
    pub threads: usize,
}

#[derive(Debug, Default)]
pub struct Report {
    pub outcomes: Vec<Outcome>,
    /// Variants that did no harm, and were drawn again.
    pub redrawn: usize,
    /// Errors that kept a variant from being made or triaged.
    pub violations: Vec<String>,
}

pub fn run(args: &TriageArgs) -> Result<ExitCode> {
    let mut campaign = Campaign::start(&args.seed);
    let setup = campaign.setup(&args.program)?;
    campaign.part("triage", || {
        let report = survey(&setup, &args.plan)?;
        let figures = format!("{} variants, {} drawn again", report.outcomes.len(), report.redrawn);
        Ok(Part::new(figures, report.findings()).lines(report.lines()))
    })?;
    Ok(campaign.end())
}

/// Plants and triages.
pub fn survey(setup: &Setup, plan: &TriagePlan) -> Result<Report> {
    let elsewhere = elsewhere::template(&setup.program, setup.engine)?;
    let mut report = Report::default();
    let kinds: Vec<Vec<Kind>> = match plan.kind {
        Some(kind) => vec![vec![kind]],
        None => PLANTED.iter().map(|class| Kind::of(*class)).collect(),
    };
    let progress = Progress::new("variants", plan.variants * kinds.len());
    for (part, from) in (0..plan.variants).step_by(PER_WORLD).enumerate() {
        let world = TriageBrain::new(&setup.program, setup.seed * 1_000 + part as u64)?;
        let ground = Ground { world: &world, elsewhere: &elsewhere, program: &setup.program };
        let until = plan.variants.min(from + PER_WORLD);
        let wanted: Vec<(usize, Kind)> = kinds
            .iter()
            .flat_map(|kinds| (from..until).map(|at| (at, kinds[at % kinds.len()])))
            .collect();
        let tried = spread(wanted.len(), plan.threads, |at| {
            progress.step();
            let (number, kind) = wanted[at];
            drawn(&ground, kind, setup.seed, number)
        });
        for (draws, outcome) in tried {
            report.redrawn += draws;
            match outcome {
                Ok(outcome) => report.outcomes.push(outcome),
                Err(error) => report.violations.push(format!("{error:#}")),
            }
        }
    }
    Ok(report)
}

/// Draws a variant until it does harm; how often that took too long, and what came of it.
fn drawn(ground: &Ground<'_>, kind: Kind, seed: u64, number: usize) -> (usize, Result<Outcome>) {
    for draw in 0..DRAWS {
        let lot = [seed, number as u64, kind as u64, draw as u64];
        let mixed =
            lot.iter().fold(0, |all: u64, one| all.wrapping_mul(1_000_003).wrapping_add(*one));
        match triage_planted_fault(ground, kind, &mut Rng::with_seed(mixed)) {
            Ok(None) => (),
            Ok(Some(outcome)) => return (draw, Ok(outcome)),
            Err(error) => return (draw, Err(error.context(format!("{kind} {number}")))),
        }
    }
    (DRAWS, Err(anyhow::anyhow!("{kind} {number}: {DRAWS} draws did no harm")))
}

impl Report {
    /// Everything that is not as it must be.
    pub fn findings(&self) -> Vec<String> {
        let green = self.outcomes.iter().filter_map(|one| Some((one.kind, one.green.as_ref()?)));
        let green = green.map(|(kind, green)| format!("GREEN: {kind}: {green}"));
        let classes = self.classes().into_iter().filter(|(_, counts)| !counts.holds());
        let short = classes.map(|(class, _)| format!("{class}: less than {SHARE} is right"));
        green.chain(short).chain(self.violations.iter().cloned()).collect()
    }

    /// Counts by the class that was planted.
    pub fn classes(&self) -> BTreeMap<FailureCause, Counts> {
        let mut classes: BTreeMap<FailureCause, Counts> = BTreeMap::new();
        for outcome in &self.outcomes {
            classes.entry(outcome.kind.class()).or_default().add(outcome);
        }
        classes
    }

    /// Both tables, by class and by kind, and which cases were called something else.
    fn lines(&self) -> Vec<String> {
        let called = FailureCause::ALL.iter().map(ToString::to_string);
        let head = ["planted", "of", "right"].map(str::to_owned).into_iter();
        let mut table = table(head.chain(called));
        let cell = |counts: &BTreeMap<FailureCause, usize>, class: &FailureCause| {
            counts.get(class).map_or_else(String::new, ToString::to_string)
        };
        for (class, counts) in self.classes() {
            for (at, (what, by)) in
                [("runs", &counts.runs), ("cases", &counts.cases)].iter().enumerate()
            {
                let figures = [
                    format!("{class}, {what}"),
                    counts.all[at].to_string(),
                    counts.right[at].to_string(),
                ];
                let cells = FailureCause::ALL.iter().map(|class| cell(by, class));
                table.add_row(figures.into_iter().chain(cells));
            }
        }
        let mut lines = vec![table.to_string()];
        for kind in Kind::value_variants() {
            let own: Vec<&Outcome> = self.outcomes.iter().filter(|one| one.kind == *kind).collect();
            let right = own.iter().filter(|one| one.is_right()).count();
            let cases: usize = own.iter().map(|one| one.cases.len()).sum();
            let well =
                |one: &&Outcome| one.cases.iter().filter(|case| case.class == kind.class()).count();
            let good: usize = own.iter().map(well).sum();
            if !own.is_empty() {
                lines.push(format!(
                    "{kind}: {right} of {} runs, {good} of {cases} cases",
                    own.len()
                ));
            }
        }
        let wrong = self.outcomes.iter().flat_map(|one| {
            let wrong = one.cases.iter().filter(|case| case.class != one.kind.class());
            wrong.map(move |case| (one.kind, case))
        });
        lines.extend(wrong.take(TOLD).map(|(kind, case)| {
            format!("wrong: {kind} {}: {} because {}", case.id, case.class, case.because.join("; "))
        }));
        lines
    }
}

/// The classes that triage assigned to one planted class.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    /// Runs, by what they were called.
    pub runs: BTreeMap<FailureCause, usize>,
    /// Cases, by what they were called.
    pub cases: BTreeMap<FailureCause, usize>,
    right: [usize; 2],
    all: [usize; 2],
}

impl Counts {
    fn add(&mut self, outcome: &Outcome) {
        let class = outcome.kind.class();
        if let Some(called) = outcome.class {
            *self.runs.entry(called).or_default() += 1;
        }
        self.all[0] += 1;
        self.right[0] += usize::from(outcome.is_right());
        for case in &outcome.cases {
            *self.cases.entry(case.class).or_default() += 1;
            self.all[1] += 1;
            self.right[1] += usize::from(case.class == class);
        }
    }

    /// Whether enough is right, of runs and of cases.
    pub fn holds(&self) -> bool {
        let is_enough = |at: usize| self.right[at] as f64 >= SHARE * self.all[at] as f64;
        is_enough(0) && is_enough(1)
    }
}
