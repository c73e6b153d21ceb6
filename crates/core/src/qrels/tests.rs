use super::*;

fn parse(text: &str) -> Result<Qrels, QrelsError> {
    Qrels::parse(text.as_bytes())
}

fn docs(query: &JudgedQuery) -> Vec<(&str, f64)> {
    query.judgements.iter().map(|j| (j.doc.as_str(), j.grade)).collect()
}

const GATE: &str = r#"{"schema_version":1,"_description":"synthetic","queries":[
 {"query_id":"q1","query":"payments founder","relevant_slugs":["people/alice-example"],"first_relevant_slug":"people/alice-example","embedding_dim":0},
 {"query":"team plan","relevant":[{"source_id":"team","slug":"notes/plan"}],"expected_top1":{"source_id":"team","slug":"notes/plan"},
  "relevant_slugs":["ignored"],"label":"plans","tags":["a"],"grades":{"team::notes/plan":3}}]}"#;

#[test]
fn the_gate_shape() {
    for text in [GATE.to_owned(), format!("\u{feff}{}", GATE.replace('\n', "\r\n"))] {
        let qrels = parse(&text).unwrap();
        assert_eq!(qrels.shape, QrelsFormat::Gate);
        assert_eq!(qrels.lints, []);
        let [first, second] = &qrels.queries[..] else { panic!("{qrels:?}") };
        assert_eq!((first.id.as_str(), second.id.as_str()), ("q1", "entry-1"));
        assert_eq!(docs(first), [("default::people/alice-example", 1.0)]);
        assert_eq!(first.expected_top1.as_deref(), Some("default::people/alice-example"));
        assert_eq!(first.embedding_dim, Some(0));
        assert_eq!(docs(second), [("team::notes/plan", 3.0)]);
        assert_eq!(second.expected_top1.as_deref(), Some("team::notes/plan"));
        let segment = second.segment.as_deref().unwrap();
        assert_eq!(
            (segment.label.as_deref(), segment.tags.as_slice()),
            (Some("plans"), &["a".to_owned()][..])
        );
        assert_eq!(first.segment, None);
    }
}

#[test]
fn the_legacy_shape_bare_and_wrapped() {
    let list = r#"[{"query":"payments founder","relevant":["people/a","people/b"],"grades":{"people/a":3}}]"#;
    for text in [list.to_owned(), format!(r#"{{"version":1,"queries":{list}}}"#)] {
        let qrels = parse(&text).unwrap();
        assert_eq!((qrels.shape, qrels.queries[0].id.as_str()), (QrelsFormat::Legacy, "entry-0"));
        let expected = [("default::people/a", 3.0), ("default::people/b", 1.0)];
        assert_eq!(docs(&qrels.queries[0]), expected);
    }
}

#[test]
fn lines_of_trec_and_beir() {
    for text in [
        "# remark\n1 0 a 2\n2 0 c 0\n\n1 Q0 b -1\n",
        "\u{feff}1\t0\ta\t2\r\n2\t0\tc\t0\r\n1\t0\tb\t-1\r\n",
        "query-id\tcorpus-id\tscore\n1\ta\t2\n2\tc\t0\n1\tb\t-1",
        "query-id\tcorpus-id\tscore\r\n1\ta\t2\r\n2\tc\t0\r\n1\tb\t-1.0\r\n",
    ] {
        let qrels = parse(text).unwrap();
        assert_eq!(docs(&qrels.queries[0]), [("a", 2.0), ("b", -1.0)], "{text}");
        assert_eq!(docs(&qrels.queries[1]), [("c", 0.0)]);
        assert_eq!(qrels.lints, [QrelsWarning::NothingRelevant { queries: vec!["2".to_owned()] }]);
    }
    assert_eq!(parse("1\ta\t2").unwrap().lints, [QrelsWarning::NoHeader]);
}

#[test]
fn the_same_twice_counts_once_and_different_grades_are_refused() {
    let qrels = parse("1 0 a 1\n1 0 b 1\n1 0 a 1\n").unwrap();
    assert_eq!(docs(&qrels.queries[0]), [("a", 1.0), ("b", 1.0)]);
    assert_eq!(
        qrels.lints,
        [QrelsWarning::JudgedAgain { query: "1".to_owned(), doc: "a".to_owned() }]
    );
    let error = parse("1 0 a 1\n1 0 a 2\n").unwrap_err();
    assert_eq!(error.to_string(), "query `1` judges `a` both 1 and 2; keep one of them");
}

#[test]
fn a_bare_slug_and_its_whole_name_are_one_page() {
    let graded = |grade: u8| {
        let grades = format!(r#"{{"a":1,"default::a":{grade}}}"#);
        parse(&format!(r#"[{{"query":"q","relevant":["a"],"grades":{grades}}}]"#))
    };
    assert_eq!(docs(&graded(1).unwrap().queries[0]), [("default::a", 1.0)]);
    assert!(matches!(graded(2), Err(QrelsError::JudgedTwice { .. })), "{:?}", graded(2));
}

#[test]
fn refusals_name_the_line_and_the_remedy() {
    let gate = |entries: &str| format!(r#"{{"schema_version":1,"queries":[{entries}]}}"#);
    let fine = r#"{"query_id":"x","query":"a","relevant_slugs":["s"]}"#;
    for (text, expected) in [
        ("".to_owned(), "the qrels file is empty; judge at least one query"),
        (" \r\n\t".to_owned(), "the qrels file is empty; judge at least one query"),
        ("{".to_owned(), "line 1 is not valid JSON"),
        (
            r#"{"schema_version":2,"queries":[]}"#.to_owned(),
            "schema_version is 2; this program reads version 1",
        ),
        (format!(r#"{{"queries":[{fine}]}}"#), "schema_version is missing; "),
        (gate(""), "there is no query"),
        (r#"{"schema_version":1}"#.to_owned(), "there is no query"),
        ("[]".to_owned(), "there is no query"),
        (
            gate(&format!(r#"{fine},{{"query":" ","relevant_slugs":["s"]}}"#)),
            "entry 1 of `queries`: `query` is blank",
        ),
        (gate(r#"{"query":"a","relevant_slugs":[]}"#), "entry 0 of `queries`: nothing is relevant"),
        (gate(r#"{"query":"a"}"#), "entry 0 of `queries`: nothing is relevant"),
        (gate(r#"{"query":3,"relevant_slugs":["s"]}"#), "entry 0 of `queries`: invalid type"),
        (
            gate(r#"{"query":"a","relevant_slugs":[""]}"#),
            "entry 0 of `queries`: a relevant page has a blank slug",
        ),
        (gate(&format!("{fine},{fine}")), "entry 1 repeats query_id `x`"),
        (
            gate(r#"{"query":"a","relevant_slugs":["s"],"grades":{"s":"NaN"}}"#),
            "entry 0 of `queries`: grade \"NaN\" of `default::s` is not a finite number",
        ),
        (
            gate(r#"{"query":"a","relevant_slugs":["s"],"grades":{"s":NaN}}"#),
            "line 1 is not valid JSON",
        ),
        (
            r#"[{"query":"a","relevant":[]}]"#.to_owned(),
            "entry 0 of `queries`: nothing is relevant",
        ),
        (
            "1 0 a 1\n1 0 b\n".to_owned(),
            "line 2: `1 0 b`: expected `query iteration document grade`",
        ),
        ("1 0 a 1 junk\n".to_owned(), "line 1: `1 0 a 1 junk`: expected"),
        ("1 0 a 1\n1 0 b nan\n".to_owned(), "line 2: grade nan of `b` is not a finite number"),
        (
            "query-id\tcorpus-id\tscore\n1\ta\tx".to_owned(),
            "line 2: grade x of `a` is not a finite number",
        ),
        (
            "1 0 a 1\n1 0 b 0.5\n".to_owned(),
            "line 2: grade 0.5 of `b` is not a whole number; trec_eval would read it as 0",
        ),
        (
            "query-id\tcorpus-id\tscore\n1\ta\t1.7".to_owned(),
            "line 2: grade 1.7 of `a` is not a whole number; trec_eval would read it as 1",
        ),
        (
            gate(r#"{"query":"a","relevant_slugs":["s"],"grades":{"s":0.5}}"#),
            "entry 0 of `queries`: grade 0.5 of `default::s` is not a whole number",
        ),
        ("query-id\tcorpus-id\tscore\n".to_owned(), "there is no query"),
        ("hello".to_owned(), "line 1: `hello`: expected"),
    ] {
        let error = parse(&text).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{text}: {error}");
    }
    let error = Qrels::parse(b"1 0 \xff 1\n").unwrap_err().to_string();
    assert_eq!(error, "byte 4 is not UTF-8; save the file as UTF-8");
}

#[test]
fn unusual_judgements_are_reported() {
    let text = r#"{"schema_version":1,"nots":1,"queries":[
        {"query_id":"x","query":"a","relevant_slugs":["s","t"],"first_relevant_slug":"u","extra":1,"_why":"",
         "grades":{"s":0,"v":2}},
        {"query_id":"y","query":"a","relevant_slugs":["s"]}]}"#;
    let qrels = parse(text).unwrap();
    let kinds: Vec<&str> = qrels.lints.iter().map(QrelsWarning::kind).collect();
    let expected = [
        "unknown_key",
        "top_not_relevant",
        "unknown_key",
        "only_graded",
        "graded_away",
        "same_text",
    ];
    assert_eq!(kinds, expected);
    assert!(qrels.lints.iter().all(|lint| !lint.to_string().is_empty()));
}

#[test]
fn beir_folders_have_texts_and_ids() {
    let texts = queries_of_jsonl(b"\xef\xbb\xbf{\"_id\":\"1\",\"text\":\"who?\"}\r\n\n").unwrap();
    let qrels = parse("1\ta\t1\n2\tb\t1").unwrap().with_texts(texts);
    assert_eq!(qrels.queries[0].text.as_deref(), Some("who?"));
    assert_eq!(qrels.lints[1], QrelsWarning::NoText { queries: vec!["2".to_owned()] });
    let corpus = b"{\"_id\":\"a\",\"title\":\"\",\"text\":\"x\",\"metadata\":{}}\n{\"_id\":\"b\",\"text\":\"\"}";
    assert_eq!(corpus_ids(corpus).unwrap(), ["a", "b"]);
    let error = corpus_ids(b"{\"_id\":\"a\"}\n{}").unwrap_err().to_string();
    assert!(error.starts_with("line 2: missing field `_id`"), "{error}");
}

#[test]
fn query_texts_are_distinguished() {
    let check = |text: &str, expected: &str| {
        let error = queries_of_jsonl(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    let row = r#"{"_id":"q","text":"who?"}"#;
    check(&format!("{row}\n\n{row}"), "line 3: `_id` `q` stands a second time");
    check(r#"{"_id":" ","text":"who?"}"#, "line 1: `_id` is blank");
    check(r#"{"_id":"q","text":" "}"#, "line 1: `text` of `q` is blank");
    check(&format!("{row}\n{{"), "line 2: EOF while parsing an object at column 1");
}

#[test]
fn trec_lines_are_read_back() {
    let qrels = parse("1 0 a 2\n1 0 b -1\n2 0 c 3.0\n").unwrap();
    let text = trec_qrels(&qrels).unwrap();
    assert_eq!(text, "1 0 a 2\n1 0 b -1\n2 0 c 3\n");
    assert_eq!(parse(&text).unwrap(), qrels);
    let spaced = parse("query-id\tcorpus-id\tscore\n1\ta b\t1").unwrap();
    let error = trec_qrels(&spaced).unwrap_err().to_string();
    assert!(error.starts_with("document id \"a b\" holds whitespace"), "{error}");
}
