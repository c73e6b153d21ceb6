//! `gbrain eval score`: outputs, errors and exit codes.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{Home, Ran};

const QRELS: &str = "1 0 a 2\n1 0 b 1\n2 0 c 1\n";
const RUN: &str = "1 Q0 b 1 3 t\n1 Q0 x 2 2 t\n1 Q0 a 3 1 t\n3 Q0 a 1 1 t\n";

/// Scores one text against another.
fn score(home: &Home, qrels: &str, run: &str, more: &[&str]) -> Ran {
    let write = |name: &str, text: &str| home.write(name, text);
    let (qrels, run) = (write("qrels", qrels), write("run", run));
    let args = ["eval", "score", "--qrels", &qrels, "--run", &run];
    home.run(&args.iter().chain(more).copied().collect::<Vec<_>>())
}

#[test]
fn means_are_a_table_and_warnings_are_talk() {
    let home = Home::sqlite();
    let ran = score(&home, QRELS, RUN, &["--measures", "RR AP nDCG@10"]).exits(0);
    insta::assert_snapshot!(ran.stdout, @r"
    measure  mean
    RR       0.5000
    AP       0.4167
    nDCG@10  0.3801

    over 2 queries; 4 hits, 2 of them judged
    ");
    insta::assert_snapshot!(ran.stderr, @r"
    warning: judged queries that are not in the run: 1 of 2
    warning: queries of the run that are not judged and do not count: 1
    ");
}

#[test]
fn per_query_scores_are_printed_on_request() {
    let home = Home::sqlite();
    let ran = score(&home, QRELS, RUN, &["--measures", "RR,R@2", "--per-query", "--quiet"]);
    insta::assert_snapshot!(ran.stdout, @r"
    query  hits     RR      R@2
    1      3        1.0000  0.5000
    2      missing  0.0000  0.0000

    measure  mean
    RR       0.5000
    R@2      0.2500

    over 2 queries; 4 hits, 2 of them judged
    ");
}

#[test]
fn json_has_queries_only_when_asked_for() {
    let home = Home::sqlite();
    let value = |more: &[&str]| -> Value {
        serde_json::from_str(&score(&home, QRELS, RUN, more).stdout).unwrap()
    };
    let means = value(&["--json", "--measures", "RR"]);
    assert_eq!(means["summary"]["RR"], 0.5);
    assert_eq!(means.get("per_query"), None);
    assert_eq!(means["missing_in_run"], serde_json::json!(["2"]));
    let every = value(&["--json", "--measures", "RR", "--per-query"]);
    assert_eq!(every["per_query"][1]["scores"]["RR"], 0.0);
    let skipped = value(&["--json", "--measures", "RR", "--skip-missing"]);
    assert_eq!(skipped["summary"]["RR"], 1.0);
}

#[test]
fn an_output_file_gets_what_stdout_would() {
    let home = Home::sqlite();
    let path = home.path().join("score.json");
    let ran = score(&home, QRELS, RUN, &["--json", "--output", path.to_str().unwrap()]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    let plain = score(&home, QRELS, RUN, &["--json"]);
    assert_eq!(fs::read_to_string(path).unwrap(), plain.stdout);
}

#[test]
fn folders_and_our_own_shapes_are_read() {
    let home = Home::sqlite();
    let folder = home.path().join("beir");
    fs::create_dir_all(folder.join("qrels")).unwrap();
    fs::write(folder.join("qrels/test.tsv"), "query-id\tcorpus-id\tscore\n1\ta\t1\n").unwrap();
    fs::write(folder.join("qrels/dev.tsv"), "").unwrap();
    let run = home.path().join("run.trec");
    fs::write(&run, RUN).unwrap();
    let rr = |qrels: &Path, run: &Path| {
        let (qrels, run) = (qrels.to_str().unwrap(), run.to_str().unwrap());
        let args = ["eval", "score", "--qrels", qrels, "--run", run, "--measures", "RR"];
        home.json(&args)["summary"]["RR"].clone()
    };
    assert_eq!(rr(&folder, &run), 1.0 / 3.0);
    let (qrels, rows) = (home.path().join("qrels.json"), home.path().join("run.ndjson"));
    fs::write(&qrels, r#"{"schema_version":1,"queries":[{"query":"who","relevant_slugs":["a"]}]}"#)
        .unwrap();
    fs::write(
        &rows,
        r#"{"query_id":"entry-0","retrieved":[{"slug":"b"},{"source_id":"default","slug":"a"}]}"#,
    )
    .unwrap();
    assert_eq!(rr(&qrels, &rows), 0.5);
}

#[test]
fn unscorable_input_exits_2_with_a_reason() {
    let home = Home::sqlite();
    for (qrels, run, more, expected) in [
        ("", RUN, &[][..], "the qrels file is empty"),
        (QRELS, "1 Q0 a 1 nan t", &[], "line 1: score `nan` is not a finite number"),
        (QRELS, RUN, &["--measures", "accuracy"], "there is no measure `accuracy`"),
        (QRELS, RUN, &["--measures", " "], "--measures names none"),
        (QRELS, RUN, &["--output", "/dev/null/at/all"], "/dev/null/at/all"),
        (QRELS, "", &[], "there is no row in it"),
        (QRELS, "9 Q0 a 1 1 t", &[], "judged queries in the run: none of 2"),
    ] {
        let ran = score(&home, qrels, run, more);
        assert_eq!(ran.code, Some(2), "{expected}: {}", ran.stdout);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    }
    home.run(&["eval", "score", "--qrels", "/nowhere", "--run", "/nowhere"])
        .exits(2)
        .stderr_has("/nowhere");
}

#[test]
fn near_ties_are_distinguished_and_fractional_grades_refused() {
    let home = Home::sqlite();
    let run = "1 Q0 a 1 0.12345678902 t\n1 Q0 b 2 0.12345678901 t\n";
    let ran = score(&home, "1 0 a 1\n", run, &["--measures", "RR Rprec Bpref ERR@10"]).exits(0);
    insta::assert_snapshot!(ran.stdout, @r"
    measure  mean
    RR       1.0000
    Rprec    1.0000
    Bpref    1.0000
    ERR@10   0.0625

    over 1 queries; 2 hits, 1 of them judged
    ");
    for qrels in ["1 0 a 0.5\n", "query-id\tcorpus-id\tscore\n1\ta\t0.5\n"] {
        score(&home, qrels, run, &[])
            .exits(2)
            .stderr_has("not a whole number; trec_eval would read it as 0");
    }
}

#[test]
fn no_home_is_opened() {
    let home = Home::sqlite();
    let files = home.path().to_owned();
    fs::write(files.join("qrels"), QRELS).unwrap();
    fs::write(files.join("run"), RUN).unwrap();
    let absent = files.join("absent");
    let mut command = home.command(&["eval", "score", "--qrels", "qrels", "--run", "run"]);
    let output = command.current_dir(&files).env("GBRAIN_HOME", &absent).output().unwrap();
    assert!(output.status.success());
    assert!(!absent.exists());
}
