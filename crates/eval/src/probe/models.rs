//! Selects the models of a run from the settings.

use std::collections::BTreeMap;

use gbrain_core::cross_modal::PanelSlot;
use gbrain_core::search::Settings;
use gbrain_llm::{ModelCatalog, ModelError, ModelRef, ModelTask};

use super::error::ProbeError;

#[derive(Debug, Clone)]
pub(super) struct ModelSelection {
    pub(super) answers: ModelRef,
    pub(super) seats: Vec<(PanelSlot, ModelRef)>,
    /// The query expander, if the settings expand every query.
    pub(super) expander: Option<ModelRef>,
    pub(super) reranker: Option<ModelRef>,
}

impl ModelSelection {
    /// Chooses the models that a query of the owner, an answer and a panel would use now.
    pub(super) fn choose(
        catalog: &ModelCatalog,
        config: &BTreeMap<String, String>,
        settings: &Settings,
    ) -> Result<Self, ProbeError> {
        let choose = |task| -> Result<Option<ModelRef>, ModelError> {
            Ok(catalog.choose(task, None, config)?.map(|(model, _)| model))
        };
        let mut seats = Vec::new();
        for (slot, task) in [
            (PanelSlot::A, ModelTask::SlotA),
            (PanelSlot::B, ModelTask::SlotB),
            (PanelSlot::C, ModelTask::SlotC),
        ] {
            seats.extend(choose(task)?.map(|model| (slot, model)));
        }
        let wants_words = settings.expand >= 0.5;
        Ok(Self {
            answers: choose(ModelTask::LongMemEval)?.ok_or(ProbeError::NoReader)?,
            seats,
            expander: if wants_words { choose(ModelTask::Expansion)? } else { None },
            reranker: choose(ModelTask::Rerank)?,
        })
    }

    /// The models that must be ready, except the panel, which checks itself.
    pub(super) fn beside_the_panel(&self) -> impl Iterator<Item = &ModelRef> {
        [Some(&self.answers), self.expander.as_ref(), self.reranker.as_ref()].into_iter().flatten()
    }
}
