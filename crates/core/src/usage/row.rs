//! One run of a prompt.

use jiff::Timestamp;

use crate::format::logs::UsageLine;

/// A row of the usage log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageRow {
    /// When the row was appended, in whole seconds.
    pub ts: Timestamp,
    /// The case whose inputs were used.
    pub case: Option<String>,
    /// The variables' signature: 12 hexadecimal digits, or `none`.
    pub vars_hash: String,
    /// Whether a model was asked. Only such rows count for a gate.
    pub sent: bool,
    /// How the model's command ended; 0 if none ran.
    pub exit_code: i64,
    /// What the verifier said; nothing without one.
    pub verified: Option<bool>,
    /// From the start of the run to its end.
    pub duration_ms: u64,
    /// Words of the rendered prompt.
    pub prompt_words: u64,
    /// Words of the answer; 0 if no model was asked.
    pub output_words: u64,
}

/// Why a line is not a row.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct RowError {
    reason: String,
}

impl UsageRow {
    /// The line, with its end.
    pub fn to_line(&self) -> String {
        serde_json::to_string(&UsageLine::new(self)).expect("a row has text keys only") + "\n"
    }

    /// Reads a line, in any spelling that JSON allows. Keys that nobody knows are passed over.
    pub fn parse(line: &[u8]) -> Result<Self, RowError> {
        let line: UsageLine<'_> =
            serde_json::from_slice(line).map_err(|error| RowError { reason: error.to_string() })?;
        let reason = format!("`{}` is not a timestamp", line.ts);
        line.row().ok_or(RowError { reason })
    }
}

/// A moment as rows have it: UTC, whole seconds, `Z`. It reads back in any year, those before 0 included.
pub fn second(moment: Timestamp) -> String {
    format!("{moment:.0}")
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
        assert!(UsageRow::parse(SEED.replace(old, new).as_bytes()).is_err(), "{new}");
    }

    #[test]
    fn what_is_no_row_is_refused() {
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
        assert!(UsageRow::parse(b"").is_err());
        assert!(UsageRow::parse(b"\xff").is_err());
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
