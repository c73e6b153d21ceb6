//! Retrievals as they are logged, and what was said of them.

use jiff::Timestamp;

/// A retrieval.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RetrievalFields {
    /// The target's own name for the request: 1 to 200 bytes.
    pub request_id: Option<String>,
    /// What was asked, scrubbed: 51,200 bytes at most.
    pub query_text: String,
    /// `knowledge`, `graph` or `hybrid`.
    pub retrieval_mode: Option<String>,
    /// The run that asked: 1 to 200 bytes. None for live traffic.
    pub experiment_id: Option<String>,
    pub user_id: Option<String>,
    /// How many results were asked for.
    pub top_k: Option<u32>,
    /// The least score that a result had to have.
    pub rerank_threshold: Option<f64>,
    /// How long the whole took.
    pub total_ms: Option<f64>,
    /// How long the dense stage took.
    pub dense_ms: Option<f64>,
    /// How long reranking took.
    pub rerank_ms: Option<f64>,
    /// How long fetching the texts took.
    pub hydration_ms: Option<f64>,
    /// What each stage saw and the rest (JSON). It names pages by whole keys: a purge
    /// replaces those of its page.
    pub body: Option<String>,
}

/// A retrieval to log.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRetrievalLog {
    /// When it was asked.
    pub at: Timestamp,
    /// What was asked, by whom, and how long it took.
    pub fields: RetrievalFields,
    /// What is known of it at once.
    pub feedback: Vec<NewFeedback>,
}

/// A logged retrieval.
#[derive(Debug, Clone, PartialEq)]
pub struct RetrievalLog {
    /// Its number, from 1.
    pub id: i64,
    /// When it was asked.
    pub created_at: Timestamp,
    /// What was asked, by whom, and how long it took.
    pub fields: RetrievalFields,
}

/// Something to say of a retrieval.
#[derive(Debug, Clone, PartialEq)]
pub struct NewFeedback {
    /// What kind of word it is, such as `user_vote`: 1 to 100 bytes.
    pub signal_type: String,
    pub score: Option<f64>,
    /// In words, or as JSON.
    pub comment: Option<String>,
}

/// Something that was said of a retrieval.
#[derive(Debug, Clone, PartialEq)]
pub struct Feedback {
    /// Its number, from 1.
    pub id: i64,
    pub retrieval_log_id: i64,
    /// What kind of word it is.
    pub signal_type: String,
    pub score: Option<f64>,
    /// In words, or as JSON.
    pub comment: Option<String>,
    /// When it was said.
    pub created_at: Timestamp,
}

/// Whose retrievals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Traffic {
    Live,
    /// Those of all runs.
    Experiments,
    /// Those of one run.
    Experiment(String),
}

/// Which logged retrievals to read. The default is all of them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RetrievalFilter {
    /// Of this number only.
    pub id: Option<i64>,
    /// Asked at this moment or later.
    pub since: Option<Timestamp>,
    /// Asked before this moment.
    pub until: Option<Timestamp>,
    pub traffic: Option<Traffic>,
    /// In this mode only.
    pub retrieval_mode: Option<String>,
    /// Under this name only.
    pub request_id: Option<String>,
    /// Of which something of this kind was said.
    pub signal_type: Option<String>,
    /// At most this many, the newest.
    pub limit: Option<u64>,
}
