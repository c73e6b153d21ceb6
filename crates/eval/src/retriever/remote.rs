//! A remote target: any protocol, with limits and retries.

use std::borrow::Cow;
use std::sync::Mutex;
use std::time::Duration;

use gbrain_core::latency::TimingMethod;
use gbrain_core::target::path::Path;
use gbrain_core::target::{DocumentIdRule, Question, TargetAnswer, TargetError, TargetErrorKind};
use serde_json::Value;

use super::limiter::{AttemptError, RequestLimiter};
use super::{Inspection, Retriever, RetrieverInfo};

/// How documents are identified in results.
#[derive(Debug, Clone, Default)]
pub(super) struct IdMapping {
    pub(super) ids: DocumentIdRule,
    pub(super) document: Option<Path>,
}

/// The protocol of a target.
pub(super) trait Wire: Sync + Send {
    /// Makes one attempt and returns the raw response.
    fn fetch(&self, question: &Question, timeout: Duration) -> Result<Value, AttemptError>;

    fn read(&self, question: &Question, reply: &Value) -> Result<TargetAnswer, TargetError>;

    /// Parts of a question that the protocol does not support.
    fn not_asked(&self, question: &Question) -> Vec<&'static str>;

    /// A text of the target without the secrets that were sent to it: targets may echo them.
    fn hide(&self, text: String) -> String {
        text
    }
}

pub(super) struct RemoteRetriever {
    pub(super) info: RetrieverInfo,
    pub(super) workspace: Option<String>,
    pub(super) limiter: RequestLimiter,
    pub(super) wire: Box<dyn Wire>,
}

impl RemoteRetriever {
    /// Validates a question and adds the workspace of the settings.
    fn prepare<'q>(&self, question: &'q Question) -> Result<Cow<'q, Question>, TargetError> {
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
        on_raw: &dyn Fn(&Value),
    ) -> Result<TargetAnswer, TargetError> {
        let question = self.prepare(question)?;
        let result = self.limiter.try_for(question.within, &|timeout| {
            let reply = self.wire.fetch(&question, timeout).inspect_err(|error| {
                if let Some(text) = &error.reply {
                    on_raw(&Value::String(text.clone()));
                }
            })?;
            on_raw(&reply);
            Ok(self.wire.read(&question, &reply)?)
        });
        let result = result.map_err(|TargetError { kind, message }| TargetError {
            kind,
            message: self.wire.hide(message),
        })?;
        let mut not_asked = question.brain_only_options();
        not_asked.extend(self.wire.not_asked(&question));
        Ok(TargetAnswer {
            latency_ms: result.latency.as_secs_f64() * 1000.0,
            attempts: result.attempts,
            not_asked,
            provenance: self.info.provenance.clone(),
            ..result.value
        })
    }
}

impl Retriever for RemoteRetriever {
    fn info(&self) -> &RetrieverInfo {
        &self.info
    }

    fn retrieve(&self, question: &Question) -> Result<TargetAnswer, TargetError> {
        self.answer(question, &|_| ())
    }

    fn timing(&self, _: &Question) -> TimingMethod {
        TimingMethod::Wall
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
