//! Schemas are true of what is written, in every corner that a body has.

use gbrain_core::baseline::{
    BaselineIntegrity, BaselineMetadata, BaselineThresholds, PastBaseline, PublishedBaseline,
    RefusedRow,
};
use gbrain_core::blame::Blame;
use gbrain_core::capture::{CapturePolicy, ObservedAnswer, StoredCapture, write_line};
use gbrain_core::compare::{
    CompareOptions, EvalResultKind, MeasureColumn, MeasureRole, ResultRow, ResultTable,
    compare as compare_results,
};
use gbrain_core::doctor::{DoctorBody, DoctorCheck};
use gbrain_core::fault::{Fault, FaultBody, FaultKind};
use gbrain_core::format::Answer;
use gbrain_core::format::ask::AskBody;
use gbrain_core::format::captured::CaptureRow;
use gbrain_core::format::schema::{of_body, of_input};
use gbrain_core::format::selftest::{MutantRow, SelftestBody};
use gbrain_core::gate::{
    ConfidenceLevel, CorrectnessParts, CorrectnessThresholds, GateParts, JudgedResult, QueryResult,
    RegressionParts, Verdict, correctness, regression,
};
use gbrain_core::hash::Hash;
use gbrain_core::id::{Generation, PageId, PageKey, SourceId};
use gbrain_core::link::{DetectedBy, LinkType};
use gbrain_core::measure::{Measure, MissingQueries, evaluate};
use gbrain_core::page::{PageBody, PageFormat, PageInput, StoredPage, parse};
use gbrain_core::provenance::{FactorDifference, FactorDifferences, Provenance, Software};
use gbrain_core::qrels::{JudgedPages, JudgedQuery, Judgement, Qrels, QrelsFile, SegmentBy};
use gbrain_core::ranking::{
    Arm, ArmReport, CacheUse, CorpusFingerprint, DegradedStage, Edge, Hit, MatchEvidence, NO_SEED,
    PassageHit, Ranking, RelationReport, ScoreEffect, ScorePart, ServingInfo, StageTime, TraceStep,
    WhyNot,
};
use gbrain_core::replay::{
    Caveat, LostPage, RankingPair, ReplayedRow, RowOutcome, SkipReason, compare as compare_row,
    summarise,
};
use gbrain_core::report::json::{
    BaselineLog, CompareReport, GateReport, PerQuery, PublishBody, ReplayReport, ScoreReport,
    Segments,
};
use gbrain_core::request::{Caller, Detail, Expansion, Operation, Request, RetrievalMode, Viewer};
use gbrain_core::run::{Run, RunRow};
use gbrain_core::scrub::Scrubber;
use gbrain_core::search::Settings;
use gbrain_core::search::intent::{IntentKind, Recency};
use gbrain_core::search::relation::RelationFamily;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::conforms::{assert_conforms, conforms};

/// Written output must match its schema.
#[track_caller]
fn check<T: Serialize + JsonSchema>(body: &T) {
    assert_conforms(of_body::<T>().as_value(), &serde_json::to_value(body).unwrap());
}

fn key(name: &str) -> PageKey {
    PageKey::parse(name, &SourceId::default()).unwrap()
}

fn request(operation: Operation) -> Request {
    let body = AskBody {
        query: "who owns ada@example.com's berth planner?".to_owned(),
        since: Some("2026-01-01".to_owned()),
        sources: vec!["wiki".to_owned()],
        ..AskBody::default()
    };
    let now = Timestamp::UNIX_EPOCH;
    let request = body.request(operation, Settings::default(), Viewer::Trusted, now).unwrap();
    let expansion = match operation {
        Operation::Query => Expansion::Variants(vec!["berths of ada@example.com".to_owned()]),
        Operation::Search => Expansion::Off,
    };
    Request { expansion, ..request }
}

/// An answer with everything in it.
fn full() -> Ranking {
    let words = ScorePart { name: "words", effect: ScoreEffect::Adds(0.5) };
    let title = ScorePart { name: "title", effect: ScoreEffect::Times(1.1) };
    let parts = vec![words, title];
    let (rank, score, note) = (Some(1), Some(0.5), String::new());
    let step = TraceStep { stage: "fuse", rank, score, note, parts };
    let edge = Edge {
        link_type: LinkType::OwnedBy,
        from: key("wiki::a"),
        to: key("wiki::b"),
        hop: Some(1),
        confidence: 0.9,
        detected_by: DetectedBy::Sentence,
        since: Some("2026-01-01".parse().unwrap()),
        until: None,
        evidence_page: key("wiki::a"),
        evidence_ordinal: Some(0),
        evidence_chunk: Some("c0".to_owned()),
        evidence_start: 3,
        evidence_end: 9,
    };
    let passage = PassageHit {
        chunk_id: "c0".to_owned(),
        ordinal: 0,
        part: gbrain_core::chunk::PagePart::Truth,
        section: "A > B".to_owned(),
        start: 0,
        end: 9,
        score: None,
        snippet: "a b".to_owned(),
        highlights: vec![(0, 1)],
    };
    let hit = Hit {
        rank: 1,
        key: key("wiki::b"),
        title: "B".to_owned(),
        page_type: "person".to_owned(),
        effective_date: Some("2026-02-01".parse().unwrap()),
        score: 1.5,
        evidence: MatchEvidence::Relation,
        create_safety: MatchEvidence::Relation.create_safety(),
        passages: vec![passage],
        edges: vec![edge],
        duplicates: vec![key("wiki::c")],
        trace: vec![step.clone()],
    };
    Ranking {
        intent: IntentKind::Relational,
        recency: Recency::On,
        detail: Detail::High,
        mode: RetrievalMode::Hybrid,
        relation: Some(RelationReport {
            family: RelationFamily::ALL[0],
            types: vec![LinkType::OwnedBy],
            seeds: vec!["berth planner".to_owned()],
            resolved: vec![key("wiki::a")],
        }),
        embedder: Some("builtin-1".to_owned()),
        expansion_applied: true,
        rerank_model: Some("judge-1".to_owned()),
        arms: vec![ArmReport { arm: Arm::Graph, weight: 1.0, found: 1 }],
        degraded: vec![DegradedStage { stage: "graph", reason: NO_SEED }],
        corpus: CorpusFingerprint { pages: 3, chunks: 4, root: Hash::of(b"corpus") },
        hits: vec![hit],
        why_not: Some(WhyNot {
            key: key("wiki::d"),
            stage: "cut",
            verdict: "below the cut".to_owned(),
            trace: vec![TraceStep { rank: None, score: None, ..step }],
        }),
    }
}

/// An answer with as little as possible.
fn empty() -> Ranking {
    Ranking {
        relation: None,
        embedder: None,
        expansion_applied: false,
        rerank_model: None,
        arms: Vec::new(),
        degraded: Vec::new(),
        hits: Vec::new(),
        why_not: None,
        ..full()
    }
}

fn served() -> ServingInfo {
    ServingInfo {
        generation: 3,
        behind: 0,
        cache: CacheUse::Hit,
        timings: vec![StageTime { stage: "words", micros: 12 }],
        request_id: Some("r1".to_owned()),
    }
}

#[test]
fn answers() {
    let served = served();
    check(&Answer::new(&request(Operation::Query), &full(), &served));
    check(&Answer::new(&request(Operation::Search), &empty(), &served));
}

#[test]
fn captures() {
    let software = Software { version: "0.1.0".to_owned(), code: "c0de".to_owned() };
    let policy = CapturePolicy {
        scrubber: Some(Scrubber::default()),
        identity: None,
        synthetic: true,
        software,
    };
    let schema = of_body::<CaptureRow<'_>>();
    for (operation, ranking) in [(Operation::Query, full()), (Operation::Search, empty())] {
        let caller = Caller { remote: true, job_id: Some(7), subagent_id: None };
        let observed =
            ObservedAnswer::new(&request(operation), caller, &ranking, ("store", &served()), 1.5);
        let fields = policy.row(policy.scrub(observed), Some(&ranking));
        assert!(!fields.extra.contains("ada@example.com"), "{}", fields.extra);
        let mut bare = fields.clone();
        bare.extra = "{}".to_owned();
        for fields in [fields, bare] {
            let mut line = Vec::new();
            let at = Timestamp::UNIX_EPOCH;
            write_line(&StoredCapture { id: 1, created_at: at, fields }, &mut line);
            assert_conforms(schema.as_value(), &serde_json::from_slice(&line).unwrap());
        }
    }
}

#[test]
fn pages() {
    let text = "---\ntitle: Ada\ntags: [ops]\naliases: [Countess]\ndate: 2026-01-01\nowned_by: team\n\
                takes:\n  - { claim: plans berths, kind: fact, weight: 0.9, since: 2026-01-01 }\n---\n\
                # Ada\n\nAda works at [[companies/quayspark]].\n";
    for (slug, content) in [("people/ada", text), ("plain", "x")] {
        let input =
            PageInput { key: key(slug), file_name: None, content, format: PageFormat::Markdown };
        let (id, generation) = (PageId(1), Generation(2));
        let page = parse(input).unwrap();
        assert_eq!(page.takes.len() + page.links.len() > 1, slug == "people/ada");
        check(&PageBody::new(&StoredPage { id, version: 1, generation, page }));
    }
}

fn compared(line: usize, captured: &str, current: &str, ms: Option<f64>) -> ReplayedRow {
    let pages = |letters: &str| letters.chars().map(|c| format!("wiki::{c}")).collect();
    let sides = RankingPair { captured: pages(captured), current: pages(current) };
    let differences = FactorDifferences {
        code: FactorDifference::Differs,
        settings: FactorDifference::Same,
        corpus: FactorDifference::Unknown,
        model: FactorDifference::Same,
    };
    let mut compared = compare_row(sides, (ms, 9.0), vec![Caveat::CutAtCaptured], differences);
    if captured != current {
        compared.blame = Some(Blame::Corpus);
        let text = |text: &str| text.to_owned();
        compared.lost.push(LostPage { page: text("a"), stage: text("cut"), why: text("low") });
    }
    row(line, RowOutcome::Compared(Box::new(compared)))
}

fn row(line: usize, outcome: RowOutcome) -> ReplayedRow {
    ReplayedRow {
        line,
        id: (line > 2).then_some(line as i64),
        operation: Operation::Query,
        query: format!("question {line}"),
        query_hash: "h".to_owned(),
        weight: 1,
        outcome,
    }
}

fn rows() -> Vec<ReplayedRow> {
    vec![
        compared(1, "abc", "abc", Some(8.0)),
        compared(2, "abc", "xyz", None),
        compared(3, "", "", None),
        row(4, RowOutcome::Errored("refused".to_owned())),
        row(5, RowOutcome::Skipped(SkipReason::EmptyQuery)),
    ]
}

#[test]
fn replays() {
    for rows in [rows(), Vec::new(), vec![row(1, RowOutcome::Skipped(SkipReason::NoRanking))]] {
        for is_verbose in [true, false] {
            check(&ReplayReport::new(&rows, &summarise(&rows), 10, is_verbose));
        }
    }
}

fn metadata() -> BaselineMetadata {
    let past = PastBaseline {
        label: "older".to_owned(),
        published_at: "2026-04-01T00:00:00.000Z".to_owned(),
        row_count: 1,
        rows_hash: None,
        why: None,
    };
    BaselineMetadata {
        label: "launch".to_owned(),
        published_at: "2026-05-01T00:00:00.000Z".to_owned(),
        source_hash: "5c1f".to_owned(),
        thresholds: BaselineThresholds::default(),
        row_count: 5,
        mean_latency_ms: None,
        rows_hash: Some("9a3e".to_owned()),
        key_id: None,
        rows_hmac: None,
        why: Some("better".to_owned()),
        history: vec![past],
    }
}

fn judged() -> Vec<JudgedResult> {
    let query = |id: &str, top: Option<&str>| JudgedQuery {
        id: id.to_owned(),
        text: Some("who?".to_owned()),
        judgements: vec![Judgement { doc: "wiki::a".to_owned(), grade: 1.0 }],
        expected_top1: top.map(str::to_owned),
        ..JudgedQuery::default()
    };
    let ranked = QueryResult::Ranked(vec!["wiki::b".to_owned()]);
    vec![
        JudgedResult::new(query("q1", Some("wiki::a")), ranked, 3),
        JudgedResult::new(query("q2", None), QueryResult::Errored("timed out".to_owned()), 3),
    ]
}

#[test]
fn gates() {
    let (metadata, provenance) = (metadata(), Provenance::default());
    for rows in [rows(), vec![compared(1, "abc", "abc", Some(8.0))], Vec::new()] {
        for confidence in [None, Some(ConfidenceLevel::new(0.95).unwrap())] {
            let found = regression(&rows, &BaselineThresholds::default(), confidence);
            let of_queries = correctness(
                judged(),
                3,
                &CorrectnessThresholds::default(),
                confidence,
                &JudgedPages::NotKnown,
            );
            let parts = GateParts {
                verdict: found.verdict,
                regression: Some(RegressionParts {
                    path: "b",
                    metadata: &metadata,
                    integrity: BaselineIntegrity::Intact,
                    thresholds: BaselineThresholds::default(),
                    found: &found,
                    rows: &rows,
                }),
                correctness: Some(CorrectnessParts {
                    path: "q",
                    thresholds: CorrectnessThresholds::default(),
                    pipeline: "fixed",
                    found: &of_queries,
                }),
                confidence,
                provenance: Some(&provenance),
                elapsed_ms: 1.0,
            };
            check(&GateReport::new(&parts));
            let none = GateParts {
                regression: None,
                correctness: None,
                provenance: None,
                verdict: Verdict::Inconclusive,
                ..parts
            };
            check(&GateReport::new(&none));
        }
    }
}

#[test]
fn scores_and_comparisons() {
    let qrels = Qrels::parse(b"1 0 a 1\n2 0 b 1\n").unwrap();
    for run in ["1 Q0 a 1 1 t\n3 Q0 x 1 1 t\n", "9 Q0 x 1 1 t\n"] {
        let run = Run::parse(run.as_bytes()).unwrap();
        for missing in [MissingQueries::Zero, MissingQueries::Skip] {
            let measures = Measure::parse_list("P@1 RR nDCG@10").unwrap();
            let evaluation = evaluate(&qrels, &run, &measures, missing);
            let mut score = ScoreReport::of(&evaluation, &qrels, &run, PerQuery::Show);
            check(&score);
            score.segments = Some(Segments::of(&evaluation, &qrels, SegmentBy::Source));
            check(&score);
        }
    }
    let side = |name: &str, value: f64| ResultTable {
        name: name.to_owned(),
        kind: EvalResultKind::Scores,
        conditions: Vec::new(),
        notes: vec!["a note".to_owned()],
        columns: vec![MeasureColumn { measure: "RR".to_owned(), role: MeasureRole::Quality }],
        rows: (0..3)
            .map(|n| ResultRow {
                key: format!("q{n}{}", if n == 2 { name } else { "" }),
                label: "who?".to_owned(),
                against: None,
                is_answered: true,
                values: vec![(n < 1).then_some(value)],
            })
            .collect(),
    };
    let forced = CompareOptions { is_forced: true, ..CompareOptions::default() };
    let compared = compare_results(&side("a", 1.0), &[side("b", 0.0)], &forced).unwrap();
    check(&CompareReport::new(&compared));
}

#[test]
fn rows_of_runs_and_qrels() {
    for row in [
        json!({ "query_id": "q", "retrieved": [{ "slug": "a" }] }),
        json!({ "query_id": "q", "retrieved": [{ "source_id": "w", "slug": "a", "score": 0.5 }] }),
    ] {
        assert_conforms(of_input::<RunRow>().as_value(), &row);
        check(&serde_json::from_value::<RunRow>(row).unwrap());
    }
    let demo = include_str!("../../../cli/demo/qrels.json");
    let schema = of_input::<QrelsFile>();
    assert_conforms(schema.as_value(), &serde_json::from_str(demo).unwrap());
    let other = json!({ "schema_version": 2, "queries": [{ "query": "who?" }] });
    assert!(conforms(schema.as_value(), &other).is_err());
}

#[test]
fn baselines_selftests_and_findings() {
    check(&PublishBody::new(
        "b.ndjson",
        &PublishedBaseline {
            text: String::new(),
            metadata: metadata(),
            weight_total: 9,
            refused: vec![RefusedRow { line: 2, reason: "empty query" }],
            real: Vec::new(),
        },
    ));
    check(&BaselineLog::new(metadata()));
    let mutant = |killed| MutantRow { mutant: "shuffle", killed, note: "seen" };
    check(&SelftestBody::new(Verdict::Pass, vec![mutant(Some(true)), mutant(None)]));
    check(&SelftestBody::new(Verdict::Pass, Vec::new()));
    check(&DoctorBody::new(&[DoctorCheck::warn("disk", "little room").detail("bytes", 3)]));
}

#[test]
fn faults() {
    for kind in FaultKind::ALL {
        check(&Fault::new(*kind, "because").hint("try again").wire_body());
    }
    let mut other = Fault::usage("because").to_json();
    other["error"]["kind"] = json!("fate");
    assert!(conforms(of_body::<FaultBody>().as_value(), &other).is_err());
}

/// The reader refuses what the schema of a question refuses, and accepts what it allows.
#[test]
fn questions() {
    let schema = of_input::<AskBody>();
    let ask = |body: &Value| {
        let body: AskBody = serde_json::from_value(body.clone()).map_err(|e| e.to_string())?;
        let now = Timestamp::UNIX_EPOCH;
        body.request(Operation::Query, Settings::default(), Viewer::Untrusted, now)
            .map_err(|fault| fault.message)
    };
    let good = [
        json!({ "query": "a" }),
        json!({ "query": "a", "limit": 1000, "detail": "low", "retrieval_mode": "graph" }),
        json!({ "query": "a", "limit": null, "detail": null, "now": null, "explain": null }),
        json!({ "query": "a", "sources": ["w"], "job_id": 0, "subagent_id": 9007199254740991_i64 }),
        json!({ "query": "a", "since": "2026-02-28", "now": "2026-03-01T12:00:00+01:00" }),
    ];
    let bad = [
        json!({}),
        json!({ "query": "" }),
        json!({ "query": null }),
        json!({ "query": "a", "limit": 0 }),
        json!({ "query": "a", "limit": 1001 }),
        json!({ "query": "a", "limit": "3" }),
        json!({ "query": "a", "detail": "huge" }),
        json!({ "query": "a", "retrieval_mode": "all" }),
        json!({ "query": "a", "sources": null }),
        json!({ "query": "a", "tags": vec!["t"; 101] }),
        json!({ "query": "a", "job_id": -1 }),
        json!({ "query": "a", "subagent_id": 9007199254740992_i64 }),
        json!({ "query": "a", "colour": "red" }),
    ];
    for body in good {
        assert_conforms(schema.as_value(), &body);
        ask(&body).unwrap();
        check(&serde_json::from_value::<AskBody>(body).unwrap());
    }
    for body in bad {
        assert!(conforms(schema.as_value(), &body).is_err(), "{body}");
        assert!(ask(&body).is_err(), "{body}");
    }
}
