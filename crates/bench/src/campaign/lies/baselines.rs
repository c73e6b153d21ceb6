//! Published baselines that were edited: every field, and the file as a whole, with the hash of the rows
//! as it was and without it.

use anyhow::{Result, ensure};
use fastrand::Rng;
use serde_json::{Value, json};

use super::case::{Allowed, Attempt, Case, Class};
use super::edit::{edit_at, keep_only, keys, remove};
use super::scene::{BaseScene, Scene};

/// The baseline that is edited, and the one that stays true.
const EDITED: &str = "edited.baseline.ndjson";
const TRUE: &str = "base.baseline.ndjson";
/// The hash that a published baseline has.
const HASH: &str = "rows_hash";

/// Flags of every gate here: what it takes is no part of the lie, and a busy machine takes long.
pub const PATIENT: &str = "--threshold-latency-multiplier 1000 --repeats 1";

/// Fields of the public format; a file that has no others was not written by us.
const PUBLIC_METADATA: [&str; 8] = [
    "schema_version",
    "_kind",
    "label",
    "published_at",
    "source_hash",
    "thresholds",
    "row_count",
    "baseline_mean_latency_ms",
];
/// The same of its rows.
pub const PUBLIC_ROW: [&str; 17] = [
    "schema_version",
    "id",
    "tool_name",
    "query",
    "retrieved_slugs",
    "retrieved_chunk_ids",
    "source_ids",
    "expand_enabled",
    "detail",
    "detail_resolved",
    "vector_enabled",
    "expansion_applied",
    "latency_ms",
    "remote",
    "job_id",
    "subagent_id",
    "created_at",
];

/// Whether the hash is left in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hash {
    Left,
    Deleted,
}

/// An edit of the rows of a file; the first row is the metadata.
type EditRows = fn(&mut Vec<Value>, &mut Rng);

/// Edits of the file as a whole.
const WHOLE: &[(&str, EditRows)] = &[
    ("a row deleted", |rows, rng| {
        let at = rng.usize(1..rows.len());
        rows.remove(at);
    }),
    ("a row deleted, and the count with it", |rows, rng| {
        let at = rng.usize(1..rows.len());
        rows.remove(at);
        rows[0]["row_count"] = json!(rows.len() - 1);
        rows[0]["weight_total"] = json!(rows.len() - 1);
    }),
    ("a row twice", |rows, rng| {
        let at = rng.usize(1..rows.len());
        rows.push(rows[at].clone());
    }),
    ("two rows in each other's place", |rows, rng| {
        let at = rng.usize(1..rows.len() - 1);
        rows.swap(at, at + 1);
    }),
    ("the answers of two rows swapped", |rows, rng| {
        let at = rng.usize(1..rows.len() - 1);
        for name in ["retrieved_slugs", "retrieved"] {
            let one = rows[at][name].take();
            let two = std::mem::replace(&mut rows[at + 1][name], one);
            rows[at][name] = two;
        }
    }),
    ("every threshold lowered to nothing", |rows, _| {
        rows[0]["thresholds"] = json!({ "jaccard": 0.0, "top1": 0.0, "latency_multiplier": 1e9 });
    }),
    ("a foreign row added", |rows, rng| {
        let mut row = rows[rng.usize(1..rows.len())].clone();
        row["query"] = json!("what nobody ever asked");
        row["id"] = json!(9_999);
        rows.push(row);
    }),
    ("half of the answers emptied", |rows, _| {
        for row in rows.iter_mut().skip(1).step_by(2) {
            for name in ["retrieved_slugs", "retrieved", "retrieved_chunk_ids"] {
                row[name] = json!([]);
            }
        }
    }),
    ("the metadata twice", |rows, _| rows.insert(0, rows[0].clone())),
    ("the metadata last", |rows, _| rows.rotate_left(1)),
];

pub fn cases(world: &BaseScene) -> Result<Vec<Case>> {
    let rows = world.rows(TRUE)?;
    ensure!(rows.len() > 4, "a baseline of {} lines", rows.len());
    let mut cases = vec![honest()];
    for hash in [Hash::Left, Hash::Deleted] {
        for name in keys(&rows[0]).into_iter().filter(|name| name != HASH) {
            cases.push(field(true, name, hash));
        }
        for name in keys(&rows[1]) {
            cases.push(field(false, name, hash));
        }
        for (name, edit) in WHOLE {
            cases.push(whole(name, *edit, hash));
        }
    }
    cases
        .push(case("the hash changed", |rows, rng| edit_at(&mut rows[0], &[HASH.to_owned()], rng)));
    cases.push(case("the hash deleted and nothing else", |rows, _| {
        ensure!(remove(&mut rows[0], HASH), "there is no {HASH}");
        Ok(())
    }));
    cases.push(case("the hash null", |rows, _| {
        rows[0][HASH] = Value::Null;
        Ok(())
    }));
    cases.push(case("the metadata deleted", |rows, _| {
        rows.remove(0);
        Ok(())
    }));
    cases.extend(bytes());
    cases.extend(public());
    Ok(cases)
}

fn readers() -> Vec<Attempt> {
    vec![
        Attempt::refused(&format!("eval gate --baseline {EDITED} {PATIENT}")),
        Attempt::refused(&format!("bench verify {EDITED}")),
        Attempt::refused(&format!("bench diff {TRUE} {EDITED}")),
        Attempt::refused(&format!("bench ratchet --baseline {EDITED} --why tried")),
    ]
}

fn honest() -> Case {
    let attempts = vec![
        Attempt::green(&format!("eval gate --baseline {TRUE} {PATIENT}")),
        Attempt::green(&format!("bench verify {TRUE}")),
        Attempt::green(&format!("bench diff {TRUE} {TRUE}")),
        Attempt::green(&format!("bench ratchet --baseline {TRUE} --accept-loss --why tried")),
    ];
    Case::new(Class::EditedBaseline, "as it was published", attempts, |_, _| Ok(()))
}

fn case(
    name: impl Into<String>,
    edit: impl Fn(&mut Vec<Value>, &mut Rng) -> Result<()> + Send + Sync + 'static,
) -> Case {
    Case::new(Class::EditedBaseline, name, readers(), move |scene, rng| {
        let mut rows = scene.rows(TRUE)?;
        edit(&mut rows, rng)?;
        scene.write_rows(EDITED, &rows)
    })
}

fn field(is_metadata: bool, name: String, hash: Hash) -> Case {
    let of = if is_metadata { "metadata" } else { "row" };
    case(format!("{of} {name}{}", shown(hash)), move |rows, rng| {
        let at = if is_metadata { 0 } else { rng.usize(1..rows.len()) };
        edit_at(&mut rows[at], std::slice::from_ref(&name), rng)?;
        without(rows, hash);
        Ok(())
    })
}

fn whole(name: &str, edit: EditRows, hash: Hash) -> Case {
    case(format!("{name}{}", shown(hash)), move |rows, rng| {
        edit(rows, rng);
        without(rows, hash);
        Ok(())
    })
}

fn shown(hash: Hash) -> &'static str {
    if hash == Hash::Left { "" } else { ", hash deleted" }
}

fn without(rows: &mut [Value], hash: Hash) {
    if hash == Hash::Deleted {
        for row in rows {
            remove(row, HASH);
        }
    }
}

fn bytes() -> Vec<Case> {
    let case = |name: &str, edit: fn(&str, &mut Rng) -> String| {
        Case::new(Class::EditedBaseline, name, readers(), move |scene, rng| {
            let text = scene.read(TRUE)?;
            scene.write(EDITED, edit(&text, rng))
        })
    };
    vec![
        case("cut off at a byte", |text, rng| {
            let least = text.find('\n').unwrap_or(0) + 2;
            text[..rng.usize(least..text.len() - 2)].to_owned()
        }),
        case("cut off at the end of a row", |text, rng| {
            let lines: Vec<&str> = text.lines().collect();
            lines[..rng.usize(2..lines.len() - 1)].join("\n") + "\n"
        }),
        case("a digit changed", |text, rng| {
            let places: Vec<usize> = text
                .bytes()
                .enumerate()
                .filter(|(_, b)| b.is_ascii_digit())
                .map(|(at, _)| at)
                .collect();
            let at = places[rng.usize(..places.len())];
            let new = if text.as_bytes()[at] == b'7' { '8' } else { '7' };
            format!("{}{new}{}", &text[..at], &text[at + 1..])
        }),
        case("a row of another file behind the last", |text, _| {
            format!(
                "{text}{{\"schema_version\":1,\"query\":\"x\",\"retrieved_slugs\":[\"notes/n00\"]}}\n"
            )
        }),
    ]
}

/// Files with public fields only: they are judged, and every report says that edits can't be detected.
fn public() -> Vec<Case> {
    const TOLD: Allowed = Allowed::Told(&["edits cannot be detected", "edits can't be detected"]);
    let stripped = |scene: &Scene, edit: &dyn Fn(&mut Vec<Value>)| -> Result<()> {
        let mut rows = scene.rows(TRUE)?;
        keep_only(&mut rows[0], &PUBLIC_METADATA);
        rows.iter_mut().skip(1).for_each(|row| keep_only(row, &PUBLIC_ROW));
        edit(&mut rows);
        scene.write_rows(EDITED, &rows)
    };
    let gate = format!("eval gate --baseline {EDITED} {PATIENT}");
    let told = vec![
        Attempt::new(&gate, TOLD),
        Attempt::new(&format!("{gate} --json"), TOLD),
        Attempt::new(&format!("bench verify {EDITED}"), TOLD),
    ];
    let red = vec![Attempt::refused(&gate)];
    vec![
        Case::new(Class::EditedBaseline, "public fields only", told.clone(), move |scene, _| {
            stripped(scene, &|_| ())
        }),
        Case::new(
            Class::EditedBaseline,
            "public fields only, thresholds lowered",
            told,
            move |scene, _| {
                stripped(scene, &|rows| {
                    rows[0]["thresholds"] =
                        json!({ "jaccard": 0.0, "top1": 0.0, "latency_multiplier": 1e9 });
                })
            },
        ),
        Case::new(
            Class::EditedBaseline,
            "public fields only, other answers",
            red,
            move |scene, _| {
                stripped(scene, &|rows| {
                    for row in rows.iter_mut().skip(1) {
                        row["retrieved_slugs"] = json!(["notes/unknown"]);
                    }
                })
            },
        ),
    ]
}
