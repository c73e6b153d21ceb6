//! Judgements that name what is not there, that no query has, or that say something else than numbers.

use anyhow::Result;
use fastrand::Rng;
use serde_json::{Value, json};

use super::case::{Allowed, Attempt, Case, Class};
use super::scene::{MIRROR, Page, SOURCE, Scene};

/// Judgements in the explicit shape: each page answers its question.
pub fn explicit(pages: &[&Page], source: &str) -> Value {
    let query = |(at, page): (usize, &&Page)| {
        json!({
            "query_id": format!("q{at:02}"), "query": page.question,
            "relevant": [{ "source_id": source, "slug": page.slug }],
        })
    };
    json!({ "schema_version": 1, "queries": pages.iter().enumerate().map(query).collect::<Vec<_>>() })
}

/// An edit of the queries of judgements in the explicit shape.
type EditQueries = fn(&mut Vec<Value>, &mut Rng);

const EXPLICIT: &[(&str, EditQueries)] = &[
    ("pages that do not exist", |queries, _| {
        each(queries, |page| page["slug"] = json!(format!("{}-gone", text(&page["slug"]))));
    }),
    ("pages of a source that does not exist", |queries, _| {
        each(queries, |page| page["source_id"] = json!(MIRROR));
    }),
    ("pages without a source", |queries, _| {
        each(queries, |page| {
            page.as_object_mut().map(|page| page.shift_remove("source_id"));
        });
    }),
    ("one page without a source", |queries, rng| {
        let at = rng.usize(..queries.len());
        queries[at]["relevant"][0].as_object_mut().map(|page| page.shift_remove("source_id"));
    }),
    ("an empty source", |queries, _| each(queries, |page| page["source_id"] = json!(""))),
    ("questions that find nothing judged", |queries, _| {
        let count = queries.len();
        let texts: Vec<Value> = queries.iter().map(|query| query["query"].clone()).collect();
        for (at, query) in queries.iter_mut().enumerate() {
            query["query"] = texts[(at + count / 2) % count].clone();
        }
    }),
    ("a query twice with other pages", |queries, rng| {
        let at = rng.usize(..queries.len());
        let mut again = queries[at].clone();
        again["relevant"][0]["slug"] = json!("notes/none");
        queries.push(again);
    }),
    ("no text", |queries, _| {
        for query in queries {
            query.as_object_mut().map(|query| query.shift_remove("query"));
        }
    }),
    ("grades below zero", |queries, _| each(queries, |page| page["grade"] = json!(-1))),
    ("grades of zero", |queries, _| each(queries, |page| page["grade"] = json!(0))),
    ("grades that are text", |queries, _| each(queries, |page| page["grade"] = json!("high"))),
];

/// TREC lines that must not be a silent zero, or must be refused.
const TREC: &[(&str, &str)] = &[
    ("pages that do not exist", "{id} 0 default::{slug}-gone 1"),
    ("a source that does not exist", "{id} 0 mirror::{slug} 1"),
    ("queries that no one asks", "other-{id} 0 default::{slug} 1"),
    ("a grade that is no number", "{id} 0 default::{slug} NaN"),
    ("an endless grade", "{id} 0 default::{slug} inf"),
    ("a grade missing", "{id} 0 default::{slug}"),
];

pub fn cases() -> Vec<Case> {
    let explicit = EXPLICIT.iter().map(|(name, edit)| {
        let mut attempts = vec![Attempt::refused("eval gate --qrels edited.json")];
        attempts.push(report("eval --qrels edited.json -k 5 --json"));
        Case::new(Class::BadJudgements, format!("explicit: {name}"), attempts, move |scene, rng| {
            let mut qrels: Value = serde_json::from_str(&scene.read("qrels.json")?)?;
            edit(qrels["queries"].as_array_mut().unwrap_or(&mut Vec::new()), rng);
            scene.write("edited.json", qrels.to_string())
        })
    });
    let trec = TREC.iter().flat_map(|(name, line)| {
        let gate = Attempt::refused("eval gate --qrels edited.trec --queries queries.jsonl");
        let score = report("eval --qrels edited.trec --queries queries.jsonl -k 5 --json");
        let trec = Case::new(
            Class::BadJudgements,
            format!("TREC: {name}"),
            vec![gate, score],
            move |scene, _| scene.write("edited.trec", lines(scene, line, "")),
        );
        let beir = Case::new(
            Class::BadJudgements,
            format!("BEIR: {name}"),
            vec![
                Attempt::refused("eval gate --qrels folder"),
                report("eval --qrels folder -k 5 --json"),
            ],
            move |scene, _| {
                scene.write("folder/queries.jsonl", scene.read("queries.jsonl")?)?;
                let table = lines(scene, line, "query-id\tcorpus-id\tscore\n");
                let table = table.replace(" 0 default", " default").replace(" 0 mirror", " mirror");
                scene.write("folder/qrels/test.tsv", table.replace(' ', "\t"))
            },
        );
        [trec, beir]
    });
    explicit.chain(trec).chain(others()).chain(honest()).collect()
}

/// A report: it may end with 0 if it warns, or if its figures are as bad as they must be.
fn report(command: &str) -> Attempt {
    fn warns(report: &Value) -> bool {
        let is_low = report["summary"]["R@5"].as_f64().is_some_and(|recall| recall < 0.5);
        is_low || report["warnings"].as_array().is_some_and(|warnings| !warnings.is_empty())
    }
    Attempt::new(command, Allowed::Shown(warns))
}

fn others() -> Vec<Case> {
    let fractional = Case::new(
        Class::BadJudgements,
        "TREC: grades of a half, which trec_eval reads as none",
        vec![
            // Cut off to whole numbers these grades are 0: nothing is relevant.
            Attempt::refused("eval gate --qrels edited.trec --queries queries.jsonl"),
            Attempt::new(
                "eval score --qrels edited.trec --run right.run --measures R@5 --json",
                Allowed::Shown(|report| report["summary"]["R@5"].as_f64().is_none_or(|r| r == 0.0)),
            ),
        ],
        |scene, _| {
            scene.write("edited.trec", lines(scene, "{id} 0 default::{slug} 0.5", ""))?;
            scene.write("right.run", lines(scene, "{id} Q0 default::{slug} 1 1.0 a", ""))
        },
    );
    let apart = Case::new(
        Class::BadJudgements,
        "judgements that share no query with the run",
        vec![
            Attempt::refused("eval score --qrels edited.trec --run right.run"),
            Attempt::refused(
                "eval compare right.run right.run --qrels edited.trec --fail-on-regression",
            ),
            Attempt::refused(
                "bench ratchet --baseline base.baseline.ndjson --qrels edited.json --why x",
            ),
        ],
        |scene, _| {
            scene.write("edited.trec", lines(scene, "other-{id} 0 default::{slug} 1", ""))?;
            scene.write("right.run", lines(scene, "{id} Q0 default::{slug} 1 1.0 a", ""))?;
            let mut qrels: Value = serde_json::from_str(&scene.read("qrels.json")?)?;
            for query in qrels["queries"].as_array_mut().into_iter().flatten() {
                query["query"] = json!(format!("{} then", text(&query["query"])));
                query["query_id"] = json!(format!("other-{}", text(&query["query_id"])));
            }
            scene.write("edited.json", qrels.to_string())
        },
    );
    let ambiguous = Case::new(
        Class::BadJudgements,
        "bare slugs that two sources have, and the wrong one is found",
        vec![Attempt::refused("eval gate --qrels bare.trec --queries queries.jsonl")],
        |scene, _| {
            for page in scene.of_kind("notes") {
                let text = format!("---\ntitle: Copy\n---\n\nA copy of {}.\n", page.slug);
                scene.write(&format!("mirror/{}.md", page.slug), text)?;
            }
            scene.ok(&["import", "mirror", "--source", MIRROR, "-q"])?;
            scene.write("bare.trec", lines(scene, "{id} 0 {slug}-copy 1", ""))
        },
    );
    vec![fractional, apart, ambiguous]
}

fn honest() -> Vec<Case> {
    let right = |report: &Value| report["summary"]["R@5"].as_f64().is_some_and(|r| r > 0.95);
    let case = |name: &str, qrels: &str, more: &str, plant: fn(&Scene) -> Result<()>| {
        let attempts = vec![
            Attempt::green(&format!("eval gate --qrels {qrels}{more}")),
            Attempt::new(
                &format!("eval --qrels {qrels}{more} -k 5 --json"),
                Allowed::GreenWith(right),
            ),
        ];
        Case::new(Class::BadJudgements, name, attempts, move |scene, _| plant(scene))
    };
    vec![
        case("explicit: the right pages", "qrels.json", "", |_| Ok(())),
        case("TREC: whole names", "qrels.trec", " --queries queries.jsonl", |_| Ok(())),
        case("TREC: bare slugs", "bare.trec", " --queries queries.jsonl", |scene| {
            scene.write("bare.trec", lines(scene, "{id} 0 {slug} 1", ""))
        }),
        case("BEIR: bare slugs", "folder", "", |scene| {
            scene.write("folder/queries.jsonl", scene.read("queries.jsonl")?)?;
            let table = lines(scene, "{id}\t{slug}\t1", "query-id\tcorpus-id\tscore\n");
            scene.write("folder/qrels/test.tsv", table)
        }),
    ]
}

/// A line for every note.
fn lines(scene: &Scene, line: &str, head: &str) -> String {
    let notes = scene.of_kind("notes").enumerate();
    let filled = notes.map(|(at, page)| {
        line.replace("{id}", &format!("q{at:02}")).replace("{slug}", &page.slug) + "\n"
    });
    head.to_owned() + &filled.collect::<String>()
}

fn each(queries: &mut [Value], edit: impl Fn(&mut Value)) {
    let pages = queries.iter_mut().filter_map(|query| query["relevant"].as_array_mut());
    pages.flatten().for_each(edit);
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or(SOURCE)
}
