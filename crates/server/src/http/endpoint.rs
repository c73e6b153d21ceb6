//! An endpoint: its place, what it takes and gives, who may call it, and what it does. Router and
//! OpenAPI document are made from the same list of these.

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

use super::memory::CallMemory;
use super::reply::{JSON, Reply};
use crate::house::House;
use crate::lanes::{Lane, StopFlag};
use crate::visitor::Visitor;

/// One call, as an operation sees it.
pub(crate) struct Call<'a> {
    pub(crate) house: &'a House,
    pub(crate) who: &'a Visitor,
    pub(crate) now: Timestamp,
    /// Job and subagent, from headers or the metadata of a tool's call.
    pub(crate) caller: Caller,
    /// What the request is called, and the span that it is part of.
    pub(crate) origin: Origin,
    /// Whether the caller still waits.
    pub(crate) stop: &'a StopFlag,
    /// What the request takes.
    pub(crate) memory: &'a CallMemory<'a>,
}

impl Call<'_> {
    /// An error when the caller no longer waits: asked between steps that take long, and before a write.
    pub(crate) fn check_stop(&self) -> Result<(), Fault> {
        match self.stop.is_stopped() {
            true => Err(Fault::cancelled("the caller no longer waits for an answer")),
            false => Ok(()),
        }
    }
}

/// Where a call came from.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origin {
    /// The name of the request.
    pub(crate) request_id: String,
    /// The `traceparent` header, as it came.
    pub(crate) traceparent: Option<String>,
}

/// What came over the wire for one call.
pub(crate) struct Input {
    /// Path and query parameters, as form pairs.
    pub(crate) parameters: String,
    pub(crate) body: Bytes,
    pub(crate) content_type: Option<String>,
}

pub(crate) type Handler = Arc<dyn Fn(&Call<'_>, Input) -> Result<Reply, Fault> + Send + Sync>;

pub(crate) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// What a body holds.
#[derive(Clone, Copy)]
pub(crate) enum Content {
    None,
    /// One JSON document of this schema.
    Json(SchemaOf),
    /// Text of this type.
    Text(&'static str),
    /// Server-sent events, which OpenAPI 3.1 has no schema for.
    Events,
}

#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    /// Its name: in the document, in metrics and in the audit log.
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    pub(crate) scope: Scope,
    pub(crate) lane: Lane,
    pub(crate) parameters: SchemaOf,
    pub(crate) takes: Content,
    pub(crate) gives: Content,
    /// 202 instead of 200.
    pub(crate) is_accepted: bool,
    /// What reading its body takes, where that is a document.
    pub(crate) reading_cost: Option<ReadingCost>,
    pub(crate) call: Handler,
}

#[derive(Debug, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoParameters {}

/// Begins an endpoint that gives one JSON document.
pub(crate) fn endpoint<G: JsonSchema>(
    method: Method,
    path: &'static str,
    id: &'static str,
    summary: &'static str,
) -> Draft {
    let is_read = method == Method::GET;
    Draft {
        method,
        path,
        id,
        summary,
        scope: if is_read { Scope::Read } else { Scope::Write },
        lane: if is_read { Lane::Read } else { Lane::Write },
        gives: Content::Json(|generator| generator.subschema_for::<G>()),
        is_accepted: false,
        reading_cost: None,
    }
}

/// An endpoint that does not do anything yet.
pub(crate) struct Draft {
    method: Method,
    path: &'static str,
    id: &'static str,
    summary: &'static str,
    scope: Scope,
    lane: Lane,
    gives: Content,
    is_accepted: bool,
    reading_cost: Option<ReadingCost>,
}

impl Draft {
    pub(crate) fn scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    pub(crate) fn lane(mut self, lane: Lane) -> Self {
        self.lane = lane;
        self
    }

    pub(crate) fn gives_text(mut self, content_type: &'static str) -> Self {
        self.gives = Content::Text(content_type);
        self
    }

    pub(crate) fn accepted(mut self) -> Self {
        self.is_accepted = true;
        self
    }

    /// What reading the body takes, where it is not read into fields.
    pub(crate) fn reading_cost(mut self, cost: ReadingCost) -> Self {
        self.reading_cost = Some(cost);
        self
    }

    /// Takes parameters and no body.
    pub(crate) fn asks<P>(self, call: fn(&Call<'_>, P) -> Result<Reply, Fault>) -> Endpoint
    where
        P: DeserializeOwned + JsonSchema + 'static,
    {
        let handler: Handler = Arc::new(move |context, input| {
            refuse_body(&input)?;
            call(context, parameters(&input)?)
        });
        self.finish::<P>(Content::None, handler)
    }

    /// Takes parameters and a JSON document.
    pub(crate) fn takes<P, B>(
        mut self,
        call: fn(&Call<'_>, P, B) -> Result<Reply, Fault>,
    ) -> Endpoint
    where
        P: DeserializeOwned + JsonSchema + 'static,
        B: DeserializeOwned + JsonSchema + 'static,
    {
        let handler: Handler = Arc::new(move |context, input| {
            let (parameters, body) = (parameters(&input)?, document(&input)?);
            // What was read from the bytes is enough.
            drop(input);
            context.check_stop()?;
            call(context, parameters, body)
        });
        self.reading_cost.get_or_insert(ReadingCost::TYPED);
        self.finish::<P>(Content::Json(|generator| generator.subschema_for::<B>()), handler)
    }

    /// Takes parameters and a text.
    pub(crate) fn takes_text<P>(
        self,
        content_type: &'static str,
        call: fn(&Call<'_>, P, &str) -> Result<Reply, Fault>,
    ) -> Endpoint
    where
        P: DeserializeOwned + JsonSchema + 'static,
    {
        let handler: Handler = Arc::new(move |context, input| {
            let parameters = parameters(&input)?;
            let text = std::str::from_utf8(&input.body).map_err(|error| {
                Fault::usage(format!("the body is not UTF-8 at byte {}", error.valid_up_to()))
            })?;
            call(context, parameters, text)
        });
        self.finish::<P>(Content::Text(content_type), handler)
    }

    fn finish<P: JsonSchema>(self, takes: Content, call: Handler) -> Endpoint {
        let Self { method, path, id, summary, scope, lane, gives, is_accepted, reading_cost } =
            self;
        let parameters: SchemaOf = |generator| P::json_schema(generator);
        Endpoint {
            method,
            path,
            id,
            summary,
            scope,
            lane,
            parameters,
            takes,
            gives,
            is_accepted,
            reading_cost,
            call,
        }
    }
}

fn parameters<P: DeserializeOwned>(input: &Input) -> Result<P, Fault> {
    serde_urlencoded::from_str(&input.parameters)
        .map_err(|error| Fault::usage(format!("the parameters can't be read: {error}")))
}

fn document<B: DeserializeOwned>(input: &Input) -> Result<B, Fault> {
    let content_type = input.content_type.as_deref().unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case(JSON) {
        return Err(Fault::unsupported_media_type("the body must be JSON")
            .hint("send `content-type: application/json`"));
    }
    body::read(&input.body)
        .map_err(|error| Fault::usage(format!("the body can't be read: {error}")))
}

fn refuse_body(input: &Input) -> Result<(), Fault> {
    if input.body.is_empty() {
        return Ok(());
    }
    Err(Fault::usage("this request takes no body"))
}
