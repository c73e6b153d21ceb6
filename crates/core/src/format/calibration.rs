//! What the store keeps of a pair that people judged.

use serde::{Deserialize, Serialize};

use crate::calibrate::{CalibrationPair, Label};

/// The version of [`PairBody`].
pub const PAIR_VERSION: u32 = 1;

/// A pair, beside what the store has columns for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairBody {
    /// The version of the form.
    pub schema_version: u32,
    /// What was asked, scrubbed.
    pub query: String,
    /// The text of the passage, so that it can be scored without the corpus.
    pub text: String,
}

impl PairBody {
    /// The pair that it is the body of; none if its label is none.
    pub fn pair(
        self,
        id: i64,
        document: &str,
        chunk: &str,
        label: &str,
    ) -> Option<CalibrationPair> {
        let Self { schema_version: _, query, text } = self;
        let (document, chunk) = (document.to_owned(), chunk.to_owned());
        Some(CalibrationPair { id, query, document, chunk, text, label: Label::from_name(label)? })
    }
}
