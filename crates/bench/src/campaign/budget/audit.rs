//! Invariants after all callers have stopped: the ledger agrees with the providers' bills and with the costs that
//! callers got.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use gbrain_core::id::WorkspaceId;
use gbrain_store::{Charge, ChargeState, Store};
use gbrain_testkit::providers::{BilledAnswer, Fault, ProviderServer, Seen};

use super::Terms;
use super::caller::{Ended, Journal};
use super::calls::{Call, GONE_NAME, Tariff, name};
use crate::campaign::violations::Violations;

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Audit {
    /// Charges, which are attempts.
    pub attempts: usize,
    /// Calls that were answered.
    pub answered: usize,
    /// Calls that the budget had no room for.
    pub refused: usize,
    /// Calls that failed in another way.
    pub failed: usize,
    /// Calls that were under way when their process was killed.
    pub killed: usize,
    /// Charges that such a call left open, at their worst.
    pub open: usize,
    /// Charges of unknown cost, at their upper bound.
    pub lost: usize,
    /// The sum of charges, in billionths.
    pub charged: i64,
    /// The sum of the providers' bills, in billionths.
    pub bill: i64,
}

/// A call as its caller, the ledger and the provider recorded it.
#[derive(Debug, Default)]
struct Trail {
    charges: Vec<Charge>,
    seen: Vec<Seen>,
    billed: Vec<BilledAnswer>,
}

/// Compares all records with each other. All callers must have stopped.
pub(super) fn audit(
    store: &Store,
    terms: &Terms,
    server: &ProviderServer,
    journal: &Journal,
    violations: &Violations,
) -> Result<Audit> {
    let Terms { budgets, per_day, seed, calls } = terms;
    let mut charges = Vec::new();
    for (budget, cap) in budgets {
        let of_budget = store.charges(&WorkspaceId::default(), budget)?;
        check_sum(store, budget, *cap, &of_budget, violations)?;
        let numbers = of_budget.iter().map(|charge| charge.id.number);
        if !numbers.eq(1..=of_budget.len() as u64) {
            violations.add(format!("the numbers of {budget} are not 1 to {}", of_budget.len()));
        }
        charges.extend(of_budget);
    }
    check_days(store, *per_day, &charges, violations)?;
    let mut audit = Audit::default();
    let mut left_open = Vec::new();
    let mut trails = trails(charges, server);
    for number in 0..*calls {
        let call = Call::of(*seed, number);
        let trail = trails.remove(&name(number)).unwrap_or_default();
        let ended = journal.ended.get(&number);
        if !journal.begun.contains(&number) {
            violations.add(format!("call {number} was never made"));
        }
        let provider = &call.model.provider;
        audit.add(provider, &trail, ended);
        for what in trail.faults(provider, ended) {
            let fault = format!("call {number}: {what}, {trail:?}");
            if what == LEFT_OPEN { left_open.push(fault) } else { violations.add(fault) }
        }
    }
    // A database that takes no write for half a minute leaves a charge at its worst, which no budget
    // suffers from; that is rare on however busy a machine.
    if left_open.len() * RARE > *calls {
        left_open.into_iter().for_each(|fault| violations.add(fault));
    }
    trails
        .keys()
        .for_each(|model| violations.add(format!("nobody asked {model}, and it is there")));
    if audit.bill > audit.charged {
        violations.add(format!("{} is billed and {} charged", audit.bill, audit.charged));
    }
    Ok(audit)
}

/// Whether a call looks as if the database rejected its settlement.
const LEFT_OPEN: &str = "it ended, and a charge is open";
/// One call in so many may be left open.
const RARE: usize = 20;

fn nanos(charge: &Charge) -> i64 {
    charge.actual.unwrap_or(charge.worst).as_nanos()
}

/// A budget is the sum of its charges, and within its cap.
fn check_sum(
    store: &Store,
    budget: &str,
    cap: i64,
    charges: &[Charge],
    violations: &Violations,
) -> Result<()> {
    let state = store.budget(&WorkspaceId::default(), budget)?;
    let state = state.with_context(|| format!("there is no budget {budget}"))?;
    let (sum, charged) = (charges.iter().map(nanos).sum::<i64>(), state.charged.as_nanos());
    if sum != charged {
        violations.add(format!("{budget} says {charged}, and its charges are {sum}"));
    }
    if state.calls != charges.len() as u64 && !budget.starts_with(gbrain_store::DAILY_PREFIX) {
        violations.add(format!("{budget} counts {} calls and has {}", state.calls, charges.len()));
    }
    if charged > cap {
        violations.add(format!("{budget} is charged {charged}, and {cap} was allowed"));
    }
    Ok(())
}

/// So is every day.
fn check_days(
    store: &Store,
    per_day: i64,
    charges: &[Charge],
    violations: &Violations,
) -> Result<()> {
    let mut days: BTreeMap<&str, Vec<Charge>> = BTreeMap::new();
    for charge in charges {
        match &charge.standing {
            Some(day) => days.entry(day).or_default().push(charge.clone()),
            None => violations.add(format!("{:?} is of no day", charge.id)),
        }
    }
    days.into_iter()
        .try_for_each(|(day, charges)| check_sum(store, day, per_day, &charges, violations))
}

/// Everything, by the name of the call's model.
fn trails(charges: Vec<Charge>, server: &ProviderServer) -> BTreeMap<String, Trail> {
    let mut trails: BTreeMap<String, Trail> = BTreeMap::new();
    for charge in charges {
        let model = charge.model.split_once(':').map_or("", |(_, model)| model).to_owned();
        trails.entry(model).or_default().charges.push(charge);
    }
    for seen in server.seen() {
        trails.entry(seen.model.clone()).or_default().seen.push(seen);
    }
    for billed in server.billed() {
        trails.entry(billed.model.clone()).or_default().billed.push(billed);
    }
    trails
}

impl Audit {
    fn add(&mut self, provider: &str, trail: &Trail, ended: Option<&Ended>) {
        self.attempts += trail.charges.len();
        self.open += trail.of_state(ChargeState::Reserved).count();
        self.lost += trail.of_state(ChargeState::Lost).count();
        self.charged += trail.charged();
        self.bill += trail.due(provider);
        match ended.map(|ended| ended.outcome.as_str()) {
            Some("ok") => self.answered += 1,
            Some("over_budget") => self.refused += 1,
            Some(_) => self.failed += 1,
            None => self.killed += 1,
        }
    }
}

impl Trail {
    fn of_state(&self, state: ChargeState) -> impl Iterator<Item = &Charge> + Clone {
        self.charges.iter().filter(move |charge| charge.state == state)
    }

    fn charged(&self) -> i64 {
        self.charges.iter().map(nanos).sum()
    }

    fn due(&self, provider: &str) -> i64 {
        self.billed.iter().map(|one| bill(provider, one)).sum()
    }

    /// What is wrong with a call. All its attempts were the same request, so whatever was billed of it is the
    /// same bill.
    fn faults(&self, provider: &str, ended: Option<&Ended>) -> Vec<&'static str> {
        let Self { charges, seen, billed } = self;
        let (is_killed, is_gone) = (ended.is_none(), provider == GONE_NAME);
        let open = self.of_state(ChargeState::Reserved).count();
        let settled = self.of_state(ChargeState::Settled);
        let released = self.of_state(ChargeState::Released).count();
        let mut lost = self.of_state(ChargeState::Lost);
        // What was never sent: to nobody, or by a process that was killed before it could.
        let unsent = charges.len().wrapping_sub(seen.len());
        let refusals = seen.iter().filter(|one| matches!(one.fault, Fault::Status(..))).count();
        let told = billed.iter().filter(|one| one.told).count();
        let is_billed = |charge: &Charge| {
            let is_same = |one: &BilledAnswer| {
                let tokens = (Some(one.input), Some(one.output));
                nanos(charge) == bill(provider, one) && (charge.input, charge.output) == tokens
            };
            billed.iter().any(is_same)
        };
        let is_right = |ended: &Ended| {
            ended.outcome != "ok" || (ended.cost, ended.attempts) == (self.charged(), charges.len())
        };
        [
            ("an attempt has not one charge", !is_gone && unsent > usize::from(is_killed)),
            ("an attempt was not sent, and its charge is closed", !is_gone && unsent > open),
            ("somebody was reached who is not there", is_gone && !seen.is_empty()),
            (LEFT_OPEN, !is_killed && open > 0),
            ("more than one attempt was under way", open > 1),
            (
                "what nobody knows is not at its worst",
                lost.any(|one| one.actual != Some(one.worst)),
            ),
            ("a charge is not what was billed", !settled.clone().all(is_billed)),
            ("more was settled than told", settled.count() > told),
            ("what was not refused is given back", !is_gone && released > refusals),
            ("less is charged than billed", self.charged() < self.due(provider)),
            ("its caller was told another price", !ended.is_none_or(is_right)),
        ]
        .into_iter()
        .filter_map(|(what, is_wrong)| is_wrong.then_some(what))
        .collect()
    }
}

fn bill(provider: &str, one: &BilledAnswer) -> i64 {
    Tariff::find(provider).map_or(0, |tariff| tariff.of(one))
}

#[cfg(test)]
mod tests {
    use gbrain_core::money::Usd;
    use gbrain_store::ChargeId;
    use jiff::Timestamp;

    use super::*;

    fn charge(state: ChargeState, actual: Option<i64>) -> Charge {
        let tokens = (state == ChargeState::Settled).then_some(10);
        Charge {
            id: ChargeId { budget: "run".to_owned(), number: 1 },
            standing: None,
            model: "lab:call-1".to_owned(),
            purpose: String::new(),
            state,
            worst: Usd::nanos(9_000),
            actual: actual.map(Usd::nanos),
            input: tokens,
            output: tokens,
            created_at: Timestamp::UNIX_EPOCH,
        }
    }

    fn seen(fault: Fault) -> Seen {
        Seen { model: "call-1".to_owned(), fault }
    }

    fn billed(told: bool) -> BilledAnswer {
        BilledAnswer { model: "call-1".to_owned(), input: 10, output: 10, searches: 0, told }
    }

    fn ok(cost: i64, attempts: usize) -> Option<Ended> {
        Some(Ended { outcome: "ok".to_owned(), cost, attempts })
    }

    #[track_caller]
    fn check(trail: Trail, ended: Option<Ended>, expected: &[&str]) {
        assert_eq!(trail.faults("lab", ended.as_ref()), expected);
    }

    /// Ten tokens in and out of the lab cost 5000.
    #[test]
    fn audit_accepts_correct_charges() {
        use ChargeState::{Lost, Released, Reserved, Settled};
        let settled = || charge(Settled, Some(5_000));
        let (none, busy) = (|| seen(Fault::None), || seen(Fault::Status(429, None)));
        let trail = Trail {
            charges: vec![charge(Released, Some(0)), settled()],
            seen: vec![busy(), none()],
            billed: vec![billed(true)],
        };
        check(trail, ok(5_000, 2), &[]);
        let lost = charge(Lost, Some(9_000));
        let hung = seen(Fault::Cut);
        check(
            Trail { charges: vec![lost], seen: vec![hung], billed: vec![billed(false)] },
            Some(Ended { outcome: "timeout".to_owned(), cost: 0, attempts: 0 }),
            &[],
        );
        let open = || charge(Reserved, None);
        check(Trail { charges: vec![open()], seen: vec![], billed: vec![] }, None, &[]);
        let heard = Trail { charges: vec![open()], seen: vec![none()], billed: vec![billed(true)] };
        check(heard, None, &[]);
    }

    #[test]
    fn audit_reports_wrong_charges() {
        use ChargeState::{Released, Reserved, Settled};
        let none = || seen(Fault::None);
        let one = |charge: Charge| Trail {
            charges: vec![charge],
            seen: vec![none()],
            billed: vec![billed(true)],
        };
        let check_one = |charge, ended, expected: &[&str]| check(one(charge), ended, expected);
        check_one(charge(Settled, Some(5_001)), ok(5_001, 1), &["a charge is not what was billed"]);
        check_one(
            charge(Released, Some(0)),
            ok(0, 1),
            &["what was not refused is given back", "less is charged than billed"],
        );
        check_one(
            charge(ChargeState::Lost, Some(8_000)),
            ok(8_000, 1),
            &["what nobody knows is not at its worst"],
        );
        check_one(charge(Reserved, None), ok(9_000, 1), &["it ended, and a charge is open"]);
        check_one(
            charge(Settled, Some(5_000)),
            ok(4_000, 1),
            &["its caller was told another price"],
        );
        let twice = vec![charge(Settled, Some(5_000)), charge(Settled, Some(5_000))];
        let doubled = Trail { charges: twice, seen: vec![none()], billed: vec![billed(true)] };
        let found = [
            "an attempt has not one charge",
            "an attempt was not sent, and its charge is closed",
            "more was settled than told",
        ];
        check(doubled, ok(10_000, 2), &found);
        let free = Trail { charges: vec![], seen: vec![none()], billed: vec![billed(true)] };
        let found = [
            "an attempt has not one charge",
            "an attempt was not sent, and its charge is closed",
            "less is charged than billed",
            "its caller was told another price",
        ];
        check(free, ok(5_000, 1), &found);
    }
}
