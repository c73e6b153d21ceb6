//! What a run measures: the questions asked of brains in memory with the live settings, answered by a
//! model, judged by a panel.
//!
//! Promises: the pages of the user are not touched; every call, whatever for, is charged to one budget;
//! nothing is sent before it is known that everybody can be asked and that the worst is allowed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gbrain_brain::capture::software;
use gbrain_brain::{Assistants, search_settings};
use gbrain_core::benchmark::reading::Prompt;
use gbrain_core::benchmark::{ByType, Granularity, Haystack, Outcome, measures};
use gbrain_core::cross_modal::batch::{Question, Rows, Upstream};
use gbrain_core::cross_modal::{Judged, JudgingError, Rubric};
use gbrain_core::format::benchmark::ByTypeSummary;
use gbrain_core::format::cross_modal::{Summary, SummaryParts};
use gbrain_core::format::probe::{ProbeAnswer, ProbeMeasured, ProbeModels};
use gbrain_core::id::WorkspaceId;
use gbrain_core::money::Usd;
use gbrain_core::probe::{Asked, Conclusion, Spending as Money, Unanswered, conclude};
use gbrain_core::search::Settings;
use gbrain_index::Models;
use gbrain_llm::{AskErrorKind, Asker, Cassette, Desk, RemoteEmbedder, Spending};
use gbrain_store::{Budget, Store};
use jiff::Timestamp;

use super::cast::Cast;
use super::claim::KIND;
use super::trouble::Trouble;
use super::{Embedding, Probes, estimate, fixture};
use crate::benchmark::{Asking, Next, Reader, Retrieval, run};
use crate::cross_modal::{Jury, judge_batch};

/// How many sessions of a ranking are read. Each haystack has eight, so recall means something.
pub(super) const K: usize = 3;
/// How deep rankings go.
const DEPTH: usize = 8;
/// The longest reply of a judge, in tokens, thinking included.
pub(super) const VOTE_TOKENS: u32 = 4_000;
/// Questions that are answered, or judged, at once.
const AT_ONCE: usize = 4;

/// What a run is made with.
pub(super) struct Means<'a> {
    pub(super) probes: &'a Probes,
    pub(super) workspace: &'a WorkspaceId,
    /// The settings of the database plane.
    pub(super) config: &'a BTreeMap<String, String>,
    /// Its budget; none if only a cassette is asked.
    pub(super) budget: Option<Budget>,
    /// Set when it must stop.
    pub(super) halt: Arc<AtomicBool>,
    /// Told how far it is.
    pub(super) progress: &'a (dyn Fn(&'static str, u64, u64) + Sync),
}

/// What a run gave.
pub(super) struct Measured {
    pub(super) conclusion: Conclusion,
    pub(super) report: ProbeMeasured,
}

/// A run that is about to be made: everybody can be asked.
pub(super) struct Ready<'a> {
    means: &'a Means<'a>,
    settings: Settings,
    cast: Cast,
    asker: Asker,
    models: Models,
    assistants: Option<Assistants>,
    rubric: Rubric,
    haystacks: Vec<Haystack>,
}

impl<'a> Ready<'a> {
    /// Looks whether everybody can be asked. Sends nothing.
    pub(super) fn new(means: &'a Means<'a>, tape: Option<Cassette>) -> Result<Self, Trouble> {
        let settings = search_settings(means.config)?;
        let cast = Cast::choose(&means.probes.desk, means.config, &settings)?;
        let asker = means.asker(&means.probes.desk);
        let asker = match tape {
            Some(tape) => asker.cassette(tape),
            None => asker,
        };
        if asker.is_replay_only() && means.asks_beside(&cast) {
            return Err(Trouble::NotOnTape);
        }
        let ready = Self {
            settings,
            models: means.models(),
            assistants: means.assistants(&cast),
            rubric: Rubric::qa(),
            haystacks: fixture::haystacks()?,
            means,
            cast,
            asker,
        };
        for model in ready.cast.beside_the_panel() {
            ready.asker.ready(model)?;
        }
        ready.jury().ready()?;
        Ok(ready)
    }

    /// The most that it can cost.
    pub(super) fn estimate(&self) -> Result<Usd, Trouble> {
        let parts = estimate::Parts {
            asker: &self.asker,
            cast: &self.cast,
            embedder: match &self.means.probes.embedding {
                Embedding::Own(_) => None,
                Embedding::Remote { model, .. } => Some(model),
            },
            jury: &self.jury(),
            haystacks: &self.haystacks,
        };
        Ok(estimate::likely(&parts)?)
    }

    pub(super) fn run(self, began: Timestamp, estimate: Usd) -> Result<Measured, Trouble> {
        let outcomes = self.answered()?;
        let (rows, unanswered) = rows(&outcomes);
        let total = rows.questions.len() as u64;
        (self.means.progress)("judging", 0, total);
        let done = std::sync::atomic::AtomicU64::new(0);
        let judged = judge_batch(&self.jury(), &rows.questions, AT_ONCE, &|n| {
            let n = n as u64;
            let done = done.fetch_add(n, std::sync::atomic::Ordering::Relaxed) + n;
            (self.means.progress)("judging", done, total);
        });
        let conclusion = conclude(&Asked {
            unanswered: &unanswered,
            judged: &judged,
            degraded: &degraded(&outcomes),
        });
        let report = self.report(began, estimate, &outcomes, &rows, &judged);
        Ok(Measured { conclusion, report })
    }

    fn jury(&self) -> Jury<'_> {
        Jury {
            asker: &self.asker,
            rubric: &self.rubric,
            seats: self.cast.seats.clone(),
            cycles: 1,
            max_tokens: VOTE_TOKENS,
        }
    }

    /// Every question with its answer, in the order of the file.
    fn answered(&self) -> Result<Vec<Outcome>, Trouble> {
        let reader = Reader::new(&self.asker, self.cast.answers.clone());
        let answer = |prompt: &Prompt| reader.answer(prompt);
        let asking = Asking {
            k: K,
            depth: DEPTH,
            measures: measures(K, DEPTH),
            retrieval: Retrieval::Hybrid,
            granularity: Granularity::Session,
            settings: self.settings.clone(),
            models: self.models.clone(),
            seed: 0,
            concurrency: AT_ONCE,
            baselines: Vec::new(),
            has_official: false,
            has_log: false,
            expander: None,
            assistants: self.assistants.as_ref(),
            answerer: Some(&answer),
            run: fixture::sha8(),
        };
        let total = self.haystacks.len() as u64;
        let mut next = self.haystacks.iter();
        let mut outcomes = Vec::new();
        (self.means.progress)("answering", 0, total);
        run(
            &asking,
            || Ok(next.next().map(|haystack| Next::Ask(Box::new(haystack.clone())))),
            |done| {
                outcomes.extend(done.into_iter().map(|done| done.outcome));
                (self.means.progress)("answering", outcomes.len() as u64, total);
                Ok(())
            },
        )?;
        Ok(outcomes)
    }

    fn report(
        &self,
        began: Timestamp,
        estimate: Usd,
        outcomes: &[Outcome],
        rows: &Rows,
        judged: &[(String, Result<Judged, JudgingError>)],
    ) -> ProbeMeasured {
        let jury = self.jury();
        let cross_modal = Summary::new(&SummaryParts {
            at: (self.means.probes.clock)(),
            rubric: &self.rubric,
            rows,
            judged,
            seats: &jury.panel_seats(),
            cycles: jury.cycles,
            concurrent: AT_ONCE,
            estimate,
        });
        let name = |model: &gbrain_llm::ModelRef| model.to_string();
        ProbeMeasured {
            started_at: format!("{began:.3}"),
            software: software().version,
            settings: self.settings.hash(),
            k: K,
            models: ProbeModels {
                answers: name(&self.cast.answers),
                embedder: self.models.wanted().map(|model| model.id().to_owned()),
                expander: self.cast.expander.as_ref().map(name),
                reranker: self.cast.reranker.as_ref().map(name),
            },
            costs: Vec::new(),
            recall: ByTypeSummary::from(&ByType::of(outcomes)),
            answers: outcomes.iter().map(answer).collect(),
            cross_modal,
        }
    }
}

impl Means<'_> {
    /// A door that spends from the run's budget, and from the day's.
    fn asker(&self, desk: &Desk) -> Asker {
        let asker = desk.asker().until(self.halt.clone());
        let Some(budget) = &self.budget else { return asker };
        asker.spending(Spending {
            store: self.probes.store.clone(),
            workspace: self.workspace.clone(),
            budget: Some(budget.clone()),
            per_day: Some(Desk::per_day(self.config)),
            purpose: KIND.to_owned(),
        })
    }

    /// Whether somebody is asked who is on no cassette.
    fn asks_beside(&self, cast: &Cast) -> bool {
        matches!(self.probes.embedding, Embedding::Remote { .. })
            || cast.expander.is_some()
            || cast.reranker.is_some()
    }

    /// The embedder that queries of the owner have. A remote one is asked anew: what was kept would hide
    /// that it changed, or is gone.
    fn models(&self) -> Models {
        let (model, dims) = match &self.probes.embedding {
            Embedding::Own(models) => return models.clone(),
            Embedding::Remote { model, dims } => (model.clone(), *dims),
        };
        let desk = &self.probes.desk;
        let (asker, quick) = (self.asker(desk), self.asker(&desk.clone().quick()));
        let store: Arc<Store> = self.probes.store.clone();
        let remote = RemoteEmbedder::new(asker, quick, store, self.workspace.clone(), model, dims);
        Models::new(Arc::new(remote.forgetful()))
    }

    fn assistants(&self, cast: &Cast) -> Option<Assistants> {
        let Cast { expander, reranker, .. } = cast;
        if expander.is_none() && reranker.is_none() {
            return None;
        }
        let asker = self.asker(&self.probes.desk.clone().quick());
        let (store, workspace) = (self.probes.store.clone(), self.workspace.clone());
        Some(Assistants::new(asker, store, workspace, expander.clone(), reranker.clone()))
    }
}

/// Answers to judge, and questions that have none.
fn rows(outcomes: &[Outcome]) -> (Rows, Vec<Unanswered>) {
    let (mut rows, mut unanswered) = (Rows::default(), Vec::new());
    for outcome in outcomes {
        let Outcome { question_id: id, question, answer, hypothesis, error, .. } = outcome;
        let empty = || hypothesis.trim().is_empty().then(|| "the answer is empty".to_owned());
        match error.clone().or_else(empty) {
            None => rows.questions.push(Question {
                id: id.clone(),
                question: question.clone(),
                answer: answer.clone(),
                hypothesis: hypothesis.clone(),
            }),
            Some(error) => {
                rows.upstream.push(Upstream { id: id.clone(), error: error.clone() });
                unanswered.push(Unanswered { id: id.clone(), spending: spending(&error), error });
            }
        }
    }
    (rows, unanswered)
}

/// Whether money was all that was missing: a reader's error begins with its kind.
fn spending(error: &str) -> Money {
    let kind = error.split(':').next().and_then(AskErrorKind::from_name);
    if kind == Some(AskErrorKind::OverBudget) { Money::Exceeded } else { Money::Within }
}

fn degraded(outcomes: &[Outcome]) -> Vec<String> {
    let all = outcomes.iter().flat_map(|outcome| &outcome.degraded);
    let each: std::collections::BTreeSet<&String> = all.collect();
    each.into_iter().cloned().collect()
}

fn answer(outcome: &Outcome) -> ProbeAnswer {
    ProbeAnswer {
        question_id: outcome.question_id.clone(),
        question_type: outcome.kind.clone(),
        hypothesis: outcome.hypothesis.clone(),
        recall_hit: outcome.hit,
        degraded: outcome.degraded.clone(),
        error: outcome.error.clone(),
    }
}
