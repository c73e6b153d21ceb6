//! `check` finds every kind of violation.

use gbrain_store::Invariant;

use crate::captures::capture;
use crate::database::Database;
use crate::fixture::*;
use crate::playbook::one_of_each;

on_both_engines! { damage_is_found }

fn damage_is_found(db: &Database) {
    let store = db.open();
    let pages: Vec<_> = (0..5).map(|n| full(&format!("p{n}"), &format!("text {n}"))).collect();
    write(&store, &pages.iter().collect::<Vec<_>>(), 1);
    write(&store, &[&plain("note", "a note.")], 2);
    assert_sound(&store);
    let (root, zeros) = (store.head(&ws()).unwrap().root.to_hex(), "0".repeat(64));
    let check = |update: &str, damaged: &str, sound: &str, wanted: &[Invariant]| {
        db.raw(&update.replace("{}", damaged)).unwrap();
        let found: Vec<_> = store.check(&ws()).unwrap().iter().map(|f| f.invariant).collect();
        for invariant in wanted {
            assert!(found.contains(invariant), "{update}: {found:?}");
        }
        db.raw(&update.replace("{}", sound)).unwrap();
        assert_sound(&store);
    };
    store.add_captures(&ws(), &[capture("a"), capture("b")], at(1)).unwrap();
    use Invariant::{Captures, Chunks, Content, Counts, Feed, Numbers, Root, Versions};
    check("UPDATE workspaces SET root = '{}'", &zeros, &root, &[Root, Feed]);
    check("UPDATE workspaces SET pages = {}", "4", "6", &[Counts, Feed]);
    check("UPDATE workspaces SET chunks = {}", "14", "16", &[Counts, Feed]);
    check("UPDATE changes SET generation = {} WHERE page_id = 2", "99", "2", &[Feed]);
    check("UPDATE changes SET version = {} WHERE page_id = 2", "7", "1", &[Feed]);
    let chat = "UPDATE page_versions SET content = '{}' WHERE page_id = 1";
    check(chat, "text x", "text 0", &[Content]);
    let note = "UPDATE page_versions SET content = '{}' WHERE page_id = 6";
    check(note, "a note!", "a note.", &[Content]);
    let count = "UPDATE page_versions SET chunk_count = {} WHERE page_id = 1";
    check(count, "2", "3", &[Chunks, Versions]);
    check("UPDATE pages SET version = {} WHERE page_id = 1", "2", "1", &[Versions]);
    check("UPDATE pages SET deleted_at = {} WHERE page_id = 1", "5", "NULL", &[Versions, Root]);
    check("UPDATE eval_clock SET last_id = {}", "1", "2", &[Captures]);
    store.close_captures(&ws(), at(9)).unwrap();
    check("UPDATE eval_windows SET last_id = {}", "3", "2", &[Captures]);
    one_of_each(&store, &ws(), "one");
    assert_sound(&store);
    let numbered = [
        ("suite_events", "1"),
        ("suite_runs", "1"),
        ("canonical_queries", "1"),
        ("retrieval_logs", "1"),
        ("feedback_events", "2"),
        ("calibration_pairs", "1"),
        ("rerank_thresholds", "1"),
        ("alert_deliveries", "1"),
        ("alert_silences", "1"),
        ("incidents", "1"),
    ];
    for (name, last) in numbered {
        let counter = format!("UPDATE counters SET last_id = {{}} WHERE name = '{name}'");
        check(&counter, "0", last, &[Numbers]);
    }
    check("UPDATE alert_cursors SET run_id = {}", "2", "1", &[Numbers]);
}
