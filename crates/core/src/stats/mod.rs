//! Statistics: what a measured number, or a difference between two, is worth.
//!
//! Promises: the same arguments give the same numbers; randomness comes from a seed that is an
//! argument. Where there is nothing to say the answer is `None`, never NaN.

mod alpha;
mod binomial;
mod bootstrap;
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
pub use holm::holm;
pub use interval::Interval;
pub use mcnemar::mcnemar;
pub use mean::{deviation, mean, weighted_mean};
pub use percentile::percentile;
pub use permutation::paired_permutation;
pub use power::{
    Errors, rows_for_mean_drop, rows_for_rate_drop, smallest_mean_drop, smallest_rate_drop,
};
pub use wilson::wilson;
