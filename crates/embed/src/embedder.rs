//! The trait of embedding models.

/// Why a remote model did not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EmbedErrorKind {
    /// It was unreachable or refused the request.
    Failed,
    /// It did not answer in time.
    Timeout,
    /// Asking it would have cost more than was left.
    OverBudget,
    /// There is no key to ask it with.
    NoKey,
}

/// Why a text has no vector.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The model could not be loaded.
    #[error("the embedding model {model} can't be loaded: {reason}")]
    Load {
        model: String,
        /// The reason in words.
        reason: String,
    },
    #[error("the embedding model {model} failed: {reason}")]
    Run { model: String, reason: String },
    /// A model elsewhere did not answer.
    #[error("the embedding model {model} did not answer: {reason}")]
    Remote {
        model: String,
        cause: EmbedErrorKind,
        /// The error message, without keys and without the texts.
        reason: String,
    },
}

impl EmbedError {
    /// The kind of the error; a local model has simply failed.
    pub fn cause(&self) -> EmbedErrorKind {
        match self {
            Self::Load { .. } | Self::Run { .. } => EmbedErrorKind::Failed,
            Self::Remote { cause, .. } => *cause,
        }
    }
}

/// How long a writer lets a remote model take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Urgency {
    /// As long as the model's limits allow: the work is worth waiting for.
    #[default]
    Work,
    /// A caller waits for an answer: a model that is slow or down fails soon.
    Answer,
}

/// A passage of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PassageText<'a> {
    pub text: &'a str,
    /// The page, as `source::slug`. A model that keeps vectors keeps it with them, so that they can go with the page.
    pub page: &'a str,
}

/// A model that turns texts into vectors.
pub trait Embedder: Send + Sync {
    /// Names the model and its exact weights: vectors of different ids can't be compared.
    fn id(&self) -> &str;

    /// How many numbers a vector has; a multiple of 8.
    fn dims(&self) -> usize;

    /// The middle of what the model makes of ordinary passages: a bit of a code says on which
    /// side of it a vector lies.
    fn centre(&self) -> &[f32];

    /// One vector per text, in their order, each of length one; all zeros for a text that the
    /// model can say nothing about.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError>;

    /// [`Embedder::embed`] of passages whose pages are known. Where an answer waits for them, a remote model
    /// that is slow or down fails sooner.
    fn embed_passages(
        &self,
        passages: &[PassageText<'_>],
        _urgency: Urgency,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let texts: Vec<&str> = passages.iter().map(|passage| passage.text).collect();
        self.embed(&texts)
    }

    /// The vectors of queries, for models that distinguish them from passages.
    fn embed_queries(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.embed(texts)
    }

    /// Whether a text goes elsewhere to be embedded, which takes time and may cost money.
    fn is_remote(&self) -> bool {
        false
    }

    /// Whether the work is spread over threads of the model's own, which the caller's CPU clock does
    /// not see.
    fn has_threads(&self) -> bool {
        false
    }
}
