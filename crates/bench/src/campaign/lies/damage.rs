//! Damaged indexes: every kind of file, emptied, cut and flipped. What is asked first finds the damage, and every answer
//! is the one of the healthy index.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::case::{Allowed, Attempt, Case, Class};
use super::outputs::told;
use super::scene::Scene;

/// Kinds of files, by how their names end.
const KINDS: [&str; 9] = [
    "meta.json",
    ".managed.json",
    "verified.json",
    ".idx",
    ".term",
    ".store",
    ".fast",
    ".fieldnorm",
    ".vec",
];

/// A file of so many bytes, damaged.
type Damage = fn(&[u8], usize) -> Vec<u8>;

const DAMAGES: [(&str, Damage); 3] = [
    ("emptied", |_, _| Vec::new()),
    ("cut", |bytes, at| bytes[..at].to_vec()),
    ("flipped", |bytes, at| {
        let mut bytes = bytes.to_vec();
        bytes[at] ^= 0x20;
        bytes
    }),
];

pub fn cases() -> Vec<Case> {
    let damaged = KINDS.iter().flat_map(|kind| {
        DAMAGES.iter().map(move |(how, damage)| {
            let name = format!("{kind} {how}");
            Case::new(Class::DamagedIndex, name, asked(kind), move |scene, rng| {
                let path = file(scene, kind)?;
                let bytes = std::fs::read(&path)?;
                Ok(std::fs::write(&path, damage(&bytes, rng.usize(..bytes.len().max(1))))?)
            })
        })
    });
    let gone =
        Case::new(Class::DamagedIndex, "a segment's file is gone", asked(".store"), |scene, _| {
            Ok(std::fs::remove_file(file(scene, ".store")?)?)
        });
    let swapped = Case::new(
        Class::DamagedIndex,
        "a file in the place of another",
        asked(".term"),
        |scene, _| {
            let bytes = std::fs::read(file(scene, ".idx")?)?;
            Ok(std::fs::write(file(scene, ".term")?, bytes)?)
        },
    );
    let honest = Case::new(
        Class::DamagedIndex,
        "an index as it was written",
        vec![
            Attempt::new(REPLAY, Allowed::GreenWith(is_unmoved)),
            Attempt::green("reindex --verify"),
        ],
        |_, _| Ok(()),
    );
    let deleted = Case::new(
        Class::DamagedIndex,
        "no index at all",
        vec![
            Attempt::new(REPLAY, Allowed::GreenWith(is_unmoved)),
            Attempt::green("reindex --verify"),
        ],
        |scene, _| scene.home.remove_index(),
    );
    damaged.chain([gone, swapped, honest, deleted]).collect()
}

const REPLAY: &str = "eval replay --against captured.ndjson --json --repeats 1";

/// What is asked of a damaged index. Files of segments are named; the others save time or are made again.
fn asked(kind: &str) -> Vec<Attempt> {
    let is_segment = [".idx", ".term", ".store", ".fast", ".fieldnorm"].contains(&kind);
    let first = match is_segment {
        true => told("search anything --json", &["is damaged"]),
        false => Attempt::new("search anything --json", Allowed::Step),
    };
    vec![
        first,
        Attempt::new(REPLAY, Allowed::Shown(is_unmoved)),
        Attempt::new("eval gate --qrels qrels.json --json", Allowed::Shown(passes)),
        Attempt::new("reindex --verify", Allowed::Silent(&["missing", "differ from"])),
    ]
}

fn is_unmoved(report: &Value) -> bool {
    report["summary"]["mean_jaccard"] == json!(1.0)
}

fn passes(report: &Value) -> bool {
    report["verdict"] == "pass"
}

/// The largest file of the index whose name ends so.
fn file(scene: &Scene, kind: &str) -> Result<PathBuf> {
    let entries = walkdir::WalkDir::new(scene.home.home().join("index")).into_iter();
    let files = entries.filter_map(Result::ok).filter(|entry| entry.file_type().is_file());
    let own = files.filter(|entry| entry.file_name().to_string_lossy().ends_with(kind));
    let largest = own.max_by_key(|entry| entry.metadata().map_or(0, |meta| meta.len()));
    Ok(largest.with_context(|| format!("the index has no {kind}"))?.into_path())
}
