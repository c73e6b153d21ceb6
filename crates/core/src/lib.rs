//! What gbrain decides: pages, chunks, links, requests, rankings and the search pipeline.
//!
//! Promises: pure and synchronous. No I/O, clock, randomness or printing; everything a decision
//! depends on arrives as an argument, so that the same arguments give the same bytes.

pub mod access;
pub mod address;
pub mod alert;
pub mod baseline;
pub mod benchmark;
pub mod blame;
pub mod calibrate;
pub mod capture;
pub mod chunk;
pub mod compare;
pub mod config;
pub mod contradiction;
pub mod cross_modal;
pub mod duration;
pub mod erasure;
pub mod fault;
mod fields;
pub mod format;
pub mod gate;
pub mod hash;
pub mod hook;
pub mod id;
pub mod identity;
pub mod incident;
pub mod job;
pub mod latency;
pub mod link;
pub mod measure;
pub mod money;
pub mod named;
pub mod overlap;
pub mod page;
pub mod probe;
pub mod prompt;
pub mod provenance;
pub mod qrels;
pub mod ranking;
pub mod repair;
pub mod replay;
pub mod report;
pub mod request;
pub mod run;
pub mod scrub;
pub mod search;
pub mod stats;
pub mod suite;
pub mod target;
pub mod text;
pub mod triage;
pub mod untrusted;
pub mod usage;
pub mod variable;
mod yaml;
