//! `campaign budget`: many processes call models with one budget, and are killed.
//!
//! Providers of every format answer on loopback, with faults of every kind, and keep bills. Four processes of
//! eight threads make so many calls through the real door with the real ledger; some are killed at random
//! moments, and others go on with what they had not begun. While they do, somebody looks at the ledger all
//! the time. In the end budget and day were never passed, every attempt has one charge, what was answered is
//! charged at the provider's bill to a billionth, what nobody heard of at its worst.
//!
//! Deliberately absent: more than one machine, and prices that are wrong.

mod audit;
mod caller;
mod calls;
mod toll;
mod watch;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::Parser;
use fastrand::Rng;
use gbrain_core::money::Usd;
use gbrain_store::{Location, OpenMode, Store};
use gbrain_testkit::engine::{Database, Engine};
use gbrain_testkit::process::Running;
use gbrain_testkit::providers::ProviderServer;
use jiff::Timestamp;
use tempfile::TempDir;

pub use audit::Audit;
pub use caller::run_caller;
use caller::{Journal, Orders, TIMEOUT, Work};

use super::scaffold::{Campaign, EngineArgs, Part, Progress, SeedArgs, say, table};
use super::violations::Violations;

/// Processes that call at once, and threads of each: 32 calls at a time.
const PROCESSES: usize = 4;
const THREADS: usize = 8;
/// More than all calls can cost.
const AMPLE: i64 = 1_000_000_000_000;
/// The part of what all calls cost that a tight budget allows, in hundredths.
const TIGHT_PERCENT: i64 = 40;
/// How long everything may take.
const PATIENCE: Duration = Duration::from_secs(1_800);

#[derive(Debug, Parser)]
#[command(name = "cargo xtask campaign budget")]
pub struct BudgetArgs {
    /// Calls, in each of three runs on each engine.
    #[arg(long, default_value_t = 10_000)]
    calls: usize,
    /// Kills, in each of them.
    #[arg(long, default_value_t = 50)]
    kills: usize,
    #[command(flatten)]
    seed: SeedArgs,
    #[command(flatten)]
    engine: EngineArgs,
}

/// How much there is to spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpendPlan {
    /// More than all calls cost.
    Ample,
    /// A budget of this much, in billionths, which all processes share.
    Budget(i64),
    /// Two ample budgets, and a day with this much, in billionths.
    Day(i64),
}

/// The work for one engine.
#[derive(Debug, Clone)]
pub struct EngineRun {
    /// `gbrain-bench`.
    pub program: PathBuf,
    pub engine: Engine,
    pub purse: SpendPlan,
    pub calls: usize,
    pub kills: usize,
    pub seed: u64,
}

#[derive(Debug)]
pub struct Report {
    /// The totals of the ledger.
    pub audit: Audit,
    pub kills: usize,
    /// How often the ledger was read meanwhile.
    pub looks: usize,
    pub took: Duration,
    pub violations: Vec<String>,
}

/// The budget of the processes.
#[derive(Debug)]
struct Terms {
    /// Budgets by name, in billionths.
    budgets: Vec<(String, i64)>,
    /// For a day, in billionths.
    per_day: i64,
    /// The parts that calls are made of.
    seed: u64,
    calls: usize,
}

impl SpendPlan {
    fn name(self) -> &'static str {
        match self {
            Self::Ample => "ample",
            Self::Budget(_) => "tight budget",
            Self::Day(_) => "tight day",
        }
    }

    /// The binding budget, in billionths.
    fn cap(self) -> i64 {
        match self {
            Self::Ample => AMPLE,
            Self::Budget(cap) | Self::Day(cap) => cap,
        }
    }
}

/// Runs the campaign on the engines that were asked for.
pub fn run(args: &BudgetArgs) -> Result<ExitCode> {
    let mut campaign = Campaign::start(&args.seed);
    let (program, seed) = (std::env::current_exe()?, campaign.seed);
    let BudgetArgs { calls, kills, .. } = *args;
    let mut table = table(HEADER);
    for &engine in args.engine.list() {
        let mut whole = None;
        for tight in [None, Some(SpendPlan::Budget as fn(i64) -> SpendPlan), Some(SpendPlan::Day)] {
            let share = whole.unwrap_or(0) / 100 * TIGHT_PERCENT;
            let purse = tight.map_or(SpendPlan::Ample, |purse| purse(share));
            let hunt = EngineRun { program: program.clone(), engine, purse, calls, kills, seed };
            campaign.part(&format!("{}, {}", engine.name(), purse.name()), || {
                let report = self::run_on_engine(&hunt)?;
                whole = whole.or(Some(report.audit.charged));
                table.add_row(report.row(&hunt));
                let is_enough = report.kills >= kills && report.has_met(purse);
                let figures = format!("{} kills", report.kills);
                let part = Part::new(figures, report.violations);
                Ok(part.require(is_enough, "too few kills, or the budget was never met"))
            })?;
        }
        say(toll::measure(&program, engine)?);
    }
    say(table.to_string());
    Ok(campaign.end())
}

const HEADER: [&str; 17] = [
    "engine",
    "purse",
    "calls",
    "answered",
    "failed",
    "over budget",
    "attempts",
    "kills",
    "under way",
    "left open",
    "lost",
    "looks",
    "charged",
    "cap",
    "true bill",
    "violations",
    "s",
];

/// Makes the calls, kills, and looks at the books.
pub fn run_on_engine(hunt: &EngineRun) -> Result<Report> {
    let (begun, mut rng) = (Instant::now(), Rng::with_seed(hunt.seed));
    let place = Place::new(hunt.engine)?;
    let answers = Arc::new(AnswerLimit::default());
    let (limit, faults) = (answers.clone(), calls::faults(hunt.seed, TIMEOUT * 13 / 10));
    let server = ProviderServer::start(calls::says, move |number| {
        limit.wait(number);
        faults(number)
    })?;
    let terms = hunt.terms();
    let (violations, over) = (Violations::default(), AtomicBool::new(false));
    let mut crew = Crew {
        hunt,
        place: &place,
        server: &server,
        answers: &answers,
        terms: &terms,
        journal: Journal::default(),
    };
    let (kills, looks) = std::thread::scope(|scope| -> Result<_> {
        let watcher = scope.spawn(|| {
            let store = place.store()?;
            watch::watch(&store, &terms, &server, &over, &violations)
        });
        let worked = crew.work(&mut rng, &violations);
        answers.set(u64::MAX);
        over.store(true, Ordering::Relaxed);
        let looks = watcher.join().expect("a watcher does not panic")?;
        Ok((worked?, looks))
    })?;
    let journal = crew.journal;
    place.settle()?;
    wait_until_quiet(&server);
    let store = place.store()?;
    let audit = audit::audit(&store, &terms, &server, &journal, &violations)?;
    let violations = violations.into_list();
    Ok(Report { audit, kills, looks, took: begun.elapsed(), violations })
}

/// The last requests of killed processes may still be in flight.
fn wait_until_quiet(server: &ProviderServer) {
    let mut before = u64::MAX;
    while server.requests() != before {
        before = server.requests();
        std::thread::sleep(TIMEOUT / 2);
    }
}

impl EngineRun {
    fn terms(&self) -> Terms {
        let named =
            |names: &[&str], cap| names.iter().map(|name| ((*name).to_owned(), cap)).collect();
        let (budgets, per_day) = match self.purse {
            SpendPlan::Ample => (named(&["run"], AMPLE), AMPLE),
            SpendPlan::Budget(cap) => (named(&["run"], cap), AMPLE),
            SpendPlan::Day(cap) => (named(&["east", "west"], AMPLE), cap),
        };
        Terms { budgets, per_day, seed: self.seed, calls: self.calls }
    }

    /// Requests at the providers after which a process is killed. A tight purse is empty long before the
    /// calls are over.
    fn moments(&self, rng: &mut Rng) -> Vec<u64> {
        let percent = if self.purse == SpendPlan::Ample { 90 } else { TIGHT_PERCENT * 3 / 4 };
        let last = (self.calls as u64 * percent as u64 / 100).max(2);
        let mut moments: Vec<u64> = (0..self.kills).map(|_| rng.u64(1..last)).collect();
        moments.sort_unstable();
        moments
    }
}

/// The requests that the providers answer before the next kill. The others wait for it, so that a
/// process is at work when it is killed, however fast the processes are.
#[derive(Debug, Default)]
struct AnswerLimit {
    limit: Mutex<u64>,
    changed: Condvar,
}

impl AnswerLimit {
    fn set(&self, limit: u64) {
        *self.limit.lock().unwrap_or_else(PoisonError::into_inner) = limit;
        self.changed.notify_all();
    }

    /// Waits until this request may be answered.
    fn wait(&self, number: u64) {
        let limit = self.limit.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.changed.wait_while(limit, |limit| number + 1 >= *limit));
    }
}

/// The processes that call.
struct Crew<'a> {
    hunt: &'a EngineRun,
    place: &'a Place,
    server: &'a ProviderServer,
    answers: &'a AnswerLimit,
    terms: &'a Terms,
    journal: Journal,
}

/// A process, and what it was told.
struct Member {
    running: Running,
    orders: Orders,
    calls: Vec<usize>,
}

impl Crew<'_> {
    /// Works until every call is made; how many processes were killed.
    fn work(&mut self, rng: &mut Rng, violations: &Violations) -> Result<usize> {
        let mut moments = self.hunt.moments(rng).into_iter().peekable();
        self.answers.set(moments.peek().copied().unwrap_or(u64::MAX));
        let mut members = (0..PROCESSES).map(|at| self.member(at)).collect::<Result<Vec<_>>>()?;
        let (mut kills, begun) = (0, Instant::now());
        let progress = Progress::new("kills", self.hunt.kills);
        while !members.is_empty() {
            progress.reach(kills);
            anyhow::ensure!(begun.elapsed() < PATIENCE, "calls are not over after {PATIENCE:?}");
            if moments.peek().is_some_and(|at| *at <= self.server.requests()) {
                std::thread::sleep(Duration::from_micros(rng.u64(..20_000)));
                let member = members.swap_remove(rng.usize(..members.len()));
                let (killed, next) = self.replace(member)?;
                members.extend(next);
                // One that had ended by itself is no kill: another one follows.
                if killed {
                    kills += 1;
                    moments.next();
                    self.answers.set(moments.peek().copied().unwrap_or(u64::MAX));
                }
            }
            let mut at = 0;
            while at < members.len() {
                if members[at].running.has_ended()? {
                    let output = members.swap_remove(at).running.wait()?;
                    violations.expect("a caller", &output);
                    self.journal.read(&output.stdout)?;
                } else {
                    at += 1;
                }
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(kills)
    }

    /// The process of a place, with its share of the calls.
    fn member(&self, at: usize) -> Result<Member> {
        let budgets = &self.terms.budgets;
        let orders = Orders {
            store: self.place.url(),
            server: self.server.url(),
            budget: budgets[at % budgets.len()].clone(),
            per_day: self.terms.per_day,
            seed: self.terms.seed,
            threads: THREADS,
            work: Work::Charges(0, 0),
        };
        self.start(orders, (at..self.terms.calls).step_by(PROCESSES).collect())
    }

    fn start(&self, orders: Orders, calls: Vec<usize>) -> Result<Member> {
        let orders = Orders { work: Work::Calls(calls.clone()), ..orders };
        Ok(Member { running: start(&self.hunt.program, &orders)?, orders, calls })
    }

    /// Kills a process, and starts another for what it had not begun. False if it had ended before.
    fn replace(&mut self, member: Member) -> Result<(bool, Option<Member>)> {
        let Member { running, orders, mut calls } = member;
        let output = running.kill(Duration::ZERO)?;
        self.journal.read(&output.stdout)?;
        calls.retain(|number| !self.journal.begun.contains(number));
        let next = (!calls.is_empty()).then(|| self.start(orders, calls)).transpose()?;
        Ok((output.code.is_none(), next))
    }
}

/// Starts a process that calls.
fn start(program: &Path, orders: &Orders) -> Result<Running> {
    let mut command = Command::new(program);
    command.arg("caller");
    Running::start(command, &serde_json::to_string(orders)?)
}

/// A ledger of its own.
struct Place {
    dir: TempDir,
    database: Option<Database>,
}

impl Place {
    fn new(engine: Engine) -> Result<Self> {
        let database = match engine {
            Engine::Sqlite => None,
            Engine::Postgres => Some(Database::create()?),
        };
        let place = Self { dir: tempfile::tempdir()?, database };
        gbrain_store::Store::open(
            &Location::parse(&place.url())?,
            OpenMode::Init,
            Timestamp::now(),
        )?;
        Ok(place)
    }

    fn url(&self) -> String {
        let file = || self.dir.path().join("brain.db").to_string_lossy().into_owned();
        self.database.as_ref().map_or_else(file, |database| database.url().to_owned())
    }

    fn store(&self) -> Result<Store> {
        let location = Location::parse(&self.url())?;
        let store = gbrain_store::Store::open(&location, OpenMode::Use, Timestamp::now());
        store.context("the ledger can't be opened")
    }

    fn settle(&self) -> Result<()> {
        self.database.as_ref().map_or(Ok(()), Database::settle)
    }
}

impl Report {
    /// Whether the purse did what it is for: a tight one refused calls and is mostly spent, an ample one did
    /// not.
    pub fn has_met(&self, purse: SpendPlan) -> bool {
        let Audit { refused, charged, .. } = self.audit;
        match purse {
            SpendPlan::Ample => refused == 0,
            SpendPlan::Budget(cap) | SpendPlan::Day(cap) => refused > 0 && charged > cap / 4 * 3,
        }
    }

    fn row(&self, hunt: &EngineRun) -> Vec<String> {
        let Audit { attempts, answered, refused, failed, killed, open, lost, charged, bill } =
            self.audit;
        let usd = |nanos| Usd::nanos(nanos).to_string();
        vec![
            hunt.engine.name().to_owned(),
            hunt.purse.name().to_owned(),
            hunt.calls.to_string(),
            answered.to_string(),
            failed.to_string(),
            refused.to_string(),
            attempts.to_string(),
            self.kills.to_string(),
            killed.to_string(),
            open.to_string(),
            lost.to_string(),
            self.looks.to_string(),
            usd(charged),
            usd(hunt.purse.cap()),
            usd(bill),
            self.violations.len().to_string(),
            self.took.as_secs().to_string(),
        ]
    }
}
