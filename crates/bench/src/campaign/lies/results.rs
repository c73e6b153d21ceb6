//! Results of benchmarks that were edited, rows that a benchmark goes on with, and titles.

use anyhow::{Context as _, Result};
use fastrand::Rng;
use gbrain_core::format::benchmark::BenchmarkRow;
use serde_json::{Value, json};

use super::case::{Attempt, Case, Class};
use super::dataset::QUESTIONS;
use super::edit::{EditValue, edit_at, keys, remove};
use super::scene::{BaseScene, Scene};

const EDITED: &str = "edited.json";
/// Fields with times: they differ from run to run, and no command compares them.
const TIMES: [&str; 2] = ["timing", "timings"];

pub fn cases(world: &BaseScene) -> Result<Vec<Case>> {
    let result = world.document("easy.result.json")?;
    let mut cases = vec![honest()];
    for path in paths(&result) {
        let name = path.join(".");
        cases.push(case(name, "easy", move |result, rng| {
            let mut path = path.clone();
            if path[0] == "per_question" {
                // Questions without an answer have fewer figures.
                let rows = &result["per_question"];
                let has = |at: &usize| path.get(1).is_none_or(|name| rows[*at].get(name).is_some());
                let having: Vec<usize> = (0..QUESTIONS).filter(has).collect();
                path.insert(1, having[rng.usize(..having.len())].to_string());
            }
            edit_at(result, &path, rng)
        }));
    }
    cases.extend(WHOLE.iter().map(|(name, edit)| {
        case((*name).to_owned(), "easy", |result, rng| {
            edit(result, rng);
            Ok(())
        })
    }));
    cases.push(case("a bad run made perfect".to_owned(), "hard", |result, _| perfect(result)));
    cases.push(case("a bad run made perfect, hashes deleted".to_owned(), "hard", |result, _| {
        for name in keys(result).iter().filter(|name| name.contains("hash")) {
            remove(result, name);
        }
        perfect(result)
    }));
    Ok(cases)
}

type EditResult = fn(&mut Value, &mut Rng);

/// Edits of a result as a whole.
const WHOLE: &[(&str, EditResult)] = &[
    ("a row twice", |result, rng| {
        let rows = rows(result);
        let at = rng.usize(..rows.len());
        rows.push(rows[at].clone());
    }),
    ("a row deleted", |result, rng| {
        let rows = rows(result);
        let at = rng.usize(..rows.len());
        rows.remove(at);
    }),
    ("a foreign row", |result, _| {
        let rows = rows(result);
        let mut row = rows[0].clone();
        row["question_id"] = json!("q_of_nobody");
        rows.push(row);
    }),
    ("no rows", |result, _| rows(result).clear()),
    ("documents without places", |result, _| {
        rows(result).iter_mut().for_each(|row| row["ranked_places"] = json!([]));
    }),
    ("answered by a model that was never asked", |result, _| {
        result["label"]["answered_by"] = json!("anthropic:claude-opus-4");
    }),
    ("another k in the label", |result, _| result["label"]["k"] = json!(1)),
    ("abstention counted in the label", |result, _| {
        result["label"]["abstention"] = json!("counted");
    }),
    ("another dataset's name in the label", |result, _| {
        result["label"]["known_as"] = json!("LongMemEval_S");
    }),
    ("the warnings deleted", |result, _| result["warnings"] = json!([])),
    ("the hashes deleted", |result, _| {
        result["label"]["k"] = json!(1);
        for name in keys(result).iter().filter(|name| name.contains("hash")) {
            remove(result, name);
        }
    }),
];

/// The edited fields: every one of the label, of the means and of a row.
fn paths(result: &Value) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    for name in keys(result) {
        let inner = match name.as_str() {
            "per_question" => keys(&result[&name][0]),
            "label" | "summary" | "counts" | "asked" => keys(&result[&name]),
            _ => Vec::new(),
        };
        let is_time = |name: &String| TIMES.contains(&name.as_str());
        if inner.is_empty() {
            paths.push(vec![name]);
        } else {
            let own = inner.into_iter().filter(|inner| !is_time(inner));
            paths.extend(own.map(|inner| vec![name.clone(), inner]));
        }
    }
    // The path of the dataset says where it is and not what it is.
    let is_left_out =
        |path: &Vec<String>| TIMES.contains(&path[0].as_str()) || path.join(".") == "asked.files";
    paths.retain(|path| !is_left_out(path));
    paths
}

fn attempts() -> Vec<Attempt> {
    vec![
        Attempt::refused(&format!("eval reproduce {EDITED} -q")),
        Attempt::refused(&format!("eval gate --result {EDITED} --floor recall_all@5=0.9")),
    ]
}

fn honest() -> Case {
    let attempts = vec![
        Attempt::green("eval reproduce easy.result.json -q"),
        Attempt::green("eval reproduce hard.result.json -q"),
        Attempt::green("eval gate --result easy.result.json --floor recall_all@5=0.9"),
    ];
    Case::new(Class::ForgedResult, "as it was measured", attempts, |_, _| Ok(()))
}

fn case(
    name: String,
    of: &'static str,
    edit: impl Fn(&mut Value, &mut Rng) -> Result<()> + Send + Sync + 'static,
) -> Case {
    Case::new(Class::ForgedResult, name, attempts(), move |scene, rng| {
        let mut result: Value = serde_json::from_str(&scene.read(&format!("{of}.result.json"))?)?;
        edit(&mut result, rng)?;
        scene.write(EDITED, result.to_string())
    })
}

fn rows(result: &mut Value) -> &mut Vec<Value> {
    if !result["per_question"].is_array() {
        result["per_question"] = json!([]);
    }
    result["per_question"].as_array_mut().expect("it was just made a list")
}

/// Every figure of a result says that everything was found.
fn perfect(result: &mut Value) -> Result<()> {
    rows(result).iter_mut().for_each(perfect_row);
    for name in ["summary", "all", "by_type", "longmemeval_session", "turn_recall"] {
        ones(&mut result[name]);
    }
    Ok(())
}

fn perfect_row(row: &mut Value) {
    for name in keys(row) {
        if name.contains("recall_a")
            || name.starts_with("nDCG")
            || name == "RR"
            || name == "longmemeval"
        {
            ones(&mut row[&name]);
        }
    }
    if row["recall_hit"].is_boolean() {
        row["recall_hit"] = json!(true);
    }
}

/// Every fraction becomes 1.
fn ones(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => *value = json!(1.0),
        Value::Array(items) => items.iter_mut().for_each(ones),
        Value::Object(members) => members.iter_mut().for_each(|(_, value)| ones(value)),
        _ => {}
    }
}

/// Every case of edited rows that a benchmark goes on with: it must not reach its floor.
pub fn resumed() -> Vec<Case> {
    type EditRows = fn(&mut Vec<Value>, &mut Rng);
    const EDITS: &[(&str, EditRows)] = &[
        ("misses called hits", |rows, _| {
            rows.iter_mut().filter(|row| row["recall_hit"] == json!(false)).for_each(perfect_row);
        }),
        ("only `recall_hit` edited", |rows, _| {
            for row in rows.iter_mut().filter(|row| row["recall_hit"] == json!(false)) {
                row["recall_hit"] = json!(true);
            }
        }),
        ("only the figures edited", |rows, _| {
            for row in rows.iter_mut().filter(|row| row["recall_hit"] == json!(false)) {
                for name in ["recall_any@5", "recall_all@5", "recall_any@1", "recall_all@1", "RR"] {
                    row[name] = json!(1.0);
                }
            }
        }),
        ("only the ranks edited", |rows, _| {
            rows.iter_mut().for_each(|row| {
                for name in keys(&row["gold_ranks"]) {
                    row["gold_ranks"][name] = json!(1);
                }
            });
        }),
        ("hits many times", |rows, _| {
            let hits: Vec<Value> =
                rows.iter().filter(|row| row["recall_hit"] == json!(true)).cloned().collect();
            (0..20).for_each(|_| rows.extend(hits.clone()));
        }),
        ("misses in the place of hits of the same id", |rows, _| {
            let Some(hit) = rows.iter().find(|row| row["recall_hit"] == json!(true)).cloned()
            else {
                return;
            };
            for row in rows.iter_mut().filter(|row| row["recall_hit"] == json!(false)) {
                let (id, kind) = (row["question_id"].clone(), row["question_type"].clone());
                *row = hit.clone();
                (row["question_id"], row["question_type"]) = (id, kind);
            }
        }),
        ("foreign hits added", |rows, _| {
            let hit = rows.iter().find(|row| row["recall_hit"] == json!(true)).cloned();
            for (at, mut row) in hit.into_iter().cycle().take(60).enumerate() {
                row["question_id"] = json!(format!("foreign{at}"));
                row["question_type"] =
                    json!(["single-session-user", "multi-session", "temporal-reasoning"][at % 3]);
                rows.push(row);
            }
        }),
        ("misses of another type", |rows, _| {
            for row in rows.iter_mut().filter(|row| row["recall_hit"] == json!(false)) {
                row["question_type"] = json!("knowledge-update");
            }
        }),
        ("misses called abstentions", |rows, _| {
            for row in rows.iter_mut().filter(|row| row["recall_hit"] == json!(false)) {
                row["recall_hit"] = Value::Null;
            }
        }),
    ];
    let resume = |dataset: &str, rows: &str| {
        format!(
            "eval longmemeval {dataset} --retrieval-only -q --top-k 2 --resume-from {rows} \
             --output again.jsonl --by-type-floor 0.9"
        )
    };
    let read = |scene: &Scene, name: &str| -> Result<Vec<Value>> {
        let rows = scene.rows(name)?;
        Ok(rows.into_iter().filter(|row| row["kind"] != json!("by_type_summary")).collect())
    };
    let cases = EDITS.iter().map(|(name, edit)| {
        let attempts = vec![Attempt::refused(&resume("hard.json", "edited.rows.jsonl"))];
        Case::new(Class::ForgedRows, *name, attempts, move |scene, rng| {
            let mut rows = read(scene, "hard.rows.jsonl")?;
            edit(&mut rows, rng);
            scene.write_rows("edited.rows.jsonl", &rows)
        })
    });
    let sealed = SEALED.iter().map(|(name, edit)| {
        let attempts = vec![Attempt::refused(&resume("easy.json", "edited.rows.jsonl"))];
        Case::new(Class::ForgedRows, *name, attempts, move |scene, _| {
            let mut rows = read(scene, "easy.rows.jsonl")?;
            for row in &mut rows {
                edit(row);
                *row = serde_json::to_value(
                    serde_json::from_value::<BenchmarkRow>(row.take())?.sealed(),
                )?;
            }
            scene.write_rows("edited.rows.jsonl", &rows)
        })
    });
    let honest = Case::new(
        Class::ForgedRows,
        "half of the rows of a good run",
        vec![Attempt::green(&resume("easy.json", "half.rows.jsonl"))],
        move |scene, rng| {
            let mut rows = read(scene, "easy.rows.jsonl")?;
            rng.shuffle(&mut rows);
            rows.truncate(QUESTIONS / 2);
            scene.write_rows("half.rows.jsonl", &rows)
        },
    );
    let unedited = Case::new(
        Class::ForgedRows,
        "half of the rows of a bad run",
        vec![Attempt::refused(&resume("hard.json", "half.rows.jsonl"))],
        move |scene, rng| {
            let mut rows = read(scene, "hard.rows.jsonl")?;
            rng.shuffle(&mut rows);
            rows.truncate(QUESTIONS / 2);
            scene.write_rows("half.rows.jsonl", &rows)
        },
    );
    cases.chain(sealed).chain([honest, unedited]).collect()
}

/// Edits of every row of a good run whose hashes are computed again.
const SEALED: &[(&str, EditValue)] = &[
    ("another share of turns, sealed", |row| row["turn_recall"] = json!(0.125)),
    ("other passages for answers, sealed", |row| row["hypothesis"] = json!("forged")),
    ("other sessions in the prompt, sealed", |row| row["prompt_session_ids"] = json!(["a"])),
    ("no shown passages, sealed", |row| row["shown_passages"] = json!([])),
    ("negative times, sealed", |row| {
        row["timings"] = json!({ "import_ms": -5.0, "search_ms": -5.0 });
    }),
    ("no time at all, sealed", |row| {
        row["timings"] = json!({ "import_ms": 0.0, "search_ms": 0.0 });
    }),
];

pub fn titles() -> Vec<Case> {
    const TITLES: [&str; 30] = [
        "LongMemEval score",
        "LongMemEval SCORE",
        "LongMemEval Scores",
        "we scored 97",
        "a scoring of memory",
        "s c o r e of 97",
        "s-c-o-r-e 97",
        "sc\u{200b}ore 97",
        "\u{ff53}\u{ff43}\u{ff4f}\u{ff52}\u{ff45} 97",
        "sc\u{43e}re 97",
        "QA accuracy",
        "ACCURACY 97",
        "accuracies by type",
        "\u{430}ccuracy 97",
        "a c c u r a c y",
        "accurate answers",
        "correctness",
        "Correct answers",
        "answered 97 of 100",
        "Q A 97",
        "Q.A. 97",
        "answer-accuracy",
        "98.4%",
        "Recall@5 97.9",
        "gets 98% of LongMemEval",
        "mark: 97/100",
        "success rate",
        "LLM judge",
        "grade A",
        "Genauigkeit",
    ];
    let run = "eval longmemeval easy.json --retrieval-only -q --limit 6 --output out.jsonl --title";
    let beir = "eval beir beir -q --output out.jsonl --title";
    let cases = TITLES.iter().map(|title| {
        let attempts = vec![Attempt::refused(run).with(title), Attempt::refused(beir).with(title)];
        let name = title.escape_default().to_string();
        Case::new(Class::ForgedTitle, name, attempts, |scene, _| collection(scene))
    });
    let honest = Case::new(
        Class::ForgedTitle,
        "a title that names recall",
        vec![
            Attempt::green(run).with("recall of sessions, by type"),
            Attempt::green(beir).with("retrieval on a small collection"),
            Attempt::green(run).with("gbrain 0.41 hybrid, k=10"),
        ],
        |scene, _| collection(scene),
    );
    cases.chain([honest]).collect()
}

/// A small collection in BEIR's layout.
fn collection(scene: &Scene) -> Result<()> {
    let notes: Vec<_> = scene.of_kind("notes").take(8).collect();
    let mut corpus = String::new();
    let mut queries = String::new();
    let mut qrels = "query-id\tcorpus-id\tscore\n".to_owned();
    for (at, page) in notes.iter().enumerate() {
        let text = scene.read(&format!("pages/{}.md", page.slug)).context("a page is missing")?;
        corpus += &format!("{}\n", json!({ "_id": format!("d{at}"), "title": "", "text": text }));
        queries += &format!("{}\n", json!({ "_id": format!("q{at}"), "text": page.question }));
        qrels += &format!("q{at}\td{at}\t1\n");
    }
    scene.write("beir/corpus.jsonl", corpus)?;
    scene.write("beir/queries.jsonl", queries)?;
    scene.write("beir/qrels/test.tsv", qrels)
}
