//! Lists and adds the sources of pages.

use gbrain_brain::wire::{ObjectChange, SourceChanged, SourcesBody};
use gbrain_core::fault::Fault;
use gbrain_core::id::SourceId;
use gbrain_store::SourceTrust;
use schemars::JsonSchema;
use serde::Deserialize;

use super::bounds::at_most;
use crate::http::{NoParameters, OperationCall, Reply};

/// A source to add.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AddSource {
    /// The source's id: lower-case letters, digits, hyphens.
    #[schemars(regex(pattern = r"^[a-z0-9][a-z0-9-]{0,31}$"))]
    id: String,
    /// A display name; by default the id.
    #[serde(default)]
    #[schemars(length(max = 200))]
    name: Option<String>,
    /// Whether its aliases and titles may claim another page's name; false by default.
    #[serde(default)]
    trusted: bool,
}

/// Lists sources with their number of visible pages.
pub(crate) fn list(call: &OperationCall<'_>, _: NoParameters) -> Result<Reply, Fault> {
    let store = call.registry.store();
    let sources = store.sources(&call.principal.workspace)?;
    let counts = store.visible_pages(&call.principal.workspace)?;
    Reply::json(&SourcesBody::new(&sources, &counts))
}

/// Adds a source, or changes whether it is trusted.
pub(crate) fn add_or_set_trust(
    call: &OperationCall<'_>,
    _: NoParameters,
    body: AddSource,
) -> Result<Reply, Fault> {
    let id = SourceId::new(&body.id)?;
    at_most("the name of a source", body.name.as_deref(), 200)?;
    let trust = if body.trusted { SourceTrust::Trusted } else { SourceTrust::Untrusted };
    let (store, ws) = (call.registry.store(), &call.principal.workspace);
    let is_known = store.sources(ws)?.iter().any(|source| source.id == id);
    let outcome = if is_known {
        store.set_source_trust(ws, &id, trust, call.now)?;
        ObjectChange::Changed
    } else {
        let name = body.name.as_deref().unwrap_or(id.as_str());
        store.add_source(ws, &id, name, trust, call.now)?;
        ObjectChange::Added
    };
    Reply::json(&SourceChanged { source: &id, outcome })
}
