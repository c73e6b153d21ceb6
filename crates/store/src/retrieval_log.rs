//! Retrieval logs and their feedback.

use jiff::Timestamp;

/// The recorded fields of a retrieval.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RetrievalFields {
    /// The target's own id of the request: 1 to 200 bytes.
    pub request_id: Option<String>,
    /// The scrubbed query: at most 51,200 bytes.
    pub query_text: String,
    /// `knowledge`, `graph` or `hybrid`.
    pub retrieval_mode: Option<String>,
    /// The suite run that sent the request: 1 to 200 bytes. `None` for live traffic.
    pub experiment_id: Option<String>,
    pub user_id: Option<String>,
    /// The number of requested results.
    pub top_k: Option<u32>,
    /// The minimum score of a result.
    pub rerank_threshold: Option<f64>,
    pub total_ms: Option<f64>,
    pub dense_ms: Option<f64>,
    pub rerank_ms: Option<f64>,
    pub hydration_ms: Option<f64>,
    /// The candidates of each stage and further details (JSON). It names pages by whole keys: a
    /// purge replaces those of its page.
    pub body: Option<String>,
}

/// A retrieval to log.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRetrievalLog {
    /// When the request was made.
    pub at: Timestamp,
    pub fields: RetrievalFields,
    /// Feedback that is known already.
    pub feedback: Vec<NewFeedback>,
}

/// A stored retrieval log.
#[derive(Debug, Clone, PartialEq)]
pub struct RetrievalLog {
    /// Number in the workspace, from 1.
    pub id: i64,
    /// When the request was made.
    pub created_at: Timestamp,
    pub fields: RetrievalFields,
}

/// Feedback on a retrieval.
#[derive(Debug, Clone, PartialEq)]
pub struct NewFeedback {
    /// The kind of feedback, such as `user_vote`: 1 to 100 bytes.
    pub signal_type: String,
    pub score: Option<f64>,
    /// Free text or JSON.
    pub comment: Option<String>,
}

/// Stored feedback on a retrieval.
#[derive(Debug, Clone, PartialEq)]
pub struct Feedback {
    /// Number in the workspace, from 1.
    pub id: i64,
    pub retrieval_log_id: i64,
    /// The kind of feedback.
    pub signal_type: String,
    pub score: Option<f64>,
    /// Free text or JSON.
    pub comment: Option<String>,
    pub created_at: Timestamp,
}

/// The origin of retrievals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RetrievalOrigin {
    Live,
    /// Requests sent by any suite run.
    Experiments,
    /// Requests sent by the suite run with this id.
    Experiment(String),
}

/// Selects retrieval logs. The default is all of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RetrievalFilter {
    pub id: Option<i64>,
    /// Requested at this time or later.
    pub since: Option<Timestamp>,
    /// Requested before this time.
    pub until: Option<Timestamp>,
    pub traffic: Option<RetrievalOrigin>,
    pub retrieval_mode: Option<String>,
    pub request_id: Option<String>,
    /// Only with feedback of this kind.
    pub signal_type: Option<String>,
    /// At most this many, the newest.
    pub limit: Option<u64>,
}
