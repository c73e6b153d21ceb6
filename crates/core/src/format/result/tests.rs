use super::*;
use crate::compare::{CompareOptions, compare};

fn read_one(text: &str) -> Result<ResultTable, ResultError> {
    read("file", text.as_bytes(), None)
}

fn names(measured: &ResultTable) -> Vec<&str> {
    measured.columns.iter().map(|column| column.measure.as_str()).collect()
}

#[test]
fn replays() {
    let row = r#"{"tool_name":"query","query":"a","query_hash":"h","jaccard":0.5,"top1Match":true,"rbo":0.4,
        "kendall_tau":null,"captured_slugs":["x"],"current_slugs":["x"],"current_latency_ms":3.0}"#;
    let failed = r#"{"tool_name":"query","query":"b","query_hash":"i","errored":true}"#;
    let text = format!(
        r#"{{"schema_version":1,"summary":{{"rows_replayed":2}},"results":[{row},{row},{failed}]}}"#
    );
    let found = read_one(&text).unwrap();
    assert_eq!(found.kind, EvalResultKind::Replay);
    assert_eq!(names(&found), ["jaccard", "top1Match", "rbo", "kendall_tau", "current_latency_ms"]);
    assert_eq!(found.rows[0].values, [Some(0.5), Some(1.0), Some(0.4), None, Some(3.0)]);
    assert_eq!(found.rows[1].key, "query h#2");
    assert_eq!(found.rows[2].values, [None; 5]);
    assert!(found.rows[0].is_answered && !found.rows[2].is_answered);
    let bare = r#"{"schema_version":1,"summary":{"rows_replayed":2}}"#;
    let error = read_one(bare).unwrap_err().to_string();
    assert_eq!(error, "`file` is replay output without its rows; make it again with --verbose");
}

#[test]
fn gates() {
    let text = r#"{"schema_version":1,"verdict":"pass","regression_gate":{"ran":true,"results":[
        {"tool_name":"query","query":"a","query_hash":"h","jaccard":1.0,"top1Match":null,"rbo":1.0,
         "captured_slugs":[],"current_slugs":[]}]},
      "correctness_gate":{"ran":true,"pipeline":"fixed","summary":{"k":3},"results":[
        {"query_id":"q1","query":"b","relevant":["x"],"recall_at_k":0.5,"first_relevant_hit":true,
         "expected_top1_hit":null}]}}"#;
    let found = read_one(text).unwrap();
    assert_eq!(
        found.conditions,
        [("k".to_owned(), "3".to_owned()), ("pipeline".to_owned(), "fixed".to_owned())]
    );
    // Two empty rankings are equal, but no evidence.
    assert_eq!(found.rows[0].values, [None; 7]);
    assert_eq!(found.rows[1].values, [None, None, None, None, Some(0.5), Some(1.0), None]);
}

#[test]
fn scores_and_runs_agree() {
    let scores = r#"{"schema_version":1,"summary":{"P@1":0.5,"RR":0.75},"counts":{"judged_queries":2,"judgements":2},
        "per_query":[{"query_id":"1","retrieved":1,"scores":{"P@1":1.0,"RR":1.0}},
                     {"query_id":"2","retrieved":2,"scores":{"P@1":0.0,"RR":0.5}}]}"#;
    let scores = read_one(scores).unwrap();
    let qrels = Qrels::parse(b"1 0 a 1\n2 0 b 1\n").unwrap();
    let measures = Measure::parse_list("P@1 RR").unwrap();
    let judge = Judge { qrels: &qrels, measures: &measures };
    let run = "1 Q0 a 1 1 t\n2 Q0 x 1 2 t\n2 Q0 b 2 1 t\n";
    let run = read("run", run.as_bytes(), Some(judge)).unwrap();
    assert_eq!((scores.kind, run.kind), (EvalResultKind::Scores, EvalResultKind::Run));
    let values =
        |measured: &ResultTable| measured.rows.iter().map(|r| r.values.clone()).collect::<Vec<_>>();
    assert_eq!((names(&scores), values(&scores)), (names(&run), values(&run)));
    assert!(
        compare(&scores, &[run], &CompareOptions { is_forced: true, ..CompareOptions::default() })
            .is_err()
    );
}

#[test]
fn runs_need_judgements_and_report_missing_queries() {
    let ndjson = r#"{"query_id":"1","retrieved":[{"slug":"a"}]}"#;
    assert!(matches!(read_one(ndjson), Err(ResultError::NoQrels { .. })));
    let qrels = Qrels::parse(b"1 0 default::a 1\n2 0 default::b 1\n").unwrap();
    let measures = Measure::parse_list("recall_any@5").unwrap();
    let judge = Judge { qrels: &qrels, measures: &measures };
    let found = read("run", ndjson.as_bytes(), Some(judge)).unwrap();
    assert_eq!(found.columns[0].role, MeasureRole::Binary);
    assert_eq!(found.notes, ["1 judged queries are not ranked and count 0"]);
}

#[test]
fn benchmarks() {
    let text = "{\"question_id\":\"1\",\"question\":\"who?\",\"recall_hit\":true,\"rank\":3,\"scores\":{\"mrr\":0.5}}\n\
                {\"question_id\":\"2\",\"question\":\"what?\",\"recall_hit\":false,\"rank\":1,\"scores\":{\"mrr\":1}}\n\
                {\"kind\":\"by_type_summary\",\"k\":10}\n";
    let found = read_one(text).unwrap();
    assert_eq!(found.kind, EvalResultKind::Benchmark);
    assert_eq!(names(&found), ["mrr", "recall_hit"]);
    assert_eq!(found.rows[0].values, [Some(0.5), Some(1.0)]);
    assert_eq!(found.conditions, [("k".to_owned(), "10".to_owned())]);
}

#[test]
fn other_files_are_refused() {
    for (text, expected) in [
        ("", "`file` is empty"),
        ("{\"a\":1}", "`file` is a JSON object of `a`"),
        ("{\"a\":1}\nnonsense", "`file` is neither JSON nor NDJSON: line 2 is not an object"),
        ("3 fields only", "`file` is not a run"),
        (
            "{\"schema_version\":2,\"regression_gate\":{}}",
            "`file` is gate output of schema_version 2",
        ),
        (
            "{\"query\":\"a\",\"retrieved_slugs\":[]}\n{\"query\":\"b\",\"retrieved_slugs\":[]}",
            "`file` is captures",
        ),
    ] {
        let error = read_one(text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

fn refused(text: &str, expected: &str) {
    let error = read_one(text).unwrap_err().to_string();
    assert!(error.contains(expected), "{expected}: {error}");
}

#[test]
fn scores_that_no_run_gives() {
    let file = |summary: &str, rows: &[(&str, &str)]| {
        let row = |(id, value): &(&str, &str)| {
            format!(r#"{{"query_id":"{id}","retrieved":1,"scores":{{"nDCG@10":{value}}}}}"#)
        };
        let rows: Vec<String> = rows.iter().map(row).collect();
        format!(
            r#"{{"schema_version":1,"summary":{{"nDCG@10":{summary}}},"counts":{{"judged_queries":2}},
                "per_query":[{}]}}"#,
            rows.join(",")
        )
    };
    assert!(read_one(&file("0.75", &[("a", "1"), ("b", "0.5")])).is_ok());
    // Rounded as printed.
    assert!(read_one(&file("0.6667", &[("a", "1"), ("b", "1"), ("c", "0")])).is_ok());
    refused(&file("0.5", &[("a", "0"), ("a", "1")]), "`query_id` \"a\" occurs twice");
    refused(&file("5", &[("a", "5"), ("b", "5")]), "is 5, expected 0 to 1");
    refused(&file("-1", &[("a", "-1"), ("b", "-1")]), "is -1, expected 0 to 1");
    refused(&file("1", &[("a", "0"), ("b", "0")]), "says nDCG@10 1.0000, and its rows give 0.0000");
    refused(&file("null", &[("a", "0"), ("b", "0")]), "says nDCG@10 none");
    refused(&file("1", &[("a", "\"NaN\""), ("b", "1")]), "which is not a number");
    refused(&file("0", &[("a", "null"), ("b", "null")]), "its rows give none");
}

#[test]
fn replays_and_gates_that_no_run_gives() {
    let row = |line: usize, jaccard: &str, latency: &str| {
        format!(
            r#"{{"line":{line},"tool_name":"query","query":"q{line}","query_hash":"h{line}",
                "jaccard":{jaccard},"top1Match":true,"rbo":1.0,"kendall_tau":-1.0,"captured_slugs":["x"],
                "current_slugs":["x"],"current_latency_ms":{latency}}}"#
        )
    };
    let file = |mean: &str, rows: &[String]| {
        let rows = rows.join(",");
        let summary = format!(r#"{{"rows_replayed":2,"mean_jaccard":{mean}}}"#);
        let replay = format!(r#"{{"schema_version":1,"summary":{summary},"results":[{rows}]}}"#);
        let gate = format!(
            r#"{{"schema_version":1,"regression_gate":{{"ran":true,"summary":{summary},"results":[{rows}]}}}}"#
        );
        [replay, gate]
    };
    for text in file("0.75", &[row(1, "1", "3"), row(2, "0.5", "3")]) {
        assert!(read_one(&text).is_ok());
    }
    for text in file("7", &[row(1, "7", "3"), row(2, "7", "3")]) {
        refused(&text, "is 7, expected 0 to 1");
    }
    for text in file("1", &[row(1, "1", "3"), row(1, "1", "3")]) {
        refused(&text, "`line` 1 occurs twice");
    }
    for text in file("1", &[row(1, "0", "3"), row(2, "0", "3")]) {
        refused(&text, "says jaccard 1.0000, and its rows give 0.0000");
    }
    refused(&file("1", &[row(1, "1", "-3")])[0], "is -3, expected 0 or more");
}

#[test]
fn judged_queries_that_no_gate_gives() {
    let file = |mean: &str, ids: [&str; 2], recall: &str| {
        let row = |id: &str| {
            format!(
                r#"{{"query_id":"{id}","query":"q","relevant":["x"],"recall_at_k":{recall},
                    "first_relevant_hit":true,"expected_top1_hit":null}}"#
            )
        };
        format!(
            r#"{{"schema_version":1,"correctness_gate":{{"ran":true,"summary":{{"k":3,
                "mean_recall_at_k":{mean}}},"results":[{},{}]}}}}"#,
            row(ids[0]),
            row(ids[1])
        )
    };
    assert!(read_one(&file("0.5", ["a", "b"], "0.5")).is_ok());
    refused(&file("0.5", ["a", "a"], "0.5"), "occurs twice");
    refused(&file("2", ["a", "b"], "2"), "expected 0 to 1");
    refused(&file("0.9", ["a", "b"], "0.5"), "its rows give 0.5000");
}

#[test]
fn benchmarks_that_no_run_gives() {
    let row = |id: &str, value: &str| {
        format!(r#"{{"question_id":"{id}","recall_hit":true,"recall_all@5":{value}}}"#)
    };
    let lines = |rows: &[String]| rows.join("\n");
    assert!(read_one(&lines(&[row("a", "1"), row("b", "0.5")])).is_ok());
    refused(&lines(&[row("a", "0"), row("a", "1")]), "`question_id` \"a\" occurs twice");
    refused(&lines(&[row("a", "5"), row("b", "1")]), "`recall_all@5` of `a` is 5");
    let document = |mean: &str| {
        format!(
            r#"{{"summary":{{"recall_all@5":{mean}}},"per_question":[{},{}]}}"#,
            row("a", "1"),
            row("b", "0")
        )
    };
    assert!(read_one(&document("0.5")).is_ok());
    refused(&document("1.0"), "its rows give 0.5000");
}

fn refusing(text: &str) -> ResultError {
    let mut meter = ReadingMeter::new(&|_| false, &|| false);
    read_metered("file", text.as_bytes(), None, &mut meter).unwrap_err()
}

#[test]
fn too_many_measures_are_refused_before_a_table_is_made() {
    let rows: Vec<String> = (0..1200).map(|at| format!(r#"{{"id":{at},"k{at}":1}}"#)).collect();
    let error = read_one(&format!("[{}]", rows.join(","))).unwrap_err().to_string();
    assert_eq!(error, "`file` has 1200 measures, at most 1000 are read");
    let means: Vec<String> = (0..1200).map(|at| format!(r#""k{at}":1"#)).collect();
    let scores = |measures: usize| {
        let means = means[..measures].join(",");
        format!(r#"{{"schema_version":1,"summary":{{{means}}},"per_query":[{{}},{{}}]}}"#)
    };
    let error = read_one(&scores(1200)).unwrap_err().to_string();
    assert_eq!(error, "`file` has 1200 measures, at most 1000 are read");
    let keys: String = (0..10_100).map(|at| format!(r#""k{at}":"","#)).collect();
    let error = read_one(&format!(r#"[{{{keys}"id":1,"a":1}}]"#)).unwrap_err().to_string();
    assert!(error.contains("different keys, at most 10000 are read"), "{error}");
    let refused = refusing(&scores(900));
    assert_eq!(refused.to_string(), "`file` has 2 rows and 900 measures");
    assert_eq!(refused.meter_error(), Some(ReadingMeterError::NoMemory));
}

#[test]
fn memory_is_counted_for_every_kind() {
    let replay = r#"{"schema_version":1,"summary":{"rows_replayed":1},"results":[{"query":"a"}]}"#;
    let gate =
        r#"{"schema_version":1,"correctness_gate":{"ran":true,"results":[{"query_id":"a"}]}}"#;
    let run = r#"{"query_id":"q","retrieved":[{"slug":"a"}]}"#;
    for text in [replay, gate, run, r#"[{"id":1,"a":1}]"#, "q 0 d 1 1 t\n"] {
        assert_eq!(refusing(text).meter_error(), Some(ReadingMeterError::NoMemory), "{text}");
    }
}

#[test]
fn reading_a_result_stops() {
    let rows: Vec<String> = (0..50).map(|at| format!(r#"{{"id":{at},"a":0.5}}"#)).collect();
    let lines = rows.join("\n");
    let mut calls = 0;
    loop {
        let left = std::cell::Cell::<usize>::new(calls);
        let is_stopped = || left.replace(left.get().wrapping_sub(1)) == 0;
        let mut meter = ReadingMeter::new(&|_| true, &is_stopped);
        match read_metered("file", lines.as_bytes(), None, &mut meter) {
            Ok(measured) => break assert_eq!(measured.rows.len(), 50),
            Err(error) => assert_eq!(error.meter_error(), Some(ReadingMeterError::Stopped)),
        }
        calls += 1;
    }
    // One call per line, and per row when keys are collected, the row is read and values are checked.
    assert!(calls >= 4 * 50, "the meter was called only {calls} times");
}

/// A row is scanned once for all columns.
#[test]
fn a_row_of_many_fields_is_read_soon() {
    let fields =
        |value: &str| -> String { (0..9_000).map(|at| format!(r#""k{at}":{value},"#)).collect() };
    let measures: String = (0..900).map(|at| format!(r#""m{at}":1,"#)).collect();
    let text: Vec<String> =
        (0..20).map(|at| format!(r#"{{{}{measures}"id":{at}}}"#, fields(r#""""#))).collect();
    let measured = read_one(&format!("[{}]", text.join(","))).unwrap();
    assert_eq!((measured.columns.len(), measured.rows.len()), (900, 20));
    assert!(measured.rows.iter().all(|row| row.values.iter().all(|value| *value == Some(1.0))));
}
