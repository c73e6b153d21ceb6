//! The pages, one module each: the JSON it reads, and its template.

pub mod explain;
pub mod memory;
pub mod message;
pub mod runs;
pub mod sign_in;
