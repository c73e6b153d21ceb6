//! Who takes part in a run, by the settings.

use std::collections::BTreeMap;

use gbrain_core::cross_modal::Slot;
use gbrain_core::search::Settings;
use gbrain_llm::{Desk, ModelError, ModelRef, Task};

use super::trouble::Trouble;

#[derive(Debug, Clone)]
pub(super) struct Cast {
    pub(super) answers: ModelRef,
    pub(super) seats: Vec<(Slot, ModelRef)>,
    /// Who puts questions in other words, where the settings want that of every query.
    pub(super) expander: Option<ModelRef>,
    /// Who puts candidates in order, where the settings name somebody.
    pub(super) reranker: Option<ModelRef>,
}

impl Cast {
    /// The models that a query of the owner, an answer and a panel would have now.
    pub(super) fn choose(
        desk: &Desk,
        config: &BTreeMap<String, String>,
        settings: &Settings,
    ) -> Result<Self, Trouble> {
        let choose = |task| -> Result<Option<ModelRef>, ModelError> {
            Ok(desk.choose(task, None, config)?.map(|(model, _)| model))
        };
        let mut seats = Vec::new();
        for (slot, task) in [(Slot::A, Task::SlotA), (Slot::B, Task::SlotB), (Slot::C, Task::SlotC)]
        {
            seats.extend(choose(task)?.map(|model| (slot, model)));
        }
        let wants_words = settings.expand >= 0.5;
        Ok(Self {
            answers: choose(Task::LongMemEval)?.ok_or(Trouble::NoReader)?,
            seats,
            expander: if wants_words { choose(Task::Expansion)? } else { None },
            reranker: choose(Task::Rerank)?,
        })
    }

    /// Everybody who must be ready, but the panel, which says so itself.
    pub(super) fn beside_the_panel(&self) -> impl Iterator<Item = &ModelRef> {
        [Some(&self.answers), self.expander.as_ref(), self.reranker.as_ref()].into_iter().flatten()
    }
}
