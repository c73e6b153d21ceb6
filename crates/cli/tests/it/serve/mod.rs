//! `gbrain serve` as its callers meet it: decent ones, curious ones and hostile ones.

mod background;
mod bodies;
pub(crate) mod client;
mod guard;
mod hostile;
mod isolation;
mod lost_files;
mod memory;
mod reranker;
mod schemathesis;
mod scrubbed;
mod shutdown;
mod tokens;
mod unread;
