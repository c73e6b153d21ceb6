//! The console: pages that a server renders for its readers.

mod monitor;
