//! Stores feedback on answers with the log of the retrieval: votes, comments and results marked
//! barely relevant.
//!
//! Promises: comments are scrubbed; a borderline result must be one of the answer's results, so a
//! caller cannot have a page scored that was not shown.

use std::ops::ControlFlow;

use gbrain_brain::capture::OWNER;
use gbrain_core::fault::{Fault, FaultKind, chain};
use gbrain_core::format::feedback::{BorderlineComment, FeedbackBody, FeedbackInput, Vote};
use gbrain_core::format::suite::{RetrievalBody, Signal};
use gbrain_core::id::WorkspaceId;
use gbrain_core::request::Viewer;
use gbrain_core::scrub::Scrubber;
use gbrain_core::suite::case::matches_expected;
use gbrain_store::{
    NewFeedback, RetrievalFilter, RetrievalLog, RetrievalOrigin, Store, StoreError,
};
use jiff::Timestamp;

/// Maximum length of a comment, in bytes.
const LONGEST: usize = 16_000;

/// The reason that feedback is not stored.
#[derive(Debug, thiserror::Error)]
pub enum FeedbackError {
    #[error("there is nothing to say: give a vote, a comment or a borderline result")]
    Nothing,
    /// The answer is not identified, or identified twice.
    #[error("name the answer by its request id or by the number of its log, and by one of them")]
    OfWhat,
    /// The log has no such answer.
    #[error("no such answer is in the log")]
    Unknown,
    /// The result is not among the answer's results.
    #[error("{0} is not among the results of that answer")]
    NoResult(String),
    /// The comment exceeds the maximum length.
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

pub fn add_feedback(
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
    let mut signals = Vec::new();
    let mut add = |signal: Signal, score, comment| {
        signals.push(NewFeedback { signal_type: signal.name().to_owned(), score, comment });
    };
    if let Some(vote) = vote {
        let score = if *vote == Vote::Up { 1.0 } else { -1.0 };
        add(Signal::UserVote, Some(score), None);
    }
    if let Some(comment) = comment {
        add(Signal::UserComment, None, Some(scrubber.scrub(comment).text));
    }
    if let Some(document) = borderline {
        let document = result(&log, document)?;
        let comment = serde_json::to_string(&BorderlineComment { document });
        add(Signal::BorderlineLabel, None, comment.ok());
    }
    let mut ids = Vec::new();
    for signal in &signals {
        let id = store.add_feedback(workspace, log.id, signal, now)?;
        ids.push(id.ok_or(FeedbackError::Unknown)?);
    }
    Ok(FeedbackBody { log: log.id, feedback: ids })
}

/// The log of the last answer to the owner.
pub fn last_answer_log(store: &Store, workspace: &WorkspaceId) -> Result<i64, FeedbackError> {
    let live =
        RetrievalFilter { traffic: Some(RetrievalOrigin::Live), ..RetrievalFilter::default() };
    let mut found = None;
    store.scan_retrieval_logs(workspace, &live, &mut |one| {
        let is_it = one.fields.user_id.as_deref() == Some(OWNER);
        found = is_it.then_some(one.id);
        Ok(if is_it { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    found.ok_or(FeedbackError::Unknown)
}

/// Finds the newest retrieval with a request id, or the one with a number. Answers given to the
/// owner are hidden from other callers.
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
        traffic: Some(RetrievalOrigin::Live),
        limit: Some(1),
        ..RetrievalFilter::default()
    };
    let is_theirs = |one: &RetrievalLog| {
        trust == Viewer::Trusted || one.fields.user_id.as_deref() != Some(OWNER)
    };
    let found = store.retrieval_logs(workspace, &filter)?.into_iter().next();
    found.filter(is_theirs).ok_or(FeedbackError::Unknown)
}

/// The full name of the result that a document name refers to.
fn result(log: &RetrievalLog, document: &str) -> Result<String, FeedbackError> {
    let body = log.fields.body.as_deref();
    let body: Option<RetrievalBody> = body.and_then(|body| serde_json::from_str(body).ok());
    let is_it = |id: &String| matches_expected(document, id);
    let found = body.and_then(|body| body.result_ids.into_iter().find(is_it));
    found.ok_or_else(|| FeedbackError::NoResult(document.to_owned()))
}
