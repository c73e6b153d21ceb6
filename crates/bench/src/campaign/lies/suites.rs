//! Suites with fewer queries than they require, and suites that require less than the playbook.

use anyhow::Result;
use fastrand::Rng;
use serde_json::{Value, json};

use super::case::{Allowed, Attempt, Case, Class};
use super::scene::{Scene, word};

/// The suite of every case.
pub const SUITE: &str = "checks";
/// Times that no build on a busy machine exceeds.
const PATIENT: &str = "thresholds: { all: { latency_p95_ms: { target: 60000, alert: 60000 } } }\n";

/// Queries of a case, as (source, how many).
type Counts = &'static [(&'static str, usize)];

/// A suite that has too few queries: its type, its sample, and the queries that there are.
const SHORT: &[(&str, &str, &str, Counts)] = &[
    ("a regression of 1 query", "regression", "", &[("alpha", 1)]),
    ("a regression of 5 queries", "regression", "", &[("alpha", 5)]),
    ("a regression of 24 queries", "regression", "", &[("alpha", 12), ("beta", 12)]),
    ("a weekly benchmark of 25 queries", "weekly_benchmark", "", &[("alpha", 25)]),
    ("a smoke test of 4 queries", "smoke", "", &[("alpha", 4)]),
    ("a smoke test with 2 queries about one source", "smoke", "", &[("alpha", 6), ("beta", 2)]),
    ("a smoke test of 3 queries about no source", "smoke", "", &[("", 3)]),
    ("a source with 14 of 15 queries", "source_specific", "", &[("alpha", 14)]),
    (
        "a named source with 1 query",
        "source_specific",
        "{ per_source: 15, sources: [alpha, beta] }",
        &[("alpha", 15), ("beta", 1)],
    ),
    (
        "a named source without queries",
        "source_specific",
        "{ per_source: 3, sources: [alpha, gamma] }",
        &[("alpha", 15)],
    ),
    ("a sample of 10 with 9 queries", "regression", "{ total: 10 }", &[("alpha", 9)]),
    ("a sample of all queries there could be", "regression", "{ total: 1000 }", &[("alpha", 25)]),
    ("8 of a source with 7 queries", "regression", "{ per_source: 8 }", &[("alpha", 7)]),
];

/// Suites that require less than the playbook, with exactly as many queries.
const SMALLER: &[(&str, &str, &str, Counts)] = &[
    ("a regression that requires 1 query", "regression", "{ total: 1 }", &[("alpha", 1)]),
    ("a regression that requires 24", "regression", "{ total: 24 }", &[("alpha", 24)]),
    ("a smoke test that requires 2 of a source", "smoke", "{ per_source: 2 }", &[("alpha", 2)]),
    ("a smoke test that requires 3 in all", "smoke", "{ total: 3 }", &[("alpha", 3)]),
    ("a weekly benchmark of 10", "weekly_benchmark", "{ total: 10 }", &[("alpha", 10)]),
    ("sources with 4 queries", "source_specific", "{ per_source: 4 }", &[("alpha", 4)]),
];

pub fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = SHORT.iter().map(short).collect();
    cases.extend(vanished());
    cases.extend(SMALLER.iter().map(smaller));
    cases.extend(SMALLER.iter().take(2).map(smaller_failing));
    cases.push(Case::new(
        Class::SmallSuite,
        "a regression of 25 queries",
        vec![
            Attempt::green("suites run checks"),
            Attempt::new("suites run checks --json", Allowed::GreenWith(is_whole)),
        ],
        |scene, rng| {
            questions(scene, &[("alpha", 25)], rng)?;
            suite(scene, "regression", "")
        },
    ));
    cases
}

fn is_whole(run: &Value) -> bool {
    run["sample"]["required"] == 25 && run["sample"]["smaller_than_playbook"].is_null()
}

/// No report of the suite says that it passed.
fn attempts() -> Vec<Attempt> {
    vec![
        Attempt::refused("suites run checks"),
        Attempt::refused("suites run checks --json"),
        Attempt::refused("suites run checks --ci --github --junit r.xml --markdown r.md"),
        Attempt::new("suites history --json", Allowed::Shown(|body| none_passed(&body["runs"]))),
        Attempt::new(
            "suites list --json",
            Allowed::Shown(|body| {
                let last = &body["suites"][0]["last_run"];
                last["verdict"] == "inconclusive"
            }),
        ),
        Attempt::new("suites show 1", Allowed::Told(&["sample too small"])),
        Attempt::new("alerts list", Allowed::Told(&["sample_too_small"])),
    ]
}

fn none_passed(runs: &Value) -> bool {
    let runs = runs.as_array().into_iter().flatten();
    runs.clone().count() > 0 && runs.clone().all(|run| run["verdict"] != "pass")
}

fn short(
    (name, kind, sample, counts): &(&'static str, &'static str, &'static str, Counts),
) -> Case {
    let (kind, sample, counts) = (*kind, *sample, *counts);
    Case::new(Class::SmallSuite, *name, attempts(), move |scene, rng| {
        questions(scene, counts, rng)?;
        suite(scene, kind, sample)
    })
}

/// Suites whose queries went away after they were written.
fn vanished() -> Vec<Case> {
    type Lose = fn(&Scene, &[String]) -> Result<()>;
    const LOSSES: &[(&str, Lose)] = &[
        ("one of 25 queries was retired", |scene, numbers| retire(scene, &numbers[..1])),
        ("24 of 25 queries were retired", |scene, numbers| retire(scene, &numbers[1..])),
        ("all queries were retired", retire),
        ("a query became a candidate", |scene, numbers| {
            scene.ok(&["queries", "edit", &numbers[0], "--state", "candidate"]).map(|_| ())
        }),
    ];
    let case = |(name, lose): &(&'static str, Lose)| {
        let lose = *lose;
        Case::new(Class::SmallSuite, *name, shown_attempts(), move |scene, rng| {
            questions(scene, &[("alpha", 25)], rng)?;
            suite(scene, "regression", "")?;
            lose(scene, &numbers(scene)?)
        })
    };
    LOSSES.iter().map(case).collect()
}

/// As [`attempts`], where there may be nothing to ask at all.
fn shown_attempts() -> Vec<Attempt> {
    vec![
        Attempt::refused("suites run checks"),
        Attempt::refused("suites run checks --json"),
        Attempt::new("suites history --json", Allowed::Shown(|body| none_passed(&body["runs"]))),
        Attempt::new("alerts list", Allowed::Told(&["could not say"])),
    ]
}

/// Every report of a small suite that passes states that its sample is small.
fn smaller(
    (name, kind, sample, counts): &(&'static str, &'static str, &'static str, Counts),
) -> Case {
    const TOLD: Allowed = Allowed::Told(&["smaller sample"]);
    let attempts = vec![
        Attempt::new("suites run checks", TOLD),
        Attempt::new("suites run checks --github", TOLD),
        Attempt::new(
            "suites run checks --json",
            Allowed::Shown(|run| run["sample"]["smaller_than_playbook"] == true),
        ),
        Attempt::new("suites show 1", TOLD),
        Attempt::new(
            "suites show 1 --json",
            Allowed::Shown(|body| body["summary"]["sample"]["smaller_than_playbook"] == true),
        ),
        Attempt::new("suites history", TOLD),
        Attempt::new(
            "suites history --json",
            Allowed::Shown(|body| body["runs"][0]["sample"]["smaller_than_playbook"] == true),
        ),
        Attempt::new("suites list", TOLD),
    ];
    let (kind, sample, counts) = (*kind, *sample, *counts);
    Case::new(Class::SmallSuite, format!("{name}, and passes"), attempts, move |scene, rng| {
        questions(scene, counts, rng)?;
        suite(scene, kind, sample)
    })
}

/// So is its failure, in the alerts that it raises.
fn smaller_failing(
    (name, kind, sample, counts): &(&'static str, &'static str, &'static str, Counts),
) -> Case {
    const TOLD: Allowed = Allowed::Told(&["smaller sample"]);
    let attempts = vec![
        Attempt::refused("suites run checks"),
        Attempt::new("alerts list", TOLD),
        Attempt::new("alerts list --json", TOLD),
        Attempt::new("alerts show gbrain/default/checks/recall@5/all", TOLD),
    ];
    let (kind, sample, counts) = (*kind, *sample, *counts);
    Case::new(Class::SmallSuite, format!("{name}, and fails"), attempts, move |scene, rng| {
        for slug in questions(scene, counts, rng)?.iter().take(4) {
            scene.ok(&["delete", slug, "--source", "default", "-q"])?;
        }
        suite(scene, kind, sample)
    })
}

/// Pages with a word of their own each, and a query for each; the slugs.
pub fn questions(scene: &Scene, counts: &[(&str, usize)], rng: &mut Rng) -> Result<Vec<String>> {
    let (mut slugs, mut lines) = (Vec::new(), String::new());
    for (source, count) in counts {
        for at in 0..*count {
            let own = format!("{}{}", word(rng), slugs.len());
            let slug = format!("sampled/{source}p{at}");
            scene.write(&format!("pages/{slug}.md"), format!("# {own}\n\nIt is about {own}.\n"))?;
            let mut line = json!({
                "id": format!("s{:03}", slugs.len()), "query": format!("what is {own}"),
                "expected": [format!("default::{slug}")],
            });
            if !source.is_empty() {
                line["source"] = json!(source);
            }
            lines += &format!("{line}\n");
            slugs.push(slug);
        }
    }
    scene.import()?;
    scene.write("sampled.jsonl", lines)?;
    scene.ok(&["queries", "import", "sampled.jsonl", "-q"])?;
    Ok(slugs)
}

/// Writes the file of the suite.
pub fn suite(scene: &Scene, kind: &str, sample: &str) -> Result<()> {
    suite_of(scene, kind, sample, "local")
}

/// The same against a target.
pub fn suite_of(scene: &Scene, kind: &str, sample: &str, target: &str) -> Result<()> {
    let sample = if sample.is_empty() { String::new() } else { format!(", sample: {sample}") };
    let text = format!(
        "{PATIENT}suites: [{{ name: {SUITE}, type: {kind}, target: {target}, owners: ['@a']{sample} }}]\n"
    );
    Ok(std::fs::write(scene.home.home().join("suites.yaml"), text)?)
}

/// The numbers of the queries, in their order.
pub fn numbers(scene: &Scene) -> Result<Vec<String>> {
    let list: Value = serde_json::from_str(&scene.ok(&["queries", "list", "--json"])?)?;
    let queries = list["queries"].as_array().into_iter().flatten();
    let mut numbers: Vec<i64> = queries.filter_map(|one| one["number"].as_i64()).collect();
    numbers.sort_unstable();
    Ok(numbers.iter().map(ToString::to_string).collect())
}

pub fn retire(scene: &Scene, numbers: &[String]) -> Result<()> {
    let numbers = numbers.iter().map(String::as_str);
    let args: Vec<&str> = ["queries", "retire"].into_iter().chain(numbers).collect();
    scene.ok(&args).map(|_| ())
}
