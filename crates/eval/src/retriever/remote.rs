//! A remote target: any wire, with retries.

use std::borrow::Cow;
use std::sync::Mutex;
use std::time::Duration;

use gbrain_core::latency::Timing;
use gbrain_core::target::path::Path;
use gbrain_core::target::{IdRule, Question, TargetAnswer, TargetError, TargetErrorKind};
use serde_json::Value;

use super::patience::{Missed, Patience};
use super::{Inspection, Retriever, RetrieverInfo};

/// What results are called.
#[derive(Debug, Clone, Default)]
pub(super) struct Naming {
    pub(super) ids: IdRule,
    pub(super) document: Option<Path>,
}

/// One way to reach a target.
pub(super) trait Wire: Sync + Send {
    /// One attempt: what the target said, within so long.
    fn fetch(&self, question: &Question, timeout: Duration) -> Result<Value, Missed>;

    fn read(&self, question: &Question, said: &Value) -> Result<TargetAnswer, TargetError>;

    /// Parts of a question that have no place on this wire.
    fn not_asked(&self, question: &Question) -> Vec<&'static str>;

    /// A text of the target without the secrets that it was sent: others echo what they get.
    fn hide(&self, text: String) -> String {
        text
    }
}

/// A target somewhere else.
pub(super) struct Remote {
    pub(super) info: RetrieverInfo,
    pub(super) workspace: Option<String>,
    pub(super) patience: Patience,
    pub(super) wire: Box<dyn Wire>,
}

impl Remote {
    /// The question with the workspace of the settings, if it can be asked.
    fn asked<'q>(&self, question: &'q Question) -> Result<Cow<'q, Question>, TargetError> {
        if question.k == 0 || question.text.trim().is_empty() {
            return Err(TargetError::new(TargetErrorKind::BadRequest, "there is nothing to ask"));
        }
        let RetrieverInfo { name, max_results, .. } = &self.info;
        if let Some(most) = max_results.filter(|most| question.k > *most) {
            let message = format!("{name} gives at most {most} results, not {}", question.k);
            return Err(TargetError::new(TargetErrorKind::Unsupported, message));
        }
        if question.workspace.is_some() || self.workspace.is_none() {
            return Ok(Cow::Borrowed(question));
        }
        Ok(Cow::Owned(Question { workspace: self.workspace.clone(), ..question.clone() }))
    }

    fn answer(
        &self,
        question: &Question,
        see: &dyn Fn(&Value),
    ) -> Result<TargetAnswer, TargetError> {
        let question = self.asked(question)?;
        let given = self.patience.try_for(question.within, &|timeout| {
            let said = self.wire.fetch(&question, timeout).inspect_err(|missed| {
                if let Some(text) = &missed.said {
                    see(&Value::String(text.clone()));
                }
            })?;
            see(&said);
            Ok(self.wire.read(&question, &said)?)
        });
        let given = given.map_err(|TargetError { kind, message }| TargetError {
            kind,
            message: self.wire.hide(message),
        })?;
        let mut not_asked = question.parts_of_the_brain();
        not_asked.extend(self.wire.not_asked(&question));
        Ok(TargetAnswer {
            latency_ms: given.latency.as_secs_f64() * 1000.0,
            attempts: given.attempts,
            not_asked,
            provenance: self.info.provenance.clone(),
            ..given.value
        })
    }
}

impl Retriever for Remote {
    fn info(&self) -> &RetrieverInfo {
        &self.info
    }

    fn retrieve(&self, question: &Question) -> Result<TargetAnswer, TargetError> {
        self.answer(question, &|_| ())
    }

    fn timing(&self, _: &Question) -> Timing {
        Timing::Wall
    }

    fn inspect(&self, question: &Question) -> Inspection {
        let raw = Mutex::new(None);
        let answer = self.answer(question, &|value| {
            if let Ok(mut raw) = raw.lock() {
                *raw = Some(value.clone());
            }
        });
        let raw: Option<Value> = raw.into_inner().ok().flatten();
        let hidden =
            raw.and_then(|raw| serde_json::from_str(&self.wire.hide(raw.to_string())).ok());
        Inspection { raw: hidden, answer }
    }
}
