//! The MCP server: answers every supported request of the protocol.
//!
//! It has no state between requests, so any copy of it can answer any request.

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

use super::tool_call::{self, ToolCaller, ToolOutput};
use super::{address, caller, outcome, prompts, resources, tools};
use crate::audit::Audit;
use crate::http::MemoryBudget;
use crate::principal::Principal;
use crate::work_queue::{QueueError, StopFlag, WorkQueue, WorkQueues};
use crate::workspace_registry::WorkspaceRegistry;

/// Dependencies of the handler.
#[derive(Clone)]
pub(crate) struct McpContext {
    pub(crate) registry: Arc<WorkspaceRegistry>,
    pub(crate) queues: WorkQueues,
    pub(crate) audit: Audit,
    pub(crate) timeout: Duration,
    pub(crate) max_message: usize,
    pub(crate) memory: MemoryBudget,
}

/// How a handler finds the principal of a request.
#[derive(Clone)]
pub(super) enum PrincipalSource {
    /// One principal for the whole connection.
    Fixed(Principal),
    /// Each HTTP request carries its own, set by the authentication middleware.
    Request,
}

#[derive(Clone)]
pub(crate) struct McpHandler {
    context: McpContext,
    principal_source: PrincipalSource,
}

type McpRequest = RequestContext<RoleServer>;

impl McpHandler {
    pub(super) fn new(context: McpContext, principal_source: PrincipalSource) -> Self {
        Self { context, principal_source }
    }

    fn principal(&self, incoming: &McpRequest) -> Result<Principal, ErrorData> {
        let found = match &self.principal_source {
            PrincipalSource::Fixed(principal) => Some(principal),
            PrincipalSource::Request => incoming
                .extensions
                .get::<Parts>()
                .and_then(|parts| parts.extensions.get::<Principal>()),
        };
        // The middleware always sets it; fail if it did not.
        found
            .cloned()
            .ok_or_else(|| ErrorData::internal_error("the request has no principal", None))
    }

    fn sender(&self, incoming: &McpRequest) -> Result<ToolCaller, ErrorData> {
        let (principal, caller) = (self.principal(incoming)?, caller::of(&incoming.meta)?);
        Ok(ToolCaller::new(principal, caller, incoming.extensions.get::<Parts>()))
    }

    /// Runs a tool on a work queue, with a timeout.
    async fn run_tool(
        &self,
        sender: ToolCaller,
        entry: &'static tools::ToolEntry,
        arguments: JsonObject,
    ) -> Result<ToolOutput, Fault> {
        let context = self.context.clone();
        let job = move |stop: &StopFlag| tool_call::run(&context, &sender, entry, arguments, stop);
        let work = self.context.queues.run(entry.queue, job);
        match tokio::time::timeout(self.context.timeout, work).await {
            Ok(Ok(done)) => done,
            Ok(Err(refused)) => Err(self.refused(refused)),
            Err(_) => {
                self.context.registry.metrics().refused("timeout");
                Err(timeout_fault(entry.queue))
            }
        }
    }

    fn refused(&self, refused: QueueError) -> Fault {
        match refused {
            QueueError::Full | QueueError::Late => {
                self.context.registry.metrics().refused("queue_full");
                Fault::overloaded(refused.to_string()).hint("try again in a moment")
            }
            QueueError::Panicked => Fault::internal(refused.to_string()),
        }
    }

    /// Runs a tool for a request about resources.
    async fn read_document(
        &self,
        sender: ToolCaller,
        tool: &str,
        arguments: JsonObject,
    ) -> Result<Value, Fault> {
        let entry = tools::named(tool).ok_or_else(|| Fault::internal("a tool is missing"))?;
        self.run_tool(sender, entry, arguments).await.map(|output| output.document)
    }
}

/// The fault when an operation times out. A write that has started may still complete.
pub(crate) fn timeout_fault(queue: WorkQueue) -> Fault {
    Fault::unavailable(match queue {
        WorkQueue::Read => "the operation took too long and was stopped",
        WorkQueue::Write => "the operation took too long and may still be running",
    })
}

impl ServerHandler for McpHandler {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts();
        let own = Implementation::new("gbrain", env!("CARGO_PKG_VERSION"))
            .with_title("gbrain")
            .with_description("Agent memory with regression-tested retrieval.");
        ServerConfig::new(capabilities.build())
            .with_server_info(own)
            .with_instructions(prompts::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        incoming: McpRequest,
    ) -> Result<ListToolsResult, ErrorData> {
        let scope = self.principal(&incoming)?.scope;
        let tools = tools::visible(scope).map(|entry| entry.tool.clone()).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        incoming: McpRequest,
    ) -> Result<CallToolResponse, ErrorData> {
        let sender = self.sender(&incoming)?;
        let Some(entry) = tools::named(&request.name) else {
            let unknown = format!("there is no tool {:?}", request.name);
            return Err(ErrorData::invalid_params(unknown, None));
        };
        let done = self.run_tool(sender, entry, request.arguments.unwrap_or_default()).await;
        Ok(outcome::of_tool(done).into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        incoming: McpRequest,
    ) -> Result<ListResourcesResult, ErrorData> {
        let sender = self.sender(&incoming)?;
        let mut arguments = rmcp::model::object(json!({ "limit": resources::PAGE_SIZE }));
        if let Some(cursor) = request.and_then(|request| request.cursor) {
            arguments.insert("after".to_owned(), cursor.into());
        }
        let body = self.read_document(sender, "list_pages", arguments).await;
        body.map(|body| resources::list(&body))
            .map_err(|fault| outcome::of_resource(address::TEMPLATE, fault))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: McpRequest,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(vec![resources::template()]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        incoming: McpRequest,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let sender = self.sender(&incoming)?;
        let uri = request.uri;
        let Some(key) = address::page(&uri) else {
            let none = Fault::not_found("this is not the URI of a page")
                .hint(format!("pages are at {}", address::TEMPLATE));
            return Err(outcome::of_resource(&uri, none));
        };
        let arguments = rmcp::model::object(json!({ "page": key.to_string() }));
        let body = self.read_document(sender, "get_page", arguments).await;
        let body = body.map_err(|fault| outcome::of_resource(&uri, fault))?;
        Ok(resources::read(uri, &body).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        incoming: McpRequest,
    ) -> Result<ListPromptsResult, ErrorData> {
        let scope = self.principal(&incoming)?.scope;
        Ok(ListPromptsResult::with_all_items(prompts::visible(scope)))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        incoming: McpRequest,
    ) -> Result<GetPromptResponse, ErrorData> {
        let scope = self.principal(&incoming)?.scope;
        Ok(prompts::get(scope, &request.name, request.arguments.as_ref())?.into())
    }
}
