//! The short form of `cargo xtask campaign purge`, and what the command prints.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use gbrain_bench::campaign::purge::{PurgePlan, run_on_engine};
use gbrain_core::id::{PageKey, SourceId, WorkspaceId};
use gbrain_testkit::engine::Engine;
use jiff::Timestamp;
use serde_json::json;

use crate::capture::configure;
use crate::support::{Home, setup};

#[test]
fn exactly_the_traces_of_a_purged_page_are_gone() {
    for engine in [Engine::Sqlite, Engine::Postgres] {
        let plan = PurgePlan { purges: 6, per_brain: 6, kill_every: 3 };
        let report = run_on_engine(&setup(engine, 11), &plan).unwrap();
        assert_eq!(report.violations, Vec::<String>::new(), "{}", engine.name());
        assert_eq!(report.purges, 6);
        assert!(report.changed > 20 && report.same > 1_000, "{report:?}");
    }
}

#[test]
fn purge_prints_the_removed_objects() {
    for home in Home::both() {
        configure(&home, &json!({ "capture": true }));
        home.put("e", "Every boat has an e in its name.");
        home.put("every", "Every boat has a keel.");
        home.ok(&["query", "which boat has a name?"]);
        let purged = home.json(&["purge", "e", "--yes"]);
        assert_eq!((&purged["page"], &purged["versions"]), (&json!("default::e"), &json!(1)));
        let erased = &purged["erased"];
        assert_eq!((&erased["captures"], &erased["retrieval_logs"]), (&json!(1), &json!(1)));
        assert_eq!(erased.as_object().unwrap().len(), 20, "every count is there, zero too");
        let exported = home.ok(&["eval", "export"]);
        assert!(exported.contains("[purged-1]") && exported.contains("\"every\""), "{exported}");
        let text = home.ok(&["purge", "every", "--yes"]);
        assert!(text.contains("default::every purged (1 version)"), "{text}");
        assert!(text.contains("1 captures: name replaced"), "{text}");
    }
}

#[test]
fn names_that_were_scrubbed_are_found_by_their_hash() {
    for home in Home::both() {
        configure(&home, &json!({ "capture": true }));
        home.put("people/ada-at-example-com", "Ada paints boats.");
        home.put("people/bob-at-example-com", "Bob mends boats.");
        home.ok(&["query", "who has boats?"]);
        let hashes = |text: &str| text.matches("\"key_hash\"").count();
        let before = hashes(&home.ok(&["eval", "export"]));
        assert!(before >= 2, "both names are scrubbed");
        let purged = home.json(&["purge", "people/ada-at-example-com", "--yes"]);
        assert_eq!(purged["erased"]["captures"], 1, "{purged:#}");
        let after = home.ok(&["eval", "export"]);
        assert_eq!(hashes(&after), before - 1, "{after}");
        assert!(after.contains("[purged-1]"), "{after}");
    }
}

#[test]
fn an_interrupted_purge_is_finished_by_the_next_command() {
    for home in Home::both() {
        home.put("notes/secret", "the marker is xyzzyplugh");
        home.put("notes/other", "something else");
        assert_eq!(home.hits(&["search", "xyzzyplugh"]), ["default::notes/secret"]);
        // What a process leaves that is killed behind the transaction: a mark, and an index with the text.
        let index = fs::read_dir(home.path().join("index")).unwrap();
        let index = index.map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap();
        let mark = index
            .with_file_name(format!("{}.purging", index.file_name().unwrap().to_string_lossy()));
        let key = PageKey::parse("notes/secret", &SourceId::default()).unwrap();
        home.store().purge_page(&WorkspaceId::default(), &key, Timestamp::now()).unwrap();
        fs::write(&mark, "").unwrap();
        let before = segments(&index);
        assert!(!before.is_empty());
        let again = home.ok(&["purge", "notes/secret", "--yes"]);
        assert!(again.contains("an interrupted purge is finished"), "{again}");
        assert!(!mark.exists());
        assert!(before.is_disjoint(&segments(&index)), "every file with the text is gone");
        assert_eq!(home.hits(&["search", "something"]), ["default::notes/other"]);
        assert_eq!(home.run(&["purge", "notes/secret", "--yes"]).code, Some(2), "only once");
    }
}

/// The files of an index that hold text, each under a name that is used once.
fn segments(index: &Path) -> BTreeSet<String> {
    let names = fs::read_dir(index).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    names.filter(|name| name.len() > 32 && !name.starts_with('.')).collect()
}
