-- More kinds of rows are numbered from here on; which ones is said where they are made.
ALTER TABLE counters DROP CONSTRAINT counters_name_check;

-- A key is queued once in its kind. Of a group one job runs at a time.
ALTER TABLE jobs ADD COLUMN key text COLLATE "C";
ALTER TABLE jobs ADD COLUMN grp text COLLATE "C";
ALTER TABLE jobs ADD CONSTRAINT job_key CHECK (octet_length(key) BETWEEN 1 AND 512);
ALTER TABLE jobs ADD CONSTRAINT job_group CHECK (octet_length(grp) BETWEEN 1 AND 512);

CREATE UNIQUE INDEX jobs_by_key ON jobs (workspace_id, kind, key) WHERE key IS NOT NULL;

CREATE UNIQUE INDEX jobs_at_work ON jobs (workspace_id, grp)
    WHERE state = 'running' AND grp IS NOT NULL;

CREATE TABLE suites (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name text COLLATE "C" NOT NULL,
    spec text NOT NULL,
    hash bytea NOT NULL CHECK (length(hash) = 32),
    enabled boolean NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    PRIMARY KEY (workspace_id, name),
    CONSTRAINT suite_name CHECK (octet_length(name) BETWEEN 1 AND 200)
);

-- How far a trigger has been fired: a time, a generation of the feed or the number of an event.
CREATE TABLE suite_cursors (
    workspace_id text COLLATE "C" NOT NULL,
    suite text COLLATE "C" NOT NULL,
    trigger text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    PRIMARY KEY (workspace_id, suite, trigger),
    FOREIGN KEY (workspace_id, suite) REFERENCES suites (workspace_id, name) ON DELETE CASCADE,
    CONSTRAINT cursor_trigger CHECK (octet_length(trigger) BETWEEN 1 AND 200)
);

CREATE TABLE suite_events (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id bigint NOT NULL CHECK (id >= 1),
    kind text COLLATE "C" NOT NULL,
    document text COLLATE "C" NOT NULL,
    version text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, kind, document, version),
    CONSTRAINT event_kind CHECK (octet_length(kind) BETWEEN 1 AND 100),
    CONSTRAINT event_document CHECK (octet_length(document) <= 1024),
    CONSTRAINT event_version CHECK (octet_length(version) <= 200)
);

CREATE INDEX suite_events_by_time ON suite_events (workspace_id, at);

-- A run stays when its suite goes. `attempt` is the claim by which its worker spoke.
CREATE TABLE suite_runs (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id bigint NOT NULL CHECK (id >= 1),
    suite text COLLATE "C" NOT NULL,
    key text COLLATE "C",
    trigger text COLLATE "C" NOT NULL,
    job_id bigint,
    attempt bigint NOT NULL CHECK (attempt >= 0),
    started_at bigint NOT NULL,
    finished_at bigint NOT NULL,
    verdict text NOT NULL CHECK (verdict IN ('pass', 'inconclusive', 'fail')),
    summary text NOT NULL,
    report text,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, suite, key),
    CONSTRAINT suite_run_suite CHECK (octet_length(suite) BETWEEN 1 AND 200),
    CONSTRAINT suite_run_key CHECK (octet_length(key) BETWEEN 1 AND 512),
    CONSTRAINT suite_run_trigger CHECK (octet_length(trigger) BETWEEN 1 AND 200)
);

CREATE INDEX suite_runs_by_suite ON suite_runs (workspace_id, suite, id);

CREATE INDEX suite_runs_by_time ON suite_runs (workspace_id, finished_at);

CREATE TABLE canonical_queries (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id bigint NOT NULL CHECK (id >= 1),
    text_hash bytea NOT NULL CHECK (length(text_hash) = 32),
    state text NOT NULL CHECK (state IN ('candidate', 'active', 'retired')),
    source text COLLATE "C" NOT NULL,
    difficulty text,
    origin text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    reviewed_at bigint,
    body text NOT NULL,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, text_hash)
);

CREATE TABLE retrieval_logs (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id bigint NOT NULL CHECK (id >= 1),
    created_at bigint NOT NULL,
    request_id text COLLATE "C",
    query_text text NOT NULL,
    retrieval_mode text,
    experiment_id text COLLATE "C",
    user_id text,
    top_k bigint,
    rerank_threshold double precision,
    total_ms double precision,
    dense_ms double precision,
    rerank_ms double precision,
    hydration_ms double precision,
    body text,
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT log_query CHECK (octet_length(query_text) <= 51200),
    CONSTRAINT log_request CHECK (octet_length(request_id) BETWEEN 1 AND 200),
    CONSTRAINT log_experiment CHECK (octet_length(experiment_id) BETWEEN 1 AND 200),
    CONSTRAINT log_top_k CHECK (top_k >= 0),
    CONSTRAINT log_threshold CHECK
        (rerank_threshold > '-Infinity' AND rerank_threshold < 'Infinity'),
    CONSTRAINT log_total CHECK (total_ms >= 0 AND total_ms < 'Infinity'),
    CONSTRAINT log_dense CHECK (dense_ms >= 0 AND dense_ms < 'Infinity'),
    CONSTRAINT log_rerank CHECK (rerank_ms >= 0 AND rerank_ms < 'Infinity'),
    CONSTRAINT log_hydration CHECK (hydration_ms >= 0 AND hydration_ms < 'Infinity')
);

CREATE INDEX retrieval_logs_by_time ON retrieval_logs (workspace_id, created_at, id);

CREATE INDEX retrieval_logs_by_experiment
    ON retrieval_logs (workspace_id, experiment_id, created_at, id)
    WHERE experiment_id IS NOT NULL;

CREATE INDEX retrieval_logs_by_request ON retrieval_logs (workspace_id, request_id)
    WHERE request_id IS NOT NULL;

CREATE TABLE feedback_events (
    workspace_id text COLLATE "C" NOT NULL,
    id bigint NOT NULL CHECK (id >= 1),
    retrieval_log_id bigint NOT NULL,
    signal_type text COLLATE "C" NOT NULL,
    score double precision,
    comment text,
    created_at bigint NOT NULL,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, retrieval_log_id)
        REFERENCES retrieval_logs (workspace_id, id) ON DELETE CASCADE,
    CONSTRAINT feedback_signal CHECK (octet_length(signal_type) BETWEEN 1 AND 100),
    CONSTRAINT feedback_score CHECK (score > '-Infinity' AND score < 'Infinity')
);

CREATE INDEX feedback_events_by_log
    ON feedback_events (workspace_id, retrieval_log_id, signal_type);

-- `document` names the page that the text of a pair is of, so that the pair goes with the page.
CREATE TABLE calibration_pairs (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id bigint NOT NULL CHECK (id >= 1),
    query_hash bytea NOT NULL CHECK (length(query_hash) = 32),
    chunk_id text COLLATE "C" NOT NULL,
    document text COLLATE "C" NOT NULL,
    label text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, query_hash, chunk_id),
    CONSTRAINT pair_chunk CHECK (octet_length(chunk_id) BETWEEN 1 AND 1024)
);

CREATE TABLE rerank_thresholds (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id bigint NOT NULL CHECK (id >= 1),
    model text COLLATE "C" NOT NULL,
    status text NOT NULL CHECK (status IN ('candidate', 'active', 'rejected', 'superseded')),
    threshold double precision NOT NULL,
    n bigint NOT NULL CHECK (n >= 0),
    mean double precision NOT NULL,
    sigma double precision NOT NULL,
    created_at bigint NOT NULL,
    decided_at bigint,
    body text NOT NULL,
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT threshold_model CHECK (octet_length(model) BETWEEN 1 AND 200),
    CONSTRAINT threshold_value CHECK (threshold > '-Infinity' AND threshold < 'Infinity'),
    CONSTRAINT threshold_mean CHECK (mean > '-Infinity' AND mean < 'Infinity'),
    CONSTRAINT threshold_sigma CHECK (sigma >= 0 AND sigma < 'Infinity')
);

CREATE UNIQUE INDEX rerank_thresholds_active ON rerank_thresholds (workspace_id, model)
    WHERE status = 'active';

-- A score stays when its pair goes: it is a number, and the threshold was made of it.
CREATE TABLE rerank_scores (
    workspace_id text COLLATE "C" NOT NULL,
    threshold_id bigint NOT NULL,
    pair_id bigint NOT NULL,
    score double precision NOT NULL,
    PRIMARY KEY (workspace_id, threshold_id, pair_id),
    FOREIGN KEY (workspace_id, threshold_id)
        REFERENCES rerank_thresholds (workspace_id, id) ON DELETE CASCADE,
    CONSTRAINT rerank_score CHECK (score > '-Infinity' AND score < 'Infinity')
);

-- Which run was looked at last, and how often somebody looked.
CREATE TABLE alert_cursors (
    workspace_id text COLLATE "C" PRIMARY KEY REFERENCES workspaces (id) ON DELETE CASCADE,
    run_id bigint NOT NULL CHECK (run_id >= 0),
    revision bigint NOT NULL CHECK (revision >= 1)
);

CREATE TABLE alert_states (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    dedup_key text COLLATE "C" NOT NULL,
    state text NOT NULL CHECK (state IN ('firing', 'resolved')),
    severity text NOT NULL,
    suite text COLLATE "C",
    since bigint NOT NULL,
    updated_at bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (workspace_id, dedup_key),
    CONSTRAINT alert_key CHECK (octet_length(dedup_key) BETWEEN 1 AND 255)
);

-- One that is queued and has a lease is on its way.
CREATE TABLE alert_deliveries (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id bigint NOT NULL CHECK (id >= 1),
    channel text COLLATE "C" NOT NULL,
    dedup_key text COLLATE "C" NOT NULL,
    action text NOT NULL CHECK (action IN ('trigger', 'resolve', 'notice')),
    state text NOT NULL CHECK (state IN ('queued', 'sent', 'dead')),
    attempt bigint NOT NULL CHECK (attempt >= 0),
    run_after bigint NOT NULL,
    worker text,
    lease_until bigint,
    created_at bigint NOT NULL,
    ended_at bigint,
    error text,
    payload text NOT NULL,
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT delivery_channel CHECK (octet_length(channel) BETWEEN 1 AND 200),
    CONSTRAINT delivery_key CHECK (octet_length(dedup_key) BETWEEN 1 AND 255),
    CONSTRAINT delivery_lease CHECK (lease_until IS NULL
        OR (state = 'queued' AND worker IS NOT NULL)),
    CONSTRAINT delivery_end CHECK ((state = 'queued') = (ended_at IS NULL)
        AND (state <> 'dead' OR error IS NOT NULL))
);

CREATE INDEX alert_deliveries_open ON alert_deliveries (workspace_id, id) WHERE state = 'queued';

CREATE INDEX alert_deliveries_in_order
    ON alert_deliveries (workspace_id, channel, dedup_key, id) WHERE state = 'queued';

CREATE TABLE alert_silences (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id bigint NOT NULL CHECK (id >= 1),
    starts_at bigint NOT NULL,
    ends_at bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT silence_span CHECK (starts_at <= ends_at)
);

CREATE TABLE incidents (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id bigint NOT NULL CHECK (id >= 1),
    state text NOT NULL CHECK (state IN ('open', 'resolved')),
    opened_at bigint NOT NULL,
    resolved_at bigint,
    title text NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT incident_end CHECK ((state = 'resolved') = (resolved_at IS NOT NULL))
);

-- As for the other tables: a transaction names its workspace and sees no other, also the owner's.
DO $$
DECLARE
    own text;
BEGIN
    FOREACH own IN ARRAY ARRAY['suites', 'suite_cursors', 'suite_events', 'suite_runs',
        'canonical_queries', 'retrieval_logs', 'feedback_events', 'calibration_pairs',
        'rerank_thresholds', 'rerank_scores', 'alert_cursors', 'alert_states', 'alert_deliveries',
        'alert_silences', 'incidents']
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', own);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', own);
        EXECUTE format('CREATE POLICY of_workspace ON %I '
            'USING (workspace_id = current_setting(''gbrain.workspace'', true)) '
            'WITH CHECK (workspace_id = current_setting(''gbrain.workspace'', true))', own);
    END LOOP;
END
$$;

-- A scheduler looks for suites and a sender for what is due, anywhere, as workers do for jobs.
CREATE POLICY of_directory ON suites FOR SELECT
    USING (current_setting('gbrain.workspace', true) = '*');

CREATE POLICY of_directory ON alert_deliveries FOR SELECT
    USING (current_setting('gbrain.workspace', true) = '*');
