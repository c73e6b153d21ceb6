//! The console's pages, of a real server.

mod runs;
