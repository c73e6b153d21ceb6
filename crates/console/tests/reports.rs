//! A page of each kind of report, from its JSON.

#![expect(clippy::unwrap_used, reason = "a step of a test that fails has failed the test")]

use std::fmt::Write as _;

use gbrain_console::page::suite_run::Triage;
use gbrain_console::page::view::{RowView, Show, Sort};
use gbrain_console::report::{Report, read};
use gbrain_console::{Chrome, Page, file, live};
use insta::assert_snapshot;
use regex::Regex;

const REPORTS: [(&str, &str); 12] = [
    ("gate-fail", include_str!("fixtures/gate-fail.json")),
    ("gate-pass", include_str!("fixtures/gate-pass.json")),
    ("gate-inconclusive", include_str!("fixtures/gate-inconclusive.json")),
    ("gate-foreign", include_str!("fixtures/gate-foreign.json")),
    ("gate-nothing", include_str!("fixtures/gate-nothing.json")),
    ("replay-fail", include_str!("fixtures/replay-fail.json")),
    ("compare", include_str!("fixtures/compare.json")),
    ("suite-run", include_str!("fixtures/suite-run.json")),
    ("benchmark", include_str!("fixtures/benchmark-result.json")),
    ("baseline", include_str!("fixtures/baseline.ndjson")),
    ("captures", include_str!("fixtures/captures.ndjson")),
    ("run", include_str!("fixtures/saved.run")),
];

fn report(name: &str) -> Report {
    let (_, text) = REPORTS.iter().find(|(one, _)| *one == name).unwrap();
    read((*text).to_owned()).unwrap()
}

fn in_console(page: &Page) -> String {
    live(page, &Chrome { workspace: "w", reader: "r", is_signed_in: false, csrf: "x" })
}

fn main_of(html: &str) -> &str {
    &html[html.find("<main").unwrap()..html.find("</main>").unwrap()]
}

/// A page for readers of snapshots: an element a line, without the stylesheet.
fn lines(page: &Page) -> String {
    let html = file(page);
    html[html.find("<body").unwrap()..].replace("><", ">\n<")
}

#[test]
fn golden_pages() {
    for name in [
        "gate-fail",
        "replay-fail",
        "compare",
        "suite-run",
        "benchmark",
        "baseline",
        "captures",
        "run",
    ] {
        assert_snapshot!(name, lines(&report(name).page(&RowView::default())));
    }
    let row = report("gate-fail")
        .row_page(10, &RowView { base: "/runs/7".to_owned(), ..RowView::default() });
    assert_snapshot!("row", lines(&row.unwrap()));
}

#[test]
fn the_console_and_a_file_have_the_same_main() {
    for (name, _) in REPORTS {
        let in_file = file(&report(name).page(&RowView::default()));
        let view = RowView { base: "/runs/7".to_owned(), ..RowView::default() };
        assert_eq!(main_of(&in_file), main_of(&in_console(&report(name).page(&view))), "{name}");
        assert_eq!(in_file, file(&report(name).page(&RowView::default())), "{name}");
        assert!(
            !in_file.contains("<form") && !in_file.contains("<nav") && !in_file.contains("<script"),
            "{name}"
        );
    }
}

#[test]
fn the_verdict_comes_first() {
    let headline = |name: &str| {
        let html = file(&report(name).page(&RowView::default()));
        let h1 = Regex::new("<h1[^>]*>([^<]*)</h1><p class=\"why\">([^<]*)").unwrap();
        let found = h1.captures(&html).unwrap();
        format!("{}: {}", &found[1], &found[2])
    };
    let headlines = REPORTS[..9].iter().fold(String::new(), |mut all, (name, _)| {
        let _ = writeln!(all, "{name}: {}", headline(name));
        all
    });
    assert_snapshot!("headlines", headlines);
    let foreign = file(&report("gate-foreign").page(&RowView::default()));
    assert!(foreign.contains("edits cannot be detected"));
}

fn rows(view: RowView) -> Vec<u64> {
    let html = file(&report("gate-fail").page(&view));
    let id = Regex::new("id=\"row-([0-9]+)\"").unwrap();
    id.captures_iter(&html).map(|found| found[1].parse().unwrap()).collect()
}

#[test]
fn rows_are_filtered_and_sorted() {
    let view = |show| RowView { show, ..RowView::default() };
    assert_eq!(rows(view(Show::Moved)), [12, 10, 11]);
    assert_eq!(rows(view(Show::Errored)), [14, 15]);
    assert_eq!(rows(view(Show::Unchanged)).len(), 9);
    assert_eq!(rows(view(Show::All)).len(), 14);
    assert_eq!(rows(view(Show::Unjudged)), [12, 10, 11]);
    assert_eq!(rows(view(Show::Improved)).len(), 0);
    assert_eq!(rows(RowView { sort: Sort::Line, ..view(Show::Regressed) }), [10, 11, 12]);
    assert_eq!(rows(RowView { sort: Sort::Latency, ..view(Show::Regressed) })[0], 10);
    assert_eq!(rows(RowView { min_ms: Some(30.0), ..view(Show::All) }), [10]);
    assert_eq!(rows(RowView { tag: "moved_by_corpus".to_owned(), ..view(Show::All) }), [10]);
    assert_eq!(rows(RowView { source: "wiki".to_owned(), ..view(Show::Regressed) }).len(), 3);
    assert_eq!(rows(RowView { source: "unknown".to_owned(), ..view(Show::All) }).len(), 0);
    assert_eq!(rows(RowView { mode: "search".to_owned(), ..view(Show::All) }).len(), 0);
}

/// A replay of so many rows, all of them moved.
fn large(n: usize) -> String {
    let mut document: serde_json::Value =
        serde_json::from_str(include_str!("fixtures/replay-fail.json")).unwrap();
    let moved = document["results"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["line"] == 10)
        .unwrap()
        .clone();
    let row = |line: usize| {
        let mut row = moved.clone();
        row["line"] = line.into();
        row
    };
    document["results"] = (0..n).map(row).collect();
    document.to_string()
}

#[test]
fn a_file_holds_the_worst_200_and_says_how_many_it_leaves_out() {
    let report = read(large(1_234)).unwrap();
    let count = |view: &RowView| file(&report.page(view)).matches("id=\"row-").count();
    let whole = file(&report.page(&RowView::default()));
    assert!(whole.contains("The worst 200 of 1,234 rows. 1,034 are left out."));
    assert_eq!(count(&RowView::default()), 200);
    assert_eq!(count(&RowView { all_rows: true, ..RowView::default() }), 1_234);
    assert_eq!(count(&RowView { page: 6, ..RowView::default() }), 34);
    assert_eq!(count(&RowView { page: 60, ..RowView::default() }), 0);
    let live = in_console(&report.page(&RowView {
        base: "/runs/7".to_owned(),
        page: 1,
        ..RowView::default()
    }));
    assert!(
        live.contains("href=\"/runs/7\">Previous page")
            && live.contains("/runs/7?page=3\">Next page")
    );
    assert!(live.contains("href=\"/runs/7/rows/200\""));
}

#[test]
fn triage_comes_with_its_commands() {
    let triage: Triage = serde_json::from_str(include_str!("fixtures/triage.json")).unwrap();
    let html = file(&report("suite-run").page_with_triage(Some(&triage), &RowView::default()));
    assert!(html.contains("it was deleted before the run"));
    assert!(
        html.contains("restore &#39;wiki::concepts/charge-floor&#39;")
            || html.contains("restore 'wiki::concepts/charge-floor'")
    );
}

/// Texts that have broken pages.
fn hostile() -> Vec<String> {
    let mut all: Vec<String> = [
        "\"quoted\" 'twice'",
        "<script>alert(1)</script>",
        "--> <!--",
        "</td></tr></table><img src=x onerror=alert(1)>",
        "</title></style></main><svg onload=alert(1)>",
        "line\nline\r\nline",
        "\u{1b}[31mred\u{1b}[0m",
        "\u{202e}abc\u{2066}",
        "nul\0nul",
        "javascript:alert(1)",
        "&amp; &#x0; &lt;",
        "\u{ffff}\u{fffe}\u{feff}",
        "name=\"csrf\" value=\"@csrf-of-this-session@\"",
        "",
        "   ",
    ]
    .map(str::to_owned)
    .to_vec();
    all.push("x<|\n".repeat(12_800));
    all
}

/// Words whose values decide what a page shows.
const STRUCTURE: [&str; 10] = [
    "kind",
    "_kind",
    "verdict",
    "status",
    "bound",
    "type",
    "health",
    "skip_reason",
    "schema_version",
    "changed",
];

/// Replaces every text of a document.
fn poison(value: &mut serde_json::Value, text: &str) {
    match value {
        serde_json::Value::String(old) => *old = text.to_owned(),
        serde_json::Value::Array(items) => items.iter_mut().for_each(|item| poison(item, text)),
        serde_json::Value::Object(map) => {
            let free = map.iter_mut().filter(|(key, _)| !STRUCTURE.contains(&key.as_str()));
            free.for_each(|(_, value)| poison(value, text));
        }
        _ => {}
    }
}

/// Allows only tags and attributes that pages use.
fn check_page(html: &str) {
    let tags = "a|bdi|body|button|caption|circle|code|dd|details|div|dl|dt|figcaption|figure|footer|form|h1|h2|h3|\
                head|header|html|i|input|label|li|line|link|main|meta|nav|ol|option|p|path|pre|rect|script|section|\
                select|span|strong|style|summary|svg|table|tbody|td|text|th|thead|time|title|tr|ul";
    let attribute = " (action|aria-[a-z]+|charset|class|content|cx|cy|d|data-update|datetime|height|hidden|href|\
                     http-equiv|id|lang|method|min|name|open|preserveAspectRatio|r|rel|role|rowspan|rx|scope|\
                     selected|src|step|tabindex|text-anchor|title|type|value|viewBox|width|x|x1|x2|y|y1|y2)(=\"[^\"<>]*\")?";
    let tag = Regex::new(&format!("^<(!DOCTYPE html|/?({tags})({attribute})*/?)>")).unwrap();
    let style = html.find("<style>").map_or(0..0, |from| from..html.find("</style>").unwrap());
    for (at, _) in
        html.match_indices('<').filter(|(at, _)| !style.contains(at) || *at == style.start)
    {
        let end =
            (at..html.len().min(at + 80)).rev().find(|end| html.is_char_boundary(*end)).unwrap();
        assert!(tag.is_match(&html[at..]), "{:?}", &html[at..end]);
    }
    let hrefs = Regex::new("(?:href|src|action)=\"([^\"]*)\"").unwrap();
    for found in hrefs.captures_iter(html) {
        assert!(
            found[1].is_empty()
                || found[1].starts_with('/')
                || found[1].starts_with('#')
                || &found[1] == "data:,",
            "{}",
            &found[1]
        );
    }
    let hidden = html[style.end..].find(|c: char| c.is_control() && c != '\n');
    assert_eq!(hidden.map(|at| &html[style.end + at.saturating_sub(60)..style.end + at]), None);
    assert!(html.len() < 4_000_000, "{}", html.len());
}

#[test]
fn hostile_text_breaks_no_page() {
    for (name, text) in REPORTS.iter().filter(|(name, _)| *name != "run") {
        let documents: Vec<&str> = if text.lines().count() < 12 && !text.starts_with("{\n") {
            text.lines().collect()
        } else {
            vec![text]
        };
        for nasty in hostile() {
            let poisoned = |text: &&str| {
                let mut document: serde_json::Value = serde_json::from_str(text).unwrap();
                poison(&mut document, &nasty);
                document.to_string()
            };
            let text = documents.iter().map(poisoned).collect::<Vec<_>>().join("\n");
            let report = read(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            let view = RowView { base: "/runs/7".to_owned(), ..RowView::default() };
            check_page(&file(&report.page(&view)));
            check_page(&in_console(&report.page(&view)));
            for show in [Show::All, Show::Errored] {
                check_page(&in_console(&report.page(&RowView { show, ..view.clone() })));
            }
        }
    }
}
