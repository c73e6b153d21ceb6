//! Which documents may answer a canonical query, on the wire.

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::QueryError;
use crate::target::QuestionFilter;

/// Which documents may answer; what is not said leaves nothing out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "QueryFilter")]
pub struct FilterEntry {
    /// Only these sources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// Only these types.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// Only of these authors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authors: Vec<String>,
    /// Only in these states.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<String>,
    /// Only with one of these labels; the local brain calls them tags.
    #[serde(default, alias = "tags", skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Only dated on or after this day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date"))]
    pub after: Option<String>,
    /// Only dated on or before this day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date"))]
    pub before: Option<String>,
}

impl FilterEntry {
    /// Whether it leaves nothing out.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The filter that is meant.
    pub(super) fn read(self) -> Result<QuestionFilter, QueryError> {
        let Self { sources, types, authors, states, labels, after, before } = self;
        let day = |text: Option<String>| -> Result<Option<Date>, QueryError> {
            text.map(|text| text.parse().map_err(|_| QueryError::Day(text.clone()))).transpose()
        };
        let (after, before) = (day(after)?, day(before)?);
        Ok(QuestionFilter { sources, types, authors, states, labels, after, before })
    }
}

impl From<&QuestionFilter> for FilterEntry {
    fn from(filter: &QuestionFilter) -> Self {
        let QuestionFilter { sources, types, authors, states, labels, after, before } =
            filter.clone();
        let day = |day: Option<Date>| day.map(|day| day.to_string());
        let (after, before) = (day(after), day(before));
        Self { sources, types, authors, states, labels, after, before }
    }
}
