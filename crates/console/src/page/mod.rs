//! The pages, one module each: the JSON it reads, and its template.

pub(crate) mod baseline;
pub(crate) mod benchmark;
pub(crate) mod captures_file;
mod checks;
pub mod compare;
pub(crate) mod gate;
mod judged;
pub mod message;
pub(crate) mod replay;
pub(crate) mod row;
pub(crate) mod rows;
pub(crate) mod run_file;
pub mod run_progress;
pub mod runs;
pub(crate) mod scatter;
pub mod sign_in;
pub(crate) mod span;
pub mod suite_run;
pub mod view;
