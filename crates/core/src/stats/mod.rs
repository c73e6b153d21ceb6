//! Statistics: the uncertainty of a measured number or of a difference between two.
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

pub use alpha::{Alpha, AlphaError};

pub(crate) use alpha::krippendorff;
pub use bootstrap::{BootstrapOptions, MeanDifference, bootstrap_mean, paired_bootstrap};
pub use bounded_mean::bounded_mean;
pub use clopper_pearson::clopper_pearson;
pub(crate) use holm::holm;
pub use interval::Interval;
pub(crate) use mcnemar::mcnemar;
pub use mean::mean;
pub(crate) use mean::{deviation, weighted_mean};
pub use percentile::percentile;
pub use permutation::{EXACT, paired_permutation};
pub(crate) use permutation::{fewest_changes, paired_permutation_until};
pub(crate) use power::smallest_paired_drop_until;
pub use power::{POWER, smallest_drop_below, smallest_drop_surely_below, smallest_paired_drop};
pub use wilson::wilson;
