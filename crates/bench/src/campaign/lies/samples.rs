//! Samples that are too small to decide, and empty ones.

use anyhow::Result;
use serde_json::{Value, json};

use super::baselines::PATIENT;
use super::case::{Allowed, Attempt, Case, Class};
use super::judgements::explicit;
use super::scene::{Page, SOURCE, Scene};

pub fn cases() -> Vec<Case> {
    let mut cases = vec![honest()];
    cases.extend((1..=6).map(few_rows));
    cases.extend((1..=3).map(few_queries));
    cases.extend(strict_floors());
    cases.extend(empty_files());
    cases.extend(empty_brains());
    cases
}

fn honest() -> Case {
    let attempts = vec![
        Attempt::green(&format!("eval gate --baseline base.baseline.ndjson {PATIENT}")),
        Attempt::green("eval gate --qrels qrels.json"),
        Attempt::green(&format!(
            "eval gate --baseline base.baseline.ndjson {PATIENT} --threshold-jaccard 1 --threshold-top1 1"
        )),
        Attempt::green("eval gate --result easy.result.json --floor recall_all@5=0.9"),
    ];
    Case::new(Class::TinySample, "enough rows, or a floor of 1", attempts, |_, _| Ok(()))
}

/// So many rows under the usual floors, which need seven.
fn few_rows(count: usize) -> Case {
    let gate = format!("eval gate --baseline few.baseline.ndjson {PATIENT}");
    let attempts =
        vec![Attempt::refused(&gate), Attempt::refused(&format!("{gate} --confidence 0.95"))];
    Case::new(Class::TinySample, format!("a baseline of {count}"), attempts, move |scene, rng| {
        let mut rows = scene.rows("captured.ndjson")?;
        rng.shuffle(&mut rows);
        scene.write_rows("few.ndjson", &rows[..count])?;
        scene.publish("few.ndjson", "few.baseline.ndjson")
    })
}

/// So many judged queries under the usual floors, which need four.
fn few_queries(count: usize) -> Case {
    let attempts = vec![Attempt::refused("eval gate --qrels few.json")];
    Case::new(Class::TinySample, format!("qrels of {count}"), attempts, move |scene, rng| {
        let mut notes: Vec<&Page> = scene.of_kind("notes").collect();
        rng.shuffle(&mut notes);
        scene.write("few.json", explicit(&notes[..count], SOURCE).to_string())
    })
}

/// Floors that so many rows can't show.
fn strict_floors() -> Vec<Case> {
    const COMMANDS: [&str; 5] = [
        "eval gate --baseline base.baseline.ndjson --repeats 1 --threshold-latency-multiplier 1000 --threshold-jaccard 0.99",
        "eval gate --baseline base.baseline.ndjson --repeats 1 --threshold-latency-multiplier 1000 --threshold-top1 0.97",
        "eval gate --qrels qrels.json --threshold-recall-at-k 0.98",
        "eval gate --qrels qrels.json --threshold-first-relevant-hit 0.999",
        "eval gate --result easy.result.json --floor recall_all@5=0.99",
    ];
    let case = |command: &&str| {
        let name = format!("a floor that needs more: {}", command.rsplit(' ').next().unwrap_or(""));
        Case::new(Class::TinySample, name, vec![Attempt::refused(command)], |_, _| Ok(()))
    };
    COMMANDS.iter().map(case).collect()
}

fn empty_files() -> Vec<Case> {
    const TEXTS: [(&str, &str); 4] =
        [("empty", ""), ("blank", "\n \n\t\n"), ("an empty list", "[]"), ("an empty object", "{}")];
    let file = |(name, text): (&str, &'static str)| {
        let attempts = vec![
            Attempt::refused("eval gate --baseline empty"),
            Attempt::refused("bench verify empty"),
            Attempt::refused("eval gate --qrels empty"),
            Attempt::refused("eval replay --against empty"),
            Attempt::refused("bench publish --from empty --to new.baseline.ndjson"),
            Attempt::refused("eval gate --result empty --floor recall_all@5=0.5"),
            Attempt::refused("eval reproduce empty"),
            Attempt::refused("eval longmemeval empty --retrieval-only -q"),
            Attempt::refused("eval score --qrels qrels.trec --run empty"),
            Attempt::refused("eval score --qrels empty --run true.run"),
            Attempt::refused("eval compare empty empty --qrels qrels.trec --fail-on-regression"),
        ];
        Case::new(Class::TinySample, format!("a file that is {name}"), attempts, move |scene, _| {
            scene.write("true.run", "q00 Q0 default::notes/n00 1 1.0 a\n")?;
            scene.write("empty", text)
        })
    };
    let no_rows = Case::new(
        Class::TinySample,
        "a baseline of metadata only",
        vec![Attempt::refused("eval gate --baseline none.baseline.ndjson")],
        |scene, _| {
            let mut rows = scene.rows("base.baseline.ndjson")?;
            rows.truncate(1);
            rows[0]["row_count"] = json!(0);
            scene.write_rows("none.baseline.ndjson", &rows)
        },
    );
    let no_relevant = Case::new(
        Class::TinySample,
        "queries without a relevant page",
        vec![Attempt::refused("eval gate --qrels none.json")],
        |scene, _| {
            let mut qrels: Value = serde_json::from_str(&scene.read("qrels.json")?)?;
            for query in qrels["queries"].as_array_mut().into_iter().flatten() {
                query["relevant"] = json!([]);
            }
            scene.write("none.json", qrels.to_string())
        },
    );
    TEXTS.map(file).into_iter().chain([no_rows, no_relevant]).collect()
}

/// A brain without a page, or without the pages that count.
fn empty_brains() -> Vec<Case> {
    let attempts = || {
        let none = |report: &Value| {
            let found = |name: &str| report["summary"][name].as_f64().unwrap_or_default();
            report["verdict"].is_null() && found("R@5") + found("mean_jaccard") < 0.5
        };
        vec![
            Attempt::refused(&format!("eval gate --baseline base.baseline.ndjson {PATIENT}")),
            Attempt::refused("eval gate --qrels qrels.json"),
            Attempt::refused("eval replay --against captured.ndjson --json --repeats 1"),
            Attempt::new("eval --qrels qrels.json -k 5 --json", Allowed::Shown(none)),
            Attempt::refused("suites run checks"),
        ]
    };
    let gone = |scene: &Scene| -> Result<()> {
        for name in ["brain.db", "brain.db-wal", "brain.db-shm"] {
            let path = scene.home.home().join(name);
            if path.is_file() {
                std::fs::remove_file(path)?;
            }
        }
        scene.home.remove_index()?;
        scene.ok(&["init", "-q"]).map(|_| ())
    };
    vec![
        Case::new(Class::TinySample, "a brain without a page", attempts(), move |scene, _| {
            gone(scene)?;
            suite(scene)
        }),
        Case::new(
            Class::TinySample,
            "captures of an empty brain, replayed on it",
            vec![
                Attempt::refused("eval replay --against nothing.ndjson --repeats 1"),
                Attempt::new(
                    "bench publish --from nothing.ndjson --to nothing.baseline.ndjson",
                    Allowed::Step,
                ),
                Attempt::refused(&format!(
                    "eval gate --baseline nothing.baseline.ndjson {PATIENT}"
                )),
            ],
            move |scene, _| {
                gone(scene)?;
                for at in 0..8 {
                    scene.ok(&["query", &format!("what about number {at}"), "-q"])?;
                }
                let text = scene.ok(&["eval", "export", "-q"])?;
                scene.write("nothing.ndjson", text)
            },
        ),
    ]
}

/// A suite without queries.
fn suite(scene: &Scene) -> Result<()> {
    let text = "suites: [{ name: checks, type: regression, owners: ['@a'] }]\n";
    Ok(std::fs::write(scene.home.home().join("suites.yaml"), text)?)
}
