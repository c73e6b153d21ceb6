//! The real binary, as a user runs it.

#![expect(clippy::unwrap_used, reason = "a test that can't go on has failed")]
#![expect(clippy::disallowed_methods, reason = "the clock of a test is right")]

mod alerts;
mod answers;
mod bad_input;
mod baselines;
mod benchmark;
mod calibrate;
mod capture;
mod commands;
mod compare;
mod concurrent;
#[path = "../../../core/tests/it/conforms.rs"]
mod conforms;
mod contradictions;
mod cross_modal;
mod damaged_index;
mod damaged_texts;
mod doctor;
mod escapes;
mod export;
mod far_clock;
mod faults;
mod forged;
mod fuzz;
mod gate;
mod hermetic_gate;
mod identity;
mod interfaces;
mod judged;
mod kill;
mod latency;
mod lies;
mod limits;
mod load_served;
mod long_names;
mod lost_captures;
mod manual;
mod mcp;
mod meaning;
mod mistyped;
mod models;
mod noninterference;
mod outages;
mod output;
mod owner_only;
mod passwords;
mod probe;
mod prompts;
mod psql;
mod purge;
mod replay;
mod same_names;
mod schema;
mod score;
mod serve;
mod stopping;
mod suites;
mod support;
mod targets;
mod triage;
mod trust;
mod workers;
mod workflow;
