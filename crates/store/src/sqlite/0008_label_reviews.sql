-- The judgement of each reviewer. `labels` has the grade that counts: the latest, or the one that was chosen where
-- reviewers disagree; `settled_by` says who chose it.
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

ALTER TABLE labels ADD COLUMN settled_by TEXT;

INSERT INTO label_reviews (workspace_id, label_id, reviewer, grade, borderline, created_at)
    SELECT workspace_id, id, labelled_by, grade, 0, created_at FROM labels;
