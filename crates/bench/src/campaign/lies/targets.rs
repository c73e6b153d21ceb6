//! Targets that lie: wrong sources, bare names, errors that look like answers, answers of another day.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use fastrand::Rng;
use gbrain_testkit::retrieval::{Fault, Hit, Question, Reply, RetrievalServer};
use serde_json::{Value, json};

use super::baselines::PATIENT;
use super::case::{Allowed, Attempt, Case, Class};
use super::scene::{MIRROR, SOURCE, Scene};

/// How long an honest target may take, on however busy a machine; and one that never answers.
const PATIENCE: f64 = 60.0;
const HASTY: f64 = 0.3;

/// Pages of an answer, as (source, slug).
type Found = Vec<(String, String)>;
/// The target's distortion of the right answer to the question of this number.
type Lie = fn(Found, u64) -> Found;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Naming {
    /// A slug, and the source in a field of its own.
    Fields,
    /// `source::slug` as the id.
    Whole,
    /// The slug alone, and no source anywhere.
    Bare,
    /// The slug alone; the settings say which source it is.
    Mapped,
}

/// One page where ten were captured.
const REPEATED: &str = "the first page ten times";

const LIES: &[(&str, Naming, Lie)] = &[
    ("another source", Naming::Fields, |found, _| of_source(found, MIRROR)),
    ("another source in the id", Naming::Whole, |found, _| of_source(found, MIRROR)),
    ("a source named evil", Naming::Whole, |found, _| of_source(found, "evil")),
    ("evil names and one bare one", Naming::Whole, |found, _| {
        let mut found = of_source(found, "evil");
        found.insert(0, (String::new(), "notes/n00".to_owned()));
        found
    }),
    ("evil names and a bare one last", Naming::Whole, |found, _| {
        let mut found = of_source(found, "evil");
        found.truncate(9);
        found.push((String::new(), "notes/n00".to_owned()));
        found
    }),
    ("bare names without a mapping", Naming::Bare, |found, _| found),
    ("a source in capitals", Naming::Whole, |found, _| of_source(found, "DEFAULT")),
    ("a source with a blank", Naming::Whole, |found, _| of_source(found, "default ")),
    ("a source within a source", Naming::Whole, |found, _| of_source(found, "evil::default")),
    ("nothing, as if that were an answer", Naming::Fields, |_, _| Vec::new()),
    ("nothing to every other question", Naming::Fields, |found, n| {
        if n.is_multiple_of(2) { Vec::new() } else { found }
    }),
    (REPEATED, Naming::Fields, |found, _| {
        found.first().map(|first| vec![first.clone(); 10]).unwrap_or_default()
    }),
    ("everything in reverse", Naming::Fields, |mut found, _| {
        found.reverse();
        found
    }),
    ("the same answer to every question", Naming::Fields, |_, _| {
        (0..10).map(|at| (SOURCE.to_owned(), format!("notes/n{at:02}"))).collect()
    }),
    ("one page that is everywhere", Naming::Fields, |_, _| {
        vec![(SOURCE.to_owned(), "notes/n00".to_owned())]
    }),
    ("slugs in capitals", Naming::Fields, |found, _| renamed(found, |slug| slug.to_uppercase())),
    ("slugs with a blank behind", Naming::Fields, |found, _| {
        renamed(found, |slug| format!("{slug} "))
    }),
    ("slugs with a zero-width space", Naming::Fields, |found, _| {
        renamed(found, |slug| format!("{slug}\u{200b}"))
    }),
    ("slugs percent-encoded", Naming::Fields, |found, _| {
        renamed(found, |slug| slug.replace('/', "%2F"))
    }),
    ("slugs with a letter that looks the same", Naming::Fields, |found, _| {
        renamed(found, |slug| slug.replace('o', "\u{43e}"))
    }),
    ("slugs with a folder in front", Naming::Fields, |found, _| {
        renamed(found, |slug| format!("./{slug}"))
    }),
    ("slugs with an ending", Naming::Fields, |found, _| {
        renamed(found, |slug| format!("{slug}.md"))
    }),
];

const FAULTS: &[(&str, Fault)] = &[
    ("an error with status 200", Fault::WrongShape),
    ("no JSON with status 200", Fault::Garbage),
    ("results without ids", Fault::NullIds),
    ("status 500", Fault::Status(500, None)),
    ("cut off", Fault::Cut),
    ("no answer in time", Fault::Hang(Duration::from_millis(400))),
];

pub fn cases() -> Vec<Case> {
    let lies = LIES.iter().map(|(name, naming, lie)| {
        let mut attempts = attempts();
        if *name == REPEATED {
            // The first page is the judged one: only what was captured shows what is missing.
            attempts.truncate(2);
        }
        Case::new(Class::LyingTarget, *name, attempts, move |scene, _| {
            serve(scene, *naming, *lie, false, |_| Fault::None)
        })
    });
    let faults = FAULTS.iter().map(|(name, fault)| {
        let fault = *fault;
        Case::new(Class::LyingTarget, *name, attempts(), move |scene, rng| {
            let every = rng.u64(1..=2);
            let is_hasty = matches!(fault, Fault::Hang(_));
            serve(
                scene,
                Naming::Fields,
                |found, _| found,
                is_hasty,
                move |question| {
                    if question.number.is_multiple_of(every) { fault } else { Fault::None }
                },
            )
        })
    });
    lies.chain(faults).chain(saved()).chain(commands()).chain(honest()).collect()
}

/// The commands that ask a target.
fn attempts() -> Vec<Attempt> {
    let low = |report: &Value| report["summary"]["R@5"].as_f64().is_none_or(|recall| recall < 0.9);
    vec![
        gate(Allowed::Refusal),
        Attempt::new(REPLAY, Allowed::Shown(is_not_whole)),
        Attempt::refused("eval gate --qrels qrels.json --target prod"),
        Attempt::new("eval --qrels qrels.json -k 5 --json --target prod", Allowed::Shown(low)),
    ]
}

const REPLAY: &str = "eval replay --against captured.ndjson --json --repeats 1 --target prod";

fn gate(allowed: Allowed) -> Attempt {
    let gate = format!("eval gate --baseline base.baseline.ndjson {PATIENT} --target prod");
    Attempt::new(&gate, allowed)
}

/// A replay that failed somewhere, or that does not call everything the same.
fn is_not_whole(report: &Value) -> bool {
    let summary = &report["summary"];
    let below = |name: &str| summary[name].as_f64().is_none_or(|value| value < 0.99);
    let errored = summary["rows_errored"].as_u64().unwrap_or_default();
    below("mean_jaccard") || below("top1_stability_rate") || errored > 0
}

fn honest_attempts() -> Vec<Attempt> {
    let whole = |report: &Value| report["summary"]["mean_jaccard"] == json!(1.0);
    vec![
        gate(Allowed::Green),
        Attempt::new(REPLAY, Allowed::GreenWith(whole)),
        Attempt::green("eval gate --qrels qrels.json --target prod"),
    ]
}

fn honest() -> Vec<Case> {
    let case = |name: &str, naming: Naming| {
        Case::new(Class::LyingTarget, name, honest_attempts(), move |scene, _| {
            serve(scene, naming, |found, _| found, false, |_| Fault::None)
        })
    };
    vec![
        case("the right answers, sources in fields", Naming::Fields),
        case("the right answers, sources in ids", Naming::Whole),
        case("the right answers, bare ids with a mapping", Naming::Mapped),
    ]
}

/// Answers that were saved another day.
fn saved() -> Vec<Case> {
    type Save = fn(&mut Vec<(String, Found)>, &mut Rng);
    const SAVED: &str = "a saved run of the right answers";
    const SAVES: &[(&str, Save)] = &[
        (SAVED, |_, _| ()),
        ("a saved run of other questions", |rows, _| {
            rows.iter_mut().for_each(|(query, _)| query.push_str(" then"));
        }),
        ("a saved run without half of the questions", |rows, rng| {
            let from = rng.usize(..2);
            let mut at = 0;
            rows.retain(|_| {
                at += 1;
                (at + from) % 2 == 0
            });
        }),
        ("a saved run with every answer one off", |rows, _| {
            let answers: Vec<Found> = rows.iter().map(|(_, found)| found.clone()).collect();
            let count = rows.len();
            rows.iter_mut()
                .enumerate()
                .for_each(|(at, row)| row.1 = answers[(at + 1) % count].clone());
        }),
        ("a saved run of another source", |rows, _| {
            rows.iter_mut()
                .for_each(|(_, found)| *found = of_source(std::mem::take(found), "evil"));
        }),
        ("an empty saved run", |rows, _| rows.clear()),
    ];
    let cases = SAVES.iter().map(|(name, save)| {
        let attempts = if *name == SAVED { honest_attempts() } else { attempts() };
        Case::new(Class::LyingTarget, *name, attempts, move |scene, rng| {
            let mut rows: Vec<(String, Found)> = scene.answers()?.into_iter().collect();
            save(&mut rows, rng);
            let line = |(query, found): &(String, Found)| {
                let found: Vec<Value> = found
                    .iter()
                    .enumerate()
                    .map(|(at, (source, slug))| {
                        json!({ "source_id": source, "slug": slug, "score": 1.0 / (at + 1) as f64 })
                    })
                    .collect();
                json!({ "query_id": query, "query": query, "retrieved": found })
            };
            let rows: Vec<Value> = rows.iter().map(line).collect();
            scene.write_rows("saved.ndjson", &rows)?;
            let file = format!("{}/saved.ndjson", super::scene::FILES);
            scene.configure(&json!({ "prod": { "kind": "run", "file": file } }))
        })
    });
    cases.collect()
}

/// Programs that answer wrongly.
fn commands() -> Vec<Case> {
    const SCRIPTS: &[(&str, &str)] = &[
        ("a program that ends at once", "exit 0"),
        ("a program that is silent", "while read -r line; do :; done"),
        (
            "a program that answers the first question for ever",
            "while read -r line; do echo '{\"id\":1,\"results\":[{\"document\":\"default::notes/n00\",\"score\":1}]}'; done",
        ),
        (
            "a program that answers nothing to everything",
            "n=0; while read -r line; do n=$((n+1)); echo \"{\\\"id\\\":$n,\\\"results\\\":[]}\"; done",
        ),
    ];
    let cases = SCRIPTS.iter().map(|(name, script)| {
        Case::new(Class::LyingTarget, *name, attempts(), move |scene, _| {
            scene.configure(&json!({ "prod": {
                "kind": "command", "command": ["sh", "-c", script], "timeout_seconds": HASTY, "attempts": 1,
            } }))
        })
    });
    cases.collect()
}

/// Has the scene ask a target that answers so.
fn serve(
    scene: &mut Scene,
    naming: Naming,
    lie: Lie,
    is_hasty: bool,
    faults: impl Fn(&Question) -> Fault + Send + Sync + 'static,
) -> Result<()> {
    let answers: BTreeMap<String, Found> = scene.answers()?;
    let reply = move |question: &Question| {
        let right = answers.get(&question.text).cloned().unwrap_or_default();
        let hits =
            lie(right, question.number).into_iter().enumerate().map(|(at, (source, slug))| {
                let document = match naming {
                    Naming::Whole if !source.is_empty() => format!("{source}::{slug}"),
                    _ => slug,
                };
                Hit { source, ..Hit::new(document, 1.0 / (at + 1) as f64) }
            });
        Reply { hits: hits.collect(), ..Reply::default() }
    };
    let server = RetrievalServer::start(reply, faults)?;
    let seconds = if is_hasty { HASTY } else { PATIENCE };
    scene.configure(&json!({ "prod": target(&server.url(), naming, seconds) }))?;
    scene.server = Some(server);
    Ok(())
}

fn target(url: &str, naming: Naming, seconds: f64) -> Value {
    let mut response = json!({ "results": "$.data[*]", "document": "$.id", "score": "$.score" });
    let mut target = json!({
        "kind": "http", "api": "custom", "url": format!("{url}/find"), "timeout_seconds": seconds,
        "attempts": 1, "body": { "query": "{{query}}", "k": "{{k}}" },
    });
    match naming {
        Naming::Fields => {
            response["source"] = json!("$.source");
            target["ids"] = json!({ "source_of_result": true });
        }
        Naming::Mapped => target["ids"] = json!({ "source": SOURCE }),
        Naming::Whole | Naming::Bare => {}
    }
    target["response"] = response;
    target
}

fn of_source(found: Found, source: &str) -> Found {
    found.into_iter().map(|(_, slug)| (source.to_owned(), slug)).collect()
}

fn renamed(found: Found, name: impl Fn(&str) -> String) -> Found {
    found.into_iter().map(|(source, slug)| (source, name(&slug))).collect()
}
