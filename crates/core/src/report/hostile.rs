//! Tests that untrusted text breaks no format.

use proptest::prelude::*;
use quick_xml::Reader;
use quick_xml::events::Event;

use super::cases::{GateExample, compared, fail, hostile};
use super::{Queries, ReplayParts, github, junit, markdown, text};
use crate::replay::summarise;

/// Texts that have broken reports.
fn nasty() -> Vec<String> {
    let mut all: Vec<String> = [
        "\"quoted\" 'twice'",
        "<script>alert(1)</script>",
        "]]> <![CDATA[",
        "--> <!--",
        "line\nline\r\nline",
        "\u{1b}[31mred\u{1b}[0m",
        "\u{202e}abc\u{2066}",
        "nul\0nul",
        "a|b|`c`",
        "::error title=x::y",
        "%0A::error::x",
        "</td></tr></table><img src=x onerror=alert(1)>",
        "&amp; &#x0; &lt;",
        "\u{ffff}\u{fffe}\u{feff}",
        "@everyone [link](javascript:alert(1))",
        "",
        "   ",
    ]
    .map(str::to_owned)
    .to_vec();
    all.push("x<|\n".repeat(12_800));
    all
}

fn well_formed(xml: &str) {
    let mut reader = Reader::from_str(xml);
    loop {
        match reader.read_event() {
            Ok(Event::Eof) => break,
            Ok(Event::Start(tag) | Event::Empty(tag)) => {
                for attribute in tag.attributes() {
                    attribute.unwrap();
                }
            }
            Ok(_) => (),
            Err(error) => panic!("{error}: {xml}"),
        }
    }
    let forbidden = |c: char| c.is_control() && c != '\n' || matches!(c, '\u{fffe}' | '\u{ffff}');
    assert!(!xml.contains(forbidden));
}

fn check(nasty: &str) {
    let case = hostile(nasty);
    for queries in [Queries::Shown, Queries::Hashed] {
        case.with_parts(|parts| {
            well_formed(&junit::gate(parts, queries));
            annotations(&github::gate(parts, queries));
            markdown_report(&markdown::gate(parts, queries));
        });
    }
    one_line_each(&case);
    let comparison = compared(nasty);
    markdown_report(&markdown::compare(&comparison, Queries::Shown));
    let lines = |label: &str| text::compare(&compared(label), 99).lines().count();
    assert_eq!(lines(nasty), lines("tame"));
}

fn annotations(text: &str) {
    for line in text.lines() {
        let starts = ["::error title=", "::warning title=", "::notice title="];
        assert!(starts.iter().any(|start| line.starts_with(start)), "{line:?}");
        assert!(!line.contains(char::is_control));
    }
}

fn markdown_report(text: &str) {
    assert!(text.len() < 64 * 1024, "{}", text.len());
    assert!(!text.contains("<script") && !text.contains("<img") && !text.contains("@everyone"));
    let columns = |line: &str| line.matches('|').count();
    for table in text.split("\n\n").filter(|part| part.starts_with('|')) {
        let head = table.lines().next().map(columns);
        assert!(table.lines().all(|line| Some(columns(line)) == head), "{table}");
    }
}

/// Untrusted text adds no lines to a terminal report.
fn one_line_each(case: &GateExample) {
    let tame = hostile("tame");
    let lines = |case: &GateExample| {
        let summary = summarise(&case.rows);
        let parts = ReplayParts { rows: &case.rows, summary: &summary, worst: 9 };
        let text = case.with_parts(text::gate) + &text::replay(&parts);
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'));
        text.lines().count()
    };
    assert_eq!(lines(case), lines(&tame));
}

#[test]
fn known_attacks() {
    for text in nasty() {
        check(&text);
    }
}

#[test]
fn ten_of_a_kind_at_most() {
    let case = fail();
    case.with_parts(|parts| {
        let text = github::gate(parts, Queries::Shown);
        assert!(text.lines().filter(|line| line.starts_with("::error")).count() <= 10);
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text(text in "\\PC{0,40}|[\\x00-\\x7f]{0,40}|[<>&'\"\\[\\]|`:%@\\n\\r]{0,40}") {
        check(&text);
    }
}
