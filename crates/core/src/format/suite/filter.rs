//! The document filter of a canonical query on the wire.

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::QueryError;
use crate::target::QuestionFilter;

/// Which documents may answer; an empty filter excludes nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "QueryFilter")]
pub struct FilterEntry {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub authors: Vec<String>,
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
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Parses the days of the filter.
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
