-- More kinds of rows are numbered from here on; which ones is said where they are made. SQLite drops
-- no check, so the table is made again.
ALTER TABLE counters RENAME TO counters_before;

CREATE TABLE counters (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    last_id INTEGER NOT NULL CHECK (last_id >= 0),
    PRIMARY KEY (workspace_id, name)
) STRICT, WITHOUT ROWID;

INSERT INTO counters (workspace_id, name, last_id)
    SELECT workspace_id, name, last_id FROM counters_before;

DROP TABLE counters_before;

-- A key is queued once in its kind. Of a group one job runs at a time.
ALTER TABLE jobs ADD COLUMN key TEXT
    CONSTRAINT job_key CHECK (length(CAST(key AS BLOB)) BETWEEN 1 AND 512);

ALTER TABLE jobs ADD COLUMN grp TEXT
    CONSTRAINT job_group CHECK (length(CAST(grp AS BLOB)) BETWEEN 1 AND 512);

CREATE UNIQUE INDEX jobs_by_key ON jobs (workspace_id, kind, key) WHERE key IS NOT NULL;

CREATE UNIQUE INDEX jobs_at_work ON jobs (workspace_id, grp)
    WHERE state = 'running' AND grp IS NOT NULL;

CREATE TABLE suites (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    spec TEXT NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    enabled INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, name),
    CONSTRAINT suite_name CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 200)
) STRICT;

-- How far a trigger has been fired: a time, a generation of the feed or the number of an event.
CREATE TABLE suite_cursors (
    workspace_id TEXT NOT NULL,
    suite TEXT NOT NULL,
    trigger TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, suite, trigger),
    FOREIGN KEY (workspace_id, suite) REFERENCES suites (workspace_id, name) ON DELETE CASCADE,
    CONSTRAINT cursor_trigger CHECK (length(CAST(trigger AS BLOB)) BETWEEN 1 AND 200)
) STRICT, WITHOUT ROWID;

CREATE TABLE suite_events (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id INTEGER NOT NULL CHECK (id >= 1),
    kind TEXT NOT NULL,
    document TEXT NOT NULL,
    version TEXT NOT NULL,
    at INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, kind, document, version),
    CONSTRAINT event_kind CHECK (length(CAST(kind AS BLOB)) BETWEEN 1 AND 100),
    CONSTRAINT event_document CHECK (length(CAST(document AS BLOB)) <= 1024),
    CONSTRAINT event_version CHECK (length(CAST(version AS BLOB)) <= 200)
) STRICT;

CREATE INDEX suite_events_by_time ON suite_events (workspace_id, at);

-- A run stays when its suite goes. `attempt` is the claim by which its worker spoke.
CREATE TABLE suite_runs (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id INTEGER NOT NULL CHECK (id >= 1),
    suite TEXT NOT NULL,
    key TEXT,
    trigger TEXT NOT NULL,
    job_id INTEGER,
    attempt INTEGER NOT NULL CHECK (attempt >= 0),
    started_at INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    verdict TEXT NOT NULL CHECK (verdict IN ('pass', 'inconclusive', 'fail')),
    summary TEXT NOT NULL,
    report TEXT,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, suite, key),
    CONSTRAINT suite_run_suite CHECK (length(CAST(suite AS BLOB)) BETWEEN 1 AND 200),
    CONSTRAINT suite_run_key CHECK (length(CAST(key AS BLOB)) BETWEEN 1 AND 512),
    CONSTRAINT suite_run_trigger CHECK (length(CAST(trigger AS BLOB)) BETWEEN 1 AND 200)
) STRICT;

CREATE INDEX suite_runs_by_suite ON suite_runs (workspace_id, suite, id);

CREATE INDEX suite_runs_by_time ON suite_runs (workspace_id, finished_at);

CREATE TABLE canonical_queries (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id INTEGER NOT NULL CHECK (id >= 1),
    text_hash BLOB NOT NULL CHECK (length(text_hash) = 32),
    state TEXT NOT NULL CHECK (state IN ('candidate', 'active', 'retired')),
    source TEXT NOT NULL,
    difficulty TEXT,
    origin TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    reviewed_at INTEGER,
    body TEXT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, text_hash)
) STRICT;

CREATE TABLE retrieval_logs (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id INTEGER NOT NULL CHECK (id >= 1),
    created_at INTEGER NOT NULL,
    request_id TEXT,
    query_text TEXT NOT NULL,
    retrieval_mode TEXT,
    experiment_id TEXT,
    user_id TEXT,
    top_k INTEGER,
    rerank_threshold REAL,
    total_ms REAL,
    dense_ms REAL,
    rerank_ms REAL,
    hydration_ms REAL,
    body TEXT,
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT log_query CHECK (length(CAST(query_text AS BLOB)) <= 51200),
    CONSTRAINT log_request CHECK (length(CAST(request_id AS BLOB)) BETWEEN 1 AND 200),
    CONSTRAINT log_experiment CHECK (length(CAST(experiment_id AS BLOB)) BETWEEN 1 AND 200),
    CONSTRAINT log_top_k CHECK (top_k >= 0),
    CONSTRAINT log_threshold CHECK
        (rerank_threshold > -9e999 AND rerank_threshold < 9e999),
    CONSTRAINT log_total CHECK (total_ms >= 0 AND total_ms < 9e999),
    CONSTRAINT log_dense CHECK (dense_ms >= 0 AND dense_ms < 9e999),
    CONSTRAINT log_rerank CHECK (rerank_ms >= 0 AND rerank_ms < 9e999),
    CONSTRAINT log_hydration CHECK (hydration_ms >= 0 AND hydration_ms < 9e999)
) STRICT;

CREATE INDEX retrieval_logs_by_time ON retrieval_logs (workspace_id, created_at, id);

CREATE INDEX retrieval_logs_by_experiment
    ON retrieval_logs (workspace_id, experiment_id, created_at, id)
    WHERE experiment_id IS NOT NULL;

CREATE INDEX retrieval_logs_by_request ON retrieval_logs (workspace_id, request_id)
    WHERE request_id IS NOT NULL;

CREATE TABLE feedback_events (
    workspace_id TEXT NOT NULL,
    id INTEGER NOT NULL CHECK (id >= 1),
    retrieval_log_id INTEGER NOT NULL,
    signal_type TEXT NOT NULL,
    score REAL,
    comment TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, id),
    FOREIGN KEY (workspace_id, retrieval_log_id)
        REFERENCES retrieval_logs (workspace_id, id) ON DELETE CASCADE,
    CONSTRAINT feedback_signal CHECK (length(CAST(signal_type AS BLOB)) BETWEEN 1 AND 100),
    CONSTRAINT feedback_score CHECK (score > -9e999 AND score < 9e999)
) STRICT;

CREATE INDEX feedback_events_by_log
    ON feedback_events (workspace_id, retrieval_log_id, signal_type);

-- `document` names the page that the text of a pair is of, so that the pair goes with the page.
CREATE TABLE calibration_pairs (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id INTEGER NOT NULL CHECK (id >= 1),
    query_hash BLOB NOT NULL CHECK (length(query_hash) = 32),
    chunk_id TEXT NOT NULL,
    document TEXT NOT NULL,
    label TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, query_hash, chunk_id),
    CONSTRAINT pair_chunk CHECK (length(CAST(chunk_id AS BLOB)) BETWEEN 1 AND 1024)
) STRICT;

CREATE TABLE rerank_thresholds (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id INTEGER NOT NULL CHECK (id >= 1),
    model TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('candidate', 'active', 'rejected', 'superseded')),
    threshold REAL NOT NULL,
    n INTEGER NOT NULL CHECK (n >= 0),
    mean REAL NOT NULL,
    sigma REAL NOT NULL,
    created_at INTEGER NOT NULL,
    decided_at INTEGER,
    body TEXT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT threshold_model CHECK (length(CAST(model AS BLOB)) BETWEEN 1 AND 200),
    CONSTRAINT threshold_value CHECK (threshold > -9e999 AND threshold < 9e999),
    CONSTRAINT threshold_mean CHECK (mean > -9e999 AND mean < 9e999),
    CONSTRAINT threshold_sigma CHECK (sigma >= 0 AND sigma < 9e999)
) STRICT;

CREATE UNIQUE INDEX rerank_thresholds_active ON rerank_thresholds (workspace_id, model)
    WHERE status = 'active';

-- A score stays when its pair goes: it is a number, and the threshold was made of it.
CREATE TABLE rerank_scores (
    workspace_id TEXT NOT NULL,
    threshold_id INTEGER NOT NULL,
    pair_id INTEGER NOT NULL,
    score REAL NOT NULL,
    PRIMARY KEY (workspace_id, threshold_id, pair_id),
    FOREIGN KEY (workspace_id, threshold_id)
        REFERENCES rerank_thresholds (workspace_id, id) ON DELETE CASCADE,
    CONSTRAINT rerank_score CHECK (score > -9e999 AND score < 9e999)
) STRICT, WITHOUT ROWID;

-- Which run was looked at last, and how often somebody looked.
CREATE TABLE alert_cursors (
    workspace_id TEXT PRIMARY KEY REFERENCES workspaces (id) ON DELETE CASCADE,
    run_id INTEGER NOT NULL CHECK (run_id >= 0),
    revision INTEGER NOT NULL CHECK (revision >= 1)
) STRICT, WITHOUT ROWID;

CREATE TABLE alert_states (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    dedup_key TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('firing', 'resolved')),
    severity TEXT NOT NULL,
    suite TEXT,
    since INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (workspace_id, dedup_key),
    CONSTRAINT alert_key CHECK (length(CAST(dedup_key AS BLOB)) BETWEEN 1 AND 255)
) STRICT;

-- One that is queued and has a lease is on its way.
CREATE TABLE alert_deliveries (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id INTEGER NOT NULL CHECK (id >= 1),
    channel TEXT NOT NULL,
    dedup_key TEXT NOT NULL,
    action TEXT NOT NULL CHECK (action IN ('trigger', 'resolve', 'notice')),
    state TEXT NOT NULL CHECK (state IN ('queued', 'sent', 'dead')),
    attempt INTEGER NOT NULL CHECK (attempt >= 0),
    run_after INTEGER NOT NULL,
    worker TEXT,
    lease_until INTEGER,
    created_at INTEGER NOT NULL,
    ended_at INTEGER,
    error TEXT,
    payload TEXT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT delivery_channel CHECK (length(CAST(channel AS BLOB)) BETWEEN 1 AND 200),
    CONSTRAINT delivery_key CHECK (length(CAST(dedup_key AS BLOB)) BETWEEN 1 AND 255),
    CONSTRAINT delivery_lease CHECK (lease_until IS NULL
        OR (state = 'queued' AND worker IS NOT NULL)),
    CONSTRAINT delivery_end CHECK ((state = 'queued') = (ended_at IS NULL)
        AND (state <> 'dead' OR error IS NOT NULL))
) STRICT;

CREATE INDEX alert_deliveries_open ON alert_deliveries (workspace_id, id) WHERE state = 'queued';

CREATE INDEX alert_deliveries_in_order
    ON alert_deliveries (workspace_id, channel, dedup_key, id) WHERE state = 'queued';

CREATE TABLE alert_silences (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id INTEGER NOT NULL CHECK (id >= 1),
    starts_at INTEGER NOT NULL,
    ends_at INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT silence_span CHECK (starts_at <= ends_at)
) STRICT;

CREATE TABLE incidents (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id INTEGER NOT NULL CHECK (id >= 1),
    state TEXT NOT NULL CHECK (state IN ('open', 'resolved')),
    opened_at INTEGER NOT NULL,
    resolved_at INTEGER,
    title TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT incident_end CHECK ((state = 'resolved') = (resolved_at IS NOT NULL))
) STRICT;
