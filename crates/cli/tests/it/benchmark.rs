//! Public benchmarks through the real binary: rows, labels, hermetic questions, kills and resumes.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use gbrain_core::format::benchmark::BenchmarkResult;
use serde_json::{Value, json};

use crate::support::{Home, Ran, assert_fields};

const TYPES: [&str; 3] = ["single-session-user", "multi-session", "temporal-reasoning"];
const THINGS: [&str; 8] =
    ["kayak", "violin", "sourdough", "telescope", "bonsai", "origami", "beehive", "marathon"];

/// Questions in the published layout, whose ids `name` may change.
pub(crate) fn dataset(questions: usize, name: impl Fn(&str) -> String) -> Value {
    let question = |at: usize| {
        let thing = THINGS[at % THINGS.len()];
        let other = THINGS[(at + 3) % THINGS.len()];
        let turn = |role: &str, text: String, has_answer: bool| json!({ "role": role, "content": text, "has_answer": has_answer });
        let mut sessions = vec![json!([
            turn("user", format!("I bought a {thing} in the harbour market for {at} coins"), true),
            turn("assistant", format!("A {thing} is a fine thing to have."), false),
        ])];
        let mut ids = vec![name(&format!("answer_{at:x}F_1"))];
        for n in 0..7 {
            let topic = THINGS[(at + 4 + n) % THINGS.len()];
            sessions.push(json!([
                turn("user", format!("tell me about {topic} number {n} and {other} please"), false),
                turn("assistant", format!("{topic} is common, says chapter {n}"), false),
            ]));
            ids.push(name(&format!("sharegpt_aB{at}_{n}")));
        }
        let dates: Vec<String> =
            (0..sessions.len()).map(|n| format!("2023/05/{:02} (Fri) 01:49", n + 1)).collect();
        let suffix = if at % 5 == 4 { "_abs" } else { "" };
        json!({
            "question_id": format!("q{at}{suffix}"),
            "question_type": TYPES[at % TYPES.len()],
            "question": format!("How many coins did I pay for the {thing} in the harbour market?"),
            "answer": at,
            "question_date": "2023/06/25 (Sun) 04:48",
            "haystack_dates": dates,
            "answer_session_ids": [ids[0].clone()],
            "haystack_session_ids": ids,
            "haystack_sessions": sessions,
        })
    };
    Value::Array((0..questions).map(question).collect())
}

/// A result with a hash of what it holds now, as someone who edits on purpose would give it.
pub(crate) fn resealed(result: &Value) -> String {
    let result: BenchmarkResult = serde_json::from_value(result.clone()).unwrap();
    let result = BenchmarkResult { result_hash: result.hash(), ..result };
    serde_json::to_string(&result).unwrap()
}

pub(crate) fn longmemeval(home: &Home, dataset: &str, more: &[&str]) -> Ran {
    let args = ["eval", "longmemeval", dataset, "--retrieval-only"];
    home.run(&args.iter().chain(more).copied().collect::<Vec<_>>())
}

pub(crate) fn rows(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Rows without what may differ between runs.
fn timeless(text: &str) -> Vec<Value> {
    let mut rows = rows(text);
    for row in &mut rows {
        row.as_object_mut().unwrap().remove("timings");
    }
    rows
}

#[test]
fn rows_come_in_order_with_one_summary_at_the_end() {
    let home = Home::sqlite();
    let file = home.write("lme.json", dataset(10, str::to_owned).to_string());
    let ran = longmemeval(&home, &file, &["--by-type", "--quiet"]).exits(0);
    let all = rows(&ran.stdout);
    let ids: Vec<&str> = all.iter().map(|row| row["question_id"].as_str().unwrap()).collect();
    let expected: Vec<String> =
        (0..10).map(|n| format!("q{n}{}", if n % 5 == 4 { "_abs" } else { "" })).collect();
    assert_eq!(ids[..10], expected);
    let (summary, questions) = all.split_last().unwrap();
    assert_eq!(summary["kind"], "by_type_summary");
    assert_eq!(summary["aggregate"], json!({ "hit": 8, "total": 8, "rate": 1.0 }));
    let measured = summary["measured"].as_str().unwrap();
    assert!(measured.contains("recall_any@10") && measured.contains("retrieval, not answers"));
    for row in questions {
        let is_abstention = row["question_id"].as_str().unwrap().ends_with("_abs");
        assert_eq!(row["recall_hit"], if is_abstention { Value::Null } else { json!(true) });
        let hypothesis = row["hypothesis"].as_str().unwrap();
        assert!(hypothesis.starts_with("<chat_session id=\"1\""), "{row}");
        assert!(
            !hypothesis.contains("answer_"),
            "an id says which session holds the answer: {row}"
        );
        assert_eq!(row["prompt_session_ids"][0], row["retrieved_session_ids"][0]);
        if !is_abstention {
            assert_eq!(row["recall_all@5"], 1.0);
            assert_eq!(row["longmemeval"]["session"]["recall_all@5"], 1.0);
            assert_eq!(row["baselines"]["oracle"]["nDCG@10"], 1.0);
            assert!(row["retrieved_session_ids"][0].as_str().unwrap().starts_with("answer_"));
        }
    }
    // Every line has what evaluate_qa.py looks up before it decides to pass over one.
    assert!(all.iter().all(|row| row["question_id"].is_string()));
}

#[test]
fn concurrency_changes_nothing_but_time() {
    let home = Home::sqlite();
    let file = home.write("lme.json", dataset(12, str::to_owned).to_string());
    let one = longmemeval(&home, &file, &["--concurrency", "1", "--quiet"]);
    let many = longmemeval(&home, &file, &["--concurrency", "7", "--quiet"]);
    assert_eq!(timeless(&one.stdout), timeless(&many.stdout));
}

#[test]
fn ids_are_never_indexed() {
    let home = Home::sqlite();
    let plain = home.write("a.json", dataset(8, str::to_owned).to_string());
    // The new names are words of the questions: were they indexed, they would be found.
    let renamed = |id: &str| format!("coins-harbour-market-{}", id.replace("answer", "Z"));
    let other = home.write("b.json", dataset(8, renamed).to_string());
    let anonymous = |text: &str| {
        let mut rows = timeless(text);
        for row in &mut rows {
            let row = row.as_object_mut().unwrap();
            for key in ["retrieved_session_ids", "prompt_session_ids", "run", "row_hash"] {
                row.remove(key);
            }
            let ranks = row.remove("gold_ranks").unwrap();
            let ranks: Vec<Value> = ranks.as_object().unwrap().values().cloned().collect();
            row.insert("ranks".to_owned(), Value::Array(ranks));
        }
        rows
    };
    let one = longmemeval(&home, &plain, &["--quiet"]);
    let two = longmemeval(&home, &other, &["--quiet"]);
    assert_eq!(anonymous(&one.stdout), anonymous(&two.stdout));
    let turns = ["--granularity", "turn", "--quiet"];
    let one = longmemeval(&home, &plain, &turns);
    let two = longmemeval(&home, &other, &turns);
    let no_turns = |text: &str| {
        let mut rows = anonymous(text);
        for row in &mut rows {
            row.as_object_mut().unwrap().remove("retrieved_turn_ids");
        }
        rows
    };
    assert_eq!(no_turns(&one.stdout), no_turns(&two.stdout));
}

#[test]
fn nothing_leaks_from_question_to_question_or_from_the_users_brain() {
    let home = Home::sqlite();
    home.put("notes/marker", "the zanzibarite marker was mine alone");
    let before = fs::read(home.path().join("brain.db")).unwrap();
    let mut data = dataset(6, str::to_owned);
    data[0]["haystack_sessions"][0][0]["content"] = json!("the zanzibarite marker is here");
    for at in 1..6 {
        data[at]["question"] = json!("where is the zanzibarite marker?");
    }
    let file = home.write("lme.json", data.to_string());
    let ran =
        longmemeval(&home, &file, &["--concurrency", "1", "--keyword-only", "--quiet"]).exits(0);
    let all = rows(&ran.stdout);
    assert!(
        all.iter().skip(1).all(|row| !row["hypothesis"].as_str().unwrap().contains("zanzibarite"))
    );
    assert!(all[0]["hypothesis"].as_str().unwrap().contains("coins") || !ran.stdout.is_empty());
    assert_eq!(before, fs::read(home.path().join("brain.db")).unwrap());
    // A brain that can't be opened does not prevent a benchmark.
    let broken = Home::sqlite();
    broken.write("brain.db", "no database");
    let file = broken.write("lme.json", dataset(2, str::to_owned).to_string());
    assert_eq!(longmemeval(&broken, &file, &["--quiet"]).code, Some(0));
    assert!(!broken.path().join("index").exists());
}

#[test]
fn a_floor_fails_and_says_which_type() {
    let home = Home::sqlite();
    let mut data = dataset(6, str::to_owned);
    // The session that answers is not in the haystack of two questions of one type.
    for at in [1, 4] {
        data[at]["answer_session_ids"] = json!(["answer_missing_1"]);
        data[at]["question_id"] = json!(format!("m{at}"));
    }
    let file = home.write("lme.json", data.to_string());
    let out = home.file("run.jsonl");
    longmemeval(&home, &file, &["--by-type-floor", "0.8", "--output", &out])
        .exits(1)
        .stderr_has("multi-session: 0 of 2");
    assert_eq!(longmemeval(&home, &file, &["--by-type-floor", "1.5"]).code, Some(2));
    assert_eq!(longmemeval(&home, &file, &["--by-type-floor", "NaN"]).code, Some(2));
}

#[test]
fn cut_off_anywhere_and_resumed_it_ends_the_same() {
    let home = Home::sqlite();
    let file = home.write("lme.json", dataset(9, str::to_owned).to_string());
    let out = home.file("run.jsonl");
    let args = ["--by-type", "--quiet", "--output", &out];
    assert_eq!(longmemeval(&home, &file, &args).code, Some(0));
    let whole = fs::read_to_string(&out).unwrap();
    let resume = ["--by-type", "--quiet", "--output", &out, "--resume-from", &out];
    for part in 0..=12 {
        let cut = whole.len() * part / 12;
        fs::write(&out, &whole.as_bytes()[..cut]).unwrap();
        let ran = longmemeval(&home, &file, &resume);
        assert_eq!(ran.code, Some(0), "cut at {cut}: {}", ran.stderr);
        let again = fs::read_to_string(&out).unwrap();
        assert_eq!(timeless(&again), timeless(&whole), "cut at {cut}");
        let summaries = again.lines().filter(|line| line.contains("by_type_summary\",")).count();
        assert_eq!(summaries, 1, "cut at {cut}");
    }
    // Resuming what is whole leaves it as it is, summary and all.
    let before = fs::read_to_string(&out).unwrap();
    assert_eq!(longmemeval(&home, &file, &resume).code, Some(0));
    assert_eq!(fs::read_to_string(&out).unwrap(), before);
}

#[test]
fn killed_and_resumed_it_ends_the_same() {
    let home = Home::sqlite();
    let file = home.write("lme.json", dataset(40, str::to_owned).to_string());
    let whole = home.file("whole.jsonl");
    assert_eq!(longmemeval(&home, &file, &["--by-type", "--output", &whole]).code, Some(0));
    let out = home.file("run.jsonl");
    let args = [
        "eval",
        "longmemeval",
        &file,
        "--retrieval-only",
        "--by-type",
        "--output",
        &out,
        "--resume-from",
        &out,
        "--concurrency",
        "1",
    ];
    for kill in 0..6 {
        let mut child =
            home.command(&args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(40 + 60 * kill));
        let _ = child.kill();
        let _ = child.wait();
    }
    home.ok(&args);
    let read = |path: &str| timeless(&fs::read_to_string(path).unwrap());
    assert_eq!(read(&out), read(&whole));
}

#[test]
fn rows_of_another_run_are_refused_and_failures_are_asked_again() {
    let home = Home::sqlite();
    let file = home.write("lme.json", dataset(4, str::to_owned).to_string());
    let out = home.file("run.jsonl");
    assert_eq!(longmemeval(&home, &file, &["--output", &out, "--quiet"]).code, Some(0));
    let resume = ["--output", &out, "--resume-from", &out, "--quiet"];
    let other = longmemeval(&home, &file, &[&resume[..], &["--top-k", "3"]].concat()).exits(2);
    assert!(other.stderr.contains("another") || other.stderr.contains("run "), "{}", other.stderr);
    let text = fs::read_to_string(&out).unwrap();
    let mut all = rows(&text);
    all[1]["error"] = json!("the model did not answer");
    all[1]["hypothesis"] = json!("");
    let broken: Vec<String> = all.iter().map(Value::to_string).collect();
    fs::write(&out, format!("{}\nnot a row\n", broken.join("\n"))).unwrap();
    longmemeval(&home, &file, &resume).exits(0);
    let again = fs::read_to_string(&out).unwrap();
    assert_eq!(again.lines().next(), Some("not a row"), "lines that are not ours stay");
    let ours: Vec<&str> = again.lines().skip(1).collect();
    assert_eq!(timeless(&ours.join("\n")), timeless(&text));
}

#[test]
fn every_published_format_is_read_and_bad_files_are_reported() {
    let home = Home::sqlite();
    let data = dataset(4, str::to_owned);
    let array = home.write("a.json", data.to_string());
    let lines: Vec<String> = data.as_array().unwrap().iter().map(Value::to_string).collect();
    let lines = home.write("b.jsonl", lines.join("\n"));
    let asked = |file: &str| {
        let ran = longmemeval(&home, file, &["--quiet"]).exits(0);
        let mut rows = timeless(&ran.stdout);
        for row in &mut rows {
            row["run"] = Value::Null;
            row["row_hash"] = Value::Null;
        }
        rows
    };
    assert_eq!(asked(&array), asked(&lines));
    let bad = |name: &str, text: &str, says: &str| {
        let ran = longmemeval(&home, &home.write(name, text), &[]);
        assert_eq!(ran.code, Some(2), "{name}");
        assert!(ran.stderr.contains(says), "{name}: {}", ran.stderr);
        assert!(ran.stdout.is_empty(), "{name}");
    };
    bad("empty.json", "", "no questions");
    bad("none.json", "[]", "no questions");
    bad("cut.json", &data.to_string()[..900], "is the download complete");
    bad("table.csv", "question_id,question", "`q`");
    bad("other.json", r#"[{"a":1}]"#, "question_id");
    let twice = json!([data[0], data[0]]).to_string();
    bad("twice.json", &twice, "a second time");
    longmemeval(&home, "/nowhere.json", &[]).exits(2);
    home.run(&["eval", "longmemeval", &array]).exits(2).stderr_has("--retrieval-only");
}

#[test]
fn the_official_log_has_the_official_shape() {
    let home = Home::sqlite();
    let file = home.write("lme.json", dataset(5, str::to_owned).to_string());
    let log = home.file("log.jsonl");
    for level in ["session", "turn"] {
        let args = ["--retrieval-log", &log, "--granularity", level, "--quiet"];
        assert_eq!(longmemeval(&home, &file, &args).code, Some(0));
        let lines = rows(&fs::read_to_string(&log).unwrap());
        assert_eq!(lines.len(), 5);
        for line in &lines {
            let results = &line["retrieval_results"];
            let item = &results["ranked_items"][0];
            assert!(item["corpus_id"].is_string() && item["text"].is_string(), "{item}");
            assert_eq!(item["timestamp"].as_str().unwrap().len(), 22, "{item}");
            let metrics = &results["metrics"]["session"];
            for name in ["recall_any@1", "recall_all@50", "ndcg_any@10"] {
                assert!(metrics[name].is_number(), "{name} in {metrics}");
            }
            assert_eq!(results["metrics"]["turn"]["recall_any@5"].is_number(), level == "turn");
        }
    }
}

#[test]
fn a_report_says_what_its_numbers_are() {
    let home = Home::sqlite();
    let file = home.write("lme.json", dataset(5, str::to_owned).to_string());
    let out = home.file("run.jsonl");
    let ran = longmemeval(&home, &file, &["--output", &out, "--top-k", "8"]).exits(0);
    for said in [
        "retrieval, not answers: whether any (recall_any@k) or all (recall_all@k) sessions",
        "No answers were judged",
        "unknown file",
        "rankings 50 deep",
        "sha256",
        "5 asked, 4 in the means, 1 left out",
        "8 of 8 sessions a question",
        "abstention",
        "settings",
        "embedder",
        "random",
        "newest_first",
        "oracle",
        "words",
        "k = 8 reaches the smallest haystack",
        "by its formulas",
    ] {
        assert!(ran.stdout.contains(said), "{said:?} is missing in\n{}", ran.stdout);
    }
    longmemeval(&home, &file, &["--title", "LongMemEval score"]).exits(2).stderr_has("score");
}

#[test]
fn a_result_is_reproduced_row_by_row() {
    let home = Home::sqlite();
    let file = home.write("lme.json", dataset(6, str::to_owned).to_string());
    let result = home.file("run.json.gz");
    longmemeval(&home, &file, &["--result", &result, "--quiet", "--set", "pool=60"]).exits(0);
    home.run(&["eval", "reproduce", &result]).exits(0).stdout_has("6 of 6 rows are the same");
    let plain = home.file("run.json");
    longmemeval(&home, &file, &["--result", &plain, "--quiet"]);
    let mut edited: Value = serde_json::from_str(&fs::read_to_string(&plain).unwrap()).unwrap();
    edited["per_question"][2]["retrieved_session_ids"][0] = json!("another session");
    fs::write(&plain, edited.to_string()).unwrap();
    home.run(&["eval", "reproduce", &plain]).exits(2).stderr_has("result_hash");
    fs::write(&plain, resealed(&edited)).unwrap();
    home.run(&["eval", "reproduce", &plain]).exits(1).stdout_has("rank 1");
    let moved = home.write("other.json", dataset(7, str::to_owned).to_string());
    assert_eq!(home.run(&["eval", "reproduce", &plain, "--dataset", &moved]).code, Some(2));
    assert_eq!(home.run(&["eval", "reproduce", &file]).code, Some(2));
}

#[test]
fn a_result_is_gated_and_nothing_wrong_is_green() {
    let home = Home::sqlite();
    let file = home.write("lme.json", dataset(6, str::to_owned).to_string());
    let result = home.file("run.json");
    longmemeval(&home, &file, &["--result", &result, "--quiet"]);
    let gate =
        |floor: &str| home.run(&["eval", "gate", "--result", &result, "--floor", floor]).code;
    assert_eq!(gate("recall_all@5=1.0"), Some(0));
    assert_eq!(gate("nDCG@10=1.0"), Some(0));
    assert_eq!(gate("qa_accuracy=0.1"), Some(2), "nobody measured that");
    assert_eq!(gate("recall_all@5=NaN"), Some(2));
    // Reports that were asked for are written, and those that a result has not are refused.
    let (junit, markdown) = (home.file("gate.xml"), home.file("gate.md"));
    let with = |floor: &str, more: &[&str]| {
        home.run(&[&["eval", "gate", "--result", &result, "--floor", floor][..], more].concat())
            .code
    };
    let reports = ["--junit", &junit, "--markdown", &markdown];
    assert_eq!(with("recall_all@5=1.0", &reports), Some(0));
    assert!(fs::read_to_string(&junit).unwrap().contains("failures=\"0\" errors=\"0\""));
    assert_eq!(with("qa_accuracy=0.1", &reports), Some(2));
    assert!(!fs::read_to_string(&junit).unwrap().contains("errors=\"0\""));
    assert!(fs::read_to_string(&markdown).unwrap().contains("qa_accuracy"));
    assert_eq!(with("recall_all@5=1.0", &["--html", &home.file("gate.html")]), Some(2));
    assert_eq!(with("recall_all@5=1.0", &["--github"]), Some(2));
    let whole = fs::read_to_string(&result).unwrap();
    let edit = |change: &dyn Fn(&mut Value)| {
        let mut value: Value = serde_json::from_str(&whole).unwrap();
        change(&mut value);
        fs::write(&result, value.to_string()).unwrap();
    };
    edit(&|value| value["summary"]["recall_all@5"] = json!(0.95));
    assert_eq!(gate("recall_all@5=1.0"), Some(2), "means that rows do not give");
    edit(&|value| value["per_question"][0]["error"] = json!("no answer"));
    assert_eq!(gate("recall_all@5=1.0"), Some(2), "a question failed");
    edit(&|value| value["per_question"] = json!([]));
    assert_eq!(gate("recall_all@5=1.0"), Some(2), "nothing was measured");
    let mut data = dataset(6, str::to_owned);
    data[1]["answer_session_ids"] = json!(["answer_missing_1"]);
    let worse = home.write("worse.json", data.to_string());
    longmemeval(&home, &worse, &["--result", &result, "--quiet"]);
    assert_eq!(gate("recall_all@5=1.0"), Some(1), "4 of 5 found");
}

#[test]
fn results_and_rows_are_compared() {
    let home = Home::sqlite();
    let file = home.write("lme.json", dataset(6, str::to_owned).to_string());
    let (one, two) = (home.file("one.json"), home.file("two.json.gz"));
    longmemeval(&home, &file, &["--result", &one, "--quiet"]);
    longmemeval(&home, &file, &["--result", &two, "--keyword-only", "--quiet"]);
    let compared = home.json(&["eval", "compare", &one, &two]);
    assert!(compared.to_string().contains("recall_all@5"), "{compared}");
    let deeper = home.file("deep.json");
    longmemeval(&home, &file, &["--result", &deeper, "--top-k", "3", "--quiet"]);
    assert_eq!(home.run(&["eval", "compare", &one, &deeper]).code, Some(2), "unequal k");
}

#[test]
fn collections_run_in_a_brain_of_their_own() {
    let home = Home::sqlite();
    let dir = home.path().join("tiny");
    fs::create_dir_all(dir.join("qrels")).unwrap();
    fs::write(
        dir.join("corpus.jsonl"),
        "{\"_id\":\"MED-1\",\"title\":\"Tides\",\"text\":\"the harbour tide rises at noon\"}\n\
         {\"_id\":\"MED_2\",\"title\":\"\",\"text\":\"bread needs flour and time\"}\n\
         {\"_id\":\"3\",\"title\":\"Empty\",\"text\":\"\"}\n",
    )
    .unwrap();
    fs::write(dir.join("queries.jsonl"), "{\"_id\":\"q1\",\"text\":\"when does the tide rise\"}\n{\"_id\":\"q2\",\"text\":\"flour for bread\"}\n").unwrap();
    fs::write(
        dir.join("qrels/test.tsv"),
        "query-id\tcorpus-id\tscore\nq1\tMED-1\t2\nq2\tMED_2\t1\n",
    )
    .unwrap();
    let dir = dir.to_str().unwrap();
    let found = home.json(&["eval", "beir", dir]);
    assert_eq!(found["summary"]["nDCG@10"], 1.0, "{found}");
    assert_eq!(found["label"]["benchmark"], "beir");
    assert_fields(&found["label"], &json!({ "granularity": "document", "depth": 100 }));
    assert_eq!(found["summary"]["AP@100"], 1.0, "AP is of the 100 documents that are kept");
    assert_eq!(found["summary"].get("AP"), None);
    let headline = found["headline"].as_str().unwrap();
    assert!(headline.contains("of documents, rankings 100 deep"), "{headline}");
    // Text is a summary; rows go to a file.
    let rows = home.path().join("rows.jsonl");
    for more in [&[][..], &["--output", rows.to_str().unwrap()]] {
        let summary = home.ok(&[&["eval", "beir", dir], more].concat());
        assert!(summary.contains("nDCG@10") && !summary.contains("{\""), "{summary}");
    }
    assert_eq!(fs::read_to_string(&rows).unwrap().lines().count(), 2);
    let trec = home.json(&[
        "eval",
        "trec",
        "--corpus",
        &format!("{dir}/corpus.jsonl"),
        "--queries",
        &format!("{dir}/queries.jsonl"),
        "--qrels",
        &format!("{dir}/qrels/test.tsv"),
        "--keyword-only",
    ]);
    assert_eq!(trec["summary"]["nDCG@10"], 1.0);
    assert_eq!(trec["per_question"][1]["retrieved_session_ids"][0], "MED_2");
    assert!(home.ok(&["eval", "datasets"]).contains("LongMemEval"));
    assert_eq!(home.run(&["eval", "beir", home.path().to_str().unwrap()]).code, Some(2));
}

/// Conversations that may not be shipped, read where they are.
#[test]
fn locomo_runs_whole() {
    let Some(data) = std::env::var_os("GBRAIN_TEST_DATA") else {
        eprintln!("skipped: GBRAIN_TEST_DATA is not set");
        return;
    };
    let file = PathBuf::from(data).join("locomo/dev5.json");
    let home = Home::sqlite();
    let file = file.to_str().unwrap();
    let found = home.json(&["eval", "locomo", file, "--keyword-only", "--limit", "120"]);
    assert_eq!(found["counts"]["asked"], 120);
    assert!(found["summary"]["recall_all@5"].as_f64().unwrap() > 0.7, "{}", found["summary"]);
}
