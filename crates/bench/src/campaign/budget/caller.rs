//! A process that calls: many threads, one door, one ledger that other processes write too. It is told what to do
//! on stdin, and says on stdout which call it begins and how each ended, so that a kill leaves no doubt.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use gbrain_core::id::WorkspaceId;
use gbrain_core::money::Usd;
use gbrain_llm::{ModelClient, ModelLimits, RetryPolicy, Spending};
use gbrain_store::{Budget, DAILY_PREFIX, Location, NewCharge, OpenMode, Settlement, Store};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::calls::{Call, KEY, prices, providers};
use crate::campaign::scaffold::say;

/// How long an attempt may take. Providers that hang do so for longer.
pub(super) const TIMEOUT: Duration = Duration::from_millis(1_000);

/// The instructions for a process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Orders {
    /// The address of the database.
    pub(super) store: String,
    /// The address of the providers.
    pub(super) server: String,
    /// The name of the budget, and what may be charged against it, in billionths.
    pub(super) budget: (String, i64),
    /// The daily budget, in billionths.
    pub(super) per_day: i64,
    /// The parts that calls are made of.
    pub(super) seed: u64,
    pub(super) threads: usize,
    pub(super) work: Work,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Work {
    /// The calls of these numbers.
    Calls(Vec<usize>),
    /// So many charges by each thread, each settled after so many milliseconds: nobody is asked.
    Charges(usize, u64),
}

/// Does what stdin says.
pub fn run_caller() -> Result<ExitCode> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let orders: Orders = serde_json::from_str(&text).context("these are no orders")?;
    let location = Location::parse(&orders.store)?;
    let store: Arc<Store> =
        gbrain_store::Store::open(&location, OpenMode::Use, Timestamp::now())?.into();
    match &orders.work {
        Work::Calls(numbers) => orders.call(store, numbers)?,
        Work::Charges(each, pause) => {
            orders.charge(store.as_ref(), *each, Duration::from_millis(*pause))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

impl Orders {
    fn client(&self, store: Arc<Store>) -> Result<ModelClient> {
        let retry = RetryPolicy {
            attempts: 3,
            first: Duration::from_millis(10),
            max_wait: Duration::from_secs(2),
        };
        let limits = ModelLimits { timeout: TIMEOUT, retry, concurrency: self.threads };
        let environment = |_: &str| Some(KEY.to_owned());
        let client =
            ModelClient::new(providers(&self.server)?, prices()?, limits, Arc::new(environment));
        Ok(client.spending(Spending {
            store,
            workspace: WorkspaceId::default(),
            budget: Some(self.budget()),
            per_day: Some(Usd::nanos(self.per_day)),
            purpose: "campaign".to_owned(),
        }))
    }

    fn budget(&self) -> Budget {
        Budget { name: self.budget.0.clone(), cap: Usd::nanos(self.budget.1) }
    }

    fn call(&self, store: Arc<Store>, numbers: &[usize]) -> Result<()> {
        let (client, next) = (self.client(store)?, AtomicUsize::new(0));
        let work = || {
            while let Some(number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) {
                say(format!("begun {number}"));
                let (outcome, cost, attempts) = match Call::of(self.seed, *number).run(&client) {
                    Ok(bill) => ("ok", bill.cost.as_nanos(), bill.attempts),
                    Err(error) => (error.kind.name(), 0, 0),
                };
                say(format!("ended {number} {outcome} {cost} {attempts}"));
            }
        };
        std::thread::scope(|scope| {
            (0..self.threads).for_each(|_| {
                scope.spawn(work);
            });
        });
        Ok(())
    }

    /// Charges, waits as if for an answer, and settles; says how many microseconds the ledger took of each.
    fn charge(&self, store: &Store, each: usize, pause: Duration) -> Result<()> {
        let day = Timestamp::now().strftime("%F");
        let cap = Usd::nanos(self.per_day);
        let charge = NewCharge {
            budget: self.budget(),
            standing: Some(Budget { name: format!("{DAILY_PREFIX}{day}"), cap }),
            model: "lab:any".to_owned(),
            purpose: "campaign".to_owned(),
            worst: Usd::nanos(100),
        };
        let one = || -> Result<u128> {
            let (workspace, begun) = (WorkspaceId::default(), Instant::now());
            let id = store.reserve(&workspace, &charge, Timestamp::now())?;
            let (charged, answered) = (begun.elapsed(), Instant::now() + pause);
            std::thread::sleep(pause);
            let settlement = Settlement::Cost { usd: Usd::nanos(40), input: 3, output: 4 };
            store.settle(&workspace, &id, &settlement, Timestamp::now())?;
            Ok((charged + answered.elapsed()).as_micros())
        };
        let work = || (0..each).map(|_| one()).collect::<Result<Vec<_>>>();
        let took = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads).map(|_| scope.spawn(work)).collect();
            let ended = threads.into_iter().map(|thread| thread.join().expect("no charge panics"));
            ended.collect::<Result<Vec<_>>>()
        })?;
        took.into_iter().flatten().for_each(|micros| say(micros.to_string()));
        Ok(())
    }
}

/// How a call ended, as its caller heard it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Ended {
    /// `ok`, or what went wrong.
    pub(super) outcome: String,
    /// The cost that the caller got, in billionths.
    pub(super) cost: i64,
    pub(super) attempts: usize,
}

/// The output of the processes.
#[derive(Debug, Default)]
pub(super) struct Journal {
    /// Calls that were begun.
    pub(super) begun: BTreeSet<usize>,
    /// Calls that were begun, and ended.
    pub(super) ended: BTreeMap<usize, Ended>,
}

impl Journal {
    /// Takes in what a process said. A last line that was cut off was never said.
    pub(super) fn read(&mut self, said: &str) -> Result<()> {
        let whole = said.rfind('\n').map_or("", |end| &said[..end]);
        for line in whole.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let is_new = match words[..] {
                ["begun", number] => self.begun.insert(number.parse()?),
                ["ended", number, outcome, cost, attempts] => {
                    let (outcome, cost) = (outcome.to_owned(), cost.parse()?);
                    let ended = Ended { outcome, cost, attempts: attempts.parse()? };
                    self.ended.insert(number.parse()?, ended).is_none()
                }
                _ => anyhow::bail!("a caller said {line:?}"),
            };
            anyhow::ensure!(is_new, "a call was made twice: {line}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_read_up_to_its_last_whole_line() {
        let mut journal = Journal::default();
        journal.read("begun 1\nbegun 2\nended 1 ok 900 2\nended 2 time").unwrap();
        assert_eq!((journal.begun.len(), journal.ended.len()), (2, 1));
        let expected = Ended { outcome: "ok".to_owned(), cost: 900, attempts: 2 };
        assert_eq!(journal.ended[&1], expected);
        journal.read("").unwrap();
        assert!(journal.read("begun 2\n").is_err() && journal.read("hello\n").is_err());
    }
}
