//! A page whose title has no end: it is stored whole, and its title is not repeated whole.

use gbrain_core::page::MAX_TITLE;

use crate::support::Home;

/// A page whose first heading is a megabyte, with so much text that it has many passages.
fn long_heading() -> String {
    let heading = "ferry ".repeat(1 << 20 >> 3);
    let body: String =
        (0..2_000).map(|n| format!("The boat {n} leaves the harbour at noon. ")).collect();
    format!("# {heading}\n\n{body}\n")
}

#[test]
fn a_heading_without_end_is_not_repeated() {
    for home in Home::both() {
        let page = long_heading();
        assert_eq!(home.put("notes/long", &page).code, Some(0));
        let found = home.json(&["search", "boat harbour"]);
        let hit = &found["hits"][0];
        assert_eq!(hit["slug"], "notes/long", "{found}");
        let title = hit["title"].as_str().unwrap();
        assert!(title.chars().count() <= MAX_TITLE, "{}", title.len());
        assert!(title.starts_with("ferry ferry") && title.ends_with('…'), "{title}");
        assert_eq!(home.json(&["list"])["pages"][0]["title"], title);
        assert_eq!(home.json(&["history", "notes/long"])["versions"][0]["title"], title);
        assert_eq!(home.ok(&["get", "notes/long"]), page, "its text is whole");
        home.ok(&["reindex", "--verify"]);
    }
}

#[test]
fn names_without_end_are_refused() {
    let home = Home::sqlite();
    for key in ["title", "type", "tags", "aliases"] {
        let page = format!("---\n{key}: {}\n---\nbody", "x".repeat(100_000));
        let ran = home.put("notes/long", &page);
        assert_eq!(ran.code, Some(2), "{key}: {}", ran.stderr);
        assert!(ran.stderr.contains("characters; shorten it"), "{}", ran.stderr);
        assert!(ran.stderr.len() < 500, "{}", ran.stderr);
    }
    home.run(&["sources", "add", "wiki", "--name", &"x".repeat(10_000)])
        .exits(2)
        .stderr_has("at most 200");
}
