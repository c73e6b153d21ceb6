-- The judgement of each reviewer. `labels` has the grade that counts: the latest, or the one that was chosen where
-- reviewers disagree; `settled_by` says who chose it.
CREATE TABLE label_reviews (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    label_id bigint NOT NULL,
    reviewer text COLLATE "C" NOT NULL,
    grade bigint NOT NULL,
    borderline boolean NOT NULL,
    created_at bigint NOT NULL,
    span text,
    PRIMARY KEY (workspace_id, label_id, reviewer),
    FOREIGN KEY (workspace_id, label_id) REFERENCES labels (workspace_id, id) ON DELETE CASCADE
);

ALTER TABLE labels ADD COLUMN settled_by text;

-- Row-level security would hide the rows of every workspace from their owner.
ALTER TABLE labels NO FORCE ROW LEVEL SECURITY;

INSERT INTO label_reviews (workspace_id, label_id, reviewer, grade, borderline, created_at)
    SELECT workspace_id, id, labelled_by, grade, false, created_at FROM labels;

ALTER TABLE labels FORCE ROW LEVEL SECURITY;

ALTER TABLE label_reviews ENABLE ROW LEVEL SECURITY;

ALTER TABLE label_reviews FORCE ROW LEVEL SECURITY;

CREATE POLICY of_workspace ON label_reviews
    USING (workspace_id = current_setting('gbrain.workspace', true))
    WITH CHECK (workspace_id = current_setting('gbrain.workspace', true));
