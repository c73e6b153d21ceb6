//! Runs that are compared or scored: drops that must be seen, ties that must be broken as trec_eval
//! breaks them, and scores that are no numbers.

use fastrand::Rng;
use serde_json::{Value, json};

use super::case::{Allowed, Attempt, Case, Class};
use super::edit::EditValue;
use super::scene::Scene;

const COMPARE: &str = "eval compare a.run b.run --qrels ab.qrels --fail-on-regression";

/// The lines of a run: (query, document, rank, score).
type Run = Vec<(String, String, usize, String)>;

pub fn cases() -> Vec<Case> {
    let mut cases = vec![
        drop("all of 8 fall from 1 to 0", 8, |_, _| true),
        drop("all of 12 fall", 12, |_, _| true),
        drop("all of 30 fall", 30, |_, _| true),
        drop("7 of 50 fall", 50, |at, _| at < 7),
        drop("8 of 50 fall", 50, |at, _| at % 6 == 0),
        drop("20 of 50 fall", 50, |at, _| at % 5 < 2),
        drop("a third of 100 falls", 100, |at, _| at % 3 == 0),
        // By construction these can't reach the level: no verdict.
        drop("all of 2 fall", 2, |_, _| true),
        drop("all of 3 fall", 3, |_, _| true),
        drop("all of 4 fall", 4, |_, _| true),
        drop("one of one falls", 1, |_, _| true),
    ];
    cases.extend(missing());
    cases.extend(scores());
    cases.extend(ties());
    cases.extend(files());
    cases.extend(score_files());
    cases.extend(honest());
    cases
}

/// The right page first; where it fell, another one and not the right page.
fn run(count: usize, fell: impl Fn(usize) -> bool) -> Run {
    let mut run = Run::new();
    for at in 0..count {
        let mut pages = vec![format!("d{at}"), format!("x{at}"), format!("y{at}")];
        if fell(at) {
            pages.remove(0);
        }
        run.extend(pages.into_iter().enumerate().map(|(rank, page)| {
            (format!("q{at}"), page, rank + 1, format!("{}", 1.0 / (rank + 1) as f64))
        }));
    }
    run
}

fn text(run: &Run, name: &str) -> String {
    let line = |(query, page, rank, score): &(String, String, usize, String)| {
        format!("{query} Q0 {page} {rank} {score} {name}\n")
    };
    run.iter().map(line).collect()
}

fn judged(scene: &Scene, count: usize) -> anyhow::Result<()> {
    let all = (0..count).map(|at| format!("q{at} 0 d{at} 1\nq{at} 0 x{at} 0\nq{at} 0 y{at} 0\n"));
    scene.write("ab.qrels", all.collect::<String>())
}

fn drop(name: &str, count: usize, fell: fn(usize, &mut Rng) -> bool) -> Case {
    let attempts = vec![Attempt::refused(COMPARE), Attempt::refused(&format!("{COMPARE} --json"))];
    Case::new(Class::Comparison, name, attempts, move |scene, rng| {
        let mut which: Vec<bool> = (0..count).map(|at| fell(at, rng)).collect();
        rng.shuffle(&mut which);
        scene.write("a.run", text(&run(count, |_| false), "a"))?;
        scene.write("b.run", text(&run(count, |at| which[at]), "b"))?;
        judged(scene, count)
    })
}

/// Queries that one of the runs does not have.
fn missing() -> Vec<Case> {
    let case = |name: &str, left: fn(usize) -> bool| {
        Case::new(Class::Comparison, name, vec![Attempt::refused(COMPARE)], move |scene, _| {
            scene.write("a.run", text(&run(30, |_| false), "a"))?;
            let mut rows = run(30, |_| false);
            rows.retain(|(query, ..)| query[1..].parse().is_ok_and(left));
            scene.write("b.run", text(&rows, "b"))?;
            judged(scene, 30)
        })
    };
    vec![
        case("a run without half of the queries", |at| at % 2 == 0),
        case("a run without one query", |at| at != 7),
        case("a run of one query", |at| at == 0),
    ]
}

/// Scores that are no numbers.
fn scores() -> Vec<Case> {
    const SCORES: [&str; 6] = ["NaN", "nan", "inf", "-inf", "1e999", "high"];
    let case = |score: &'static str| {
        let attempts = vec![
            Attempt::refused("eval score --qrels ab.qrels --run b.run"),
            Attempt::refused(COMPARE),
        ];
        Case::new(Class::Comparison, format!("a score of {score}"), attempts, move |scene, rng| {
            let mut rows = run(20, |_| false);
            let at = rng.usize(..rows.len());
            score.clone_into(&mut rows[at].3);
            scene.write("a.run", text(&run(20, |_| false), "a"))?;
            scene.write("b.run", text(&rows, "b"))?;
            judged(scene, 20)
        })
    };
    SCORES.map(case).into_iter().collect()
}

/// Scores that differ as doubles and not as floats, and equal ones.
fn ties() -> Vec<Case> {
    let case = |name: &str, scores: fn(&mut Rng) -> [String; 2], expected: fn(&Value) -> bool| {
        let score = "eval score --qrels ab.qrels --run tie.run --measures RR --json";
        let attempts = vec![Attempt::new(score, Allowed::Shown(expected))];
        Case::new(Class::Comparison, name, attempts, move |scene, rng| {
            let [first, second] = scores(rng);
            let mut rows = Run::new();
            for at in 0..20 {
                rows.push((format!("q{at}"), format!("d{at}"), 1, first.clone()));
                rows.push((format!("q{at}"), format!("x{at}"), 2, second.clone()));
            }
            rng.shuffle(&mut rows);
            scene.write("tie.run", text(&rows, "a"))?;
            judged(scene, 20)
        })
    };
    let is_first = |report: &Value| report["summary"]["RR"] == json!(1.0);
    let is_second = |report: &Value| report["summary"]["RR"] == json!(0.5);
    vec![
        case("near ties, the right page ahead", |rng| near(rng, 1.0), is_first),
        case("near ties of large scores", |rng| near(rng, 1e6), is_first),
        case("near ties, the right page behind", |rng| swap(near(rng, 1.0)), is_second),
        case("near ties of small scores", |rng| near(rng, 1e-3), is_first),
        // Equal scores: the higher id first, as trec_eval does it; `x` is behind `d`.
        case("equal scores", |_| ["0.5".to_owned(), "0.5".to_owned()], is_second),
        case(
            "equal scores written in two ways",
            |_| ["0.5".to_owned(), "5e-1".to_owned()],
            is_second,
        ),
    ]
}

/// Two scores that are the same as floats, the larger first.
fn near(rng: &mut Rng, around: f64) -> [String; 2] {
    let step = around * 1e-12 * (1.0 + rng.f64() * 5.0);
    let high = around * (1.0 + rng.f64() * 0.5);
    [format!("{:e}", high + step), format!("{high:e}")]
}

fn swap([one, two]: [String; 2]) -> [String; 2] {
    [two, one]
}

/// Files that are no run, or two of them.
fn files() -> Vec<Case> {
    type EditText = fn(&str) -> String;
    const EDITS: &[(&str, EditText)] = &[
        ("a document twice in a query", |text| {
            let first = text.lines().next().unwrap_or_default();
            format!("{first}\n{text}")
        }),
        ("a line cut off", |text| text[..text.len() - 12].to_owned()),
        ("a line without a score", |text| format!("{text}q0 Q0 d0\n")),
        ("judgements in the place of a run", |_| "q0 0 d0 1\nq1 0 d1 1\n".to_owned()),
    ];
    let cases = EDITS.iter().map(|(name, edit)| {
        let attempts = vec![
            Attempt::refused("eval score --qrels ab.qrels --run b.run"),
            Attempt::refused(COMPARE),
        ];
        Case::new(Class::Comparison, *name, attempts, move |scene, _| {
            let true_run = text(&run(20, |_| false), "a");
            scene.write("a.run", &true_run)?;
            scene.write("b.run", edit(&true_run))?;
            judged(scene, 20)
        })
    });
    cases.collect()
}

/// A file of scores with 8 queries of one value, edited.
fn score_files() -> Vec<Case> {
    const FILES: &str = "eval compare a.json b.json --fail-on-regression";
    const EDITS: &[(&str, EditValue)] = &[
        ("scores with every query twice, the second perfect", |file| {
            let rows = file["per_query"].as_array().cloned().unwrap_or_default();
            file["per_query"] = json!([rows.clone(), rows].concat());
            for row in file["per_query"].as_array_mut().into_iter().flatten().skip(8) {
                row["scores"]["nDCG@10"] = json!(1.0);
            }
        }),
        ("scores above 1", |file| set(file, &json!(5))),
        ("scores below 0", |file| set(file, &json!(-1))),
        ("scores that are text", |file| set(file, &json!("NaN"))),
        ("a summary that the rows do not give", |file| {
            file["summary"]["nDCG@10"] = json!(1.0);
        }),
    ];
    let file = |value: f64| {
        let row = |at| json!({ "query_id": format!("q{at}"), "scores": { "nDCG@10": value } });
        let rows: Vec<Value> = (0..8).map(row).collect();
        let counts = json!({ "judged_queries": 8, "judgements": 8 });
        let summary = json!({ "nDCG@10": value });
        json!({ "schema_version": 1, "summary": summary, "counts": counts, "per_query": rows })
    };
    let cases = EDITS.iter().map(|(name, edit)| {
        Case::new(Class::Comparison, *name, vec![Attempt::refused(FILES)], move |scene, _| {
            let mut edited = file(0.0);
            edit(&mut edited);
            scene.write("a.json", file(0.0).to_string())?;
            scene.write("b.json", edited.to_string())
        })
    });
    let honest = Case::new(
        Class::Comparison,
        "better scores",
        vec![Attempt::green(FILES)],
        move |scene, _| {
            scene.write("a.json", file(0.0).to_string())?;
            scene.write("b.json", file(1.0).to_string())
        },
    );
    cases.chain([honest]).collect()
}

/// Gives every query a value, and the summary too.
fn set(file: &mut Value, value: &Value) {
    file["summary"]["nDCG@10"] = value.clone();
    for row in file["per_query"].as_array_mut().into_iter().flatten() {
        row["scores"]["nDCG@10"] = value.clone();
    }
}

fn honest() -> Vec<Case> {
    let case = |name: &str, better: fn(usize) -> bool| {
        Case::new(Class::Comparison, name, vec![Attempt::green(COMPARE)], move |scene, _| {
            scene.write("a.run", text(&run(50, better), "a"))?;
            scene.write("b.run", text(&run(50, |_| false), "b"))?;
            judged(scene, 50)
        })
    };
    vec![case("the same run twice", |_| false), case("a better run", |at| at % 2 == 0)]
}
