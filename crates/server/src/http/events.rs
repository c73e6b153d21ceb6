//! Progress as server-sent events: the state of a job whenever it changed, until it is over.

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

use super::endpoint::{Call, Origin};
use super::enter::Action;
use super::memory::CallMemory;
use super::reply::Refusal;
use super::{Shared, in_time, visitor};
use crate::jobs::RUNS;
use crate::lanes::{Lane, StopFlag};
use crate::operations::jobs::{find, shown};
use crate::visitor::Visitor;

/// How often the store is asked.
const EVERY: Duration = Duration::from_millis(250);
/// How many listeners there are at most, and of one token.
const LISTENERS: usize = 256;
const LISTENERS_OF_ONE: usize = 32;

/// Who listens, and how often.
#[derive(Debug, Clone, Default)]
pub(super) struct Listeners(Arc<Mutex<HashMap<Option<String>, usize>>>);

/// A place of a listener; given back when he goes.
#[derive(Debug)]
struct Place {
    of: Listeners,
    token_id: Option<String>,
}

impl Listeners {
    fn take(&self, token_id: Option<String>) -> Option<Place> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (all, own) = (taken.values().sum::<usize>(), taken.get(&token_id).copied());
        if all >= LISTENERS || own.is_some_and(|own| own >= LISTENERS_OF_ONE) {
            return None;
        }
        *taken.entry(token_id.clone()).or_default() += 1;
        Some(Place { of: self.clone(), token_id })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.of.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = taken.get_mut(&self.token_id) {
            *own -= 1;
        }
        taken.retain(|_, own| *own > 0);
    }
}

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
    let place = shared.listeners.take(who.token_id.clone());
    let place = place.ok_or_else(|| Fault::overloaded("too many are listening already"))?;
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
        let found = self.look().await?;
        Ok(self.hear(&found)?)
    }

    /// The job now, for somebody who may still see it.
    async fn look(&self) -> Result<JobInfo, Refusal> {
        let (house, keeper) = (self.shared.house.clone(), self.shared.keeper.clone());
        let budget = self.shared.memory.clone();
        let (who, id, kinds) = (self.who.clone(), self.id, self.kinds);
        let look = move |stop: &StopFlag| {
            let still =
                keeper.still_admits(&who, Instant::now(), moment(std::time::SystemTime::now()));
            match still {
                Ok(true) => (),
                Ok(false) => return Err(Fault::unauthorised("this token was revoked or ran out")),
                Err(_) => return Err(Fault::unavailable("the database does not answer")),
            }
            let caller = Caller { remote: true, ..Caller::default() };
            let call = Call {
                house: &house,
                who: &who,
                now: moment(std::time::SystemTime::now()),
                caller,
                origin: Origin::default(),
                stop,
                memory: &CallMemory::new(&budget, house.metrics(), 0),
            };
            find(&call, id, kinds)
        };
        Ok(in_time(&self.shared, Lane::Read, look).await??)
    }

    fn hear(&mut self, job: &JobInfo) -> Result<Option<Event>, Fault> {
        let body = shown(job);
        self.is_over = job.state.is_over();
        if self.last.as_ref() == Some(&body) {
            return Ok(None);
        }
        let name = if self.is_over { "end" } else { "progress" };
        let event = Event::default().event(name).json_data(&body);
        self.last = Some(body);
        event.map(Some).map_err(|error| Fault::internal(error.to_string()))
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
