//! Answers and their explanations.

use serde_json::Value;

use crate::support::{Home, demo_home, keys};

const NOW: &str = "2026-05-14T12:00:00Z";

#[track_caller]
fn first(home: &Home, args: &[&str], expected: &str) {
    let hits = home.hits(args);
    assert_eq!(hits.first().map(String::as_str), Some(expected), "{args:?}: {hits:?}");
}

/// The first answers as a set, when a question has several.
#[track_caller]
fn among_first(home: &Home, question: &str, expected: &[&str]) {
    let hits = home.hits(&["query", question, "--now", NOW]);
    let top: Vec<&str> = hits.iter().take(expected.len() + 1).map(String::as_str).collect();
    for slug in expected {
        assert!(
            top.contains(&format!("wiki::{slug}").as_str()),
            "{question}: {slug} not in {top:?}"
        );
    }
}

#[test]
fn names_come_first() {
    let home = demo_home(Home::sqlite());
    for verb in ["search", "query"] {
        first(&home, &[verb, "Rukmini Dasgara"], "wiki::people/rukmini-dasgara");
        first(&home, &[verb, "captain pell?"], "wiki::people/pell-hathersage");
        first(&home, &[verb, "Jorunn Aeskeland"], "wiki::people/jorunn-aeskeland");
        first(&home, &[verb, "青岬フェリー"], "wiki::companies/aomisaki-ferry");
        first(&home, &[verb, "HRB-131"], "wiki::tickets/hrb-131");
        first(&home, &[verb, "people/wen-jialu"], "wiki::people/wen-jialu");
        first(&home, &[verb, "wiki::people/wen-jialu"], "wiki::people/wen-jialu");
    }
}

#[test]
fn words_and_chats_are_found() {
    let home = demo_home(Home::sqlite());
    first(
        &home,
        &["search", "why did three plugs not unlock at Wrenmouth"],
        "wiki::incidents/2026-02-27-plug-gateway-freeze",
    );
    first(
        &home,
        &["query", "unit of price, boat locked to a plug by the minute"],
        "wiki::concepts/berth-minute",
    );
    first(
        &home,
        &["query", "Who cannot eat walnuts at the offsite?"],
        "journal::chats/2026-05-13-offsite-planning",
    );
    let seats = home.hits(&["query", "Which seat does Lucan prefer when flying?", "--limit", "2"]);
    assert!(seats.contains(&"journal::chats/2026-05-08-aomisaki-travel".to_owned()), "{seats:?}");
}

#[test]
fn relations_are_answered_through_edges() {
    let home = demo_home(Home::sqlite());
    among_first(&home, "Who owns Tide Router?", &["teams/routing"]);
    among_first(
        &home,
        "What depends on Plug Gateway?",
        &["services/charge-broker", "services/meterhouse", "services/lookout"],
    );
    among_first(
        &home,
        "Who founded Quayspark?",
        &["people/maren-oakshott", "people/tobias-fenwright"],
    );
    among_first(
        &home,
        "Who advises Quayspark?",
        &["people/bettina-crale", "people/ysolde-penrick"],
    );
    among_first(&home, "Who works at Brackwater Lines?", &["people/nadia-tollivane"]);
    among_first(&home, "What is blocked by HRB-118?", &["projects/second-plug"]);
    among_first(
        &home,
        "What resolves the Kittle Island blackout?",
        &["tickets/hrb-147", "projects/storm-drill"],
    );
    among_first(
        &home,
        "Who is a member of the Charging team?",
        &["people/jorunn-aeskeland", "people/kofi-brandreth", "people/wen-jialu"],
    );
    among_first(
        &home,
        "Which projects align with a quarter without a missed departure?",
        &["projects/second-plug", "projects/storm-drill", "projects/ledger-two"],
    );
    among_first(
        &home,
        "Who attended the May board?",
        &[
            "people/maren-oakshott",
            "people/tobias-fenwright",
            "people/anselm-roake",
            "people/odalys-brenn",
            "people/delphine-ashgrove",
            "people/lucan-whitbeck",
        ],
    );
}

#[test]
fn every_edge_of_an_answer_points_at_its_evidence() {
    let home = demo_home(Home::sqlite());
    let answer = home.json(&["query", "Who invested in Quayspark?", "--mode", "graph"]);
    assert_eq!(answer["relation"]["resolved"][0], "wiki::companies/quayspark");
    let mut edges = 0;
    for hit in answer["hits"].as_array().unwrap() {
        assert_eq!(hit["evidence"], "relation");
        for edge in hit["edges"].as_array().unwrap() {
            edges += 1;
            assert_eq!(edge["type"], "invested_in");
            assert_eq!(edge["to"], "wiki::companies/quayspark");
            let page = home.json(&["get", edge["evidence_page"].as_str().unwrap()]);
            let content: Vec<char> = page["content"].as_str().unwrap().chars().collect();
            let range = edge["evidence_start"].as_u64().unwrap() as usize
                ..edge["evidence_end"].as_u64().unwrap() as usize;
            let evidence: String = content[range].iter().collect();
            assert!(!evidence.trim().is_empty());
            if let Some(chunk) = edge["evidence_chunk"].as_str() {
                let ids: Vec<_> = page["chunks"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|c| c["chunk_id"].as_str().unwrap())
                    .collect();
                assert!(ids.contains(&chunk), "{chunk} is no chunk of {ids:?}");
            }
        }
    }
    assert!(edges >= 3, "{edges} edges");
}

#[test]
fn direction_matters() {
    let home = demo_home(Home::sqlite());
    let inbound = home.hits(&["query", "What depends on Plug Gateway?", "--mode", "graph"]);
    let outbound = home.hits(&["query", "What does Plug Gateway depend on?", "--mode", "graph"]);
    assert!(inbound.contains(&"wiki::services/meterhouse".to_owned()), "{inbound:?}");
    assert!(!outbound.contains(&"wiki::services/meterhouse".to_owned()), "{outbound:?}");
}

#[test]
fn filters_hold_in_every_arm() {
    let home = demo_home(Home::sqlite());
    for args in [
        ["--type", "person"],
        ["--source", "journal"],
        ["--since", "2026-05-01"],
        ["--tag", "charging"],
    ] {
        for question in
            ["Quayspark", "Who invested in Quayspark?", "latest board meeting", "HRB-131"]
        {
            let answer = home.json(&["query", question, args[0], args[1], "--limit", "50"]);
            for hit in answer["hits"].as_array().unwrap() {
                let value = match args[0] {
                    "--type" => hit["type"].as_str().unwrap() == args[1],
                    "--source" => hit["source_id"].as_str().unwrap() == args[1],
                    "--since" => hit["effective_date"].as_str().unwrap() >= args[1],
                    _ => home.json(&[
                        "get",
                        &format!(
                            "{}::{}",
                            hit["source_id"].as_str().unwrap(),
                            hit["slug"].as_str().unwrap()
                        ),
                    ])["tags"]
                        .as_array()
                        .unwrap()
                        .contains(&Value::from(args[1])),
                };
                assert!(value, "{args:?} {question}: {hit}");
            }
        }
    }
}

#[test]
fn recency_is_measured_against_now() {
    let home = Home::sqlite();
    home.put("daily/2026-01-10", "# January\n\nstatus of the harbour survey");
    home.put("daily/2026-04-10", "# April\n\nstatus of the harbour survey today");
    let ask = |now: &str| home.hits(&["query", "latest harbour survey", "--now", now]);
    assert_eq!(ask("2026-04-11T00:00:00Z")[0], "default::daily/2026-04-10");
    assert_eq!(ask("2026-04-11T00:00:00Z"), ask("2026-04-11T00:00:00Z"));
}

#[test]
fn an_explanation_covers_every_stage() {
    let home = demo_home(Home::sqlite());
    let answer = home.json(&["query", "Who owns Tide Router?", "--explain", "--now", NOW]);
    let trace = answer["hits"][0]["trace"].as_array().unwrap();
    let stages: Vec<_> = trace.iter().map(|step| step["stage"].as_str().unwrap()).collect();
    assert!(
        stages.contains(&"graph") && stages.contains(&"fuse") && stages.contains(&"boost"),
        "{stages:?}"
    );
    assert!(stages.contains(&"vectors"), "{stages:?}");
    assert_eq!(answer["degraded"].as_array().unwrap().len(), 0);
    let quiet = home.json(&["query", "Who owns Tide Router?", "--no-vector", "--now", NOW]);
    assert_eq!(quiet["degraded"].as_array().unwrap().len(), 0);
    assert!(quiet["hits"][0].get("trace").is_none());
    let timings = answer["served"]["timings_us"].as_object().unwrap();
    for stage in
        ["freshness", "plan", "embed", "words", "vectors", "names", "graph", "rank", "hydrate"]
    {
        assert!(timings.contains_key(stage), "{stage} in {timings:?}");
    }
}

#[test]
fn expansion_without_a_model_is_reported_and_changes_nothing() {
    let home = demo_home(Home::sqlite());
    let ask = |flags: &[&str]| {
        let question = ["query", "night charging of ferries", "--now", NOW];
        home.json(&[&question, flags].concat())
    };
    let plain = ask(&[]);
    assert_eq!(
        (&plain["request"]["expand"], &plain["expansion_applied"]),
        (&false.into(), &false.into())
    );
    assert_eq!((&plain["rerank_model"], &plain["served"]["cache"]), (&Value::Null, &"off".into()));
    let no_key = serde_json::json!([{ "stage": "expansion", "reason": "no_key" }]);
    let check = |flags: &[&str], is_asked: bool| {
        let answer = ask(flags);
        assert_eq!(answer["request"]["expand"], is_asked, "{flags:?}");
        assert_eq!(answer["request"]["variants"], serde_json::json!([]));
        let expected = if is_asked { &no_key } else { &plain["degraded"] };
        assert_eq!(&answer["degraded"], expected, "{flags:?}");
        assert_eq!(answer["hits"], plain["hits"]);
        assert_eq!(answer["expansion_applied"], false);
    };
    check(&["--expand"], true);
    check(&["--expand", "--no-expand"], false);
    check(&["--no-expand", "--expand"], true);
    home.ok(&["config", "set", "search.expand", "1"]);
    check(&[], true);
    check(&["--no-expand"], false);
    check(&["--mode", "knowledge", "--expand"], true);
}

#[test]
fn why_not_names_the_stage() {
    let home = demo_home(Home::sqlite());
    let verdict =
        |args: &[&str]| home.json(args)["why_not"]["verdict"].as_str().unwrap().to_owned();
    assert!(
        verdict(&["query", "charge floor", "--why-not", "nothing/here"]).contains("no such page")
    );
    assert!(
        verdict(&["query", "charge floor", "--why-not", "concepts/charge-floor"])
            .contains("rank 1")
    );
    assert!(
        verdict(&["query", "charge floor", "--why-not", "services/lookout", "--type", "person"])
            .contains("type `service`")
    );
    assert!(
        verdict(&["query", "walnuts", "--why-not", "people/cass-yarrowby"])
            .contains("none of its passages")
    );
    let far = ["query", "walnuts", "--why-not", "people/cass-yarrowby"];
    assert!(verdict(&far).contains("not among the nearest in meaning"));
    let step = &home.json(&far)["why_not"]["trace"][1];
    assert_eq!(step["stage"], "vectors");
    assert!(step["score"].as_f64().unwrap() < 1.0, "{step}");
    assert!(!verdict(&[&far[..], &["--no-vector"]].concat()).contains("in meaning"));
    let beyond =
        verdict(&["query", "Quayspark", "--limit", "1", "--why-not", "people/maren-oakshott"]);
    assert!(beyond.contains("beyond the limit"), "{beyond}");
    assert!(
        verdict(&[
            "search",
            "brambleknot",
            "--untrusted",
            "--why-not",
            "concepts/compensation-notes-2026"
        ])
        .contains("no such page")
    );
}

#[test]
fn query_text_is_only_text() {
    let home = demo_home(Home::sqlite());
    for text in [
        "C++",
        "don't",
        "\"open quote",
        "*",
        "AND OR NOT",
        "title:foo",
        "--",
        "(",
        "\\",
        "a/b:c",
        "🦦",
        "\u{200b}",
        " ",
    ] {
        for verb in ["search", "query"] {
            let ran = home.run(&[verb, "--json", "--", text]);
            assert_eq!(ran.code, Some(0), "{verb} {text:?}: {}", ran.stderr);
        }
    }
    let long = "berth ".repeat(20_000);
    assert_eq!(home.run(&["search", &long, "--json"]).code, Some(0));
}

#[test]
fn highlights_are_the_words_that_matched() {
    let home = demo_home(Home::sqlite());
    let answer = home.json(&["search", "plugs unlocking"]);
    let passage = &answer["hits"][0]["passages"][0];
    let snippet: Vec<char> = passage["snippet"].as_str().unwrap().chars().collect();
    let highlights = passage["highlights"].as_array().unwrap();
    assert!(!highlights.is_empty());
    for span in highlights {
        let word: String = snippet
            [span[0].as_u64().unwrap() as usize..span[1].as_u64().unwrap() as usize]
            .iter()
            .collect();
        let word = word.to_lowercase();
        assert!(word.starts_with("plug") || word.starts_with("unlock"), "{word}");
    }
}

#[test]
fn both_indexes_answer_alike() {
    let home = demo_home(Home::sqlite());
    for question in ["berth planner", "Who owns Tide Router?", "Captain Pell", "latest incident"] {
        let disk = home.json(&["query", question, "--now", NOW]);
        let memory = home.json(&["query", question, "--now", NOW, "--index", "memory"]);
        assert_eq!(disk["hits"], memory["hits"], "{question}");
        assert_eq!(keys(&disk), keys(&memory));
    }
}
