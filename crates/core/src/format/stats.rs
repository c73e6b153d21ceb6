//! A brain in figures.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::named;

/// What `stats --json` prints.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StatsBody<'a> {
    /// Whose brain it is.
    pub workspace: &'a str,
    /// Which database holds it.
    pub engine: EngineName,
    /// The last change.
    pub generation: i64,
    /// Live pages.
    pub pages: u64,
    /// Their passages.
    pub chunks: u64,
    /// Their content, as one hash.
    pub root: String,
    /// Versions of all pages.
    pub versions: u64,
    /// Aliases of live pages.
    pub aliases: u64,
    /// Takes of live pages.
    pub takes: u64,
    /// By source.
    pub sources: Vec<SourceFigures<'a>>,
    /// Live pages by type.
    #[schemars(with = "BTreeMap<String, u64>")]
    pub types: Map<String, Value>,
    /// Links of live pages by type.
    #[schemars(with = "BTreeMap<String, u64>")]
    pub links: Map<String, Value>,
    /// Bytes of text in all versions.
    pub history_bytes: u64,
    /// Bytes the database takes, all workspaces together.
    pub database_bytes: u64,
    /// The index.
    pub index: IndexFigures,
    /// The vectors.
    pub vectors: VectorFigures<'a>,
}

/// Which database holds a brain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineName {
    /// One file.
    Sqlite,
    /// A server.
    Postgres,
}

named! { EngineName { Sqlite = "sqlite", Postgres = "postgres" } }

/// A source in figures.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SourceFigures<'a> {
    /// The source.
    pub id: &'a str,
    /// Live pages.
    pub pages: u64,
    /// Deleted pages.
    pub deleted: u64,
    /// Passages of live pages.
    pub chunks: u64,
    /// Bytes of text of live pages.
    pub bytes: u64,
}

/// The index in figures.
#[derive(Debug, Serialize, JsonSchema)]
pub struct IndexFigures {
    /// The last change it holds.
    pub generation: i64,
    /// Bytes on disk.
    pub bytes: u64,
}

/// Whose vectors there are.
#[derive(Debug, Serialize, JsonSchema)]
pub struct VectorFigures<'a> {
    /// The model whose vectors are held.
    pub held: Option<&'a str>,
    /// Whether this process can search them.
    pub is_searchable: bool,
    /// The model that this process wants.
    pub wanted: Option<&'a str>,
}
