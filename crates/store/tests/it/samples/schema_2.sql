-- What a gbrain of schema 2 wrote: two workspaces, pages with a history, a deletion, a private page,
-- a setting and a capture. Bytes are X'..' as SQLite has them.

UPDATE meta SET value = 'f12cc5c44ebd2261a7b414f853d1fe06' WHERE key = 'store_id';
INSERT INTO workspaces (id, created_at, head, pages, chunks, root, last_page_id)
    VALUES ('default', 1794814245734, 5, 2, 2, '076c708933c56857352433187d36e9129304976210da48b8f7aff4b3958a69f2', 3);
INSERT INTO workspaces (id, created_at, head, pages, chunks, root, last_page_id)
    VALUES ('team', 1794814245759, 0, 0, 0, '0000000000000000000000000000000000000000000000000000000000000000', 0);
INSERT INTO sources (workspace_id, id, name, trusted, created_at, removed_at)
    VALUES ('default', 'default', 'default', TRUE, 1794814245734, NULL);
INSERT INTO sources (workspace_id, id, name, trusted, created_at, removed_at)
    VALUES ('team', 'default', 'default', TRUE, 1794814245759, NULL);
INSERT INTO pages (workspace_id, page_id, source_id, slug, version, generation, deleted_at, created_at, updated_at, kind, page_type, title, tags, content_hash, derive_version, effective_date, date_origin, visibility, chunk_count, content_bytes, origin)
    VALUES ('default', 1, 'default', 'gone', 2, 4, 1794814245821, 1794814245768, 1794814245821, 'markdown', 'note', 'Gone', '[]', X'faff975708b5f2356d7dd9f3a406100c798944dd236239930b6d00960b277732', 1, NULL, NULL, 'world', 1, 35, 'notes/gone.md');
INSERT INTO pages (workspace_id, page_id, source_id, slug, version, generation, deleted_at, created_at, updated_at, kind, page_type, title, tags, content_hash, derive_version, effective_date, date_origin, visibility, chunk_count, content_bytes, origin)
    VALUES ('default', 2, 'default', 'people/ada', 2, 5, NULL, 1794814245768, 1794814245834, 'markdown', 'person', 'Ada Quill', '[]', X'eb613f81be14bfe9919b33ad1189aed910dfde0955e97af4aea21838d58f3b5f', 1, NULL, NULL, 'world', 1, 71, 'notes/people/ada.md');
INSERT INTO pages (workspace_id, page_id, source_id, slug, version, generation, deleted_at, created_at, updated_at, kind, page_type, title, tags, content_hash, derive_version, effective_date, date_origin, visibility, chunk_count, content_bytes, origin)
    VALUES ('default', 3, 'default', 'secret', 1, 3, NULL, 1794814245768, 1794814245768, 'markdown', 'note', 'Secret', '[]', X'c7da3c2c1c6aee1a278244223a73728a8fd8a2973a06d06d165a27d04f059d70', 1, NULL, NULL, 'private', 1, 75, 'notes/secret.md');
INSERT INTO page_versions (workspace_id, page_id, version, generation, op, kind, page_type, title, tags, content_hash, derive_version, effective_date, date_origin, visibility, chunk_count, content_bytes, created_at, content)
    VALUES ('default', 1, 1, 1, 'write', 'markdown', 'note', 'Gone', '[]', X'faff975708b5f2356d7dd9f3a406100c798944dd236239930b6d00960b277732', 1, NULL, NULL, 'world', 1, 35, 1794814245768, 'A plain note that will be deleted.
');
INSERT INTO page_versions (workspace_id, page_id, version, generation, op, kind, page_type, title, tags, content_hash, derive_version, effective_date, date_origin, visibility, chunk_count, content_bytes, created_at, content)
    VALUES ('default', 2, 1, 2, 'write', 'markdown', 'person', 'Ada Quill', '["engineer","größe"]', X'48c1b36d88762d691777cc47c60c8848ac449be3c0df3ee1dd56bdd987f3c678', 1, '2024-03-01', 'event_date', 'world', 2, 231, 1794814245768, '---
title: Ada Quill
type: person
tags: [engineer, größe]
aliases: [Ada]
event_date: 2024-03-01
---
# Ada Quill

Ada works at [[companies/acme]] and founded the observatory.

## Timeline

- 2023-01-05: joined [[companies/acme]].
');
INSERT INTO page_versions (workspace_id, page_id, version, generation, op, kind, page_type, title, tags, content_hash, derive_version, effective_date, date_origin, visibility, chunk_count, content_bytes, created_at, content)
    VALUES ('default', 3, 1, 3, 'write', 'markdown', 'note', 'Secret', '[]', X'c7da3c2c1c6aee1a278244223a73728a8fd8a2973a06d06d165a27d04f059d70', 1, NULL, NULL, 'private', 1, 75, 1794814245768, '---
title: Secret
visibility: private
---
Nobody but the owner reads this.
');
INSERT INTO page_versions (workspace_id, page_id, version, generation, op, kind, page_type, title, tags, content_hash, derive_version, effective_date, date_origin, visibility, chunk_count, content_bytes, created_at, content)
    VALUES ('default', 1, 2, 4, 'delete', 'markdown', 'note', 'Gone', '[]', X'faff975708b5f2356d7dd9f3a406100c798944dd236239930b6d00960b277732', 1, NULL, NULL, 'world', 0, 0, 1794814245821, NULL);
INSERT INTO page_versions (workspace_id, page_id, version, generation, op, kind, page_type, title, tags, content_hash, derive_version, effective_date, date_origin, visibility, chunk_count, content_bytes, created_at, content)
    VALUES ('default', 2, 2, 5, 'write', 'markdown', 'person', 'Ada Quill', '[]', X'eb613f81be14bfe9919b33ad1189aed910dfde0955e97af4aea21838d58f3b5f', 1, NULL, NULL, 'world', 1, 71, 1794814245834, '---
title: Ada Quill
type: person
---
Ada works at [[companies/acme]].
');
INSERT INTO chunks (workspace_id, page_id, version, ordinal, chunk_id, part, section, start_char, end_char, hash)
    VALUES ('default', 1, 1, 0, '1a16dd246fc8ab80', 'truth', '', 0, 34, X'a62cfbc82ec512fb319d6bbd1c6576c917c70109d593f5a993b838b09bee146c');
INSERT INTO chunks (workspace_id, page_id, version, ordinal, chunk_id, part, section, start_char, end_char, hash)
    VALUES ('default', 2, 1, 0, 'f63f5faa60a667f5', 'truth', 'Ada Quill', 100, 173, X'897af0206fbbf2b9b741754478ccdc85c820d5d2ee1baf580752989331b1fdbf');
INSERT INTO chunks (workspace_id, page_id, version, ordinal, chunk_id, part, section, start_char, end_char, hash)
    VALUES ('default', 2, 1, 1, '2ea9f2ee9137afed', 'timeline', 'Ada Quill > Timeline', 175, 228, X'4ab1e5edda654da196b65f40e5d80eee93524861ff4e6f6337b9f8b4a3955db8');
INSERT INTO chunks (workspace_id, page_id, version, ordinal, chunk_id, part, section, start_char, end_char, hash)
    VALUES ('default', 2, 2, 0, '0181889d2985170c', 'truth', '', 38, 70, X'39a6a346451f9c720c2d1b4cf17732bb307789c25837156a1e65e9f765830d9a');
INSERT INTO chunks (workspace_id, page_id, version, ordinal, chunk_id, part, section, start_char, end_char, hash)
    VALUES ('default', 3, 1, 0, '1198d3e813105162', 'truth', '', 42, 74, X'6cf15d9a6d8affa99344b2b0b250749bb4ba6a875791514c6021b66b9a41fdc8');
INSERT INTO links (workspace_id, page_id, version, ordinal, link_type, direction, target, confidence, detected_by, since, until, evidence_chunk, evidence_start, evidence_end)
    VALUES ('default', 2, 1, 0, 'works_at', 'out', 'companies/acme', 0.82, 'sentence', '2023-01-05', NULL, 0, 113, 173);
INSERT INTO links (workspace_id, page_id, version, ordinal, link_type, direction, target, confidence, detected_by, since, until, evidence_chunk, evidence_start, evidence_end)
    VALUES ('default', 2, 2, 0, 'works_at', 'out', 'companies/acme', 0.82, 'sentence', NULL, NULL, 0, 38, 70);
INSERT INTO aliases (workspace_id, page_id, version, ordinal, alias)
    VALUES ('default', 2, 1, 0, 'Ada');
INSERT INTO config (workspace_id, key, value)
    VALUES ('default', 'search.pool', '90');
INSERT INTO changes (workspace_id, generation, op, page_id, version, root, pages, chunks, at)
    VALUES ('default', 1, 'write', 1, 1, '417d0beb0e1f3072182e4b58ee4ab45dfb9cf701724ef151cb9d47da3955a2a5', 1, 1, 1794814245768);
INSERT INTO changes (workspace_id, generation, op, page_id, version, root, pages, chunks, at)
    VALUES ('default', 2, 'write', 2, 1, '88afe1ec992074bbc1b9ce27a591b8f6ceebd3d87df794229f257f66455e717d', 2, 3, 1794814245768);
INSERT INTO changes (workspace_id, generation, op, page_id, version, root, pages, chunks, at)
    VALUES ('default', 3, 'write', 3, 1, 'b47e8f8ce190660b6c2dbb66389cfc227270981093dfbb62a3b9e5ee1ba67f5c', 3, 4, 1794814245768);
INSERT INTO changes (workspace_id, generation, op, page_id, version, root, pages, chunks, at)
    VALUES ('default', 4, 'delete', 1, 2, 'f5038467ef8f56797403f03ed6d6487f89ec6f11e1914a336824a23422f3ddf9', 2, 3, 1794814245821);
INSERT INTO changes (workspace_id, generation, op, page_id, version, root, pages, chunks, at)
    VALUES ('default', 5, 'write', 2, 2, '076c708933c56857352433187d36e9129304976210da48b8f7aff4b3958a69f2', 2, 2, 1794814245834);
INSERT INTO eval_candidates (workspace_id, id, created_at, tool_name, query, retrieved_slugs, retrieved_chunk_ids, source_ids, expand_enabled, detail, detail_resolved, vector_enabled, expansion_applied, latency_ms, remote, job_id, subagent_id, extra)
    VALUES ('default', 1, 1794814245933, 'query', 'who is Ada?', '["people/ada"]', '[3332232677003983]', '["default"]', FALSE, NULL, 'low', TRUE, FALSE, 2.232, FALSE, NULL, NULL, '{"request_version":1,"retrieved":[{"source_id":"default","slug":"people/ada"}],"limit":10,"retrieval_mode":"hybrid","vectors":true,"source_scope":[],"filters":{"types":[],"tags":[],"since":null,"until":null},"trust":"trusted","now":"2026-11-16T07:30:45.926949627Z","settings":{"backlink_boost":0.002,"bm25_b":0.75,"bm25_k1":1.2,"boost_max":1.3,"cut_ratio":0.0,"duplicate_overlap":0.9,"exact_weight":0.15,"graph_expired_factor":0.5,"graph_fanout":200.0,"graph_hop_factor":0.6,"graph_weight":2.0,"page_weight":0.5,"pool":40.0,"recency_boost":1.15,"recency_half_life_days":30.0,"rerank_depth":30.0,"title_boost":1.1,"vectors_depth":800.0,"vectors_depth_per_1000":6.0,"vectors_least":0.1,"vectors_weight":0.7,"vectors_weight_entity":0.4,"vectors_weight_relational":0.1,"words_weight":1.0},"settings_hash":"9b26a277f2eaef0f","software":{"version":"0.1.0","code":"636a2913dd639e62"},"corpus":{"store":"f12cc5c44ebd2261a7b414f853d1fe06","generation":5,"pages":2,"chunks":2,"root":"076c708933c56857352433187d36e9129304976210da48b8f7aff4b3958a69f2"},"embedder":"static-256-35f77bfa7b71","expansion_variants":[],"cache_hit":false,"degraded":[],"scrubbed":false,"synthetic":false}');
INSERT INTO eval_clock (workspace_id, at, last_id)
    VALUES ('default', 1794814245933, 1);
