//! One retrieval, as decisions: intent, plan, fuse, boost, dedup, cut, trace.

mod settings;

pub use settings::Settings;
