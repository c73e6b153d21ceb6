//! Statistics: what a measured number, or a difference between two, is worth.
//!
//! Promises: the same arguments give the same numbers; randomness comes from a seed that is an
//! argument. Where there is nothing to say the answer is `None`, never NaN.

mod alpha;
mod beta;
mod binomial;
mod bootstrap;
mod bounded_mean;
mod clopper_pearson;
mod holm;
mod interval;
mod mcnemar;
mod mean;
mod normal;
mod percentile;
mod permutation;
mod power;
pub(crate) mod rng;
mod wilson;

pub use alpha::{Alpha, Metric, NoAlpha, krippendorff};
pub use bootstrap::{Difference, Resampling, bootstrap_mean, paired_bootstrap};
pub use bounded_mean::bounded_mean;
pub use clopper_pearson::clopper_pearson;
pub use holm::holm;
pub use interval::Interval;
pub use mcnemar::mcnemar;
pub use mean::{deviation, mean, weighted_mean};
pub use percentile::percentile;
pub use permutation::{EXACT, fewest_changes, paired_permutation, paired_permutation_until};
pub use power::{
    POWER, smallest_drop_below, smallest_drop_surely_below, smallest_paired_drop,
    smallest_paired_drop_until,
};
pub use wilson::wilson;
