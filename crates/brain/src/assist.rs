//! Remote models that assist retrieval: a query expander and a reranker.
//!
//! Query variants are cached in the store by model, prompt and query, so a repeated query gets the
//! same variants at no cost. Model calls have a time limit: a model that fails is skipped, and the
//! answer names its stage as degraded.
//!
//! The settings of the workspace choose the models.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use gbrain_core::clock::moment;
use gbrain_core::hash::Hash;
use gbrain_core::hook::HookError;
use gbrain_core::id::WorkspaceId;
use gbrain_llm::{
    Chat, Expansion, ModelCallErrorKind, ModelCatalog, ModelClient, ModelError, ModelRef,
    ModelSource, ModelTask, Spending, ask_variants, expansion_chat,
};
use gbrain_store::{AnswerKind, ModelAnswer, Store};
use jiff::{SignedDuration, Timestamp};

use crate::{Expand, QueryOptions, Rerank, RerankPassage, Reranker};

/// How long query variants are cached.
const VARIANT_TTL: SignedDuration = SignedDuration::from_hours(24 * 30);
/// Number of variants to request; settings decide how many are used.
const EXPANSION: Expansion = Expansion { variants: 5 };

/// Ledger purpose of these calls.
const PURPOSE: &str = "query";

/// Whether the built-in default model may be called when no setting names one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltInModels {
    /// The owner at the keyboard: asking for expansion also accepts its cost.
    Allowed,
    /// Remote callers and measurements: only models that the owner configured are called.
    Refused,
}

/// The assisting models of a workspace.
pub struct Assistants {
    client: ModelClient,
    store: Arc<Store>,
    workspace: WorkspaceId,
    expander: Option<ModelRef>,
    reranker: Option<RerankSetting>,
    clock: fn() -> Timestamp,
}

struct RerankSetting {
    /// The model's name, or the configured text if it is not a valid name.
    name: String,
    /// `None` if the configured text is not a model name.
    model: Option<ModelRef>,
}

impl From<ModelRef> for RerankSetting {
    fn from(model: ModelRef) -> Self {
        Self { name: model.to_string(), model: Some(model) }
    }
}

impl Assistants {
    /// The configured models: an expander, called only for requests that want expansion, and a
    /// reranker. Their calls count against the daily budget. Rejects invalid model names.
    pub fn choose(
        catalog: &ModelCatalog,
        store: &Arc<Store>,
        workspace: &WorkspaceId,
        settings: &BTreeMap<String, String>,
        built_in: BuiltInModels,
    ) -> Result<Option<Self>, ModelError> {
        let expander = choose_model(catalog, ModelTask::Expansion, settings, built_in)?;
        let reranker = choose_model(catalog, ModelTask::Rerank, settings, built_in)?;
        Ok(Self::build(
            catalog,
            store,
            workspace,
            settings,
            expander,
            reranker.map(RerankSetting::from),
        ))
    }

    /// Like [`choose`](Self::choose), for callers of a running server: an invalid model name
    /// disables its stage, and answers name it as degraded.
    pub fn choose_for_callers(
        catalog: &ModelCatalog,
        store: &Arc<Store>,
        workspace: &WorkspaceId,
        settings: &BTreeMap<String, String>,
    ) -> Option<Self> {
        let choose_model = |task| choose_model(catalog, task, settings, BuiltInModels::Refused);
        let reranker = match choose_model(ModelTask::Rerank) {
            Ok(model) => model.map(RerankSetting::from),
            Err(_) => {
                let name = settings.get(ModelTask::Rerank.key()).cloned().unwrap_or_default();
                Some(RerankSetting { name, model: None })
            }
        };
        let expander = choose_model(ModelTask::Expansion).ok().flatten();
        Self::build(catalog, store, workspace, settings, expander, reranker)
    }

    fn build(
        catalog: &ModelCatalog,
        store: &Arc<Store>,
        workspace: &WorkspaceId,
        settings: &BTreeMap<String, String>,
        expander: Option<ModelRef>,
        reranker: Option<RerankSetting>,
    ) -> Option<Self> {
        if expander.is_none() && reranker.is_none() {
            return None;
        }
        let spending = Spending {
            store: store.clone(),
            workspace: workspace.clone(),
            budget: None,
            per_day: Some(ModelCatalog::per_day(settings)),
            purpose: PURPOSE.to_owned(),
        };
        let client = catalog.clone().with_short_timeouts().client().spending(spending);
        let (store, workspace) = (store.clone(), workspace.clone());
        Some(Self { reranker, ..Self::new(client, store, workspace, expander, None) })
    }

    /// Assistants that call the given models through a client.
    pub fn new(
        client: ModelClient,
        store: Arc<Store>,
        workspace: WorkspaceId,
        expander: Option<ModelRef>,
        reranker: Option<ModelRef>,
    ) -> Self {
        let reranker = reranker.map(RerankSetting::from);
        Self { client, store, workspace, expander, reranker, clock: || moment(SystemTime::now()) }
    }

    /// Adds these models to the query options.
    pub fn with<T>(
        &self,
        options: QueryOptions<'_>,
        answer: impl FnOnce(&QueryOptions<'_>) -> T,
    ) -> T {
        let expand = |query: &str| self.variants(query);
        let judge = |query: &str, judged: &[RerankPassage]| self.scores(query, judged);
        let (expand, judge): (&Expand<'_>, &Rerank<'_>) = (&expand, &judge);
        answer(&QueryOptions {
            expand: Some(expand),
            rerank: self.reranker.as_ref().map(|set| Reranker { id: &set.name, judge }),
            ..options
        })
    }

    fn variants(&self, query: &str) -> Result<Vec<String>, HookError> {
        let model = self.expander.as_ref().ok_or(HookError::NoProvider)?;
        let key = key(model, &expansion_chat(query, EXPANSION));
        if let Some(cached_variants) = self.cached_variants(&key) {
            return Ok(cached_variants);
        }
        let variants = ask_variants(&self.client, model, query, EXPANSION)?;
        self.cache_variants(&key, &variants);
        Ok(variants)
    }

    fn cached_variants(&self, key: &Hash) -> Option<Vec<String>> {
        let (kind, now) = (AnswerKind::Expansion, (self.clock)());
        let cached_variants = self.store.model_answers(&self.workspace, kind, &[*key], now).ok()?;
        serde_json::from_str(cached_variants.first()?.as_deref()?).ok()
    }

    /// Errors are ignored: the next query calls the model again.
    fn cache_variants(&self, key: &Hash, variants: &[String]) {
        let now = (self.clock)();
        let until = now.saturating_add(VARIANT_TTL).unwrap_or(Timestamp::MAX);
        let body = serde_json::json!(variants).to_string();
        // Variants depend on the query alone.
        let answers = [ModelAnswer { key: *key, body, pages: Some(Vec::new()) }];
        let kind = AnswerKind::Expansion;
        let _ = self.store.store_model_answers(&self.workspace, kind, &answers, now, until);
    }

    fn scores(&self, query: &str, judged: &[RerankPassage]) -> Result<Vec<f64>, HookError> {
        let model = self.reranker.as_ref().and_then(|set| set.model.as_ref());
        let model = model.ok_or(HookError::NoProvider)?;
        let texts: Vec<String> = judged.iter().map(text).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        match self.client.rerank(model, query, &texts) {
            Ok((scores, _)) => Ok(scores),
            Err(error) if error.kind == ModelCallErrorKind::Malformed => Err(HookError::BadScores),
            Err(error) => Err(error.kind.into()),
        }
    }
}

fn choose_model(
    catalog: &ModelCatalog,
    task: ModelTask,
    settings: &BTreeMap<String, String>,
    built_in: BuiltInModels,
) -> Result<Option<ModelRef>, ModelError> {
    let is_allowed = |source| built_in == BuiltInModels::Allowed || source != ModelSource::BuiltIn;
    let choose_model = catalog.choose(task, None, settings)?;
    Ok(choose_model.filter(|(_, source)| is_allowed(*source)).map(|(model, _)| model))
}

/// Hash of everything that variants depend on.
fn key(model: &ModelRef, chat: &Chat) -> Hash {
    let (prompt, input) = (chat.prompt_hash(), chat.input_hash());
    Hash::of_parts(&[model.to_string().as_bytes(), &prompt.0, &input.0])
}

fn text(RerankPassage { title, text }: &RerankPassage) -> String {
    rerank_text(title, text)
}

/// The text of a passage that a reranker reads: page title and passage text.
pub fn rerank_text(title: &str, text: &str) -> String {
    if title.is_empty() { text.to_owned() } else { format!("{title}\n{text}") }
}
