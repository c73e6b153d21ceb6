//! All kinds of suites from one set of queries, on both stores, against everybody who can be asked: the
//! local brain, a vector database that others made, and an API in each of its shapes that now and then
//! goes wrong.

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::Duration;

use gbrain_testkit::providers::Fault as ProviderFault;
use gbrain_testkit::retrieval::{Fault, Hit, Question, Reply, RetrievalServer, Stages};
use serde_json::json;

use super::chroma::Chroma;
use super::*;
use crate::models::Provided;
use crate::support::assert_fields;

const SOURCES: [&str; 4] = ["github", "slack", "notion", "linear"];

/// The documents with their queries; six of each source, in turn.
const WORLD: [(&str, &str); 24] = [
    ("The deploy script retries a failed rollout twice.", "deploy script retries rollout"),
    ("Lanterns on the east quay are checked on Mondays.", "when are the quay lanterns checked"),
    ("The invoice parser drops negative totals.", "invoice parser negative totals"),
    ("Ferry tickets are refunded within nine days.", "refund of ferry tickets"),
    ("Winter tyres are stored in the north barn.", "where are the winter tyres stored"),
    ("The onboarding guide begins with a tour of the harbour.", "onboarding guide tour"),
    ("A memory leak in the tile cache was fixed in spring.", "tile cache memory leak"),
    ("The espresso machine is descaled every quarter.", "descaling the espresso machine"),
    (
        "Passwords rotate after ninety days for contractors.",
        "rotation of passwords for contractors",
    ),
    ("The tide table is imported from the weather office.", "import of the tide table"),
    ("Crane operators need a licence of class C.", "licence for crane operators"),
    ("The search index is rebuilt on the first of a month.", "search index rebuilt month"),
    ("Parcel weights are rounded up to a full kilogram.", "rounding of parcel weights"),
    ("The chess club meets in the canteen on Thursdays.", "chess club canteen"),
    ("Backups are copied to the island vault at night.", "backups island vault"),
    ("The payroll export is encrypted with a company key.", "payroll export encrypted key"),
    ("Seagulls have damaged the antenna on the roof.", "antenna damaged by seagulls"),
    ("The quota of the map service was raised in June.", "map service quota"),
    ("Visitors sign in with the porter at gate two.", "visitors sign in porter gate"),
    ("The billing cron job runs in Lisbon time.", "billing cron job timezone Lisbon"),
    ("Old laptops are donated to the village school.", "donating old laptops school"),
    ("The fog horn test lasts eleven minutes.", "fog horn test duration"),
    ("Release notes are written by the on-call engineer.", "who writes the release notes"),
    ("The bakery delivers bread before six o'clock.", "bakery bread delivery"),
];

/// Services with who owns them and what they need, as pages and as edges.
const SERVICES: [(&str, &str, &str); 3] = [
    ("tide-clock", "teams/anchor", "services/star-map"),
    ("star-map", "teams/compass", "services/salt-log"),
    ("salt-log", "teams/anchor", "services/rope-store"),
];

fn slug(at: usize) -> String {
    format!("docs/d{at:02}")
}

/// The source of a document.
fn source(at: usize) -> &'static str {
    SOURCES[at / 6]
}

fn service(name: &str) -> String {
    format!("services/{name}")
}

fn all_queries() -> Vec<Value> {
    let plain = WORLD.iter().enumerate().map(
        |(at, (_, query))| json!({ "query": query, "source": source(at), "expected": [slug(at)] }),
    );
    let owners = SERVICES.iter().map(|(name, team, _)| {
        json!({
            "query": format!("who owns {}?", name.replace('-', " ")), "source": "notion", "retrieval_mode": "graph",
            "family": "ownership", "expected": [team], "acceptable": [service(name)], "entities": [team],
            "answer_end": "to",
        })
    });
    let needed = SERVICES.iter().map(|(name, _, needs)| {
        let needed = needs.trim_start_matches("services/").replace('-', " ");
        json!({
            "query": format!("what depends on {needed}?"), "source": "notion", "retrieval_mode": "graph",
            "family": "dependencies", "expected": [service(name)], "entities": [service(name)],
            "answer_end": "from",
        })
    });
    plain.chain(owners).chain(needed).collect()
}

/// A home with a reranker and a threshold in force, made of thirty pairs. The reranker is named only where it
/// is meant to judge: `ranked` names it.
fn calibrated(home: Home) -> Provided {
    let provided = Provided::new(home, |_| String::new(), |_| ProviderFault::None);
    let words = ["alpha", "beta", "gamma", "delta"];
    let pair = |at: usize| {
        let (query, text) = (format!("{} pair {at}", words.join(" ")), words[..=at % 4].join(" "));
        let pair = json!({ "query": query, "document": format!("p{at}"), "chunk": format!("p{at}#0"), "text": text, "label": "borderline" });
        format!("{pair}\n")
    };
    let path = provided.home.write("pairs.jsonl", (0..30).map(pair).collect::<String>());
    ranked(&provided, || {
        for args in [
            &["calibrate", "collect", "--from", &path][..],
            &["calibrate", "score"],
            &["calibrate", "deploy", "--force", "nobody knows these pages"],
        ] {
            let ran = provided.run(args);
            assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
        }
    });
    provided
}

fn ranked(provided: &Provided, work: impl FnOnce()) {
    provided.home.ok(&["config", "set", "models.rerank", "jina:m"]);
    work();
    provided.home.ok(&["config", "unset", "models.rerank"]);
}

/// The six kinds, all against one target.
fn staged(home: &Home, target: &Value, is_local: bool) {
    let name = if is_local { "local" } else { "prod" };
    let targets = if is_local { json!({}) } else { json!({ "prod": target }) };
    let suite = |(name_of, kind, sample): (&str, &str, Value)| {
        let mut suite = json!({ "name": name_of, "type": kind, "target": name, "owners": ["@a"], "concurrency": 4 });
        if !sample.is_null() {
            suite["sample"] = sample;
        }
        suite
    };
    // There are fewer queries than the playbook asks for: those suites say so.
    let all = [
        ("smoke", "smoke", Value::Null),
        ("post-ingest-regression", "regression", Value::Null),
        ("weekly", "weekly_benchmark", json!({ "total": WORLD.len() + 2 * SERVICES.len() })),
        ("sources", "source_specific", json!({ "per_source": 6 })),
        ("links", "graph_qa", json!({ "total": 2 * SERVICES.len() })),
        ("calibration", "rerank_calibration", Value::Null),
    ];
    let file = json!({
        "targets": targets,
        "thresholds": { "all": { "latency_p95_ms": { "target": 60000, "alert": 60000 } } },
        "suites": all.map(suite),
    });
    home.write("suites.yaml", file.to_string());
}

/// Runs all of them; what only a target with links can do fails without.
fn every_kind(provided: &Provided, who: &str, has_links: bool) {
    let home = &provided.home;
    let planned = WORLD.len() + 2 * SERVICES.len();
    let check = |name: &str, planned: usize| {
        let (ran, body) = run(home, &[name]);
        assert_eq!(ran.code, Some(0), "{who} {name}: {body:#}");
        assert_fields(&body, &json!({ "verdict": "pass", "planned": planned }));
        assert_eq!(measure(&body, "recall@5")["status"], "ok", "{who} {name}");
    };
    // Ten of the twelve of one source.
    check("smoke", planned - 2);
    check("post-ingest-regression", 25);
    check("weekly", planned);
    check("sources", WORLD.len());
    let (ran, body) = run(home, &["links"]);
    assert_eq!(body["planned"], 6, "{who}");
    assert_eq!(measure(&body, "graph_answer")["hits"], 6, "{who}: {body:#}");
    let (code, present) = if has_links { (0, "ok") } else { (1, "alert") };
    assert_eq!(measure(&body, "rationale_present")["status"], present, "{who}: {body:#}");
    assert_eq!(ran.code, Some(code), "{who}: {body:#}");
    ranked(provided, || {
        let (ran, body) = run_by(&|args| provided.run(args), &["calibration"]);
        assert_eq!(ran.code, Some(0), "{who}: {body:#}");
        let relevance = measure(&body, "rerank_relevance");
        assert_eq!((&relevance["n"], &relevance["status"]), (&json!(30), &json!("ok")), "{who}");
    });
}

/// The text of a page reached only by links: a reranker reads texts, not links.
fn about(page: &str) -> String {
    let owned = SERVICES.iter().filter(|(_, team, _)| *team == page);
    let names: Vec<String> = owned.map(|(name, _, _)| name.replace('-', " ")).collect();
    format!("Who owns {}: this one.", names.join(" and "))
}

#[test]
fn against_the_local_brain() {
    for home in Home::both() {
        for source in SOURCES {
            home.ok(&["sources", "add", source]);
        }
        for (at, (text, _)) in WORLD.iter().enumerate() {
            let dir = home.path().join("notes").join(source(at)).join("docs");
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(dir.join(format!("d{at:02}.md")), format!("{text}\n")).unwrap();
        }
        let notes = home.path().join("notes/notion");
        for (name, team, needs) in SERVICES {
            let title = name.replace('-', " ");
            let needed = needs.trim_start_matches("services/").replace('-', " ");
            let text = format!(
                "---\ntitle: {title}\ntype: service\nowned_by: {team}\ndepends_on: {needs}\n---\n\nIt depends on {needed}.\n"
            );
            std::fs::create_dir_all(notes.join("services")).unwrap();
            std::fs::write(notes.join(format!("services/{name}.md")), text).unwrap();
        }
        for page in ["services/rope-store", "teams/anchor", "teams/compass"] {
            std::fs::create_dir_all(notes.join("teams")).unwrap();
            let title = page.rsplit('/').next().unwrap().replace('-', " ");
            std::fs::write(
                notes.join(format!("{page}.md")),
                format!("---\ntitle: {title}\n---\n\n{}\n", about(page)),
            )
            .unwrap();
        }
        for source in SOURCES {
            let dir = home.path().join("notes").join(source);
            home.ok(&["import", dir.to_str().unwrap(), "--source", source, "-q"]);
        }
        queries(&home, &all_queries());
        staged(&home, &json!({}), true);
        every_kind(&calibrated(home), "local", true);
    }
}

#[test]
fn against_a_vector_database_of_others() {
    for home in Home::both() {
        let mut documents: Vec<(String, &str, String)> = WORLD
            .iter()
            .enumerate()
            .map(|(at, (text, _))| (slug(at), source(at), (*text).to_owned()))
            .collect();
        for (name, team, needs) in SERVICES {
            let title = name.replace('-', " ");
            let needs = needs.trim_start_matches("services/").replace('-', " ");
            documents.push((service(name), "notion", format!("{title} depends on {needs}")));
            documents.push((team.to_owned(), "notion", format!("{title} is owned by {team}")));
        }
        documents.sort();
        documents.dedup_by(|a, b| a.0 == b.0);
        let borrowed: Vec<(String, &str, &str)> = documents
            .iter()
            .map(|(id, source, text)| (id.clone(), *source, text.as_str()))
            .collect();
        let chroma = Chroma::with(&home, &borrowed);
        queries(&home, &all_queries());
        staged(&home, &chroma.settings(), false);
        every_kind(&calibrated(home), "chroma", false);
    }
}

/// The response of a perfect API, with edges.
fn perfect(question: &Question) -> Reply {
    let wanted = all_queries().into_iter().find(|query| query["query"] == question.text.as_str());
    let wanted = wanted.unwrap_or_else(|| panic!("{:?} is no query", question.text));
    let first = wanted["expected"][0].as_str().unwrap().to_owned();
    let others = (1..question.k).map(|at| Hit::new(format!("other-{at}"), 0.5 / at as f64));
    let edge = |(name, team, needs): &(&str, &str, &str)| {
        let depends =
            json!({ "type": "DEPENDS_ON", "from": service(name), "to": needs, "confidence": 0.9 });
        let owned =
            json!({ "type": "OWNED_BY", "from": service(name), "to": team, "confidence": 0.9 });
        match wanted["family"].as_str() {
            Some("ownership") if *team == first => Some(owned),
            Some("dependencies") if service(name) == first => Some(depends),
            _ => None,
        }
    };
    let edges: Vec<Value> = SERVICES.iter().filter_map(edge).take(1).collect();
    let graph = json!({ "entities": [], "edges": edges, "evidenceChunks": ["c1"] });
    let is_about_links = wanted["family"].is_string();
    Reply {
        hits: [Hit::new(first, 0.9)].into_iter().chain(others).collect(),
        stages: Stages {
            dense: 40.0,
            rerank: 30.0,
            hydration: 20.0,
            total: 120.0,
            ..Stages::default()
        },
        graph: is_about_links.then_some(graph),
        mode: Some(if is_about_links { "graph" } else { "knowledge" }.to_owned()),
        ..Reply::default()
    }
}

/// One request in eight fails temporarily: a retry is answered.
fn faults() -> impl Fn(&Question) -> Fault {
    let failed = Mutex::new(HashSet::new());
    move |question| {
        let fault = match question.number % 40 {
            3 | 23 => Fault::Status(500, None),
            7 | 31 => Fault::Status(429, Some(0)),
            11 => Fault::Hang(Duration::from_millis(1500)),
            _ => Fault::None,
        };
        let mut failed = failed.lock().unwrap();
        if failed.remove(&question.text) || fault == Fault::None {
            return Fault::None;
        }
        failed.insert(question.text.clone());
        fault
    }
}

#[test]
fn against_an_api_in_each_of_its_shapes_with_faults() {
    for home in Home::both() {
        queries(&home, &all_queries());
        let provided = calibrated(home);
        for api in ["lightfast-internal", "lightfast-v1", "lightfast-2026"] {
            let server = RetrievalServer::start(perfect, faults()).unwrap();
            let target =
                json!({ "kind": "http", "api": api, "url": server.url(), "timeout_seconds": 1 });
            staged(&provided.home, &target, false);
            every_kind(&provided, api, api == "lightfast-v1");
            let asked = 2 * (WORLD.len() + 2 * SERVICES.len()) as u64;
            assert!(server.requests() > asked, "{api}: faults were met");
        }
    }
}
