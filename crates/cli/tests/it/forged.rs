//! Results and rows that were edited: with the old hash, with a new one, and consistently.

use std::fs;

use gbrain_core::benchmark::{DatasetRunLabel, run_id};
use gbrain_core::format::benchmark::{BenchmarkResult, BenchmarkRow, recomputed};
use serde_json::{Value, json};

use crate::benchmark::{dataset, longmemeval, resealed, rows};
use crate::support::{Home, args_of};

/// A home with a dataset, one of whose questions can't be found, and its result.
fn measured(home: &Home) -> (String, Value) {
    let mut data = dataset(6, str::to_owned);
    data[1]["answer_session_ids"] = json!(["answer_missing_1"]);
    let file = home.write("lme.json", data.to_string());
    let result = home.file("honest.json");
    longmemeval(home, &file, &["--result", &result, "--keyword-only", "--quiet"]).exits(0);
    (file, serde_json::from_str(&fs::read_to_string(result).unwrap()).unwrap())
}

fn gate(home: &Home, text: &str) -> (Option<i32>, String) {
    let file = home.write("gated.json", text);
    let ran = home.run(&["eval", "gate", "--result", &file, "--floor", "recall_all@5=0.5"]);
    (ran.code, ran.stdout + &ran.stderr)
}

fn reproduce(home: &Home, text: &str) -> (Option<i32>, String) {
    let file = home.write("reproduced.json", text);
    let ran = home.run(&["eval", "reproduce", &file]);
    (ran.code, ran.stdout + &ran.stderr)
}

type Edit = (&'static str, fn(&mut Value));

/// Everything that a headline could gain by.
const EDITS: [Edit; 22] = [
    ("summary.recall_all@5", |result| result["summary"]["recall_all@5"] = json!(0.99)),
    ("all.means.recall_all@5.mean", |result| {
        result["all"]["means"]["recall_all@5"]["mean"] = json!(0.99);
    }),
    ("all.n", |result| result["all"]["n"] = json!(500)),
    ("by_type", |result| result["by_type"]["multi-session"]["n"] = json!(50)),
    ("label.k", |result| result["label"]["k"] = json!(5)),
    ("run", |result| {
        result["label"]["k"] = json!(5);
        result["asked"]["flags"]["top-k"] = json!("5");
    }),
    ("label.abstention", |result| result["label"]["abstention"] = json!("counted")),
    ("label.known_as", |result| result["label"]["known_as"] = json!("LongMemEval_S, cleaned")),
    ("label.dataset", |result| result["label"]["dataset"] = json!("longmemeval_s_cleaned.json")),
    ("label.depth", |result| result["label"]["depth"] = json!(500)),
    ("hypothesis", |result| result["label"]["answered_by"] = json!("anthropic:best")),
    ("label.retrieval", |result| result["label"]["retrieval"] = json!("hybrid")),
    ("run", |result| result["label"]["embedder"] = json!("openai:text-embedding-3-large")),
    ("run", |result| result["label"]["settings"] = json!("0000000000000000")),
    ("warnings", |result| result["warnings"] = json!([])),
    ("counts.asked", |result| result["counts"]["asked"] = json!(500)),
    ("baselines", |result| {
        result["baselines"]["random"]["means"]["nDCG@10"] = json!(0.0123);
    }),
    ("timing", |result| result["timing"]["p50_ms"] = json!(0.001)),
    ("headline", |result| result["headline"] = json!("LongMemEval: 99.9 % accuracy")),
    ("headline", |result| {
        let headline = result["headline"].as_str().unwrap();
        let measured = headline.strip_prefix("longmemeval: ").unwrap();
        result["headline"] = json!(format!("QA score 99.9 [longmemeval: {measured}]"));
    }),
    ("recall_all@5", |result| {
        for row in result["per_question"].as_array_mut().unwrap() {
            row["recall_all@5"] = json!(1.0);
        }
        result["summary"]["recall_all@5"] = json!(1.0);
    }),
    ("each question once", |result| {
        let all = result["per_question"].as_array_mut().unwrap();
        let first = all[0].clone();
        all[1] = first;
    }),
];

#[test]
fn forged_results_are_refused() {
    let home = Home::sqlite();
    let (_, honest) = measured(&home);
    assert_eq!(gate(&home, &honest.to_string()).0, Some(0));
    let (code, text) = reproduce(&home, &honest.to_string());
    assert_eq!(code, Some(0), "{text}");
    for (at, (named, edit)) in EDITS.iter().enumerate() {
        let mut edited = honest.clone();
        edit(&mut edited);
        let (code, text) = gate(&home, &edited.to_string());
        assert_eq!(code, Some(2), "edit {at}, {named}: {text}");
        assert!(text.contains("result_hash"), "{named}: {text}");
        let (code, text) = reproduce(&home, &edited.to_string());
        assert_eq!(code, Some(2), "edit {at}, {named}: {text}");
        let sealed = resealed(&edited);
        let (code, text) = gate(&home, &sealed);
        assert_eq!(code, Some(2), "edit {at}, {named}: {text}");
        assert!(text.contains(named), "{named}: {text}");
        let (code, text) = reproduce(&home, &sealed);
        assert_eq!(code, Some(1), "edit {at}, {named}: {text}");
        assert!(text.contains("not reproduced"), "{named}: {text}");
    }
}

#[test]
fn a_missing_hash_other_fields_and_other_versions_are_refused() {
    let home = Home::sqlite();
    let (_, honest) = measured(&home);
    for files in [json!([]), json!(["lme.json", "longmemeval_s_cleaned.json"])] {
        let mut edited = honest.clone();
        edited["asked"]["files"] = files;
        let (code, text) = reproduce(&home, &resealed(&edited));
        assert_eq!(code, Some(2), "{text}");
        assert!(text.contains("takes one file"), "{text}");
    }
    let edits: [Edit; 4] = [
        ("result_hash", |result| {
            result.as_object_mut().unwrap().remove("result_hash");
        }),
        ("schema_version", |result| result["schema_version"] = json!(1)),
        ("qa_accuracy", |result| result["qa_accuracy"] = json!(0.99)),
        ("score", |result| result["label"]["score"] = json!(0.99)),
    ];
    for (named, edit) in edits {
        let mut edited = honest.clone();
        edit(&mut edited);
        for (code, text) in
            [gate(&home, &edited.to_string()), reproduce(&home, &edited.to_string())]
        {
            assert_eq!(code, Some(2), "{named}: {text}");
            assert!(text.contains(named), "{named}: {text}");
        }
    }
}

/// Rows, means, label and hash that fit each other can't be told from honest ones without the dataset.
#[test]
fn a_consistent_forgery_is_found_by_reproducing_only() {
    let home = Home::sqlite();
    let (_, honest) = measured(&home);
    let mut forged: BenchmarkResult = serde_json::from_value(honest.clone()).unwrap();
    let row = &mut forged.per_question[1];
    row.recall_hit = Some(true);
    row.retrieved_session_ids[0] = "answer_missing_1".to_owned();
    row.gold_ranks = [("answer_missing_1".to_owned(), Some(1))].into_iter().collect();
    row.scores = forged_scores(&honest["per_question"][0]);
    let forged = recomputed(&forged);
    let text = serde_json::to_string(&forged).unwrap();
    let (code, said) = gate(&home, &text);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("gbrain eval reproduce"), "{said}");
    let (code, said) = reproduce(&home, &text);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("q1: different document at rank 1"), "{said}");
    assert!(said.contains("summary.recall_all@5"), "{said}");
    let mut renamed = recomputed(&forged);
    renamed.label = DatasetRunLabel { embedder: Some("openai:large".to_owned()), ..renamed.label };
    let run = run_id(&renamed.label);
    renamed.per_question.iter_mut().for_each(|row| row.run.clone_from(&run));
    let text = serde_json::to_string(&recomputed(&renamed)).unwrap();
    let (code, said) = reproduce(&home, &text);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("label.embedder"), "{said}");
}

#[test]
fn a_row_whose_lists_contradict_each_other_is_not_gated() {
    let home = Home::sqlite();
    let (_, honest) = measured(&home);
    let forge = |edit: &dyn Fn(&mut BenchmarkRow)| {
        let mut forged: BenchmarkResult = serde_json::from_value(honest.clone()).unwrap();
        edit(&mut forged.per_question[0]);
        let text = serde_json::to_string(&recomputed(&forged)).unwrap();
        gate(&home, &text)
    };
    let (code, said) = forge(&|_| ());
    assert_eq!(code, Some(0), "{said}");
    type EditRow<'a> = (&'a str, &'a dyn Fn(&mut BenchmarkRow));
    let edits: [EditRow<'_>; 6] = [
        ("ranked_places", &|row| row.ranked_places = Vec::new()),
        ("ranked_places", &|row| row.ranked_places[0] = row.ranked_places[1]),
        ("ranked_places", &|row| row.ranked_places[0] = 100_000),
        ("ranked_places", &|row| row.retrieved_session_ids = Vec::new()),
        ("timings", &|row| row.timings.search_ms = -1.0),
        ("turn_recall", &|row| {
            let share = gbrain_core::format::benchmark::NumericValue(Some(7.0));
            row.scores.insert("turn_recall".to_owned(), share);
        }),
    ];
    for (field, edit) in edits {
        let (code, said) = forge(edit);
        assert_eq!(code, Some(2), "{field}: {said}");
        assert!(said.contains(field), "{field}: {said}");
    }
}

/// The measures of a row as a row has them.
fn forged_scores(
    row: &Value,
) -> std::collections::BTreeMap<String, gbrain_core::format::benchmark::NumericValue> {
    serde_json::from_value::<BenchmarkRow>(row.clone()).unwrap().scores
}

#[test]
fn edited_foreign_and_repeated_rows_are_not_resumed_from() {
    let home = Home::sqlite();
    let file = home.write("lme.json", dataset(6, str::to_owned).to_string());
    let out = home.file("run.jsonl");
    let args = ["--output", &out, "--keyword-only", "--quiet"];
    assert_eq!(longmemeval(&home, &file, &args).code, Some(0));
    let honest = rows(&fs::read_to_string(&out).unwrap());
    let resume = ["--output", &out, "--resume-from", &out, "--keyword-only", "--quiet"];
    let sealed = |row: &Value| {
        let row: BenchmarkRow = serde_json::from_value(row.clone()).unwrap();
        serde_json::to_value(row.sealed()).unwrap()
    };
    let edits: [Edit; 20] = [
        ("recall_hit", |row| row["recall_hit"] = json!(false)),
        ("measures", |row| row["recall_all@5"] = json!(0.5)),
        ("measures", |row| row["qa_accuracy"] = json!(1.0)),
        ("gold_ranks", |row| row["gold_ranks"] = json!({ "answer_0F_1": 2 })),
        ("retrieved_session_ids", |row| row["retrieved_session_ids"][0] = json!("x")),
        ("ranked_places", |row| row["ranked_places"] = json!([0, 0, 1])),
        ("ranked_places", |row| row["ranked_places"] = json!([800])),
        ("longmemeval", |row| row["longmemeval"]["session"]["recall_all@50"] = json!(0.0)),
        ("baselines", |row| row["baselines"]["random"]["recall_all@5"] = json!(0.25)),
        ("question", |row| row["question"] = json!("an easier question?")),
        ("question_type", |row| row["question_type"] = json!("multi-session")),
        ("is not a question of this run", |row| row["question_id"] = json!("q99")),
        ("turn_recall", |row| row["turn_recall"] = json!(0.25)),
        ("turn_recall", |row| drop(row.as_object_mut().unwrap().remove("turn_recall"))),
        ("hypothesis", |row| row["hypothesis"] = json!("forged answer")),
        ("prompt_session_ids", |row| row["prompt_session_ids"] = json!(["a"])),
        ("shown_passages", |row| row["shown_passages"] = json!([])),
        ("shown_passages", |row| row["shown_passages"][0]["passages"] = json!([[0, 900_000]])),
        ("timings", |row| row["timings"] = json!({ "import_ms": -5.0, "search_ms": 1.0 })),
        ("timings", |row| row["timings"] = json!({ "import_ms": 0.0, "search_ms": 0.0 })),
    ];
    let refused = |text: String, says: &str| {
        fs::write(&out, &text).unwrap();
        let ran = longmemeval(&home, &file, &resume);
        assert_eq!(ran.code, Some(2), "{says}: {}", ran.stdout);
        assert!(ran.stderr.contains(says), "{says}: {}", ran.stderr);
        assert_eq!(fs::read_to_string(&out).unwrap(), text, "{says}: the file is left alone");
    };
    let lines = |rows: &[Value]| rows.iter().map(|row| format!("{row}\n")).collect::<String>();
    for (named, edit) in edits {
        let mut edited = honest[..3].to_vec();
        edit(&mut edited[0]);
        // Times differ from run to run, and are not in the hash.
        if named != "timings" {
            refused(lines(&edited), "was edited");
        }
        edited[0] = sealed(&edited[0]);
        refused(lines(&edited), named);
    }
    let twice = [&honest[..3], &honest[..1]].concat();
    refused(lines(&twice), "line 4: question `q0` is already in line 1");
    fs::write(&out, lines(&honest)).unwrap();
    let less = longmemeval(&home, &file, &[&resume[..], &["--limit", "3"]].concat());
    assert_eq!(less.code, Some(2), "rows beyond --limit: {}", less.stdout);
    fs::write(&out, lines(&honest[..3])).unwrap();
    longmemeval(&home, &file, &resume).exits(0);
    let again = rows(&fs::read_to_string(&out).unwrap());
    let hashes =
        |rows: &[Value]| rows.iter().map(|row| row["row_hash"].clone()).collect::<Vec<_>>();
    assert_eq!(hashes(&again), hashes(&honest));
}

#[test]
fn a_title_never_stands_alone() {
    let home = Home::sqlite();
    let file = home.write("lme.json", dataset(5, str::to_owned).to_string());
    let (out, result) = (home.file("run.jsonl"), home.file("run.json"));
    let words = ["--keyword-only", "--output", &out, "--result", &result];
    let titled = |title: &str, more: &[&str]| {
        longmemeval(&home, &file, &[&words[..], &["--title", title], more].concat())
    };
    for title in [
        "LongMemEval score",
        "QA accuracy 97 %",
        "a c c u r a c y",
        "ac-cu-ra-cy",
        "sc\u{200b}ore",
        "ѕсоre",
        "5C0RE",
        "Correctness",
        "answered 97 of 100",
        "F1 97",
        "Exact-Match",
        "SOTA",
    ] {
        let ran = titled(title, &[]);
        assert_eq!(ran.code, Some(2), "{title}: {}", ran.stdout);
        assert!(ran.stderr.contains("title"), "{title}: {}", ran.stderr);
    }
    let ran = titled("nightly run", &[]).exits(0);
    let beside = "nightly run [longmemeval: retrieval, not answers: whether any (recall_any@k)";
    assert!(ran.stdout.starts_with(beside), "{}", ran.stdout);
    let json: Value = serde_json::from_str(&titled("nightly run", &["--json"]).stdout).unwrap();
    let kept: Value = serde_json::from_str(&fs::read_to_string(&result).unwrap()).unwrap();
    for value in [&json, &kept] {
        assert!(value["headline"].as_str().unwrap().starts_with(beside), "{}", value["headline"]);
    }
    let gated = home.run(&["eval", "gate", "--result", &result, "--floor", "recall_all@5=0.5"]);
    assert!(gated.stdout.starts_with(beside), "{}", gated.stdout);
    let listed = home.json(&["eval", "datasets"]);
    for dataset in listed.as_array().unwrap() {
        assert!(dataset["measured"].as_str().unwrap().contains("retrieval, not answers"));
    }
}

#[test]
fn published_files_are_verified_and_others_are_unknown() {
    let home = Home::sqlite();
    let sha256 = "d6f21ea9d60a0d56f34a05b609c79c88a451d2ae03597821ea3d5a9678c3a442";
    let listed = home.json(&["eval", "datasets"]);
    assert_eq!(listed[0]["sha256"]["longmemeval_s_cleaned.json"], sha256);
    assert!(home.ok(&["eval", "datasets"]).contains(sha256));
    let file = home.write("longmemeval_s_cleaned.json", dataset(3, str::to_owned).to_string());
    let hashed = home.ok(&["eval", "datasets", "--hash", &file]);
    assert!(hashed.contains("unknown file"), "{hashed}");
    assert_eq!(home.json(&["eval", "datasets", "--hash", &file])["known_as"], Value::Null);
    let ran = home.json(&["eval", "longmemeval", &file, "--retrieval-only", "--keyword-only"]);
    let warnings = ran["warnings"].to_string();
    assert!(warnings.contains("has the file name of LongMemEval_S, cleaned"), "{warnings}");
    assert_eq!(ran["label"]["known_as"], Value::Null);
}

#[test]
fn dataset_problems_are_counted_in_the_label_or_refused() {
    let home = Home::sqlite();
    let mut data = dataset(4, str::to_owned);
    data[0]["haystack_dates"] = json!([]);
    data[1]["answer_session_ids"] = json!(["answer_missing_1"]);
    data[2].as_object_mut().unwrap().remove("question_date");
    data[3]["haystack_session_ids"][2] = Value::Null;
    let file = home.write("lme.json", data.to_string());
    let ran = home.json(&["eval", "longmemeval", &file, "--retrieval-only", "--keyword-only"]);
    let expected = json!({
        "missing_document": 1, "no_id": 1, "no_question_date": 1, "no_session_date": 8,
    });
    assert_eq!(ran["label"]["data_problems"], expected);
    assert!(ran["warnings"].to_string().contains("1 judged documents that are not in the corpus"));
    data[0]["haystack_sessions"] = json!([]);
    longmemeval(&home, &home.write("empty.json", data.to_string()), &[])
        .exits(2)
        .stderr_has("no session that says anything");
    let collection = |corpus: &str, qrels: &str| {
        let files = [
            ("corpus", corpus),
            ("qrels", qrels),
            ("queries", "{\"_id\":\"q1\",\"text\":\"tide\"}\n"),
        ];
        let [corpus, qrels, queries] = files.map(|(name, text)| home.write(name, text));
        home.run(&args_of(&format!(
            "eval trec --corpus {corpus} --queries {queries} --qrels {qrels} --keyword-only --json"
        )))
    };
    let corpus = "{\"_id\":\"a\",\"title\":\"\",\"text\":\"the tide rises at noon\"}\n";
    let _none = collection("", "q1 0 a 1\n").exits(2).stderr_has("no documents");
    collection(corpus, "q1 0 x 1\nq1 0 y 1\n")
        .exits(2)
        .stderr_has("none of the 2 judged documents");
    let some = collection(corpus, "q1 0 a 1\nq1 0 gone 1\n").exits(0).json();
    assert_eq!(some["label"]["data_problems"], json!({ "missing_document": 1 }));
    // A judged document that is not relevant is no hit.
    let wrong = collection(corpus, "q1 0 a 0\nq1 0 gone 1\n").json();
    assert_eq!(wrong["per_question"][0]["recall_hit"], false);
}
