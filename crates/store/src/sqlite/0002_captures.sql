-- With rowids: rows are too wide for a tree of keys, and they are read in the order they came in.
CREATE TABLE eval_candidates (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id INTEGER NOT NULL CHECK (id >= 1),
    created_at INTEGER NOT NULL,
    tool_name TEXT NOT NULL CHECK (tool_name IN ('query', 'search')),
    query TEXT NOT NULL,
    retrieved_slugs TEXT NOT NULL,
    retrieved_chunk_ids TEXT NOT NULL,
    source_ids TEXT NOT NULL,
    expand_enabled INTEGER CHECK (expand_enabled IN (0, 1)),
    detail TEXT CHECK (detail IN ('low', 'medium', 'high')),
    detail_resolved TEXT CHECK (detail_resolved IN ('low', 'medium', 'high')),
    vector_enabled INTEGER NOT NULL CHECK (vector_enabled IN (0, 1)),
    expansion_applied INTEGER NOT NULL CHECK (expansion_applied IN (0, 1)),
    latency_ms REAL NOT NULL,
    remote INTEGER NOT NULL CHECK (remote IN (0, 1)),
    job_id INTEGER,
    subagent_id INTEGER,
    extra TEXT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT capture_query CHECK (length(CAST(query AS BLOB)) <= 51200),
    CONSTRAINT capture_latency CHECK (latency_ms >= 0 AND latency_ms < 9e999)
) STRICT;

CREATE INDEX eval_candidates_by_time ON eval_candidates (workspace_id, created_at, id);

CREATE TABLE eval_capture_failures (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    event_id TEXT NOT NULL,
    ts INTEGER NOT NULL,
    reason TEXT NOT NULL CHECK (reason IN
        ('db_down', 'rls_reject', 'check_violation', 'scrubber_exception', 'other')),
    detail TEXT NOT NULL,
    PRIMARY KEY (workspace_id, event_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX eval_capture_failures_by_time ON eval_capture_failures (workspace_id, ts, event_id);

-- No capture comes before its workspace's clock: later ones have higher numbers and no earlier time.
CREATE TABLE eval_clock (
    workspace_id TEXT PRIMARY KEY REFERENCES workspaces (id) ON DELETE CASCADE,
    at INTEGER NOT NULL,
    last_id INTEGER NOT NULL CHECK (last_id >= 0)
) STRICT, WITHOUT ROWID;
