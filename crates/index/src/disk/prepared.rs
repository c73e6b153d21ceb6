//! A query made ready for a view: where its lists are, and how they score.

use gbrain_core::page::Visibility;
use gbrain_core::request::Viewer;
use tantivy::postings::TermInfo;

use super::schema::Fields;
use super::segment::Segment;
use crate::bm25::{Adds, Form, ListSpec, Scorer, lists};
use crate::contract::WordsQuery;
use crate::statistics::{Statistics, seen_by};

/// A query, ready. Lists go by their number in the query.
pub(super) struct Prepared {
    pub(super) scorer: Scorer,
    pub(super) lists: Vec<(Form, Adds)>,
    /// Where each list is, by segment and visibility; parallel to `lists`.
    pub(super) places: Vec<Place>,
}

/// The lists of one visibility in one segment.
pub(super) struct Place {
    pub(super) segment: usize,
    pub(super) visibility: Visibility,
    pub(super) infos: Vec<Option<TermInfo>>,
}

impl Prepared {
    pub(super) fn new(
        query: &WordsQuery,
        trust: Viewer,
        segments: &[Segment],
        fields: &Fields,
        statistics: &Statistics,
    ) -> tantivy::Result<Self> {
        let lists = lists(query);
        let mut frequencies = vec![0; lists.len()];
        let mut places = Vec::new();
        for (segment, reader) in segments.iter().enumerate() {
            // A field that holds nothing costs more to ask than one that holds much.
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
                    places.push(Place { segment, visibility: *visibility, infos });
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
    segment: &Segment,
    visibility: Visibility,
    lists: &[ListSpec<'_>],
) -> tantivy::Result<Vec<Option<TermInfo>>> {
    lists.iter().map(|list| segment.find_word(list.form, visibility, list.text)).collect()
}
