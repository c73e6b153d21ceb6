-- What is charged against a name, in billionths of a dollar; `calls` numbers its charges.
CREATE TABLE budgets (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    name text COLLATE "C" NOT NULL,
    cap bigint NOT NULL CHECK (cap >= 0),
    charged bigint NOT NULL CHECK (charged >= 0),
    calls bigint NOT NULL CHECK (calls >= 0),
    created_at bigint NOT NULL,
    PRIMARY KEY (workspace_id, name),
    CONSTRAINT budget_name CHECK (octet_length(name) BETWEEN 1 AND 200)
);

-- One row for each attempt to call a model: what it may cost before it is sent, what it cost after.
CREATE TABLE charges (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    budget text COLLATE "C" NOT NULL,
    number bigint NOT NULL CHECK (number >= 1),
    standing text,
    model text NOT NULL,
    purpose text NOT NULL,
    state text NOT NULL CHECK (state IN ('reserved', 'settled', 'released', 'lost')),
    worst bigint NOT NULL CHECK (worst >= 0),
    actual bigint CHECK (actual >= 0),
    input_tokens bigint,
    output_tokens bigint,
    created_at bigint NOT NULL,
    settled_at bigint,
    PRIMARY KEY (workspace_id, budget, number),
    CONSTRAINT charge_end CHECK ((state = 'reserved') = (actual IS NULL)
        AND (state = 'reserved') = (settled_at IS NULL))
);

CREATE INDEX charges_by_time ON charges (workspace_id, created_at);

-- What models said before, under everything that it depends on.
CREATE TABLE model_answers (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    kind text COLLATE "C" NOT NULL,
    key bytea NOT NULL CHECK (length(key) = 32),
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (workspace_id, kind, key)
);

CREATE INDEX model_answers_by_end ON model_answers (workspace_id, expires_at);

-- Measurements that ran, with their reports.
CREATE TABLE eval_runs (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    kind text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    outcome text NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (workspace_id, kind, id),
    CONSTRAINT run_id CHECK (octet_length(id) BETWEEN 1 AND 200)
);

CREATE INDEX eval_runs_by_time ON eval_runs (workspace_id, kind, at);

-- As for the other tables: a transaction names its workspace and sees no other, also the owner's.
ALTER TABLE budgets ENABLE ROW LEVEL SECURITY;

ALTER TABLE budgets FORCE ROW LEVEL SECURITY;

CREATE POLICY of_workspace ON budgets
    USING (workspace_id = current_setting('gbrain.workspace', true))
    WITH CHECK (workspace_id = current_setting('gbrain.workspace', true));

ALTER TABLE charges ENABLE ROW LEVEL SECURITY;

ALTER TABLE charges FORCE ROW LEVEL SECURITY;

CREATE POLICY of_workspace ON charges
    USING (workspace_id = current_setting('gbrain.workspace', true))
    WITH CHECK (workspace_id = current_setting('gbrain.workspace', true));

ALTER TABLE model_answers ENABLE ROW LEVEL SECURITY;

ALTER TABLE model_answers FORCE ROW LEVEL SECURITY;

CREATE POLICY of_workspace ON model_answers
    USING (workspace_id = current_setting('gbrain.workspace', true))
    WITH CHECK (workspace_id = current_setting('gbrain.workspace', true));

ALTER TABLE eval_runs ENABLE ROW LEVEL SECURITY;

ALTER TABLE eval_runs FORCE ROW LEVEL SECURITY;

CREATE POLICY of_workspace ON eval_runs
    USING (workspace_id = current_setting('gbrain.workspace', true))
    WITH CHECK (workspace_id = current_setting('gbrain.workspace', true));
