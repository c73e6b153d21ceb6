//! A fault of each class in the local brain, on both stores.

use fastrand::Rng;
use gbrain_bench::campaign::triage::vectors;
use gbrain_testkit::providers::Fault;

use super::*;
use crate::models::Provided;

/// The one class of a run, with the cases that are of it.
#[track_caller]
fn check(ran: &Ran, body: &Value, class: &str, ids: &[&str]) {
    assert_eq!(ran.code, Some(1), "{body:#}");
    assert_eq!(body["class"], class, "{body:#}");
    assert_eq!(cases(body, class), ids, "{body:#}");
    let finding = &body["findings"][0];
    let case = &finding["cases"][0];
    assert!(!case["because"].as_array().unwrap().is_empty(), "{body:#}");
    assert!(!finding["commands"].as_array().unwrap().is_empty(), "{body:#}");
}

#[test]
fn passing_runs_have_nothing_to_triage() {
    for home in Home::both() {
        brain(&home);
        let (ran, body) = triaged(&home, &[]);
        assert_eq!((ran.code, &body["class"]), (Some(0), &Value::Null), "{body:#}");
        let text = home.run(&["triage", "1"]);
        assert!(text.stdout.starts_with("nothing to triage"), "{}", text.stdout);
    }
}

#[test]
fn pages_that_are_gone_hidden_or_replaced_are_a_pipeline_bug() {
    for home in Home::both() {
        brain(&home);
        home.ok(&["delete", "notes/n1"]);
        let (ran, body) = triaged(&home, &[]);
        check(&ran, &body, "pipeline_bug", &["harbour"]);
        assert_eq!(body["findings"][0]["cases"][0]["evidence"]["presence"], "superseded");
        let commands = body["findings"][0]["commands"].to_string();
        assert!(commands.contains("restore 'notes/n1'"), "{commands}");
        home.ok(&["restore", "notes/n1"]);
        home.put(
            "notes/n1",
            "---\nvisibility: private\n---\n\nThe pilot lights a lantern in the harbour.",
        );
        let (ran, body) = triaged(&home, &[]);
        check(&ran, &body, "pipeline_bug", &["harbour"]);
        assert_eq!(body["findings"][0]["cases"][0]["evidence"]["presence"], "filtered_out");
        home.put("notes/n1", "Nothing of the kind is said here any more.");
        let (ran, body) = triaged(&home, &[]);
        check(&ran, &body, "pipeline_bug", &["harbour"]);
        let commands = body["findings"][0]["commands"].to_string();
        assert!(commands.contains("history 'notes/n1'"), "{commands}");
    }
}

/// A problem at the time of the run is reported even after it was fixed.
#[test]
fn a_repair_after_the_run_does_not_change_why_it_failed() {
    for home in Home::both() {
        brain(&home);
        home.ok(&["delete", "notes/n1"]);
        run(&home, &["s"]);
        home.ok(&["restore", "notes/n1"]);
        let (ran, body) = triage(&home, &[]);
        check(&ran, &body, "pipeline_bug", &["harbour"]);
        let because = body["findings"][0]["cases"][0]["because"].to_string();
        assert!(because.contains("deleted before the run, and is back since"), "{because}");
        home.put("notes/n1", "Nothing of the kind is said here any more.");
        run(&home, &["s"]);
        home.put("notes/n1", "The pilot lights a lantern in the harbour.");
        let (ran, body) = triage(&home, &[]);
        check(&ran, &body, "pipeline_bug", &["harbour"]);
        home.put(
            "notes/n1",
            "---\nvisibility: private\n---\n\nThe pilot lights a lantern in the harbour.",
        );
        run(&home, &["s"]);
        home.put("notes/n1", "The pilot lights a lantern in the harbour.");
        let (ran, body) = triage(&home, &[]);
        check(&ran, &body, "pipeline_bug", &["harbour"]);
        assert_eq!(body["findings"][0]["cases"][0]["evidence"]["presence"], "filtered_out");
    }
}

/// A page that only links lead to, and that a threshold drops, has not drifted.
#[test]
fn pages_reached_only_by_links_are_dropped_by_the_threshold() {
    for home in Home::both() {
        // Only what says what is asked scores well, and the owner's page does not.
        let provided = Provided::new(home, |_| String::new(), |_| Fault::None);
        let home = &provided.home;
        let own = [
            ("teams/anchor".to_owned(), "---\ntitle: Anchor\n---\n\nRopes and knots.\n".to_owned()),
            (
                "services/tide-clock".to_owned(),
                "---\ntitle: tide clock\ntype: service\nowned_by: teams/anchor\n---\n\nWho owns tide clock.\n"
                    .to_owned(),
            ),
        ];
        let others = (0..12).map(|at| {
            (format!("ledger/l{at}"), format!("Who owns tide clock number {at} of the ledger.\n"))
        });
        import(home, &own.into_iter().chain(others).collect::<Vec<_>>());
        suites(
            home,
            "suites: [{ name: s, type: regression, owners: ['@a'], sample: { total: 1 } }]\n",
        );
        queries(
            home,
            &[json!({
                "id": "owner", "query": "who owns tide clock?", "expected": ["teams/anchor"],
                "family": "ownership", "entities": ["teams/anchor"], "answer_end": "to",
            })],
        );
        provided.run(&["config", "set", "models.rerank", "jina:m"]);
        provided.run(&["config", "set", "search.rerank_threshold", "0.6"]);
        let ran = provided.run(&["suites", "run", "s", "--json"]);
        assert_ne!(ran.code, Some(0), "{}", ran.stdout);
        let ran = provided.run(&["triage", "1", "--json"]);
        let body = ran.json();
        let case = &body["findings"][0]["cases"][0];
        assert_eq!(case["evidence"]["in_graph"], true, "{body:#}");
        check(&ran, &body, "threshold", &["owner"]);
    }
}

#[test]
fn filters_that_a_page_contradicts_are_a_pipeline_bug() {
    let home = Home::sqlite();
    brain(&home);
    let filtered = json!({
        "id": "typed", "query": "apples pears autumn", "expected": ["notes/n4"],
        "filter": { "types": ["recipe"] },
    });
    queries(&home, &[filtered]);
    suites(&home, SUITE_OF_4);
    let (ran, body) = triaged(&home, &[]);
    check(&ran, &body, "pipeline_bug", &["typed"]);
    let because = body["findings"][0]["cases"][0]["because"].to_string();
    assert!(because.contains("its type `note` is not asked for"), "{because}");
}

#[test]
fn rows_of_passages_that_are_gone_are_a_pipeline_bug() {
    for home in Home::both() {
        brain(&home);
        home.execute(
            "DELETE FROM chunks WHERE page_id IN (SELECT page_id FROM pages WHERE slug = 'notes/n2')",
        );
        std::fs::remove_dir_all(home.path().join("index")).unwrap();
        let (ran, body) = triaged(&home, &[]);
        check(&ran, &body, "pipeline_bug", &["bakery"]);
        assert_eq!(body["findings"][0]["cases"][0]["evidence"]["presence"], "chunks_missing");
    }
}

#[test]
fn vectors_that_are_gone_are_drift() {
    for home in Home::both() {
        brain(&home);
        let (ran, body) = triaged(&home, &[]);
        assert_eq!(ran.code, Some(0), "{body:#}");
        let lost = [NOTES[2].1.to_owned()];
        vectors::drop_rows(home.path(), &lost, &mut Rng::with_seed(1)).unwrap();
        let (ran, body) = triaged(&home, &[]);
        check(&ran, &body, "embedding_drift", &["meaning"]);
        assert_eq!(body["findings"][0]["cases"][0]["evidence"]["presence"], "vectors_missing");
        // The suggested commands fix it.
        home.ok(&["reindex"]);
        assert_eq!(triaged(&home, &[]).0.code, Some(0));
    }
}

#[test]
fn rivals_are_ranking() {
    for home in Home::both() {
        brain(&home);
        let copies = (0..30).map(|at| {
            let own = format!("amber{at} birch{at} cedar{at} delta{at}");
            (format!("copies/c{at}"), format!("Physician automobile vessel. {own}."))
        });
        import(&home, &copies.collect::<Vec<_>>());
        let (ran, body) = triaged(&home, &[]);
        check(&ran, &body, "ranking", &["meaning"]);
        let evidence = &body["findings"][0]["cases"][0]["evidence"];
        let had = (&evidence["in_words"], &evidence["in_vectors"]);
        assert_eq!((&evidence["presence"], had), (&json!("whole"), (&json!(false), &json!(true))));
        assert!(evidence["deeper_rank"].as_u64().unwrap() > 10, "{evidence}");
    }
}

#[test]
fn a_threshold_that_drops_relevant_pages_is_found_by_its_scores() {
    for home in Home::both() {
        let provided = Provided::new(home, |_| String::new(), |_| Fault::None);
        let home = &provided.home;
        brain(home);
        home.put("notes/n5", "A lantern harbour physician, and a harbour pilot.");
        let rival = json!({ "id": "rival", "query": "lantern harbour physician vessel", "expected": ["notes/n1"] });
        queries(home, &[rival]);
        suites(home, SUITE_OF_4);
        provided.run(&["config", "set", "models.rerank", "jina:m"]);
        provided.run(&["config", "set", "search.rerank_threshold", "0.6"]);
        provided.run(&["suites", "run", "s", "--json"]).exits(1);
        let ran = provided.run(&["triage", "1", "--json"]);
        let body = ran.json();
        assert_eq!((ran.code, &body["class"]), (Some(1), &json!("threshold")), "{body:#}");
        assert!(cases(&body, "threshold").contains(&"rival".to_owned()), "{body:#}");
        // A threshold that no result reaches shows all results, and is classified as `threshold` too.
        assert!(cases(&body, "threshold").contains(&"meaning".to_owned()), "{body:#}");
    }
}

#[test]
fn a_model_that_is_down_is_infrastructure() {
    let provided = Provided::new(Home::sqlite(), |_| String::new(), |_| Fault::Status(503, None));
    let home = &provided.home;
    brain(home);
    provided.run(&["config", "set", "models.rerank", "jina:m"]);
    let run = provided.run(&["suites", "run", "s", "--json"]);
    assert_eq!(run.code, Some(2), "degraded is no pass: {}", run.stdout);
    let ran = provided.run(&["triage", "1", "--json"]);
    let body = ran.json();
    check(&ran, &body, "infrastructure", &["bakery", "harbour", "meaning"]);
}
