//! Whole reports of handmade gates.

use insta::assert_snapshot;

use super::cases::{Case, compared, fail, inconclusive, nothing, pass};
use super::{Queries, ReplayParts, github, junit, markdown, text};
use crate::gate::Verdict;
use crate::replay::summarise;

fn replay(case: &Case) -> String {
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
    let shown = |case: Case| case.with_parts(|parts| markdown::gate(parts, Queries::Shown));
    let hashed = |case: Case| case.with_parts(|parts| markdown::gate(parts, Queries::Hashed));
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
    let shown = |case: Case| case.with_parts(|parts| junit::gate(parts, Queries::Shown));
    assert_snapshot!("pass_junit", shown(pass()));
    assert_snapshot!("fail_junit", shown(fail()));
    assert_snapshot!("inconclusive_junit", shown(inconclusive()));
}

#[test]
fn gates_as_annotations() {
    let shown = |case: Case| case.with_parts(|parts| github::gate(parts, Queries::Shown));
    assert_snapshot!("pass_github", shown(pass()));
    assert_snapshot!("fail_github", shown(fail()));
    assert_snapshot!("inconclusive_github", shown(inconclusive()));
}

#[test]
fn junit_is_green_only_for_a_pass() {
    for case in [pass(), fail(), inconclusive(), nothing()] {
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
