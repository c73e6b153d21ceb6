//! Arguments with a mistake in them are told, and do not silently mean something else or yield nothing.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::{Home, Ran, demo_home};

#[test]
fn addresses_of_other_databases_make_no_brain() {
    for url in
        ["mysql://x", " mysql://x", "mysql:x", "postgre://h/d", "postgres:/h/d", "hots=h", ""]
    {
        let home = Home::sqlite();
        for mut command in [
            home.command(&["list", "--database-url", url]),
            home.command(&["init", "--database-url", url]),
        ] {
            command.current_dir(home.path());
            let ran = Ran::of(command.output().unwrap());
            assert_eq!(ran.code, Some(2), "{url:?}: {}", ran.stdout);
            assert!(ran.stderr.contains("--database-url"), "{url:?}: {}", ran.stderr);
        }
        let mut command = home.command(&["list"]);
        command.current_dir(home.path()).env("DATABASE_URL", url);
        let ran = Ran::of(command.output().unwrap());
        // An empty variable says nothing.
        assert_eq!(ran.code, Some(if url.is_empty() { 0 } else { 2 }), "{url:?}: {}", ran.stderr);
        home.write("config.json", format!("{{\"database_url\":{url:?}}}"));
        assert_eq!(home.run(&["list"]).code, Some(2), "{url:?}");
        let mut left: Vec<_> = fs::read_dir(home.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        if !url.is_empty() {
            assert_eq!(left, ["config.json"], "{url:?}");
        }
    }
}

#[test]
fn postgres_is_postgres_in_capitals_and_behind_a_blank() {
    let home = Home::sqlite();
    for url in
        ["POSTGRES://localhost:1/x", " postgres://localhost:1/x", "PostgreSQL://localhost:1/x"]
    {
        let ran = home.run(&["list", "--database-url", url]);
        assert_eq!(ran.code, Some(2), "{url:?}");
        assert!(ran.stderr.contains("cannot be reached"), "{url:?}: {}", ran.stderr);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0, "{url:?}");
    }
}

#[test]
fn unknown_sources_are_refused_and_known_ones_named() {
    let home = demo_home(Home::sqlite());
    for words in [
        &["query", "charge floor", "--source", "wki"][..],
        &["search", "charge floor", "--source", "wiki", "--source", "wki"],
        &["list", "--source", "wki"],
    ] {
        let ran = home.run(words);
        assert_eq!(ran.code, Some(2), "{words:?}: {}", ran.stdout);
        assert_eq!(ran.stdout, "", "{words:?}");
        assert!(ran.stderr.contains("no source `wki`"), "{words:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("wiki"), "{words:?}: {}", ran.stderr);
    }
    assert_ne!(home.hits(&["query", "charge floor", "--source", "wiki"]), Vec::<String>::new());
}

#[test]
fn filters_that_match_no_page_are_reported() {
    let home = demo_home(Home::sqlite());
    home.run(&["query", "charge floor", "--type", "meetng", "--tag", "nothing-like-it"])
        .exits(0)
        .stderr_has("no page has the type `meetng`")
        .stderr_has("no page has the tag `nothing-like-it`");
    let ran = home.run(&["search", "zzqx", "--type", "meeting"]);
    assert!(!ran.stderr.contains("no page"), "{}", ran.stderr);
}

#[test]
fn an_empty_brain_and_a_new_home_are_reported() {
    for home in Home::both() {
        home.ok(&["init"]);
        for verb in ["query", "search"] {
            let ran = home.run(&[verb, "anything", "--quiet"]).exits(0);
            assert!(ran.stderr.contains("has no pages"), "{verb}: {}", ran.stderr);
        }
        home.put("a", "something");
        let ran = home.run(&["search", "nothing", "--quiet"]);
        assert_eq!(ran.stderr, "", "a brain with pages");
    }
    let home = Home::sqlite();
    let missing = home.path().join("typo");
    let ran = home.run(&["list", "--home", missing.to_str().unwrap(), "--quiet"]);
    assert!(ran.stderr.contains("there is no brain at"), "{}", ran.stderr);
    assert!(ran.stderr.contains("typo"), "{}", ran.stderr);
    let ran = home.run(&["list", "--home", missing.to_str().unwrap()]);
    assert_eq!(ran.stderr, "", "the second time it is there");
    let other = Home::sqlite();
    assert!(!other.run(&["init"]).stderr.contains("there is no brain"), "init makes one");
}

#[test]
fn files_that_an_import_passes_over_are_counted_by_kind() {
    let home = Home::sqlite();
    let notes = home.path().join("notes");
    fs::create_dir_all(notes.join("deep/.git")).unwrap();
    for name in ["a.md", "b.pdf", "deep/c.pdf", "d.docx", "README", ".hidden", "deep/.git/x.pdf"] {
        fs::write(notes.join(name), "text").unwrap();
    }
    symlink(notes.join("a.md"), notes.join("link.md")).unwrap();
    let ran =
        home.run(&["import", notes.to_str().unwrap(), "--quiet"]).exits(0).stdout_has("1 added");
    for kind in ["2 x .pdf", "1 x .docx", "1 x no extension", "1 x symbolic link"] {
        assert!(ran.stderr.contains(kind), "{kind}: {}", ran.stderr);
    }
    let body = home.json(&["import", notes.to_str().unwrap()]);
    assert_eq!(body["skipped"][".pdf"], 2, "{body}");
    let only = home.path().join("only");
    fs::create_dir(&only).unwrap();
    fs::write(only.join("a.md"), "text").unwrap();
    let ran = home.run(&["import", only.to_str().unwrap(), "--quiet"]);
    assert_eq!(ran.stderr, "", "nothing was passed over");
}
