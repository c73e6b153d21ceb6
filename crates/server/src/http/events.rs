//! Job progress as server-sent events: one event per change of a job's state, until it ends.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::{Path, Request, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use gbrain_core::clock::moment;
use gbrain_core::fault::Fault;
use gbrain_core::format::serving::JobBody;
use gbrain_core::request::Caller;
use gbrain_store::JobInfo;

use super::endpoint::{OperationCall, RequestOrigin};
use super::memory::RequestMemoryAccount;
use super::middleware::EndpointName;
use super::reply::ErrorResponse;
use super::{ServerState, in_time, principal};
use crate::jobs::RUNS;
use crate::operations::jobs::{find, shown};
use crate::principal::Principal;
use crate::work_queue::{StopFlag, WorkQueue};

const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Most listeners in total and per token.
const MAX_LISTENERS: usize = 256;
const MAX_LISTENERS_PER_TOKEN: usize = 32;

/// Number of listeners by token.
#[derive(Debug, Clone, Default)]
pub(super) struct ListenerCounts(Arc<Mutex<HashMap<Option<String>, usize>>>);

#[derive(Debug)]
struct ListenerPermit {
    of: ListenerCounts,
    token_id: Option<String>,
}

impl ListenerCounts {
    fn take(&self, token_id: Option<String>) -> Option<ListenerPermit> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (all, own) = (taken.values().sum::<usize>(), taken.get(&token_id).copied());
        if all >= MAX_LISTENERS || own.is_some_and(|own| own >= MAX_LISTENERS_PER_TOKEN) {
            return None;
        }
        *taken.entry(token_id.clone()).or_default() += 1;
        Some(ListenerPermit { of: self.clone(), token_id })
    }
}

impl Drop for ListenerPermit {
    fn drop(&mut self) {
        let mut taken = self.of.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = taken.get_mut(&self.token_id) {
            *own -= 1;
        }
        taken.retain(|_, own| *own > 0);
    }
}

pub(crate) async fn of_run(
    State(shared): State<Arc<ServerState>>,
    id: Result<Path<i64>, axum::extract::rejection::PathRejection>,
    request: Request,
) -> Response {
    with_endpoint_name("run_events", events(shared, id.ok(), RUNS, principal(&request)).await)
}

pub(crate) async fn of_job(
    State(shared): State<Arc<ServerState>>,
    id: Result<Path<i64>, axum::extract::rejection::PathRejection>,
    request: Request,
) -> Response {
    with_endpoint_name("job_events", events(shared, id.ok(), &[], principal(&request)).await)
}

fn with_endpoint_name(action: &'static str, outcome: Result<Response, ErrorResponse>) -> Response {
    let mut response = outcome.unwrap_or_else(IntoResponse::into_response);
    response.extensions_mut().insert(EndpointName(action));
    response
}

async fn events(
    shared: Arc<ServerState>,
    id: Option<Path<i64>>,
    kinds: &'static [&'static str],
    principal: Result<Principal, Fault>,
) -> Result<Response, ErrorResponse> {
    let Some(Path(id)) = id else { return Err(Fault::usage("a job id is a number").into()) };
    let principal = principal?;
    let permit = shared.listeners.take(principal.token_id.clone());
    let permit = permit.ok_or_else(|| Fault::overloaded("too many event listeners"))?;
    let mut watcher = JobWatcher { shared, principal, id, kinds, last: None, is_over: false };
    let first = watcher.next().await?;
    let rest =
        stream::unfold((first, Some(watcher), permit), |(event, watcher, permit)| async move {
            if let Some(event) = event {
                return Some((Ok::<_, Infallible>(event), (None, watcher, permit)));
            }
            let (event, watcher) = watcher?.next_change().await?;
            Some((Ok(event), (None, watcher, permit)))
        });
    Ok(Sse::new(rest).keep_alive(KeepAlive::default()).into_response())
}

/// A listener and the last state it was sent.
struct JobWatcher {
    shared: Arc<ServerState>,
    principal: Principal,
    id: i64,
    kinds: &'static [&'static str],
    last: Option<JobBody>,
    is_over: bool,
}

impl JobWatcher {
    /// The event for the current state, if it changed.
    async fn next(&mut self) -> Result<Option<Event>, ErrorResponse> {
        let found = self.load_job().await?;
        Ok(self.event_for(&found)?)
    }

    /// Loads the job, after checking that the caller may still see it.
    async fn load_job(&self) -> Result<JobInfo, ErrorResponse> {
        let (registry, authenticator) =
            (self.shared.registry.clone(), self.shared.authenticator.clone());
        let budget = self.shared.memory.clone();
        let (principal, id, kinds) = (self.principal.clone(), self.id, self.kinds);
        let look = move |stop: &StopFlag| {
            let still = authenticator.is_still_valid(
                &principal,
                Instant::now(),
                moment(std::time::SystemTime::now()),
            );
            match still {
                Ok(true) => (),
                Ok(false) => return Err(Fault::unauthorised("this token was revoked or expired")),
                Err(_) => return Err(Fault::unavailable("the database does not answer")),
            }
            let caller = Caller { remote: true, ..Caller::default() };
            let call = OperationCall {
                registry: &registry,
                principal: &principal,
                now: moment(std::time::SystemTime::now()),
                caller,
                origin: RequestOrigin::default(),
                stop,
                memory: &RequestMemoryAccount::new(&budget, registry.metrics(), 0),
            };
            find(&call, id, kinds)
        };
        Ok(in_time(&self.shared, WorkQueue::Read, look).await??)
    }

    fn event_for(&mut self, job: &JobInfo) -> Result<Option<Event>, Fault> {
        let body = shown(job);
        self.is_over = job.state.is_finished();
        if self.last.as_ref() == Some(&body) {
            return Ok(None);
        }
        let name = if self.is_over { "end" } else { "progress" };
        let event = Event::default().event(name).json_data(&body);
        self.last = Some(body);
        event.map(Some).map_err(|error| Fault::internal(error.to_string()))
    }

    /// Waits for the next change; `None` at the end. The last event comes without a watcher.
    async fn next_change(mut self) -> Option<(Event, Option<Self>)> {
        while !self.is_over && !self.shared.is_stopping() {
            tokio::time::sleep(POLL_INTERVAL).await;
            match self.next().await {
                Ok(Some(event)) => return Some((event, Some(self))),
                Ok(None) => {}
                // The server is overloaded: keep listening instead of ending the stream.
                Err(refusal) if refusal.retry_after.is_some() => {}
                Err(_) => return None,
            }
        }
        None
    }
}
