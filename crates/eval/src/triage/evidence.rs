//! Collects the evidence of every affected case.

use std::collections::BTreeMap;

use gbrain_brain::Brain;
use gbrain_core::format::triage::TriageBody;
use gbrain_core::id::WorkspaceId;
use gbrain_core::request::Viewer;
use gbrain_core::suite::SuiteRun;
use gbrain_core::suite::case::{CaseDefect, DEPTH};
use gbrain_core::suite::graph::Faithfulness;
use gbrain_core::suite::query::{CanonicalQuery, KeyKind, ResultKey};
use gbrain_core::suite::run::RunCase;
use gbrain_core::suite::{Suite, SuiteKind};
use gbrain_core::triage::{
    AffectedCase, CaseEvidence, ExaminedCase, MissingPage, MitigationContext, Rerun, TriageSubject,
    affected, classify, is_below_rank_five, triage,
};
use gbrain_store::{Store, StoreError};

use super::deeper::DeeperAnswer;
use super::local::LocalBrain;
use super::logs::{LoggedCase, add_edges, add_stages, logs};
use super::{TriageError, remote};
use crate::retriever::Retriever;
use crate::suite::{registered, stored};

pub struct TriageContext<'a> {
    pub store: &'a Store,
    pub workspace: &'a WorkspaceId,
    /// The brain, if it is the target of the run.
    pub brain: Option<&'a Brain>,
    /// The target to ask again; `None` to use stored data only.
    pub again: Option<&'a dyn Retriever>,
    /// The viewer of the result: private pages do not exist for an untrusted one.
    pub trust: Viewer,
    /// Whether paid models may be used.
    pub may_cost: bool,
    /// Why the target of the run cannot be found any more.
    pub target_problem: Option<String>,
    /// Progress callback: cases done and total.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

/// The data that is loaded once for all cases of a run.
struct RunEvidence<'a> {
    run: &'a SuiteRun,
    logs: BTreeMap<String, LoggedCase>,
    queries: BTreeMap<String, CanonicalQuery>,
    local: Option<LocalBrain<'a>>,
}

/// Triages a run. `shows_queries` adds the texts of queries to their ids.
pub fn triage_run(
    context: &TriageContext<'_>,
    subject: &TriageSubject,
    shows_queries: bool,
) -> Result<TriageBody, TriageError> {
    let (store, ws, run) = (context.store, context.workspace, &subject.body);
    let queries = stored(store, ws)?;
    let queries: BTreeMap<String, CanonicalQuery> =
        queries.into_iter().map(|one| (one.id.clone(), one)).collect();
    let evidence_sources = RunEvidence {
        run,
        logs: logs(store, ws, &run.key)?,
        local: match context.brain {
            Some(brain) => Some(LocalBrain::new(context, brain, run, &queries)?),
            None => None,
        },
        queries,
    };
    let affected = affected(run);
    let mut cases = Vec::new();
    for (at, one) in affected.iter().enumerate() {
        cases.push(evidence_sources.case_evidence(context, one, shows_queries)?);
        (context.progress)(at + 1, affected.len());
    }
    let (own, smoke) = (suite(store, ws, &run.suite)?, smoke(store, ws)?);
    let smoke = smoke.as_ref();
    let remedy = MitigationContext {
        workspace: ws.as_str(),
        run: subject.run,
        suite: Rerun { name: &run.suite, target: own.as_ref().map(|one| one.target.as_str()) },
        smoke: smoke.map(|one| Rerun { name: &one.name, target: Some(&one.target) }),
        target: &run.target,
        is_target_unknown: context.target_problem.is_some(),
        is_other_model: evidence_sources.local.as_ref().is_some_and(|local| local.is_other_model),
        reasons: &run.inconclusive_reasons,
        lost: &[],
    };
    let found = triage(run, cases, &remedy);
    let mut notes = subject.notes.clone();
    notes.extend(context.target_problem.clone());
    if evidence_sources.logs.is_empty() && run.asked > 0 {
        notes.push("the logs of the run are gone".to_owned());
    }
    let texts = |id: &str| {
        evidence_sources.queries.get(id).filter(|_| shows_queries).map(|query| query.text.clone())
    };
    Ok(TriageBody::new(subject, found, notes, &texts))
}

/// A registered suite; `None` if there is none of this name.
fn suite(store: &Store, ws: &WorkspaceId, name: &str) -> Result<Option<Suite>, StoreError> {
    Ok(store.suite(ws, name)?.and_then(|stored| registered(&stored).ok()))
}

/// The smoke suite, to be run after a repair.
fn smoke(store: &Store, ws: &WorkspaceId) -> Result<Option<Suite>, StoreError> {
    let mut suites = store.suites(ws)?.into_iter().filter_map(|stored| registered(&stored).ok());
    Ok(suites.find(|suite| suite.kind == SuiteKind::Smoke))
}

impl RunEvidence<'_> {
    /// Collects the evidence of a case; among its expected results, that of the first class in
    /// triage order.
    fn case_evidence(
        &self,
        context: &TriageContext<'_>,
        affected: &AffectedCase<'_>,
        shows_queries: bool,
    ) -> Result<ExaminedCase, TriageError> {
        let case = affected.case;
        let logged = self.logs.get(&case.query_id);
        let mut own = self.of_case(affected, logged);
        let id = case.query_id.clone();
        let Some(query) = self.queries.get(&id) else {
            own.notes.push("its query is no longer kept".to_owned());
            return Ok(ExaminedCase { id, lost: None, evidence: own });
        };
        let again = DeeperAnswer::new(context, query, &own);
        let mut found: Option<(CaseEvidence, &ResultKey)> = None;
        for key in must_find(query) {
            let mut evidence = own.clone();
            self.of_key(context, query, key, logged, &again, &mut evidence)?;
            let is_first = |(other, _): &(CaseEvidence, &ResultKey)| {
                classify(&evidence).class < classify(other).class
            };
            if found.as_ref().is_none_or(is_first) {
                found = Some((evidence, key));
            }
        }
        Ok(match found {
            None => ExaminedCase { id, lost: None, evidence: own },
            Some((evidence, key)) => {
                let is_named = key.kind == KeyKind::Document && context.trust == Viewer::Trusted;
                let lost = is_named.then(|| MissingPage {
                    page: key.id.clone(),
                    is_deleted: evidence.is_deleted,
                    query: shows_queries.then(|| query.text.clone()),
                });
                ExaminedCase { id, lost, evidence }
            }
        })
    }

    /// The evidence of the run and its log, before any expected result is considered.
    fn of_case(&self, affected: &AffectedCase<'_>, logged: Option<&LoggedCase>) -> CaseEvidence {
        let AffectedCase { case, is_missed, limit_ms } = *affected;
        // A result that counts as missed for recall is missed, even if it is further down.
        let is_missed = is_missed || !case.missed.is_empty();
        let is_below_rank_five =
            is_below_rank_five(self.run, case) || case.rank.is_some() && !case.missed.is_empty();
        let took = case.latency_ms.get("total").copied();
        let mut evidence = CaseEvidence {
            error: case.error,
            fallbacks: case.fallbacks.clone(),
            took_ms: took.filter(|_| limit_ms.is_some()),
            allowed_ms: limit_ms.filter(|_| took.is_some()),
            threshold: logged.and_then(|one| one.threshold).or(self.run.rerank_threshold),
            is_bypassed: logged.is_some_and(|one| one.is_bypassed),
            depth: if is_below_rank_five { DEPTH / 2 } else { DEPTH },
            is_missed,
            is_made_up: is_made_up(case),
            ..CaseEvidence::default()
        };
        if let (Some(rank), true) = (case.rank, is_missed) {
            evidence.deeper_rank = Some(rank);
        }
        evidence
    }

    /// Adds the evidence about one expected result.
    fn of_key(
        &self,
        context: &TriageContext<'_>,
        query: &CanonicalQuery,
        key: &ResultKey,
        logged: Option<&LoggedCase>,
        again: &DeeperAnswer,
        evidence: &mut CaseEvidence,
    ) -> Result<(), TriageError> {
        let named = match &self.local {
            Some(local) => local.documents(key)?,
            None => vec![key.id.clone()],
        };
        let is_it = |document: &str| named.iter().any(|name| names(name, document));
        match logged.and_then(|one| one.stages.as_ref()).or(again.stage_ids()) {
            Some(stages) => add_stages(stages, &is_it, evidence),
            None => evidence.notes.push("the target reports no stage details".to_owned()),
        }
        let edges = logged.map_or(&[][..], |one| &one.edges);
        add_edges(edges, &is_it, evidence);
        again.add_rank_evidence(&is_it, evidence);
        match &self.local {
            Some(local) => local.check_presence(query, key, evidence)?,
            None => remote::check_presence(context, query, &is_it, evidence),
        }
        Ok(())
    }
}

/// Whether the answer shows or claims something that no text states.
fn is_made_up(case: &RunCase) -> bool {
    case.flags.contains(&CaseDefect::HallucinatedContent)
        || case.rationale == Some(Faithfulness::Unfaithful)
}

/// The results that must be found: the expected ones, or the acceptable ones if none is expected.
pub(super) fn must_find(query: &CanonicalQuery) -> &[ResultKey] {
    if query.expected.is_empty() { &query.acceptable } else { &query.expected }
}

/// Whether a name refers to a document. A name without a source matches any source.
fn names(name: &str, document: &str) -> bool {
    let bare = document.rsplit_once("::").map(|(_, slug)| slug);
    name == document || (!name.contains("::") && bare == Some(name))
}
