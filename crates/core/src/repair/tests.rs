use std::time::{Duration, Instant};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

#[track_caller]
fn check(text: &str, expected: Value, repairs: &[Repair]) {
    let repaired = repair(text).unwrap();
    assert_eq!(repaired.value, expected, "{text}");
    assert_eq!(repaired.repairs.into_iter().collect::<Vec<_>>(), repairs, "{text}");
}

#[track_caller]
fn refused(text: &str, message: &str) {
    assert_eq!(json_object(text).unwrap_err().to_string(), message, "{text}");
}

#[test]
fn valid_json_is_unchanged() {
    check(
        r#"{"a": [1, -2.5e3, "x", true, null]}"#,
        json!({"a": [1, -2.5e3, "x", true, null]}),
        &[],
    );
    check("[]", json!([]), &[]);
    check(" {}\n", json!({}), &[]);
    check(r#"{"a": "\u00e9\ud83d\ude00\"\n//#"}"#, json!({"a": "é😀\"\n//#"}), &[]);
}

#[test]
fn each_repair_alone() {
    let one = json!({"a": 1});
    check("```json\n{\"a\": 1}\n```", one.clone(), &[Repair::Fence]);
    check("Sure! {\"a\": 1} Anything else?", one.clone(), &[Repair::Prose]);
    check("\u{feff}{\"a\":\u{a0}1}", one.clone(), &[Repair::Blank]);
    check("{\"a\": 1 // one\n}", one.clone(), &[Repair::Comment]);
    check("{/* } */\"a\": 1 # one\n}", one.clone(), &[Repair::Comment]);
    check("{\"a\": 1,}", one.clone(), &[Repair::TrailingComma]);
    check("{'a': 1}", one.clone(), &[Repair::SingleQuotes]);
    check("{“a”: 1}", one.clone(), &[Repair::SmartQuotes]);
    check("{a: 1}", one, &[Repair::UnquotedKey]);
    check("{\"a\": \"x\ny\"}", json!({"a": "x\ny"}), &[Repair::RawControl]);
    check(r#"{"a": "\alpha it\'s"}"#, json!({"a": "\\alpha it's"}), &[Repair::Escape]);
    check(
        r#"{"a": [True, False, None]}"#,
        json!({"a": [true, false, null]}),
        &[Repair::PythonLiteral],
    );
}

#[test]
fn several_repairs_at_once() {
    let text =
        "Here you are:\n```\n{scores: {'depth': 7, // fair\n}, “ok”: True,}\n```\nBye {you}.";
    check(
        text,
        json!({"scores": {"depth": 7}, "ok": true}),
        &[
            Repair::Fence,
            Repair::Prose,
            Repair::Comment,
            Repair::TrailingComma,
            Repair::SingleQuotes,
            Repair::SmartQuotes,
            Repair::UnquotedKey,
            Repair::PythonLiteral,
        ],
    );
}

#[test]
fn brackets_in_prose_are_skipped() {
    let one = json!({"a": 1});
    check("As [1] says, in {braces}: {\"a\": 1}", one.clone(), &[Repair::Prose]);
    check("{} is empty; {\"a\": 1} is not [", one.clone(), &[Repair::Prose]);
    check("{\"a\": 1} or, again, {\"a\":1}", one, &[Repair::Prose]);
    check("scores: [1, 2]", json!([1, 2]), &[Repair::Prose]);
}

#[test]
fn quotes_and_brackets_in_strings_are_text() {
    check(r#"{"a": "}]{[ ' “ \" //"}"#, json!({"a": "}]{[ ' “ \" //"}), &[]);
    check("{'a': '\"}'}", json!({"a": "\"}"}), &[Repair::SingleQuotes]);
}

#[test]
fn truncated_replies_are_errors() {
    refused("{\"a\": 1", "the reply is cut off: a number that begins at byte 6 does not end");
    refused("{\"a\": 1,", "the reply is cut off: an object that begins at byte 0 does not end");
    refused("{\"a\": [1, 2,", "the reply is cut off: a value that begins at byte 6 does not end");
    refused("{\"a\": \"x", "the reply is cut off: a string that begins at byte 6 does not end");
    refused("{\"a\": tr", "the reply is cut off: a value that begins at byte 0 does not end");
    refused(
        "{\"a\": 1} {\"b\": ",
        "the reply is cut off: a value that begins at byte 9 does not end",
    );
    refused("{ /* ", "the reply is cut off: a comment that begins at byte 2 does not end");
    refused("{", "the reply is cut off: an object that begins at byte 0 does not end");
}

#[test]
fn ambiguous_replies_are_errors() {
    refused("{\"a\": 1} {\"a\": 2}", "the reply contains different objects, at bytes 0 and 9");
    refused("[[1]] {\"a\": 2}", "the reply contains different objects, at bytes 0 and 6");
    refused("[1] [2]", "the reply contains different objects, at bytes 0 and 4");
    refused("{\"a\": 1, \"a\": 1}", "the reply has the key \"a\" twice in one object, at byte 9");
    refused(
        "{\"a\": \"he said \"no\"\"}",
        "the reply is not JSON: expected a comma or a closing brace at byte 16",
    );
    refused(
        "{\"a\": 8/10}",
        "the reply is not JSON: expected a comma or a closing brace at byte 7",
    );
    refused(
        "{\"a\": 1 \"b\": 2}",
        "the reply is not JSON: expected a comma or a closing brace at byte 8",
    );
    refused("{\"a\": 1,, \"b\": 2}", "the reply is not JSON: expected a key at byte 8");
    refused(
        "{\"a\": [1] !, \"b\": {\"c\": 1}}",
        "the reply is not JSON: expected a comma or a closing brace at byte 10",
    );
    refused("{\"a\": NaN}", "the reply is not JSON: expected a value at byte 6");
    refused("{\"a\": 007}", "the reply is not JSON: expected a number at byte 6");
    refused("{\"a\": 1e999}", "the reply is not JSON: expected a number at byte 6");
    refused(r#"{"a": "\ud800x"}"#, "the reply is not JSON: expected a whole character at byte 14");
}

#[test]
fn replies_without_json_are_errors() {
    for text in ["", "no", "7", "\"x\"", "{see} [below]"] {
        refused(text, "the reply contains no JSON object");
    }
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    assert!(json_object(&nested(DEPTH)).is_ok());
    refused(&nested(DEPTH + 1), "the reply nests deeper than 64 levels at byte 64");
    refused(&"{\"a\":".repeat(100_000), "the reply nests deeper than 64 levels at byte 320");
}

/// Openings that a naive parser would scan again from each position.
#[test]
fn hostile_texts_take_no_longer_than_their_length() {
    let hostile = [
        "{", "[", "{\"", "{'", "{“", "[1,", "{a:", "{/*", "[1[", "{\"a\"", "{“ ", "[{", "\\\"{",
        "{#", "[[1,2",
    ];
    for piece in hostile {
        for end in ["", "”", "\"", "*/", "]", "!"] {
            let text = format!("{}{end}", piece.repeat(40_000));
            let start = Instant::now();
            let _ = json_object(&text);
            // Quadratic work on 40,000 pieces takes minutes on any machine.
            assert!(start.elapsed() < Duration::from_secs(60), "{piece} {:?}", start.elapsed());
        }
    }
}

/// Values without objects of doubtful keys, nested a little.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop::num::f64::NORMAL.prop_map(Value::from),
        "(?s).{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map("(?s).{0,6}", inner, 0..5)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "(?s).{0,120}") {
        let _ = json_object(&text);
    }

    #[test]
    fn arbitrary_fragments_never_panic(pieces in prop::collection::vec(prop::sample::select(vec![
        "{", "}", "[", "]", "\"", "'", "“", "”", ":", ",", "a", "1", "-", ".5", "e", "True", "null",
        "\\", "\\u", "d83d", "//", "/*", "*/", "#", "\n", "```", " ", "é", "😀", "\u{feff}", "\0",
    ]), 0..40)) {
        let text = pieces.concat();
        match (repair(&text), serde_json::from_str::<Value>(&text)) {
            (Ok(ours), Ok(strict)) => {
                prop_assert!(ours.repairs.is_empty());
                prop_assert_eq!(ours.value, strict);
            }
            (Ok(ours), Err(_)) => prop_assert!(!ours.repairs.is_empty(), "{:?}", text),
            (Err(_), _) => {}
        }
    }

    #[test]
    fn serialized_values_round_trip(value in values(), pretty in any::<bool>()) {
        let text =
            if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        let text = text.unwrap();
        let repaired = repair(&text);
        if value.is_object() || value.is_array() {
            let repaired = repaired.unwrap();
            prop_assert_eq!(repaired.value, value);
            prop_assert!(repaired.repairs.is_empty());
        }
    }

    #[test]
    fn every_truncation_is_detected(
        entries in prop::collection::btree_map("(?s).{0,6}", values(), 1..4),
        share in 0.0..1.0f64,
    ) {
        let text = Value::Object(entries.into_iter().collect()).to_string();
        let cut = (text.len() as f64 * share) as usize;
        let cut = (0..=cut).rev().find(|at| text.is_char_boundary(*at)).unwrap();
        prop_assert!(json_object(&text[..cut]).is_err(), "{}", &text[..cut]);
    }
}
