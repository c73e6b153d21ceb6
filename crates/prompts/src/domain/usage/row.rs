//! One run of a prompt.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A row of the usage log: these nine keys, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageRow {
    /// The time at which the row was appended, in whole seconds.
    #[serde(serialize_with = "write_second", deserialize_with = "read_moment")]
    pub ts: Timestamp,
    /// The case whose inputs were used.
    // The attribute makes the key required: without it, a row that lacks the key would parse.
    #[serde(deserialize_with = "Option::deserialize")]
    pub case: Option<String>,
    /// The variables' signature: 12 hexadecimal digits, or `none`.
    pub vars_hash: String,
    /// Whether a model was called. Only such rows count for a gate.
    pub sent: bool,
    /// The exit code of the model's command; 0 if none ran.
    pub exit_code: i64,
    /// The verdict of the verifier; `None` without a verifier.
    #[serde(deserialize_with = "Option::deserialize")]
    pub verified: Option<bool>,
    /// The duration from the start of the run to its end.
    pub duration_ms: u64,
    /// The number of words of the rendered prompt.
    pub prompt_words: u64,
    /// The number of words of the answer; 0 if no model was called.
    pub output_words: u64,
}

impl UsageRow {
    /// The line, with a newline.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).expect("a row has text keys only") + "\n"
    }

    /// Parses a line, in any form that JSON allows; `None` if it is not a row. Unknown keys are
    /// ignored.
    pub fn parse(line: &[u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }
}

/// A timestamp as rows have it: UTC, whole seconds, `Z`. It round-trips in any year, including
/// those before 0.
pub fn second(moment: Timestamp) -> String {
    format!("{moment:.0}")
}

fn write_second<S: Serializer>(moment: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&second(*moment))
}

fn read_moment<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEED: &str = r#"{"ts":"2026-05-05T09:31:00Z","case":"happy-path","vars_hash":"a3f0…b1","sent":true,"exit_code":0,"verified":true,"duration_ms":18342,"prompt_words":612,"output_words":1483}"#;

    #[test]
    fn a_moment_of_any_year_reads_back() {
        for (text, shown) in [
            ("-009999-01-02T01:59:59Z", "-009999-01-02T01:59:59Z"),
            ("0007-05-05T09:31:00.999Z", "0007-05-05T09:31:00Z"),
            ("1969-12-31T23:59:58.5Z", "1969-12-31T23:59:58Z"),
            ("2026-05-05T11:31:00.25+02:00", "2026-05-05T09:31:00Z"),
        ] {
            let moment: Timestamp = text.parse().unwrap();
            assert_eq!(second(moment), shown);
            assert!(second(moment).parse::<Timestamp>().is_ok());
        }
    }

    #[test]
    fn the_sample_of_the_contract_reads_and_writes_back() {
        let row = UsageRow::parse(SEED.as_bytes()).unwrap();
        assert_eq!((row.case.as_deref(), row.output_words), (Some("happy-path"), 1483));
        assert_eq!(row.to_line(), format!("{SEED}\n"));
    }

    #[track_caller]
    fn refused(old: &str, new: &str) {
        assert!(SEED.contains(old));
        assert!(UsageRow::parse(SEED.replace(old, new).as_bytes()).is_none(), "{new}");
    }

    #[test]
    fn invalid_rows_are_refused() {
        refused("\"verified\":true,", "");
        refused("\"case\":\"happy-path\",", "");
        refused("\"verified\":true", "\"verified\":\"true\"");
        refused("\"verified\":true", "\"verified\":1");
        refused("\"sent\":true", "\"sent\":null");
        refused("18342", "-1");
        refused("18342", "1.5");
        refused("18342", "NaN");
        refused("2026-05-05T09:31:00Z", "yesterday");
        refused("}", "");
        refused("{", "[");
        assert!(UsageRow::parse(b"").is_none());
        assert!(UsageRow::parse(b"\xff").is_none());
    }

    #[test]
    fn order_and_space_do_not_matter_and_more_keys_are_passed_over() {
        let other = r#" { "output_words": 2, "prompt_words": 1, "duration_ms": 3, "verified": null, "x": {},
            "exit_code": -1, "sent": false, "vars_hash": "none", "case": null, "ts": "2026-05-05T11:31:00+02:00" } "#;
        let row = UsageRow::parse(other.as_bytes()).unwrap();
        assert_eq!(second(row.ts), "2026-05-05T09:31:00Z");
        assert_eq!((row.case, row.verified, row.exit_code), (None, None, -1));
    }
}
