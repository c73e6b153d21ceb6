//! Scraped metrics, read by an independent parser and by hand.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, UNIX_EPOCH};

use gbrain_core::alert::metrics::{SuiteAlertMetrics, SuiteMetrics};
use gbrain_core::capture::FailureReason;
use gbrain_core::gate::Verdict;
use gbrain_core::id::WorkspaceId;
use gbrain_core::provenance::Software;
use gbrain_core::ranking::DegradedStage;
use gbrain_core::ranking::StageTime;
use gbrain_server::telemetry::metrics::MAX_WORKSPACES;
use gbrain_server::telemetry::{JobCount, MetricReadings, Metrics, RequestOutcome, ScrapeScope};

fn ws(name: &str) -> WorkspaceId {
    WorkspaceId::new(name).unwrap()
}

/// Metrics of two workspaces with something in every family.
pub(crate) fn busy() -> Metrics {
    let software = Software { version: "0.1.0".into(), code: "a\"b\\c\nd".into() };
    let metrics = Metrics::new(software, UNIX_EPOCH + Duration::from_secs(1_700_000_000));
    for (name, times) in [("acme", 3), ("zeta", 5)] {
        let workspace = metrics.workspace(&ws(name));
        for _ in 0..times {
            workspace.request("query", RequestOutcome::Ok, Duration::from_millis(3));
            workspace.served(
                &[
                    StageTime { stage: "plan", micros: 20 },
                    StageTime { stage: "rank", micros: 700 },
                ],
                &[DegradedStage { stage: "rerank", reason: "failed" }],
            );
        }
        workspace.request("get_page", RequestOutcome::Refused, Duration::from_micros(90));
        workspace.captured(times);
        workspace.capture_failed(FailureReason::DbDown, 2);
        workspace.verdict("gate", Verdict::Fail);
        workspace.job("import", "done");
        workspace.run_finished("replay", 40, UNIX_EPOCH + Duration::from_secs(1_800_000_000));
        workspace.run_finished("replay", 7, UNIX_EPOCH + Duration::from_secs(1_600_000_000));
    }
    metrics.refused("queue_full");
    metrics.read_with(|_| MetricReadings {
        connections: 4,
        queue_depth: vec![("reads", 2), ("writes", 0)],
        jobs: ["acme", "zeta"]
            .map(|name| JobCount { workspace: ws(name), state: "queued", count: 6 })
            .to_vec(),
        spans_dropped: 9,
        suites: ["acme", "zeta"].map(suites).to_vec(),
    });
    metrics
}

/// The suite and alert metrics of a workspace.
fn suites(workspace: &str) -> SuiteAlertMetrics {
    let measure = serde_json::json!({
        "segment": "source:a \\ \"b\"\n", "measure": "rerank_relevance", "value": 0.7, "n": 30,
        "baseline": 0.8, "status": "alert", "decides": true, "pages": false,
    });
    let suite = SuiteMetrics {
        suite: "weekly".to_owned(),
        verdict: Verdict::Fail,
        at: "2026-11-17T12:00:00Z".parse().unwrap(),
        measures: vec![serde_json::from_value(measure).unwrap()],
    };
    SuiteAlertMetrics {
        workspace: workspace.to_owned(),
        suites: vec![suite],
        queued: 3,
        oldest_queued: 0.25,
        ..SuiteAlertMetrics::default()
    }
}

/// The value of a sample, by its name and labels as written.
fn sample(text: &str, series: &str) -> Option<f64> {
    let value = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    value.map(|value| value.parse().unwrap())
}

#[test]
fn every_family_is_described_once_and_the_text_ends() {
    let text = busy().render(ScrapeScope::All);
    let mut types = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').unwrap();
        assert_eq!(types.insert(name, kind), None, "{name} is described twice");
    }
    assert_eq!(types.len(), 25, "{types:?}");
    assert!(text.ends_with("\n# EOF\n"));
    for line in text.lines().filter_map(|line| line.strip_prefix("# UNIT ")) {
        let (name, unit) = line.split_once(' ').unwrap();
        assert!(name.ends_with(&format!("_{unit}")), "{line}");
    }
}

#[test]
fn counts_are_what_was_counted() {
    let text = busy().render(ScrapeScope::All);
    let expected = [
        (
            "gbrain_request_seconds_count{workspace=\"acme\",operation=\"query\",outcome=\"ok\"}",
            3.0,
        ),
        (
            "gbrain_request_seconds_count{workspace=\"zeta\",operation=\"query\",outcome=\"ok\"}",
            5.0,
        ),
        ("gbrain_stage_seconds_count{workspace=\"zeta\",stage=\"rank\"}", 5.0),
        ("gbrain_stage_seconds_bucket{le=\"0.0005\",workspace=\"zeta\",stage=\"rank\"}", 0.0),
        ("gbrain_stage_seconds_bucket{le=\"0.001\",workspace=\"zeta\",stage=\"rank\"}", 5.0),
        ("gbrain_stage_seconds_bucket{le=\"+Inf\",workspace=\"zeta\",stage=\"rank\"}", 5.0),
        ("gbrain_degraded_total{workspace=\"acme\",stage=\"rerank\",reason=\"failed\"}", 3.0),
        ("gbrain_captures_total{workspace=\"acme\"}", 3.0),
        ("gbrain_capture_failures_total{workspace=\"acme\",reason=\"db_down\"}", 2.0),
        ("gbrain_capture_failures_total{workspace=\"acme\",reason=\"rls_reject\"}", 0.0),
        ("gbrain_verdicts_total{workspace=\"acme\",kind=\"gate\",verdict=\"fail\"}", 1.0),
        ("gbrain_jobs_total{workspace=\"acme\",kind=\"import\",state=\"done\"}", 1.0),
        ("gbrain_run_last_timestamp_seconds{workspace=\"acme\",kind=\"replay\"}", 1.8e9),
        ("gbrain_run_rows{workspace=\"acme\",kind=\"replay\"}", 40.0),
        ("gbrain_refused_total{reason=\"queue_full\"}", 1.0),
        ("gbrain_queue_depth{lane=\"reads\"}", 2.0),
        ("gbrain_connections", 4.0),
        ("gbrain_jobs_current{workspace=\"acme\",state=\"queued\"}", 6.0),
        ("gbrain_alert_deliveries{workspace=\"acme\",state=\"queued\"}", 3.0),
        ("gbrain_spans_dropped_total", 9.0),
        ("gbrain_start_time_seconds", 1.7e9),
    ];
    for (series, value) in expected {
        assert_eq!(sample(&text, series), Some(value), "{series} in\n{text}");
    }
}

#[test]
fn a_scrape_of_one_workspace_holds_nothing_of_another() {
    let metrics = busy();
    let text = metrics.render(ScrapeScope::One(&ws("acme")));
    assert!(text.contains("workspace=\"acme\""));
    assert!(!text.contains("zeta"), "{text}");
    let all = metrics.render(ScrapeScope::All);
    let of_others = |line: &&str| !line.contains("zeta") && !line.starts_with("gbrain_process");
    let expected: Vec<&str> = all.lines().filter(of_others).collect();
    let shown: Vec<&str> = text.lines().filter(of_others).collect();
    assert_eq!(shown, expected);
    let nobody = metrics.render(ScrapeScope::One(&ws("nobody")));
    assert!(!nobody.contains("workspace="), "{nobody}");
}

#[test]
fn workspaces_beyond_the_bound_have_no_series() {
    let metrics = busy();
    for n in 0..MAX_WORKSPACES + 10 {
        metrics.workspace(&ws(&format!("w{n}"))).captured(1);
    }
    let text = metrics.render(ScrapeScope::All);
    let with_captures = text.lines().filter(|line| line.starts_with("gbrain_captures_total"));
    assert_eq!(with_captures.count(), MAX_WORKSPACES);
}

#[test]
fn counting_and_scraping_at_once_loses_nothing() {
    let metrics = Metrics::new(Software { version: "1".into(), code: "c".into() }, UNIX_EPOCH);
    let threads: Vec<_> = (0..4)
        .map(|n| {
            let metrics = metrics.clone();
            std::thread::spawn(move || {
                let name = ws(["acme", "zeta"][n % 2]);
                for _ in 0..2_000 {
                    metrics.workspace(&name).request("search", RequestOutcome::Ok, Duration::ZERO);
                }
            })
        })
        .collect();
    while threads.iter().any(|thread| !thread.is_finished()) {
        assert!(metrics.render(ScrapeScope::All).ends_with("# EOF\n"));
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let text = metrics.render(ScrapeScope::All);
    let series =
        "gbrain_request_seconds_count{workspace=\"zeta\",operation=\"search\",outcome=\"ok\"}";
    assert_eq!(sample(&text, series), Some(4_000.0));
}

const PARSER: &str = "
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
for family in text_string_to_metric_families(sys.stdin.read()):
    print(family.name, family.type, family.unit or '-', len(family.samples))
    for sample in family.samples:
        if sample.name == 'gbrain_build_info':
            assert sample.labels['code'] == 'a\"b\\\\c\\nd', sample.labels
";

/// The reference parser of OpenMetrics is strict: order, units, suffixes, buckets, the end.
#[test]
fn the_reference_parser_accepts_a_scrape() {
    let Ok(python) = std::env::var("GBRAIN_TEST_PYTHON") else {
        eprintln!("SKIPPED: GBRAIN_TEST_PYTHON names no Python with prometheus_client");
        return;
    };
    let acme = ws("acme");
    for visible in [ScrapeScope::All, ScrapeScope::One(&acme)] {
        let families = parse(&python, &busy().render(visible));
        let shown: BTreeSet<&str> =
            families.lines().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(shown.len(), 25, "{families}");
        assert!(families.contains("gbrain_request_seconds histogram seconds "), "{families}");
        assert!(families.contains("gbrain_process_cpu_seconds counter seconds 1"), "{families}");
        assert!(families.contains("gbrain_build info - 1"), "{families}");
    }
}

fn parse(python: &str, text: &str) -> String {
    let mut child = Command::new(python)
        .args(["-c", PARSER])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{text}");
    String::from_utf8(output.stdout).unwrap()
}
