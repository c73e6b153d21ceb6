CREATE TABLE meta (
    key text PRIMARY KEY,
    value text NOT NULL
);

INSERT INTO meta (key, value) VALUES ('store_id', replace(gen_random_uuid()::text, '-', ''));

CREATE TABLE workspaces (
    id text COLLATE "C" PRIMARY KEY,
    created_at bigint NOT NULL,
    head bigint NOT NULL DEFAULT 0 CHECK (head >= 0),
    pages bigint NOT NULL DEFAULT 0 CHECK (pages >= 0),
    chunks bigint NOT NULL DEFAULT 0 CHECK (chunks >= 0),
    root text NOT NULL CHECK (length(root) = 64),
    last_page_id bigint NOT NULL DEFAULT 0
);

CREATE TABLE sources (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    trusted boolean NOT NULL,
    created_at bigint NOT NULL,
    removed_at bigint,
    PRIMARY KEY (workspace_id, id)
);

CREATE TABLE pages (
    workspace_id text COLLATE "C" NOT NULL,
    page_id bigint NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    slug text COLLATE "C" NOT NULL,
    version bigint NOT NULL CHECK (version >= 1),
    generation bigint NOT NULL CHECK (generation >= 1),
    deleted_at bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN ('markdown', 'chat', 'text')),
    page_type text NOT NULL,
    title text NOT NULL,
    tags text NOT NULL,
    content_hash bytea NOT NULL CHECK (length(content_hash) = 32),
    derive_version bigint NOT NULL,
    effective_date text,
    date_origin text CHECK (date_origin IN ('event_date', 'date', 'published', 'filename')),
    visibility text NOT NULL CHECK (visibility IN ('world', 'private')),
    chunk_count bigint NOT NULL CHECK (chunk_count >= 0),
    content_bytes bigint NOT NULL CHECK (content_bytes >= 0),
    origin text,
    PRIMARY KEY (workspace_id, page_id),
    UNIQUE (workspace_id, source_id, slug),
    FOREIGN KEY (workspace_id, source_id) REFERENCES sources (workspace_id, id) ON DELETE CASCADE
);

CREATE TABLE page_versions (
    workspace_id text COLLATE "C" NOT NULL,
    page_id bigint NOT NULL,
    version bigint NOT NULL CHECK (version >= 1),
    generation bigint NOT NULL CHECK (generation >= 1),
    op text NOT NULL CHECK (op IN ('write', 'delete', 'restore')),
    kind text NOT NULL CHECK (kind IN ('markdown', 'chat', 'text')),
    page_type text NOT NULL,
    title text NOT NULL,
    tags text NOT NULL,
    content_hash bytea NOT NULL CHECK (length(content_hash) = 32),
    derive_version bigint NOT NULL,
    effective_date text,
    date_origin text CHECK (date_origin IN ('event_date', 'date', 'published', 'filename')),
    visibility text NOT NULL CHECK (visibility IN ('world', 'private')),
    chunk_count bigint NOT NULL CHECK (chunk_count >= 0),
    content_bytes bigint NOT NULL CHECK (content_bytes >= 0),
    created_at bigint NOT NULL,
    content text,
    PRIMARY KEY (workspace_id, page_id, version),
    FOREIGN KEY (workspace_id, page_id) REFERENCES pages (workspace_id, page_id) ON DELETE CASCADE,
    CHECK ((op = 'delete') = (content IS NULL))
);

CREATE TABLE chunks (
    workspace_id text COLLATE "C" NOT NULL,
    page_id bigint NOT NULL,
    version bigint NOT NULL,
    ordinal bigint NOT NULL CHECK (ordinal >= 0),
    chunk_id text NOT NULL CHECK (length(chunk_id) = 16),
    part text NOT NULL CHECK (part IN ('truth', 'timeline', 'turns')),
    section text NOT NULL,
    start_char bigint NOT NULL CHECK (start_char >= 0),
    end_char bigint NOT NULL,
    hash bytea NOT NULL CHECK (length(hash) = 32),
    PRIMARY KEY (workspace_id, page_id, version, ordinal),
    FOREIGN KEY (workspace_id, page_id, version)
        REFERENCES page_versions (workspace_id, page_id, version) ON DELETE CASCADE,
    CONSTRAINT chunk_span CHECK (start_char <= end_char)
);

CREATE TABLE links (
    workspace_id text COLLATE "C" NOT NULL,
    page_id bigint NOT NULL,
    version bigint NOT NULL,
    ordinal bigint NOT NULL CHECK (ordinal >= 0),
    link_type text NOT NULL,
    direction text NOT NULL CHECK (direction IN ('out', 'in')),
    target text NOT NULL,
    confidence double precision NOT NULL,
    detected_by text NOT NULL,
    since text,
    until text,
    evidence_chunk bigint CHECK (evidence_chunk >= 0),
    evidence_start bigint NOT NULL CHECK (evidence_start >= 0),
    evidence_end bigint NOT NULL,
    PRIMARY KEY (workspace_id, page_id, version, ordinal),
    FOREIGN KEY (workspace_id, page_id, version)
        REFERENCES page_versions (workspace_id, page_id, version) ON DELETE CASCADE,
    CONSTRAINT link_confidence CHECK (confidence >= 0 AND confidence <= 1),
    CONSTRAINT link_evidence CHECK (evidence_start <= evidence_end)
);

CREATE TABLE aliases (
    workspace_id text COLLATE "C" NOT NULL,
    page_id bigint NOT NULL,
    version bigint NOT NULL,
    ordinal bigint NOT NULL CHECK (ordinal >= 0),
    alias text NOT NULL,
    PRIMARY KEY (workspace_id, page_id, version, ordinal),
    FOREIGN KEY (workspace_id, page_id, version)
        REFERENCES page_versions (workspace_id, page_id, version) ON DELETE CASCADE
);

CREATE TABLE takes (
    workspace_id text COLLATE "C" NOT NULL,
    page_id bigint NOT NULL,
    version bigint NOT NULL,
    ordinal bigint NOT NULL CHECK (ordinal >= 0),
    claim text NOT NULL,
    kind text NOT NULL,
    holder text,
    weight double precision NOT NULL,
    since text,
    until text,
    active boolean NOT NULL,
    PRIMARY KEY (workspace_id, page_id, version, ordinal),
    FOREIGN KEY (workspace_id, page_id, version)
        REFERENCES page_versions (workspace_id, page_id, version) ON DELETE CASCADE,
    CONSTRAINT take_weight CHECK (weight >= 0 AND weight <= 1)
);

CREATE TABLE config (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    key text COLLATE "C" NOT NULL,
    value text NOT NULL,
    PRIMARY KEY (workspace_id, key)
);

-- page_id has no foreign key: a purged page leaves its number here for readers to drop.
CREATE TABLE changes (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    generation bigint NOT NULL CHECK (generation >= 1),
    op text NOT NULL CHECK (op IN ('write', 'delete', 'purge', 'source')),
    page_id bigint,
    version bigint,
    root text NOT NULL CHECK (length(root) = 64),
    pages bigint NOT NULL CHECK (pages >= 0),
    chunks bigint NOT NULL CHECK (chunks >= 0),
    at bigint NOT NULL,
    PRIMARY KEY (workspace_id, generation),
    CHECK ((op = 'source') = (page_id IS NULL)),
    CHECK ((op IN ('write', 'delete')) = (version IS NOT NULL))
);

CREATE INDEX purges ON changes (workspace_id, generation) WHERE op = 'purge';

-- The statements above order by bytes, as SQLite does. Below: what only a server needs.

DO $$
BEGIN
    EXECUTE 'ALTER TABLE page_versions ALTER COLUMN content SET COMPRESSION lz4';
EXCEPTION WHEN OTHERS THEN
    -- A server without lz4 compresses its own way.
    NULL;
END
$$;

-- A transaction names its workspace and sees no other; '*' sees the list of workspaces only.
ALTER TABLE workspaces ENABLE ROW LEVEL SECURITY;

CREATE POLICY of_workspace ON workspaces
    USING (id = current_setting('gbrain.workspace', true)
        OR current_setting('gbrain.workspace', true) = '*')
    WITH CHECK (id = current_setting('gbrain.workspace', true));

ALTER TABLE sources ENABLE ROW LEVEL SECURITY;

CREATE POLICY of_workspace ON sources
    USING (workspace_id = current_setting('gbrain.workspace', true))
    WITH CHECK (workspace_id = current_setting('gbrain.workspace', true));

ALTER TABLE pages ENABLE ROW LEVEL SECURITY;

CREATE POLICY of_workspace ON pages
    USING (workspace_id = current_setting('gbrain.workspace', true))
    WITH CHECK (workspace_id = current_setting('gbrain.workspace', true));

ALTER TABLE page_versions ENABLE ROW LEVEL SECURITY;

CREATE POLICY of_workspace ON page_versions
    USING (workspace_id = current_setting('gbrain.workspace', true))
    WITH CHECK (workspace_id = current_setting('gbrain.workspace', true));

ALTER TABLE chunks ENABLE ROW LEVEL SECURITY;

CREATE POLICY of_workspace ON chunks
    USING (workspace_id = current_setting('gbrain.workspace', true))
    WITH CHECK (workspace_id = current_setting('gbrain.workspace', true));

ALTER TABLE links ENABLE ROW LEVEL SECURITY;

CREATE POLICY of_workspace ON links
    USING (workspace_id = current_setting('gbrain.workspace', true))
    WITH CHECK (workspace_id = current_setting('gbrain.workspace', true));

ALTER TABLE aliases ENABLE ROW LEVEL SECURITY;

CREATE POLICY of_workspace ON aliases
    USING (workspace_id = current_setting('gbrain.workspace', true))
    WITH CHECK (workspace_id = current_setting('gbrain.workspace', true));

ALTER TABLE takes ENABLE ROW LEVEL SECURITY;

CREATE POLICY of_workspace ON takes
    USING (workspace_id = current_setting('gbrain.workspace', true))
    WITH CHECK (workspace_id = current_setting('gbrain.workspace', true));

ALTER TABLE config ENABLE ROW LEVEL SECURITY;

CREATE POLICY of_workspace ON config
    USING (workspace_id = current_setting('gbrain.workspace', true))
    WITH CHECK (workspace_id = current_setting('gbrain.workspace', true));

ALTER TABLE changes ENABLE ROW LEVEL SECURITY;

CREATE POLICY of_workspace ON changes
    USING (workspace_id = current_setting('gbrain.workspace', true))
    WITH CHECK (workspace_id = current_setting('gbrain.workspace', true));
