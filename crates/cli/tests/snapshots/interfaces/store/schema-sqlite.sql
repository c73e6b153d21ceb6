PRAGMA user_version = 0;

CREATE VIEW braintrust_queries AS
    SELECT workspace_id, id, json_extract(body, '$.query') AS query_text, source, difficulty,
        coalesce(json_extract(body, '$.expected'), '[]') AS expected,
        coalesce(json_extract(body, '$.acceptable'), '[]') AS acceptable,
        coalesce(json_extract(body, '$.expected_snippets'), '[]') AS expected_snippets,
        origin, state, created_at, reviewed_at
    FROM canonical_queries;

CREATE VIEW eval_contradictions_cache AS
    SELECT workspace_id, lower(hex(key)) AS key, body AS verdict, created_at, expires_at
    FROM model_answers WHERE kind = 'contradiction';

CREATE TABLE alert_cursors (
    workspace_id TEXT PRIMARY KEY REFERENCES workspaces (id) ON DELETE CASCADE,
    run_id INTEGER NOT NULL CHECK (run_id >= 0),
    revision INTEGER NOT NULL CHECK (revision >= 1)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE alert_silences (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id INTEGER NOT NULL CHECK (id >= 1),
    starts_at INTEGER NOT NULL,
    ends_at INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT silence_span CHECK (starts_at <= ends_at)
) STRICT;

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

CREATE TABLE budgets (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    cap INTEGER NOT NULL CHECK (cap >= 0),
    charged INTEGER NOT NULL CHECK (charged >= 0),
    calls INTEGER NOT NULL CHECK (calls >= 0),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, name),
    CONSTRAINT budget_name CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 200)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE charges (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    budget TEXT NOT NULL,
    number INTEGER NOT NULL CHECK (number >= 1),
    standing TEXT,
    model TEXT NOT NULL,
    purpose TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('reserved', 'settled', 'released', 'lost')),
    worst INTEGER NOT NULL CHECK (worst >= 0),
    actual INTEGER CHECK (actual >= 0),
    input_tokens INTEGER,
    output_tokens INTEGER,
    created_at INTEGER NOT NULL,
    settled_at INTEGER,
    PRIMARY KEY (workspace_id, budget, number),
    CONSTRAINT charge_end CHECK ((state = 'reserved') = (actual IS NULL)
        AND (state = 'reserved') = (settled_at IS NULL))
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

CREATE TABLE config (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (workspace_id, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE counters (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    last_id INTEGER NOT NULL CHECK (last_id >= 0),
    PRIMARY KEY (workspace_id, name)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE eval_capture_failures (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    event_id TEXT NOT NULL,
    ts INTEGER NOT NULL,
    reason TEXT NOT NULL CHECK (reason IN
        ('db_down', 'rls_reject', 'check_violation', 'scrubber_exception', 'other')),
    detail TEXT NOT NULL,
    PRIMARY KEY (workspace_id, event_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE eval_clock (
    workspace_id TEXT PRIMARY KEY REFERENCES workspaces (id) ON DELETE CASCADE,
    at INTEGER NOT NULL,
    last_id INTEGER NOT NULL CHECK (last_id >= 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE eval_runs (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (workspace_id, kind, id),
    CONSTRAINT run_id CHECK (length(CAST(id AS BLOB)) BETWEEN 1 AND 200)
) STRICT;

CREATE TABLE eval_windows (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    until INTEGER NOT NULL,
    last_id INTEGER NOT NULL CHECK (last_id >= 0),
    PRIMARY KEY (workspace_id, until)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE gbrain_migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT;

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
    result TEXT, key TEXT
    CONSTRAINT job_key CHECK (length(CAST(key AS BLOB)) BETWEEN 1 AND 512), grp TEXT
    CONSTRAINT job_group CHECK (length(CAST(grp AS BLOB)) BETWEEN 1 AND 512),
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT job_attempts CHECK (max_attempts >= 1),
    CONSTRAINT job_lease CHECK ((state = 'running') = (lease_until IS NOT NULL)
        AND (state <> 'running' OR worker IS NOT NULL)),
    CONSTRAINT job_end CHECK ((state IN ('done', 'failed', 'cancelled')) = (finished_at IS NOT NULL)
        AND (state = 'done') = (result IS NOT NULL) AND (state <> 'failed' OR error IS NOT NULL)),
    CONSTRAINT job_cancelled CHECK (state <> 'queued' OR NOT cancel_requested)
) STRICT;

CREATE TABLE label_reviews (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    label_id INTEGER NOT NULL,
    reviewer TEXT NOT NULL,
    grade INTEGER NOT NULL,
    borderline INTEGER NOT NULL CHECK (borderline IN (0, 1)),
    created_at INTEGER NOT NULL,
    span TEXT,
    PRIMARY KEY (workspace_id, label_id, reviewer),
    FOREIGN KEY (workspace_id, label_id) REFERENCES labels (workspace_id, id) ON DELETE CASCADE
) STRICT;

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
    created_at INTEGER NOT NULL, settled_by TEXT,
    PRIMARY KEY (workspace_id, id),
    UNIQUE (workspace_id, query_hash, source_id, slug),
    CONSTRAINT label_query CHECK (length(CAST(query AS BLOB)) <= 51200)
) STRICT;

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

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE model_answers (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    key BLOB NOT NULL CHECK (length(key) = 32),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    body TEXT NOT NULL, pages TEXT,
    PRIMARY KEY (workspace_id, kind, key)
) STRICT;

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
    body TEXT NOT NULL, scores TEXT NOT NULL DEFAULT '[]',
    PRIMARY KEY (workspace_id, id),
    CONSTRAINT threshold_model CHECK (length(CAST(model AS BLOB)) BETWEEN 1 AND 200),
    CONSTRAINT threshold_value CHECK (threshold > -9e999 AND threshold < 9e999),
    CONSTRAINT threshold_mean CHECK (mean > -9e999 AND mean < 9e999),
    CONSTRAINT threshold_sigma CHECK (sigma >= 0 AND sigma < 9e999)
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

CREATE TABLE sources (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    trusted INTEGER NOT NULL CHECK (trusted IN (0, 1)),
    created_at INTEGER NOT NULL,
    removed_at INTEGER,
    PRIMARY KEY (workspace_id, id)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE workspaces (
    id TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL,
    head INTEGER NOT NULL DEFAULT 0 CHECK (head >= 0),
    pages INTEGER NOT NULL DEFAULT 0 CHECK (pages >= 0),
    chunks INTEGER NOT NULL DEFAULT 0 CHECK (chunks >= 0),
    root TEXT NOT NULL CHECK (length(root) = 64),
    last_page_id INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX alert_deliveries_in_order
    ON alert_deliveries (workspace_id, channel, dedup_key, id) WHERE state = 'queued';

CREATE INDEX alert_deliveries_open ON alert_deliveries (workspace_id, id) WHERE state = 'queued';

CREATE INDEX charges_by_time ON charges (workspace_id, created_at);

CREATE INDEX eval_candidates_by_time ON eval_candidates (workspace_id, created_at, id);

CREATE INDEX eval_capture_failures_by_time ON eval_capture_failures (workspace_id, ts, event_id);

CREATE INDEX eval_runs_by_time ON eval_runs (workspace_id, kind, at);

CREATE INDEX feedback_events_by_log
    ON feedback_events (workspace_id, retrieval_log_id, signal_type);

CREATE UNIQUE INDEX jobs_at_work ON jobs (workspace_id, grp)
    WHERE state = 'running' AND grp IS NOT NULL;

CREATE UNIQUE INDEX jobs_by_key ON jobs (workspace_id, kind, key) WHERE key IS NOT NULL;

CREATE INDEX jobs_open ON jobs (workspace_id, created_at, id)
    WHERE state IN ('queued', 'running');

CREATE INDEX model_answers_by_end ON model_answers (workspace_id, expires_at);

CREATE INDEX purges ON changes (workspace_id, generation) WHERE op = 'purge';

CREATE UNIQUE INDEX rerank_thresholds_active ON rerank_thresholds (workspace_id, model)
    WHERE status = 'active';

CREATE INDEX retrieval_logs_by_experiment
    ON retrieval_logs (workspace_id, experiment_id, created_at, id)
    WHERE experiment_id IS NOT NULL;

CREATE INDEX retrieval_logs_by_request ON retrieval_logs (workspace_id, request_id)
    WHERE request_id IS NOT NULL;

CREATE INDEX retrieval_logs_by_time ON retrieval_logs (workspace_id, created_at, id);

CREATE INDEX suite_events_by_time ON suite_events (workspace_id, at);

CREATE INDEX suite_runs_by_suite ON suite_runs (workspace_id, suite, id);

CREATE INDEX suite_runs_by_time ON suite_runs (workspace_id, finished_at);

CREATE INDEX visible_pages ON pages (workspace_id, source_id, deleted_at, visibility)
    WHERE deleted_at IS NULL AND visibility = 'world';
