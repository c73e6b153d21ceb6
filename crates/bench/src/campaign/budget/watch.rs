//! Reads the ledger all the time while other processes write it and are killed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use gbrain_core::id::WorkspaceId;
use gbrain_store::{DAILY_PREFIX, Store};
use gbrain_testkit::providers::ProviderServer;
use jiff::Timestamp;

use super::Terms;
use super::calls::{Call, Tariff};
use crate::campaign::violations::Violations;

/// How long between two looks at the budgets.
const LOOK: Duration = Duration::from_millis(3);
/// How long between two times when everything is added up.
const COUNT: Duration = Duration::from_millis(150);

/// Looks until it is told that everything is over; how often it looked.
pub(super) fn watch(
    store: &Store,
    terms: &Terms,
    server: &ProviderServer,
    over: &AtomicBool,
    violations: &Violations,
) -> Result<usize> {
    let (mut looks, mut counted) = (0, Instant::now());
    while !over.load(Ordering::Relaxed) {
        look(store, terms, violations)?;
        if counted.elapsed() > COUNT {
            count(store, terms, server, violations)?;
            counted = Instant::now();
        }
        looks += 1;
        std::thread::sleep(LOOK);
    }
    Ok(looks)
}

fn look(store: &Store, terms: &Terms, violations: &Violations) -> Result<()> {
    let today = (format!("{DAILY_PREFIX}{}", Timestamp::now().strftime("%F")), terms.per_day);
    for (budget, cap) in terms.budgets.iter().chain([&today]) {
        let state = store.budget(&WorkspaceId::default(), budget)?;
        let charged = state.map_or(0, |state| state.charged.as_nanos());
        if charged > *cap {
            violations.add(format!("{budget} was charged {charged} of {cap} for a moment"));
        }
    }
    Ok(())
}

/// Costs that were billed up to a moment are charged after it, including calls in flight.
fn count(
    store: &Store,
    terms: &Terms,
    server: &ProviderServer,
    violations: &Violations,
) -> Result<()> {
    let billed = server.billed();
    let mut charged = 0;
    for (budget, cap) in &terms.budgets {
        let charges = store.charges(&WorkspaceId::default(), budget)?;
        let sum: i64 = charges.iter().map(|one| one.actual.unwrap_or(one.worst).as_nanos()).sum();
        if sum > *cap {
            violations.add(format!("the charges of {budget} were {sum} of {cap} for a moment"));
        }
        charged += sum;
    }
    let bill = |one: &gbrain_testkit::providers::BilledAnswer| {
        let number = one.model.strip_prefix("call-").and_then(|number| number.parse().ok());
        let provider = number.map(|number| Call::of(terms.seed, number).model.provider);
        provider.and_then(|name| Tariff::find(&name)).map_or(0, |tariff| tariff.of(one))
    };
    let due: i64 = billed.iter().map(bill).sum();
    if due > charged {
        violations.add(format!("{due} was billed and {charged} charged for a moment"));
    }
    Ok(())
}
