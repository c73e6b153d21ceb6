//! What happened by day. Every answer is one statement over an index, however many suites or
//! captures there are.

use gbrain_core::activity::{CaptureDay, ChangeKind, PageChange, SpendDay, SuiteDay};
use gbrain_core::gate::Verdict;
use gbrain_core::id::{PageKey, Slug, SourceId, WorkspaceId};
use gbrain_core::money::Usd;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::{suite_runs, workspaces, write};
use crate::driver::{RowScope, SqlRow, SqlValue, collect};
use crate::spend::BudgetState;
use crate::store::Store;
use crate::suite::SuiteRunInfo;
use crate::{Result, row};

const MILLISECONDS_A_DAY: i64 = 86_400_000;

/// Runs against another target and stopped runs say nothing about their suite. `elsewhere` is how
/// earlier versions wrote `ad_hoc`.
const SUITE_DAYS: &str = "SELECT suite, finished_at / 86400000 AS day, count(*), \
     max(CASE WHEN verdict = 'fail' THEN id END), \
     max(CASE WHEN verdict = 'inconclusive' THEN id END), max(id) FROM suite_runs \
     WHERE workspace_id = $1 AND finished_at >= $2 \
     AND summary NOT LIKE '%\"ad_hoc\":true%' AND summary NOT LIKE '%\"elsewhere\":true%' \
     AND summary NOT LIKE '%\"inconclusive_reasons\":[\"cancelled\"]%' \
     GROUP BY suite, day ORDER BY suite, day";
/// The numbers come from an index, and only the chosen rows are read.
const NEWEST: &str = "SELECT id FROM (SELECT id, row_number() OVER \
     (PARTITION BY suite ORDER BY id DESC) AS place FROM suite_runs WHERE workspace_id = $1 \
     AND (suite = $2 OR $2 IS NULL)) AS numbered WHERE place <= $3";
const CAPTURE_DAYS: &str = "SELECT day, CAST(sum(stored) AS bigint), CAST(sum(failed) AS bigint) \
     FROM (SELECT created_at / 86400000 AS day, count(*) AS stored, 0 AS failed \
     FROM eval_candidates WHERE workspace_id = $1 AND created_at >= $2 AND remote GROUP BY 1 \
     UNION ALL SELECT ts / 86400000 AS day, 0 AS stored, count(*) AS failed \
     FROM eval_capture_failures WHERE workspace_id = $1 AND ts >= $2 GROUP BY 1) AS both_kinds \
     GROUP BY day ORDER BY day";
const SPEND_DAYS: &str = "SELECT created_at / 86400000 AS day, count(*), \
     CAST(sum(COALESCE(actual, worst)) AS bigint) FROM charges \
     WHERE workspace_id = $1 AND created_at >= $2 GROUP BY 1 ORDER BY 1";
const BUDGETS: &str = "SELECT name, cap, charged, calls, created_at FROM budgets \
     WHERE workspace_id = $1 AND created_at >= $2 ORDER BY created_at DESC, name LIMIT $3";
/// The last 2,000 changes at most are read, however few of them are of public pages.
const RECENT_CHANGES: &str = "SELECT p.source_id, p.slug, p.title, c.version, c.op, c.at \
     FROM changes c JOIN pages p ON p.workspace_id = c.workspace_id AND p.page_id = c.page_id \
     WHERE c.workspace_id = $1 AND c.op IN ('write', 'delete') AND p.visibility = 'world' \
     AND c.generation > (SELECT head - 2000 FROM workspaces WHERE id = $1) \
     ORDER BY c.generation DESC LIMIT $2";

impl Store {
    /// The runs of all suites by day, by suite and day. Runs against another target and stopped
    /// runs are left out.
    pub fn suite_days(
        &self,
        ws: &WorkspaceId,
        since: Timestamp,
    ) -> Result<Vec<(String, SuiteDay)>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            collect(session, SUITE_DAYS, &[ws.into(), midnight(since).into()], suite_day)
        })
    }

    /// The newest runs of every suite, or of one, at most `each` of a suite: by suite, newest first.
    pub fn newest_suite_runs(
        &self,
        ws: &WorkspaceId,
        suite: Option<&str>,
        each: usize,
    ) -> Result<Vec<SuiteRunInfo>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            write::refuse_nul_in(suite.unwrap_or_default(), || "the name of the suite".to_owned())?;
            let sql = format!("{} AND id IN ({NEWEST}) ORDER BY suite, id DESC", suite_runs::LIST);
            let params: [SqlValue<'_>; 3] = [ws.into(), suite.into(), each.into()];
            collect(session, &sql, &params, suite_runs::info)
        })
    }

    /// Captures of remote requests and capture failures by day.
    pub fn capture_days(&self, ws: &WorkspaceId, since: Timestamp) -> Result<Vec<CaptureDay>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            collect(session, CAPTURE_DAYS, &[ws.into(), midnight(since).into()], |row| {
                let (stored, failed) = (row::natural(row, 1)?, row::natural(row, 2)?);
                Ok(CaptureDay { day: date(row, 0)?, stored, failed })
            })
        })
    }

    /// Charges by day.
    pub fn spend_days(&self, ws: &WorkspaceId, since: Timestamp) -> Result<Vec<SpendDay>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            collect(session, SPEND_DAYS, &[ws.into(), since.as_millisecond().into()], |row| {
                let (calls, charged) = (row::natural(row, 1)?, Usd::nanos(row.int(2)?));
                Ok(SpendDay { day: date(row, 0)?, calls, charged })
            })
        })
    }

    /// Budgets that were first charged at `since` or later, newest first, at most `limit`.
    pub fn budgets(
        &self,
        ws: &WorkspaceId,
        since: Timestamp,
        limit: usize,
    ) -> Result<Vec<BudgetState>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            let params = [ws.into(), since.as_millisecond().into(), limit.into()];
            collect(session, BUDGETS, &params, super::spend::budget_state)
        })
    }

    /// The last changes of pages that are not private, newest first, at most `limit`. Only the last
    /// 2,000 changes of the workspace are looked at.
    pub fn recent_changes(&self, ws: &WorkspaceId, limit: usize) -> Result<Vec<PageChange>> {
        self.read(RowScope::Workspace(ws), |session| {
            workspaces::workspace_state(session, ws)?;
            collect(session, RECENT_CHANGES, &[ws.into(), limit.into()], |row| {
                let version = row::small(row, 3)?;
                let change = match (row.text(4)?.as_str(), version) {
                    ("delete", _) => ChangeKind::Deleted,
                    (_, 1) => ChangeKind::Added,
                    _ => ChangeKind::Changed,
                };
                Ok(PageChange {
                    page: PageKey {
                        source: SourceId::new(&row.text(0)?)?,
                        slug: Slug::new(&row.text(1)?)?,
                    },
                    title: row.text(2)?,
                    version,
                    change,
                    at: row::timestamp(row.int(5)?)?,
                })
            })
        })
    }
}

/// The beginning of a day, so that its counts are whole.
fn midnight(moment: Timestamp) -> i64 {
    moment.as_millisecond().div_euclid(MILLISECONDS_A_DAY) * MILLISECONDS_A_DAY
}

/// A day by its number since 1970-01-01.
fn date(row: &dyn SqlRow, column: usize) -> Result<Date> {
    let start = row::timestamp(row.int(column)?.saturating_mul(MILLISECONDS_A_DAY))?;
    Ok(start.to_zoned(TimeZone::UTC).date())
}

fn suite_day(row: &dyn SqlRow) -> Result<(String, SuiteDay)> {
    let (failed, inconclusive, last) = (row.opt_int(3)?, row.opt_int(4)?, row.int(5)?);
    let (verdict, run) = match (failed, inconclusive) {
        (Some(run), _) => (Verdict::Fail, run),
        (None, Some(run)) => (Verdict::Inconclusive, run),
        (None, None) => (Verdict::Pass, last),
    };
    Ok((row.text(0)?, SuiteDay { day: date(row, 1)?, runs: row::natural(row, 2)?, verdict, run }))
}
