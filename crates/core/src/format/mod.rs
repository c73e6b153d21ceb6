//! What is stored, exported or read from outside, with its version: shapes that differ from the domain.
//!
//! A shape is made by taking a core value apart field by field, so that a field added there fails to compile
//! here instead of being lost. A type that is only displayed writes its own JSON where it is defined.

pub mod alert;
mod answer;
pub mod ask;
pub mod benchmark;
pub mod body;
pub mod calibration;
pub mod capture;
pub mod captured;
pub mod contradiction;
pub mod cross_modal;
pub mod feedback;
pub mod incident;
pub mod probe;
pub mod result;
pub mod schema;
pub mod selftest;
pub mod serving;
pub mod suite;
pub mod target;
pub mod triage;

pub use answer::Answer;
