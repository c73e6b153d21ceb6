//! Moving a brain to another embedding model.
//!
//! The vectors of the new model are made beside those of the old one, which go on being searched;
//! when all are there, one commit switches. Cut off at any moment, the work goes on where it was.

use std::path::PathBuf;

use gbrain_index::{Models, Urgency};
use schemars::JsonSchema;
use serde::Serialize;

use crate::freshness::WORK_WAIT;
use crate::{Brain, BrainError, IndexKind, WorkspaceOptions};

/// Which vectors a brain holds, and which it would.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VectorReport {
    /// The model whose vectors are held.
    pub held: Option<String>,
    /// Whether this process can search them.
    pub is_searchable: bool,
    /// The model that this process wants.
    pub wanted: Option<String>,
    /// Passages that have a vector of the model wanted.
    pub made: u64,
    /// Passages in all.
    pub total: u64,
}

impl VectorReport {
    /// Whether re-embedding would change anything.
    pub fn is_settled(&self) -> bool {
        self.wanted.is_none() || self.held == self.wanted
    }
}

impl Brain {
    /// Which vectors the index holds.
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

    /// Makes the vectors of the wanted model for everything, beside those that are searched.
    pub fn make_wanted_vectors(&self, progress: &dyn Fn(u64, u64)) -> Result<(), BrainError> {
        self.catch_up(WORK_WAIT, Urgency::Work, &|_, _| Ok(()))?;
        Ok(self.index().make_wanted_vectors(progress)?)
    }

    /// The same corpus with vectors of the wanted model, in memory: what queries will give after the
    /// switch. None if no model is wanted.
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

    /// Switches to the vectors of the wanted model, in one commit; makes what is missing of them.
    pub fn adopt_wanted_vectors(&self) -> Result<VectorReport, BrainError> {
        let mut writer = self.index().writer(WORK_WAIT)?;
        writer.adopt_wanted_model()?;
        writer.settle()?;
        drop(writer);
        self.vector_report()
    }
}
