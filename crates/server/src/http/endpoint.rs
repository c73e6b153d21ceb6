//! An endpoint: route, input and output types, required scope and operation. The router and the
//! OpenAPI document are built from the same list of endpoints.

use std::sync::Arc;

use axum::http::Method;
use bytes::Bytes;
use gbrain_core::access::Scope;
use gbrain_core::fault::Fault;
use gbrain_core::format::body;
use gbrain_core::reading::shape::ReadingCost;
use gbrain_core::request::Caller;
use jiff::Timestamp;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;

use super::memory::RequestMemoryAccount;
use super::reply::{JSON, Reply};
use crate::principal::Principal;
use crate::work_queue::{StopFlag, WorkQueue};
use crate::workspace_registry::WorkspaceRegistry;

/// The context of one call of an operation.
pub(crate) struct OperationCall<'a> {
    pub(crate) registry: &'a WorkspaceRegistry,
    pub(crate) principal: &'a Principal,
    pub(crate) now: Timestamp,
    /// Job and subagent, from headers or from the metadata of a tool call.
    pub(crate) caller: Caller,
    pub(crate) origin: RequestOrigin,
    /// Set when the caller no longer waits.
    pub(crate) stop: &'a StopFlag,
    pub(crate) memory: &'a RequestMemoryAccount<'a>,
}

impl OperationCall<'_> {
    /// Fails if the caller no longer waits. Called between slow steps and before a write.
    pub(crate) fn check_stop(&self) -> Result<(), Fault> {
        match self.stop.is_stopped() {
            true => Err(Fault::cancelled("the caller no longer waits for an answer")),
            false => Ok(()),
        }
    }
}

/// Request id and trace context of a call.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestOrigin {
    pub(crate) request_id: String,
    /// The `traceparent` header as received.
    pub(crate) traceparent: Option<String>,
}

/// The unparsed input of one call.
pub(crate) struct RequestInput {
    /// Path and query parameters, as form pairs.
    pub(crate) parameters: String,
    pub(crate) body: Bytes,
    pub(crate) content_type: Option<String>,
}

pub(crate) type EndpointHandler =
    Arc<dyn Fn(&OperationCall<'_>, RequestInput) -> Result<Reply, Fault> + Send + Sync>;

pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// The content of a request or response body.
#[derive(Clone, Copy)]
pub(crate) enum BodyContent {
    None,
    Json(SchemaOf),
    /// Text of this media type.
    Text(&'static str),
    /// Server-sent events, for which OpenAPI 3.1 has no schema.
    Events,
}

#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    /// Name in the OpenAPI document, metrics and audit log.
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) scope: Scope,
    pub(crate) queue: WorkQueue,
    pub(crate) parameters: SchemaOf,
    pub(crate) takes: BodyContent,
    pub(crate) gives: BodyContent,
    /// Responds with 202 instead of 200.
    pub(crate) is_accepted: bool,
    /// Memory cost of parsing the body, if it is a JSON document.
    pub(crate) reading_cost: Option<ReadingCost>,
    pub(crate) call: EndpointHandler,
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoParameters {}

/// Starts an endpoint that returns one JSON document.
pub(crate) fn endpoint<G: JsonSchema>(
    method: Method,
    path: &'static str,
    id: &'static str,
    summary: &'static str,
) -> EndpointBuilder {
    let is_read = method == Method::GET;
    EndpointBuilder {
        method,
        path,
        id,
        summary,
        scope: if is_read { Scope::Read } else { Scope::Write },
        queue: if is_read { WorkQueue::Read } else { WorkQueue::Write },
        gives: BodyContent::Json(|generator| generator.subschema_for::<G>()),
        is_accepted: false,
        reading_cost: None,
    }
}

/// An endpoint without its operation.
pub(crate) struct EndpointBuilder {
    method: Method,
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    scope: Scope,
    queue: WorkQueue,
    gives: BodyContent,
    is_accepted: bool,
    reading_cost: Option<ReadingCost>,
}

impl EndpointBuilder {
    pub(crate) fn scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    pub(crate) fn queue(mut self, queue: WorkQueue) -> Self {
        self.queue = queue;
        self
    }

    pub(crate) fn returns_text(mut self, content_type: &'static str) -> Self {
        self.gives = BodyContent::Text(content_type);
        self
    }

    pub(crate) fn accepted(mut self) -> Self {
        self.is_accepted = true;
        self
    }

    /// Memory cost of parsing a body that is not deserialised into typed fields.
    pub(crate) fn reading_cost(mut self, cost: ReadingCost) -> Self {
        self.reading_cost = Some(cost);
        self
    }

    /// Takes parameters and no body.
    pub(crate) fn without_body<P>(
        self,
        call: fn(&OperationCall<'_>, P) -> Result<Reply, Fault>,
    ) -> Endpoint
    where
        P: DeserializeOwned + JsonSchema + 'static,
    {
        let handler: EndpointHandler = Arc::new(move |context, input| {
            refuse_body(&input)?;
            call(context, parameters(&input)?)
        });
        self.finish::<P>(BodyContent::None, handler)
    }

    /// Takes parameters and a JSON document.
    pub(crate) fn with_json_body<P, B>(
        mut self,
        call: fn(&OperationCall<'_>, P, B) -> Result<Reply, Fault>,
    ) -> Endpoint
    where
        P: DeserializeOwned + JsonSchema + 'static,
        B: DeserializeOwned + JsonSchema + 'static,
    {
        let handler: EndpointHandler = Arc::new(move |context, input| {
            let (parameters, body) = (parameters(&input)?, document(&input)?);
            // Free the raw bytes before the operation runs.
            drop(input);
            context.check_stop()?;
            call(context, parameters, body)
        });
        self.reading_cost.get_or_insert(ReadingCost::TYPED);
        self.finish::<P>(BodyContent::Json(|generator| generator.subschema_for::<B>()), handler)
    }

    /// Takes parameters and a text.
    pub(crate) fn with_text_body<P>(
        self,
        content_type: &'static str,
        call: fn(&OperationCall<'_>, P, &str) -> Result<Reply, Fault>,
    ) -> Endpoint
    where
        P: DeserializeOwned + JsonSchema + 'static,
    {
        let handler: EndpointHandler = Arc::new(move |context, input| {
            let parameters = parameters(&input)?;
            let text = std::str::from_utf8(&input.body).map_err(|error| {
                Fault::usage(format!("the body is not UTF-8 at byte {}", error.valid_up_to()))
            })?;
            call(context, parameters, text)
        });
        self.finish::<P>(BodyContent::Text(content_type), handler)
    }

    fn finish<P: JsonSchema>(self, takes: BodyContent, call: EndpointHandler) -> Endpoint {
        let Self { method, path, id, summary, scope, queue, gives, is_accepted, reading_cost } =
            self;
        let parameters: SchemaOf = |generator| P::json_schema(generator);
        Endpoint {
            method,
            path,
            id,
            summary,
            scope,
            queue,
            parameters,
            takes,
            gives,
            is_accepted,
            reading_cost,
            call,
        }
    }
}

fn parameters<P: DeserializeOwned>(input: &RequestInput) -> Result<P, Fault> {
    serde_urlencoded::from_str(&input.parameters)
        .map_err(|error| Fault::usage(format!("invalid parameters: {error}")))
}

fn document<B: DeserializeOwned>(input: &RequestInput) -> Result<B, Fault> {
    let content_type = input.content_type.as_deref().unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case(JSON) {
        return Err(Fault::unsupported_media_type("the body must be JSON")
            .hint("send `content-type: application/json`"));
    }
    body::read(&input.body).map_err(|error| Fault::usage(format!("cannot read the body: {error}")))
}

fn refuse_body(input: &RequestInput) -> Result<(), Fault> {
    if input.body.is_empty() {
        return Ok(());
    }
    Err(Fault::usage("this request takes no body"))
}
