//! Targets on the wire: as settings describe them, and what they answered.

mod answer;
pub(crate) mod preset;
mod response;
mod settings;

pub use answer::{AnswerBody, QuestionBody};
pub use response::WireResponse;
pub use settings::{TargetSettingsError, WireIds, WireTarget, read_target};

#[cfg(test)]
mod tests;
