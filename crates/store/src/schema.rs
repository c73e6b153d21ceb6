//! The tables of bulk operations, and the migrations of both engines.
//!
//! Migrations are numbered from 1, applied in order, each once, and never changed after a release.

use crate::driver::{ColumnType, KeyLookup, Table};

/// One step of the schema.
#[derive(Debug)]
pub(crate) struct Migration {
    pub number: i64,
    pub name: &'static str,
    pub sqlite: &'static str,
    pub postgres: &'static str,
}

pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration {
        number: 1,
        name: "initial",
        sqlite: include_str!("sqlite/0001_initial.sql"),
        postgres: include_str!("postgres/0001_initial.sql"),
    },
    Migration {
        number: 2,
        name: "captures",
        sqlite: include_str!("sqlite/0002_captures.sql"),
        postgres: include_str!("postgres/0002_captures.sql"),
    },
    Migration {
        number: 3,
        name: "serving",
        sqlite: include_str!("sqlite/0003_serving.sql"),
        postgres: include_str!("postgres/0003_serving.sql"),
    },
    Migration {
        number: 4,
        name: "judging",
        sqlite: include_str!("sqlite/0004_judging.sql"),
        postgres: include_str!("postgres/0004_judging.sql"),
    },
    Migration {
        number: 5,
        name: "playbook",
        sqlite: include_str!("sqlite/0005_playbook.sql"),
        postgres: include_str!("postgres/0005_playbook.sql"),
    },
    Migration {
        number: 6,
        name: "windows",
        sqlite: include_str!("sqlite/0006_windows.sql"),
        postgres: include_str!("postgres/0006_windows.sql"),
    },
    Migration {
        number: 7,
        name: "answer_pages",
        sqlite: include_str!("sqlite/0007_answer_pages.sql"),
        postgres: include_str!("postgres/0007_answer_pages.sql"),
    },
    Migration {
        number: 8,
        name: "label_reviews",
        sqlite: include_str!("sqlite/0008_label_reviews.sql"),
        postgres: include_str!("postgres/0008_label_reviews.sql"),
    },
];

/// The latest schema that this binary supports.
pub(crate) fn known_schema() -> i64 {
    MIGRATIONS.last().map_or(0, |migration| migration.number)
}

/// gbrain's tables. A database that has one of these but no `gbrain_migrations` belongs to other
/// software.
pub(crate) const TABLES: &[&str] = &[
    "meta",
    "workspaces",
    "sources",
    "pages",
    "page_versions",
    "chunks",
    "links",
    "aliases",
    "takes",
    "config",
    "changes",
    "eval_candidates",
    "eval_capture_failures",
    "eval_clock",
    "eval_windows",
    "counters",
    "tokens",
    "jobs",
    "documents",
    "labels",
    "label_reviews",
    "budgets",
    "charges",
    "model_answers",
    "eval_runs",
    "suites",
    "suite_cursors",
    "suite_events",
    "suite_runs",
    "canonical_queries",
    "retrieval_logs",
    "feedback_events",
    "calibration_pairs",
    "rerank_thresholds",
    "rerank_scores",
    "alert_cursors",
    "alert_states",
    "alert_deliveries",
    "alert_silences",
    "incidents",
];

/// gbrain's views, with the number of the migration that creates them. In a database of an older
/// schema, a relation with one of these names is foreign: the migration would fail on it.
pub(crate) const VIEWS: &[(&str, i64)] =
    &[("braintrust_queries", 6), ("eval_contradictions_cache", 6)];

/// The relations in a database of schema `found` whose names later migrations need for views.
pub(crate) fn conflicts_with_views(found: i64, relations: &[String]) -> Vec<String> {
    let missing = VIEWS.iter().filter(|(_, number)| *number > found);
    let taken = missing.filter(|(view, _)| relations.iter().any(|relation| relation == view));
    taken.map(|(view, _)| (*view).to_owned()).collect()
}

pub(crate) const PAGES: Table = Table {
    name: "pages",
    columns: &[
        ("page_id", ColumnType::Int),
        ("source_id", ColumnType::Text),
        ("slug", ColumnType::Text),
        ("version", ColumnType::Int),
        ("generation", ColumnType::Int),
        ("deleted_at", ColumnType::Int),
        ("created_at", ColumnType::Int),
        ("updated_at", ColumnType::Int),
        ("kind", ColumnType::Text),
        ("page_type", ColumnType::Text),
        ("title", ColumnType::Text),
        ("tags", ColumnType::Text),
        ("content_hash", ColumnType::Blob),
        ("derive_version", ColumnType::Int),
        ("effective_date", ColumnType::Text),
        ("date_origin", ColumnType::Text),
        ("visibility", ColumnType::Text),
        ("chunk_count", ColumnType::Int),
        ("content_bytes", ColumnType::Int),
        ("origin", ColumnType::Text),
    ],
    on_conflict: "ON CONFLICT (workspace_id, page_id) DO UPDATE SET version = excluded.version, \
         generation = excluded.generation, deleted_at = excluded.deleted_at, \
         updated_at = excluded.updated_at, kind = excluded.kind, page_type = excluded.page_type, \
         title = excluded.title, tags = excluded.tags, content_hash = excluded.content_hash, \
         derive_version = excluded.derive_version, effective_date = excluded.effective_date, \
         date_origin = excluded.date_origin, visibility = excluded.visibility, \
         chunk_count = excluded.chunk_count, content_bytes = excluded.content_bytes, \
         origin = excluded.origin",
};

pub(crate) const VERSIONS: Table = Table {
    name: "page_versions",
    columns: &[
        ("page_id", ColumnType::Int),
        ("version", ColumnType::Int),
        ("generation", ColumnType::Int),
        ("op", ColumnType::Text),
        ("kind", ColumnType::Text),
        ("page_type", ColumnType::Text),
        ("title", ColumnType::Text),
        ("tags", ColumnType::Text),
        ("content_hash", ColumnType::Blob),
        ("derive_version", ColumnType::Int),
        ("effective_date", ColumnType::Text),
        ("date_origin", ColumnType::Text),
        ("visibility", ColumnType::Text),
        ("chunk_count", ColumnType::Int),
        ("content_bytes", ColumnType::Int),
        ("created_at", ColumnType::Int),
        ("content", ColumnType::Text),
    ],
    on_conflict: "",
};

pub(crate) const CHUNKS: Table = Table {
    name: "chunks",
    columns: &[
        ("page_id", ColumnType::Int),
        ("version", ColumnType::Int),
        ("ordinal", ColumnType::Int),
        ("chunk_id", ColumnType::Text),
        ("part", ColumnType::Text),
        ("section", ColumnType::Text),
        ("start_char", ColumnType::Int),
        ("end_char", ColumnType::Int),
        ("hash", ColumnType::Blob),
    ],
    on_conflict: "",
};

pub(crate) const LINKS: Table = Table {
    name: "links",
    columns: &[
        ("page_id", ColumnType::Int),
        ("version", ColumnType::Int),
        ("ordinal", ColumnType::Int),
        ("link_type", ColumnType::Text),
        ("direction", ColumnType::Text),
        ("target", ColumnType::Text),
        ("confidence", ColumnType::Real),
        ("detected_by", ColumnType::Text),
        ("since", ColumnType::Text),
        ("until", ColumnType::Text),
        ("evidence_chunk", ColumnType::Int),
        ("evidence_start", ColumnType::Int),
        ("evidence_end", ColumnType::Int),
    ],
    on_conflict: "",
};

pub(crate) const ALIASES: Table = Table {
    name: "aliases",
    columns: &[
        ("page_id", ColumnType::Int),
        ("version", ColumnType::Int),
        ("ordinal", ColumnType::Int),
        ("alias", ColumnType::Text),
    ],
    on_conflict: "",
};

pub(crate) const TAKES: Table = Table {
    name: "takes",
    columns: &[
        ("page_id", ColumnType::Int),
        ("version", ColumnType::Int),
        ("ordinal", ColumnType::Int),
        ("claim", ColumnType::Text),
        ("kind", ColumnType::Text),
        ("holder", ColumnType::Text),
        ("weight", ColumnType::Real),
        ("since", ColumnType::Text),
        ("until", ColumnType::Text),
        ("active", ColumnType::Flag),
    ],
    on_conflict: "",
};

pub(crate) const CHANGES: Table = Table {
    name: "changes",
    columns: &[
        ("generation", ColumnType::Int),
        ("op", ColumnType::Text),
        ("page_id", ColumnType::Int),
        ("version", ColumnType::Int),
        ("root", ColumnType::Text),
        ("pages", ColumnType::Int),
        ("chunks", ColumnType::Int),
        ("at", ColumnType::Int),
    ],
    on_conflict: "",
};

/// A corrected row of the feed, which replaces the existing one.
pub(crate) const REWRITTEN_CHANGES: Table = Table {
    name: CHANGES.name,
    columns: CHANGES.columns,
    on_conflict: "ON CONFLICT (workspace_id, generation) DO UPDATE SET op = excluded.op, \
         page_id = excluded.page_id, version = excluded.version, root = excluded.root, \
         pages = excluded.pages, chunks = excluded.chunks",
};

pub(crate) const CAPTURES: Table = Table {
    name: "eval_candidates",
    columns: &[
        ("id", ColumnType::Int),
        ("created_at", ColumnType::Int),
        ("tool_name", ColumnType::Text),
        ("query", ColumnType::Text),
        ("retrieved_slugs", ColumnType::Text),
        ("retrieved_chunk_ids", ColumnType::Text),
        ("source_ids", ColumnType::Text),
        ("expand_enabled", ColumnType::Flag),
        ("detail", ColumnType::Text),
        ("detail_resolved", ColumnType::Text),
        ("vector_enabled", ColumnType::Flag),
        ("expansion_applied", ColumnType::Flag),
        ("latency_ms", ColumnType::Real),
        ("remote", ColumnType::Flag),
        ("job_id", ColumnType::Int),
        ("subagent_id", ColumnType::Int),
        ("extra", ColumnType::Text),
    ],
    on_conflict: "",
};

pub(crate) const CAPTURE_FAILURES: Table = Table {
    name: "eval_capture_failures",
    columns: &[
        ("event_id", ColumnType::Text),
        ("ts", ColumnType::Int),
        ("reason", ColumnType::Text),
        ("detail", ColumnType::Text),
    ],
    on_conflict: "ON CONFLICT (workspace_id, event_id) DO NOTHING",
};

pub(crate) const RETRIEVAL_LOGS: Table = Table {
    name: "retrieval_logs",
    columns: &[
        ("id", ColumnType::Int),
        ("created_at", ColumnType::Int),
        ("request_id", ColumnType::Text),
        ("query_text", ColumnType::Text),
        ("retrieval_mode", ColumnType::Text),
        ("experiment_id", ColumnType::Text),
        ("user_id", ColumnType::Text),
        ("top_k", ColumnType::Int),
        ("rerank_threshold", ColumnType::Real),
        ("total_ms", ColumnType::Real),
        ("dense_ms", ColumnType::Real),
        ("rerank_ms", ColumnType::Real),
        ("hydration_ms", ColumnType::Real),
        ("body", ColumnType::Text),
    ],
    on_conflict: "",
};

pub(crate) const FEEDBACK: Table = Table {
    name: "feedback_events",
    columns: &[
        ("id", ColumnType::Int),
        ("retrieval_log_id", ColumnType::Int),
        ("signal_type", ColumnType::Text),
        ("score", ColumnType::Real),
        ("comment", ColumnType::Text),
        ("created_at", ColumnType::Int),
    ],
    on_conflict: "",
};

pub(crate) const RERANK_SCORES: Table = Table {
    name: "rerank_scores",
    columns: &[
        ("threshold_id", ColumnType::Int),
        ("pair_id", ColumnType::Int),
        ("score", ColumnType::Real),
    ],
    on_conflict: "",
};

pub(crate) const DELIVERIES: Table = Table {
    name: "alert_deliveries",
    columns: &[
        ("id", ColumnType::Int),
        ("channel", ColumnType::Text),
        ("dedup_key", ColumnType::Text),
        ("action", ColumnType::Text),
        ("state", ColumnType::Text),
        ("attempt", ColumnType::Int),
        ("run_after", ColumnType::Int),
        ("created_at", ColumnType::Int),
        ("payload", ColumnType::Text),
    ],
    on_conflict: "",
};

const OF_KEY: &[(&str, ColumnType)] =
    &[("source_id", ColumnType::Text), ("slug", ColumnType::Text)];
const OF_VERSION: &[(&str, ColumnType)] =
    &[("page_id", ColumnType::Int), ("version", ColumnType::Int)];

/// The state of pages before a write.
pub(crate) const CURRENT: KeyLookup = KeyLookup {
    columns: "t.page_id, t.version, t.generation, t.deleted_at, t.kind, t.content_hash, \
         t.derive_version, t.chunk_count, t.origin, t.visibility",
    from: "pages t",
    keys: OF_KEY,
    order: "",
};

pub(crate) const VISIBILITIES: KeyLookup =
    KeyLookup { columns: "t.visibility", from: "pages t", keys: OF_KEY, order: "" };

pub(crate) const VERSION_ROWS: KeyLookup = KeyLookup {
    columns: "t.page_id, t.version, t.generation, p.source_id, p.slug, t.kind, t.page_type, \
         t.title, t.tags, t.content_hash, t.effective_date, t.date_origin, t.visibility, \
         t.derive_version, t.content",
    from: "page_versions t JOIN pages p ON p.workspace_id = t.workspace_id \
         AND p.page_id = t.page_id",
    keys: OF_VERSION,
    order: "",
};

pub(crate) const TEXTS: KeyLookup =
    KeyLookup { columns: "t.content", from: "page_versions t", keys: OF_VERSION, order: "" };

/// The bytes of texts, which may no longer be valid UTF-8.
pub(crate) const TEXT_BYTES: KeyLookup = KeyLookup {
    columns: "CAST(t.content AS BLOB)",
    from: "page_versions t",
    keys: OF_VERSION,
    order: "",
};

/// The SHA-256 of texts. PostgreSQL only.
pub(crate) const TEXT_HASHES: KeyLookup = KeyLookup {
    columns: "sha256(convert_to(t.content, 'UTF8'))",
    from: "page_versions t",
    keys: OF_VERSION,
    order: "",
};

pub(crate) const CHUNK_ROWS: KeyLookup = KeyLookup {
    columns: "t.ordinal, t.part, t.section, t.start_char, t.end_char, t.hash",
    from: "chunks t",
    keys: OF_VERSION,
    order: "t.ordinal",
};

pub(crate) const LINK_ROWS: KeyLookup = KeyLookup {
    columns: "t.link_type, t.direction, t.target, t.confidence, t.detected_by, t.since, t.until, \
         t.evidence_chunk, t.evidence_start, t.evidence_end",
    from: "links t",
    keys: OF_VERSION,
    order: "t.ordinal",
};

pub(crate) const ALIAS_ROWS: KeyLookup =
    KeyLookup { columns: "t.alias", from: "aliases t", keys: OF_VERSION, order: "t.ordinal" };

pub(crate) const TAKE_ROWS: KeyLookup = KeyLookup {
    columns: "t.claim, t.kind, t.holder, t.weight, t.since, t.until, t.active",
    from: "takes t",
    keys: OF_VERSION,
    order: "t.ordinal",
};

pub(crate) const FEEDBACK_ROWS: KeyLookup = KeyLookup {
    columns: "t.id, t.retrieval_log_id, t.signal_type, t.score, t.comment, t.created_at",
    from: "feedback_events t",
    keys: &[("retrieval_log_id", ColumnType::Int)],
    order: "t.id",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn migrations_are_numbered_from_one() {
        let numbers: Vec<i64> = MIGRATIONS.iter().map(|m| m.number).collect();
        assert_eq!(numbers, (1..=known_schema()).collect::<Vec<_>>());
    }

    #[test]
    fn both_engines_make_the_same_tables() {
        for table in TABLES {
            let wanted = format!("CREATE TABLE {table} (");
            assert!(MIGRATIONS.iter().any(|m| m.sqlite.contains(&wanted)), "{table}");
            assert!(MIGRATIONS.iter().any(|m| m.postgres.contains(&wanted)), "{table}");
        }
    }

    #[test]
    fn both_engines_make_the_same_views() {
        for (view, number) in VIEWS {
            let migration = MIGRATIONS.iter().find(|m| m.number == *number).unwrap();
            for sql in [migration.sqlite, migration.postgres] {
                assert!(sql.contains(&format!("CREATE VIEW {view} ")), "{view}");
            }
        }
    }
}
