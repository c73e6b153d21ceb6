//! Findings of the last contradiction probe, without private pages.

use gbrain_core::contradiction::{RunStatus, Severity, StatementRelation};
use gbrain_core::fault::Fault;
use gbrain_core::format::contradiction::{
    ContradictionReport, FoundContradictions, WireFinding, WireStatement,
};
use gbrain_core::id::SourceId;
use gbrain_core::request::Viewer;
use gbrain_eval::contradictions::current_findings;
use gbrain_store::RunKind;
use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::Deserialize;

use super::bounds::within;
use crate::http::{OperationCall, Reply};

/// Runs older than this are ignored.
const MAX_RUN_AGE: SignedDuration = SignedDuration::from_hours(30 * 24);
/// Default number of listed findings.
const DEFAULT_FINDINGS: usize = 20;

/// Which findings to list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FindContradictions {
    /// Only findings with a page whose name contains this, case-insensitive.
    #[serde(default)]
    #[schemars(length(max = 546))]
    pub slug: Option<String>,
    /// Only findings between pages of this source.
    #[serde(default)]
    #[schemars(regex(pattern = r"^[a-z0-9][a-z0-9-]{0,31}$"))]
    pub source: Option<String>,
    /// Only findings of this severity or above.
    #[serde(default)]
    pub severity: Option<Severity>,
    /// Only findings with this verdict.
    #[serde(default)]
    pub verdict: Option<StatementRelation>,
    /// The maximum number of findings; 20 by default.
    #[serde(default)]
    #[schemars(range(min = 1, max = 100))]
    pub limit: Option<u8>,
}

/// Lists the findings of the last run that still apply.
pub(crate) fn find(call: &OperationCall<'_>, input: FindContradictions) -> Result<Reply, Fault> {
    let limit = input.limit.map_or(DEFAULT_FINDINGS, usize::from);
    within("limit", Some(limit), 1..=100)?;
    within("characters of slug", input.slug.as_ref().map(|slug| slug.chars().count()), 0..=546)?;
    let source = input.source.as_deref().map(SourceId::new).transpose()?;
    let (store, ws) = (call.registry.store(), &call.principal.workspace);
    let since = call.now.saturating_sub(MAX_RUN_AGE).unwrap_or(call.now);
    let runs = store.runs(ws, RunKind::Contradictions, since, 1)?;
    let Some(run) = runs.into_iter().next() else {
        return Reply::json(&nothing("no contradiction probe ran in the last 30 days"));
    };
    let Ok(report) = serde_json::from_str::<ContradictionReport>(&run.body) else {
        return Reply::json(&nothing(
            "the last run has another format version: run the probe again",
        ));
    };
    let ContradictionReport { run_id, judge_model, run_status, findings, .. } = report;
    let mut found = current_findings(store, ws, findings, Viewer::Untrusted)?;
    found.retain(|finding| is_asked_for(finding, &input) && is_within(finding, source.as_ref()));
    let total = found.len();
    found.truncate(limit);
    let note = match run_status {
        RunStatus::Ok => None,
        RunStatus::Inconclusive => Some("the run could not judge every pair"),
        RunStatus::JudgeFailed => Some("the judge failed in this run: nothing was judged"),
    };
    Reply::json(&FoundContradictions {
        run_id: Some(run_id),
        ran_at: Some(format!("{:.3}", run.at)),
        judge_model: Some(judge_model),
        run_status: Some(run_status),
        contradictions: found,
        total,
        note: note.map(str::to_owned),
    })
}

fn nothing(note: &str) -> FoundContradictions {
    FoundContradictions {
        run_id: None,
        ran_at: None,
        judge_model: None,
        run_status: None,
        contradictions: Vec::new(),
        total: 0,
        note: Some(note.to_owned()),
    }
}

/// Whether both passages are from this source, if one is given.
fn is_within(finding: &WireFinding, source: Option<&SourceId>) -> bool {
    let is_of =
        |member: &WireStatement| source.is_none_or(|source| member.source_id == source.as_str());
    is_of(&finding.a) && is_of(&finding.b)
}

fn is_asked_for(finding: &WireFinding, input: &FindContradictions) -> bool {
    let holds = |part: &String| {
        let part = part.to_lowercase();
        let name = |member: &WireStatement| format!("{}::{}", member.source_id, member.slug);
        [&finding.a, &finding.b].iter().any(|one| name(one).to_lowercase().contains(&part))
    };
    input.slug.as_ref().is_none_or(holds)
        && input.severity.is_none_or(|least| finding.severity >= least)
        && input.verdict.is_none_or(|verdict| finding.verdict == verdict)
}
