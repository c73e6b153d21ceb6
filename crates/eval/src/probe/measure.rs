//! Measures a run: the questions are asked of brains in memory with the live settings, answered by
//! a model, and judged by a panel.
//!
//! Promises: the user's pages are not touched; every call is charged to one budget; nothing is sent
//! before all models are known to be available and the worst cost to be allowed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use gbrain_brain::capture::software;
use gbrain_brain::{Assistants, search_settings};
use gbrain_core::benchmark::reading::ReadingPrompt;
use gbrain_core::benchmark::{ByType, Granularity, Haystack, QuestionOutcome, measures};
use gbrain_core::cross_modal::batch::{RowToJudge, Rows, UnansweredRow};
use gbrain_core::cross_modal::{JudgedOutput, JudgingError, Rubric};
use gbrain_core::format::benchmark::ByTypeSummary;
use gbrain_core::format::cross_modal::{Summary, SummaryParts};
use gbrain_core::format::probe::{ProbeAnswer, ProbeMeasured, ProbeModels};
use gbrain_core::id::WorkspaceId;
use gbrain_core::money::Usd;
use gbrain_core::probe::{
    ProbeConclusion, ProbeQuestions, Spending as Money, UnansweredQuestion, conclude,
};
use gbrain_core::search::Settings;
use gbrain_index::Models;
use gbrain_llm::{
    Cassette, ModelCallErrorKind, ModelCatalog, ModelClient, RemoteEmbedder, Spending,
};
use gbrain_store::{Budget, Store};
use jiff::Timestamp;

use super::claim::KIND;
use super::error::ProbeError;
use super::models::ModelSelection;
use super::{EmbeddingSource, Probes, estimate, fixture};
use crate::benchmark::{AnswerReader, BenchmarkOptions, NextHaystack, Retrieval, run};
use crate::cross_modal::{Jury, judge_batch};

/// Number of sessions that the model reads. Each haystack has eight, so recall is meaningful.
pub(super) const K: usize = 3;
const DEPTH: usize = 8;
/// Maximum tokens of a judge's reply, including reasoning.
pub(super) const VOTE_TOKENS: u32 = 4_000;
/// Number of questions answered or judged at once.
const AT_ONCE: usize = 4;

/// The dependencies of a run.
pub(super) struct ProbeContext<'a> {
    pub(super) probes: &'a Probes,
    pub(super) workspace: &'a WorkspaceId,
    /// The settings stored in the database.
    pub(super) config: &'a BTreeMap<String, String>,
    /// The budget; `None` if only a cassette answers.
    pub(super) budget: Option<Budget>,
    pub(super) halt: Arc<AtomicBool>,
    /// Progress callback: stage, done and total.
    pub(super) progress: &'a (dyn Fn(&'static str, u64, u64) + Sync),
}

pub(super) struct Measurement {
    pub(super) conclusion: ProbeConclusion,
    pub(super) report: ProbeMeasured,
}

/// A run that is ready to start: all models are available.
pub(super) struct PreparedProbe<'a> {
    context: &'a ProbeContext<'a>,
    settings: Settings,
    selection: ModelSelection,
    client: ModelClient,
    models: Models,
    assistants: Option<Assistants>,
    rubric: Rubric,
    haystacks: Vec<Haystack>,
}

impl<'a> PreparedProbe<'a> {
    /// Checks that all models are available. Sends nothing.
    pub(super) fn new(
        context: &'a ProbeContext<'a>,
        tape: Option<Cassette>,
    ) -> Result<Self, ProbeError> {
        let settings = search_settings(context.config)?;
        let selection = ModelSelection::choose(&context.probes.catalog, context.config, &settings)?;
        let client = context.client(&context.probes.catalog);
        let client = match tape {
            Some(tape) => client.cassette(tape),
            None => client,
        };
        if client.is_replay_only() && context.asks_beside(&selection) {
            return Err(ProbeError::NotOnTape);
        }
        let ready = Self {
            settings,
            models: context.models(),
            assistants: context.assistants(&selection),
            rubric: Rubric::qa(),
            haystacks: fixture::haystacks()?,
            context,
            selection,
            client,
        };
        for model in ready.selection.beside_the_panel() {
            ready.client.ready(model)?;
        }
        ready.jury().ready()?;
        Ok(ready)
    }

    pub(super) fn estimate(&self) -> Result<Usd, ProbeError> {
        let inputs = estimate::EstimateInputs {
            client: &self.client,
            selection: &self.selection,
            embedder: match &self.context.probes.embedding {
                EmbeddingSource::Own(_) => None,
                EmbeddingSource::Remote { model, .. } => Some(model),
            },
            jury: &self.jury(),
            haystacks: &self.haystacks,
        };
        Ok(estimate::likely(&inputs)?)
    }

    pub(super) fn run(self, began: Timestamp, estimate: Usd) -> Result<Measurement, ProbeError> {
        let outcomes = self.answered()?;
        let (rows, unanswered) = rows(&outcomes);
        let total = rows.questions.len() as u64;
        (self.context.progress)("judging", 0, total);
        let done = std::sync::atomic::AtomicU64::new(0);
        let judged = judge_batch(&self.jury(), &rows.questions, AT_ONCE, &|n| {
            let n = n as u64;
            let done = done.fetch_add(n, std::sync::atomic::Ordering::Relaxed) + n;
            (self.context.progress)("judging", done, total);
        });
        let conclusion = conclude(&ProbeQuestions {
            unanswered: &unanswered,
            judged: &judged,
            degraded: &degraded(&outcomes),
        });
        let report = self.report(began, estimate, &outcomes, &rows, &judged);
        Ok(Measurement { conclusion, report })
    }

    fn jury(&self) -> Jury<'_> {
        Jury {
            client: &self.client,
            rubric: &self.rubric,
            seats: self.selection.seats.clone(),
            cycles: 1,
            max_tokens: VOTE_TOKENS,
        }
    }

    /// Answers every question, in the order of the file.
    fn answered(&self) -> Result<Vec<QuestionOutcome>, ProbeError> {
        let reader = AnswerReader::new(&self.client, self.selection.answers.clone());
        let answer = |prompt: &ReadingPrompt| reader.answer(prompt);
        let asking = BenchmarkOptions {
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
        (self.context.progress)("answering", 0, total);
        run(
            &asking,
            || Ok(next.next().map(|haystack| NextHaystack::Ask(Box::new(haystack.clone())))),
            |done| {
                outcomes.extend(done.into_iter().map(|done| done.outcome));
                (self.context.progress)("answering", outcomes.len() as u64, total);
                Ok(())
            },
        )?;
        Ok(outcomes)
    }

    fn report(
        &self,
        began: Timestamp,
        estimate: Usd,
        outcomes: &[QuestionOutcome],
        rows: &Rows,
        judged: &[(String, Result<JudgedOutput, JudgingError>)],
    ) -> ProbeMeasured {
        let jury = self.jury();
        let cross_modal = Summary::new(&SummaryParts {
            at: (self.context.probes.clock)(),
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
                answers: name(&self.selection.answers),
                embedder: self.models.wanted().map(|model| model.id().to_owned()),
                expander: self.selection.expander.as_ref().map(name),
                reranker: self.selection.reranker.as_ref().map(name),
            },
            costs: Vec::new(),
            recall: ByTypeSummary::from(&ByType::of(outcomes)),
            answers: outcomes.iter().map(answer).collect(),
            cross_modal,
        }
    }
}

impl ProbeContext<'_> {
    /// A client that charges the run's budget and the daily budget.
    fn client(&self, catalog: &ModelCatalog) -> ModelClient {
        let client = catalog.client().cancelled_by(self.halt.clone());
        let Some(budget) = &self.budget else { return client };
        client.spending(Spending {
            store: self.probes.store.clone(),
            workspace: self.workspace.clone(),
            budget: Some(budget.clone()),
            per_day: Some(ModelCatalog::per_day(self.config)),
            purpose: KIND.to_owned(),
        })
    }

    /// Whether the run calls models that no cassette records.
    fn asks_beside(&self, selection: &ModelSelection) -> bool {
        matches!(self.probes.embedding, EmbeddingSource::Remote { .. })
            || selection.expander.is_some()
            || selection.reranker.is_some()
    }

    /// The embedder of the owner's queries. A remote one is not cached: a cache would hide that it
    /// changed or is gone.
    fn models(&self) -> Models {
        let (model, dims) = match &self.probes.embedding {
            EmbeddingSource::Own(models) => return models.clone(),
            EmbeddingSource::Remote { model, dims } => (model.clone(), *dims),
        };
        let catalog = &self.probes.catalog;
        let (client, quick) =
            (self.client(catalog), self.client(&catalog.clone().with_short_timeouts()));
        let store: Arc<Store> = self.probes.store.clone();
        let remote = RemoteEmbedder::new(client, quick, store, self.workspace.clone(), model, dims);
        Models::new(Arc::new(remote.without_cache()))
    }

    fn assistants(&self, selection: &ModelSelection) -> Option<Assistants> {
        let ModelSelection { expander, reranker, .. } = selection;
        if expander.is_none() && reranker.is_none() {
            return None;
        }
        let client = self.client(&self.probes.catalog.clone().with_short_timeouts());
        let (store, workspace) = (self.probes.store.clone(), self.workspace.clone());
        Some(Assistants::new(client, store, workspace, expander.clone(), reranker.clone()))
    }
}

/// Splits outcomes into answers to judge and questions without one.
fn rows(outcomes: &[QuestionOutcome]) -> (Rows, Vec<UnansweredQuestion>) {
    let (mut rows, mut unanswered) = (Rows::default(), Vec::new());
    for outcome in outcomes {
        let QuestionOutcome { question_id: id, question, answer, hypothesis, error, .. } = outcome;
        let empty = || hypothesis.trim().is_empty().then(|| "the answer is empty".to_owned());
        match error.clone().or_else(empty) {
            None => rows.questions.push(RowToJudge {
                id: id.clone(),
                question: question.clone(),
                answer: answer.clone(),
                hypothesis: hypothesis.clone(),
            }),
            Some(error) => {
                rows.upstream.push(UnansweredRow { id: id.clone(), error: error.clone() });
                unanswered.push(UnansweredQuestion {
                    id: id.clone(),
                    spending: spending(&error),
                    error,
                });
            }
        }
    }
    (rows, unanswered)
}

/// Whether an error was caused by the budget: a reader's error begins with its kind.
fn spending(error: &str) -> Money {
    let kind = error.split(':').next().and_then(ModelCallErrorKind::from_name);
    if kind == Some(ModelCallErrorKind::OverBudget) { Money::Exceeded } else { Money::Within }
}

fn degraded(outcomes: &[QuestionOutcome]) -> Vec<String> {
    let all = outcomes.iter().flat_map(|outcome| &outcome.degraded);
    let each: std::collections::BTreeSet<&String> = all.collect();
    each.into_iter().cloned().collect()
}

fn answer(outcome: &QuestionOutcome) -> ProbeAnswer {
    ProbeAnswer {
        question_id: outcome.question_id.clone(),
        question_type: outcome.kind.clone(),
        hypothesis: outcome.hypothesis.clone(),
        recall_hit: outcome.hit,
        degraded: outcome.degraded.clone(),
        error: outcome.error.clone(),
    }
}
