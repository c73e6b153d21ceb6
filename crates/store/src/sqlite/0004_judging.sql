-- What is charged against a name, in billionths of a dollar; `calls` numbers its charges.
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

-- One row for each attempt to call a model: what it may cost before it is sent, what it cost after.
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

CREATE INDEX charges_by_time ON charges (workspace_id, created_at);

-- What models said before, under everything that it depends on.
CREATE TABLE model_answers (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    key BLOB NOT NULL CHECK (length(key) = 32),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (workspace_id, kind, key)
) STRICT;

CREATE INDEX model_answers_by_end ON model_answers (workspace_id, expires_at);

-- Measurements that ran, with their reports.
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

CREATE INDEX eval_runs_by_time ON eval_runs (workspace_id, kind, at);
