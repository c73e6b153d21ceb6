-- Windows of time that an export or a prune closed, each with the last number given out before it: a capture with a
-- higher number came later, whatever time its clock gave it.
CREATE TABLE eval_windows (
    workspace_id TEXT NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    until INTEGER NOT NULL,
    last_id INTEGER NOT NULL CHECK (last_id >= 0),
    PRIMARY KEY (workspace_id, until)
) STRICT, WITHOUT ROWID;

-- The scores that a threshold was computed from, readable beside it.
ALTER TABLE rerank_thresholds ADD COLUMN scores TEXT NOT NULL DEFAULT '[]';

UPDATE rerank_thresholds SET scores = (
    SELECT json_group_array(json_object('pair_id', pair_id, 'score', score))
    FROM (SELECT pair_id, score FROM rerank_scores
        WHERE rerank_scores.workspace_id = rerank_thresholds.workspace_id
            AND rerank_scores.threshold_id = rerank_thresholds.id
        ORDER BY pair_id));

-- Names that the evaluation playbook and the contradiction probe use.
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
