//! Vectors from the first command on: found by meaning, left out on request, moved to another
//! model.

use std::fs;
use std::path::{Path, PathBuf};

use gbrain_bench::campaign::triage::vectors::reseal;
use serde_json::Value;

use crate::support::{Home, demo_home, keys, wait_until};

fn notes(home: &Home) {
    for (slug, text) in [
        ("garden", "# Garden\n\nThe tomatoes were watered and the roses pruned.\n"),
        ("clinic", "# Clinic\n\nThe physician examined her knee and prescribed rest.\n"),
        ("engine", "# Engine\n\nThe motor of the lorry would not start in the cold.\n"),
        ("ledger", "# Ledger\n\nThe invoice of the supplier was paid late again.\n"),
    ] {
        assert_eq!(home.put(slug, text).code, Some(0));
    }
}

#[test]
fn a_page_is_found_by_its_meaning_alone() {
    for home in Home::both() {
        notes(&home);
        for (question, slug) in [
            ("doctor visit", "clinic"),
            ("truck trouble", "engine"),
            ("bills and payments", "ledger"),
            ("vegetables and flowers", "garden"),
        ] {
            let answer = home.json(&["query", question]);
            assert_eq!(answer["hits"][0]["slug"], slug, "{question}");
            assert_eq!(answer["hits"][0]["evidence"], "meaning", "{question}");
            assert_eq!(answer["hits"][0]["create_safety"], "unknown");
            assert_eq!(answer["vector_enabled"], true);
            assert!(answer["embedder"].as_str().unwrap().starts_with("static-256-"));
            let without = home.json(&["query", question, "--no-vector"]);
            assert_eq!(without["vector_enabled"], false);
            assert_eq!(without["embedder"], Value::Null);
            assert_eq!(without["hits"].as_array().unwrap().len(), 0, "{question}");
            assert_eq!(home.json(&["search", question])["vector_enabled"], false);
        }
    }
}

#[test]
fn memory_and_disk_give_the_same_answers_by_meaning() {
    let home = demo_home(Home::sqlite());
    for question in ["boats that break down", "who decides about money", "what went wrong at night"]
    {
        let of = |index: &str| {
            let mut answer =
                home.json(&["query", question, "--index", index, "--now", "2026-06-30T00:00:00Z"]);
            answer.as_object_mut().unwrap().remove("served");
            answer
        };
        let disk = of("disk");
        assert_eq!(disk, of("memory"), "{question}");
        assert!(!keys(&disk).is_empty());
    }
}

#[test]
fn private_pages_are_not_found_by_meaning_either() {
    let home = Home::sqlite();
    notes(&home);
    let secret = "---\nvisibility: private\n---\n# Diagnosis\n\nThe surgeon saw the patient.\n";
    assert_eq!(home.put("diagnosis", secret).code, Some(0));
    let found = |args: &[&str]| keys(&home.json(args));
    let is_secret = |key: &String| key.contains("diagnosis");
    assert!(found(&["query", "medical doctor"]).iter().any(is_secret));
    assert!(!found(&["query", "medical doctor", "--untrusted"]).iter().any(is_secret));
}

fn index_dir(home: &Path) -> PathBuf {
    fs::read_dir(home.join("index")).unwrap().next().unwrap().unwrap().path()
}

/// Makes a brain look as if another gbrain had written it: the same vectors, under another id.
fn pretend_other_model(home: &Path, id: &str, other: &str) {
    let dir = index_dir(home);
    let meta = fs::read_to_string(dir.join("meta.json")).unwrap();
    assert!(meta.contains(id));
    let meta = without_checksum(&meta.replace(id, other));
    fs::write(dir.join("meta.json"), meta).unwrap();
    for entry in fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path()) {
        let name = entry.file_name().unwrap().to_str().unwrap().to_owned();
        if name.contains(id) {
            fs::rename(&entry, entry.with_file_name(name.replace(id, other))).unwrap();
        }
    }
}

/// The file of a gbrain that gave its commits no checksum.
fn without_checksum(meta: &str) -> String {
    let mut meta: Value = serde_json::from_str(meta).unwrap();
    let mut payload: Value = serde_json::from_str(meta["payload"].as_str().unwrap()).unwrap();
    payload.as_object_mut().unwrap().remove("checksum").unwrap();
    meta["payload"] = payload.to_string().into();
    meta.to_string()
}

#[test]
fn vectors_of_another_model_are_named_and_replaced() {
    let home = Home::sqlite();
    notes(&home);
    let id = home.json(&["query", "doctor"])["embedder"].as_str().unwrap().to_owned();
    let other = "static-256-000000000000";
    pretend_other_model(home.path(), &id, other);

    let ran = home.run(&["query", "doctor visit", "--json"]);
    let answer = ran.json();
    assert_eq!(answer["vector_enabled"], false);
    assert_eq!(answer["degraded"][0]["stage"], "vectors");
    assert_eq!(answer["degraded"][0]["reason"], "other_model");
    assert!(ran.stderr.contains("gbrain reembed"), "{}", ran.stderr);
    let status = home.json(&["reembed", "--status"]);
    assert_eq!((&status["held"], &status["is_searchable"]), (&other.into(), &false.into()));
    assert_eq!((&status["wanted"], &status["made"]), (&id.clone().into(), &0.into()));
    assert!(home.ok(&["reembed", "--status"]).contains("does not have that model"));
    assert!(home.ok(&["stats"]).contains("see `gbrain reembed --status`"));

    // Pages that come meanwhile are found by their words, and by their meaning after the move.
    assert_eq!(home.put("vet", "# Vet\n\nThe kitten was vaccinated.\n").code, Some(0));
    assert_eq!(home.hits(&["query", "kitten"]), ["default::vet"]);
    let report = home.json(&["reembed"]);
    assert_eq!((&report["held"], &report["is_settled"]), (&id.clone().into(), &true.into()));
    let answer = home.json(&["query", "cat"]);
    assert_eq!(
        (&answer["vector_enabled"], &answer["hits"][0]["slug"]),
        (&true.into(), &"vet".into())
    );
    let left = fs::read_dir(index_dir(home.path())).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_str().unwrap().contains(other)), "{left:?}");
    assert!(home.ok(&["reindex", "--verify"]).starts_with("clean"));
    assert_eq!(home.json(&["reembed"])["is_settled"], true, "doing it again does nothing");
}

#[test]
fn re_embedding_can_go_on_behind() {
    let home = Home::sqlite();
    notes(&home);
    let id = home.json(&["query", "doctor"])["embedder"].as_str().unwrap().to_owned();
    pretend_other_model(home.path(), &id, "static-256-000000000000");
    assert!(home.json(&["reembed", "--background"])["process"].as_u64().unwrap() > 0);
    wait_until("it is settled", || home.json(&["reembed", "--status"])["is_settled"] != false);
}

#[test]
fn verifying_sees_vectors_that_do_not_fit() {
    let home = Home::sqlite();
    notes(&home);
    assert!(home.ok(&["reindex", "--verify"]).starts_with("clean"));
    let dir = index_dir(home.path());
    let files = fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path());
    let file = files.into_iter().find(|path| path.extension().is_some_and(|e| e == "vec")).unwrap();
    let mut bytes = fs::read(&file).unwrap();
    bytes[64 + 7] ^= 0x40;
    // A file whose checksum is wrong is made again; this one is whole, and wrong.
    reseal(&mut bytes);
    fs::write(&file, bytes).unwrap();
    home.run(&["reindex", "--verify"]).exits(1).stdout_has("index vectors");
    home.ok(&["reindex"]);
    assert!(home.ok(&["reindex", "--verify"]).starts_with("clean"));
}
