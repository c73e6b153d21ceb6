//! The targets, and valid files of those from capture to gate; the others' are in the corpus.

use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;
use fastrand::Rng;

use super::corpus;
use super::mutate::{mutated, raw};

/// A target: a parser of external input, with what must hold for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Parser {
    /// Captures and baselines.
    Captures,
    /// Publishing, reading back, and edits of what was published.
    Publish,
    /// Rows asked of the demo brain, gated and reported.
    Replay,
    /// Qrels of every shape, and measures over them.
    Qrels,
    /// BEIR's `queries.jsonl` and `corpus.jsonl`.
    Beir,
    /// Runs, TREC and NDJSON, and measures over them.
    Run,
    Measures,
    /// Lines of the audit log.
    Audit,
    /// Reports of hostile rows, in every form.
    Report,
    /// Baselines that a key signed, and edits of them.
    Signed,
    /// `config.json` by its parts: targets, channels, providers, numbers of the pipeline.
    Settings,
    /// `prices.json`.
    Prices,
    /// `suites.yaml`.
    Suites,
    /// Files of canonical queries.
    Queries,
    /// Lines of JSON with rows of other kinds: pairs, batches, probe events, questions.
    Rows,
    /// Words of flags and settings: durations, amounts, schedules, names, keys.
    Flags,
    /// Addresses of databases.
    Location,
    Cassette,
    /// Answers of model providers.
    Provider,
    /// Replies of models to judges.
    Reply,
    /// Descriptions of targets with an answer.
    Answer,
    /// Saved answers.
    Saved,
    /// What a target says over HTTP, MCP or a pipe.
    Remote,
    /// What a mail server says.
    Mail,
    /// LongMemEval, LoCoMo and BEIR folders.
    Dataset,
    /// Results to compare.
    Result,
    Prompt,
    /// Logs of prompts.
    Usage,
    /// Edits of the files of an index.
    Index,
    Http,
    Mcp,
    /// `config.json` as the program reads it.
    Config,
}

impl Parser {
    /// Whether the program is run, not the library.
    pub fn is_of_program(self) -> bool {
        matches!(self, Self::Http | Self::Mcp | Self::Config)
    }

    /// Whether its valid files are here and not in the corpus.
    #[cfg(test)]
    pub(super) fn has_own_seeds(self) -> bool {
        match self {
            Self::Captures | Self::Publish | Self::Replay | Self::Report | Self::Signed => true,
            Self::Qrels | Self::Beir | Self::Run | Self::Measures | Self::Audit => true,
            Self::Settings | Self::Prices | Self::Suites | Self::Queries | Self::Rows => false,
            Self::Flags | Self::Location | Self::Cassette | Self::Provider | Self::Reply => false,
            Self::Answer | Self::Saved | Self::Remote | Self::Mail | Self::Dataset => false,
            Self::Result | Self::Prompt | Self::Usage | Self::Index => false,
            Self::Http | Self::Mcp | Self::Config => false,
        }
    }
}

/// Captures of this gbrain and of another, with numbers that take seventeen digits.
const CAPTURES: &str = r#"{"schema_version":1,"id":3,"tool_name":"query","query":"who leads the plug gateway?","retrieved_slugs":["projects/plug-gateway","people/ada-quill"],"retrieved_chunk_ids":[11,12],"source_ids":["wiki"],"expand_enabled":false,"detail":null,"detail_resolved":"medium","vector_enabled":true,"expansion_applied":false,"latency_ms":3.1415926535897933,"remote":false,"job_id":null,"subagent_id":null,"created_at":"2026-05-01T10:00:00.000Z","request_version":1,"retrieved":[{"source_id":"wiki","slug":"projects/plug-gateway"},{"source_id":"journal","slug":"people/ada-quill"}],"limit":10,"retrieval_mode":"hybrid","vectors":true,"source_scope":["wiki","journal"],"filters":{"types":["person"],"tags":["a"],"since":"2026-01-01","until":null},"trust":"trusted","now":"2026-05-01T10:00:00Z","settings":{"pool":100.0},"settings_hash":"0011223344556677","software":{"version":"0.1.0","code":"c0de"},"corpus":{"store":"s","generation":7,"pages":101,"chunks":300,"root":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},"embedder":null,"expansion_variants":[],"cache_hit":false,"degraded":[{"stage":"vectors","reason":"no_model"}],"scrubbed":true,"scrub_families":["email"],"scrubbed_retrieved":[{"source_id":"wiki","slug":"people/ada-quill"}],"scrub_jaccard":0.5,"synthetic":true}
{"schema_version":1,"id":2,"tool_name":"search","query":"evidence garden forecast","retrieved_slugs":["meetings/2026-03-08","companies/acme"],"retrieved_chunk_ids":[1575,1564],"source_ids":["default"],"expand_enabled":true,"detail":null,"detail_resolved":null,"vector_enabled":false,"expansion_applied":false,"latency_ms":1373,"remote":false,"job_id":null,"subagent_id":null,"created_at":"2026-11-15T18:44:12.557Z","as_of_ts":null,"embedding_column":"embedding"}
{"schema_version":1,"id":1,"tool_name":"query","query":"Größe  der  Anlage","retrieved_slugs":["a","b"],"source_ids":["wiki","journal"],"vector_enabled":false,"expansion_applied":false,"latency_ms":0.30000000000000004,"remote":true,"created_at":"2026-11-15T18:44:11Z","weight":3}
{"schema_version":1,"tool_name":"query","query":"größe der anlage","retrieved_slugs":["b"],"latency_ms":2.2250738585072014}
"#;

const QRELS: [&str; 6] = [
    r#"{"schema_version":1,"_description":"d","queries":[{"query_id":"q1","query":"who?","relevant_slugs":["a","b"],"first_relevant_slug":"a","grades":{"a":3,"c":0.5},"label":"l","tags":["t"],"embedding_dim":3},{"query":"what?","relevant":[{"source_id":"wiki","slug":"x"},{"slug":"y"}],"expected_top1":{"slug":"y"},"mode":"graph"}]}"#,
    r#"[{"id":"q1","query":"who?","relevant":["a","b"],"grades":{"a":2}},{"query":"what?","relevant":["c"]}]"#,
    r#"{"version":1,"queries":[{"id":"q1","query":"who?","relevant":["a"]}]}"#,
    "# a remark\nq1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\nq2 0 d3 -1\n",
    "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\nq2\td 3\t2.5\n",
    "q1\td1\t1\nq2\td2\t1\n",
];

const BEIR: [&str; 2] = [
    "{\"_id\":\"q1\",\"text\":\"who?\",\"metadata\":{}}\n{\"_id\":\"q2\",\"text\":\"what?\"}\n",
    "{\"_id\":\"d1\",\"title\":\"T\",\"text\":\"x\"}\n{\"_id\":\"d2\",\"title\":\"\",\"text\":\"y\"}\n",
];

const RUNS: [&str; 2] = [
    "q1 Q0 d1 1 12.5 tag\nq1 Q0 d2 2 12.5 tag\nq2 Q0 d3 1 0.30000000000000004 tag\nq1 Q0 d4 3 -1e-3 tag more\n# remark\nq2\tQ0\td1\t2\t.5\ttag\r\n",
    r#"{"_kind":"run_metadata"}
{"schema_version":1,"query_id":"q1","retrieved":[{"source_id":"wiki","slug":"d1","score":2.5},{"slug":"d2","score":1},{"slug":"d2"}]}
{"query_id":"q2","retrieved":[]}
"#,
];

const MEASURES: [&str; 3] = [
    "nDCG@10 AP RR P@5 R@5 R@10 R@100 Judged@10",
    "P(rel=2)@5, nDCG(dcg='exp-log2')@3 RBP(p=0.95,rel=2)@10 recall_any@5 recall_all@5 hit@1 Success@1",
    "ndcg_cut_10 recip_rank map map_cut_5 P_5 recall_1000 success_1 RBP Judged AP(rel=3)@7",
];

const AUDIT: &str = r#"{"schema_version":1,"event_id":"e1","ts":"2026-11-16T03:00:00.000Z","workspace":"default","reason":"db_down","detail":"größe"}
{"schema_version":1,"event_id":"e2","ts":"2026-11-16T03:00:01.000Z","workspace":"team-a","reason":"other","detail":""}
"#;

/// Real files, below the directory of test data.
const REAL: [(Parser, &[&str]); 4] = [
    (
        Parser::Captures,
        &[
            "gbrain/reference-captures.ndjson",
            "gbrain/reference.baseline.ndjson",
            "gbrain/v0.41-launch.baseline.ndjson",
        ],
    ),
    (
        Parser::Qrels,
        &[
            "gbrain/v0.41-launch.qrels.json",
            "gbrain/beir_world_v1_cat13/qrels/test.tsv",
            "metrics/trec_eval_test/qrels.test",
            "metrics/trec_eval_test/qrels.test.with-comments",
        ],
    ),
    (
        Parser::Beir,
        &["gbrain/beir_world_v1_cat13/queries.jsonl", "gbrain/beir_world_v1_cat13/corpus.jsonl"],
    ),
    (Parser::Run, &["metrics/trec_eval_test/results.test"]),
];

/// How much of a real file is taken, up to the end of a line; a JSON document is taken whole.
const HEAD: usize = 24_000;

/// Valid files by reader.
pub(super) struct Files {
    all: Vec<(Parser, Vec<u8>)>,
}

impl Files {
    /// The built-in ones, those of the corpus, and real ones where the directory of test data is
    /// given.
    pub(super) fn new(data: Option<&Path>) -> Result<Self> {
        let mut all = Vec::new();
        let mut add = |parser, texts: &[&str]| {
            all.extend(texts.iter().map(|text| (parser, text.as_bytes().to_vec())));
        };
        let of_captures =
            [Parser::Captures, Parser::Publish, Parser::Replay, Parser::Report, Parser::Signed];
        for parser in of_captures {
            add(parser, &[CAPTURES]);
        }
        add(Parser::Qrels, &QRELS);
        add(Parser::Beir, &BEIR);
        add(Parser::Run, &RUNS);
        add(Parser::Measures, &MEASURES);
        add(Parser::Audit, &[AUDIT]);
        for (parser, names) in REAL.iter().filter(|_| data.is_some()) {
            let paths = names.iter().filter_map(|name| Some(data?.join(name)));
            let files = paths.filter_map(|path| std::fs::read(path).ok()).map(head);
            all.extend(files.map(|bytes| (*parser, bytes)));
        }
        for parser in Parser::value_variants() {
            for path in corpus::paths(*parser)? {
                all.push((*parser, std::fs::read(path)?));
            }
        }
        Ok(Self { all })
    }

    /// A file for a target: mostly a valid one with changes, sometimes one of another reader,
    /// sometimes one that was never valid.
    pub(super) fn input(&self, parser: Parser, rng: &mut Rng) -> Vec<u8> {
        let is_own = rng.u8(..16) > 0;
        let files: Vec<&Vec<u8>> = self
            .all
            .iter()
            .filter(|(of, _)| *of == parser || !is_own)
            .map(|(_, bytes)| bytes)
            .collect();
        let file = files[rng.usize(..files.len())];
        match rng.u8(..20) {
            0 => raw(rng),
            1 => file.clone(),
            _ => mutated(file, rng),
        }
    }
}

fn head(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.len() > HEAD && serde_json::from_slice::<serde_json::Value>(&bytes).is_err() {
        let end = bytes[..HEAD].iter().rposition(|byte| *byte == b'\n').map_or(HEAD, |at| at + 1);
        bytes.truncate(end);
    }
    bytes
}
