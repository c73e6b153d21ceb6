//! The embedding models available to an index.

use std::sync::Arc;

use gbrain_embed::Embedder;

/// The models of a process. An index holds the vectors of one of them.
#[derive(Clone, Default)]
pub struct Models {
    wanted: Option<Arc<dyn Embedder>>,
    others: Vec<Arc<dyn Embedder>>,
}

impl Models {
    /// No model: an index without vectors.
    pub fn none() -> Self {
        Self::default()
    }

    /// New indexes hold vectors of `wanted`.
    pub fn new(wanted: Arc<dyn Embedder>) -> Self {
        Self { wanted: Some(wanted), others: Vec::new() }
    }

    /// Adds a model, so that indexes with its vectors can be searched and updated too.
    #[must_use]
    pub fn and(mut self, other: Arc<dyn Embedder>) -> Self {
        self.others.push(other);
        self
    }

    /// The model of new indexes.
    pub fn wanted(&self) -> Option<&Arc<dyn Embedder>> {
        self.wanted.as_ref()
    }

    pub fn find(&self, id: &str) -> Option<&Arc<dyn Embedder>> {
        self.wanted.iter().chain(&self.others).find(|model| model.id() == id)
    }
}

impl std::fmt::Debug for Models {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ids = self.wanted.iter().chain(&self.others).map(|model| model.id().to_owned());
        f.debug_list().entries(ids).finish()
    }
}
