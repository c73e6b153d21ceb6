//! Alerts that something else than a recovery would close: fewer queries, other queries, no queries.

use anyhow::Result;
use fastrand::Rng;
use serde_json::Value;

use super::case::{Allowed, Attempt, Case, Class};
use super::scene::Scene;
use super::suites::{numbers, questions, retire, suite};

/// Pages that are deleted: 21 of 25 is past both alerts of recall.
const LOST: usize = 4;

/// Makes a suite that fails, or whose result is unknown, look like one that passes.
type Pretend = fn(&Scene, &[String]) -> Result<()>;

const PRETENCES: &[(&str, Pretend)] = &[
    ("the failing queries are retired", |scene, _| retire(scene, &numbers(scene)?[..LOST])),
    ("the failing queries are retired, and the sample is made to fit", |scene, _| {
        retire(scene, &numbers(scene)?[..LOST])?;
        suite(scene, "regression", "{ total: 21 }")
    }),
    ("all but one query are retired, and the sample is made to fit", |scene, _| {
        retire(scene, &numbers(scene)?[..24])?;
        suite(scene, "regression", "{ total: 1 }")
    }),
    ("all queries are retired", |scene, _| retire(scene, &numbers(scene)?)),
    ("the pages are back, and 5 queries are asked", |scene, slugs| {
        restore(scene, slugs)?;
        suite(scene, "regression", "{ total: 5 }")
    }),
    ("the pages are back, and 24 queries are asked", |scene, slugs| {
        restore(scene, slugs)?;
        suite(scene, "regression", "{ total: 24 }")
    }),
    ("the suite becomes a smoke test of 5 queries", |scene, slugs| {
        restore(scene, slugs)?;
        suite(scene, "smoke", "{ per_source: 5 }")
    }),
    ("the pages are back, and one query is gone", |scene, slugs| {
        restore(scene, slugs)?;
        retire(scene, &numbers(scene)?[24..])
    }),
    ("the suite becomes a weekly benchmark of 25 queries", |scene, slugs| {
        restore(scene, slugs)?;
        suite(scene, "weekly_benchmark", "")
    }),
    ("a smaller run fails and a smaller run passes", |scene, slugs| {
        suite(scene, "regression", "{ total: 10 }")?;
        let _ = scene.run(&["suites", "run", "checks"].map(str::to_owned))?;
        restore(scene, slugs)?;
        suite(scene, "regression", "{ total: 10 }")
    }),
];

/// Every case of alerts that must stay open.
pub fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = PRETENCES.iter().map(pretence).collect();
    cases.push(Case::new(
        Class::EarlyRecovery,
        "the pages are back, and all queries are asked",
        vec![Attempt::new("suites run checks --json", Allowed::GreenWith(resolves))],
        |scene, rng| {
            let slugs = fired(scene, rng)?;
            restore(scene, &slugs)
        },
    ));
    cases.push(Case::new(
        Class::EarlyRecovery,
        "a person closes the alert",
        vec![
            Attempt::green(
                "alerts close gbrain/default/checks/recall@5/all --reason rewritten-by-hand",
            ),
            Attempt::new("alerts list --json", Allowed::GreenWith(|body| !fires(body))),
        ],
        |scene, rng| fired(scene, rng).map(|_| ()),
    ));
    cases
}

fn pretence((name, pretend): &(&'static str, Pretend)) -> Case {
    let pretend = *pretend;
    let attempts = vec![
        Attempt::new("suites run checks --json", Allowed::Shown(|run| !resolves(run))),
        Attempt::new("alerts list --json", Allowed::Shown(fires)),
        Attempt::new("alerts list", Allowed::Told(&["checks/recall@5/all"])),
        Attempt::new("alerts show gbrain/default/checks/recall@5/all", Allowed::Told(&["firing"])),
        Attempt::new("doctor", Allowed::Told(&["alert"])),
    ];
    Case::new(Class::EarlyRecovery, *name, attempts, move |scene, rng| {
        let slugs = fired(scene, rng)?;
        pretend(scene, &slugs)
    })
}

/// A suite of 25 queries whose run failed and raised alerts; the pages that are gone.
fn fired(scene: &Scene, rng: &mut Rng) -> Result<Vec<String>> {
    let mut slugs = questions(scene, &[("alpha", 25)], rng)?;
    suite(scene, "regression", "")?;
    slugs.truncate(LOST);
    for slug in &slugs {
        scene.ok(&["delete", slug, "--source", "default", "-q"])?;
    }
    let ran = scene.run(&["suites", "run", "checks", "--json"].map(str::to_owned))?;
    anyhow::ensure!(ran.code == Some(1), "it does not fail: {}", ran.stdout);
    Ok(slugs)
}

fn restore(scene: &Scene, slugs: &[String]) -> Result<()> {
    for slug in slugs {
        scene.ok(&["restore", slug, "--source", "default", "-q"])?;
    }
    Ok(())
}

fn resolves(run: &Value) -> bool {
    let resolved = run["alerts"]["resolved"].as_array();
    resolved.is_some_and(|keys| keys.iter().any(|key| key == "gbrain/default/checks/recall@5/all"))
}

fn fires(body: &Value) -> bool {
    let alerts = body["alerts"].as_array().into_iter().flatten();
    alerts
        .clone()
        .any(|one| one["key"] == "gbrain/default/checks/recall@5/all" && one["state"] == "firing")
}
