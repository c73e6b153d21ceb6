//! The evidence of every affected case, from wherever it can be had.

use std::collections::BTreeMap;

use gbrain_brain::Brain;
use gbrain_core::format::triage::{TriageBody, TriageParts};
use gbrain_core::id::WorkspaceId;
use gbrain_core::request::Viewer;
use gbrain_core::suite::SuiteRun;
use gbrain_core::suite::case::{DEPTH, Flag};
use gbrain_core::suite::graph::Faith;
use gbrain_core::suite::query::{CanonicalQuery, Key, KeyKind};
use gbrain_core::suite::run::RunCase;
use gbrain_core::suite::{Kind, Suite};
use gbrain_core::triage::{
    Affected, Evidence, Looked, Lost, Remedy, Rerun, affected, classify, is_late, triage,
};
use gbrain_store::{Store, StoreError};

use super::again::Again;
use super::local::Here;
use super::logs::{Logged, linked, logs, staged};
use super::{Subject, TriageError, elsewhere};
use crate::retriever::Retriever;
use crate::suite::{registered, stored};

/// What a triage is made with.
pub struct TriageMeans<'a> {
    /// Where everything is kept.
    pub store: &'a Store,
    pub workspace: &'a WorkspaceId,
    /// The brain, where it is the one that was asked.
    pub brain: Option<&'a Brain>,
    /// Who is asked again; none to look only at what is kept.
    pub again: Option<&'a dyn Retriever>,
    /// Whose eyes it is for: to somebody who may not see a private page, it is not there.
    pub trust: Viewer,
    /// Whether asking may cost something: then models take part.
    pub may_cost: bool,
    /// Why the target that was asked can't be found any more: nobody describes it.
    pub target_problem: Option<String>,
    /// Told how many cases are done, and of how many.
    pub progress: &'a (dyn Fn(usize, usize) + Sync),
}

/// What is known before a case is looked at.
struct Known<'a> {
    run: &'a SuiteRun,
    logs: BTreeMap<String, Logged>,
    queries: BTreeMap<String, CanonicalQuery>,
    here: Option<Here<'a>>,
}

/// Looks at a run. `shows_queries` puts the texts of queries beside their ids.
pub fn look(
    means: &TriageMeans<'_>,
    subject: &Subject,
    shows_queries: bool,
) -> Result<TriageBody, TriageError> {
    let (store, ws, run) = (means.store, means.workspace, &subject.body);
    let queries = stored(store, ws)?;
    let queries: BTreeMap<String, CanonicalQuery> =
        queries.into_iter().map(|one| (one.id.clone(), one)).collect();
    let known = Known {
        run,
        logs: logs(store, ws, &run.key)?,
        here: match means.brain {
            Some(brain) => Some(Here::new(means, brain, run, &queries)?),
            None => None,
        },
        queries,
    };
    let affected = affected(run);
    let mut looked = Vec::new();
    for (at, one) in affected.iter().enumerate() {
        looked.push(known.looked(means, one, shows_queries)?);
        (means.progress)(at + 1, affected.len());
    }
    let (own, smoke) = (suite(store, ws, &run.suite)?, smoke(store, ws)?);
    let smoke = smoke.as_ref();
    let remedy = Remedy {
        workspace: ws.as_str(),
        run: subject.run,
        suite: Rerun { name: &run.suite, target: own.as_ref().map(|one| one.target.as_str()) },
        smoke: smoke.map(|one| Rerun { name: &one.name, target: Some(&one.target) }),
        target: &run.target,
        is_target_unknown: means.target_problem.is_some(),
        is_other_model: known.here.as_ref().is_some_and(|here| here.is_other_model),
        reasons: &run.inconclusive_reasons,
        lost: &[],
    };
    let found = triage(run, looked, &remedy);
    let mut notes = subject.notes.clone();
    notes.extend(means.target_problem.clone());
    if known.logs.is_empty() && run.asked > 0 {
        notes.push("the logs of the run are gone".to_owned());
    }
    let texts =
        |id: &str| known.queries.get(id).filter(|_| shows_queries).map(|query| query.text.clone());
    let alert = subject.alert.as_deref();
    let parts = TriageParts { run: subject.run, body: run, alert, triage: &found, notes: &notes };
    Ok(TriageBody::new(&parts, &texts))
}

/// A suite as it is registered; none where it is not.
fn suite(store: &Store, ws: &WorkspaceId, name: &str) -> Result<Option<Suite>, StoreError> {
    Ok(store.suite(ws, name)?.and_then(|stored| registered(&stored).ok()))
}

/// A suite that is run after something was mended.
fn smoke(store: &Store, ws: &WorkspaceId) -> Result<Option<Suite>, StoreError> {
    let mut suites = store.suites(ws)?.into_iter().filter_map(|stored| registered(&stored).ok());
    Ok(suites.find(|suite| suite.kind == Kind::Smoke))
}

impl Known<'_> {
    /// A case with what is known of it: of what must be found, that which is explained first.
    fn looked(
        &self,
        means: &TriageMeans<'_>,
        affected: &Affected<'_>,
        shows_queries: bool,
    ) -> Result<Looked, TriageError> {
        let case = affected.case;
        let logged = self.logs.get(&case.query_id);
        let mut own = self.of_case(affected, logged);
        let id = case.query_id.clone();
        let Some(query) = self.queries.get(&id) else {
            own.notes.push("its query is no longer kept".to_owned());
            return Ok(Looked { id, lost: None, evidence: own });
        };
        let again = Again::new(means, query, &own);
        let mut found: Option<(Evidence, &Key)> = None;
        for key in must_find(query) {
            let mut evidence = own.clone();
            self.of_key(means, query, key, logged, &again, &mut evidence)?;
            let is_first =
                |(other, _): &(Evidence, &Key)| classify(&evidence).class < classify(other).class;
            if found.as_ref().is_none_or(is_first) {
                found = Some((evidence, key));
            }
        }
        Ok(match found {
            None => Looked { id, lost: None, evidence: own },
            Some((evidence, key)) => {
                let is_named = key.kind == KeyKind::Document && means.trust == Viewer::Trusted;
                let lost = is_named.then(|| Lost {
                    page: key.id.clone(),
                    is_deleted: evidence.is_deleted,
                    query: shows_queries.then(|| query.text.clone()),
                });
                Looked { id, lost, evidence }
            }
        })
    }

    /// What the run and its log say, whatever must be found.
    fn of_case(&self, affected: &Affected<'_>, logged: Option<&Logged>) -> Evidence {
        let Affected { case, is_missed, limit_ms } = *affected;
        // What a deciding recall misses was missed, though it may be further down.
        let is_missed = is_missed || !case.missed.is_empty();
        let is_late = is_late(self.run, case) || case.rank.is_some() && !case.missed.is_empty();
        let took = case.latency_ms.get("total").copied();
        let mut evidence = Evidence {
            error: case.error,
            fallbacks: case.fallbacks.clone(),
            latency: took.zip(limit_ms),
            threshold: logged.and_then(|one| one.threshold).or(self.run.rerank_threshold),
            is_bypassed: logged.is_some_and(|one| one.is_bypassed),
            depth: if is_late { DEPTH / 2 } else { DEPTH },
            is_missed,
            is_made_up: is_made_up(case),
            ..Evidence::default()
        };
        if let (Some(rank), true) = (case.rank, is_missed) {
            evidence.deeper_rank = Some(rank);
        }
        evidence
    }

    /// What is known of one thing that must be found.
    fn of_key(
        &self,
        means: &TriageMeans<'_>,
        query: &CanonicalQuery,
        key: &Key,
        logged: Option<&Logged>,
        again: &Again,
        evidence: &mut Evidence,
    ) -> Result<(), TriageError> {
        let named = match &self.here {
            Some(here) => here.documents(key)?,
            None => vec![key.id.clone()],
        };
        let is_it = |document: &str| named.iter().any(|name| names(name, document));
        match logged.and_then(|one| one.stages.as_ref()).or(again.stages()) {
            Some(stages) => staged(stages, &is_it, evidence),
            None => evidence.notes.push("the target reports no stage details".to_owned()),
        }
        let edges = logged.map_or(&[][..], |one| &one.edges);
        linked(edges, &is_it, evidence);
        again.rank(&is_it, evidence);
        match &self.here {
            Some(here) => here.known(query, key, evidence)?,
            None => elsewhere::known(means, query, &is_it, evidence),
        }
        Ok(())
    }
}

/// Whether something is shown or claimed that no text says.
fn is_made_up(case: &RunCase) -> bool {
    case.flags.contains(&Flag::HallucinatedContent) || case.rationale == Some(Faith::Unfaithful)
}

/// What must be found: what is expected, or what is acceptable where nothing is.
pub(super) fn must_find(query: &CanonicalQuery) -> &[Key] {
    if query.expected.is_empty() { &query.acceptable } else { &query.expected }
}

/// Whether a name is that of a document. One without a source in front is meant in any.
fn names(name: &str, document: &str) -> bool {
    let bare = document.rsplit_once("::").map(|(_, slug)| slug);
    name == document || (!name.contains("::") && bare == Some(name))
}
