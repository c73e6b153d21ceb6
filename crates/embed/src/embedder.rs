//! What every model promises.

/// Why a text has no vector.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The model could not be loaded.
    #[error("the embedding model {model} can't be loaded: {reason}")]
    Load {
        /// Which.
        model: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The model failed.
    #[error("the embedding model {model} failed: {reason}")]
    Run {
        /// Which.
        model: String,
        /// What it said.
        reason: String,
    },
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

    /// The vector of what is asked, for models that tell it from what is found.
    fn embed_query(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        Ok(self.embed(&[text])?.pop().unwrap_or_default())
    }
}
