//! Lists of pages, and what became of pages that were written, deleted, restored or erased.
//!
//! The values come from the store, which is below this crate; `gbrain_brain::wire` makes these.

use schemars::JsonSchema;
use serde::Serialize;

use crate::erasure::ErasureCounts;
use crate::named;
use crate::page::{PageKind, Visibility};

/// What `list --json` prints: pages by source and slug.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PagesBody<'a> {
    /// The pages.
    pub pages: Vec<PageRow<'a>>,
    /// The page to go on after; null at the end of the list.
    pub next_after: Option<String>,
}

/// A page without its text.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PageRow<'a> {
    /// The source it came from.
    pub source_id: &'a str,
    /// Its name in that source.
    pub slug: &'a str,
    /// Its title.
    pub title: &'a str,
    /// Its type.
    #[serde(rename = "type")]
    pub page_type: &'a str,
    /// What kind of text it is.
    pub kind: PageKind,
    /// Its tags.
    pub tags: &'a [String],
    /// Its version now.
    pub version: u32,
    /// When what it tells of happened.
    #[schemars(extend("format" = "date"))]
    pub effective_date: Option<String>,
    /// Who may see it.
    pub visibility: Visibility,
    /// SHA-256 of its text.
    pub content_hash: String,
    /// How many passages it has.
    pub chunks: u32,
    /// When its version was made.
    #[schemars(extend("format" = "date-time"))]
    pub updated_at: String,
    /// When it was deleted; null while it lives.
    #[schemars(extend("format" = "date-time"))]
    pub deleted_at: Option<String>,
}

/// What happened to a page that was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// It is new.
    Added,
    /// It has a new version.
    Changed,
    /// It already said this: nothing was written.
    Unchanged,
    /// It was deleted and lives again.
    Restored,
}

named! {
    Written {
        Added = "added",
        Changed = "changed",
        Unchanged = "unchanged",
        Restored = "restored",
    }
}

/// What `put --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PutBody<'a> {
    /// The source of the page.
    pub source_id: &'a str,
    /// Its name in that source.
    pub slug: &'a str,
    /// What happened.
    pub outcome: Written,
    /// Its version now.
    pub version: u32,
    /// The change that made this version.
    pub generation: i64,
    /// What had to be set right or left out.
    pub warnings: &'a [String],
}

/// What `restore --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RestoreBody {
    /// The page, as `source::slug`.
    pub page: String,
    /// What happened.
    pub outcome: Written,
    /// Its version now.
    pub version: u32,
}

/// What `delete --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeleteBody {
    /// The pages, in the order they were named.
    pub pages: Vec<DeletedPage>,
}

/// What happened to one page that was to be deleted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeletedPage {
    /// The page, as `source::slug`.
    pub page: String,
    /// What happened.
    pub outcome: Deletion,
}

/// What happened to a page that was to be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    /// It is deleted now.
    Deleted,
    /// It was deleted before.
    AlreadyDeleted,
    /// There is no such page.
    Unknown,
}

named! {
    Deletion {
        Deleted = "deleted",
        AlreadyDeleted = "already_deleted",
        Unknown = "unknown",
    }
}

/// What `purge --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PurgeBody {
    /// The page, as `source::slug`.
    pub page: String,
    /// How many versions are gone.
    pub versions: u32,
    /// Whether the bytes have left the database files too.
    pub scrubbed: bool,
    /// Records that were erased or changed besides the page.
    pub erased: ErasureCounts,
}

/// What `history --json` prints: the versions of a page, oldest first.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HistoryBody<'a> {
    /// The source of the page.
    pub source_id: &'a str,
    /// Its name in that source.
    pub slug: &'a str,
    /// Its versions.
    pub versions: Vec<VersionRow<'a>>,
}

/// One version of a page.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VersionRow<'a> {
    /// From 1.
    pub version: u32,
    /// The change that made it.
    pub generation: i64,
    /// What made it.
    pub op: MadeBy,
    /// The title it has.
    pub title: &'a str,
    /// SHA-256 of its text, or of the text that was deleted.
    pub content_hash: String,
    /// Bytes of text.
    pub bytes: u64,
    /// How many passages it has.
    pub chunks: u32,
    /// When it was made.
    #[schemars(extend("format" = "date-time"))]
    pub created_at: String,
}

/// What made a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MadeBy {
    /// New text.
    Write,
    /// The page was deleted.
    Delete,
    /// The last text before a deletion came back.
    Restore,
}

named! { MadeBy { Write = "write", Delete = "delete", Restore = "restore" } }
