//! Groups of queries, by label, intent or tag.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use crate::named;
use crate::search::intent::classify;

use super::JudgedQuery;

/// The group that a query belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[schemars(rename = "SegmentKeys")]
pub struct QuerySegment {
    pub label: Option<String>,
    /// The source it is about.
    pub source: Option<String>,
    pub intent: Option<String>,
    /// The mode of the query.
    pub mode: Option<String>,
    #[serde(default, deserialize_with = "or_none")]
    #[schemars(with = "Option<Vec<String>>")]
    pub tags: Vec<String>,
}

/// A list that may also be null.
fn or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

named! {
    /// A way to group queries.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum SegmentBy {
        Label = "label",
        /// By the source it is about, or else those of its relevant pages.
        Source = "source",
        /// By intent as the file says, or else as the text is understood.
        Intent = "intent",
        /// By mode of the query, or else the mode that intents resolve to.
        Mode = "mode",
        /// By each of its tags.
        Tag = "tag",
    }
}

impl JudgedQuery {
    /// The groups that the query is in.
    pub fn segments(&self, by: SegmentBy) -> Vec<String> {
        static NONE: QuerySegment =
            QuerySegment { label: None, source: None, intent: None, mode: None, tags: Vec::new() };
        let QuerySegment { label, source, intent, mode, tags } =
            self.segment.as_deref().unwrap_or(&NONE);
        match by {
            SegmentBy::Label => label.iter().cloned().collect(),
            SegmentBy::Source => source.clone().map_or_else(|| self.sources(), |s| vec![s]),
            SegmentBy::Intent => intent.clone().or_else(|| self.understood()).into_iter().collect(),
            SegmentBy::Mode => mode.clone().or_else(|| self.resolved_mode()).into_iter().collect(),
            SegmentBy::Tag => tags.clone(),
        }
    }

    fn sources(&self) -> Vec<String> {
        let named = self.relevant().filter_map(|doc| doc.split_once("::"));
        let mut sources: Vec<String> = named.map(|(source, _)| source.to_owned()).collect();
        sources.sort();
        sources.dedup();
        sources
    }

    fn understood(&self) -> Option<String> {
        self.text.as_deref().map(|text| classify(text).kind.name().to_owned())
    }

    fn resolved_mode(&self) -> Option<String> {
        let intent = classify(self.text.as_deref()?);
        let mode = if intent.relation.is_some() { "hybrid" } else { "knowledge" };
        Some(mode.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qrels::Judgement;

    #[test]
    fn segments_are_derived_when_omitted() {
        let judged = |doc: &str| Judgement { doc: doc.to_owned(), grade: 1.0 };
        let query = JudgedQuery {
            text: Some("Who invested in Quayspark?".to_owned()),
            judgements: vec![judged("wiki::a"), judged("team::b"), judged("wiki::c")],
            ..JudgedQuery::default()
        };
        assert_eq!(query.segments(SegmentBy::Source), ["team", "wiki"]);
        assert_eq!(query.segments(SegmentBy::Intent), ["relational"]);
        assert_eq!(query.segments(SegmentBy::Mode), ["hybrid"]);
        assert_eq!(query.segments(SegmentBy::Tag), [""; 0]);
        let segment = QuerySegment { intent: Some("mine".to_owned()), ..QuerySegment::default() };
        let query = JudgedQuery { segment: Some(Box::new(segment)), ..query };
        assert_eq!(query.segments(SegmentBy::Intent), ["mine"]);
    }
}
