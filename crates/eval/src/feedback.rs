//! What people say of answers, kept with the log of the retrieval: votes, comments, results that are barely
//! relevant.
//!
//! Promises: comments are scrubbed; a result that is called borderline is one of the answer's, so nobody can
//! have a page scored that was not shown.

use std::ops::ControlFlow;

use gbrain_brain::capture::OWNER;
use gbrain_core::fault::{Fault, FaultKind, chain};
use gbrain_core::format::feedback::{BorderlineComment, FeedbackBody, FeedbackInput, Vote};
use gbrain_core::format::suite::{RetrievalBody, Signal};
use gbrain_core::id::WorkspaceId;
use gbrain_core::request::Viewer;
use gbrain_core::scrub::Scrubber;
use gbrain_core::suite::case::is_meant;
use gbrain_store::{NewFeedback, RetrievalFilter, RetrievalLog, Store, StoreError, Traffic};
use jiff::Timestamp;

/// The longest comment, in bytes.
const LONGEST: usize = 16_000;

/// Why something is not kept.
#[derive(Debug, thiserror::Error)]
pub enum FeedbackError {
    #[error("there is nothing to say: give a vote, a comment or a borderline result")]
    Nothing,
    /// It is not clear of what.
    #[error("name the answer by its request id or by the number of its log, and by one of them")]
    OfWhat,
    /// There is no such answer in the log.
    #[error("no such answer is in the log")]
    Unknown,
    /// The result is not one of the answer's.
    #[error("{0} is not among the results of that answer")]
    NoResult(String),
    /// The comment is too long.
    #[error("a comment takes up to {LONGEST} bytes")]
    Long,
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<FeedbackError> for Fault {
    fn from(error: FeedbackError) -> Self {
        let message = chain(&error);
        match error {
            FeedbackError::Store(error) => error.into(),
            FeedbackError::Unknown => Self::not_found(message).hint(
                "answers are logged while capture is on, a moment after they are given; `served.request_id` names them",
            ),
            _ => Self::new(FaultKind::Input, message),
        }
    }
}

/// Keeps what is said of an answer.
pub fn say(
    store: &Store,
    workspace: &WorkspaceId,
    scrubber: &Scrubber,
    trust: Viewer,
    input: &FeedbackInput,
    now: Timestamp,
) -> Result<FeedbackBody, FeedbackError> {
    let FeedbackInput { request_id, log, vote, comment, borderline } = input;
    let comment = comment.as_deref().filter(|comment| !comment.trim().is_empty());
    if vote.is_none() && comment.is_none() && borderline.is_none() {
        return Err(FeedbackError::Nothing);
    }
    if comment.is_some_and(|comment| comment.len() > LONGEST) {
        return Err(FeedbackError::Long);
    }
    let log = find(store, workspace, trust, request_id.as_deref(), *log)?;
    let mut words = Vec::new();
    let mut word = |signal: Signal, score, comment| {
        words.push(NewFeedback { signal_type: signal.name().to_owned(), score, comment });
    };
    if let Some(vote) = vote {
        let score = if *vote == Vote::Up { 1.0 } else { -1.0 };
        word(Signal::UserVote, Some(score), None);
    }
    if let Some(comment) = comment {
        word(Signal::UserComment, None, Some(scrubber.scrub(comment).text));
    }
    if let Some(document) = borderline {
        let document = result(&log, document)?;
        let comment = serde_json::to_string(&BorderlineComment { document });
        word(Signal::BorderlineLabel, None, comment.ok());
    }
    let mut kept = Vec::new();
    for word in &words {
        let id = store.add_feedback(workspace, log.id, word, now)?;
        kept.push(id.ok_or(FeedbackError::Unknown)?);
    }
    Ok(FeedbackBody { log: log.id, feedback: kept })
}

/// The log of the last answer that was given to the owner.
pub fn last(store: &Store, workspace: &WorkspaceId) -> Result<i64, FeedbackError> {
    let live = RetrievalFilter { traffic: Some(Traffic::Live), ..RetrievalFilter::default() };
    let mut found = None;
    store.scan_retrieval_logs(workspace, &live, &mut |one| {
        let is_it = one.fields.user_id.as_deref() == Some(OWNER);
        found = is_it.then_some(one.id);
        Ok(if is_it { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    found.ok_or(FeedbackError::Unknown)
}

/// The newest retrieval of a name, or the one of a number. What the owner was answered is the owner's: to
/// anybody else it is not there.
fn find(
    store: &Store,
    workspace: &WorkspaceId,
    trust: Viewer,
    request_id: Option<&str>,
    log: Option<i64>,
) -> Result<RetrievalLog, FeedbackError> {
    if request_id.is_some() == log.is_some() {
        return Err(FeedbackError::OfWhat);
    }
    let filter = RetrievalFilter {
        id: log,
        request_id: request_id.map(str::to_owned),
        traffic: Some(Traffic::Live),
        limit: Some(1),
        ..RetrievalFilter::default()
    };
    let is_theirs = |one: &RetrievalLog| {
        trust == Viewer::Trusted || one.fields.user_id.as_deref() != Some(OWNER)
    };
    let found = store.retrieval_logs(workspace, &filter)?.into_iter().next();
    found.filter(is_theirs).ok_or(FeedbackError::Unknown)
}

/// The result that is meant, by its whole name.
fn result(log: &RetrievalLog, document: &str) -> Result<String, FeedbackError> {
    let body = log.fields.body.as_deref();
    let body: Option<RetrievalBody> = body.and_then(|body| serde_json::from_str(body).ok());
    let is_it = |id: &String| is_meant(document, id);
    let found = body.and_then(|body| body.result_ids.into_iter().find(is_it));
    found.ok_or_else(|| FeedbackError::NoResult(document.to_owned()))
}
