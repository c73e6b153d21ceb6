//! Switches a brain to another embedding model.
//!
//! The vectors of the new model are computed beside those of the old one, which remain searchable;
//! when all are complete, one commit switches. Interrupted work continues where it stopped.

use std::path::PathBuf;

use gbrain_index::{Models, Urgency};
use schemars::JsonSchema;
use serde::Serialize;

use crate::freshness::WORK_WAIT;
use crate::{Brain, BrainError, IndexKind, WorkspaceOptions};

/// The vectors that a brain holds, and those of the wanted model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VectorReport {
    /// The model of the vectors that are held.
    pub held: Option<String>,
    /// Whether this process can search them.
    pub is_searchable: bool,
    /// The model that this process wants.
    pub wanted: Option<String>,
    /// Passages that have a vector of the wanted model.
    pub made: u64,
    /// Total number of passages.
    pub total: u64,
}

impl VectorReport {
    /// Whether re-embedding would change nothing.
    pub fn is_settled(&self) -> bool {
        self.wanted.is_none() || self.held == self.wanted
    }
}

impl Brain {
    /// The vectors that the index holds.
    pub fn vector_report(&self) -> Result<VectorReport, BrainError> {
        let view = self.index().view()?;
        let held = view.vector_model().map(str::to_owned);
        let (made, total) = self.index().wanted_vectors()?;
        Ok(VectorReport {
            is_searchable: held.as_deref().is_some_and(|id| self.models.find(id).is_some()),
            held,
            wanted: self.models.wanted().map(|model| model.id().to_owned()),
            made,
            total,
        })
    }

    /// Computes the vectors of the wanted model for all passages, beside those that are searched.
    pub fn make_wanted_vectors(&self, progress: &dyn Fn(u64, u64)) -> Result<(), BrainError> {
        self.catch_up(WORK_WAIT, Urgency::Work, &|_, _| Ok(()))?;
        Ok(self.index().make_wanted_vectors(progress)?)
    }

    /// The same corpus with vectors of the wanted model, in memory, to preview answers after the
    /// switch. `None` if no model is wanted.
    pub fn trial(&self) -> Result<Option<Self>, BrainError> {
        let Some(wanted) = self.models.wanted() else { return Ok(None) };
        let options = WorkspaceOptions {
            index: IndexKind::Memory,
            index_dir: PathBuf::new(),
            workspace: self.workspace.clone(),
            models: Models::new(wanted.clone()),
        };
        Self::with_store(self.store.clone(), options).map(Some)
    }

    /// Switches to the vectors of the wanted model in one commit; computes missing ones.
    pub fn adopt_wanted_vectors(&self) -> Result<VectorReport, BrainError> {
        let mut writer = self.index().writer(WORK_WAIT)?;
        writer.adopt_wanted_model()?;
        writer.settle()?;
        drop(writer);
        self.vector_report()
    }
}
