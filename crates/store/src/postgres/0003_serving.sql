-- The last number given out of a kind of rows; numbers are never used again.
CREATE TABLE counters (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name text COLLATE "C" NOT NULL CHECK (name IN ('jobs', 'labels')),
    last_id bigint NOT NULL CHECK (last_id >= 0),
    PRIMARY KEY (workspace_id, name)
);

CREATE TABLE tokens (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id text COLLATE "C" NOT NULL UNIQUE,
    name text NOT NULL,
    scope text NOT NULL CHECK (scope IN ('read', 'write', 'admin')),
    digest bytea NOT NULL CHECK (length(digest) = 32),
    rate_per_second bigint NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    revoked_at bigint,
    last_used_at bigint,
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT token_id CHECK (octet_length(id) BETWEEN 1 AND 64),
    CONSTRAINT token_rate CHECK (rate_per_second >= 1)
);

CREATE TABLE jobs (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id bigint NOT NULL CHECK (id >= 1),
    kind text NOT NULL,
    state text NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled')),
    attempt bigint NOT NULL CHECK (attempt >= 0),
    max_attempts bigint NOT NULL,
    run_after bigint NOT NULL,
    done bigint NOT NULL CHECK (done >= 0),
    total bigint CHECK (total >= 0),
    note text NOT NULL,
    error text,
    worker text,
    lease_until bigint,
    cancel_requested boolean NOT NULL,
    created_by text NOT NULL,
    created_at bigint NOT NULL,
    started_at bigint,
    updated_at bigint NOT NULL,
    finished_at bigint,
    spec text NOT NULL,
    checkpoint text,
    result text,
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT job_attempts CHECK (max_attempts >= 1),
    CONSTRAINT job_lease CHECK ((state = 'running') = (lease_until IS NOT NULL)
        AND (state <> 'running' OR worker IS NOT NULL)),
    CONSTRAINT job_end CHECK ((state IN ('done', 'failed', 'cancelled')) = (finished_at IS NOT NULL)
        AND (state = 'done') = (result IS NOT NULL) AND (state <> 'failed' OR error IS NOT NULL)),
    CONSTRAINT job_cancelled CHECK (state <> 'queued' OR NOT cancel_requested)
);

CREATE INDEX jobs_open ON jobs (workspace_id, created_at, id)
    WHERE state IN ('queued', 'running');

CREATE TABLE documents (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    kind text COLLATE "C" NOT NULL CHECK (kind IN ('baseline', 'qrels')),
    name text COLLATE "C" NOT NULL,
    hash bytea NOT NULL CHECK (length(hash) = 32),
    bytes bigint NOT NULL CHECK (bytes >= 0),
    created_at bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (workspace_id, kind, name),
    CONSTRAINT document_name CHECK (octet_length(name) BETWEEN 1 AND 512)
);

-- A query can be longer than what an index holds, so its hash stands for it.
CREATE TABLE labels (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id bigint NOT NULL CHECK (id >= 1),
    query_hash bytea NOT NULL CHECK (length(query_hash) = 32),
    query text NOT NULL,
    source_id text COLLATE "C" NOT NULL,
    slug text COLLATE "C" NOT NULL,
    grade bigint NOT NULL,
    note text,
    labelled_by text NOT NULL,
    created_at bigint NOT NULL,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, query_hash, source_id, slug),
    CONSTRAINT label_query CHECK (octet_length(query) <= 51200)
);

-- What callers who are not trusted may count.
CREATE INDEX visible_pages ON pages (workspace_id, source_id)
    WHERE deleted_at IS NULL AND visibility = 'world';

-- As for the other tables: a transaction names its workspace and sees no other.
ALTER TABLE counters ENABLE ROW LEVEL SECURITY;

CREATE POLICY of_workspace ON counters
    USING (workspace_id = current_setting('gbrain.workspace', true))
    WITH CHECK (workspace_id = current_setting('gbrain.workspace', true));

ALTER TABLE tokens ENABLE ROW LEVEL SECURITY;

CREATE POLICY of_workspace ON tokens
    USING (workspace_id = current_setting('gbrain.workspace', true))
    WITH CHECK (workspace_id = current_setting('gbrain.workspace', true));

ALTER TABLE jobs ENABLE ROW LEVEL SECURITY;

CREATE POLICY of_workspace ON jobs
    USING (workspace_id = current_setting('gbrain.workspace', true))
    WITH CHECK (workspace_id = current_setting('gbrain.workspace', true));

ALTER TABLE documents ENABLE ROW LEVEL SECURITY;

CREATE POLICY of_workspace ON documents
    USING (workspace_id = current_setting('gbrain.workspace', true))
    WITH CHECK (workspace_id = current_setting('gbrain.workspace', true));

ALTER TABLE labels ENABLE ROW LEVEL SECURITY;

CREATE POLICY of_workspace ON labels
    USING (workspace_id = current_setting('gbrain.workspace', true))
    WITH CHECK (workspace_id = current_setting('gbrain.workspace', true));

-- Who comes with a token does not say of which workspace, and a worker takes what is due anywhere:
-- these two may look at '*', as the list of workspaces may. They write in the workspace that they
-- found: '*' is for looking only, so that no statement that forgets its filter deletes them all.
ALTER POLICY of_workspace ON workspaces
    USING (id = current_setting('gbrain.workspace', true))
    WITH CHECK (id = current_setting('gbrain.workspace', true));

CREATE POLICY of_directory ON workspaces FOR SELECT
    USING (current_setting('gbrain.workspace', true) = '*');

CREATE POLICY of_directory ON tokens FOR SELECT
    USING (current_setting('gbrain.workspace', true) = '*');

CREATE POLICY of_directory ON jobs FOR SELECT
    USING (current_setting('gbrain.workspace', true) = '*');

-- Most brains have one role, which owns the tables: it is held to the policies too. Only a superuser
-- is not.
DO $$
DECLARE
    own record;
BEGIN
    FOR own IN SELECT relname FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND relrowsecurity
    LOOP
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', own.relname);
    END LOOP;
END
$$;
