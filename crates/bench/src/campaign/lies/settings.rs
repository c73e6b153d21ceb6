//! Settings that would make every later call fail, rows of another workspace, and labels of pages that are not
//! there.

use gbrain_core::id::{PageKey, SourceId, WorkspaceId};
use gbrain_store::{Location, NewLabel, OpenMode, Store};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::case::{Allowed, Attempt, Case, Class};
use super::scene::Scene;

/// A key and a model that it can't name.
const UNUSABLE: &[(&str, &str)] = &[
    ("models.rerank", "COHERE:rerank-v3.5"),
    ("models.rerank", "openai:gpt-5"),
    ("models.rerank", "anthropic:claude-haiku-4-5"),
    ("models.rerank", "cohere:embed-v4.0"),
    ("models.rerank", "cohere:rerank-v99"),
    ("models.rerank", "lab:reranker"),
    ("models.judge", "cohere:rerank-v3.5"),
    ("models.judge", "openai:gpt-99"),
    ("models.default", "gpt-5"),
    ("models.eval.cross_modal.slot_a", "voyage:rerank-2.5"),
    ("models.expansion", "openai:gpt 5"),
];

/// Files of queries of another workspace.
const FOREIGN: &[(&str, &str, &str)] = &[
    ("lines", "f.jsonl", "{\"query\":\"a\"}\n{\"query\":\"b\",\"workspace_id\":\"other\"}\n"),
    ("a list", "f.json", "[{\"query\":\"a\",\"workspace_id\":\"other\"}]"),
    ("YAML", "f.yaml", "queries:\n  - query: a\n    workspace_id: other\n"),
    ("a number", "f.jsonl", "{\"query\":\"a\",\"workspace_id\":7}\n"),
    ("another case", "f.jsonl", "{\"query\":\"a\",\"workspace_id\":\"Default\"}\n"),
];

/// Pages that are not there: in a source that is, and in one that is not.
const MISSING: &[&[&str]] = &[&["notes/nowhere"], &["mirror::notes/n00"]];

fn is_unset(shown: &Value) -> bool {
    shown["value"].is_null()
}

pub fn cases() -> Vec<Case> {
    let unusable = UNUSABLE.iter().map(|(key, model)| {
        let attempts = vec![
            Attempt::refused(&format!("config set {key}")).with(model),
            Attempt::new(&format!("config get {key} --json"), Allowed::Shown(is_unset)),
        ];
        Case::new(Class::ForgedSetting, format!("{key} is {model}"), attempts, |_, _| Ok(()))
    });
    let stored = ["COHERE:rerank-v3.5", "no model at all"].into_iter().map(|model| {
        let attempts = vec![Attempt::refused("doctor"), Attempt::refused("query --json seen")];
        let name = format!("models.rerank was written as {model}");
        Case::new(Class::ForgedSetting, name, attempts, move |scene, _| {
            let store = store(scene)?;
            Ok(store.config_set(&WorkspaceId::default(), "models.rerank", model)?)
        })
    });
    let foreign = FOREIGN.iter().map(|(name, file, text)| {
        let attempts = vec![
            Attempt::refused("queries import").with(file),
            Attempt::new("queries list --json", Allowed::Silent(&["\"query\":\"a\""])),
        ];
        let name = format!("queries of another workspace in {name}");
        Case::new(Class::ForeignQueries, name, attempts, move |scene, _| scene.write(file, text))
    });
    let labels = MISSING.iter().map(|pages| label(pages));
    unusable.chain(stored).chain(foreign).chain(labels).chain(honest()).collect()
}

/// A label of a page that is not there must not become an expected answer.
fn label(pages: &'static [&'static str]) -> Case {
    let page = pages[0];
    let name = format!("a label of {page}");
    let attempts = vec![Attempt::new("queries promote --json", Allowed::Silent(pages))];
    Case::new(Class::ForeignQueries, name, attempts, move |scene, _| {
        let key = PageKey::parse(page, &SourceId::default())?;
        let label = NewLabel {
            query: "what is nowhere".to_owned(),
            key,
            grade: 3,
            note: None,
            span: None,
            borderline: false,
        };
        let now = Timestamp::now();
        store(scene)?.put_labels(&WorkspaceId::default(), &[label], "campaign", now)?;
        Ok(())
    })
}

fn honest() -> [Case; 2] {
    let set = |value: &Value| value["value"] == json!("cohere:rerank-v3.5");
    let attempts = vec![
        Attempt::new("config set models.rerank cohere:rerank-v3.5 --json", Allowed::GreenWith(set)),
        Attempt::green("query seen"),
        Attempt::green("doctor --offline"),
    ];
    let usable =
        Case::new(Class::ForgedSetting, "the playbook's reranker", attempts, |_, _| Ok(()));
    let attempts = vec![Attempt::green("queries import own.jsonl")];
    let own =
        Case::new(Class::ForeignQueries, "queries of this workspace", attempts, |scene, _| {
            scene.write(
                "own.jsonl",
                "{\"query\":\"a\",\"workspace_id\":\"default\",\"expected\":[\"notes/n00\"]}\n",
            )
        });
    [usable, own]
}

fn store(scene: &Scene) -> anyhow::Result<Store> {
    let location = Location::Sqlite(scene.home.home().join("brain.db"));
    Ok(gbrain_store::Store::open(&location, OpenMode::Use, Timestamp::now())?)
}
