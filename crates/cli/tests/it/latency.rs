//! Latency, compared like with like: the short form of `cargo xtask campaign latency`, and what
//! captures, replays and gates say of times.
//!
//! Nothing here depends on how busy the machine is: an unchanged brain never fails, a slow retriever
//! does.

use gbrain_bench::campaign::latency::{Capturer, Condition, LatencyPlan, measure};
use gbrain_testkit::engine::Engine;
use serde_json::{Value, json};

use crate::gate::{captured_home, publish};
use crate::support::{Home, setup};

#[test]
fn a_slow_retriever_fails_the_gate_and_a_busy_machine_does_not() {
    let plan = LatencyPlan { runs: 1, questions: 8, loops: 4, is_machine_idle: false };
    let report = measure(&setup(Engine::Sqlite, 7), &plan).unwrap();
    assert_eq!(report.violations, Vec::<String>::new(), "{:#?}", report.gates);
    let has = |capturer, condition| {
        let is_it = |gated: &&gbrain_bench::campaign::latency::GateLatency| {
            (gated.capturer, gated.condition) == (capturer, condition)
        };
        report.gates.iter().filter(is_it).count() == 1
    };
    for capturer in [Capturer::Cli, Capturer::Server] {
        assert!(has(capturer, Condition::Unchanged) && has(capturer, Condition::Slowed));
        assert!(has(capturer, Condition::BusyGate) && has(capturer, Condition::BusyCapture));
    }
}

fn rows(path: &std::path::Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn write(home: &Home, name: &str, rows: &[Value]) -> String {
    let path = home.path().join(name);
    let text: String = rows.iter().map(|row| format!("{row}\n")).collect();
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn captures_tell_their_cpu_time_and_replays_compare_it() {
    for home in Home::both().map(captured_home) {
        let baseline = publish(&home);
        let captured = home.path().join("c.ndjson");
        // A machine that is busy beyond measure leaves some rows without.
        let timed = |row: &Value| row["cpu_time"].is_object();
        let measured = rows(&captured).iter().filter(|row| timed(row)).count();
        assert!(measured > 0, "no capture has a CPU time");
        for row in rows(&captured).into_iter().filter(timed) {
            let time = &row["cpu_time"];
            let ms = |name: &str| time[name].as_f64().unwrap();
            assert!(ms("cpu_ms") > 0.0 && ms("calibration_ms") > 0.0, "{row}");
            assert!((1..=5).contains(&time["repeats"].as_u64().unwrap()), "{row}");
            assert_eq!(time["method"], json!("thread_cpu_min_1"));
            assert!(row["latency_ms"].as_f64().unwrap() > 0.0);
        }
        let baseline = baseline.to_str().unwrap();
        let report = home.json(&["eval", "replay", "--against", baseline, "--verbose"]);
        let times = &report["summary"]["latency"]["like_with_like"];
        assert_eq!((&times["clock"], &times["rows_compared"]), (&json!("cpu"), &json!(measured)));
        for row in report["results"].as_array().unwrap() {
            let is_compared = row["latency_ratio"].as_f64().is_some_and(|ratio| ratio > 0.0);
            let is_listed = row["latency_not_compared"] == json!("no_cpu_time");
            assert!(is_compared != is_listed, "{row}");
        }
    }
}

#[test]
fn rows_without_cpu_time_neither_pass_nor_fail() {
    let home = captured_home(Home::sqlite());
    publish(&home);
    let mut rows = rows(&home.path().join("c.ndjson"));
    // As another gbrain writes them: a latency that no replay can match.
    for row in &mut rows {
        row.as_object_mut().unwrap().remove("cpu_time");
        row["latency_ms"] = json!(0.001);
    }
    let from = write(&home, "old.ndjson", &rows);
    let to = home.file("baselines/old.baseline.ndjson");
    home.ok(&["bench", "publish", "--from", &from, "--to", &to]);
    let report = home.run(&["eval", "gate", "--baseline", &to, "--json"]).exits(0).json();
    let check = &report["timing"]["latency"];
    assert_eq!((&check["status"], &check["n"]), (&json!("not_compared"), &json!(0)));
    assert_eq!(check["observed"], Value::Null);
    assert_eq!(report["regression_gate"]["latency_skipped"], json!(true));
    let warned = report["regression_gate"]["warnings"].to_string();
    assert!(warned.contains("latency of 8 rows is not compared"), "{warned}");
    let ran = home.run(&["eval", "gate", "--baseline", &to]);
    assert!(ran.stdout.contains("not compared"), "{}", ran.stdout);
    // The wall clock is still reported.
    let report = home.json(&["eval", "replay", "--against", &to]);
    assert_eq!(report["summary"]["rows_over_2x_latency"], json!(8));
    assert!(report["summary"]["mean_latency_delta_ms"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_capture_that_was_faster_than_anything_fails_the_gate() {
    let home = captured_home(Home::sqlite());
    publish(&home);
    let mut rows = rows(&home.path().join("c.ndjson"));
    for row in &mut rows {
        row["cpu_time"] = json!({
            "cpu_ms": 1e-6, "calibration_ms": 1, "repeats": 1, "method": "thread_cpu_min_1",
        });
    }
    let from = write(&home, "fast.ndjson", &rows);
    let to = home.file("baselines/fast.baseline.ndjson");
    home.ok(&["bench", "publish", "--from", &from, "--to", &to]);
    let report = home.run(&["eval", "gate", "--baseline", &to, "--json"]).exits(1).json();
    assert_eq!(report["regression_gate"]["breaches"][0]["metric"], json!("latency_ratio"));
    // A threshold above it passes.
    let more = ["--threshold-latency-multiplier", "1e12"];
    let gate = ["eval", "gate", "--baseline", &to];
    assert_eq!(home.run(&[&gate[..], &more].concat()).code, Some(0));
}
