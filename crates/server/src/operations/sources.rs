//! Sources: where pages come from.

use gbrain_brain::wire::{Change, SourceChanged, SourcesBody};
use gbrain_core::fault::Fault;
use gbrain_core::id::SourceId;
use gbrain_store::SourceTrust;
use schemars::JsonSchema;
use serde::Deserialize;

use super::bounds::at_most;
use crate::http::{Call, NoParameters, Reply};

/// A source to add.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddSource {
    /// Its id: lower-case letters, digits, hyphens.
    #[schemars(regex(pattern = r"^[a-z0-9][a-z0-9-]{0,31}$"))]
    id: String,
    /// What people call it.
    #[serde(default)]
    #[schemars(length(max = 200))]
    name: Option<String>,
    /// Whether its aliases and titles may take another page's name; they may not if it is not said.
    #[serde(default)]
    trusted: bool,
}

/// Lists sources, with how many pages of each may be seen.
pub(crate) fn list(call: &Call<'_>, _: NoParameters) -> Result<Reply, Fault> {
    let store = call.house.store();
    let sources = store.sources(&call.who.workspace)?;
    let counts = store.visible_pages(&call.who.workspace)?;
    Reply::json(&SourcesBody::new(&sources, &counts))
}

/// Adds a source, or changes whether it is trusted.
pub(crate) fn add(call: &Call<'_>, _: NoParameters, body: AddSource) -> Result<Reply, Fault> {
    let id = SourceId::new(&body.id)?;
    at_most("the name of a source", body.name.as_deref(), 200)?;
    let trust = if body.trusted { SourceTrust::Trusted } else { SourceTrust::Untrusted };
    let (store, ws) = (call.house.store(), &call.who.workspace);
    let is_known = store.sources(ws)?.iter().any(|source| source.id == id);
    let outcome = if is_known {
        store.set_source_trust(ws, &id, trust, call.now)?;
        Change::Changed
    } else {
        let name = body.name.as_deref().unwrap_or(id.as_str());
        store.add_source(ws, &id, name, trust, call.now)?;
        Change::Added
    };
    Reply::json(&SourceChanged { source: &id, outcome })
}
