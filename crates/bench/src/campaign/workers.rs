//! `campaign workers`: SIGKILL of the server and of workers at random moments, under load.
//!
//! Callers put and delete pages, start imports that write the same pages, and ask; meanwhile a server
//! and two workers with short leases are killed and started again, and workers are stopped for longer
//! than their lease and let go on. In the end every acknowledged write is there, in order, under the
//! version that was told; every job ended once and wrote each of its pages once, so that no put is
//! undone by a job that was resumed; `doctor --deep` has nothing to say.
//!
//! Deliberately absent: captures. What a killed process had not stored yet is lost, as promised.

mod gate;
mod load;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use clap::Args;
use fastrand::Rng;
use gbrain_testkit::process::{Gbrain, Running};
use gbrain_testkit::served::Served;

use gate::Gate;
use load::WRITERS;

use super::aftermath::{self, Asked, BrainAfterRun};
use super::ledger::Ledger;
use super::scaffold::{CampaignArgs, Part, Progress, Setup, keep_if_violated};
use super::violations::Violations;

/// Workers beside the server, which works too.
const WORKERS: usize = 2;
/// How long everything is left alone before the next kill, at most.
const CALM_MILLIS: u64 = 1_200;
/// How long a worker is stopped: longer than its lease of a second.
const STOPPED: Duration = Duration::from_millis(1_600);
/// The time limit of jobs after the last kill.
const PATIENCE: Duration = Duration::from_secs(180);

/// The work for each engine.
#[derive(Debug, Clone, Args)]
pub struct WorkersPlan {
    /// Kills, on each engine.
    #[arg(long, default_value_t = 100)]
    pub kills: usize,
    /// Pages of each import.
    #[arg(long, default_value_t = 600)]
    pub pages: usize,
}

/// A process that is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Victim {
    Server,
    Worker,
}

#[derive(Debug, Default)]
pub struct Report {
    /// Kills, by process.
    pub kills: BTreeMap<Victim, usize>,
    /// Times a worker was stopped for longer than its lease.
    pub stops: usize,
    /// Puts and deletions that were acknowledged.
    pub acknowledged: usize,
    /// Puts and deletions whose answer was never heard.
    pub unheard: usize,
    /// Questions that were answered.
    pub answers: usize,
    /// Imports whose number was never heard.
    pub unheard_imports: usize,
    pub aftermath: BrainAfterRun,
    pub violations: Vec<String>,
}

/// Runs the campaign on the engines that were asked for.
pub fn run(args: &CampaignArgs<WorkersPlan>) -> Result<ExitCode> {
    args.each(|setup, plan| {
        let report = run_on_engine(setup, plan)?;
        let is_enough = report.aftermath.resumed > 0 && report.count() >= plan.kills;
        let (figures, lines) = (format!("{} kills", report.count()), report.lines());
        let part = Part::new(figures, report.violations).lines(lines);
        Ok(part.require(is_enough, "too few kills, or no job was resumed"))
    })
}

/// Kills until there were enough kills, and looks what is left.
pub fn run_on_engine(setup: &Setup, plan: &WorkersPlan) -> Result<Report> {
    let (mut rng, brain) = (setup.rng(), setup.brain()?);
    let (gate, violations) = (Gate::default(), Violations::default());
    violations.expect("init", &brain.run(&["init"])?);
    let mut report = Report::default();
    let mut crew = Crew::start(&brain, &gate)?;
    let asked = std::thread::scope(|scope| -> Result<Asked> {
        let (gate, violations) = (&gate, &violations);
        let writers: Vec<_> = (0..WRITERS)
            .map(|n| {
                let rng = rng.fork();
                scope.spawn(move || load::write(gate, violations, rng, n, plan.pages))
            })
            .collect();
        let (imports, questions) = (rng.fork(), rng.fork());
        let importer = scope.spawn(move || load::import(gate, violations, imports, plan.pages));
        let asker = scope.spawn(move || load::ask(gate, violations, questions));
        let killed = crew.kill(plan.kills, &mut rng, violations, &mut report);
        gate.end();
        let mut ledger = Ledger::default();
        for writer in writers {
            ledger.join(writer.join().expect("writers go on")?);
        }
        report.answers = asker.join().expect("askers go on")?;
        let mut asked = importer.join().expect("importers go on")?;
        asked.ledger = ledger;
        killed.map(|()| asked)
    })?;
    wait_for_jobs(&brain, &violations)?;
    crew.end(&violations)?;
    brain.settle()?;
    (report.acknowledged, report.unheard) = asked.ledger.counts();
    report.unheard_imports = asked.imports.iter().filter(|import| import.id.is_none()).count();
    report.violations = violations.into_list();
    report.aftermath = aftermath::compare_with_responses(&brain, &asked)?;
    report.violations.append(&mut report.aftermath.violations);
    keep_if_violated(brain, &report.violations);
    Ok(report)
}

/// Waits until every job is over: the processes that live have nothing else to do.
fn wait_for_jobs(brain: &Gbrain, violations: &Violations) -> Result<()> {
    let (store, begun) = (brain.store()?, Instant::now());
    while begun.elapsed() < PATIENCE {
        let mut open = 0;
        for workspace in store.workspaces()? {
            let counts = store.job_counts_of(&workspace.id)?;
            open += counts.queued + counts.running;
        }
        if open == 0 {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    violations.add(format!("jobs are not over after {} s", PATIENCE.as_secs()));
    Ok(())
}

/// The processes that are killed.
struct Crew<'a> {
    brain: &'a Gbrain,
    gate: &'a Gate,
    server: Served,
    workers: Vec<Running>,
}

impl<'a> Crew<'a> {
    fn start(brain: &'a Gbrain, gate: &'a Gate) -> Result<Self> {
        let server = serve(brain)?;
        gate.open(server.address());
        let workers = (0..WORKERS).map(|_| work(brain)).collect::<Result<_>>()?;
        Ok(Self { brain, gate, server, workers })
    }

    /// Kills one process or all, now and then, until there were so many kills.
    fn kill(
        &mut self,
        kills: usize,
        rng: &mut Rng,
        violations: &Violations,
        report: &mut Report,
    ) -> Result<()> {
        let progress = Progress::new("kills", kills);
        while report.count() < kills && !violations.any() {
            progress.reach(report.count());
            std::thread::sleep(Duration::from_millis(rng.u64(..CALM_MILLIS)));
            let worker = rng.usize(..WORKERS);
            match rng.u8(..20) {
                0..9 => self.kill_server(violations, report)?,
                9..16 => self.kill_worker(worker, violations, report)?,
                16..18 => self.kill_all(violations, report)?,
                _ => self.stop_worker(worker, report)?,
            }
        }
        Ok(())
    }

    fn kill_server(&mut self, violations: &Violations, report: &mut Report) -> Result<()> {
        self.strike_server(violations, report)?;
        self.server = serve(self.brain)?;
        self.gate.open(self.server.address());
        Ok(())
    }

    fn kill_worker(
        &mut self,
        worker: usize,
        violations: &Violations,
        report: &mut Report,
    ) -> Result<()> {
        self.strike_worker(worker, violations, report)?;
        self.workers[worker] = work(self.brain)?;
        Ok(())
    }

    /// No process can continue a job until new ones have started.
    fn kill_all(&mut self, violations: &Violations, report: &mut Report) -> Result<()> {
        for worker in 0..WORKERS {
            self.strike_worker(worker, violations, report)?;
        }
        self.kill_server(violations, report)?;
        self.workers = (0..WORKERS).map(|_| work(self.brain)).collect::<Result<_>>()?;
        Ok(())
    }

    fn strike_server(&mut self, violations: &Violations, report: &mut Report) -> Result<()> {
        if self.server.has_ended()? {
            violations.add("the server has ended by itself");
        }
        self.gate.close();
        violations.calm("a server that was killed", &self.server.kill_and_wait()?);
        report.count_kill(Victim::Server);
        Ok(())
    }

    fn strike_worker(
        &mut self,
        worker: usize,
        violations: &Violations,
        report: &mut Report,
    ) -> Result<()> {
        if self.workers[worker].has_ended()? {
            violations.add("a worker has ended by itself");
        }
        violations.calm("a worker that was killed", &self.workers[worker].kill_and_wait()?);
        report.count_kill(Victim::Worker);
        Ok(())
    }

    /// Another worker takes its job meanwhile; what it does when it wakes up must not count.
    fn stop_worker(&mut self, worker: usize, report: &mut Report) -> Result<()> {
        self.workers[worker].signal("STOP")?;
        std::thread::sleep(STOPPED);
        self.workers[worker].signal("CONT")?;
        report.stops += 1;
        Ok(())
    }

    /// Ends everything in order.
    fn end(self, violations: &Violations) -> Result<()> {
        for worker in self.workers {
            worker.signal("TERM")?;
            violations.expect("a worker that was told to end", &worker.wait()?);
        }
        violations.expect("a server that was told to end", &self.server.stop()?);
        Ok(())
    }
}

fn serve(brain: &Gbrain) -> Result<Served> {
    let mut command = brain.command(&["serve", "--jobs", "1", "--lease", "1"]);
    command.env("GBRAIN_CONTRIBUTOR_MODE", "1");
    Served::start(command)
}

fn work(brain: &Gbrain) -> Result<Running> {
    brain.spawn(&["worker", "--lease", "1"], "")
}

impl Report {
    /// All kills.
    pub fn count(&self) -> usize {
        self.kills.values().sum()
    }

    fn count_kill(&mut self, victim: Victim) {
        *self.kills.entry(victim).or_default() += 1;
    }

    fn lines(&self) -> Vec<String> {
        let BrainAfterRun { versions, jobs, resumed, .. } = &self.aftermath;
        let kills = |victim| self.kills.get(&victim).copied().unwrap_or(0);
        vec![
            format!(
                "  {} kills of the server, {} of workers, {} workers stopped for longer than their lease",
                kills(Victim::Server),
                kills(Victim::Worker),
                self.stops
            ),
            format!(
                "  {} puts and deletions acknowledged, {} not heard of, {} answers",
                self.acknowledged, self.unheard, self.answers
            ),
            format!(
                "  {jobs} jobs, {resumed} claimed more than once (at most: {}); {} imports not heard of",
                self.aftermath.attempts(),
                self.unheard_imports
            ),
            format!("  {versions} versions compared"),
        ]
    }
}
