//! Models elsewhere that help to answer: one puts a query in other words, one judges what was found.
//!
//! What was said of a query is kept in the store under the model, the prompt and the query, so that asking
//! again gives the same variants and costs nothing. Whoever waits for an answer waits only so long: a model
//! that fails leaves its stage out, and the answer says so.
//!
//! Which models these are is decided by the settings of the workspace.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use gbrain_core::clock::moment;
use gbrain_core::hash::Hash;
use gbrain_core::hook::HookError;
use gbrain_core::id::WorkspaceId;
use gbrain_llm::{
    AskErrorKind, Asker, Chat, Desk, Expansion, ModelError, ModelRef, ModelSource, Spending, Task,
    ask_variants, expansion_chat,
};
use gbrain_store::{AnswerKind, ModelAnswer, Store};
use jiff::{SignedDuration, Timestamp};

use crate::{Ask, Expand, Judged, Rerank, Reranker};

/// How long variants of a query are kept.
const KEEP: SignedDuration = SignedDuration::from_hours(24 * 30);
/// Variants that are asked for; settings decide how many take part.
const EXPANSION: Expansion = Expansion { variants: 5 };

/// What calls that help with queries are charged for.
const PURPOSE: &str = "query";

/// Whether a model that no setting names may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltInModels {
    /// The owner at the keyboard, who asks for other words, means the money too.
    Allowed,
    /// Callers over a wire and measurements: only models that the owner named are asked.
    Refused,
}

/// Models that help with the queries of a workspace.
pub struct Assistants {
    asker: Asker,
    store: Arc<Store>,
    workspace: WorkspaceId,
    expander: Option<ModelRef>,
    reranker: Option<RerankSetting>,
    clock: fn() -> Timestamp,
}

/// The reranker that is set.
struct RerankSetting {
    /// The model, or what was set in its place.
    name: String,
    /// None when the name is none of a model.
    model: Option<ModelRef>,
}

impl From<ModelRef> for RerankSetting {
    fn from(model: ModelRef) -> Self {
        Self { name: model.to_string(), model: Some(model) }
    }
}

impl Assistants {
    /// The models that the settings name: an expander, called only for requests that ask for expansion, and a reranker.
    /// Their calls count against the daily budget. Refuses a name that is not a model's.
    pub fn choose(
        desk: &Desk,
        store: &Arc<Store>,
        workspace: &WorkspaceId,
        settings: &BTreeMap<String, String>,
        built_in: BuiltInModels,
    ) -> Result<Option<Self>, ModelError> {
        let expander = chosen(desk, Task::Expansion, settings, built_in)?;
        let reranker = chosen(desk, Task::Rerank, settings, built_in)?;
        Ok(Self::of(desk, store, workspace, settings, expander, reranker.map(RerankSetting::from)))
    }

    /// The same for callers of a server that is running: a name that is none of a model leaves its stage out, and
    /// answers name it as degraded.
    pub fn choose_for_callers(
        desk: &Desk,
        store: &Arc<Store>,
        workspace: &WorkspaceId,
        settings: &BTreeMap<String, String>,
    ) -> Option<Self> {
        let chosen = |task| chosen(desk, task, settings, BuiltInModels::Refused);
        let reranker = match chosen(Task::Rerank) {
            Ok(model) => model.map(RerankSetting::from),
            Err(_) => {
                let name = settings.get(Task::Rerank.key()).cloned().unwrap_or_default();
                Some(RerankSetting { name, model: None })
            }
        };
        let expander = chosen(Task::Expansion).ok().flatten();
        Self::of(desk, store, workspace, settings, expander, reranker)
    }

    fn of(
        desk: &Desk,
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
            per_day: Some(Desk::per_day(settings)),
            purpose: PURPOSE.to_owned(),
        };
        let asker = desk.clone().quick().asker().spending(spending);
        let (store, workspace) = (store.clone(), workspace.clone());
        Some(Self { reranker, ..Self::new(asker, store, workspace, expander, None) })
    }

    /// Models that are asked through a door.
    pub fn new(
        asker: Asker,
        store: Arc<Store>,
        workspace: WorkspaceId,
        expander: Option<ModelRef>,
        reranker: Option<ModelRef>,
    ) -> Self {
        let reranker = reranker.map(RerankSetting::from);
        Self { asker, store, workspace, expander, reranker, clock: || moment(SystemTime::now()) }
    }

    /// Gives whoever asks these models as well.
    pub fn with<T>(&self, ask: Ask<'_>, answer: impl FnOnce(&Ask<'_>) -> T) -> T {
        let expand = |query: &str| self.variants(query);
        let judge = |query: &str, judged: &[Judged]| self.scores(query, judged);
        let (expand, judge): (&Expand<'_>, &Rerank<'_>) = (&expand, &judge);
        answer(&Ask {
            expand: Some(expand),
            rerank: self.reranker.as_ref().map(|set| Reranker { id: &set.name, judge }),
            ..ask
        })
    }

    fn variants(&self, query: &str) -> Result<Vec<String>, HookError> {
        let model = self.expander.as_ref().ok_or(HookError::NoProvider)?;
        let key = key(model, &expansion_chat(query, EXPANSION));
        if let Some(kept) = self.kept(&key) {
            return Ok(kept);
        }
        let variants = ask_variants(&self.asker, model, query, EXPANSION)?;
        self.keep(&key, &variants);
        Ok(variants)
    }

    fn kept(&self, key: &Hash) -> Option<Vec<String>> {
        let (kind, now) = (AnswerKind::Expansion, (self.clock)());
        let kept = self.store.model_answers(&self.workspace, kind, &[*key], now).ok()?;
        serde_json::from_str(kept.first()?.as_deref()?).ok()
    }

    /// A store that can't keep it now is no reason to fail a query: the model is asked again.
    fn keep(&self, key: &Hash, variants: &[String]) {
        let now = (self.clock)();
        let until = now.saturating_add(KEEP).unwrap_or(Timestamp::MAX);
        let body = serde_json::json!(variants).to_string();
        // Variants are made from the query alone.
        let answers = [ModelAnswer { key: *key, body, pages: Some(Vec::new()) }];
        let kind = AnswerKind::Expansion;
        let _ = self.store.keep_model_answers(&self.workspace, kind, &answers, now, until);
    }

    fn scores(&self, query: &str, judged: &[Judged]) -> Result<Vec<f64>, HookError> {
        let model = self.reranker.as_ref().and_then(|set| set.model.as_ref());
        let model = model.ok_or(HookError::NoProvider)?;
        let texts: Vec<String> = judged.iter().map(text).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        match self.asker.rerank(model, query, &texts) {
            Ok((scores, _)) => Ok(scores),
            Err(error) if error.kind == AskErrorKind::Malformed => Err(HookError::BadScores),
            Err(error) => Err(error.kind.into()),
        }
    }
}

fn chosen(
    desk: &Desk,
    task: Task,
    settings: &BTreeMap<String, String>,
    built_in: BuiltInModels,
) -> Result<Option<ModelRef>, ModelError> {
    let may = |source| built_in == BuiltInModels::Allowed || source != ModelSource::BuiltIn;
    let chosen = desk.choose(task, None, settings)?;
    Ok(chosen.filter(|(_, source)| may(*source)).map(|(model, _)| model))
}

/// Everything that variants depend on.
fn key(model: &ModelRef, chat: &Chat) -> Hash {
    let (prompt, input) = (chat.prompt_hash(), chat.input_hash());
    Hash::of_parts(&[model.to_string().as_bytes(), &prompt.0, &input.0])
}

fn text(Judged { title, text }: &Judged) -> String {
    read_by_judge(title, text)
}

/// What a judge reads of a passage: the title of its page, and its text.
pub fn read_by_judge(title: &str, text: &str) -> String {
    if title.is_empty() { text.to_owned() } else { format!("{title}\n{text}") }
}
