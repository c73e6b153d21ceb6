//! The operations of [`Store`](crate::Store), one file per subject, written once for both engines.

mod activity;
mod alerts;
mod calibration;
mod captures;
mod check;
mod config;
mod counters;
mod deliveries;
mod documents;
mod erase;
mod events;
mod feed;
mod forget;
mod incidents;
mod jobs;
mod judging;
mod labels;
mod leases;
mod load;
mod queries;
#[cfg(test)]
mod races;
mod read;
mod retention;
mod retrievals;
mod sources;
mod spend;
mod stats;
mod suite_runs;
mod suites;
mod texts;
mod tokens;
mod workspaces;
mod write;

pub(crate) use workspaces::insert_workspace;
