//! Samples that are too small, or smaller than the playbook's, in every report and in alerts.

use gbrain_testkit::retrieval::{Fault, Hit, Question, Reply, RetrievalServer};

use super::*;

/// A server that finds every document but the first so many, all of them by links.
fn serving(misses: usize) -> RetrievalServer {
    let answer = move |question: &Question| {
        let number: usize = question.text.rsplit(' ').next().unwrap().parse().unwrap();
        let found = if number < misses { "other".to_owned() } else { document(number) };
        let edges = json!([{ "type": "OWNED_BY", "from": "a", "to": found, "confidence": 0.9 }]);
        Reply {
            graph: Some(json!({ "entities": [], "edges": edges, "evidenceChunks": ["c1"] })),
            mode: Some("graph".to_owned()),
            hits: vec![Hit::new(found, 0.9)],
            ..Reply::default()
        }
    };
    RetrievalServer::start(answer, |_| Fault::None).unwrap()
}

fn against(home: &Home, url: &str, kind: &str, sample: &str) {
    let text = format!(
        "targets: {{ prod: {{ kind: http, api: lightfast-v1, url: '{url}', attempts: 1 }} }}\n\
         suites: [{{ name: prod, type: {kind}, target: prod, owners: ['@a']{sample} }}]\n"
    );
    suites(home, &text);
}

fn retire(home: &Home, from: usize) {
    let list = home.json(&["queries", "list"]);
    let queries = list["queries"].as_array().unwrap().iter();
    let left = queries.filter(|one| one["id"].as_str().unwrap() >= format!("q{from:03}").as_str());
    let numbers: Vec<String> = left.map(|one| one["number"].to_string()).collect();
    let numbers = numbers.iter().map(String::as_str);
    home.ok(&["queries", "retire"].into_iter().chain(numbers).collect::<Vec<_>>());
}

fn firing(home: &Home) -> Vec<String> {
    let body = home.json(&["alerts", "list"]);
    let alerts = body["alerts"].as_array().unwrap().iter();
    alerts.map(|one| one["key"].as_str().unwrap().to_owned()).collect()
}

/// One of 25 queries, found: no pass, and the alert of the 25 stays.
#[test]
fn a_suite_that_asks_one_of_its_queries_resolves_nothing() {
    for home in Home::both() {
        queries(&home, &numbered(25));
        let [bad, good] = [25, 0].map(serving);
        against(&home, &bad.url(), "regression", "");
        let (ran, body) = run(&home, &["prod"]);
        assert_eq!(ran.code, Some(1), "{body:#}");
        let keys = ["recall@10", "recall@5"].map(|name| format!("gbrain/default/prod/{name}/all"));
        assert_eq!(firing(&home), keys, "one page for all cases and their mode");
        against(&home, &good.url(), "regression", "");
        retire(&home, 1);
        let (ran, body) = run(&home, &["prod"]);
        assert_eq!((ran.code, &body["asked"]), (Some(2), &json!(1)), "{body:#}");
        assert_eq!(body["inconclusive_reasons"], json!(["sample_too_small"]));
        assert_eq!(body["sample"]["required"], 25);
        assert_eq!(body["alerts"]["resolved"], json!([]));
        assert_eq!(firing(&home).len(), 3, "the run could not say, and nothing is over");
        // A sample configured to be small passes, is reported as small, and resolves no alert.
        against(&home, &good.url(), "regression", ", sample: { total: 1 }");
        let (ran, body) = run(&home, &["prod"]);
        assert_eq!((ran.code, &body["verdict"]), (Some(0), &json!("pass")), "{body:#}");
        assert_eq!(body["sample"]["smaller_than_playbook"], true);
        assert_eq!(body["alerts"]["resolved"], json!(["gbrain/default/prod/run"]));
        let open = body["alerts"]["still_open"].as_array().unwrap();
        let reason = open[0]["reason"].as_str().unwrap();
        assert!(open.len() == 2 && reason.contains("asked 1, and 25 were asked"), "{open:#?}");
        let list = home.ok(&["alerts", "list"]);
        assert!(list.contains("stays open") && list.contains("alerts close"), "{list}");
        home.ok(&["alerts", "close", &keys[1], "--reason", "the suite asks one query now"]);
        assert_eq!(firing(&home), [keys[0].clone()]);
    }
}

/// Every report of a suite that asks for less than the playbook says so.
#[test]
fn a_reduced_sample_is_shown_in_every_report() {
    let home = Home::sqlite();
    queries(&home, &numbered(6));
    let server = serving(0);
    against(&home, &server.url(), "regression", ", sample: { total: 6 }");
    let words = "smaller sample: this suite requires 6 queries, the playbook 25";
    let path = |name: &str| home.file(name);
    let (markdown, junit) = (path("r.md"), path("r.xml"));
    let args = ["suites", "run", "prod", "--markdown", &markdown, "--junit", &junit, "--github"];
    let ran = home.run(&args).exits(0);
    let read = |path: &str| std::fs::read_to_string(path).unwrap();
    let warned = ran.stdout.lines().filter(|line| line.starts_with("::warning"));
    let annotations: String = warned.collect();
    let told = [
        ran.stdout.clone(),
        annotations,
        read(&markdown),
        read(&junit),
        home.ok(&["suites", "show", "1"]),
        home.ok(&["suites", "history"]),
        home.ok(&["suites", "list"]),
    ];
    for (at, text) in told.iter().enumerate() {
        assert!(text.contains(words), "{at}: {text}");
    }
}

/// Answers by links in a suite that is not about links give their reasons, because they are asked for them.
#[test]
fn a_weekly_run_asks_for_reasons() {
    let home = Home::sqlite();
    queries(&home, &numbered(6));
    let server = serving(0);
    against(&home, &server.url(), "weekly_benchmark", ", sample: { total: 6 }");
    let (ran, body) = run(&home, &["prod"]);
    assert_eq!(ran.code, Some(0), "{body:#}");
    let present = measure(&body, "rationale_present");
    assert_eq!((&present["hits"], &present["n"]), (&json!(6), &json!(6)), "{body:#}");
    assert_eq!(body["cases"][0]["retrieval_mode"], "graph");
}

/// A target that is down is told as that, in the report and in one alert.
#[test]
fn an_outage_says_that_the_target_is_unreachable() {
    for home in Home::both() {
        queries(&home, &numbered(25));
        against(&home, "http://127.0.0.1:9", "regression", "");
        let ran = home.run(&["suites", "run", "prod"]).exits(1);
        let words = "target prod is unreachable: no answer to any of 25 queries (unreachable: 25)";
        assert!(ran.stdout.contains(words), "{}", ran.stdout);
        assert!(!ran.stdout.contains("0.0%"), "{}", ran.stdout);
        assert_eq!(firing(&home), ["gbrain/default/prod/unreachable"]);
        let shown = home.ok(&["alerts", "show", "gbrain/default/prod/unreachable"]);
        assert!(shown.contains(words) && shown.contains("critical"), "{shown}");
        let server = serving(0);
        against(&home, &server.url(), "regression", "");
        let (ran, body) = run(&home, &["prod"]);
        assert_eq!(ran.code, Some(0), "{body:#}");
        assert_eq!(body["alerts"]["resolved"], json!(["gbrain/default/prod/unreachable"]));
    }
}
