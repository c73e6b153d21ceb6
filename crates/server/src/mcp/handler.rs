//! The server that a client speaks to: every request of the protocol that we answer.
//!
//! It holds no state between requests, so any copy of it can answer any of them.

use std::sync::Arc;
use std::time::Duration;

use axum::http::request::Parts;
use gbrain_core::fault::Fault;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, GetPromptRequestParams, GetPromptResponse,
    Implementation, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};

use super::errand::{self, Said, Sender};
use super::{address, caller, outcome, prompts, resources, tools};
use crate::audit::Audit;
use crate::house::House;
use crate::http::BodyMemory;
use crate::lanes::{Lane, Lanes, Refused, StopFlag};
use crate::visitor::Visitor;

/// What a handler works with.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) house: Arc<House>,
    /// Where blocking work is done.
    pub(crate) lanes: Lanes,
    /// Where changes are written down.
    pub(crate) audit: Audit,
    /// How long an answer may take.
    pub(crate) patience: Duration,
    /// The largest message that is read, in bytes.
    pub(crate) max_message: usize,
    /// The memory that requests share.
    pub(crate) memory: BodyMemory,
}

/// Where a handler learns who asks.
#[derive(Clone)]
pub(super) enum Entrance {
    /// One visitor for the whole connection.
    Fixed(Visitor),
    /// Each HTTP request carries its own, put there by whoever checked its token.
    Request,
}

/// Answers the requests of clients.
#[derive(Clone)]
pub(crate) struct Handler {
    context: Context,
    entrance: Entrance,
}

type Asked = RequestContext<RoleServer>;

impl Handler {
    pub(super) fn new(context: Context, entrance: Entrance) -> Self {
        Self { context, entrance }
    }

    fn visitor(&self, asked: &Asked) -> Result<Visitor, ErrorData> {
        let found = match &self.entrance {
            Entrance::Fixed(visitor) => Some(visitor),
            Entrance::Request => {
                asked.extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<Visitor>())
            }
        };
        // Nobody gets here unchecked; if it happens all the same, nobody gets further.
        found.cloned().ok_or_else(|| ErrorData::internal_error("nobody knows who asks", None))
    }

    fn sender(&self, asked: &Asked) -> Result<Sender, ErrorData> {
        let (who, caller) = (self.visitor(asked)?, caller::of(&asked.meta)?);
        Ok(Sender::new(who, caller, asked.extensions.get::<Parts>()))
    }

    /// Sends somebody off with a tool, and waits as long as there is patience.
    async fn send(
        &self,
        sender: Sender,
        entry: &'static tools::Entry,
        arguments: JsonObject,
    ) -> Result<Said, Fault> {
        let context = self.context.clone();
        let job = move |stop: &StopFlag| errand::run(&context, &sender, entry, arguments, stop);
        let work = self.context.lanes.run(entry.lane, job);
        match tokio::time::timeout(self.context.patience, work).await {
            Ok(Ok(done)) => done,
            Ok(Err(refused)) => Err(self.refused(refused)),
            Err(_) => {
                self.context.house.metrics().refused("timeout");
                Err(took_too_long(entry.lane))
            }
        }
    }

    fn refused(&self, refused: Refused) -> Fault {
        match refused {
            Refused::Full | Refused::Late => {
                self.context.house.metrics().refused("queue_full");
                Fault::overloaded(refused.to_string()).hint("try again in a moment")
            }
            Refused::Panicked => Fault::internal(refused.to_string()),
        }
    }

    /// What a tool says, for a request about resources.
    async fn look(
        &self,
        sender: Sender,
        tool: &str,
        arguments: JsonObject,
    ) -> Result<Value, Fault> {
        let entry = tools::named(tool).ok_or_else(|| Fault::internal("a tool is missing"))?;
        self.send(sender, entry, arguments).await.map(|said| said.document)
    }
}

/// What a caller hears when there is no answer in time. A write that was begun may still be done.
pub(crate) fn took_too_long(lane: Lane) -> Fault {
    Fault::unavailable(match lane {
        Lane::Read => "it took too long and was stopped",
        Lane::Write => "it took too long, and may still be going on",
    })
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts();
        let own = Implementation::new("gbrain", env!("CARGO_PKG_VERSION"))
            .with_title("gbrain")
            .with_description("A memory for agents whose retrieval is proven on every change.");
        ServerConfig::new(capabilities.build())
            .with_server_info(own)
            .with_instructions(prompts::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        asked: Asked,
    ) -> Result<ListToolsResult, ErrorData> {
        let scope = self.visitor(&asked)?.scope;
        let tools = tools::visible(scope).map(|entry| entry.tool.clone()).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        asked: Asked,
    ) -> Result<CallToolResponse, ErrorData> {
        let sender = self.sender(&asked)?;
        let Some(entry) = tools::named(&request.name) else {
            let unknown = format!("there is no tool {:?}", request.name);
            return Err(ErrorData::invalid_params(unknown, None));
        };
        let done = self.send(sender, entry, request.arguments.unwrap_or_default()).await;
        Ok(outcome::of_tool(done).into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        asked: Asked,
    ) -> Result<ListResourcesResult, ErrorData> {
        let sender = self.sender(&asked)?;
        let mut arguments = rmcp::model::object(json!({ "limit": resources::PIECE }));
        if let Some(cursor) = request.and_then(|request| request.cursor) {
            arguments.insert("after".to_owned(), cursor.into());
        }
        let body = self.look(sender, "list_pages", arguments).await;
        body.map(|body| resources::list(&body))
            .map_err(|fault| outcome::of_resource(address::TEMPLATE, fault))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: Asked,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(vec![resources::template()]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        asked: Asked,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let sender = self.sender(&asked)?;
        let uri = request.uri;
        let Some(key) = address::page(&uri) else {
            let none = Fault::not_found("this is not the address of a page")
                .hint(format!("pages are at {}", address::TEMPLATE));
            return Err(outcome::of_resource(&uri, none));
        };
        let arguments = rmcp::model::object(json!({ "page": key.to_string() }));
        let body = self.look(sender, "get_page", arguments).await;
        let body = body.map_err(|fault| outcome::of_resource(&uri, fault))?;
        Ok(resources::read(uri, &body).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        asked: Asked,
    ) -> Result<ListPromptsResult, ErrorData> {
        let scope = self.visitor(&asked)?.scope;
        Ok(ListPromptsResult::with_all_items(prompts::visible(scope)))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        asked: Asked,
    ) -> Result<GetPromptResponse, ErrorData> {
        let scope = self.visitor(&asked)?.scope;
        Ok(prompts::get(scope, &request.name, request.arguments.as_ref())?.into())
    }
}
