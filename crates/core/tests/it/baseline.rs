//! Baselines: read, published, verified; files of other gbrains work unchanged.

use gbrain_core::baseline::{
    Baseline, BaselineDraft, BaselineError, BaselineIntegrity, BaselineKey, BaselineMetadata,
    BaselineReader, BaselineThresholds, CaptureFile, PublishError, PublishedBaseline,
    SignatureCheck, publish, query_hash,
};
use gbrain_core::capture::CapturedRow;
use gbrain_core::format::capture::{read_object, read_row};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::data;

fn read(text: &str) -> Result<CaptureFile, BaselineError> {
    let mut reader = BaselineReader::default();
    text.lines().try_for_each(|line| reader.line(line))?;
    reader.finish()
}

fn read_baseline(text: &str) -> Result<Baseline, BaselineError> {
    let mut reader = BaselineReader::default();
    text.lines().try_for_each(|line| reader.line(line))?;
    reader.finish_baseline()
}

fn rows(lines: &[Value]) -> Vec<(Value, CapturedRow)> {
    let read = |(at, value): (usize, &Value)| {
        let value = read_object(&value.to_string()).unwrap();
        (value.clone(), read_row(value, at + 1).unwrap())
    };
    lines.iter().enumerate().map(read).collect()
}

fn draft() -> BaselineDraft {
    BaselineDraft {
        label: "mine".to_owned(),
        published_at: "2026-03-01T00:00:00Z".parse().unwrap(),
        thresholds: BaselineThresholds::default(),
        why: Some("a reason".to_owned()),
        previous: None,
        key: None,
    }
}

fn published(lines: &[Value]) -> PublishedBaseline {
    publish(rows(lines), &draft()).unwrap()
}

fn row(query: &str, slugs: &[&str]) -> Value {
    json!({
        "schema_version": 1, "tool_name": "query", "query": query, "retrieved_slugs": slugs,
        "source_ids": ["default"], "latency_ms": 4,
    })
}

#[test]
fn a_published_baseline_reads_back_intact() {
    let made = published(&[row("a", &["x"]), row("b", &["y", "z"])]);
    let read = read_baseline(&made.text).unwrap();
    assert_eq!(read.integrity, BaselineIntegrity::Intact);
    assert_eq!(read.metadata, made.metadata);
    assert_eq!(read.metadata.row_count, 2);
    assert_eq!(read.metadata.mean_latency_ms, Some(4.0));
    assert_eq!(published(&[row("b", &["y", "z"]), row("a", &["x"])]).text, made.text);
}

#[test]
fn numbers_that_do_not_survive_reading_and_writing_are_no_edit() {
    for n in 1..200 {
        let mut lines = [row("a", &["x"]), row("b", &["y"]), row("c", &["z"])];
        lines[0]["latency_ms"] = json!(f64::from(n) * 0.1 + 0.003);
        lines[1]["latency_ms"] = json!(f64::from(n).sqrt());
        assert!(read_baseline(&published(&lines).text).is_ok(), "{n}");
    }
}

#[test]
fn a_repeated_query_is_published_once_with_its_newest_answer() {
    let at = |query: &str, slug: &str, when: &str| {
        let mut row = row(query, &[slug]);
        row["created_at"] = when.into();
        row
    };
    let made = published(&[
        at("Who is Ada?", "old", "2026-01-01T00:00:00Z"),
        at("who  is ada?", "new", "2026-01-03T00:00:00Z"),
        at("WHO IS ADA?", "older", "2025-01-03T00:00:00Z"),
        row("another", &["x"]),
    ]);
    let rows = read_baseline(&made.text).unwrap().rows;
    assert_eq!(rows.len(), 2);
    let ada = rows.iter().find(|row| row.query.to_lowercase().contains("ada")).unwrap();
    assert_eq!((ada.expected().unwrap()[0].slug.as_str(), ada.weight), ("new", 3));
    assert_eq!(made.weight_total, 4);
}

#[test]
fn requests_that_differ_in_what_is_asked_are_not_repeats() {
    let asked = |limit: usize| {
        let mut row = row("a", &["x"]);
        row["limit"] = limit.into();
        row["retrieved"] = json!([{ "source_id": "default", "slug": "x" }]);
        row
    };
    assert_eq!(published(&[asked(5), asked(10), asked(5)]).metadata.row_count, 2);
    let varied = |variants: &[&str]| {
        let mut row = asked(5);
        row["expansion_variants"] = json!(variants);
        row["expansion_applied"] = (!variants.is_empty()).into();
        row
    };
    let rows = [varied(&[]), asked(5), varied(&["b"]), varied(&["b", "c"]), varied(&["b"])];
    assert_eq!(published(&rows).metadata.row_count, 3);
}

#[test]
fn rows_that_cannot_be_gated_on_are_left_out_and_listed() {
    let mut expanded = row("e", &["x"]);
    expanded["expansion_applied"] = true.into();
    let mut scrubbed = row("mail [REDACTED]", &["x"]);
    scrubbed["scrubbed"] = true.into();
    let mut degraded = row("d", &["x"]);
    degraded["degraded"] = json!([{ "stage": "vectors", "reason": "no_model" }]);
    let mut reranked = row("r", &["x"]);
    reranked["rerank_model"] = "judge-1".into();
    let missing =
        json!({ "schema_version": 1, "tool_name": "query", "query": "m", "latency_ms": 1 });
    let lines = [
        row("", &["x"]),
        row("none", &[]),
        expanded,
        scrubbed,
        degraded,
        reranked,
        missing,
        row("a", &["x"]),
    ];
    let made = published(&lines);
    let refused: Vec<usize> = made.refused.iter().map(|refused| refused.line).collect();
    assert_eq!(refused, [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(made.metadata.row_count, 1);
    assert_eq!(publish(rows(&lines[..2]), &draft()), Err(PublishError::AllRefused(2)));
    assert_eq!(publish(Vec::new(), &draft()), Err(PublishError::Empty));
}

#[test]
fn weights_that_leave_all_numbers_stop_at_the_last() {
    let heavy = |query: &str| {
        let mut row = row(query, &["x"]);
        row["weight"] = u64::MAX.into();
        row
    };
    let made = published(&[heavy("a"), heavy("A"), row("b", &["x"])]);
    assert_eq!(made.weight_total, u64::MAX);
    assert!(read_baseline(&made.text).is_ok());
}

#[test]
fn publishing_a_baseline_again_verifies_it() {
    let text = published(&[row("a", &["x"])]).text;
    let again = |text: &str| {
        let mut reader = BaselineReader::keeping_objects();
        text.lines().try_for_each(|line| reader.line(line))?;
        reader.finish_publishable()
    };
    assert_eq!(publish(again(&text).unwrap(), &draft()).unwrap().text, text);
    let edited = again(&text.replace("\"x\"", "\"w\""));
    assert!(matches!(edited, Err(BaselineError::Edited { .. })), "{edited:?}");
}

#[test]
fn any_edit_is_refused() {
    let text = published(&[row("a", &["x"]), row("b", &["y"])]).text;
    let edits = [
        text.replace("\"x\"", "\"w\""),
        text.replace("0.85", "0.10"),
        text.replace("\"mine\"", "\"yours\""),
        text.replace("a reason", "no reason"),
        text.replace("\"latency_ms\":4", "\"latency_ms\":400"),
        text.lines().take(2).collect::<Vec<_>>().join("\n"),
        text.clone() + text.lines().last().unwrap(),
        text.lines().rev().collect::<Vec<_>>().join("\n"),
    ];
    for edited in edits {
        assert!(edited != text);
        let error = read(&edited).unwrap_err();
        let is_refused =
            matches!(error, BaselineError::Edited { .. } | BaselineError::SecondMetadata { .. });
        assert!(is_refused, "{error}: {edited}");
    }
}

/// Every way to change a file, with the hash left alone and with the hash deleted.
#[test]
fn an_edit_is_refused_with_and_without_its_hash() {
    let first = published(&[row("z", &["x"])]).metadata;
    let lines = [row("a", &["x"]), row("b", &["y"]), row("c", &["z"])];
    let draft = BaselineDraft { previous: Some(first), ..draft() };
    let text = publish(rows(&lines), &draft).unwrap().text;
    let lines: Vec<&str> = text.lines().collect();
    let join = |lines: &[&str]| lines.join("\n");
    let edits = [
        ("a row removed", join(&lines[..3])),
        ("a row twice", join(&[lines[0], lines[1], lines[2], lines[3], lines[3]])),
        ("rows in another order", join(&[lines[0], lines[2], lines[1], lines[3]])),
        ("a row in the place of another", join(&[lines[0], lines[1], lines[1], lines[3]])),
        ("the label", text.replace("\"mine\"", "\"yours\"")),
        ("a threshold", text.replace("0.85", "0.05")),
        ("the history", text.replace("\"row_count\":1,", "\"row_count\":7,")),
        ("the reason", text.replace("a reason", "no reason")),
        ("when it was published", text.replace("2026-03-01", "2026-04-01")),
        ("a page", text.replace("\"y\"", "\"w\"")),
        ("a latency", text.replace("\"latency_ms\":4", "\"latency_ms\":400")),
        ("a weight", text.replace("\"weight\":1", "\"weight\":9")),
        ("a new field", text.replacen("\"query\":", "\"scrubbed_retrieved\":[],\"query\":", 1)),
        ("its metadata removed", join(&lines[1..])),
    ];
    for (name, edited) in edits {
        assert_ne!(edited, text, "{name}");
        for edited in [edited.clone(), without_hash(&edited)] {
            let error = read(&edited).expect_err(name);
            assert!(matches!(error, BaselineError::Edited { .. }), "{name}: {error}");
        }
    }
}

/// The file without the hash in its own metadata; that of the history stays.
fn without_hash(text: &str) -> String {
    let (head, rows) = text.split_once('\n').unwrap_or((text, ""));
    match head.rfind(",\"rows_hash\":\"") {
        None => text.to_owned(),
        Some(at) => format!("{}}}\n{rows}", &head[..at]),
    }
}

#[test]
fn a_deleted_hash_is_refused_as_long_as_any_field_of_ours_is_left() {
    let text = published(&[row("a", &["x"])]).text;
    let bare = without_hash(&text);
    assert!(!bare.contains("rows_hash"));
    let strip = |text: &str, keys: &[&str]| {
        let lines = text.lines().map(|line| {
            let mut object: Value = serde_json::from_str(line).unwrap();
            keys.iter().for_each(|key| drop(object.as_object_mut().unwrap().remove(*key)));
            object.to_string()
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    let metadata = ["weight_total", "synthetic", "why", "history"];
    let check = |text: &str, field: &str| {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(field) && error.contains("rows_hash is gone"), "{error}");
    };
    check(&bare, "weight_total");
    check(&strip(&bare, &metadata), "weight");
    check(&strip(&bare, &["weight"]), "weight_total");
    // With none of them left it is a file of another gbrain, and every report says so.
    let foreign = strip(&bare, &[&metadata[..], &["weight"]].concat());
    assert_eq!(read_baseline(&foreign).unwrap().integrity, BaselineIntegrity::NotTamperEvident);
    for field in ["retrieved", "corpus", "settings", "scrubbed", "cache", "synthetic"] {
        let mut lines: Vec<Value> =
            foreign.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        lines[1][field] = Value::Null;
        let text: Vec<String> = lines.iter().map(ToString::to_string).collect();
        check(&text.join("\n"), field);
    }
}

#[test]
fn a_key_makes_edits_on_purpose_visible() {
    let key = |text: &str| BaselineKey::new(text).unwrap();
    let (ours, theirs) = (key("the key of this repository"), key("the key of another one"));
    let lines = [row("a", &["x"]), row("b", &["y"])];
    let signed = |key| {
        let draft = BaselineDraft { key, ..draft() };
        publish(rows(&lines), &draft).unwrap()
    };
    let read_with = |text: &str, check: SignatureCheck| {
        let mut reader = BaselineReader::default().checking(check);
        text.lines().try_for_each(|line| reader.line(line))?;
        reader.finish_baseline().map(|baseline| baseline.integrity)
    };
    let required = || SignatureCheck::Required(ours.clone());
    let if_signed = || SignatureCheck::IfSigned(ours.clone());
    let file = signed(Some(ours.clone()));
    assert_eq!(file.metadata.key_id, Some(ours.id()));
    assert_eq!(read_baseline(&file.text).unwrap().metadata, file.metadata);
    assert_eq!(read_with(&file.text, required()), Ok(BaselineIntegrity::Signed));
    assert_eq!(read_with(&file.text, if_signed()), Ok(BaselineIntegrity::Signed));
    assert_eq!(
        read_with(&file.text, SignatureCheck::NoKey),
        Ok(BaselineIntegrity::SignatureNotChecked)
    );
    // An edited file that is published without the key: its hash is right.
    let forged = signed(None);
    assert_eq!(read_with(&forged.text, SignatureCheck::NoKey), Ok(BaselineIntegrity::Intact));
    assert_eq!(read_with(&forged.text, if_signed()), Ok(BaselineIntegrity::Intact));
    assert_eq!(read_with(&forged.text, required()), Err(BaselineError::Unsigned));
    // The signature of one file on another, and one of another key.
    let hmac = |text: &str| {
        let head: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        head["rows_hmac"].as_str().unwrap().to_owned()
    };
    let other = signed(Some(theirs));
    let moved = other.text.replace(&hmac(&other.text), &hmac(&file.text));
    for bad in [&other.text, &moved] {
        for check in [required(), if_signed()] {
            let error = read_with(bad, check).unwrap_err();
            assert!(matches!(error, BaselineError::BadSignature { .. }), "{error}");
        }
    }
    let half = file.text.replace(&format!(",\"rows_hmac\":\"{}\"", hmac(&file.text)), "");
    assert!(matches!(read_with(&half, SignatureCheck::NoKey), Err(BaselineError::Edited { .. })));
}

#[test]
fn line_end_changes_by_a_checkout_are_no_edit() {
    let text = published(&[row("a", &["x"])]).text;
    let windows = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    assert_eq!(read_baseline(&windows).unwrap().integrity, BaselineIntegrity::Intact);
}

#[test]
fn thresholds_that_nothing_can_be_measured_against_are_refused() {
    for bad in [f64::NAN, f64::INFINITY, -0.1, 1.1] {
        let thresholds = BaselineThresholds { jaccard: bad, ..BaselineThresholds::default() };
        let draft = BaselineDraft { thresholds, ..draft() };
        assert!(publish(rows(&[row("a", &["x"])]), &draft).is_err(), "{bad}");
    }
    let thresholds =
        BaselineThresholds { latency_multiplier: 0.0, ..BaselineThresholds::default() };
    assert!(thresholds.check().is_err());
    let text = published(&[row("a", &["x"])]).text.replace("0.85", "null");
    assert!(matches!(read(&text), Err(BaselineError::Metadata { line: 1, .. })));
}

#[test]
fn bad_lines_are_named() {
    let good = row("a", &["x"]).to_string();
    let check = |line: &str, message: &str| {
        let error = read(&format!("{good}\n{line}")).unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains(message), "{error}");
    };
    check("{", "not JSON");
    check("[1]", "not a JSON object");
    check(r#"{"tool_name":"query"}"#, "no `schema_version`");
    check(r#"{"schema_version":2,"tool_name":"query"}"#, "`schema_version` 2 is not 1");
    check(r#"{"schema_version":"1","tool_name":"query"}"#, "is not 1");
    check(r#"{"schema_version":1,"query":"x"}"#, "`tool_name` is missing");
    check(r#"{"schema_version":1,"tool_name":"delete"}"#, "`tool_name` is \"delete\"");
    check(r#"{"schema_version":1,"tool_name":"query","latency_ms":-1}"#, "`latency_ms`");
    check(r#"{"schema_version":1,"tool_name":"query","latency_ms":1e300}"#, "`latency_ms`");
    check(r#"{"schema_version":1,"tool_name":"query","latency_ms":"x"}"#, "not JSON");
    check(r#"{"schema_version":1,"tool_name":"query","created_at":"soon"}"#, "`created_at`");
    let timed = |cpu_ms: &str, calibration_ms: &str, repeats: &str| {
        format!(
            r#"{{"schema_version":1,"tool_name":"query","cpu_time":{{"cpu_ms":{cpu_ms},"calibration_ms":{calibration_ms},"repeats":{repeats},"method":"thread_cpu_min_1"}}}}"#
        )
    };
    check(&timed("0", "1", "5"), "`cpu_time.cpu_ms`");
    check(&timed("1e300", "1", "5"), "`cpu_time.cpu_ms`");
    check(&timed("1", "-1", "5"), "`cpu_time.calibration_ms`");
    check(&timed("1", "1", "0"), "`cpu_time.repeats`");
    check(&timed("1", "1", "1000000"), "`cpu_time.repeats`");
    check(&timed("\"x\"", "1", "5"), "not JSON");
    assert_eq!(read("\n\n"), Err(BaselineError::Empty));
    assert_eq!(read_baseline(&good), Err(BaselineError::NoMetadata));
}

#[test]
fn a_baseline_remembers_what_it_took_the_place_of() {
    let first = published(&[row("a", &["x"])]).metadata;
    let again = |previous: BaselineMetadata, why: &str| {
        let draft =
            BaselineDraft { previous: Some(previous), why: Some(why.to_owned()), ..draft() };
        publish(rows(&[row("a", &["y"])]), &draft).unwrap().metadata
    };
    let third = again(again(first.clone(), "second"), "third");
    let whys: Vec<_> = third.history.iter().map(|past| past.why.as_deref().unwrap()).collect();
    assert_eq!(whys, ["second", "a reason"]);
    assert_eq!(third.history[1].rows_hash, first.rows_hash);
}

#[test]
fn real_captures_are_distinguished_from_synthetic_ones() {
    let mut real = row("a", &["x"]);
    real["created_at"] = "2026-01-01T00:00:00Z".into();
    let mut made_up = real.clone();
    made_up["synthetic"] = true.into();
    made_up["query"] = "b".into();
    assert_eq!(published(&[real, made_up, row("c", &["x"])]).real, [1]);
}

#[test]
fn files_of_other_gbrains_work_unchanged() {
    let Some(dir) = data("gbrain") else { return };
    for (name, rows) in [("v0.41-launch.baseline.ndjson", 12), ("reference.baseline.ndjson", 200)] {
        let text = std::fs::read_to_string(dir.join(name)).unwrap();
        let baseline = read_baseline(&text).unwrap();
        assert_eq!(baseline.rows.len(), rows, "{name}");
        assert_eq!(baseline.integrity, BaselineIntegrity::NotTamperEvident);
        let kept =
            baseline.rows.iter().all(|r| r.query_hash.as_ref() == Some(&query_hash(&r.query)));
        assert!(kept, "{name}: our query hashes are theirs");
    }
    let text = std::fs::read_to_string(dir.join("reference-captures.ndjson")).unwrap();
    assert_eq!(read(&text).unwrap().rows.len(), 200);
    let inputs: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let theirs = std::fs::read_to_string(dir.join("reference.baseline.ndjson")).unwrap();
    let theirs = read_baseline(&theirs).unwrap().metadata;
    let ours = published(&inputs).metadata;
    assert_eq!(ours.row_count, theirs.row_count);
    assert_eq!(ours.source_hash, theirs.source_hash);
    assert_eq!(ours.mean_latency_ms, theirs.mean_latency_ms);
}

proptest! {
    #[test]
    fn a_reader_never_panics(text in "\\PC{0,200}", lines in 0usize..4) {
        let good = row("a", &["x"]).to_string();
        let _ = read(&format!("{}{text}", format!("{good}\n").repeat(lines)));
    }

    /// A mean has as many digits as a number can have.
    #[test]
    fn any_latency_reads_back_intact(
        latencies in prop::collection::vec(0.0..1e12_f64, 1..5),
        jaccard in 0.0..1.0_f64,
    ) {
        let line = |(at, latency): (usize, &f64)| {
            let mut row = row(&at.to_string(), &["x"]);
            row["latency_ms"] = (*latency).into();
            row
        };
        let lines: Vec<Value> = latencies.iter().enumerate().map(line).collect();
        let thresholds = BaselineThresholds { jaccard, ..BaselineThresholds::default() };
        let made = publish(rows(&lines), &BaselineDraft { thresholds, ..draft() }).unwrap();
        let read = read_baseline(&made.text).unwrap();
        prop_assert_eq!(read.integrity, BaselineIntegrity::Intact);
        prop_assert_eq!(read.metadata, made.metadata);
    }

    #[test]
    fn publishing_keeps_every_row_that_can_be_gated_on(
        queries in prop::collection::vec("[a-c]{1,2}", 1..20)
    ) {
        let lines: Vec<Value> = queries.iter().map(|query| row(query, &["x"])).collect();
        let made = published(&lines);
        let mut distinct = queries.clone();
        distinct.sort();
        distinct.dedup();
        prop_assert_eq!(made.metadata.row_count, distinct.len());
        prop_assert_eq!(made.weight_total, queries.len() as u64);
        prop_assert!(read_baseline(&made.text).is_ok());
    }
}
