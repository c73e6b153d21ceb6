//! Calls of the API's endpoints on behalf of the reader of a page.

use std::cell::RefCell;
use std::collections::HashMap;

use bytes::Bytes;
use gbrain_core::fault::Fault;
use gbrain_core::request::Caller;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::http::{
    Endpoint, JSON, OperationCall, Reply, RequestInput, RequestMemoryAccount, RequestOrigin,
    ServerState,
};
use crate::principal::Principal;
use crate::work_queue::StopFlag;

use super::reports::ReportCache;

/// The endpoints by their ids.
pub(crate) type EndpointTable = HashMap<&'static str, Endpoint>;

/// A call of a page or an action: it reads and changes things through the API only.
pub(crate) struct ConsoleCall<'a> {
    call: OperationCall<'a>,
    endpoints: &'a EndpointTable,
    reports: &'a ReportCache,
    /// The object of the first change, for the audit log.
    target: RefCell<Option<String>>,
}

/// The result of a page or an action.
pub(super) struct CallOutcome<T> {
    /// The object that was changed, or was to be.
    pub(super) target: Option<String>,
    pub(super) result: Result<T, Fault>,
}

impl<T> CallOutcome<T> {
    /// Nothing was called.
    pub(super) fn refused(fault: Fault) -> Self {
        Self { target: None, result: Err(fault) }
    }
}

impl ConsoleCall<'_> {
    /// Runs a page or an action as this principal.
    pub(super) fn run<T>(
        shared: &ServerState,
        principal: &Principal,
        stop: &StopFlag,
        work: impl FnOnce(&ConsoleCall<'_>) -> Result<T, Fault>,
    ) -> CallOutcome<T> {
        let memory = RequestMemoryAccount::new(shared.memory_budget(), shared.metrics(), 0);
        let call = OperationCall {
            registry: &shared.registry,
            principal,
            now: super::now(),
            caller: Caller { remote: true, job_id: None, subagent_id: None },
            origin: RequestOrigin::default(),
            stop,
            memory: &memory,
        };
        let call = ConsoleCall {
            call,
            endpoints: shared.endpoints(),
            reports: shared.reports(),
            target: RefCell::default(),
        };
        let result = work(&call);
        CallOutcome { target: call.target.into_inner(), result }
    }

    /// Whether the reader's scope allows this endpoint.
    pub(crate) fn may(&self, id: &str) -> bool {
        self.endpoints.get(id).is_some_and(|endpoint| endpoint.scope <= self.call.principal.scope)
    }

    /// Fails unless the reader's scope allows this endpoint.
    pub(crate) fn require(&self, id: &str) -> Result<(), Fault> {
        self.endpoint(id).map(drop)
    }

    pub(crate) fn workspace(&self) -> &str {
        self.call.principal.workspace.as_str()
    }

    pub(crate) fn reports(&self) -> &ReportCache {
        self.reports
    }

    fn endpoint(&self, id: &str) -> Result<&Endpoint, Fault> {
        let endpoint =
            self.endpoints.get(id).ok_or_else(|| Fault::internal(format!("no endpoint {id}")))?;
        if self.call.principal.scope < endpoint.scope {
            return Err(Fault::forbidden(format!(
                "this needs a token of scope {}",
                endpoint.scope
            ))
            .hint("sign out, then sign in with a token of that scope"));
        }
        Ok(endpoint)
    }

    /// Calls an endpoint without a body.
    pub(crate) fn read<T: DeserializeOwned>(
        &self,
        id: &str,
        parameters: &[(&str, &str)],
    ) -> Result<T, Fault> {
        parsed(id, &self.bytes(id, parameters, None)?)
    }

    /// Calls an endpoint with a JSON body.
    pub(crate) fn send<T: DeserializeOwned>(
        &self,
        id: &str,
        parameters: &[(&str, &str)],
        body: &impl Serialize,
    ) -> Result<T, Fault> {
        let body = serde_json::to_vec(body).map_err(|error| Fault::internal(error.to_string()))?;
        parsed(id, &self.bytes(id, parameters, Some(body.into()))?)
    }

    /// The bytes that an endpoint answers with.
    pub(crate) fn bytes(
        &self,
        id: &str,
        parameters: &[(&str, &str)],
        body: Option<Bytes>,
    ) -> Result<Vec<u8>, Fault> {
        let endpoint = self.endpoint(id)?;
        if let (false, Some((_, target))) = (endpoint.method.is_safe(), parameters.first()) {
            self.target.borrow_mut().get_or_insert_with(|| (*target).to_owned());
        }
        let parameters = serde_urlencoded::to_string(parameters)
            .map_err(|error| Fault::usage(error.to_string()))?;
        let content_type = body.as_ref().map(|_| JSON.to_owned());
        let input = RequestInput { parameters, body: body.unwrap_or_default(), content_type };
        match (endpoint.call)(&self.call, input)? {
            Reply::Json(bytes) | Reply::Accepted(bytes) | Reply::Text { bytes, .. } => Ok(bytes),
            Reply::Lines(_) => Err(Fault::internal(format!("{id} is a stream"))),
        }
    }
}

fn parsed<T: DeserializeOwned>(id: &str, bytes: &[u8]) -> Result<T, Fault> {
    serde_json::from_slice(bytes)
        .map_err(|error| Fault::internal(format!("the answer of {id}: {error}")))
}
