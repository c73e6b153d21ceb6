use serde_json::json;

use super::*;

fn run(id: i64, verdict: &str) -> Value {
    json!({ "id": id, "verdict": verdict, "trigger": "cron:0 2 * * 0", "target": "local", "ad_hoc": false,
        "finished_at": "2026-11-18T02:00:00.000Z", "inconclusive_reasons": ["too_few"], "planned": 20, "asked": 20,
        "failing": 3, "breaches": ["recall@5 of all 0.700"], "recalibrate": false })
}

fn suite(name: &str, verdict: Option<&str>) -> Value {
    json!({ "name": name, "type": "weekly_benchmark", "workspace": "default", "target": "local", "owners": ["@search"],
        "triggers": ["cron:0 2 * * 0"], "registered": true, "enabled": true,
        "last_run": verdict.map(|verdict| run(7, verdict)), "next_run": "2026-11-22T02:00:00Z" })
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn listed(suites: Vec<Value>, view: ListView<'_>) -> String {
    let days = json!({ "from": "2026-11-17", "to": "2026-11-19", "suites": [{ "suite": "weekly", "days": [
        { "day": "2026-11-17", "verdict": "pass", "run": 6, "runs": 1 },
        { "day": "2026-11-18", "verdict": "fail", "run": 7, "runs": 2 }] }] });
    let page = list(&read(json!({ "suites": suites })), &read(days), view);
    page.header.into_string() + &page.main.into_string() + &page.pager.into_string()
}

#[test]
fn without_suites_the_list_says_how_to_make_one() {
    let html = listed(Vec::new(), ListView::default());
    assert!(
        html.contains("There are no suites") && html.contains("gbrain suites create"),
        "{html}"
    );
}

#[test]
fn a_suite_has_its_verdict_its_schedule_and_its_days() {
    let html = listed(vec![suite("weekly", Some("fail"))], ListView::default());
    for part in [
        "href=\"/suites/weekly\"",
        "href=\"/suite-runs/7\"",
        "3 of 20 cases failing",
        "2026-11-22 02:00",
        "cron:0 2 * * 0",
        "1 passed, 0 inconclusive, 1 failed (last 2026-11-18), 1 without a run",
        "2026-11-18: fail, 2 runs",
        "/suites?state=fail",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
}

#[test]
fn many_suites_are_paged_and_filtered() {
    let many = || {
        (0..120)
            .map(|at| suite(&format!("s{at:03}"), Some(if at % 2 == 0 { "pass" } else { "fail" })))
            .collect()
    };
    let first = listed(many(), ListView::default());
    assert!(
        first.contains("href=\"/suites?after=s049\"") && !first.contains("href=\"/suites/s050\"")
    );
    let last = listed(many(), ListView { after: "s099", state: "" });
    assert!(last.contains("href=\"/suites/s119\"") && !last.contains("rel=\"next\""));
    let failed = listed(many(), ListView { after: "", state: "fail" });
    assert!(
        failed.contains("/suites/s001")
            && !failed.contains("href=\"/suites/s002\"")
            && failed.contains("state=fail&amp;after=")
    );
    assert!(
        listed(many(), ListView { after: "", state: "broken" })
            .contains("No suite is in this state")
    );
}

#[test]
fn hostile_names_are_text() {
    let mut hostile = suite("<script>alert(1)</script>\u{202e}", None);
    hostile["problem"] = json!("<img src=x onerror=alert(1)>");
    hostile["owners"] = json!(["\"><svg onload=x>"]);
    let html = listed(vec![hostile], ListView::default());
    assert!(
        !html.contains("<script") && !html.contains("<img") && !html.contains("<svg onload"),
        "{html}"
    );
    assert!(html.contains("%3Cscript%3E") && html.contains("\\u{202e}"), "{html}");
}

fn one(jobs: Value, may_run: bool) -> Page {
    let shown = json!({ "suite": suite("weekly", Some("fail")), "definition": { "name": "weekly", "target": "local", "seed": 7 },
        "in_file": { "name": "weekly", "target": "prod" }, "jobs": jobs });
    let runs = json!({ "runs": [run(7, "fail"), run(6, "inconclusive")], "next": 6 });
    let points = json!([
        { "run": 6, "at": "2026-11-17T02:00:00.000Z", "verdict": "pass", "value": 0.9, "n": 20, "interval": [0.7, 0.97] },
        { "run": 7, "at": "2026-11-18T02:00:00.000Z", "verdict": "fail", "value": 0.7, "n": 20, "interval": [0.48, 0.85] }]);
    let trends = json!({ "suites": [{ "suite": "weekly", "measures": [{ "measure": "recall@5", "segment": "all",
        "unit": "share", "target": 0.9, "alert": 0.8, "status": "alert", "points": points }] }] });
    show(&read(shown), &read(runs), &read(trends), may_run)
}

#[test]
fn one_suite_has_trends_runs_and_its_difference_from_the_file() {
    let page = one(json!([]), true);
    let html = page.header.into_string() + &page.main.into_string() + &page.pager.into_string();
    for part in [
        "Below its alert threshold: recall@5 of all 0.700",
        "70.0%, between 48.0% and 85.0%, n = 20; ",
        "; alert beyond 80.0%",
        "href=\"/suite-runs/6\"",
        "href=\"/suites/weekly?before=6\"",
        "In the suites file: different",
        "not set",
        "gbrain suites disable weekly",
        "<polyline",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    assert!(!html.contains("In progress"));
}

#[test]
fn runs_are_started_by_those_who_may() {
    assert!(one(json!([]), true).controls.into_string().contains("action=\"/suites/weekly/runs\""));
    assert!(one(json!([]), false).controls.into_string().is_empty());
    let job = json!([{ "id": 9, "state": "running", "done": 3, "total": 20, "created_by": "ci", "created_at": "2026-11-19T01:00:00Z" }]);
    let html = one(job, true).main.into_string();
    assert!(
        html.contains("data-events=\"/live/jobs/9/events\"")
            && html.contains("value=\"3\"")
            && html.contains("max=\"20\""),
        "{html}"
    );
}
