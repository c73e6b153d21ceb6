use serde_json::{Value, json};

use super::*;

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn suite(name: &str, verdict: Option<&str>) -> Value {
    json!({ "name": name, "type": "smoke", "target": "local", "owners": [], "triggers": [], "registered": true, "enabled": true,
        "last_run": verdict.map(|verdict| json!({ "id": 7, "verdict": verdict, "finished_at": "2026-11-18T02:00:00Z", "asked": 20, "failing": 3 })) })
}

fn overview(suites: Vec<Value>, is_empty: bool) -> Overview {
    let points: Vec<Value> = (0..14)
        .map(|at| {
            json!({ "run": at, "at": "2026-11-18T02:00:00.000Z", "verdict": "pass",
        "value": 0.9, "n": 20, "interval": [0.7, 0.97] })
        })
        .collect();
    let trend = |suite: &Value| {
        json!({ "suite": suite["name"], "measures": [{ "measure": "recall@5", "segment": "all", "unit": "share",
        "target": 0.9, "alert": 0.8, "status": "ok", "points": points }] })
    };
    let trends: Vec<Value> = suites.iter().map(trend).collect();
    let some = |value: Value| if is_empty { json!([]) } else { json!([value]) };
    Overview {
        suites: read(json!({ "suites": suites })),
        trends: read(json!({ "suites": trends })),
        status: read(
            json!({ "capture": true, "captures": if is_empty { 0 } else { 12_345 }, "capture_failures_24h": if is_empty { 0 } else { 2 }, "baselines": 1, "labels": 4 }),
        ),
        captures: read(
            json!({ "from": "2026-10-21", "to": "2026-11-19", "days": some(json!({ "day": "2026-11-19", "stored": 31, "failed": 2 })) }),
        ),
        alerts: read(
            json!({ "alerts": some(json!({ "key": "gbrain/default/weekly/run", "state": "firing", "severity": "warning",
            "since": "2026-11-18T02:00:00Z", "summary": "<i>inconclusive</i>", "run": 7, "failing_count": 3 })), "silences": [],
            "deliveries": { "queued": 0, "dead": if is_empty { 0 } else { 1 }, "oldest_queued": null } }),
        ),
        incidents: Some(read(
            json!({ "incidents": some(json!({ "id": 2, "state": "open", "title": "recall fell", "opened_at": "2026-11-18T02:00:00Z", "record": null })) }),
        )),
        probe: read(json!({ "days": 30, "enabled": true, "next_run": null, "runs": [] })),
        runs: read(
            json!({ "jobs": some(json!({ "id": 9, "kind": "gate", "state": "done", "created_by": "ci", "created_at": "2026-11-18T02:00:00Z" })), "next_before": null }),
        ),
        spending: Some(read(
            json!({ "since": "2026-10-20T00:00:00Z", "usd": 1.5, "today_usd": 0.9, "max_usd_per_day": 1.0 }),
        )),
        changes: read(
            json!({ "changes": some(json!({ "page": "wiki::people/ada", "title": "Ada", "version": 2, "change": "changed", "at": "2026-11-18T02:00:00Z" })) }),
        ),
    }
}

fn whole(page: &Page) -> String {
    page.header.clone().into_string() + &page.main.clone().into_string()
}

#[test]
fn an_empty_workspace_gets_first_steps() {
    let html = whole(&page(&overview(Vec::new(), true)));
    for part in [
        "gbrain import DIR",
        "gbrain query",
        "GBRAIN_CONTRIBUTOR_MODE=1",
        "gbrain eval gate",
        "gbrain demo",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
}

#[test]
fn every_number_links_to_its_cases() {
    let html = whole(&page(&overview(
        vec![suite("weekly", Some("fail")), suite("smoke", Some("pass"))],
        false,
    )));
    for part in [
        "Needs attention",
        "1 suite fails, 1 alert fires.",
        "href=\"/suites?state=fail\"",
        "href=\"/suite-runs/7\"",
        "href=\"/suites/weekly\"",
        "href=\"/alerts?key=gbrain%2Fdefault%2Fweekly%2Frun\"",
        "href=\"/incidents/2\"",
        "href=\"/runs/9\"",
        "href=\"/captures\"",
        "12,345",
        "href=\"/spending\"",
        "href=\"/pages/wiki%3A%3Apeople%2Fada\"",
        "1 message</a> could not be delivered.",
        "&lt;i&gt;",
        "<polyline",
        "class=\"limit\"",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    assert!(
        html.find("/suites/weekly").unwrap() < html.find("/suites/smoke").unwrap(),
        "worst first"
    );
}

#[test]
fn readers_without_scope_admin_see_no_spending_and_no_incidents() {
    let data = Overview {
        incidents: None,
        spending: None,
        ..overview(vec![suite("weekly", Some("pass"))], false)
    };
    let html = whole(&page(&data));
    assert!(!html.contains("/spending") && !html.contains("/incidents"), "{html}");
}

#[test]
fn two_hundred_suites_fit_on_a_page() {
    let suites = (0..200).map(|at| {
        suite(
            &format!("suite-with-a-long-name-{at:03}"),
            Some(if at % 9 == 0 { "fail" } else { "pass" }),
        )
    });
    let html = whole(&page(&overview(suites.collect(), false)));
    assert!(html.contains("And 160 more suites") && html.contains("suite-with-a-long-name-199"));
    assert!(html.len() < 200_000, "{}", html.len());
}
