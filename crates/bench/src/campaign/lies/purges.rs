//! Purges that would make something look better than it was measured: failing suites, firing alerts, baselines and
//! judgements that name the page, reports of contradictions; and purges that take other pages along.

use anyhow::Result;
use fastrand::Rng;
use serde_json::{Value, json};

use super::baselines::PATIENT;
use super::case::{Allowed, Attempt, Case, Class};
use super::scene::Scene;

/// Notes of the scene, each with a query.
const QUERIES: usize = 24;
/// Queries that expect a page which does not answer them.
const WRONG: usize = 8;
/// A baseline in the home, from where the commands run.
const OWN: &str = "../baselines/own.baseline.ndjson";

pub fn cases() -> Vec<Case> {
    let mut cases = bystanders();
    cases.extend(suites());
    cases.extend(queries());
    cases.extend(baselines());
    cases.extend(judgements());
    cases.extend(names());
    cases.extend(refusals());
    cases.extend(contradictions());
    cases
}

fn case(
    name: impl Into<String>,
    attempts: Vec<Attempt>,
    plant: impl Fn(&mut Scene, &mut Rng) -> Result<()> + Send + Sync + 'static,
) -> Case {
    Case::new(Class::Purge, name, attempts, plant)
}

/// Pages whose slug is a part of what records hold: purging one must leave the failed run whole.
fn bystanders() -> Vec<Case> {
    const SLUGS: [&str; 15] = [
        "e",
        "n",
        "notes",
        "notes/n",
        "notes/n0",
        "notes/n0_",
        "notes/n%",
        "%",
        "_",
        "default",
        "local",
        "fail",
        "pass",
        "recall@5",
        "missing_result",
    ];
    let bystander = |slug: &'static str| {
        case(
            format!("a page called {slug} while a suite fails"),
            vec![
                Attempt::new("suites show 1 --json", Allowed::Shown(is_whole_failure)),
                Attempt::new("alerts list", Allowed::Told(&["checks"])),
                Attempt::refused("suites run checks"),
                Attempt::refused("triage 1"),
            ],
            move |scene, rng| {
                failing_suite(scene, rng)?;
                scene.write(
                    "bystander.md",
                    "---\ntitle: Something else\n---\n\nIt is about nothing.\n",
                )?;
                scene.ok(&["put", slug, "bystander.md", "-q"])?;
                purge(scene, &format!("default::{slug}"))
            },
        )
    };
    SLUGS.map(bystander).into()
}

/// The pages that a failed run is about.
fn suites() -> Vec<Case> {
    type Chosen = fn(&Scene, &mut Rng) -> Vec<String>;
    const PURGED: [(&str, Chosen); 5] = [
        ("the pages that failing queries find", |scene, _| keys(scene, 0..WRONG)),
        ("the pages that failing queries expect", |scene, _| keys(scene, 12..12 + WRONG)),
        ("one page that a failing query expects", |scene, rng| {
            let at = 12 + rng.usize(..WRONG);
            keys(scene, at..at + 1)
        }),
        ("the pages of queries that pass", |scene, _| keys(scene, 20..QUERIES)),
        ("every note", |scene, _| keys(scene, 0..QUERIES)),
    ];
    let purged = |(name, chosen): (&'static str, Chosen)| {
        case(
            format!("{name}, after the run"),
            vec![
                Attempt::new("suites show 1 --json", Allowed::Shown(is_whole_failure)),
                Attempt::new("suites history --json", Allowed::Shown(is_failure_listed)),
                Attempt::new(
                    "suites history --verdict pass --json",
                    Allowed::Shown(is_none_listed),
                ),
                Attempt::new("alerts list", Allowed::Told(&["checks"])),
            ],
            move |scene, rng| {
                failing_suite(scene, rng)?;
                chosen(scene, rng).iter().try_for_each(|key| purge(scene, key))
            },
        )
    };
    let mut cases: Vec<Case> = PURGED.map(purged).into();
    cases.push(case(
        "all answers of a suite before its first run",
        vec![
            Attempt::refused("suites run checks"),
            Attempt::refused("suites run checks --json"),
            Attempt::new("queries list --state active --json", Allowed::Shown(has_no_queries)),
        ],
        |scene, rng| {
            import(scene, rng, 0)?;
            keys(scene, 0..QUERIES).iter().try_for_each(|key| purge(scene, key))
        },
    ));
    cases.push(case(
        "all answers but three",
        vec![Attempt::refused("suites run checks"), Attempt::refused("suites run checks --json")],
        |scene, rng| {
            import(scene, rng, 0)?;
            keys(scene, 3..QUERIES).iter().try_for_each(|key| purge(scene, key))
        },
    ));
    cases.push(case(
        "a page that no query expects",
        vec![
            Attempt::green("suites run checks"),
            Attempt::new("queries list --state active --json", Allowed::GreenWith(has_all_queries)),
        ],
        |scene, rng| {
            import(scene, rng, 0)?;
            purge(scene, &format!("default::{}", scene.pages[QUERIES].slug))
        },
    ));
    cases
}

/// Queries with other keys than the page's: they stay, and still fail.
fn queries() -> Vec<Case> {
    type Keys = fn(&str, &str) -> Value;
    const KEYS: [(&str, Keys); 6] = [
        ("another expected key", |own, other| json!({ "expected": [own, other] })),
        ("an acceptable key", |own, other| json!({ "expected": [own], "acceptable": [other] })),
        ("a bare key", |own, other| json!({ "expected": [bare(own), other] })),
        (
            "a key of another source",
            |own, _| json!({ "expected": [own, format!("mirror::{}", bare(own))] }),
        ),
        (
            "a key that begins with the page's",
            |own, _| json!({ "expected": [own, format!("{own}-more")] }),
        ),
        (
            "a key of a passage",
            |own, _| json!({ "expected": [own, { "kind": "chunk", "id": "0123456789abcdef" }] }),
        ),
    ];
    let kept = |(name, keys): (&'static str, Keys)| {
        case(
            format!("queries that have {name} which does not answer"),
            vec![
                Attempt::refused("suites run checks"),
                Attempt::new("queries list --state active --json", Allowed::Shown(has_all_queries)),
                Attempt::new("queries list --state retired --json", Allowed::Shown(has_no_queries)),
            ],
            move |scene, rng| {
                let notes = self::keys(scene, 0..QUERIES);
                let wrong = |at: usize| notes[(at + QUERIES / 2) % QUERIES].as_str();
                import_with(scene, rng, &|at, own| {
                    if at < WRONG { keys(own, wrong(at)) } else { json!({ "expected": [own] }) }
                })?;
                self::keys(scene, 0..WRONG).iter().try_for_each(|key| purge(scene, key))
            },
        )
    };
    KEYS.map(kept).into()
}

/// Baselines that name the pages.
fn baselines() -> Vec<Case> {
    type Plant = fn(&Scene, &mut Rng) -> Result<()>;
    const PLANTED: [(&str, Plant); 7] = [
        ("half of the pages of a baseline in the home", |scene, _| {
            keep_own(scene, str::to_owned)?;
            keys(scene, 0..12).iter().try_for_each(|key| purge(scene, key))
        }),
        ("every page of a baseline in the home", |scene, _| {
            keep_own(scene, str::to_owned)?;
            keys(scene, 0..QUERIES).iter().try_for_each(|key| purge(scene, key))
        }),
        ("a page of a baseline that was edited before", |scene, _| {
            keep_own(scene, |text| text.replacen("\"weight\":1", "\"weight\":9", 1))?;
            purge(scene, &keys(scene, 0..1)[0])
        }),
        ("a page of a baseline whose thresholds were lowered", |scene, _| {
            keep_own(scene, |text| {
                text.replacen("0.85", "0.05", 1).replacen("\"top1\":0.", "\"top1\":0.0", 1)
            })?;
            purge(scene, &keys(scene, 0..1)[0])
        }),
        ("a page of a baseline that lost its last row", |scene, _| {
            keep_own(scene, |text| {
                let rows: Vec<&str> = text.lines().collect();
                rows[..rows.len() - 1].join("\n")
            })?;
            purge(scene, &keys(scene, 0..1)[0])
        }),
        ("a page of a baseline without its hash", |scene, _| {
            keep_own(scene, |text| {
                let at = text.find(",\"rows_hash\"").unwrap_or_default();
                let end = text[at..].find('}').map_or(at, |end| at + end);
                format!("{}{}", &text[..at], &text[end..])
            })?;
            purge(scene, &keys(scene, 0..1)[0])
        }),
        ("a page of a baseline signed with a key that is not there", |scene, _| {
            scene.write("key", "a key of sixteen bytes and more")?;
            scene.ok(&[
                "bench",
                "publish",
                "--from",
                "captured.ndjson",
                "--to",
                "signed.baseline.ndjson",
                "--label",
                "lies",
                "--key-file",
                "key",
                "-q",
            ])?;
            std::fs::rename(
                scene.path("signed.baseline.ndjson"),
                scene.path("base.baseline.ndjson"),
            )?;
            keep_own(scene, str::to_owned)?;
            purge(scene, &keys(scene, 0..1)[0])
        }),
    ];
    let planted = |(name, plant): (&'static str, Plant)| {
        let gate = format!("eval gate --baseline {OWN} {PATIENT}");
        let attempts = vec![Attempt::refused(&gate), Attempt::refused(&format!("{gate} --json"))];
        case(name, attempts, move |scene, rng| plant(scene, rng))
    };
    let mut cases: Vec<Case> = PLANTED.map(planted).into();
    for (name, count) in [("a third", 8), ("half", 12), ("all", QUERIES)] {
        let gate = format!("eval gate --baseline base.baseline.ndjson {PATIENT}");
        cases.push(case(
            format!("{name} of the pages of a baseline that was exported"),
            vec![Attempt::refused(&gate), Attempt::refused(&format!("{gate} --json"))],
            move |scene, _| keys(scene, 0..count).iter().try_for_each(|key| purge(scene, key)),
        ));
    }
    cases.push(case(
        "a page that no row of a baseline in the home names",
        vec![Attempt::green(&format!("eval gate --baseline {OWN} {PATIENT}"))],
        |scene, _| {
            keep_own(scene, str::to_owned)?;
            scene.write("other.md", "---\ntitle: Other\n---\n\nNothing here.\n")?;
            scene.ok(&["put", "notes/n", "other.md", "-q"])?;
            purge(scene, "default::notes/n")
        },
    ));
    cases
}

/// Judgements that name the pages.
fn judgements() -> Vec<Case> {
    let judged = |(name, count): (&'static str, usize)| {
        case(
            format!("{name} of the judged pages"),
            vec![
                Attempt::refused("eval gate --qrels qrels.json"),
                Attempt::refused("eval gate --qrels qrels.json --json"),
            ],
            move |scene, _| keys(scene, 0..count).iter().try_for_each(|key| purge(scene, key)),
        )
    };
    let mut cases: Vec<Case> = [("a third", 8), ("half", 12), ("all", QUERIES)].map(judged).into();
    cases.push(case(
        "the copies of judged pages in another source",
        vec![Attempt::green("eval gate --qrels qrels.json")],
        |scene, _| {
            let page = &scene.pages[0].slug;
            scene.write("copy.md", "---\ntitle: Copy\n---\n\nNothing here.\n")?;
            scene.ok(&["sources", "add", "mirror", "-q"])?;
            scene.ok(&["put", &format!("mirror::{page}"), "copy.md", "-q"])?;
            purge(scene, &format!("mirror::{page}"))
        },
    ));
    cases
}

/// The name of a purged page must not come out again, and what was captured must not look better.
fn names() -> Vec<Case> {
    const NAME: &[&str] = &["default::notes/n20", "\"notes/n20\""];
    let gone = |name: &'static str, command: &'static str| {
        case(
            format!("a page whose name is looked for in {name}"),
            vec![Attempt::new(command, Allowed::Silent(NAME))],
            |scene, rng| {
                failing_suite(scene, rng)?;
                purge(scene, "default::notes/n20")
            },
        )
    };
    let mut cases = vec![
        gone("an export", "eval export -q"),
        gone("a run of a suite", "suites show 1 --json"),
        gone("queries", "queries list --json"),
        gone("pages", "list --json --deleted"),
    ];
    cases.push(case(
        "pages that captures name, exported after the purge",
        vec![
            Attempt::new(
                "bench publish --from later.ndjson --to later.baseline.ndjson",
                Allowed::Step,
            ),
            Attempt::refused(&format!("eval gate --baseline later.baseline.ndjson {PATIENT}")),
            Attempt::new(
                "eval replay --against later.ndjson --json --repeats 1",
                Allowed::Shown(is_not_whole),
            ),
        ],
        |scene, _| {
            keys(scene, 0..QUERIES).iter().try_for_each(|key| purge(scene, key))?;
            let rows = scene.ok(&["eval", "export", "-q"])?;
            scene.write("later.ndjson", rows)
        },
    ));
    cases
}

/// A key that names no page, or several, is not purged.
fn refusals() -> Vec<Case> {
    const WORDS: [(&str, &str); 8] = [
        ("a pattern", "purge notes/% --yes"),
        ("a pattern of one letter", "purge notes/n0_ --yes"),
        ("a folder", "purge notes --yes"),
        ("a folder with its slash", "purge notes/ --yes"),
        ("the beginning of a slug", "purge notes/n0 --yes"),
        ("a source alone", "purge default:: --yes"),
        ("a page of a source that is not there", "purge mirror::notes/n00 --yes"),
        ("a page without a yes", "purge notes/n00"),
    ];
    let refused = |(name, command): (&'static str, &'static str)| {
        case(
            format!("{name} is refused"),
            vec![
                Attempt::refused(command),
                Attempt::refused(&format!("{command} --json")),
                Attempt::new("eval export -q", Allowed::Told(&["notes/n00"])),
            ],
            |_, _| Ok(()),
        )
    };
    let mut cases: Vec<Case> = WORDS.map(refused).into();
    cases.push(case(
        "a slug that two sources have",
        vec![
            Attempt::refused("purge notes/n00 --yes"),
            Attempt::refused("purge notes/n00 --yes --json"),
        ],
        |scene, _| {
            scene.write("copy.md", "---\ntitle: Copy\n---\n\nNothing here.\n")?;
            scene.ok(&["sources", "add", "mirror", "-q"])?;
            scene.ok(&["put", "mirror::notes/n00", "copy.md", "-q"]).map(|_| ())
        },
    ));
    cases
}

/// Findings of the contradiction probe remain.
fn contradictions() -> Vec<Case> {
    let purged = |(name, slug): (&'static str, &'static str)| {
        case(
            format!("{name} after contradictions were found"),
            vec![Attempt::new(
                "eval suspected-contradictions trend --json",
                Allowed::Shown(is_found),
            )],
            move |scene, _| {
                let pages = [
                    (
                        "facts/one",
                        "The harbour office opens at nine. The lighthouse has 4 lamps in 2026.",
                    ),
                    (
                        "facts/two",
                        "The harbour office opens at nine. The lighthouse has 9 lamps in 2026.",
                    ),
                    ("a", "Nothing of note."),
                ];
                for (slug, text) in pages {
                    scene.write("fact.md", format!("---\ntitle: {slug}\n---\n\n{text}\n"))?;
                    scene.ok(&["put", slug, "fact.md", "-q"])?;
                }
                let words: Vec<String> = [
                    "eval",
                    "suspected-contradictions",
                    "--judge",
                    "offline",
                    "--query",
                    "how many lamps has the lighthouse",
                    "-q",
                ]
                .map(str::to_owned)
                .into();
                scene.run(&words)?;
                purge(scene, slug)
            },
        )
    };
    [
        ("one of two pages purged", "default::facts/one"),
        ("a page called by one letter purged", "default::a"),
    ]
    .map(purged)
    .into()
}

fn bare(key: &str) -> &str {
    key.split_once("::").map_or(key, |(_, slug)| slug)
}

fn purge(scene: &Scene, key: &str) -> Result<()> {
    scene.ok(&["purge", key, "--yes", "-q"]).map(|_| ())
}

/// The whole keys of notes.
fn keys(scene: &Scene, at: std::ops::Range<usize>) -> Vec<String> {
    let notes: Vec<String> =
        scene.of_kind("notes").map(|page| format!("default::{}", page.slug)).collect();
    notes[at].to_vec()
}

/// A baseline in the home, after an edit.
fn keep_own(scene: &Scene, edit: impl Fn(&str) -> String) -> Result<()> {
    let dir = scene.home.home().join("baselines");
    std::fs::create_dir_all(&dir)?;
    let text = edit(&scene.read("base.baseline.ndjson")?);
    Ok(std::fs::write(dir.join("own.baseline.ndjson"), text)?)
}

/// A query for every note, and a suite that asks them; the first so many expect a page that does not answer.
fn import(scene: &Scene, rng: &mut Rng, wrong: usize) -> Result<()> {
    let notes = keys(scene, 0..QUERIES);
    import_with(scene, rng, &|at, own| {
        let expected = if at < wrong { &notes[(at + QUERIES / 2) % QUERIES] } else { own };
        json!({ "expected": [expected] })
    })
}

fn import_with(
    scene: &Scene,
    _rng: &mut Rng,
    expected: &dyn Fn(usize, &str) -> Value,
) -> Result<()> {
    let mut lines = String::new();
    for (at, page) in scene.of_kind("notes").enumerate() {
        let mut query =
            json!({ "id": format!("q{at:02}"), "query": page.question, "source": "default" });
        let keys = expected(at, &format!("default::{}", page.slug));
        for (name, value) in keys.as_object().into_iter().flatten() {
            query[name] = value.clone();
        }
        lines += &format!("{query}\n");
    }
    scene.write("queries.ndjson", lines)?;
    scene.ok(&["queries", "import", "queries.ndjson", "-q"])?;
    let suites = "thresholds: { all: { latency_p95_ms: { target: 60000, alert: 60000 } } }\n\
                  suites: [{ name: checks, type: regression, owners: ['@a'], sample: { total: 24 } }]\n";
    Ok(std::fs::write(scene.home.home().join("suites.yaml"), suites)?)
}

/// A suite that ran once and failed, with its alert.
fn failing_suite(scene: &Scene, rng: &mut Rng) -> Result<()> {
    import(scene, rng, WRONG)?;
    let words: Vec<String> = ["suites", "run", "checks", "-q"].map(str::to_owned).into();
    let output = scene.run(&words)?;
    anyhow::ensure!(
        output.code == Some(1),
        "the suite should fail: {:?} {}",
        output.code,
        output.stderr
    );
    Ok(())
}

/// The run with all its cases, of which as many fail as were counted.
fn is_whole_failure(shown: &Value) -> bool {
    let cases = shown["run"]["cases"].as_array().map_or(&[][..], Vec::as_slice);
    let failing = cases.iter().filter(|case| case["failing"] == true).count();
    let is_counted = shown["summary"]["failing"].as_u64() == Some(failing as u64);
    shown["run"]["verdict"] == "fail" && cases.len() == QUERIES && failing > 0 && is_counted
}

fn is_failure_listed(listed: &Value) -> bool {
    listed["runs"].as_array().is_some_and(|runs| runs.iter().any(|run| run["verdict"] == "fail"))
}

fn is_none_listed(listed: &Value) -> bool {
    listed["runs"].as_array().is_some_and(Vec::is_empty)
}

fn has_all_queries(listed: &Value) -> bool {
    listed["queries"].as_array().is_some_and(|queries| queries.len() == QUERIES)
}

fn has_no_queries(listed: &Value) -> bool {
    listed["queries"].as_array().is_some_and(Vec::is_empty)
}

fn is_not_whole(report: &Value) -> bool {
    let below = |name: &str| report["summary"][name].as_f64().is_none_or(|value| value < 0.95);
    below("mean_jaccard") || below("top1_stability_rate")
}

fn is_found(trend: &Value) -> bool {
    let rows = trend["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let flagged = |row: &Value| row["report_json"]["total_contradictions_flagged"].as_u64();
    rows.iter().any(|row| flagged(row).is_some_and(|count| count > 0))
}
