//! The output of commands with `--json` matches the schema of its body, on both stores.

use gbrain_brain::import::ImportSummary;
use gbrain_brain::wire::{
    DeleteBody, HistoryBody, LinksBody, PagesBody, PurgeBody, PutBody, ReindexBody, RestoreBody,
    SourceChanged, SourcesBody, StatsBody, VectorsBody, VerifyBody, WorkspaceChanged,
    WorkspacesBody,
};
use gbrain_core::doctor::DoctorBody;
use gbrain_core::fault::FaultBody;
use gbrain_core::format::Answer;
use gbrain_core::format::ask::AskBody;
use gbrain_core::format::captured::CaptureRow;
use gbrain_core::format::contradiction::{ContradictionReport, ContradictionTrend};
use gbrain_core::format::probe::{ProbeEvent, ProbeHistory, ProbeReport};
use gbrain_core::format::schema::of_body;
use gbrain_core::format::selftest::SelftestBody;
use gbrain_core::page::PageBody;
use gbrain_core::qrels::QrelsFile;
use gbrain_core::report::json::{
    BaselineDiff, BaselineLog, BaselinesVerified, CompareReport, GateReport, PruneBody,
    PublishBody, ReplayReport, ScoreReport,
};
use gbrain_core::run::RunRow;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::conforms::assert_conforms;
use crate::gate::{captured_home, publish};
use crate::support::{Home, demo};

macro_rules! check {
    ($home:expr, $body:ty, $($arg:expr),+) => {
        check(&$home, of_body::<$body>().as_value(), &[$($arg),+])
    };
}

/// Runs a command, whatever its verdict, and holds what it prints to a schema.
#[track_caller]
fn check(home: &Home, schema: &Value, args: &[&str]) -> Value {
    let args: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
    let ran = home.run(&args);
    let body = serde_json::from_str(&ran.stdout)
        .unwrap_or_else(|error| panic!("{args:?}: {error}\n{}", ran.stderr));
    assert_conforms(schema, &body);
    body
}

#[test]
fn bodies_of_pages() {
    for home in Home::both().map(crate::support::demo_home) {
        check!(home, ImportSummary, "import", demo("wiki").to_str().unwrap(), "--source", "wiki");
        let listed = check!(home, PagesBody<'_>, "list", "-n", "3");
        assert!(listed["next_after"].is_string() && listed["pages"].as_array().unwrap().len() == 3);
        check!(home, PagesBody<'_>, "list", "--prefix", "nowhere/");
        let page = listed["pages"][0]["slug"].as_str().unwrap();
        check!(home, PageBody<'_>, "get", page);
        check!(home, LinksBody<'_>, "links", page);
        let file = home.path().join("ada.md");
        std::fs::write(&file, "# Ada\n\nSee [[people/nobody]].\n").unwrap();
        let file = file.to_str().unwrap();
        check!(home, PutBody<'_>, "put", "people/ada", file);
        check!(home, PutBody<'_>, "put", "people/ada", file);
        check!(home, DeleteBody<'_>, "delete", "people/ada", "people/never");
        check!(home, PagesBody<'_>, "list", "--deleted", "--prefix", "people/ada");
        check!(home, RestoreBody<'_>, "restore", "people/ada");
        check!(home, HistoryBody<'_>, "history", "people/ada");
        check!(home, PurgeBody<'_>, "purge", "people/ada", "--yes");
        check!(home, FaultBody, "get", "people/ada");
        check!(home, FaultBody, "restore", "people/ada");
        check!(home, FaultBody, "sources", "remove", "wiki");
    }
}

#[test]
fn bodies_of_brains() {
    for home in Home::both().map(crate::support::demo_home) {
        check!(home, SourceChanged<'_>, "sources", "add", "slack", "--untrusted");
        check!(home, SourcesBody<'_>, "sources", "list");
        check!(home, SourceChanged<'_>, "sources", "remove", "slack");
        check!(home, WorkspaceChanged<'_>, "workspaces", "add", "team");
        check!(home, WorkspacesBody<'_>, "workspaces", "list");
        check!(home, WorkspaceChanged<'_>, "workspaces", "remove", "team", "--yes");
        check!(home, FaultBody, "--workspace", "team", "stats");
        check!(home, StatsBody<'_>, "stats");
        check!(home, ReindexBody, "reindex");
        check!(home, VerifyBody<'_>, "reindex", "--verify");
        check!(home, VectorsBody<'_>, "reembed", "--status");
        check!(home, DoctorBody<'_>, "doctor");
    }
}

#[test]
fn answers() {
    for home in Home::both().map(crate::support::demo_home) {
        for question in ["who owns the berth planner?", "latest on pricing", "zzz", " "] {
            for verb in ["search", "query"] {
                check!(home, Answer<'_>, verb, question);
                check!(home, Answer<'_>, verb, question, "--explain", "--why-not", "people/ada");
            }
        }
        check!(home, Answer<'_>, "query", "berth", "--mode", "graph", "--no-vector");
        check!(home, Answer<'_>, "query", "berth", "--since", "2026-01-01", "--detail", "high");
        check!(home, FaultBody, "query", "berth", "--source", "NOT A SOURCE");
    }
}

#[test]
fn bodies_of_measurements() {
    for home in Home::both().map(captured_home) {
        let baseline = publish(&home);
        let baseline = baseline.to_str().unwrap();
        let exported = home.ok(&["eval", "export", "-q"]);
        assert_eq!(exported.lines().count(), 8);
        for line in exported.lines() {
            let row = serde_json::from_str(line).unwrap();
            assert_conforms(of_body::<CaptureRow<'_>>().as_value(), &row);
        }
        let captured = home.path().join("c.ndjson");
        let captured = captured.to_str().unwrap();
        let again = home.path().join("baselines/again.baseline.ndjson");
        let again = again.to_str().unwrap();
        check!(home, PublishBody<'_>, "bench", "publish", "--from", captured, "--to", again);
        check!(home, BaselinesVerified, "bench", "verify", baseline, captured);
        check!(home, BaselineLog, "bench", "log", baseline);
        check!(home, BaselineDiff<'_>, "bench", "diff", baseline, again);
        check!(home, ReplayReport<'_>, "eval", "replay", "--against", captured);
        let qrels = demo("qrels.json");
        let qrels = qrels.to_str().unwrap();
        let gate = ["eval", "gate", "--baseline", baseline, "--qrels", qrels];
        let report = |name: &str, body: &Value| home.write(name, body.to_string());
        let green = report("green.json", &check(&home, gate_schema(), &gate));
        home.ok(&["config", "set", "search.cut_ratio", "0.95"]);
        let red = report("red.json", &check(&home, gate_schema(), &gate));
        check!(home, CompareReport<'_>, "eval", "compare", &green, &red);
        let selftest: Vec<&str> = gate.iter().copied().chain(["--selftest"]).collect();
        check(&home, of_body::<SelftestBody<'_>>().as_value(), &selftest);
        check!(home, PruneBody, "eval", "prune", "--older-than", "0d", "--failures");
        check!(home, FaultBody, "eval", "gate");
    }
}

fn gate_schema() -> &'static Value {
    static SCHEMA: std::sync::LazyLock<Value> =
        std::sync::LazyLock::new(|| of_body::<GateReport<'_>>().to_value());
    &SCHEMA
}

#[test]
fn scores() {
    let home = Home::sqlite();
    let write = |name: &str, text: &str| home.write(name, text);
    let qrels = write("qrels", "1 0 a 1\n2 0 b 1\n");
    let run = write("run", "1 Q0 a 1 1 t\n3 Q0 x 1 1 t\n");
    check!(home, ScoreReport, "eval", "score", "--qrels", &qrels, "--run", &run, "--per-query");
    check!(home, ScoreReport, "eval", "score", "--qrels", &qrels, "--run", &run);
}

/// In one document, as in an OpenAPI description, no two bodies give one name two meanings: the
/// generator would number the second.
#[test]
fn names_are_unique() {
    let mut generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    macro_rules! add {
        ($($body:ty),+ $(,)?) => { $(generator.subschema_for::<$body>();)+ };
    }
    add!(AskBody, FaultBody, Answer<'_>, CaptureRow<'_>, PageBody<'_>, LinksBody<'_>);
    add!(
        PagesBody<'_>,
        PutBody<'_>,
        RestoreBody<'_>,
        DeleteBody<'_>,
        PurgeBody<'_>,
        HistoryBody<'_>
    );
    add!(SourcesBody<'_>, SourceChanged<'_>, WorkspacesBody<'_>, WorkspaceChanged<'_>);
    add!(StatsBody<'_>, ImportSummary, ReindexBody, VerifyBody<'_>, VectorsBody<'_>, PruneBody);
    add!(ReplayReport<'_>, GateReport<'_>, CompareReport<'_>, ScoreReport, RunRow, QrelsFile);
    add!(PublishBody<'_>, BaselinesVerified, BaselineLog, BaselineDiff<'_>);
    add!(SelftestBody<'_>, DoctorBody<'_>, ContradictionReport, ContradictionTrend);
    add!(ProbeEvent, ProbeReport, ProbeHistory);
    let names: Vec<&String> = generator.definitions().keys().collect();
    assert!(names.len() > 60, "{names:?}");
    let is_odd =
        |name: &&&String| name.ends_with(|c: char| c.is_ascii_digit()) || name.starts_with("Wire");
    assert_eq!(names.iter().find(is_odd), None);
}
