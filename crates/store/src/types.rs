//! What goes into the store and comes out of it.

use std::collections::BTreeMap;

use gbrain_core::baseline::BaselineKey;
use gbrain_core::chunk::Chunk;
use gbrain_core::erasure::ErasureCounts;
use gbrain_core::hash::Hash;
use gbrain_core::id::{Generation, KeyFields, PageId, PageKey, Slug, SourceId, WorkspaceId};
use gbrain_core::identity::IdentityKey;
use gbrain_core::link::LinkType;
use gbrain_core::named;
use gbrain_core::page::{Page, PageKind, StoredPage, Visibility};
pub use gbrain_core::source::SourceTrust;
use jiff::Timestamp;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// Which database holds the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Engine {
    /// One file, one machine.
    Sqlite,
    Postgres,
}

/// A workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "WorkspaceRow")]
pub struct Workspace {
    /// Its name.
    pub id: WorkspaceId,
    #[expect(missing_docs, reason = "the comment would be in schemas")]
    #[serde(flatten)]
    pub head: Head,
    /// When it was made.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub created_at: Timestamp,
}

/// A source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Source {
    /// Its id.
    pub id: SourceId,
    /// What people call it.
    pub name: String,
    // And be quoted as the brain's own.
    /// Whether its pages may take names.
    pub trust: SourceTrust,
    /// When it was made.
    #[serde(skip)]
    pub created_at: Timestamp,
}

/// What to do with the live pages of a source that is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// Refuse while there are any.
    OnlyEmpty,
    /// Delete them (their history stays).
    Cascade,
}

/// The state of a corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Head {
    /// Live pages.
    pub pages: u64,
    /// Their passages.
    pub chunks: u64,
    /// The last change.
    pub generation: Generation,
    // `Hash::toggle` over `Page::fingerprint` of the live pages.
    /// Its content, as one hash.
    pub root: Hash,
}

/// A page to write.
#[derive(Debug, Clone, Copy)]
pub struct PageWrite<'a> {
    pub page: &'a Page,
    /// The file it was imported from.
    pub origin: Option<&'a str>,
}

/// What a write did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteOutcome {
    pub id: PageId,
    pub version: u32,
    /// The change that made this version.
    pub generation: Generation,
    pub kind: WriteKind,
}

/// What happened to a written page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WriteKind {
    Added,
    /// It has a new version.
    Changed,
    /// The live version already says this: nothing was written.
    Unchanged,
    /// It was deleted and lives again.
    Restored,
}

/// What happened to a page that was to be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeleteOutcome {
    /// It was live and is deleted, by this change.
    Deleted(Generation),
    /// It was deleted before.
    AlreadyDeleted,
    /// There never was such a page, or it was purged.
    Unknown,
}

/// What erasing a page did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Purged {
    /// How many versions are gone.
    pub versions: u32,
    /// The change that tells readers.
    #[serde(skip)]
    pub generation: Generation,
    // On SQLite false means that a reader still held the write-ahead log; the next purge or the
    // last process to close clears it. On PostgreSQL always false: freed space is overwritten in
    // the server's own time.
    /// Whether the bytes have left the database files too.
    pub scrubbed: bool,
    /// Records that were erased or changed besides the page.
    pub erased: ErasureCounts,
}

/// The keys of the owner who purges.
#[derive(Debug, Clone, Default)]
pub struct PurgeKeys {
    /// The identity key of the workspace: it hashes names that scrubbing changed.
    pub identity: Option<IdentityKey>,
    /// The key that signs baselines.
    pub baseline: Option<BaselineKey>,
}

/// Which pages to list.
#[derive(Debug, Clone, Default)]
pub struct PageFilter {
    /// Of this source only.
    pub source: Option<SourceId>,
    /// Of this type only.
    pub page_type: Option<String>,
    /// With this tag only.
    pub tag: Option<String>,
    /// Whose slug starts with this.
    pub prefix: Option<String>,
    /// Of this visibility only.
    pub visibility: Option<Visibility>,
    pub include_deleted: bool,
}

/// A page without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "PageRow")]
pub struct PageInfo {
    /// The store's number.
    #[serde(skip)]
    pub id: PageId,
    #[expect(missing_docs, reason = "the comment would be in schemas")]
    #[serde(flatten, serialize_with = "PageKey::as_fields")]
    #[schemars(with = "KeyFields")]
    pub key: PageKey,
    /// Its title.
    pub title: String,
    /// Its type.
    #[serde(rename = "type")]
    pub page_type: String,
    /// What kind of text it is.
    pub kind: PageKind,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its version now.
    pub version: u32,
    /// The change that made it.
    #[serde(skip)]
    pub generation: Generation,
    /// When what it tells of happened.
    #[schemars(with = "Option<String>", extend("format" = "date"))]
    pub effective_date: Option<Date>,
    /// Who may see it.
    pub visibility: Visibility,
    /// SHA-256 of its text.
    pub content_hash: Hash,
    /// How many passages it has.
    pub chunks: u32,
    /// The file it was imported from.
    #[serde(skip)]
    pub origin: Option<String>,
    /// When it was first written.
    #[serde(skip)]
    pub created_at: Timestamp,
    /// When its version was made.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub updated_at: Timestamp,
    /// When it was deleted; null while it lives.
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub deleted_at: Option<Timestamp>,
}

/// What an import must know to leave a page alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageDigest {
    /// Its name in the source.
    pub slug: Slug,
    /// SHA-256 of its text.
    pub content_hash: Hash,
    /// The derivation it was made by.
    pub derive_version: u32,
    /// Whether it is deleted.
    pub deleted: bool,
    /// The file it was imported from.
    pub origin: Option<String>,
    pub at: PageVersion,
}

/// What made a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VersionOp {
    Write,
    /// The page was deleted: this version has no text.
    Delete,
    /// The last text before a deletion came back.
    Restore,
}

/// One version of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "VersionRow")]
pub struct VersionInfo {
    /// From 1.
    pub version: u32,
    /// The change that made it.
    pub generation: Generation,
    /// What made it.
    pub op: VersionOp,
    /// The title it has.
    pub title: String,
    /// Who may see it, or might see the text that was deleted.
    #[serde(skip)]
    pub visibility: Visibility,
    /// SHA-256 of its text, or of the text that was deleted.
    pub content_hash: Hash,
    /// Bytes of text.
    pub bytes: u64,
    /// How many passages it has.
    pub chunks: u32,
    /// When it was made.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub created_at: Timestamp,
}

/// One version of one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageVersion {
    pub id: PageId,
    pub version: u32,
}

/// Which part of the feed to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedRange {
    /// Changes after this one.
    pub after: Generation,
    /// Up to and including this one; none for all there are.
    pub until: Option<Generation>,
    /// At most this many changes (at least one is read).
    pub max_changes: usize,
    /// Stop before the text of the changes exceeds this (at least one is read).
    pub max_bytes: usize,
}

/// Changes of a corpus, folded: applying them to the corpus at `after` gives the one at `upto`.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeBatch {
    /// The last change that is in the batch; `after` itself if there are no more.
    pub upto: Generation,
    /// The corpus root at `upto`.
    pub root: Hash,
    /// Live pages at `upto`.
    pub pages: u64,
    pub chunks: u64,
    /// The latest change there is. Smaller than `after` when the reader is ahead of the store (a
    /// database put back from a backup): it must start again from nothing.
    pub head: Generation,
    /// For each page that lives at `upto` and changed, what it says then; in feed order.
    pub upserts: Vec<StoredPage>,
    /// Pages that do not live at `upto`, sorted. May name pages the reader never saw, and names
    /// pages that were purged after `upto`: a purged page leaves every generation at once.
    pub removals: Vec<PageId>,
    /// Whether the sources changed.
    pub sources_changed: bool,
}

/// A corpus in figures.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Stats {
    /// Versions of all pages.
    pub versions: u64,
    /// Aliases of live pages.
    pub aliases: u64,
    /// Takes of live pages.
    pub takes: u64,
    /// By source.
    pub sources: Vec<SourceStats>,
    // In order of name, as the links are.
    /// Live pages by type.
    #[serde(serialize_with = "as_map")]
    #[schemars(with = "BTreeMap<String, u64>")]
    pub types: Vec<(String, u64)>,
    /// Links of live pages by type.
    #[serde(serialize_with = "as_map")]
    #[schemars(with = "BTreeMap<String, u64>")]
    pub links: Vec<(LinkType, u64)>,
    /// Bytes of text in all versions.
    pub history_bytes: u64,
    /// Bytes the database takes, all workspaces together.
    pub database_bytes: u64,
}

fn as_map<K: Serialize, S: Serializer>(
    counts: &[(K, u64)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counts.iter().map(|(name, count)| (name, count)))
}

/// A source in figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "SourceFigures")]
pub struct SourceStats {
    /// The source.
    #[serde(rename = "id")]
    pub source: SourceId,
    /// Live pages.
    pub pages: u64,
    /// Deleted pages.
    pub deleted: u64,
    /// Passages of live pages.
    pub chunks: u64,
    /// Bytes of text of live pages.
    pub bytes: u64,
}

/// Something in the store that should not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Which invariant is broken.
    pub invariant: Invariant,
    /// Where, and by how much; no page text.
    pub detail: String,
}

/// What must hold of a workspace's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Invariant {
    /// The stored root is the root of the live pages.
    Root,
    /// The stored counts are the counts of live pages and chunks.
    Counts,
    /// The feed is dense and ends at the head, with the head's root and counts.
    Feed,
    /// Every page points to a version that exists, versions are dense and agree with it.
    Versions,
    /// Every text has the hash that is stored for it, or its chunks have theirs (chats).
    Content,
    /// Every version has as many chunks as it says.
    Chunks,
    /// No row belongs to a page, version or source that is not there.
    Dangling,
    /// No capture and no closed window has a number that was not given out.
    Captures,
    /// No row that is numbered has a number that was not given out.
    Numbers,
    /// The database's own structure is sound.
    Structure,
}

named! { Engine { Sqlite = "sqlite", Postgres = "postgres" } }
named! {
    WriteKind {
        Added = "added",
        Changed = "changed",
        Unchanged = "unchanged",
        Restored = "restored",
    }
}
named! { VersionOp { Write = "write", Delete = "delete", Restore = "restore" } }
named! {
    Invariant {
        Root = "root",
        Counts = "counts",
        Feed = "feed",
        Versions = "versions",
        Content = "content",
        Chunks = "chunks",
        Dangling = "dangling",
        Captures = "captures",
        Numbers = "numbers",
        Structure = "structure",
    }
}

impl Head {
    /// The corpus with one more page.
    pub(crate) fn enter(&mut self, member: Hash, chunks: u32) {
        self.root = self.root.toggle(member);
        self.pages += 1;
        self.chunks += u64::from(chunks);
    }

    /// The corpus with one page less.
    pub(crate) fn leave(&mut self, member: Hash, chunks: u32) {
        self.root = self.root.toggle(member);
        self.pages = self.pages.saturating_sub(1);
        self.chunks = self.chunks.saturating_sub(u64::from(chunks));
    }
}

/// A page's member of the root, from what is stored of it. Mirrors [`Page::fingerprint`].
pub(crate) fn member(key: &PageKey, content_hash: Hash, derive_version: u32) -> Hash {
    let (source, slug) = (key.source.as_str().as_bytes(), key.slug.as_str().as_bytes());
    Hash::of_parts(&[source, slug, &content_hash.0, &derive_version.to_le_bytes()])
}

/// How many chunks a page has, as it is counted in the head.
pub(crate) fn chunk_count(chunks: &[Chunk]) -> u32 {
    u32::try_from(chunks.len()).unwrap_or(u32::MAX)
}
