//! The tests of core that need more than one room, or data.

#![expect(clippy::unwrap_used, reason = "a test stops at a surprise")]

mod baseline;
mod calibrate;
mod conforms;
mod contradiction;
mod cross_modal;
mod gate;
mod identity;
mod pages;
mod probe;
mod replay;
mod schema;
mod scrub;
mod split;
mod trec_eval;
mod untrusted;
mod world;

/// A directory of the data sets, or a loud skip.
#[expect(clippy::print_stderr, reason = "a skip is told")]
fn data(name: &str) -> Option<std::path::PathBuf> {
    let dir = std::env::var_os("GBRAIN_TEST_DATA").map(std::path::PathBuf::from);
    if dir.is_none() {
        eprintln!("SKIPPED: set GBRAIN_TEST_DATA to the data directory ({name})");
    }
    dir.map(|dir| dir.join(name))
}
