//! Lies in the brain itself: queries that scrubbing makes the same, captures from the future, and losses
//! that a ratchet would bank.

use anyhow::{Context as _, Result};
use fastrand::Rng;
use serde_json::{Value, json};

use super::case::{Allowed, Attempt, Case, Class};
use super::scene::{Scene, word};

/// Texts with personal data that become the same text once they are scrubbed.
const NAMED: [(&str, &str); 6] = [
    ("addresses", "who is {word}@leakmail.com"),
    ("phone numbers", "who answers 415-555-{n}"),
    ("social security numbers", "whose is 123-45-{n}"),
    ("keys", "who uses password={word}"),
    ("internet addresses", "which machine is 203.0.113.{m}"),
    ("international numbers", "who answers +44 7700 90{n}"),
];
/// Queries of a case.
const MERGED: usize = 6;

pub fn queries() -> Vec<Case> {
    let mut cases = Vec::new();
    for (kind, text) in NAMED {
        cases.push(Case::new(
            Class::MergedQueries,
            format!("{kind}: five of six pages deleted"),
            vec![
                Attempt::refused("suites run checks"),
                Attempt::refused("suites run checks --json"),
            ],
            move |scene, rng| {
                let slugs = import(scene, text, rng)?;
                let kept = rng.usize(..MERGED);
                for (at, slug) in slugs.iter().enumerate().filter(|(at, _)| *at != kept) {
                    scene
                        .ok(&["delete", slug, "--source", "default", "-q"])
                        .with_context(|| format!("page {at}"))?;
                }
                Ok(())
            },
        ));
    }
    cases.push(Case::new(
        Class::MergedQueries,
        "queries that scrubbing leaves apart, all pages there",
        vec![Attempt::new("suites run checks --json", Allowed::GreenWith(asked_all))],
        move |scene, rng| import(scene, "what is {word}", rng).map(|_| ()),
    ));
    cases
}

fn asked_all(run: &Value) -> bool {
    run["asked"].as_u64() == Some(MERGED as u64)
}

/// Six pages, and a query for each that differs from the others only in what is scrubbed.
fn import(scene: &Scene, text: &str, rng: &mut Rng) -> Result<Vec<String>> {
    let first = rng.u16(1_000..8_000);
    let (mut slugs, mut lines) = (Vec::new(), String::new());
    for at in 0..MERGED {
        let own = word(rng);
        let query = text
            .replace("{word}", &own)
            .replace("{n}", &(first + at as u16).to_string())
            .replace("{m}", &(10 + at).to_string());
        let slug = format!("notes/merged{at}");
        let page = format!("---\ntitle: {own}\n---\n\n{query}? It is {own}.\n");
        scene.write(&format!("pages/{slug}.md"), page)?;
        let line = json!({ "id": format!("m{at}"), "query": query, "source": "default", "expected": [format!("default::{slug}")] });
        lines += &format!("{line}\n");
        slugs.push(slug);
    }
    scene.import()?;
    scene.write("merged.jsonl", lines)?;
    scene.ok(&["queries", "import", "merged.jsonl", "-q"])?;
    let suites = format!(
        "thresholds: {{ all: {{ latency_p95_ms: {{ target: 60000, alert: 60000 }} }} }}\n\
         suites: [{{ name: checks, type: regression, owners: ['@a'], sample: {{ total: {MERGED} }} }}]\n"
    );
    std::fs::write(scene.home.home().join("suites.yaml"), suites)?;
    Ok(slugs)
}

pub fn clocks() -> Vec<Case> {
    const NEW: &[&str] = &["asked after the clock went wrong"];
    const AHEAD: [(&str, i64); 4] = [
        ("an hour", 3_600_000),
        ("a day", 86_400_000),
        ("a year", 31_536_000_000),
        ("a century", 3_153_600_000_000),
    ];
    let mut cases = Vec::new();
    for (name, by) in AHEAD {
        let attempts = vec![
            Attempt::new("eval export -q", Allowed::Told(NEW)),
            Attempt::new("eval export -q --since 1d", Allowed::Told(NEW)),
            Attempt::new("doctor", Allowed::Told(&["future", "ahead of"])),
            Attempt::new("doctor --json", Allowed::Told(&["future", "ahead of"])),
            Attempt::new("eval prune --older-than 0d --json", Allowed::Step),
            // Pruned rows are gone, independent of the clock that dated them.
            Attempt::new("eval export -q", Allowed::Silent(NEW)),
        ];
        cases.push(Case::new(
            Class::SkewedClock,
            format!("a capture from {name} ahead"),
            attempts,
            move |scene, rng| skewed(scene, by + rng.i64(..60_000).abs()),
        ));
    }
    cases.push(Case::new(
        Class::SkewedClock,
        "clocks that are right",
        vec![
            Attempt::green("eval export -q --since 1d"),
            Attempt::green("doctor"),
            Attempt::green("eval prune --older-than 0d"),
        ],
        |_, _| Ok(()),
    ));
    cases
}

/// One capture is that far ahead; another one comes after it.
fn skewed(scene: &Scene, ahead: i64) -> Result<()> {
    let path = scene.home.home().join("brain.db");
    let database = rusqlite::Connection::open(path)?;
    database.execute(
        "UPDATE eval_candidates SET created_at = created_at + ?1 \
         WHERE id = (SELECT max(id) FROM eval_candidates)",
        [ahead],
    )?;
    // The clock of captures follows the rows, as it would if one had come from the future.
    let _ = database.execute("UPDATE eval_clock SET at = at + ?1", [ahead]);
    drop(database);
    scene.ok(&["query", "asked after the clock went wrong", "-q"]).map(|_| ())
}

/// Every case of losses that a ratchet would bank.
pub fn ratchets() -> Vec<Case> {
    const RATCHET: &str = "bench ratchet --baseline base.baseline.ndjson --why";
    type Worsen = fn(&Scene, &mut Rng) -> Result<()>;
    const LOSSES: &[(&str, Worsen)] = &[
        ("the pages that answer are deleted", |scene, _| {
            for page in scene.of_kind("notes") {
                scene.ok(&["delete", &page.slug, "--source", "default", "-q"])?;
            }
            Ok(())
        }),
        ("some pages that answer are deleted", |scene, rng| {
            let from = rng.usize(..3);
            for page in scene.of_kind("notes").skip(from).step_by(3) {
                scene.ok(&["delete", &page.slug, "--source", "default", "-q"])?;
            }
            Ok(())
        }),
        ("every page is deleted", |scene, _| {
            for page in &scene.pages {
                scene.ok(&["delete", &page.slug, "--source", "default", "-q"])?;
            }
            Ok(())
        }),
        ("the pages that answer say something else", |scene, rng| {
            for page in scene.of_kind("notes") {
                let text = format!("---\ntitle: {}\n---\n\nNothing of note.\n", word(rng));
                scene.write(&format!("pages/{}.md", page.slug), text)?;
            }
            scene.import()
        }),
    ];
    let mut cases = Vec::new();
    for (name, worsen) in LOSSES {
        cases.push(Case::new(
            Class::BankedLoss,
            *name,
            vec![
                Attempt::refused(RATCHET).with("it is better now"),
                Attempt::refused(&format!("{RATCHET} better --qrels qrels.json")),
                Attempt::refused(&format!("{RATCHET} better --json")),
                // A refused operation changed nothing: the baseline still names the lost rows.
                Attempt::refused(&format!(
                    "eval gate --baseline base.baseline.ndjson {}",
                    super::baselines::PATIENT
                )),
            ],
            move |scene, rng| worsen(scene, rng),
        ));
    }
    cases.push(Case::new(
        Class::BankedLoss,
        "a loss accepted without a reason",
        vec![
            Attempt::refused("bench ratchet --baseline base.baseline.ndjson --accept-loss"),
            Attempt::refused("bench ratchet --baseline base.baseline.ndjson --accept-loss --why")
                .with(""),
            Attempt::refused("bench ratchet --baseline base.baseline.ndjson --accept-loss --why")
                .with("  "),
        ],
        |scene, _| {
            for page in scene.of_kind("notes") {
                scene.ok(&["delete", &page.slug, "--source", "default", "-q"])?;
            }
            Ok(())
        },
    ));
    cases.push(Case::new(
        Class::BankedLoss,
        "nothing lost",
        vec![
            Attempt::green(&format!("{RATCHET} same --accept-loss")),
            Attempt::green(&format!("{RATCHET} same --accept-loss --qrels qrels.json")),
        ],
        |_, _| Ok(()),
    ));
    cases
}
