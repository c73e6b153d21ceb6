//! Complete reports of gate fixtures.

use insta::assert_snapshot;

use super::cases::{GateExample, compared, fail, foreign, inconclusive, nothing, one_row, pass};
use super::{Queries, ReplayParts, github, junit, markdown, text};
use crate::gate::{GateParts, Verdict};
use crate::replay::summarise;
use crate::report::json::GateReport;

fn replay(case: &GateExample) -> String {
    let summary = summarise(&case.rows);
    text::replay(&ReplayParts { rows: &case.rows, summary: &summary, worst: 2 })
}

#[test]
fn gates_as_text() {
    assert_snapshot!("pass_text", pass().with_parts(text::gate));
    assert_snapshot!("fail_text", fail().with_parts(text::gate));
    assert_snapshot!("inconclusive_text", inconclusive().with_parts(text::gate));
    assert_snapshot!(nothing().with_parts(text::gate), @"INCONCLUSIVE  nothing was gated");
}

#[test]
fn replays_as_text() {
    assert_snapshot!("pass_replay_text", replay(&pass()));
    assert_snapshot!("fail_replay_text", replay(&fail()));
}

#[test]
fn gates_as_markdown() {
    let shown = |case: GateExample| case.with_parts(|parts| markdown::gate(parts, Queries::Shown));
    let hashed =
        |case: GateExample| case.with_parts(|parts| markdown::gate(parts, Queries::Hashed));
    assert_snapshot!("pass_markdown", shown(pass()));
    assert_snapshot!("fail_markdown", shown(fail()));
    assert_snapshot!("fail_markdown_hashed", hashed(fail()));
    assert_snapshot!("inconclusive_markdown", shown(inconclusive()));
}

#[test]
fn replays_as_markdown() {
    let case = fail();
    let summary = summarise(&case.rows);
    let parts = ReplayParts { rows: &case.rows, summary: &summary, worst: 2 };
    assert_snapshot!("fail_replay_markdown", markdown::replay(&parts, Queries::Shown));
}

#[test]
fn gates_as_junit() {
    let shown = |case: GateExample| case.with_parts(|parts| junit::gate(parts, Queries::Shown));
    assert_snapshot!("pass_junit", shown(pass()));
    assert_snapshot!("fail_junit", shown(fail()));
    assert_snapshot!("inconclusive_junit", shown(inconclusive()));
}

#[test]
fn gates_as_annotations() {
    let shown = |case: GateExample| case.with_parts(|parts| github::gate(parts, Queries::Shown));
    assert_snapshot!("pass_github", shown(pass()));
    assert_snapshot!("fail_github", shown(fail()));
    assert_snapshot!("inconclusive_github", shown(inconclusive()));
}

/// A gate in every report form.
fn every_form(parts: &GateParts<'_>) -> [(&'static str, String); 5] {
    [
        ("text", text::gate(parts)),
        ("json", serde_json::to_string(&GateReport::new(parts)).unwrap()),
        ("markdown", markdown::gate(parts, Queries::Hashed)),
        ("junit", junit::gate(parts, Queries::Hashed)),
        ("github", github::gate(parts, Queries::Hashed)),
    ]
}

#[test]
fn every_report_says_that_edits_cannot_be_detected() {
    let told = |case: GateExample, is_told: bool| {
        case.with_parts(|parts| {
            for (form, report) in every_form(parts) {
                assert_eq!(
                    report.contains("edits cannot be detected"),
                    is_told,
                    "{form}: {report}"
                );
            }
        });
    };
    told(foreign(), true);
    told(pass(), false);
}

#[test]
fn every_report_shows_the_n_of_each_check() {
    one_row().with_parts(|parts| {
        assert_eq!(parts.verdict, Verdict::Inconclusive);
        for (form, report) in every_form(parts) {
            let told = ["too few rows", "TOO FEW ROWS", "too_few_rows", "has 1 row"];
            assert!(told.iter().any(|told| report.contains(told)), "{form}: {report}");
        }
        assert_snapshot!("one_row_text", text::gate(parts));
        let json = serde_json::to_value(GateReport::new(parts)).unwrap();
        let check = &json["regression_gate"]["checks"][0];
        assert_eq!((&check["n"], &check["interval"]), (&1.into(), &serde_json::Value::Null));
    });
    pass().with_parts(|parts| {
        let text = text::gate(parts);
        assert!(
            text.contains("mean_jaccard n=20") && text.contains("mean_recall_at_k n=4"),
            "{text}"
        );
    });
}

#[test]
fn junit_is_green_only_for_a_pass() {
    for case in [pass(), fail(), inconclusive(), nothing(), foreign(), one_row()] {
        case.with_parts(|parts| {
            let xml = junit::gate(parts, Queries::Hashed);
            let is_green = !xml.contains("<failure") && !xml.contains("<error");
            assert_eq!(is_green, parts.verdict == Verdict::Pass, "{xml}");
        });
    }
}

#[test]
fn hashed_reports_show_neither_queries_nor_pages_nor_messages() {
    fail().with_parts(|parts| {
        for report in [
            markdown::gate(parts, Queries::Hashed),
            junit::gate(parts, Queries::Hashed),
            github::gate(parts, Queries::Hashed),
        ] {
            for secret in ["widget", "notes/", "refused", "ferry", "timed out"] {
                assert!(!report.contains(secret), "{secret}: {report}");
            }
        }
    });
}

#[test]
fn comparisons() {
    let found = compared("who runs the ferry?");
    assert_snapshot!("compare_text", text::compare(&found, 2));
    assert_snapshot!("compare_markdown", markdown::compare(&found, Queries::Shown));
    let hashed = markdown::compare(&found, Queries::Hashed);
    assert!(!hashed.contains("ferry") && !hashed.contains("question"), "{hashed}");
}
