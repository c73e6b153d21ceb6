//! The expansion hook: the caller's model rephrases a query.
//!
//! The variants become part of the request before the search, so that the ranking depends on corpus
//! and request alone and can be reproduced without the model. If the model fails, the query is
//! searched as it is, and the answer names the stage as degraded.
//!
//! Deliberately absent: timeouts and caching. Both are the hook's responsibility.

use std::borrow::Cow;

use gbrain_core::hook::HookError;
use gbrain_core::request::{Expansion, Operation, Request, RetrievalMode};
use gbrain_core::search::expand::expansion;

use super::QueryOptions;

/// Returns other phrasings of a query, best first.
pub type Expand<'a> = dyn Fn(&str) -> Result<Vec<String>, HookError> + 'a;

/// The request with variants from the caller's model, if it wants them and has none.
pub(super) fn expand_request<'r>(
    request: &'r Request,
    options: &QueryOptions<'_>,
) -> Cow<'r, Request> {
    let Some(expand) = options.expand.filter(|_| is_wanted(request)) else {
        return Cow::Borrowed(request);
    };
    let expansion = expansion(&request.query, expand(&request.query), &request.settings);
    Cow::Owned(Request { expansion, ..request.clone() })
}

/// Whether to call the model. Graph walks use only the typed query.
pub(super) fn is_wanted(request: &Request) -> bool {
    request.expansion == Expansion::Requested
        && request.operation == Operation::Query
        && request.mode != RetrievalMode::Graph
}
