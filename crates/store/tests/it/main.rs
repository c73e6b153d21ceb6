//! The contract of the store, stamped on both engines.

mod fixture;
mod smoke;
