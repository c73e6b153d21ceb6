//! Dependencies that are down, and commands that could answer as if they were not.

use anyhow::Result;
use gbrain_testkit::outage::Outage;
use serde_json::{Value, json};

use super::baselines::PATIENT;
use super::case::{Allowed, Attempt, Case, Class};
use super::scene::{FILES, Scene};

/// The degraded stage of an answer, as JSON.
const STAGES: [(&str, &[&str]); 2] =
    [("models.rerank", &["\"rerank\""]), ("models.expansion", &["\"expansion\""])];

pub fn cases() -> Vec<Case> {
    let each = Outage::ALL.into_iter().flat_map(|outage| {
        [
            stage(outage, STAGES[0].0, "cohere:rerank-v3.5", STAGES[0].1),
            stage(outage, STAGES[1].0, "openai:gpt-5-mini", STAGES[1].1),
            judge(outage),
            panel(outage),
            target(outage),
            first_index(outage),
            other_embedder(outage),
        ]
    });
    each.chain([honest()]).collect()
}

/// Settings whose providers are at an address, with a key.
pub fn with_providers(scene: &Scene, address: &str, more: &Value) -> Result<()> {
    scene.write("key", "a-key-of-the-campaign")?;
    let key_file = scene.path("key");
    let names = ["anthropic", "openai", "google", "cohere", "voyage", "jina"];
    let providers: serde_json::Map<String, Value> = names
        .iter()
        .map(|name| {
            (
                (*name).to_owned(),
                json!({ "base_url": address, "key_env": null, "key_file": key_file }),
            )
        })
        .collect();
    let mut config = json!({
        "format": "gbrain/1", "eval": { "capture": true, "synthetic": true },
        "llm": { "providers": providers, "timeout_seconds": 1, "attempts": 1 },
    });
    for (name, value) in more.as_object().into_iter().flatten() {
        config[name] = value.clone();
    }
    Ok(std::fs::write(scene.home.home().join("config.json"), config.to_string())?)
}

fn take_down(scene: &Scene, outage: Outage, more: &Value) -> Result<()> {
    with_providers(scene, &outage.address()?, more)
}

fn stage(
    outage: Outage,
    key: &'static str,
    model: &'static str,
    named: &'static [&'static str],
) -> Case {
    let attempts = vec![
        Attempt::new("query --json --expand seen", Allowed::Told(named)),
        Attempt::new("doctor --json", Allowed::Told(&["do not answer"])),
    ];
    Case::new(Class::Outage, format!("{key} {}", outage.name()), attempts, move |scene, _| {
        scene.ok(&["config", "set", key, model])?;
        take_down(scene, outage, &json!({}))
    })
}

fn judge(outage: Outage) -> Case {
    let attempts = vec![
        Attempt::refused("eval suspected-contradictions --canaries 3 --query seen"),
        Attempt::refused("eval suspected-contradictions --canaries 3 --json --query seen"),
        Attempt::refused("doctor"),
    ];
    let name = format!("the judge of contradictions {}", outage.name());
    Case::new(Class::Outage, name, attempts, move |scene, _| {
        scene.ok(&["config", "set", "models.judge", "openai:gpt-5-mini"])?;
        take_down(scene, outage, &json!({}))
    })
}

fn panel(outage: Outage) -> Case {
    let attempts = vec![
        Attempt::refused("eval cross-modal --task seen --output key"),
        Attempt::refused("eval cross-modal --batch judged.jsonl"),
    ];
    let name = format!("the panel {}", outage.name());
    Case::new(Class::Outage, name, attempts, move |scene, _| {
        let rows = "{\"question\":\"a\",\"hypothesis\":\"b\",\"question_id\":\"q\"}\n";
        scene.write("judged.jsonl", rows)?;
        take_down(scene, outage, &json!({}))
    })
}

fn target(outage: Outage) -> Case {
    let attempts = vec![
        Attempt::refused("targets check prod"),
        Attempt::refused("eval replay --against captured.ndjson --target prod --limit 2"),
        Attempt::refused("doctor"),
    ];
    let name = format!("a target {}", outage.name());
    Case::new(Class::Outage, name, attempts, move |scene, _| {
        let target = json!({
            "kind": "http", "api": "gbrain", "url": outage.address()?,
            "timeout_seconds": 1, "attempts": 1,
        });
        scene.configure(&json!({ "prod": target }))
    })
}

/// The index is gone and its remote embedder is down: what is answered is answered from nothing.
fn first_index(outage: Outage) -> Case {
    let attempts = vec![
        Attempt::new("query --json seen", Allowed::Told(&["\"index\""])),
        Attempt::new("search --json seen", Allowed::Told(&["\"index\""])),
        Attempt::refused(&format!("eval gate --baseline base.baseline.ndjson {PATIENT}")),
        Attempt::refused("reindex"),
        Attempt::refused("reembed"),
        Attempt::refused("doctor"),
    ];
    let name = format!("the embedder of an index that was deleted {}", outage.name());
    Case::new(Class::Outage, name, attempts, move |scene, _| {
        std::fs::remove_dir_all(scene.home.home().join("index"))?;
        take_down(scene, outage, &embedder())
    })
}

/// The index holds vectors of the built-in model, and the one that is wanted is down.
fn other_embedder(outage: Outage) -> Case {
    let attempts = vec![
        Attempt::refused("reembed"),
        Attempt::new("doctor --json", Allowed::Told(&["does not answer"])),
    ];
    let name = format!("the embedder to move to {}", outage.name());
    Case::new(Class::Outage, name, attempts, move |scene, _| take_down(scene, outage, &embedder()))
}

fn embedder() -> Value {
    json!({ "embedder": { "model": "voyage:voyage-3-large", "dims": 64 } })
}

/// Nothing remote is named: nothing is contacted, and nothing is degraded.
fn honest() -> Case {
    let whole = |answer: &Value| answer["degraded"] == json!([]);
    let attempts = vec![
        Attempt::new("query --json seen", Allowed::GreenWith(whole)),
        Attempt::new("search --json seen", Allowed::GreenWith(whole)),
        Attempt::green("targets list"),
        Attempt::green("doctor --offline"),
    ];
    Case::new(Class::Outage, "nothing remote is named", attempts, |scene, _| {
        let outside = scene.home.home().join(FILES);
        anyhow::ensure!(outside.is_dir(), "the scene has its files");
        take_down(scene, Outage::Refusing, &json!({}))
    })
}
