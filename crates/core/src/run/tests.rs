use super::*;

fn docs<'r>(run: &'r Run<'_>, query: &str) -> Vec<&'r str> {
    run.ranking(query).unwrap().iter().map(|hit| hit.doc.as_ref()).collect()
}

fn error(text: &str) -> String {
    Run::parse(text.as_bytes()).unwrap_err().to_string()
}

#[test]
fn order_is_by_score_then_by_document_and_never_by_rank() {
    let text = "# remark\n1 Q0 a 1 1.0 t\n1\tQ0\tb\t2\t2.5\tt junk after\r\n\n1 Q0 c 3 1.0 t\n2 Q0 a 1 -3 t";
    let run = Run::parse(text.as_bytes()).unwrap();
    assert_eq!(docs(&run, "1"), ["b", "c", "a"]);
    assert_eq!(docs(&run, "2"), ["a"]);
    assert_eq!((run.len(), run.hits(), run.ordered_by), (2, 4, OrderedBy::Score));
    assert_eq!(run.ranking("3"), None);
}

#[test]
fn near_ties_are_distinguished_as_doubles() {
    let order = |a: &str, b: &str| {
        let text = format!("1 Q0 a 1 {a} t\n1 Q0 b 2 {b} t\n");
        let run = Run::parse(text.as_bytes()).unwrap();
        docs(&run, "1").concat()
    };
    // One 32-bit float, two doubles.
    assert_eq!(order("0.12345678902", "0.12345678901"), "ab");
    assert_eq!(order("0.12345678901", "0.12345678902"), "ba");
    assert_eq!(order("16777217", "16777216"), "ab");
    assert_eq!(order("1e39", "1e38"), "ab");
    // One double: the id decides.
    assert_eq!(order("0.1", "0.1000000000000000055"), "ba");
    let rows = r#"{"query_id":"q","retrieved":[{"slug":"a","score":0.12345678902}]}"#;
    let run = Run::parse(rows.as_bytes()).unwrap();
    assert_eq!(run.ranking("q").unwrap()[0].score, Some(0.12345678902));
}

#[test]
fn queries_may_be_scattered_and_ids_may_begin_alike() {
    let text =
        "1 Q0 a 1 9 t\n11 Q0 b 1 9 t\n1 Q0 c 2 10 t\n11 Q0 d 2 8 t\n2 Q0 e 1 1 t\n1 Q0 f 3 1 t";
    let run = Run::parse(text.as_bytes()).unwrap();
    assert_eq!(docs(&run, "1"), ["c", "a", "f"]);
    assert_eq!(docs(&run, "11"), ["b", "d"]);
    assert_eq!(docs(&run, "2"), ["e"]);
    let order: Vec<&str> = run.rankings().map(|(query, _)| query).collect();
    assert_eq!(order, ["1", "11", "2"]);
}

#[test]
fn refusals_name_the_line() {
    assert_eq!(
        error("1 Q0 a 1 1 t\n1 Q0 a 2 0 t"),
        "query `1` retrieves `a` twice; keep its best rank"
    );
    assert_eq!(
        error("1 Q0 a 1 1 t\n\n1 Q0 b 1 nan t"),
        "line 3: score `nan` is not a finite number"
    );
    assert_eq!(error("1 Q0 b 1 inf t"), "line 1: score `inf` is not a finite number");
    assert_eq!(error("1 Q0 b 1 1e309 t"), "line 1: score `1e309` is not a finite number");
    assert_eq!(error("1 Q0 b 1 x t"), "line 1: score `x` is not a finite number");
    let expected = "line 2 has 5 of 6 fields; expected `query Q0 document rank score tag`";
    assert_eq!(error("1 Q0 a 1 1 t\n1 Q0 b 2 1\n1 Q0 c 3 1 t"), expected);
    assert_eq!(error("1"), "line 1 has 1 of 6 fields; expected `query Q0 document rank score tag`");
    assert_eq!(
        Run::parse(b"1 Q0 \xff").unwrap_err().to_string(),
        "byte 5 is not UTF-8; save the file as UTF-8"
    );
}

#[test]
fn nothing_is_a_run_without_queries() {
    for text in ["", "\u{feff}", " \r\n\n", "# remark"] {
        assert!(Run::parse(text.as_bytes()).unwrap().is_empty(), "{text:?}");
    }
}

#[test]
fn our_rows_keep_their_order() {
    let text = r#"{"_kind":"run_metadata"}
        {"query_id":"q 1","retrieved":[{"source_id":"team","slug":"b","score":0.5},{"slug":"a","score":0.75},{"slug":"a"}]}
        {"query_id":"q2","retrieved":[]}"#;
    let run = Run::parse(text.as_bytes()).unwrap();
    assert_eq!(docs(&run, "q 1"), ["team::b", "default::a"]);
    assert_eq!(docs(&run, "q2"), [""; 0]);
    assert_eq!((run.repeated, run.ordered_by), (1, OrderedBy::Position));
    let twice = r#"{"query_id":"q","retrieved":[]}"#;
    assert_eq!(
        error(&format!("{twice}\n{twice}")),
        "query `q` has two rows; a run ranks a query once"
    );
    let newer = r#"{"schema_version":2,"query_id":"q","retrieved":[]}"#;
    assert_eq!(error(newer), "line 1 is not a run row: schema_version is 2; this program reads 1");
    assert!(error("{}").starts_with("line 1 is not a run row: missing field"));
}

#[test]
fn written_runs_are_read_back_in_order() {
    let text = "1 Q0 a 1 1.5 t\n1 Q0 b 2 0.1 t\n";
    let run = Run::parse(text.as_bytes()).unwrap();
    assert_eq!(trec_run(&run, "t").unwrap(), text);
    let rows =
        r#"{"query_id":"q","retrieved":[{"slug":"a","score":0.5},{"slug":"b","score":0.75}]}"#;
    let lines = trec_run(&Run::parse(rows.as_bytes()).unwrap(), "t").unwrap();
    assert_eq!(lines, "q Q0 default::a 1 2 t\nq Q0 default::b 2 1 t\n");
    let spaced = r#"{"query_id":"q","retrieved":[{"slug":"a b"}]}"#;
    let refused = trec_run(&Run::parse(spaced.as_bytes()).unwrap(), "t").unwrap_err();
    assert_eq!(refused.id, "default::a b");
}
