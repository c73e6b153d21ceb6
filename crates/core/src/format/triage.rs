//! Triage of a failed run on the wire: causes and mitigations.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::gate::Verdict;
use crate::triage::{CaseFinding, FailureCause, FailureCauseFinding, Triage, TriageSubject};

/// The version of [`TriageBody`].
pub(crate) const TRIAGE_VERSION: u32 = 1;

/// The triage of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Triage")]
pub struct TriageBody {
    /// Version of this format.
    pub schema_version: u32,
    /// The number of the run.
    pub run: i64,
    /// The alert that was triaged, if it was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alert: Option<String>,
    pub suite: String,
    pub workspace: String,
    pub target: String,
    pub started_at: String,
    /// The verdict of the run itself.
    pub run_verdict: Verdict,
    /// The verdict of the triage: pass if nothing is wrong, fail if something is, inconclusive if
    /// it cannot be decided.
    pub verdict: Verdict,
    /// The class with the most cases; null when nothing is wrong.
    pub class: Option<FailureCause>,
    /// Findings, those with the most cases first.
    pub findings: Vec<FailureCauseFinding>,
    /// Checks that could not be made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl TriageBody {
    /// The wire form, with the notes of the triage. `texts` gives the text of a query, where the
    /// reader may see it.
    pub fn new(
        subject: &TriageSubject,
        triage: Triage,
        notes: Vec<String>,
        texts: &dyn Fn(&str) -> Option<String>,
    ) -> Self {
        let TriageSubject { run, body, alert, notes: _ } = subject;
        let Triage { class, mut findings, verdict } = triage;
        for case in findings.iter_mut().flat_map(|finding| &mut finding.cases) {
            case.query = texts(&case.query_id);
        }
        Self {
            schema_version: TRIAGE_VERSION,
            run: *run,
            alert: alert.clone(),
            suite: body.suite.clone(),
            workspace: body.workspace.clone(),
            target: body.target.clone(),
            started_at: body.started_at.clone(),
            run_verdict: body.verdict,
            verdict,
            class,
            findings,
            notes,
        }
    }

    /// Every case with its class, in order.
    pub fn cases(&self) -> impl Iterator<Item = (FailureCause, &CaseFinding)> {
        self.findings.iter().flat_map(|one| one.cases.iter().map(move |case| (one.class, case)))
    }
}
