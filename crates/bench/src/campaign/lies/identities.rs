//! Pages whose names are the same once they are scrubbed, and which changed places.

use anyhow::{Result, ensure};
use fastrand::Rng;
use serde_json::{Value, json};

use super::baselines::{PATIENT, PUBLIC_ROW};
use super::case::{Allowed, Attempt, Case, Class};
use super::edit::keep_only;
use super::scene::{KINDS, Scene};

/// How pages change places.
type Swap = fn(&Scene, &'static str, &mut Rng) -> Result<()>;

/// A change to the pages of a kind.
const SWAPS: &[(&str, Swap)] = &[
    ("all moved on by one", |scene, kind, _| moved(scene, kind, 1)),
    ("all moved on by a few", |scene, kind, rng| moved(scene, kind, rng.usize(2..5))),
    ("pairs swapped", |scene, kind, _| swapped(scene, kind)),
    ("moved, and the key of the brain gone", |scene, kind, _| {
        forget_key(scene)?;
        moved(scene, kind, 1)
    }),
];

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for kind in KINDS {
        cases.push(honest(kind));
        for (name, swap) in SWAPS {
            cases.push(Case::new(
                Class::MergedIdentity,
                format!("{kind}: {name}"),
                attempts(kind),
                move |scene, rng| swap(scene, kind, rng),
            ));
        }
        cases.push(forged_names(kind));
        cases.push(old_captures(kind));
    }
    cases
}

fn attempts(kind: &str) -> Vec<Attempt> {
    vec![Attempt::refused(&gate(kind)), Attempt::new(&replay(kind), Allowed::Shown(is_not_whole))]
}

fn gate(kind: &str) -> String {
    format!("eval gate --baseline {kind}.baseline.ndjson {PATIENT}")
}

fn replay(kind: &str) -> String {
    format!("eval replay --against {kind}.ndjson --json --repeats 1")
}

/// A replay that does not call everything the same.
fn is_not_whole(report: &Value) -> bool {
    let summary = &report["summary"];
    let below = |name: &str| summary[name].as_f64().is_none_or(|value| value < 0.95);
    below("mean_jaccard") || below("top1_stability_rate")
}

fn honest(kind: &'static str) -> Case {
    let attempts = vec![
        Attempt::green(&gate(kind)),
        Attempt::new(
            &replay(kind),
            Allowed::GreenWith(|report| report["summary"]["mean_jaccard"] == json!(1.0)),
        ),
    ];
    Case::new(Class::MergedIdentity, format!("{kind}: where they were"), attempts, |_, _| Ok(()))
}

/// The captures say that every answer was a page of the same scrubbed name.
fn forged_names(kind: &'static str) -> Case {
    let attempts = vec![
        Attempt::new(
            "bench publish --from forged.ndjson --to forged.baseline.ndjson",
            Allowed::Step,
        ),
        Attempt::refused(&format!("eval gate --baseline forged.baseline.ndjson {PATIENT}")),
        Attempt::new(
            "eval replay --against forged.ndjson --json --repeats 1",
            Allowed::Shown(is_not_whole),
        ),
    ];
    let name = format!("{kind}: the answers of captures exchanged");
    Case::new(Class::MergedIdentity, name, attempts, move |scene, _| {
        let mut rows = scene.rows(&format!("{kind}.ndjson"))?;
        let answers: Vec<[Value; 2]> = rows
            .iter()
            .map(|row| [row["retrieved_slugs"].clone(), row["retrieved"].clone()])
            .collect();
        let count = rows.len();
        for (at, row) in rows.iter_mut().enumerate() {
            let [slugs, retrieved] = answers[(at + 1) % count].clone();
            (row["retrieved_slugs"], row["retrieved"]) = (slugs, retrieved);
        }
        scene.write_rows("forged.ndjson", &rows)
    })
}

/// Captures of before there were hashes: what they can't tell apart is reported.
fn old_captures(kind: &'static str) -> Case {
    const TOLD: Allowed =
        Allowed::Told(&["distinguish", "tell apart", "comparable", "identity", "identities"]);
    let name = format!("{kind}: moved, and captured without hashes");
    let replay = Attempt::new("eval replay --against old.ndjson --repeats 1", TOLD);
    Case::new(Class::MergedIdentity, name, vec![replay], move |scene, _| {
        let mut rows = scene.rows(&format!("{kind}.ndjson"))?;
        rows.iter_mut().for_each(|row| keep_only(row, &PUBLIC_ROW));
        scene.write_rows("old.ndjson", &rows)?;
        moved(scene, kind, 1)
    })
}

/// Every page of a kind gets the text of another one.
fn moved(scene: &Scene, kind: &str, by: usize) -> Result<()> {
    let slugs: Vec<String> = scene.of_kind(kind).map(|page| page.slug.clone()).collect();
    rewrite(scene, &slugs, |at| (at + by) % slugs.len())
}

/// Pages of a kind get each other's texts, two by two; the last one stays if they are odd.
fn swapped(scene: &Scene, kind: &str) -> Result<()> {
    let slugs: Vec<String> = scene.of_kind(kind).map(|page| page.slug.clone()).collect();
    rewrite(scene, &slugs, |at| if at ^ 1 < slugs.len() { at ^ 1 } else { at })
}

fn rewrite(scene: &Scene, slugs: &[String], from: impl Fn(usize) -> usize) -> Result<()> {
    let file = |slug: &str| format!("pages/{slug}.md");
    let texts: Vec<String> =
        slugs.iter().map(|slug| scene.read(&file(slug))).collect::<Result<_>>()?;
    for (at, slug) in slugs.iter().enumerate() {
        scene.write(&file(slug), &texts[from(at)])?;
    }
    scene.import()
}

/// Removes what in the home is named like a key.
fn forget_key(scene: &Scene) -> Result<()> {
    for entry in std::fs::read_dir(scene.home.home())? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_lowercase();
        if entry.file_type()?.is_file() && name.contains("key") {
            std::fs::remove_file(entry.path())?;
        }
    }
    ensure!(scene.path("pages").is_dir(), "the pages are gone");
    Ok(())
}
