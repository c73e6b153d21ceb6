//! Types of the store's interface: workspaces, sources, pages, versions, the feed and statistics.

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

named! {
    /// The database engine of a store.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Engine {
        /// One file on one machine.
        Sqlite = "sqlite",
        Postgres = "postgres",
    }
}

/// A workspace and the state of its corpus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "WorkspaceRow")]
pub struct Workspace {
    /// The name of the workspace.
    pub id: WorkspaceId,
    #[expect(missing_docs, reason = "the comment would be in schemas")]
    #[serde(flatten)]
    pub head: CorpusHead,
    /// When the workspace was created.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub created_at: Timestamp,
}

/// A source of pages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Source {
    /// The id of the source.
    pub id: SourceId,
    /// The display name of the source.
    pub name: String,
    // A trusted source may also be quoted as the brain's own words.
    /// Whether pages of the source may claim names of other pages.
    pub trust: SourceTrust,
    /// When the source was added.
    #[serde(skip)]
    pub created_at: Timestamp,
}

/// How to handle the live pages of a source that is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceRemovalMode {
    /// Refuse if there are any.
    OnlyEmpty,
    /// Delete them (their history stays).
    Cascade,
}

/// The state of a corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct CorpusHead {
    /// The number of live pages.
    pub pages: u64,
    /// The number of passages of live pages.
    pub chunks: u64,
    /// The number of the last change.
    pub generation: Generation,
    // Computed by `Hash::toggle` over the `Page::fingerprint` of every live page.
    /// A hash of the content of all live pages.
    pub root: Hash,
}

/// A page to write.
#[derive(Debug, Clone, Copy)]
pub struct PageWrite<'a> {
    pub page: &'a Page,
    /// The file it was imported from.
    pub origin: Option<&'a str>,
}

/// The result of writing a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteOutcome {
    pub id: PageId,
    pub version: u32,
    /// The change that created this version.
    pub generation: Generation,
    pub kind: WriteKind,
}

named! {
    /// How a write changed a page.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum WriteKind {
        Added = "added",
        /// It has a new version.
        Changed = "changed",
        /// The live version is the same: nothing was written.
        Unchanged = "unchanged",
        /// It was deleted and is live again.
        Restored = "restored",
    }
}

/// The result of deleting a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeleteOutcome {
    /// It was live and is deleted by this change.
    Deleted(Generation),
    /// It was deleted before.
    AlreadyDeleted,
    /// The page never existed, or was purged.
    Unknown,
}

/// The result of purging a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[schemars(rename = "Purged")]
pub struct PurgeCounts {
    /// The number of erased versions.
    pub versions: u32,
    /// The change that records the purge in the feed.
    #[serde(skip)]
    pub generation: Generation,
    // On SQLite, false means that a reader still held the write-ahead log; the next purge or the
    // last process to close clears it. On PostgreSQL always false: the server overwrites freed
    // space at some later time.
    /// Whether the bytes are gone from the database files too.
    pub scrubbed: bool,
    /// The number of other records that were erased or changed.
    pub erased: ErasureCounts,
}

/// The owner's keys for a purge.
#[derive(Debug, Clone, Default)]
pub struct PurgeKeys {
    /// The identity key of the workspace: it hashes names that scrubbing changed.
    pub identity: Option<IdentityKey>,
    /// The key that signs baselines.
    pub baseline: Option<BaselineKey>,
}

/// Selects pages to list.
#[derive(Debug, Clone, Default)]
pub struct PageFilter {
    pub source: Option<SourceId>,
    pub page_type: Option<String>,
    pub tag: Option<String>,
    /// A prefix of the slug.
    pub prefix: Option<String>,
    pub visibility: Option<Visibility>,
    pub include_deleted: bool,
}

/// A page without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "PageRow")]
pub struct PageInfo {
    /// The page's number in the store.
    #[serde(skip)]
    pub id: PageId,
    #[expect(missing_docs, reason = "the comment would be in schemas")]
    #[serde(flatten, serialize_with = "PageKey::as_fields")]
    #[schemars(with = "KeyFields")]
    pub key: PageKey,
    /// The title of the page.
    pub title: String,
    /// The type of the page, such as `note`.
    #[serde(rename = "type")]
    pub page_type: String,
    /// The kind of text, such as markdown or chat.
    pub kind: PageKind,
    /// The tags of the page.
    pub tags: Vec<String>,
    /// The number of the current version.
    pub version: u32,
    /// The change that created the version.
    #[serde(skip)]
    pub generation: Generation,
    /// The date of the events that the page describes.
    #[schemars(with = "Option<String>", extend("format" = "date"))]
    pub effective_date: Option<Date>,
    /// The visibility of the page.
    pub visibility: Visibility,
    /// SHA-256 of the text.
    pub content_hash: Hash,
    /// The number of passages.
    pub chunks: u32,
    /// The file it was imported from.
    #[serde(skip)]
    pub origin: Option<String>,
    /// When it was first written.
    #[serde(skip)]
    pub created_at: Timestamp,
    /// When the current version was written.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub updated_at: Timestamp,
    /// When the page was deleted; null for a live page.
    #[schemars(with = "Option<String>", extend("format" = "date-time"))]
    pub deleted_at: Option<Timestamp>,
}

/// The state of a page that an import compares with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageDigest {
    /// The name in the source.
    pub slug: Slug,
    /// SHA-256 of the text.
    pub content_hash: Hash,
    /// The version of its derivation.
    pub derive_version: u32,
    pub deleted: bool,
    /// The file it was imported from.
    pub origin: Option<String>,
    pub at: PageVersion,
}

named! {
    /// The operation that created a version.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum VersionOp {
        Write = "write",
        /// The page was deleted: this version has no text.
        Delete = "delete",
        /// The last text before a deletion was restored.
        Restore = "restore",
    }
}

/// One version of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "VersionRow")]
pub struct VersionInfo {
    /// The number of the version, from 1.
    pub version: u32,
    /// The change that created the version.
    pub generation: Generation,
    /// The operation that created the version.
    pub op: VersionOp,
    /// The title in this version.
    pub title: String,
    /// The visibility of the text, or of the deleted text.
    #[serde(skip)]
    pub visibility: Visibility,
    /// SHA-256 of the text, or of the deleted text.
    pub content_hash: Hash,
    /// The length of the text in bytes.
    pub bytes: u64,
    /// The number of passages.
    pub chunks: u32,
    /// When the version was written.
    #[schemars(with = "String", extend("format" = "date-time"))]
    pub created_at: Timestamp,
}

/// Identifies one version of one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageVersion {
    pub id: PageId,
    pub version: u32,
}

/// A part of the feed to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedRange {
    /// Changes after this one.
    pub after: Generation,
    /// Up to and including this one; `None` for all.
    pub until: Option<Generation>,
    /// At most this many changes (at least one is read).
    pub max_changes: usize,
    /// Stop before the text of the changes exceeds this (at least one is read).
    pub max_bytes: usize,
}

/// Changes of a corpus, folded: applying them to the corpus at `after` results in the one at
/// `upto`.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeBatch {
    /// The last change in the batch; `after` itself if there are no more.
    pub upto: Generation,
    /// The corpus root at `upto`.
    pub root: Hash,
    /// Live pages at `upto`.
    pub pages: u64,
    pub chunks: u64,
    /// The latest change. Smaller than `after` when the reader is ahead of the store (a database
    /// restored from a backup): the reader must start again.
    pub head: Generation,
    /// The changed pages that are live at `upto`, in feed order.
    pub upserts: Vec<StoredPage>,
    /// Pages that are not live at `upto`, sorted. May include pages the reader never saw, and
    /// includes pages that were purged after `upto`: a purge removes a page from every generation.
    pub removals: Vec<PageId>,
    pub sources_changed: bool,
}

/// Counts of a corpus.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[schemars(rename = "Stats")]
pub struct CorpusStats {
    /// The number of versions of all pages.
    pub versions: u64,
    /// The number of aliases of live pages.
    pub aliases: u64,
    /// The number of takes of live pages.
    pub takes: u64,
    /// The counts of every source.
    pub sources: Vec<SourceStats>,
    // Both lists, of types and of links, are ordered by name.
    /// The number of live pages by type.
    #[serde(serialize_with = "as_map")]
    #[schemars(with = "BTreeMap<String, u64>")]
    pub types: Vec<(String, u64)>,
    /// The number of links of live pages by type.
    #[serde(serialize_with = "as_map")]
    #[schemars(with = "BTreeMap<String, u64>")]
    pub links: Vec<(LinkType, u64)>,
    /// Bytes of text in all versions.
    pub history_bytes: u64,
    /// The size of the database in bytes, for all workspaces together.
    pub database_bytes: u64,
}

fn as_map<K: Serialize, S: Serializer>(
    counts: &[(K, u64)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counts.iter().map(|(name, count)| (name, count)))
}

/// Counts of one source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "SourceFigures")]
pub struct SourceStats {
    /// The id of the source.
    #[serde(rename = "id")]
    pub source: SourceId,
    /// The number of live pages.
    pub pages: u64,
    /// The number of deleted pages.
    pub deleted: u64,
    /// The number of passages of live pages.
    pub chunks: u64,
    /// Bytes of text of live pages.
    pub bytes: u64,
}

/// A violated invariant in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvariantViolation {
    pub invariant: Invariant,
    /// Where, and by how much; no page text.
    pub detail: String,
}

named! {
    /// The invariants of a workspace's rows.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Invariant {
        /// The stored root is the root of the live pages.
        Root = "root",
        /// The stored counts are the counts of live pages and chunks.
        Counts = "counts",
        /// The feed is dense and ends at the head, with the head's root and counts.
        Feed = "feed",
        /// Every page points to an existing version, and its versions are dense and agree with it.
        Versions = "versions",
        /// Every text has its stored hash, or its chunks have theirs (chats).
        Content = "content",
        /// Every version has the stored number of chunks.
        Chunks = "chunks",
        /// No row belongs to a missing page, version or source.
        Dangling = "dangling",
        /// No capture or closed window has an unassigned number.
        Captures = "captures",
        /// No numbered row has an unassigned number.
        Numbers = "numbers",
        /// The database's own structure is sound.
        Structure = "structure",
    }
}

impl CorpusHead {
    /// Adds a page to the corpus.
    pub(crate) fn enter(&mut self, member: Hash, chunks: u32) {
        self.root = self.root.toggle(member);
        self.pages += 1;
        self.chunks += u64::from(chunks);
    }

    /// Removes a page from the corpus.
    pub(crate) fn leave(&mut self, member: Hash, chunks: u32) {
        self.root = self.root.toggle(member);
        self.pages = self.pages.saturating_sub(1);
        self.chunks = self.chunks.saturating_sub(u64::from(chunks));
    }
}

/// A page's member of the root, from its stored row. Mirrors [`Page::fingerprint`].
pub(crate) fn member(key: &PageKey, content_hash: Hash, derive_version: u32) -> Hash {
    let (source, slug) = (key.source.as_str().as_bytes(), key.slug.as_str().as_bytes());
    Hash::of_parts(&[source, slug, &content_hash.0, &derive_version.to_le_bytes()])
}

/// The number of chunks of a page, as counted in the head.
pub(crate) fn chunk_count(chunks: &[Chunk]) -> u32 {
    u32::try_from(chunks.len()).unwrap_or(u32::MAX)
}
