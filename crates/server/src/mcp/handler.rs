//! The server that a client speaks to: every request of the protocol that we answer.
//!
//! It holds no state between requests, so any copy of it can answer any of them.

use std::sync::Arc;

use axum::http::request::Parts;
use gbrain_core::fault::Fault;
use gbrain_core::request::Caller;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, GetPromptRequestParams, GetPromptResponse,
    Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;

use super::operation::{Backend, GetPage, ListPages, Operation};
use super::{address, caller, outcome, prompts, resources, tools};
use crate::lanes::{Lane, Lanes};
use crate::visitor::Visitor;

/// What a handler works with.
#[derive(Clone)]
pub(crate) struct Context {
    /// Who does the operations.
    pub backend: Arc<dyn Backend>,
    /// Where they are done.
    pub lanes: Lanes,
    /// The largest message that is read, in bytes.
    pub max_message: usize,
}

/// Where a handler learns who asks.
#[derive(Clone)]
pub(super) enum Door {
    /// One visitor for the whole connection.
    Fixed(Visitor),
    /// Each HTTP request carries its own, put there by whoever checked its token.
    Request,
}

/// Answers the requests of clients.
#[derive(Clone)]
pub(crate) struct Handler {
    context: Context,
    door: Door,
}

type Asked = RequestContext<RoleServer>;

impl Handler {
    pub(super) fn new(context: Context, door: Door) -> Self {
        Self { context, door }
    }

    fn visitor(&self, asked: &Asked) -> Result<Visitor, ErrorData> {
        let found = match &self.door {
            Door::Fixed(visitor) => Some(visitor),
            Door::Request => {
                asked.extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<Visitor>())
            }
        };
        // Nobody gets here unchecked; if it happens all the same, nobody gets further.
        found.cloned().ok_or_else(|| ErrorData::internal_error("nobody knows who asks", None))
    }

    async fn call(
        &self,
        lane: Lane,
        who: Visitor,
        caller: Caller,
        operation: Operation,
    ) -> Result<Value, Fault> {
        let backend = self.context.backend.clone();
        let done = self.context.lanes.run(lane, move || backend.call(&who, caller, operation));
        done.await.unwrap_or_else(|refused| Err(outcome::of_refusal(refused)))
    }

    async fn use_tool(
        &self,
        who: Visitor,
        caller: Caller,
        entry: &tools::Entry,
        request: CallToolRequestParams,
    ) -> Result<Value, Fault> {
        if !who.scope.allows(entry.scope) {
            return Err(Fault::forbidden(format!(
                "the tool `{}` needs a token of scope {}",
                entry.tool.name, entry.scope
            )));
        }
        let operation = entry.operation(request.arguments)?;
        self.call(entry.lane, who, caller, operation).await
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_prompts()
            .build();
        let own = Implementation::new("gbrain", env!("CARGO_PKG_VERSION"))
            .with_title("gbrain")
            .with_description("A memory for agents whose retrieval is proven on every change.");
        ServerConfig::new(capabilities)
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
        let who = self.visitor(&asked)?;
        let Some(entry) = tools::named(&request.name) else {
            let unknown = format!("there is no tool {:?}", request.name);
            return Err(ErrorData::invalid_params(unknown, None));
        };
        let caller = caller::of(&asked.meta)?;
        let done = self.use_tool(who, caller, entry, request).await;
        Ok(outcome::of_tool(done).into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        asked: Asked,
    ) -> Result<ListResourcesResult, ErrorData> {
        let who = self.visitor(&asked)?;
        let caller = caller::of(&asked.meta)?;
        let after = request.and_then(|request| request.cursor);
        let operation = Operation::ListPages(ListPages::after(after, resources::PIECE));
        let body = self.call(Lane::Read, who, caller, operation).await;
        body.map(|body| resources::list(&body))
            .map_err(|fault| outcome::of_resource("gbrain://page", fault))
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
        let who = self.visitor(&asked)?;
        let caller = caller::of(&asked.meta)?;
        let uri = request.uri;
        let Some(key) = address::page(&uri) else {
            let none = Fault::not_found("this is not the address of a page")
                .hint(format!("pages are at {}", address::TEMPLATE));
            return Err(outcome::of_resource(&uri, none));
        };
        let operation = Operation::GetPage(GetPage { page: key.to_string(), version: None });
        let body = self.call(Lane::Read, who, caller, operation).await;
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
