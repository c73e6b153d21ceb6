//! Charges and their budgets.

use gbrain_core::activity::SpendLine;
use gbrain_core::id::WorkspaceId;
use gbrain_core::money::Usd;
use jiff::Timestamp;

use super::{workspaces, write};
use crate::driver::{RowScope, SqlRow, SqlSession, collect, first};
use crate::spend::{Budget, BudgetState, Charge, ChargeId, ChargeState, NewCharge, Settlement};
use crate::store::Store;
use crate::{Result, StoreError, row};

/// Locks the budget's row until the end of the transaction, so charges of a budget are serialised.
const CLAIM: &str = "INSERT INTO budgets (workspace_id, name, cap, charged, calls, created_at) \
     VALUES ($1, $2, $3, $4, 1, $5) ON CONFLICT (workspace_id, name) DO UPDATE SET \
     cap = excluded.cap, charged = budgets.charged + excluded.charged, calls = budgets.calls + 1 \
     WHERE budgets.charged <= excluded.cap - excluded.charged RETURNING calls";
const ADD: &str = "INSERT INTO charges (workspace_id, budget, number, standing, model, purpose, \
     state, worst, created_at) VALUES ($1, $2, $3, $4, $5, $6, 'reserved', $7, $8)";
const SETTLE: &str = "UPDATE charges SET state = $4, actual = COALESCE($5, worst), \
     input_tokens = $6, output_tokens = $7, settled_at = $8 \
     WHERE workspace_id = $1 AND budget = $2 AND number = $3 AND state = 'reserved' \
     RETURNING worst, actual, standing";
const CORRECT: &str = "UPDATE budgets SET charged = charged + $3 \
     WHERE workspace_id = $1 AND name = $2";
const BUDGET: &str = "SELECT name, cap, charged, calls, created_at FROM budgets \
     WHERE workspace_id = $1 AND name = $2";
const CHARGES: &str = "SELECT budget, number, standing, model, purpose, state, worst, actual, \
     input_tokens, output_tokens, created_at FROM charges WHERE workspace_id = $1 AND budget = $2 ORDER BY number";
const LINES: &str = "SELECT model, purpose, count(*), \
     CAST(sum(CASE WHEN state IN ('reserved', 'lost') THEN 1 ELSE 0 END) AS bigint), \
     CAST(sum(COALESCE(actual, worst)) AS bigint) FROM charges \
     WHERE workspace_id = $1 AND created_at >= $2 GROUP BY model, purpose ORDER BY model, purpose";

/// The maximum settled cost of a call: a million dollars. An absurd token count from a provider
/// exhausts any budget with that, without overflowing it, which would leave the charge at its worst
/// case.
const MAX_SETTLED_COST: Usd = Usd::cents(100_000_000);

impl Store {
    /// Reserves the maximum cost of a call in its budgets before it is made, all or none:
    /// [`StoreError::OverBudget`] if it does not fit one of them. Callers of one budget are
    /// serialised, across processes.
    pub fn reserve(
        &self,
        ws: &WorkspaceId,
        charge: &NewCharge,
        now: Timestamp,
    ) -> Result<ChargeId> {
        self.write_beside(ws, |session| {
            let NewCharge { budget, standing, model, purpose, worst } = charge;
            workspaces::workspace_state(session, ws)?;
            for text in [&budget.name, model, purpose] {
                write::refuse_nul_in(text, || "a charge".to_owned())?;
            }
            let number = claim(session, ws, budget, *worst, now)?;
            if let Some(standing) = standing {
                claim(session, ws, standing, *worst, now)?;
            }
            let params = [
                ws.into(),
                budget.name.as_str().into(),
                number.into(),
                standing.as_ref().map(|standing| standing.name.as_str()).into(),
                model.as_str().into(),
                purpose.as_str().into(),
                worst.as_nanos().into(),
                now.as_millisecond().into(),
            ];
            session.execute(ADD, &params)?;
            let number =
                u64::try_from(number).map_err(|_| StoreError::corrupt("a count is negative"))?;
            Ok(ChargeId { budget: budget.name.clone(), number })
        })
    }

    /// Settles a charge with the actual cost of the call. Returns false and changes nothing if it
    /// was settled before.
    pub fn settle(
        &self,
        ws: &WorkspaceId,
        id: &ChargeId,
        settlement: &Settlement,
        now: Timestamp,
    ) -> Result<bool> {
        self.write_beside(ws, |session| {
            workspaces::workspace_state(session, ws)?;
            let (state, actual, input, output) = match *settlement {
                Settlement::Cost { usd, input, output } => (
                    ChargeState::Settled,
                    Some(usd.min(MAX_SETTLED_COST).as_nanos()),
                    Some(input),
                    Some(output),
                ),
                Settlement::Free => (ChargeState::Released, Some(0), None, None),
                Settlement::Unknown => (ChargeState::Lost, None, None, None),
            };
            let params = [
                ws.into(),
                id.budget.as_str().into(),
                id.number.into(),
                state.name().into(),
                actual.into(),
                input.into(),
                output.into(),
                now.as_millisecond().into(),
            ];
            let settled = first(session, SETTLE, &params, |row| {
                Ok((row.int(1)? - row.int(0)?, row.opt_text(2)?))
            })?;
            let Some((difference, standing)) = settled else { return Ok(false) };
            for name in [Some(&id.budget), standing.as_ref()].into_iter().flatten() {
                session.execute(CORRECT, &[ws.into(), name.as_str().into(), difference.into()])?;
            }
            Ok(true)
        })
    }

    /// A budget with at least one charge.
    pub fn budget(&self, ws: &WorkspaceId, name: &str) -> Result<Option<BudgetState>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            write::refuse_nul_in(name, || "the name of a budget".to_owned())?;
            state(session, ws, name)
        })
    }

    /// The charges of a budget, by number.
    pub fn charges(&self, ws: &WorkspaceId, budget: &str) -> Result<Vec<Charge>> {
        self.read(RowScope::Workspace(ws), |session| charges(session, ws, budget))
    }

    /// The charges at `since` or later, by model and purpose.
    pub fn spend(&self, ws: &WorkspaceId, since: Timestamp) -> Result<Vec<SpendLine>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            collect(session, LINES, &[ws.into(), since.as_millisecond().into()], |row| {
                Ok(SpendLine {
                    model: row.text(0)?,
                    purpose: row.text(1)?,
                    calls: row::natural(row, 2)?,
                    unsettled: row::natural(row, 3)?,
                    charged: Usd::nanos(row.int(4)?),
                })
            })
        })
    }
}

/// Charges a budget, if the amount fits; returns the number of the call in it.
fn claim(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    budget: &Budget,
    worst: Usd,
    now: Timestamp,
) -> Result<i64> {
    let Budget { name, cap } = budget;
    let params = [
        ws.into(),
        name.as_str().into(),
        cap.as_nanos().into(),
        worst.as_nanos().into(),
        now.as_millisecond().into(),
    ];
    if worst <= *cap
        && let Some(number) = first(session, CLAIM, &params, |row| row.int(0))?
    {
        return Ok(number);
    }
    let charged = state(session, ws, name)?.map_or(Usd::ZERO, |state| state.charged);
    Err(StoreError::OverBudget { budget: name.clone(), left: cap.saturating_sub(charged), worst })
}

fn state(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    name: &str,
) -> Result<Option<BudgetState>> {
    first(session, BUDGET, &[ws.into(), name.into()], budget_state)
}

pub(super) fn budget_state(row: &dyn SqlRow) -> Result<BudgetState> {
    Ok(BudgetState {
        name: row.text(0)?,
        cap: Usd::nanos(row.int(1)?),
        charged: Usd::nanos(row.int(2)?),
        calls: row::natural(row, 3)?,
        created_at: row::timestamp(row.int(4)?)?,
    })
}

pub(super) fn charges(
    session: &mut dyn SqlSession,
    ws: &WorkspaceId,
    name: &str,
) -> Result<Vec<Charge>> {
    workspaces::workspace_state(session, ws)?;
    write::refuse_nul_in(name, || "the name of a budget".to_owned())?;
    collect(session, CHARGES, &[ws.into(), name.into()], |row| {
        Ok(Charge {
            id: ChargeId { budget: row.text(0)?, number: row::natural(row, 1)? },
            standing: row.opt_text(2)?,
            model: row.text(3)?,
            purpose: row.text(4)?,
            state: row::name(row, 5, ChargeState::from_name)?,
            worst: Usd::nanos(row.int(6)?),
            actual: row.opt_int(7)?.map(Usd::nanos),
            input: tokens(row, 8)?,
            output: tokens(row, 9)?,
            created_at: row::timestamp(row.int(10)?)?,
        })
    })
}

fn tokens(row: &dyn SqlRow, at: usize) -> Result<Option<u64>> {
    let negative = |_| StoreError::corrupt("a count is negative");
    row.opt_int(at)?.map(u64::try_from).transpose().map_err(negative)
}
