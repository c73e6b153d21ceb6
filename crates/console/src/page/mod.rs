//! The pages, one module each: the JSON it reads, and its template.

pub mod alerts;
pub mod benchmarks;
pub mod calibration;
pub mod capture;
pub mod captures;
pub mod contradictions;
pub mod incidents;
pub mod label_conflicts;
pub mod labels;
pub mod explain;
pub mod memory;
pub mod message;
pub mod overview;
pub mod probe;
pub mod prompts;
pub mod runs;
pub mod sign_in;
pub mod spending;
pub mod suites;
