-- The pages that an answer of a model was made from, as a JSON list of `source::slug`; empty for one that was made from
-- no page, null where that was not recorded.
ALTER TABLE model_answers ADD COLUMN pages TEXT;
