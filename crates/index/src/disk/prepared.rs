//! A query prepared for a view: the location of its lists, and how they score.

use gbrain_core::page::Visibility;
use gbrain_core::request::Viewer;
use tantivy::postings::TermInfo;

use super::schema::SchemaFields;
use super::segment::IndexSegment;
use crate::bm25::{ListContribution, ListSpec, Scorer, TermForm, lists};
use crate::contract::WordsQuery;
use crate::statistics::{CorpusTotals, seen_by};

/// A prepared query. Lists are identified by their number in the query.
pub(super) struct PreparedWordsQuery {
    pub(super) scorer: Scorer,
    pub(super) lists: Vec<(TermForm, ListContribution)>,
    /// The location of each list, by segment and visibility; parallel to `lists`.
    pub(super) places: Vec<SegmentLists>,
}

/// The lists of one visibility in one segment.
pub(super) struct SegmentLists {
    pub(super) segment: usize,
    pub(super) visibility: Visibility,
    pub(super) infos: Vec<Option<TermInfo>>,
}

impl PreparedWordsQuery {
    pub(super) fn new(
        query: &WordsQuery,
        trust: Viewer,
        segments: &[IndexSegment],
        fields: &SchemaFields,
        statistics: &CorpusTotals,
    ) -> tantivy::Result<Self> {
        let lists = lists(query);
        let mut frequencies = vec![0; lists.len()];
        let mut places = Vec::new();
        for (segment, reader) in segments.iter().enumerate() {
            // Looking up an empty field costs more than a populated one.
            let holding = seen_by(trust).iter().filter(|v| statistics.of(**v).chunks > 0);
            for visibility in holding {
                let infos = find_all(reader, *visibility, &lists)?;
                for (number, info) in infos.iter().enumerate() {
                    let field = fields.words(lists[number].form, *visibility);
                    if let Some(info) = info {
                        frequencies[number] += reader.live_length(field, info)?;
                    }
                }
                if infos.iter().any(Option::is_some) {
                    places.push(SegmentLists { segment, visibility: *visibility, infos });
                }
            }
        }
        let scorer = Scorer::new(query, &lists, &frequencies, statistics.seen_by(trust));
        Ok(Self {
            scorer,
            lists: lists.iter().map(|list| (list.form, list.adds)).collect(),
            places,
        })
    }
}

fn find_all(
    segment: &IndexSegment,
    visibility: Visibility,
    lists: &[ListSpec<'_>],
) -> tantivy::Result<Vec<Option<TermInfo>>> {
    lists.iter().map(|list| segment.find_word(list.form, visibility, list.text)).collect()
}
