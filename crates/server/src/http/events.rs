//! Progress as server-sent events: the state of a job whenever it changed, until it is over.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Request, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use gbrain_core::fault::Fault;
use gbrain_core::format::serving::JobBody;
use gbrain_core::job::JobState;
use gbrain_core::request::Caller;
use jiff::Timestamp;

use super::endpoint::{Call, Origin};
use super::enter::Action;
use super::reply::Refusal;
use super::{Shared, in_time, visitor};
use crate::jobs::RUNS;
use crate::lanes::Lane;
use crate::operations::jobs::{find, shown};
use crate::visitor::Visitor;

/// How often the store is asked.
const EVERY: Duration = Duration::from_millis(250);
/// How many listeners there are at most.
pub(super) const LISTENERS: usize = 256;

/// The events of a run.
pub(super) async fn of_run(
    State(shared): State<Arc<Shared>>,
    id: Result<Path<i64>, axum::extract::rejection::PathRejection>,
    request: Request,
) -> Response {
    named("run_events", events(shared, id.ok(), RUNS, visitor(&request)).await)
}

/// The events of any job.
pub(super) async fn of_job(
    State(shared): State<Arc<Shared>>,
    id: Result<Path<i64>, axum::extract::rejection::PathRejection>,
    request: Request,
) -> Response {
    named("job_events", events(shared, id.ok(), &[], visitor(&request)).await)
}

fn named(action: &'static str, outcome: Result<Response, Refusal>) -> Response {
    let mut response = outcome.unwrap_or_else(IntoResponse::into_response);
    response.extensions_mut().insert(Action(action));
    response
}

async fn events(
    shared: Arc<Shared>,
    id: Option<Path<i64>>,
    kinds: &'static [&'static str],
    who: Result<Visitor, Fault>,
) -> Result<Response, Refusal> {
    let Some(Path(id)) = id else { return Err(Fault::usage("a job has a number").into()) };
    let who = who?;
    let place = shared.listeners.clone().try_acquire_owned();
    let place = place.map_err(|_| Fault::overloaded("too many are listening already"))?;
    let mut watching = Watching { shared, who, id, kinds, last: None, is_over: false };
    let first = watching.next().await?;
    let rest =
        stream::unfold((first, Some(watching), place), |(event, watching, place)| async move {
            if let Some(event) = event {
                return Some((Ok::<_, Infallible>(event), (None, watching, place)));
            }
            let (event, watching) = watching?.changed().await?;
            Some((Ok(event), (None, watching, place)))
        });
    Ok(Sse::new(rest).keep_alive(KeepAlive::default()).into_response())
}

/// A listener and what it heard last.
struct Watching {
    shared: Arc<Shared>,
    who: Visitor,
    id: i64,
    kinds: &'static [&'static str],
    last: Option<JobBody>,
    is_over: bool,
}

impl Watching {
    /// What there is to say now, if it is new.
    async fn next(&mut self) -> Result<Option<Event>, Refusal> {
        let (house, who, id, kinds) =
            (self.shared.house.clone(), self.who.clone(), self.id, self.kinds);
        let look = move || {
            let caller = Caller { remote: true, ..Caller::default() };
            let call = Call {
                house: &house,
                who: &who,
                now: Timestamp::now(),
                caller,
                origin: Origin::default(),
            };
            find(&call, id, kinds)
        };
        let job = in_time(&self.shared, Lane::Read, look).await??;
        let body = shown(&job);
        self.is_over = !matches!(job.state, JobState::Queued | JobState::Running);
        if self.last.as_ref() == Some(&body) {
            return Ok(None);
        }
        let name = if self.is_over { "end" } else { "progress" };
        let event = Event::default().event(name).json_data(&body);
        self.last = Some(body);
        let event = event.map_err(|error| Fault::internal(error.to_string()))?;
        Ok(Some(event))
    }

    /// Waits for the next change; none when there is nothing more to hear. The last event comes
    /// without a watcher.
    async fn changed(mut self) -> Option<(Event, Option<Self>)> {
        while !self.is_over && !self.shared.is_stopping() {
            tokio::time::sleep(EVERY).await;
            match self.next().await {
                Ok(Some(event)) => return Some((event, Some(self))),
                Ok(None) => {}
                // Too much is asked of the server: a listener waits, and does not take it for the end.
                Err(refusal) if refusal.retry_after.is_some() => {}
                Err(_) => return None,
            }
        }
        None
    }
}
