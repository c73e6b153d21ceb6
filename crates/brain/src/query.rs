//! One query, from request body to answer: shared by `gbrain query`, `POST /v1/query` and the
//! tools.

use std::collections::BTreeMap;

use gbrain_core::fault::Fault;
use gbrain_core::format::ask::AskBody;
use gbrain_core::request::{Caller, Operation, Request, Viewer};
use jiff::Timestamp;

use crate::capture::QueryService;
use crate::{Assistants, Brain, BrainError, QueryOptions, QueryResponse, search_settings};

/// The kind of caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requester {
    /// The owner at the keyboard: queries of any length, optionally with an untrusted viewer.
    Owner(Viewer),
    /// A remote caller, whose body must satisfy the limits of the schema.
    Remote,
}

/// A query with its settings.
pub struct Query<'a> {
    body: &'a AskBody,
    /// The settings of the workspace.
    pub config: BTreeMap<String, String>,
    pub request: Request,
}

impl<'a> Query<'a> {
    /// Reads the settings of the brain and builds the request.
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

    /// Answers the query, with assisting models if there are any.
    pub fn answer(
        &self,
        service: &QueryService,
        assistants: Option<&Assistants>,
        caller: Caller,
        options: QueryOptions<'_>,
    ) -> Result<QueryResponse, BrainError> {
        let options = QueryOptions { explain: self.body.explains(), ..options };
        match assistants {
            Some(assistants) => {
                assistants.with(options, |options| service.answer(&self.request, options, caller))
            }
            None => service.answer(&self.request, &options, caller),
        }
    }
}
