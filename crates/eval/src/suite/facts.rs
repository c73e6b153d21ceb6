//! Verifies the edges that a target gives as reasons: those of the local brain against its pages;
//! those of other targets are unverifiable.

use gbrain_core::id::{PageKey, SourceId, WorkspaceId};
use gbrain_core::link::Direction;
use gbrain_core::page::Page;
use gbrain_core::suite::graph::EdgeCheck;
use gbrain_core::target::RationaleEdge;
use gbrain_core::text::name_key;
use gbrain_store::Store;
use jiff::civil::Date;

/// The edges of a remote target cannot be verified.
pub fn unverifiable(_: &RationaleEdge) -> EdgeCheck {
    EdgeCheck::Unverifiable
}

/// Checks edges against the pages of the local brain.
pub struct LocalEdgeChecker<'a> {
    pub store: &'a Store,
    pub workspace: &'a WorkspaceId,
    /// The date on which a link must be valid.
    pub today: Date,
}

impl LocalEdgeChecker<'_> {
    /// Checks an edge. It exists if one of its ends states it, as the same kind of link in the same
    /// direction, and it has not ended; the citation must be where that end states it.
    pub fn fact(&self, edge: &RationaleEdge) -> EdgeCheck {
        let key = |text: &str| PageKey::parse(text, &SourceId::default()).ok();
        let (Some(from), Some(to)) = (key(&edge.from), key(&edge.to)) else {
            return EdgeCheck::Unknown;
        };
        let Ok(pages) = self.store.pages(self.workspace, &[from, to]) else {
            return EdgeCheck::Unverifiable;
        };
        let pages: Option<Vec<Page>> =
            pages.into_iter().map(|page| page.map(|stored| stored.page)).collect();
        let Some([from, to]) = pages.as_deref() else { return EdgeCheck::Unknown };
        let mut places = self.places_of(edge, from, to, Direction::Out);
        places.extend(self.places_of(edge, to, from, Direction::In));
        let is_cited = |place: &EdgePlace| match place {
            EdgePlace::Passage(id) => edge.evidence.contains(id),
            // A frontmatter field is not a passage, so only the page can be cited.
            EdgePlace::Field(page) => edge.evidence.is_empty() || edge.evidence.contains(page),
        };
        match places.iter().any(is_cited) {
            true => EdgeCheck::Holds,
            false if places.is_empty() => EdgeCheck::Unknown,
            false => EdgeCheck::Uncited,
        }
    }

    /// The places where a page states an edge to another.
    fn places_of(
        &self,
        edge: &RationaleEdge,
        page: &Page,
        other: &Page,
        direction: Direction,
    ) -> Vec<EdgePlace> {
        let names = names(other);
        let holds = |until: Option<Date>| until.is_none_or(|until| until >= self.today);
        let links = page.links.iter().filter(|link| {
            link.direction == direction
                && link.link_type.name().eq_ignore_ascii_case(&edge.kind)
                && holds(link.until)
                && names.contains(&name_key(&link.target))
        });
        let place = |ordinal: Option<u32>| match ordinal {
            None => Some(EdgePlace::Field(page.key.to_string())),
            Some(ordinal) => {
                let chunk = page.chunks.iter().find(|chunk| chunk.ordinal == ordinal)?;
                Some(EdgePlace::Passage(chunk.id(&page.key)))
            }
        };
        links.filter_map(|link| place(link.evidence_chunk)).collect()
    }
}

/// Where a page states an edge.
enum EdgePlace {
    /// In a passage, by its id.
    Passage(String),
    /// In its frontmatter: the page.
    Field(String),
}

/// The names by which a link may refer to a page.
fn names(page: &Page) -> Vec<String> {
    let slug = page.key.slug.as_str();
    let basename = slug.rsplit('/').next().unwrap_or(slug);
    let spaced = basename.replace(['-', '_'], " ");
    let whole = page.key.to_string();
    let own = [whole.as_str(), slug, &page.title, basename, &spaced];
    own.into_iter().chain(page.aliases.iter().map(String::as_str)).map(name_key).collect()
}
