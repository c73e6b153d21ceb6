//! One retrieval, as decisions: intent, expand, plan, fuse, boost, dedup, cut. Running them is the brain's
//! work; here nothing is read or timed.

pub mod boost;
pub mod candidate;
pub mod cut;
pub mod dedup;
pub mod display;
pub mod expand;
pub mod fuse;
pub mod intent;
pub mod plan;
pub mod relation;
mod settings;
pub mod snippet;
pub mod window;

pub use settings::{
    MinScore, RERANK_THRESHOLD_OF, SOURCE_WEIGHT, SettingError, SettingInfo, Settings,
    edit_distance,
};
