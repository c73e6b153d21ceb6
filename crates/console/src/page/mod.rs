//! The pages, one module each: the JSON it reads, and its template.

pub mod capture;
pub mod captures;
pub mod label_conflicts;
pub mod labels;
pub mod message;
pub mod runs;
pub mod sign_in;
