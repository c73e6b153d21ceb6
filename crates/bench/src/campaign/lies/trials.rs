//! Calibration: trials that do not speak for what is there, and pairs that are counted twice.

use anyhow::Result;
use gbrain_core::id::WorkspaceId;
use gbrain_store::{Location, NewThreshold, OpenMode, Store};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::case::{Allowed, Attempt, Case, Class};
use super::edit::EditValue;
use super::scene::Scene;

/// The reranker that is set.
const MODEL: &str = "voyage:rerank-2.5";

/// Changes of a trial that is true.
const TRIALS: &[(&str, EditValue)] = &[
    ("a trial of an earlier corpus", |trial| {
        trial["generation"] = json!(trial["generation"].as_i64().unwrap_or(9) - 1);
    }),
    ("a trial of a later corpus", |trial| {
        trial["generation"] = json!(trial["generation"].as_i64().unwrap_or(9) + 1);
    }),
    ("a trial of a corpus that nobody knows", |trial| {
        trial["generation"] = Value::Null;
    }),
    ("a trial of one query", |trial| of_queries(trial, 1)),
    ("a trial of 19 queries", |trial| of_queries(trial, 19)),
    ("a trial of no query", |trial| of_queries(trial, 0)),
    ("a trial of tomorrow", |trial| trial["at"] = json!(moment(24))),
    ("a trial of the next hour", |trial| trial["at"] = json!(moment(1))),
    ("a trial of the next century", |trial| trial["at"] = json!("2126-01-01T00:00:00Z")),
    ("a trial of eight days ago", |trial| trial["at"] = json!(moment(-24 * 8))),
    ("a trial at no time", |trial| trial["at"] = json!("soon")),
    ("a trial that lost recall and says passed", |trial| trial["hits"] = json!(18)),
    ("a trial that leaked and says passed", |trial| trial["leaked"] = json!(3)),
    ("a trial that was bypassed and says passed", |trial| trial["bypassed"] = json!(1)),
    ("a trial with errors that says passed", |trial| trial["errors"] = json!(2)),
    ("a trial of another target", |trial| trial["target"] = json!("prod")),
    ("a trial that failed", |trial| {
        trial["passed"] = json!(false);
        trial["failures"] = json!(["recall_lost"]);
    }),
];

pub fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = TRIALS.iter().map(forged).collect();
    cases.push(Case::new(
        Class::ForgedTrial,
        "pages written after the trial",
        deployments(),
        |scene, _| {
            threshold(scene, |_| ())?;
            scene.write("pages/notes/later.md", "# Later\n\nIt came later.\n")?;
            scene.import()
        },
    ));
    cases.push(Case::new(
        Class::ForgedTrial,
        "a page deleted after the trial",
        deployments(),
        |scene, _| {
            threshold(scene, |_| ())?;
            let slug = scene.pages[0].slug.clone();
            scene.ok(&["delete", &slug, "--source", "default", "-q"]).map(|_| ())
        },
    ));
    cases.push(Case::new(
        Class::ForgedTrial,
        "another reranker since the trial",
        deployments(),
        |scene, _| {
            threshold(scene, |_| ())?;
            scene.ok(&["config", "set", "models.rerank", "voyage:rerank-2.5-lite"]).map(|_| ())
        },
    ));
    cases.push(Case::new(
        Class::ForgedTrial,
        "a trial that is true",
        vec![Attempt::green("calibrate deploy 1"), Attempt::green("calibrate show")],
        |scene, _| threshold(scene, |_| ()),
    ));
    cases.extend(pairs());
    cases
}

fn forged((name, forge): &(&'static str, EditValue)) -> Case {
    let forge = *forge;
    Case::new(Class::ForgedTrial, *name, deployments(), move |scene, _| threshold(scene, forge))
}

/// It is not deployed, and no setting changes.
fn deployments() -> Vec<Attempt> {
    let is_unset = |body: &Value| body["value"] == "0";
    vec![
        Attempt::refused("calibrate deploy 1"),
        Attempt::refused("calibrate deploy 1 --json"),
        Attempt::refused("calibrate deploy"),
        Attempt::new("config get rerank.threshold --json", Allowed::Shown(is_unset)),
    ]
}

/// A threshold with a trial that passed just now, or what a case makes of it.
fn threshold(scene: &Scene, forge: impl Fn(&mut Value)) -> Result<()> {
    scene.ok(&["config", "set", "models.rerank", MODEL])?;
    let now = Timestamp::now();
    let location = Location::Sqlite(scene.home.home().join("brain.db"));
    let store: Store = gbrain_store::Store::open(&location, OpenMode::Use, now)?;
    let workspace = WorkspaceId::default();
    let mut trial = json!({
        "at": moment(0), "target": "local", "passed": true, "failures": [], "n": 20, "hits": 20,
        "lost": 0, "leaked": 0, "filtered": 12, "bypassed": 0, "errors": 0,
        "generation": store.head(&workspace)?.generation.0,
    });
    forge(&mut trial);
    let body = json!({
        "schema_version": 1, "rule": "mean - 1 sigma", "min": 0.3, "max": 0.6, "verification": trial,
    });
    let new = NewThreshold {
        model: MODEL.to_owned(),
        threshold: 0.41,
        n: 30,
        mean: 0.5,
        sigma: 0.09,
        body: body.to_string(),
        scores: Vec::new(),
    };
    store.add_threshold(&workspace, &new, now)?;
    Ok(())
}

fn of_queries(trial: &mut Value, count: u64) {
    trial["n"] = json!(count);
    trial["hits"] = json!(count);
}

fn moment(hours: i64) -> String {
    format!("{:.3}", Timestamp::now() + SignedDuration::from_hours(hours))
}

/// Pairs that are collected again with another text, or another label.
fn pairs() -> Vec<Case> {
    type Change = fn(usize, usize) -> (String, &'static str);
    const CHANGES: &[(&str, Change)] = &[
        ("texts of pairs that changed", |at, turn| (format!("text {turn} of {at}"), "borderline")),
        ("texts that changed and came back", |at, turn| {
            (format!("text {} of {at}", turn % 2), "borderline")
        }),
        ("labels that came to be with other texts", |at, turn| {
            let label = if turn == 0 { "relevant" } else { "borderline" };
            (format!("text {turn} of {at}"), label)
        }),
    ];
    let case = |(name, change): &(&'static str, Change)| {
        let change = *change;
        let once = |body: &Value| {
            let pairs = &body["pairs"];
            pairs["borderline"] == 16 && pairs["relevant"] == 0 && body["missing"] == 14
        };
        let attempts = vec![
            Attempt::new("calibrate collect --from pairs.jsonl --json", Allowed::Shown(once)),
            Attempt::new(
                "calibrate show --json",
                Allowed::Shown(|body| body["pairs"]["borderline"] == 16),
            ),
            Attempt::new(
                "calibrate pairs --json",
                Allowed::Shown(|body| {
                    body["pairs"].as_array().is_some_and(|pairs| pairs.len() == 16)
                }),
            ),
        ];
        Case::new(Class::ForgedTrial, *name, attempts, move |scene, _| {
            for turn in 0..3 {
                let line = |at: usize| {
                    let (text, label) = change(at, turn);
                    json!({
                        "query": format!("pair {at}"), "document": format!("default::pair-{at}"),
                        "label": label, "text": text,
                    })
                };
                scene.write_rows("pairs.jsonl", &(0..16).map(line).collect::<Vec<_>>())?;
                scene.ok(&["calibrate", "collect", "--from", "pairs.jsonl", "-q"])?;
            }
            Ok(())
        })
    };
    CHANGES.iter().map(case).collect()
}
