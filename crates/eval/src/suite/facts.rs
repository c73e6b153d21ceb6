//! What is known of the edges that a target gives as reasons: of the local brain what its pages say, of any
//! other nothing.

use gbrain_core::id::{PageKey, SourceId, WorkspaceId};
use gbrain_core::link::Direction;
use gbrain_core::page::Page;
use gbrain_core::suite::graph::Fact;
use gbrain_core::target::RationaleEdge;
use gbrain_core::text::name_key;
use gbrain_store::Store;
use jiff::civil::Date;

/// Of a target elsewhere nobody here can tell.
pub fn unverifiable(_: &RationaleEdge) -> Fact {
    Fact::Unverifiable
}

/// The edges of the local brain, as its pages state them.
pub struct Checked<'a> {
    /// Where the pages are.
    pub store: &'a Store,
    pub workspace: &'a WorkspaceId,
    /// The day on which a link must hold.
    pub today: Date,
}

impl Checked<'_> {
    /// What is known of an edge. It exists if one of its ends says so, as the same kind of link in the same
    /// direction, and it has not ended; and what is cited must be where that end says it.
    pub fn fact(&self, edge: &RationaleEdge) -> Fact {
        let key = |text: &str| PageKey::parse(text, &SourceId::default()).ok();
        let (Some(from), Some(to)) = (key(&edge.from), key(&edge.to)) else {
            return Fact::Unknown;
        };
        let Ok(pages) = self.store.pages(self.workspace, &[from, to]) else {
            return Fact::Unverifiable;
        };
        let pages: Option<Vec<Page>> =
            pages.into_iter().map(|page| page.map(|stored| stored.page)).collect();
        let Some([from, to]) = pages.as_deref() else { return Fact::Unknown };
        let mut said = self.stated(edge, from, to, Direction::Out);
        said.extend(self.stated(edge, to, from, Direction::In));
        let is_cited = |place: &Place| match place {
            Place::Passage(id) => edge.evidence.contains(id),
            // A field of a page is no passage: there is nothing else to cite.
            Place::Field(page) => edge.evidence.is_empty() || edge.evidence.contains(page),
        };
        match said.iter().any(is_cited) {
            true => Fact::Holds,
            false if said.is_empty() => Fact::Unknown,
            false => Fact::Uncited,
        }
    }

    /// The places where a page states an edge to another.
    fn stated(
        &self,
        edge: &RationaleEdge,
        page: &Page,
        other: &Page,
        direction: Direction,
    ) -> Vec<Place> {
        let names = names(other);
        let holds = |until: Option<Date>| until.is_none_or(|until| until >= self.today);
        let links = page.links.iter().filter(|link| {
            link.direction == direction
                && link.link_type.name().eq_ignore_ascii_case(&edge.kind)
                && holds(link.until)
                && names.contains(&name_key(&link.target))
        });
        let place = |ordinal: Option<u32>| match ordinal {
            None => Some(Place::Field(page.key.to_string())),
            Some(ordinal) => {
                let chunk = page.chunks.iter().find(|chunk| chunk.ordinal == ordinal)?;
                Some(Place::Passage(chunk.id(&page.key)))
            }
        };
        links.filter_map(|link| place(link.evidence_chunk)).collect()
    }
}

/// Where a page states an edge.
enum Place {
    /// In a passage, by its id.
    Passage(String),
    /// In its frontmatter: the page.
    Field(String),
}

/// What a link may call a page.
fn names(page: &Page) -> Vec<String> {
    let slug = page.key.slug.as_str();
    let basename = slug.rsplit('/').next().unwrap_or(slug);
    let spaced = basename.replace(['-', '_'], " ");
    let whole = page.key.to_string();
    let own = [whole.as_str(), slug, &page.title, basename, &spaced];
    own.into_iter().chain(page.aliases.iter().map(String::as_str)).map(name_key).collect()
}
