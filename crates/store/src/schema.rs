//! The tables that bulk operations know, and the migrations of both engines.
//!
//! Migrations are numbered from 1, applied in order, each once, and never changed after a release.

use crate::driver::{Col, Lookup, Table};

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
];

/// The last schema this binary knows.
pub(crate) fn known_schema() -> i64 {
    MIGRATIONS.last().map_or(0, |migration| migration.number)
}

/// Tables of ours. A database that has one of these and no `gbrain_migrations` is somebody else's.
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

/// Views of ours, with the number of the migration that makes them. A relation with one of these names in a database
/// of an older schema is not ours: the migration would fail on it.
pub(crate) const VIEWS: &[(&str, i64)] =
    &[("braintrust_queries", 6), ("eval_contradictions_cache", 6)];

/// Those of the relations in a database of schema `found` that stand where later migrations make views.
pub(crate) fn in_the_way_of_views(found: i64, relations: &[String]) -> Vec<String> {
    let missing = VIEWS.iter().filter(|(_, number)| *number > found);
    let taken = missing.filter(|(view, _)| relations.iter().any(|relation| relation == view));
    taken.map(|(view, _)| (*view).to_owned()).collect()
}

pub(crate) const PAGES: Table = Table {
    name: "pages",
    columns: &[
        ("page_id", Col::Int),
        ("source_id", Col::Text),
        ("slug", Col::Text),
        ("version", Col::Int),
        ("generation", Col::Int),
        ("deleted_at", Col::Int),
        ("created_at", Col::Int),
        ("updated_at", Col::Int),
        ("kind", Col::Text),
        ("page_type", Col::Text),
        ("title", Col::Text),
        ("tags", Col::Text),
        ("content_hash", Col::Blob),
        ("derive_version", Col::Int),
        ("effective_date", Col::Text),
        ("date_origin", Col::Text),
        ("visibility", Col::Text),
        ("chunk_count", Col::Int),
        ("content_bytes", Col::Int),
        ("origin", Col::Text),
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
        ("page_id", Col::Int),
        ("version", Col::Int),
        ("generation", Col::Int),
        ("op", Col::Text),
        ("kind", Col::Text),
        ("page_type", Col::Text),
        ("title", Col::Text),
        ("tags", Col::Text),
        ("content_hash", Col::Blob),
        ("derive_version", Col::Int),
        ("effective_date", Col::Text),
        ("date_origin", Col::Text),
        ("visibility", Col::Text),
        ("chunk_count", Col::Int),
        ("content_bytes", Col::Int),
        ("created_at", Col::Int),
        ("content", Col::Text),
    ],
    on_conflict: "",
};

pub(crate) const CHUNKS: Table = Table {
    name: "chunks",
    columns: &[
        ("page_id", Col::Int),
        ("version", Col::Int),
        ("ordinal", Col::Int),
        ("chunk_id", Col::Text),
        ("part", Col::Text),
        ("section", Col::Text),
        ("start_char", Col::Int),
        ("end_char", Col::Int),
        ("hash", Col::Blob),
    ],
    on_conflict: "",
};

pub(crate) const LINKS: Table = Table {
    name: "links",
    columns: &[
        ("page_id", Col::Int),
        ("version", Col::Int),
        ("ordinal", Col::Int),
        ("link_type", Col::Text),
        ("direction", Col::Text),
        ("target", Col::Text),
        ("confidence", Col::Real),
        ("detected_by", Col::Text),
        ("since", Col::Text),
        ("until", Col::Text),
        ("evidence_chunk", Col::Int),
        ("evidence_start", Col::Int),
        ("evidence_end", Col::Int),
    ],
    on_conflict: "",
};

pub(crate) const ALIASES: Table = Table {
    name: "aliases",
    columns: &[
        ("page_id", Col::Int),
        ("version", Col::Int),
        ("ordinal", Col::Int),
        ("alias", Col::Text),
    ],
    on_conflict: "",
};

pub(crate) const TAKES: Table = Table {
    name: "takes",
    columns: &[
        ("page_id", Col::Int),
        ("version", Col::Int),
        ("ordinal", Col::Int),
        ("claim", Col::Text),
        ("kind", Col::Text),
        ("holder", Col::Text),
        ("weight", Col::Real),
        ("since", Col::Text),
        ("until", Col::Text),
        ("active", Col::Flag),
    ],
    on_conflict: "",
};

pub(crate) const CHANGES: Table = Table {
    name: "changes",
    columns: &[
        ("generation", Col::Int),
        ("op", Col::Text),
        ("page_id", Col::Int),
        ("version", Col::Int),
        ("root", Col::Text),
        ("pages", Col::Int),
        ("chunks", Col::Int),
        ("at", Col::Int),
    ],
    on_conflict: "",
};

/// A corrected row of the feed, written over the one that is there.
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
        ("id", Col::Int),
        ("created_at", Col::Int),
        ("tool_name", Col::Text),
        ("query", Col::Text),
        ("retrieved_slugs", Col::Text),
        ("retrieved_chunk_ids", Col::Text),
        ("source_ids", Col::Text),
        ("expand_enabled", Col::Flag),
        ("detail", Col::Text),
        ("detail_resolved", Col::Text),
        ("vector_enabled", Col::Flag),
        ("expansion_applied", Col::Flag),
        ("latency_ms", Col::Real),
        ("remote", Col::Flag),
        ("job_id", Col::Int),
        ("subagent_id", Col::Int),
        ("extra", Col::Text),
    ],
    on_conflict: "",
};

pub(crate) const CAPTURE_FAILURES: Table = Table {
    name: "eval_capture_failures",
    columns: &[
        ("event_id", Col::Text),
        ("ts", Col::Int),
        ("reason", Col::Text),
        ("detail", Col::Text),
    ],
    on_conflict: "ON CONFLICT (workspace_id, event_id) DO NOTHING",
};

pub(crate) const RETRIEVAL_LOGS: Table = Table {
    name: "retrieval_logs",
    columns: &[
        ("id", Col::Int),
        ("created_at", Col::Int),
        ("request_id", Col::Text),
        ("query_text", Col::Text),
        ("retrieval_mode", Col::Text),
        ("experiment_id", Col::Text),
        ("user_id", Col::Text),
        ("top_k", Col::Int),
        ("rerank_threshold", Col::Real),
        ("total_ms", Col::Real),
        ("dense_ms", Col::Real),
        ("rerank_ms", Col::Real),
        ("hydration_ms", Col::Real),
        ("body", Col::Text),
    ],
    on_conflict: "",
};

pub(crate) const FEEDBACK: Table = Table {
    name: "feedback_events",
    columns: &[
        ("id", Col::Int),
        ("retrieval_log_id", Col::Int),
        ("signal_type", Col::Text),
        ("score", Col::Real),
        ("comment", Col::Text),
        ("created_at", Col::Int),
    ],
    on_conflict: "",
};

pub(crate) const RERANK_SCORES: Table = Table {
    name: "rerank_scores",
    columns: &[("threshold_id", Col::Int), ("pair_id", Col::Int), ("score", Col::Real)],
    on_conflict: "",
};

pub(crate) const DELIVERIES: Table = Table {
    name: "alert_deliveries",
    columns: &[
        ("id", Col::Int),
        ("channel", Col::Text),
        ("dedup_key", Col::Text),
        ("action", Col::Text),
        ("state", Col::Text),
        ("attempt", Col::Int),
        ("run_after", Col::Int),
        ("created_at", Col::Int),
        ("payload", Col::Text),
    ],
    on_conflict: "",
};

const OF_KEY: &[(&str, Col)] = &[("source_id", Col::Text), ("slug", Col::Text)];
const OF_VERSION: &[(&str, Col)] = &[("page_id", Col::Int), ("version", Col::Int)];

/// What is known of pages before a write.
pub(crate) const CURRENT: Lookup = Lookup {
    columns: "t.page_id, t.version, t.generation, t.deleted_at, t.kind, t.content_hash, \
         t.derive_version, t.chunk_count, t.origin, t.visibility",
    from: "pages t",
    keys: OF_KEY,
    order: "",
};

pub(crate) const VISIBILITIES: Lookup =
    Lookup { columns: "t.visibility", from: "pages t", keys: OF_KEY, order: "" };

pub(crate) const VERSION_ROWS: Lookup = Lookup {
    columns: "t.page_id, t.version, t.generation, p.source_id, p.slug, t.kind, t.page_type, \
         t.title, t.tags, t.content_hash, t.effective_date, t.date_origin, t.visibility, \
         t.derive_version, t.content",
    from: "page_versions t JOIN pages p ON p.workspace_id = t.workspace_id \
         AND p.page_id = t.page_id",
    keys: OF_VERSION,
    order: "",
};

pub(crate) const TEXTS: Lookup =
    Lookup { columns: "t.content", from: "page_versions t", keys: OF_VERSION, order: "" };

/// The bytes of texts, which may be none of UTF-8 any more.
pub(crate) const TEXT_BYTES: Lookup = Lookup {
    columns: "CAST(t.content AS BLOB)",
    from: "page_versions t",
    keys: OF_VERSION,
    order: "",
};

/// The SHA-256 of texts. PostgreSQL only.
pub(crate) const TEXT_HASHES: Lookup = Lookup {
    columns: "sha256(convert_to(t.content, 'UTF8'))",
    from: "page_versions t",
    keys: OF_VERSION,
    order: "",
};

pub(crate) const CHUNK_ROWS: Lookup = Lookup {
    columns: "t.ordinal, t.part, t.section, t.start_char, t.end_char, t.hash",
    from: "chunks t",
    keys: OF_VERSION,
    order: "t.ordinal",
};

pub(crate) const LINK_ROWS: Lookup = Lookup {
    columns: "t.link_type, t.direction, t.target, t.confidence, t.detected_by, t.since, t.until, \
         t.evidence_chunk, t.evidence_start, t.evidence_end",
    from: "links t",
    keys: OF_VERSION,
    order: "t.ordinal",
};

pub(crate) const ALIAS_ROWS: Lookup =
    Lookup { columns: "t.alias", from: "aliases t", keys: OF_VERSION, order: "t.ordinal" };

pub(crate) const TAKE_ROWS: Lookup = Lookup {
    columns: "t.claim, t.kind, t.holder, t.weight, t.since, t.until, t.active",
    from: "takes t",
    keys: OF_VERSION,
    order: "t.ordinal",
};

pub(crate) const FEEDBACK_ROWS: Lookup = Lookup {
    columns: "t.id, t.retrieval_log_id, t.signal_type, t.score, t.comment, t.created_at",
    from: "feedback_events t",
    keys: &[("retrieval_log_id", Col::Int)],
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
