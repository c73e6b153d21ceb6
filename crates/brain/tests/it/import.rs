//! Imports of what is no file, of pages that are too much, and over texts that the disk damaged.

use std::path::Path;
use std::process::Command;

use gbrain_brain::import::{ImportOptions, ImportSummary, StoredTexts, import};
use gbrain_brain::{Brain, IndexKind, built_in_models};
use gbrain_core::page::{MAX_ALIASES, MAX_LINKS};

use super::{NOW, empty_brain};

fn options() -> ImportOptions {
    let source = gbrain_core::id::SourceId::default();
    ImportOptions {
        source,
        threads: None,
        allow_empty: false,
        halt: None,
        stored: StoredTexts::Check,
    }
}

fn import_of(brain: &Brain, paths: &[&Path]) -> ImportSummary {
    let paths: Vec<_> = paths.iter().map(|path| path.to_path_buf()).collect();
    import(brain, &paths, &options(), NOW, &|_| ()).unwrap()
}

fn counts(summary: &ImportSummary) -> (usize, usize, usize, usize) {
    (summary.added, summary.changed, summary.unchanged, summary.failed.len())
}

#[test]
fn a_pipe_or_a_device_by_name_is_a_failure_that_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let brain = empty_brain(dir.path(), IndexKind::Memory, built_in_models());
    let (pipe, note) = (dir.path().join("pipe.md"), dir.path().join("note.md"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    std::fs::write(&note, "a note").unwrap();
    let socket = dir.path().join("socket.md");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    // The pipe has no writer: an import that opened it would never end.
    let summary = import_of(&brain, &[&pipe, &note, &socket, Path::new("/dev/zero")]);
    assert_eq!(counts(&summary), (1, 0, 0, 3));
    for failure in &summary.failed {
        assert!(failure.reason.contains("a device, pipe or socket"), "{failure:?}");
    }
}

#[test]
fn a_page_that_is_too_much_is_a_failure_of_its_file_alone() {
    let dir = tempfile::tempdir().unwrap();
    let brain = empty_brain(dir.path(), IndexKind::Memory, built_in_models());
    let notes = dir.path().join("notes");
    std::fs::create_dir(&notes).unwrap();
    let aliases = |count: usize| {
        let names: Vec<String> = (0..count).map(|n| format!("  - name {n}")).collect();
        format!("---\naliases:\n{}\n---\nbody", names.join("\n"))
    };
    let links = |count: usize| (0..count).map(|n| format!("[[page {n}]] ")).collect::<String>();
    std::fs::write(notes.join("aliases.md"), aliases(MAX_ALIASES + 1)).unwrap();
    std::fs::write(notes.join("links.md"), links(MAX_LINKS + 1)).unwrap();
    std::fs::write(notes.join("most.md"), aliases(MAX_ALIASES) + &links(MAX_LINKS)).unwrap();
    std::fs::write(notes.join("note.md"), "a note").unwrap();
    let summary = import_of(&brain, &[&notes]);
    assert_eq!(counts(&summary), (2, 0, 0, 2));
    let reasons: Vec<&str> = summary.failed.iter().map(|failed| failed.reason.as_str()).collect();
    assert!(reasons[0].contains("more than 1000 aliases"), "{reasons:?}");
    assert!(reasons[1].contains("more than 10000 links"), "{reasons:?}");
}

#[test]
fn a_damaged_text_is_put_back_from_its_file() {
    let dir = tempfile::tempdir().unwrap();
    let brain = empty_brain(dir.path(), IndexKind::Memory, built_in_models());
    let notes = dir.path().join("notes");
    std::fs::create_dir(&notes).unwrap();
    let chat = r#"[{"speaker":"ada","text":"the ferry is late"},{"speaker":"bo","text":"again"}]"#;
    for (name, text) in [("a.md", "the first note"), ("b.txt", "the second note"), ("c.json", chat)]
    {
        std::fs::write(notes.join(name), text).unwrap();
    }
    assert_eq!(counts(&import_of(&brain, &[&notes])), (3, 0, 0, 0));
    assert_eq!(counts(&import_of(&brain, &[&notes])), (0, 0, 3, 0));
    let raw = rusqlite::Connection::open(dir.path().join("brain.db")).unwrap();
    let damage = |slug: &str, sql: &str| {
        let sql = format!(
            "UPDATE page_versions SET content = {sql} WHERE page_id = \
             (SELECT page_id FROM pages WHERE slug = '{slug}')"
        );
        assert_eq!(raw.execute(&sql, []).unwrap(), 1);
    };
    damage("a", "replace(content, 'first', 'fjrst')");
    damage("c", "replace(content, 'ferry', 'fjrry')");
    // Bytes that are no text.
    damage("b", "CAST(x'74686520ff65636f6e64206e6f7465' AS TEXT)");
    assert!(!brain.store().check(brain.workspace()).map(|found| found.is_empty()).unwrap_or(false));
    let summary = import_of(&brain, &[&notes]);
    assert_eq!(counts(&summary), (0, 3, 0, 0), "{summary:?}");
    assert!(summary.warnings.iter().all(|told| told.reason.contains("damaged")));
    assert_eq!(brain.store().check(brain.workspace()).unwrap(), vec![]);
    assert_eq!(counts(&import_of(&brain, &[&notes])), (0, 0, 3, 0));
}
