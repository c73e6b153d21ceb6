-- The last number given out of a kind of rows; numbers are never used again.
CREATE TABLE counters (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name TEXT NOT NULL CHECK (name IN ('jobs', 'labels')),
    last_id INTEGER NOT NULL CHECK (last_id >= 0),
    PRIMARY KEY (workspace_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE tokens (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    scope TEXT NOT NULL CHECK (scope IN ('read', 'write', 'admin')),
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    rate_per_second INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    last_used_at INTEGER,
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT token_id CHECK (length(CAST(id AS BLOB)) BETWEEN 1 AND 64),
    CONSTRAINT token_rate CHECK (rate_per_second >= 1)
) STRICT, WITHOUT ROWID;

-- With rowids: rows are too wide for a tree of keys, and what is wide comes last.
CREATE TABLE jobs (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id INTEGER NOT NULL CHECK (id >= 1),
    kind TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled')),
    attempt INTEGER NOT NULL CHECK (attempt >= 0),
    max_attempts INTEGER NOT NULL,
    run_after INTEGER NOT NULL,
    done INTEGER NOT NULL CHECK (done >= 0),
    total INTEGER CHECK (total >= 0),
    note TEXT NOT NULL,
    error TEXT,
    worker TEXT,
    lease_until INTEGER,
    cancel_requested INTEGER NOT NULL CHECK (cancel_requested IN (0, 1)),
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    updated_at INTEGER NOT NULL,
    finished_at INTEGER,
    spec TEXT NOT NULL,
    checkpoint TEXT,
    result TEXT,
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT job_attempts CHECK (max_attempts >= 1),
    CONSTRAINT job_lease CHECK ((state = 'running') = (lease_until IS NOT NULL)
        AND (state <> 'running' OR worker IS NOT NULL)),
    CONSTRAINT job_end CHECK ((state IN ('done', 'failed', 'cancelled')) = (finished_at IS NOT NULL)
        AND (state = 'done') = (result IS NOT NULL) AND (state <> 'failed' OR error IS NOT NULL)),
    CONSTRAINT job_cancelled CHECK (state <> 'queued' OR NOT cancel_requested)
) STRICT;

CREATE INDEX jobs_open ON jobs (workspace_id, created_at, id)
    WHERE state IN ('queued', 'running');

CREATE TABLE documents (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    kind TEXT NOT NULL CHECK (kind IN ('baseline', 'qrels')),
    name TEXT NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    bytes INTEGER NOT NULL CHECK (bytes >= 0),
    created_at INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (workspace_id, kind, name),
    CONSTRAINT document_name CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 512)
) STRICT;

-- A query can be longer than what an index holds, so its hash stands for it.
CREATE TABLE labels (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id INTEGER NOT NULL CHECK (id >= 1),
    query_hash BLOB NOT NULL CHECK (length(query_hash) = 32),
    query TEXT NOT NULL,
    source_id TEXT NOT NULL,
    slug TEXT NOT NULL,
    grade INTEGER NOT NULL,
    note TEXT,
    labelled_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, query_hash, source_id, slug),
    CONSTRAINT label_query CHECK (length(CAST(query AS BLOB)) <= 51200)
) STRICT;

-- What callers who are not trusted may count. The columns of the condition are in it, or SQLite
-- would look them up in the table.
CREATE INDEX visible_pages ON pages (workspace_id, source_id, deleted_at, visibility)
    WHERE deleted_at IS NULL AND visibility = 'world';
