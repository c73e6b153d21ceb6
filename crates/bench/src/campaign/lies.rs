//! `campaign lies`: files that were edited, targets that lie, samples that are too small and labels that
//! were forged, each given to every command that could believe it. None may be green.
//!
//! One small brain with true files is made once and copied for every case. A case is data: how the lie is
//! made, which commands are tried, and what each may do (exit 1 or 2; a report that ends with 0 must
//! print what it could not check, or figures that show the truth). A seed draws which row, field, byte or
//! value is edited. The honest counterpart of each class must be green: a program that refuses everything
//! fails too.

pub mod baselines;
pub mod captures;
pub mod case;
pub mod comparisons;
pub mod damage;
pub mod dataset;
pub mod edit;
pub mod identities;
pub mod judgements;
pub mod mistakes;
pub mod outages;
pub mod outputs;
pub mod prompts;
pub mod purges;
pub mod recoveries;
pub mod results;
pub mod samples;
pub mod scene;
pub mod settings;
pub mod silence;
pub mod slugs;
pub mod stores;
pub mod suites;
pub mod target_outages;
pub mod targets;
pub mod trials;

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Parser, ValueEnum as _};
use fastrand::Rng;
use gbrain_eval::spread;

use self::case::{Case, CaseOutcome, Class};
use self::scene::BaseScene;
use super::scaffold::{
    Campaign, FlagValue as _, Part, ProgramArgs, Progress, SeedArgs, Setup, table,
};

#[derive(Debug, Parser)]
pub struct LiesArgs {
    #[command(flatten)]
    plan: LiesPlan,
    /// Print what the commands of every finding printed.
    #[arg(long)]
    verbose: bool,
    #[command(flatten)]
    seed: SeedArgs,
    #[command(flatten)]
    program: ProgramArgs,
}

/// The inputs to try.
#[derive(Debug, Clone, Args)]
pub struct LiesPlan {
    /// One class of lies only.
    #[arg(long, value_enum)]
    pub class: Option<Class>,
    /// Only cases whose name contains this.
    #[arg(long = "case", value_name = "TEXT")]
    pub name: Option<String>,
    /// Cases at once.
    #[arg(long, default_value_t = 2)]
    pub threads: usize,
    /// As many lies of each class, drawn by the seed; all if none is given.
    #[arg(skip)]
    pub per_class: Option<usize>,
}

/// The outcome of one command on one case.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub class: Class,
    pub case: String,
    pub is_honest: bool,
    /// The words behind `gbrain`.
    pub command: String,
    pub reaction: CaseOutcome,
    /// The exit code and what was printed.
    pub printed: String,
}

#[derive(Debug, Default)]
pub struct Report {
    /// Every command of every case.
    pub outcomes: Vec<Outcome>,
    /// Cases that could not be made.
    pub broken: Vec<String>,
}

impl Report {
    /// Commands that were green on a lie, crashed, or refused what is honest.
    pub fn findings(&self) -> Vec<&Outcome> {
        let is_bad = |one: &&Outcome| {
            matches!(
                one.reaction,
                CaseOutcome::Green | CaseOutcome::FalseAlarm | CaseOutcome::Broken
            )
        };
        self.outcomes.iter().filter(is_bad).collect()
    }

    pub fn lies(&self) -> usize {
        let mut names: Vec<(Class, &str)> = self
            .outcomes
            .iter()
            .filter(|one| !one.is_honest)
            .map(|one| (one.class, one.case.as_str()))
            .collect();
        names.sort_unstable();
        names.dedup();
        names.len()
    }

    /// A row for each class.
    fn table(&self) -> String {
        let mut table = table([
            "class",
            "lies",
            "commands",
            "exit 2",
            "exit 1",
            "warned",
            "GREEN",
            "honest",
            "false alarms",
            "broken",
        ]);
        for &class in Class::value_variants() {
            let own: Vec<&Outcome> =
                self.outcomes.iter().filter(|one| one.class == class).collect();
            if !own.is_empty() {
                table.add_row(row(class, &own));
            }
        }
        table.to_string()
    }

    /// Every finding, and every case that could not be made.
    fn violations(&self, is_verbose: bool) -> Vec<String> {
        let finding = |one: &Outcome| {
            let what = match one.reaction {
                CaseOutcome::Green => "GREEN",
                CaseOutcome::FalseAlarm => "false alarm",
                _ => "broken",
            };
            let printed = one.printed.lines().take(if is_verbose { 40 } else { 0 });
            let printed: String = printed.map(|line| format!("\n  {line}")).collect();
            format!("{what}: {}: {}: {}{printed}", one.class.name(), one.case, one.command)
        };
        let broken = self.broken.iter().map(|one| format!("not made: {one}"));
        self.findings().into_iter().map(finding).chain(broken).collect()
    }
}

pub fn run(args: &LiesArgs) -> Result<ExitCode> {
    let mut campaign = Campaign::start(&args.seed);
    let setup = campaign.setup(&args.program)?;
    campaign.part("lies", || {
        let report = survey(&setup, &args.plan)?;
        let violations = report.violations(args.verbose);
        Ok(Part::new(format!("{} lies", report.lies()), violations).lines([report.table()]))
    })?;
    Ok(campaign.end())
}

/// Tries the cases.
pub fn survey(setup: &Setup, plan: &LiesPlan) -> Result<Report> {
    let world = BaseScene::new(&setup.program, setup.seed)?;
    let cases = chosen(all_cases(&world)?, setup, plan);
    let progress = Progress::new("cases", cases.len());
    let tried = spread(cases.len(), plan.threads, |at| {
        progress.step();
        let seed = setup.seed.wrapping_mul(1_000_003).wrapping_add(at as u64);
        tried(&world, &cases[at], seed)
    });
    let mut report = Report::default();
    for (case, outcomes) in cases.iter().zip(tried) {
        match outcomes {
            Ok(outcomes) => report.outcomes.extend(outcomes),
            Err(error) => {
                report.broken.push(format!("{}: {}: {error:#}", case.class.name(), case.name));
            }
        }
    }
    Ok(report)
}

fn all_cases(world: &BaseScene) -> Result<Vec<Case>> {
    let mut cases = baselines::cases(world)?;
    cases.extend(captures::cases());
    cases.extend(identities::cases());
    cases.extend(targets::cases());
    cases.extend(samples::cases());
    cases.extend(results::cases(world)?);
    cases.extend(results::resumed());
    cases.extend(results::titles());
    cases.extend(judgements::cases());
    cases.extend(comparisons::cases());
    cases.extend(stores::queries());
    cases.extend(stores::clocks());
    cases.extend(stores::ratchets());
    cases.extend(slugs::cases());
    cases.extend(prompts::evidence());
    cases.extend(prompts::scores());
    cases.extend(prompts::runs());
    cases.extend(outages::cases());
    cases.extend(silence::cases());
    cases.extend(settings::cases());
    cases.extend(purges::cases());
    cases.extend(outputs::cases());
    cases.extend(damage::cases());
    cases.extend(mistakes::cases());
    cases.extend(suites::cases());
    cases.extend(recoveries::cases());
    cases.extend(target_outages::cases());
    cases.extend(trials::cases());
    Ok(cases)
}

/// The cases of a survey: those asked for, or some of each class with an honest one.
fn chosen(cases: Vec<Case>, setup: &Setup, plan: &LiesPlan) -> Vec<Case> {
    let is_asked_for = |case: &Case| {
        plan.class.is_none_or(|class| case.class == class)
            && plan.name.as_ref().is_none_or(|name| case.name.contains(name.as_str()))
    };
    let mut cases: Vec<Case> = cases.into_iter().filter(is_asked_for).collect();
    let Some(count) = plan.per_class else { return cases };
    setup.rng().shuffle(&mut cases);
    let mut taken: BTreeMap<(Class, bool), usize> = BTreeMap::new();
    cases.retain(|case| {
        let most = if case.is_honest() { 1 } else { count };
        let taken = taken.entry((case.class, case.is_honest())).or_default();
        *taken += 1;
        *taken <= most
    });
    cases
}

/// Makes a lie and tries its commands, one after the other.
fn tried(world: &BaseScene, case: &Case, seed: u64) -> Result<Vec<Outcome>> {
    let mut scene = world.copy()?;
    (case.plant)(&mut scene, &mut Rng::with_seed(seed))?;
    let outcome = |attempt: &case::Attempt| {
        let output = scene.run(&attempt.args)?;
        let code = output.code.map_or_else(|| "a signal".to_owned(), |code| code.to_string());
        Ok(Outcome {
            class: case.class,
            case: case.name.clone(),
            is_honest: case.is_honest(),
            command: attempt.args.join(" "),
            reaction: attempt.reaction(&output),
            printed: format!("exit {code}\n{}\n{}", output.stdout.trim(), output.stderr.trim()),
        })
    };
    case.attempts.iter().map(outcome).collect()
}

fn row(class: Class, own: &[&Outcome]) -> Vec<String> {
    let (honest, lies): (Vec<&&Outcome>, Vec<&&Outcome>) =
        own.iter().partition(|one| one.is_honest);
    let count = |of: &[&&Outcome], reaction: CaseOutcome| {
        of.iter().filter(|one| one.reaction == reaction).count().to_string()
    };
    let mut names: Vec<&str> = lies.iter().map(|one| one.case.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let judged = lies.iter().filter(|one| one.reaction != CaseOutcome::NotJudged).count();
    let broken = own.iter().filter(|one| one.reaction == CaseOutcome::Broken).count();
    vec![
        class.name(),
        names.len().to_string(),
        judged.to_string(),
        count(&lies, CaseOutcome::Refused),
        count(&lies, CaseOutcome::Red),
        count(&lies, CaseOutcome::Warned),
        count(&lies, CaseOutcome::Green),
        honest.len().to_string(),
        count(&honest, CaseOutcome::FalseAlarm),
        broken.to_string(),
    ]
}
