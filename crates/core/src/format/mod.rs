//! Stored, exported and foreign formats with their versions, where they differ from the domain
//! types.
//!
//! A format struct is built by destructuring the domain value, so that a field added there fails to
//! compile here instead of being lost. A type that is only displayed derives its own JSON where it
//! is defined.

pub mod activity;
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
