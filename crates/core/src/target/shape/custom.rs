//! Any other API, as the settings describe it.

use crate::target::mapping::Mapping;
use crate::target::template::{Filling, Slot, Template, not_asked};

use super::{Method, Outgoing};

/// A request and an answer, described.
#[derive(Debug, Clone, PartialEq)]
pub struct Custom {
    /// The method.
    pub method: Method,
    /// What comes after the `?`, by name.
    pub params: Vec<(String, Template)>,
    /// Headers with places for what is asked.
    pub headers: Vec<(String, Template)>,
    /// The body.
    pub body: Option<Template>,
    /// Where things are in an answer.
    pub mapping: Mapping,
}

impl Custom {
    /// Whether it has a place for something.
    pub fn has(&self, slot: Slot) -> bool {
        let parts = self.params.iter().chain(&self.headers).map(|(_, template)| template);
        parts.chain(&self.body).any(|template| template.has(slot))
    }

    pub(super) fn outgoing(&self, filling: &Filling<'_>) -> Outgoing {
        let texts = |parts: &[(String, Template)]| {
            let text = |(name, template): &(String, Template)| {
                Some((name.clone(), template.fill_text(filling)?))
            };
            parts.iter().filter_map(text).collect()
        };
        Outgoing {
            method: self.method,
            params: texts(&self.params),
            headers: texts(&self.headers),
            body: self.body.as_ref().and_then(|body| body.fill(filling)),
            not_asked: not_asked(filling.question, |slot| self.has(slot)),
        }
    }
}
