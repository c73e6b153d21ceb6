//! Models elsewhere that help to answer: one puts a query in other words, one judges what was found.
//!
//! What was said of a query is kept in the store under the model, the prompt and the query, so that asking
//! again gives the same variants and costs nothing. Whoever waits for an answer waits only so long: a model
//! that fails leaves its stage out, and the answer says so.
//!
//! Deliberately absent: choosing models. Who asks says which.

use std::sync::Arc;
use std::time::SystemTime;

use gbrain_core::clock::moment;
use gbrain_core::hash::Hash;
use gbrain_core::hook::HookError;
use gbrain_core::id::WorkspaceId;
use gbrain_llm::{AskErrorKind, Asker, Chat, Expansion, ModelRef, ask_variants, expansion_chat};
use gbrain_store::{AnswerKind, ModelAnswer, Store};
use jiff::{SignedDuration, Timestamp};

use crate::{Ask, Expand, Judged, Rerank, Reranker};

/// How long variants of a query are kept.
const KEEP: SignedDuration = SignedDuration::from_hours(24 * 30);
/// Variants that are asked for; settings decide how many take part.
const EXPANSION: Expansion = Expansion { variants: 5 };

/// Models that help with the queries of a workspace.
pub struct Assistants {
    asker: Asker,
    store: Arc<Store>,
    workspace: WorkspaceId,
    expander: Option<ModelRef>,
    reranker: Option<(ModelRef, String)>,
    clock: fn() -> Timestamp,
}

impl Assistants {
    /// Models that are asked through a door.
    pub fn new(
        asker: Asker,
        store: Arc<Store>,
        workspace: WorkspaceId,
        expander: Option<ModelRef>,
        reranker: Option<ModelRef>,
    ) -> Self {
        let reranker = reranker.map(|model| (model.clone(), model.to_string()));
        Self { asker, store, workspace, expander, reranker, clock: || moment(SystemTime::now()) }
    }

    /// Gives whoever asks these models as well.
    pub fn with<T>(&self, ask: Ask<'_>, answer: impl FnOnce(&Ask<'_>) -> T) -> T {
        let expand = |query: &str| self.variants(query);
        let judge = |query: &str, judged: &[Judged]| self.scores(query, judged);
        let (expand, judge): (&Expand<'_>, &Rerank<'_>) = (&expand, &judge);
        answer(&Ask {
            expand: Some(expand),
            rerank: self.reranker.as_ref().map(|(_, id)| Reranker { id, judge }),
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
        let (model, _) = self.reranker.as_ref().ok_or(HookError::NoProvider)?;
        let texts: Vec<String> = judged.iter().map(text).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        match self.asker.rerank(model, query, &texts) {
            Ok((scores, _)) => Ok(scores),
            Err(error) if error.kind == AskErrorKind::Malformed => Err(HookError::BadScores),
            Err(error) => Err(error.kind.into()),
        }
    }
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
