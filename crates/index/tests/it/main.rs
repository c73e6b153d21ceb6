//! What an index promises, checked on both.

mod conformance;
mod corpus;
mod differential;
mod durability;
