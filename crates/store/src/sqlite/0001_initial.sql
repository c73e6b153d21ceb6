CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta (key, value) VALUES ('store_id', lower(hex(randomblob(16))));

CREATE TABLE workspaces (
    id TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL,
    head INTEGER NOT NULL DEFAULT 0 CHECK (head >= 0),
    pages INTEGER NOT NULL DEFAULT 0 CHECK (pages >= 0),
    chunks INTEGER NOT NULL DEFAULT 0 CHECK (chunks >= 0),
    root TEXT NOT NULL CHECK (length(root) = 64),
    last_page_id INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE sources (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    trusted INTEGER NOT NULL CHECK (trusted IN (0, 1)),
    created_at INTEGER NOT NULL,
    removed_at INTEGER,
    PRIMARY KEY (workspace_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE pages (
    workspace_id TEXT NOT NULL,
    page_id INTEGER NOT NULL,
    source_id TEXT NOT NULL,
    slug TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 1),
    generation INTEGER NOT NULL CHECK (generation >= 1),
    deleted_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('markdown', 'chat', 'text')),
    page_type TEXT NOT NULL,
    title TEXT NOT NULL,
    tags TEXT NOT NULL,
    content_hash BLOB NOT NULL CHECK (length(content_hash) = 32),
    derive_version INTEGER NOT NULL,
    effective_date TEXT,
    date_origin TEXT CHECK (date_origin IN ('event_date', 'date', 'published', 'filename')),
    visibility TEXT NOT NULL CHECK (visibility IN ('world', 'private')),
    chunk_count INTEGER NOT NULL CHECK (chunk_count >= 0),
    content_bytes INTEGER NOT NULL CHECK (content_bytes >= 0),
    origin TEXT,
    PRIMARY KEY (workspace_id, page_id),
    UNIQUE (workspace_id, source_id, slug),
    FOREIGN KEY (workspace_id, source_id) REFERENCES sources (workspace_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- The text comes last, so that reading the other columns never touches its overflow pages.
CREATE TABLE page_versions (
    workspace_id TEXT NOT NULL,
    page_id INTEGER NOT NULL,
    version INTEGER NOT NULL CHECK (version >= 1),
    generation INTEGER NOT NULL CHECK (generation >= 1),
    op TEXT NOT NULL CHECK (op IN ('write', 'delete', 'restore')),
    kind TEXT NOT NULL CHECK (kind IN ('markdown', 'chat', 'text')),
    page_type TEXT NOT NULL,
    title TEXT NOT NULL,
    tags TEXT NOT NULL,
    content_hash BLOB NOT NULL CHECK (length(content_hash) = 32),
    derive_version INTEGER NOT NULL,
    effective_date TEXT,
    date_origin TEXT CHECK (date_origin IN ('event_date', 'date', 'published', 'filename')),
    visibility TEXT NOT NULL CHECK (visibility IN ('world', 'private')),
    chunk_count INTEGER NOT NULL CHECK (chunk_count >= 0),
    content_bytes INTEGER NOT NULL CHECK (content_bytes >= 0),
    created_at INTEGER NOT NULL,
    content TEXT,
    PRIMARY KEY (workspace_id, page_id, version),
    FOREIGN KEY (workspace_id, page_id) REFERENCES pages (workspace_id, page_id) ON DELETE CASCADE,
    CHECK ((op = 'delete') = (content IS NULL))
) STRICT;

CREATE TABLE chunks (
    workspace_id TEXT NOT NULL,
    page_id INTEGER NOT NULL,
    version INTEGER NOT NULL,
    ordinal INTEGER NOT NULL CHECK (ordinal >= 0),
    chunk_id TEXT NOT NULL CHECK (length(chunk_id) = 16),
    part TEXT NOT NULL CHECK (part IN ('truth', 'timeline', 'turns')),
    section TEXT NOT NULL,
    start_char INTEGER NOT NULL CHECK (start_char >= 0),
    end_char INTEGER NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    PRIMARY KEY (workspace_id, page_id, version, ordinal),
    FOREIGN KEY (workspace_id, page_id, version)
        REFERENCES page_versions (workspace_id, page_id, version) ON DELETE CASCADE,
    CONSTRAINT chunk_span CHECK (start_char <= end_char)
) STRICT, WITHOUT ROWID;

CREATE TABLE links (
    workspace_id TEXT NOT NULL,
    page_id INTEGER NOT NULL,
    version INTEGER NOT NULL,
    ordinal INTEGER NOT NULL CHECK (ordinal >= 0),
    link_type TEXT NOT NULL,
    direction TEXT NOT NULL CHECK (direction IN ('out', 'in')),
    target TEXT NOT NULL,
    confidence REAL NOT NULL,
    detected_by TEXT NOT NULL,
    since TEXT,
    until TEXT,
    evidence_chunk INTEGER CHECK (evidence_chunk >= 0),
    evidence_start INTEGER NOT NULL CHECK (evidence_start >= 0),
    evidence_end INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, page_id, version, ordinal),
    FOREIGN KEY (workspace_id, page_id, version)
        REFERENCES page_versions (workspace_id, page_id, version) ON DELETE CASCADE,
    CONSTRAINT link_confidence CHECK (confidence >= 0 AND confidence <= 1),
    CONSTRAINT link_evidence CHECK (evidence_start <= evidence_end)
) STRICT, WITHOUT ROWID;

CREATE TABLE aliases (
    workspace_id TEXT NOT NULL,
    page_id INTEGER NOT NULL,
    version INTEGER NOT NULL,
    ordinal INTEGER NOT NULL CHECK (ordinal >= 0),
    alias TEXT NOT NULL,
    PRIMARY KEY (workspace_id, page_id, version, ordinal),
    FOREIGN KEY (workspace_id, page_id, version)
        REFERENCES page_versions (workspace_id, page_id, version) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE TABLE takes (
    workspace_id TEXT NOT NULL,
    page_id INTEGER NOT NULL,
    version INTEGER NOT NULL,
    ordinal INTEGER NOT NULL CHECK (ordinal >= 0),
    claim TEXT NOT NULL,
    kind TEXT NOT NULL,
    holder TEXT,
    weight REAL NOT NULL,
    since TEXT,
    until TEXT,
    active INTEGER NOT NULL CHECK (active IN (0, 1)),
    PRIMARY KEY (workspace_id, page_id, version, ordinal),
    FOREIGN KEY (workspace_id, page_id, version)
        REFERENCES page_versions (workspace_id, page_id, version) ON DELETE CASCADE,
    CONSTRAINT take_weight CHECK (weight >= 0 AND weight <= 1)
) STRICT, WITHOUT ROWID;

CREATE TABLE config (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (workspace_id, key)
) STRICT, WITHOUT ROWID;

-- page_id has no foreign key: a purged page leaves its number here for readers to drop.
CREATE TABLE changes (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    generation INTEGER NOT NULL CHECK (generation >= 1),
    op TEXT NOT NULL CHECK (op IN ('write', 'delete', 'purge', 'source')),
    page_id INTEGER,
    version INTEGER,
    root TEXT NOT NULL CHECK (length(root) = 64),
    pages INTEGER NOT NULL CHECK (pages >= 0),
    chunks INTEGER NOT NULL CHECK (chunks >= 0),
    at INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, generation),
    CHECK ((op = 'source') = (page_id IS NULL)),
    CHECK ((op IN ('write', 'delete')) = (version IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX purges ON changes (workspace_id, generation) WHERE op = 'purge';
