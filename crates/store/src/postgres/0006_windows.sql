-- Windows of time that an export or a prune closed, each with the last number given out before it: a capture with a
-- higher number came later, whatever time its clock gave it.
CREATE TABLE eval_windows (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    until bigint NOT NULL,
    last_id bigint NOT NULL CHECK (last_id >= 0),
    PRIMARY KEY (workspace_id, until)
);

ALTER TABLE eval_windows ENABLE ROW LEVEL SECURITY;

ALTER TABLE eval_windows FORCE ROW LEVEL SECURITY;

CREATE POLICY of_workspace ON eval_windows
    USING (workspace_id = current_setting('gbrain.workspace', true))
    WITH CHECK (workspace_id = current_setting('gbrain.workspace', true));

-- The scores that a threshold was computed from, readable beside it. Row-level security would hide the rows of every
-- workspace from their owner.
ALTER TABLE rerank_thresholds ADD COLUMN scores text NOT NULL DEFAULT '[]';

ALTER TABLE rerank_thresholds NO FORCE ROW LEVEL SECURITY;

ALTER TABLE rerank_scores NO FORCE ROW LEVEL SECURITY;

UPDATE rerank_thresholds AS t SET scores = made.scores FROM (
    SELECT workspace_id, threshold_id,
        json_agg(json_build_object('pair_id', pair_id, 'score', score) ORDER BY pair_id)::text AS scores
    FROM rerank_scores GROUP BY workspace_id, threshold_id) AS made
    WHERE made.workspace_id = t.workspace_id AND made.threshold_id = t.id;

ALTER TABLE rerank_thresholds FORCE ROW LEVEL SECURITY;

ALTER TABLE rerank_scores FORCE ROW LEVEL SECURITY;

-- `meta` names the workspace of a database that has exactly one, for sessions that name none. A trigger keeps it true;
-- the lock keeps two transactions that add and remove workspaces from deciding at the same time. Both functions run
-- as their owner, so that a role that may read one table needs no right to another.
CREATE FUNCTION gbrain_note_single_workspace() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    named text := coalesce(current_setting('gbrain.workspace', true), '');
    only_one text;
BEGIN
    PERFORM 1 FROM meta WHERE key = 'store_id' FOR UPDATE;
    PERFORM set_config('gbrain.workspace', '*', true);
    SELECT min(id) INTO only_one FROM workspaces HAVING count(*) = 1;
    PERFORM set_config('gbrain.workspace', named, true);
    DELETE FROM meta WHERE key = 'single_workspace';
    IF only_one IS NOT NULL THEN
        INSERT INTO meta (key, value) VALUES ('single_workspace', only_one);
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION gbrain_single_workspace() RETURNS text LANGUAGE sql STABLE SECURITY DEFINER AS
    'SELECT value FROM meta WHERE key = ''single_workspace''';

-- Where functions are not everybody's by default, a role would lose its tables to the policies below.
GRANT EXECUTE ON FUNCTION gbrain_single_workspace() TO PUBLIC;

CREATE TRIGGER single_workspace AFTER INSERT OR UPDATE OF id OR DELETE OR TRUNCATE ON workspaces
    FOR EACH STATEMENT EXECUTE FUNCTION gbrain_note_single_workspace();

DO $$
DECLARE
    own text;
BEGIN
    FOREACH own IN ARRAY ARRAY['gbrain_note_single_workspace', 'gbrain_single_workspace'] LOOP
        EXECUTE format('ALTER FUNCTION %I() SET search_path = %I, pg_temp', own, current_schema());
    END LOOP;
    PERFORM set_config('gbrain.workspace', '*', true);
    INSERT INTO meta (key, value)
        SELECT 'single_workspace', min(id) FROM workspaces HAVING count(*) = 1;
    PERFORM set_config('gbrain.workspace', '', true);
END
$$;

-- A session that names no workspace, such as one of psql, may read what evaluation collects if the database has one
-- workspace only. It may write nothing, and sees no pages and no tokens.
DO $$
DECLARE
    own text;
    unnamed text := 'coalesce(current_setting(''gbrain.workspace'', true), '''') = '''' '
        'AND workspace_id = (SELECT gbrain_single_workspace())';
BEGIN
    FOREACH own IN ARRAY ARRAY['eval_candidates', 'eval_capture_failures', 'canonical_queries', 'retrieval_logs',
        'feedback_events', 'rerank_thresholds', 'rerank_scores']
    LOOP
        EXECUTE format('CREATE POLICY of_single_workspace ON %I FOR SELECT USING (%s)', own, unnamed);
    END LOOP;
    EXECUTE format('CREATE POLICY of_single_workspace ON model_answers FOR SELECT '
        'USING (kind = ''contradiction'' AND %s)', unnamed);
END
$$;

-- Names that the evaluation playbook and the contradiction probe use. A view of PostgreSQL 15 or later reads with the
-- rights of its reader, so row-level security holds the reader to one workspace; an older one reads with the rights
-- of its owner, so the view itself asks for the workspace.
DO $$
DECLARE
    rights text := '';
    queries text := '';
    answers text := '';
BEGIN
    IF current_setting('server_version_num')::int >= 150000 THEN
        rights := 'WITH (security_invoker = true)';
    ELSE
        queries := 'WHERE workspace_id = coalesce(nullif(current_setting(''gbrain.workspace'', true), ''''), '
            'gbrain_single_workspace())';
        answers := replace(queries, 'WHERE', 'AND');
    END IF;
    EXECUTE format('CREATE VIEW braintrust_queries %s AS '
        'SELECT workspace_id, id, body::json ->> ''query'' AS query_text, source, difficulty, '
        'coalesce(body::json ->> ''expected'', ''[]'') AS expected, '
        'coalesce(body::json ->> ''acceptable'', ''[]'') AS acceptable, '
        'coalesce(body::json ->> ''expected_snippets'', ''[]'') AS expected_snippets, '
        'origin, state, created_at, reviewed_at FROM canonical_queries %s', rights, queries);
    EXECUTE format('CREATE VIEW eval_contradictions_cache %s AS '
        'SELECT workspace_id, encode(key, ''hex'') AS key, body AS verdict, created_at, expires_at '
        'FROM model_answers WHERE kind = ''contradiction'' %s', rights, answers);
END
$$;
