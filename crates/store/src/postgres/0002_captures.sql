CREATE TABLE eval_candidates (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id bigint NOT NULL CHECK (id >= 1),
    created_at bigint NOT NULL,
    tool_name text NOT NULL CHECK (tool_name IN ('query', 'search')),
    query text NOT NULL,
    retrieved_slugs text NOT NULL,
    retrieved_chunk_ids text NOT NULL,
    source_ids text NOT NULL,
    expand_enabled boolean,
    detail text CHECK (detail IN ('low', 'medium', 'high')),
    detail_resolved text CHECK (detail_resolved IN ('low', 'medium', 'high')),
    vector_enabled boolean NOT NULL,
    expansion_applied boolean NOT NULL,
    latency_ms double precision NOT NULL,
    remote boolean NOT NULL,
    job_id bigint,
    subagent_id bigint,
    extra text NOT NULL,
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT capture_query CHECK (octet_length(query) <= 51200),
    CONSTRAINT capture_latency CHECK (latency_ms >= 0 AND latency_ms < 'Infinity')
);

CREATE INDEX eval_candidates_by_time ON eval_candidates (workspace_id, created_at, id);

CREATE TABLE eval_capture_failures (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    event_id text COLLATE "C" NOT NULL,
    ts bigint NOT NULL,
    reason text NOT NULL CHECK (reason IN
        ('db_down', 'rls_reject', 'check_violation', 'scrubber_exception', 'other')),
    detail text NOT NULL,
    PRIMARY KEY (workspace_id, event_id)
);

CREATE INDEX eval_capture_failures_by_time ON eval_capture_failures (workspace_id, ts, event_id);

-- No capture comes before its workspace's clock: later ones have higher numbers and no earlier time.
CREATE TABLE eval_clock (
    workspace_id text COLLATE "C" PRIMARY KEY REFERENCES workspaces (id) ON DELETE CASCADE,
    at bigint NOT NULL,
    last_id bigint NOT NULL CHECK (last_id >= 0)
);

-- As for the other tables: a transaction names its workspace and sees no other.
ALTER TABLE eval_candidates ENABLE ROW LEVEL SECURITY;

CREATE POLICY of_workspace ON eval_candidates
    USING (workspace_id = current_setting('gbrain.workspace', true))
    WITH CHECK (workspace_id = current_setting('gbrain.workspace', true));

ALTER TABLE eval_capture_failures ENABLE ROW LEVEL SECURITY;

CREATE POLICY of_workspace ON eval_capture_failures
    USING (workspace_id = current_setting('gbrain.workspace', true))
    WITH CHECK (workspace_id = current_setting('gbrain.workspace', true));

ALTER TABLE eval_clock ENABLE ROW LEVEL SECURITY;

CREATE POLICY of_workspace ON eval_clock
    USING (workspace_id = current_setting('gbrain.workspace', true))
    WITH CHECK (workspace_id = current_setting('gbrain.workspace', true));
