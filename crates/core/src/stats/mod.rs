//! Statistics: what a difference between two measured things is worth.

mod permutation;

pub use permutation::paired_permutation;
