//! The expansion hook: other ways to ask a query, which a caller's model makes.
//!
//! What the model said becomes part of the request before anything is searched, so that the ranking
//! depends on corpus and request alone and can be had again without the model. A model that fails
//! leaves the query as it is, and is named in the answer as degraded.
//!
//! Deliberately absent: time limits and remembering what a model said. Both are the hook's own.

use std::borrow::Cow;

use gbrain_core::hook::HookError;
use gbrain_core::request::{Expansion, Operation, Request, RetrievalMode};
use gbrain_core::search::expand::expansion;

use super::Ask;

/// Gives other ways to ask a query, the best first.
pub type Expand<'a> = dyn Fn(&str) -> Result<Vec<String>, HookError> + 'a;

/// The request with what the caller's model says, if it wants that and does not have it.
pub(super) fn expanded<'r>(request: &'r Request, ask: &Ask<'_>) -> Cow<'r, Request> {
    let Some(expand) = ask.expand.filter(|_| is_wanted(request)) else {
        return Cow::Borrowed(request);
    };
    let expansion = expansion(&request.query, expand(&request.query), &request.settings);
    Cow::Owned(Request { expansion, ..request.clone() })
}

/// Whether a model is to be asked. Walks go by what was typed, so a model would say nothing to them.
pub(super) fn is_wanted(request: &Request) -> bool {
    request.expansion == Expansion::Wanted
        && request.operation == Operation::Query
        && request.mode != RetrievalMode::Graph
}
