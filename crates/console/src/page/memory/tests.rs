use serde_json::{Value, json};

use super::*;
use crate::shell::Page;
use crate::{Chrome, live};

const HOSTILE: &str = "<script>alert(1)</script>\"'\u{202e}";

fn parsed<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// The page in the console, which must not hold hostile text as it was.
#[track_caller]
fn shown(page: &Page) -> String {
    let html =
        live(page, &Chrome { workspace: "w", reader: "r", is_signed_in: false, csrf: "token" });
    assert!(!html.contains("<script>alert") && !html.contains('\u{202e}'), "{html}");
    assert!(!html.contains(" style="), "{html}");
    html
}

#[track_caller]
fn has(html: &str, expected: &[&str]) {
    for one in expected {
        assert!(html.contains(one), "missing {one:?} in\n{html}");
    }
}

#[track_caller]
fn lacks(html: &str, unwanted: &[&str]) {
    for one in unwanted {
        assert!(!html.contains(one), "unwanted {one:?} in\n{html}");
    }
}

fn sources() -> SourceList {
    parsed(json!({ "sources": [{ "id": "wiki", "pages": 1200 }, { "id": "journal", "pages": 1 }] }))
}

fn entry(slug: &str, title: &str) -> Value {
    json!({ "source_id": "wiki", "slug": slug, "title": title, "type": "person", "tags": ["a", HOSTILE],
        "effective_date": "2026-05-01", "updated_at": "2026-05-02T10:11:12Z", "deleted_at": null })
}

fn stored(kind: &str, content: &str) -> StoredText {
    parsed(json!({
        "source_id": "wiki", "slug": "people/ada", "version": 3, "kind": kind, "title": "Ada Quill",
        "type": "person", "tags": ["ops"], "aliases": ["AQ"], "effective_date": null, "content": content,
        "takes": [
            { "claim": HOSTILE, "kind": "fact", "holder": null, "weight": 0.9, "since": "2025-01-01", "until": "2026-01-01", "active": false },
            { "claim": "runs the planner", "kind": "take", "holder": "Bo", "weight": 0.5, "since": "2024-01-01", "until": null, "active": true },
        ],
    }))
}

fn edge(link_type: &str, from: &str, to: &str) -> Value {
    json!({ "type": link_type, "from": from, "to": to, "confidence": 0.9, "detected_by": "sentence", "since": "2025-02-03",
        "until": null, "evidence_page": from, "evidence": "Ada <b>works</b> at the quay." })
}

fn links() -> LinkList {
    parsed(json!({ "edges": [
        edge("works_at", "wiki::people/ada", "wiki::companies/quay"),
        edge("mentions", "wiki::people/ada", "wiki::companies/quay"),
        edge("owned_by", "wiki::services/planner", "wiki::people/ada"),
    ], "unresolved": ["people/nemo"] }))
}

fn viewed(stored: &StoredText, may_write: bool) -> String {
    let (links, today) = (links(), "2026-06-01");
    shown(&view(&PageView {
        stored,
        state: PageState::Newest,
        links: Some(&links),
        may_write,
        today,
    }))
}

#[test]
fn the_list_has_titles_names_filters_and_pages() {
    let pages = parsed(
        json!({ "pages": [entry("people/ada", "Ada"), entry("people/x", HOSTILE)], "next_after": "wiki::people/x" }),
    );
    let query = ListQuery {
        source: "wiki".to_owned(),
        page_type: "person".to_owned(),
        ..ListQuery::default()
    };
    let page = list(&query, &sources(), &MemoryContent::Browse(pages), true);
    assert_eq!(page.command, "gbrain list --source wiki --type person");
    has(
        &shown(&page),
        &[
            "<h1>Memory</h1>",
            "1,201 pages in 2 sources.",
            "href=\"/pages/wiki%3A%3Apeople%2Fada\"",
            "people/ada",
            "<option value=\"wiki\" selected>",
            "href=\"/pages?source=wiki&amp;type=person&amp;after=wiki%3A%3Apeople%2Fx\"",
            "href=\"/pages?source=wiki&amp;type=person&amp;tag=a\"",
            "2026-05-02 10:11 UTC",
            "href=\"/pages/new\"",
            "<time datetime=\"2026-05-01\">",
        ],
    );
}

#[test]
fn a_reader_is_offered_no_writing() {
    let page =
        list(&ListQuery::default(), &sources(), &MemoryContent::Browse(PageList::default()), false);
    let html = shown(&page);
    has(&html, &["The memory is empty.", "gbrain import ~/notes"]);
    lacks(&html, &["/pages/new", "method=\"post\""]);
    let filtered = ListQuery { tag: "none".to_owned(), ..ListQuery::default() };
    has(
        &shown(&list(&filtered, &sources(), &MemoryContent::Browse(PageList::default()), false)),
        &["No page fits.", "Show all pages"],
    );
    lacks(&viewed(&stored("markdown", "x"), false), &["/edit", "/delete", "method=\"post\""]);
}

#[test]
fn a_search_shows_why_a_page_was_found() {
    let result = parsed(
        json!({ "hits": [{ "source_id": "wiki", "slug": "people/ada", "title": "Ada", "type": "person",
        "effective_date": null, "evidence": "all_words", "passages": [{ "snippet": "née <Quill> Ada", "highlights": [[4, 11], [2, 5], [12, 99]] }] }] }),
    );
    let query = ListQuery { q: "who's -ada".to_owned(), ..ListQuery::default() };
    let page = list(&query, &sources(), &MemoryContent::Found(result), false);
    assert_eq!(page.command, r"gbrain query 'who'\''s -ada'");
    has(
        &shown(&page),
        &[
            "one passage holds every word",
            "née <mark>&lt;Quill&gt;</mark> Ada",
            "/explain?q=who%27s%20-ada",
        ],
    );
    let none = list(&query, &sources(), &MemoryContent::Found(SearchResult::default()), false);
    has(&shown(&none), &["Nothing found for", "who's -ada", "Find out why"]);
}

#[test]
fn a_page_shows_its_text_facts_claims_and_links() {
    let html = viewed(
        &stored(
            "markdown",
            "---\ntitle: Ada\nowner: Bo\n---\n# Ada Quill\n\nSee [[companies/quay]] <script>alert(1)</script>.\n\n## Work",
        ),
        true,
    );
    has(
        &html,
        &[
            "<h1>Ada Quill</h1>",
            "<code>wiki::people/ada</code>",
            "<a href=\"/pages/wiki%3A%3Acompanies%2Fquay?link=1\">companies/quay</a>",
            "&lt;script&gt;",
            "<dt>owner</dt><dd><bdi>Bo</bdi></dd>",
            "Claims over time",
            "superseded",
            "runs the planner",
            "<h3>Work</h3>",
            "Links from this page: 2",
            "Links to this page: 1",
            "works at",
            "Ada &lt;b&gt;works&lt;/b&gt; at the quay.",
            "since 2025-02-03",
            "aria-label=\"wiki::people/ada: 1 page links to it, 1 link from it\"",
            "works at, mentions",
            "people/nemo",
            "gbrain get wiki::people/ada",
            "href=\"/pages/wiki%3A%3Apeople%2Fada/edit\"",
            "href=\"/pages/wiki%3A%3Apeople%2Fada/history\"",
        ],
    );
    // The heading that repeats the title is left out: the page has it already.
    assert_eq!(html.matches("Ada Quill</h").count(), 1);
}

#[test]
fn claims_are_oldest_first() {
    let html = viewed(&stored("markdown", "x"), false);
    let at = |text: &str| html.rfind(text).unwrap();
    assert!(at("runs the planner") < at("&lt;script&gt;alert"), "{html}");
}

#[test]
fn a_claim_whose_end_is_past_no_longer_holds() {
    let mut stored = stored("markdown", "x");
    stored.takes[1].until = Some("2026-05-31".to_owned());
    let html = viewed(&stored, false);
    has(&html, &["superseded", "ended</span>"]);
    lacks(&html, &["holds</span>"]);
}

#[test]
fn a_chat_has_turns_and_cannot_be_edited() {
    let html = viewed(
        &stored("chat", "# Ada Quill\n\n**Bo** (2026-05-01): Is it **done**?\n\n**Ada**: yes"),
        true,
    );
    has(
        &html,
        &[
            "<ol class=\"turns\">",
            "<strong><bdi>Bo</bdi></strong>",
            "2026-05-01",
            "<strong>done</strong>",
            "/delete",
        ],
    );
    lacks(&html, &["/edit"]);
}

#[test]
fn plain_text_stays_as_it_is() {
    has(
        &viewed(&stored("text", "a *b*\n  c"), false),
        &["<pre class=\"code\" tabindex=\"0\">a *b*\n  c\n</pre>"],
    );
}

#[test]
fn an_older_version_leads_to_the_newest() {
    let stored = stored("markdown", "old");
    let page = view(&PageView {
        stored: &stored,
        state: PageState::Older,
        links: None,
        may_write: true,
        today: "2026-06-01",
    });
    assert_eq!(page.command, "gbrain get --version 3 wiki::people/ada");
    let html = shown(&page);
    has(
        &html,
        &[
            "Version 3, which is not the newest.",
            "<a href=\"/pages/wiki%3A%3Apeople%2Fada\">newest</a>",
        ],
    );
    lacks(&html, &["/edit", "Links from"]);
}

fn versions(ops: &[&str]) -> PageVersions {
    let version = |(at, op): (usize, &&str)| json!({ "version": at + 1, "op": op, "title": "Ada", "bytes": 1234, "created_at": "2026-05-02T10:11:12Z" });
    parsed(
        json!({ "source_id": "wiki", "slug": "people/ada", "versions": ops.iter().enumerate().map(version).collect::<Vec<_>>() }),
    )
}

#[test]
fn a_history_has_differences() {
    let versions = versions(&["write", "write", "delete", "restore"]);
    assert_eq!(versions.newest_two(), Some((2, 4)));
    let compared = ComparedVersions {
        before: 2,
        after: 4,
        before_text: format!("same\nold {HOSTILE}\n"),
        after_text: "same\nnew\n".to_owned(),
    };
    let html = shown(&history(&versions, Some(&compared), true));
    has(
        &html,
        &[
            "From version 2 to version 4",
            "1 line removed, 1 line added.",
            "<tr class=\"removed\">",
            "<tr class=\"added\">",
            "<span class=\"aloud\">removed</span>",
            "href=\"/pages/wiki%3A%3Apeople%2Fada?version=4\"",
            "no text",
            "1,234",
            "<option value=\"2\" selected>",
        ],
    );
    lacks(&html, &["<option value=\"3\"", "Restore"]);
    let equal =
        ComparedVersions { before_text: "a".to_owned(), after_text: "a".to_owned(), ..compared };
    has(&shown(&history(&versions, Some(&equal), true)), &["The texts are equal."]);
    has(&shown(&history(&self::versions(&["write"]), None, true)), &["nothing to compare"]);
}

#[test]
fn a_deleted_page_can_be_restored() {
    let versions = versions(&["write", "delete"]);
    assert!(versions.is_deleted());
    let html = shown(&deleted("wiki::people/ada", &versions, true));
    has(
        &html,
        &[
            "This page was deleted",
            "action=\"/pages/wiki%3A%3Apeople%2Fada/restore\"",
            "name=\"csrf\" value=\"token\"",
            "?version=1",
        ],
    );
    let html = shown(&deleted("wiki::people/ada", &versions, false));
    has(&html, &["A token of scope write can restore it."]);
    lacks(&html, &["/restore"]);
}

#[test]
fn forms_carry_the_token_and_the_version() {
    let html = shown(&edit(&stored("markdown", "\nline </textarea><script>alert(1)</script>")));
    has(
        &html,
        &[
            "method=\"post\" action=\"/pages/wiki%3A%3Apeople%2Fada/write\"",
            "name=\"csrf\" value=\"token\"",
            "name=\"version\" value=\"3\"",
            "name=\"format\" value=\"markdown\"",
            "dir=\"auto\">\n\nline &lt;/textarea&gt;&lt;script&gt;",
        ],
    );
    has(
        &shown(&edit(&stored("chat", "x"))),
        &["A conversation is imported, not edited.", "gbrain put wiki::people/ada FILE"],
    );
    has(&shown(&edit(&stored("markdown", &"x".repeat(2 << 20)))), &["too long for a form"]);
    has(
        &shown(&write(&Draft { name: HOSTILE })),
        &["action=\"/pages/new\"", "name=\"csrf\" value=\"token\"", "&lt;script&gt;"],
    );
}

#[test]
fn a_deletion_is_confirmed() {
    let html = shown(&confirm_delete(&stored("markdown", "x"), &links()));
    has(
        &html,
        &[
            "Delete this page?",
            "1 page links to it:",
            "services/planner",
            "method=\"post\" action=\"/pages/wiki%3A%3Apeople%2Fada/delete\"",
            "name=\"csrf\" value=\"token\"",
            "Keep it",
            "gbrain purge wiki::people/ada",
        ],
    );
}

#[test]
fn many_links_and_long_names_are_cut() {
    let long = format!("wiki::{}", "very-long/".repeat(50));
    let edges: Vec<Value> =
        (0..300).map(|n| edge("mentions", &format!("{long}{n}"), "wiki::people/ada")).collect();
    let links: LinkList = parsed(json!({ "edges": edges }));
    let stored = stored("markdown", "x");
    let html = shown(&view(&PageView {
        stored: &stored,
        state: PageState::Newest,
        links: Some(&links),
        may_write: false,
        today: "2026-06-01",
    }));
    has(&html, &["Links to this page: 300", "And 200 more.", "The strongest links are drawn"]);
    assert_eq!(html.matches("class=\"name\" x=").count(), 11, "eleven at one side");
}

#[test]
fn commands_are_quoted() {
    assert_eq!(command_line("gbrain get", &[("", "a b;rm -rf /")]), "gbrain get 'a b;rm -rf /'");
    assert_eq!(
        command_line("gbrain list", &[("--tag", "-x"), ("--type", "")]),
        "gbrain list --tag=-x"
    );
    assert_eq!(command_line("gbrain query", &[("", "--help")]), "gbrain query -- --help");
}
