//! Captures that were edited before they were published or replayed. No hash protects them: what they
//! say must be measured against the brain, and found wrong.

use serde_json::{Value, json};

use super::baselines::PATIENT;
use super::case::{Allowed, Attempt, Case, Class};
use super::edit::EditValue;
use super::scene::MIRROR;

const EDITED: &str = "edited.ndjson";

/// Edits of every row that must show.
const WRONG: &[(&str, EditValue)] = &[
    ("other pages", |row| rename(row, |slug| format!("{slug}-old"))),
    ("another source", |row| {
        row["source_ids"] = json!([MIRROR]);
        for found in row["retrieved"].as_array_mut().into_iter().flatten() {
            found["source_id"] = json!(MIRROR);
        }
    }),
    ("the answers in reverse", |row| {
        for name in ["retrieved_slugs", "retrieved", "retrieved_chunk_ids"] {
            row[name].as_array_mut().into_iter().for_each(|items| items.reverse());
        }
    }),
    ("one page only, and a wrong one", |row| {
        row["retrieved_slugs"] = json!(["notes/none"]);
        row["retrieved"] = json!([{ "source_id": "default", "slug": "notes/none" }]);
        row["retrieved_chunk_ids"] = json!([1]);
    }),
    ("no answers", no_answers),
    ("another question", another_question),
    ("slugs in capitals", |row| rename(row, str::to_uppercase)),
];

/// Edits of every row that can't be read.
const UNREADABLE: &[(&str, EditValue)] = &[
    ("a version from the future", |row| row["schema_version"] = json!(99)),
    ("a negative latency", |row| row["latency_ms"] = json!(-1.0)),
    ("a latency that is text", |row| row["latency_ms"] = json!("fast")),
    ("answers that are numbers", |row| row["retrieved_slugs"] = json!([1, 2])),
    ("slugs that contradict the pages", |row| row["retrieved_slugs"] = json!(["notes/other"])),
    ("sources that contradict the pages", |row| row["source_ids"] = json!([MIRROR])),
    ("no question", |row| row["query"] = Value::Null),
    ("an instant that is none", |row| row["created_at"] = json!("yesterday")),
];

/// Edits that leave fewer rows to gate on: publishing says how many, and the gate prints its n.
const FEWER: &[(&str, &[&str])] = &[
    ("no answers", &["12 of 24 captures can't be gated on"]),
    ("another question", &["13 rows for 24 captures"]),
];

fn no_answers(row: &mut Value) {
    for name in ["retrieved_slugs", "retrieved", "retrieved_chunk_ids", "source_ids"] {
        row[name] = json!([]);
    }
}

fn another_question(row: &mut Value) {
    row["query"] = json!("what about nothing at all");
}

pub fn cases() -> Vec<Case> {
    let wrong = WRONG.iter().map(|(name, edit)| case(name, *edit, 1));
    let half = WRONG.iter().map(|(name, edit)| {
        let fewer = FEWER.iter().find(|(fewer, _)| fewer == name);
        let name = format!("{name}, every other row");
        match fewer {
            None => case(&name, *edit, 2),
            Some((_, told)) => {
                let attempts =
                    vec![publish(Allowed::Told(told)), replay(Allowed::Shown(has_moved))];
                edited(&name, attempts, *edit, 2)
            }
        }
    });
    let unreadable = UNREADABLE.iter().map(|(name, edit)| {
        let attempts = vec![
            Attempt::refused(&format!("bench publish --from {EDITED} --to new.baseline.ndjson")),
            Attempt::refused(&format!("eval replay --against {EDITED} --json --repeats 1")),
        ];
        edited(name, attempts, *edit, 1)
    });
    let honest = edited(
        "as they were captured",
        vec![
            publish(Allowed::Green),
            Attempt::green(&format!("eval gate --baseline new.baseline.ndjson {PATIENT}")),
            replay(Allowed::GreenWith(|report| report["summary"]["mean_jaccard"] == json!(1.0))),
        ],
        |_| (),
        1,
    );
    wrong.chain(half).chain(unreadable).chain([honest]).collect()
}

fn has_moved(report: &Value) -> bool {
    let summary = &report["summary"];
    let below = |name: &str| summary[name].as_f64().is_none_or(|value| value < 0.95);
    below("mean_jaccard") || below("top1_stability_rate")
}

fn case(name: &str, edit: EditValue, every: usize) -> Case {
    let attempts = vec![
        publish(Allowed::Step),
        Attempt::refused(&format!("eval gate --baseline new.baseline.ndjson {PATIENT}")),
        replay(Allowed::Shown(has_moved)),
    ];
    edited(name, attempts, edit, every)
}

fn publish(allowed: Allowed) -> Attempt {
    Attempt::new(&format!("bench publish --from {EDITED} --to new.baseline.ndjson"), allowed)
}

fn replay(allowed: Allowed) -> Attempt {
    Attempt::new(&format!("eval replay --against {EDITED} --json --repeats 1"), allowed)
}

fn edited(name: &str, attempts: Vec<Attempt>, edit: EditValue, every: usize) -> Case {
    Case::new(Class::EditedCapture, name, attempts, move |scene, rng| {
        let mut rows = scene.rows("captured.ndjson")?;
        let from = rng.usize(..every);
        rows.iter_mut().skip(from).step_by(every).for_each(edit);
        scene.write_rows(EDITED, &rows)
    })
}

fn rename(row: &mut Value, name: impl Fn(&str) -> String) {
    let renamed = |value: &mut Value| *value = json!(name(value.as_str().unwrap_or_default()));
    row["retrieved_slugs"].as_array_mut().into_iter().flatten().for_each(renamed);
    let found = row["retrieved"].as_array_mut().into_iter().flatten();
    found.for_each(|found| renamed(&mut found["slug"]));
}
