//! One question, from what was asked to the answer: `gbrain query`, `POST /v1/query` and the tools alike.

use std::collections::BTreeMap;

use gbrain_core::fault::Fault;
use gbrain_core::format::ask::AskBody;
use gbrain_core::request::{Caller, Operation, Request, Viewer};
use jiff::Timestamp;

use crate::capture::Door;
use crate::{Answered, Ask, Assistants, Brain, BrainError, search_settings};

/// Who asks, as far as the request depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requester {
    /// The owner at the keyboard: queries of any length, optionally with an untrusted viewer.
    Owner(Viewer),
    /// A caller over a wire, whose body keeps within the bounds of the schema.
    Remote,
}

/// A question with the settings that it is asked with.
pub struct Query<'a> {
    body: &'a AskBody,
    /// The settings of the workspace.
    pub config: BTreeMap<String, String>,
    pub request: Request,
}

impl<'a> Query<'a> {
    /// Reads the settings of the brain and makes the request.
    pub fn new(
        brain: &Brain,
        operation: Operation,
        body: &'a AskBody,
        requester: Requester,
        now: Timestamp,
    ) -> Result<Self, Fault> {
        let config = brain.config()?;
        let settings = search_settings(&config)?;
        let request = match requester {
            Requester::Owner(viewer) => body.request_of_owner(operation, settings, viewer, now)?,
            Requester::Remote => body.request(operation, settings, Viewer::Untrusted, now)?,
        };
        Ok(Self { body, config, request })
    }

    /// Asks, with the models that help where there are some.
    pub fn answer(
        &self,
        door: &Door,
        assistants: Option<&Assistants>,
        caller: Caller,
        options: Ask<'_>,
    ) -> Result<Answered, BrainError> {
        let options = Ask { explain: self.body.explains(), ..options };
        match assistants {
            Some(assistants) => {
                assistants.with(options, |ask| door.answer(&self.request, ask, caller))
            }
            None => door.answer(&self.request, &options, caller),
        }
    }
}
