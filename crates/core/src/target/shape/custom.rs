//! An API as its settings or a preset describe it.

use serde_json::Value;

use crate::ranking::RERANK;
use crate::target::mapping::AnswerMapping;
use crate::target::path::Path;
use crate::target::template::{Placeholder, RequestTemplate, TemplateValues, unsupported_fields};
use crate::target::{StageFallback, TargetAnswer};

use super::{HttpMethod, OutgoingRequest};

/// A request and an answer, described.
#[derive(Debug, Clone, PartialEq)]
pub struct CustomApi {
    pub method: HttpMethod,
    /// The query parameters, by name.
    pub params: Vec<(String, RequestTemplate)>,
    /// Headers, which may have placeholders.
    pub headers: Vec<(String, RequestTemplate)>,
    pub body: Option<RequestTemplate>,
    /// The mapping of an answer's fields.
    pub mapping: AnswerMapping,
    /// Flags of an answer that report a bypassed reranker threshold.
    pub bypass: Vec<Path>,
}

impl CustomApi {
    /// Whether a part of a question has a place in the request.
    pub fn has(&self, slot: Placeholder) -> bool {
        let parts = self.params.iter().chain(&self.headers).map(|(_, template)| template);
        parts.chain(&self.body).any(|template| template.has(slot))
    }

    pub(super) fn outgoing(&self, filling: &TemplateValues<'_>) -> OutgoingRequest {
        let texts = |parts: &[(String, RequestTemplate)]| {
            let text = |(name, template): &(String, RequestTemplate)| {
                Some((name.clone(), template.fill_text(filling)?))
            };
            parts.iter().filter_map(text).collect()
        };
        OutgoingRequest {
            method: self.method,
            params: texts(&self.params),
            headers: texts(&self.headers),
            body: self.body.as_ref().and_then(|body| body.fill(filling)),
            not_asked: unsupported_fields(filling.question, |slot| self.has(slot)),
        }
    }

    /// Notes whether the threshold was bypassed, where the answer says so.
    pub(super) fn note_bypass(&self, answer: &Value, read: &mut TargetAnswer) {
        let mut flags = self.bypass.iter().flat_map(|path| path.find(answer));
        if let Some(is_bypassed) = flags.find_map(Value::as_bool) {
            read.threshold_applied = Some(!is_bypassed);
            if is_bypassed {
                read.fallbacks.push(StageFallback::unexplained(RERANK));
            }
        }
    }
}
