//! Lies about prompts: evidence that was forged, replaced or lost, scores that are none, and runs that were
//! interrupted or could not be written. No prompt becomes ready by them, and none is exported.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use anyhow::{Context as _, Result};
use fastrand::Rng;
use serde_json::{Value, json};

use super::case::{Allowed, Attempt, Case, Class};
use super::edit::edit_at;
use super::scene::Scene;

const META: &str = "prompts/greet/meta.yml";
const TEXT: &str = "prompts/greet/prompt.xml";
const GUARD: &str = "prompts/greet/guard.sh";
const VERIFIER: &str = "prompts/greet/verify.sh";
const CASES: &str = "prompts/greet/eval.yml";
const INPUTS: &str = "prompts/greet/bob.yml";
const USAGE: &str = "prompts/greet/.usage.jsonl";
const RUNS: &str = "prompts/greet/.runs.jsonl";
const EVALS: &str = "prompts/greet/.eval.jsonl";
const PROMOTIONS: &str = "prompts/greet/.promotions.jsonl";

const SEND: [&str; 6] = ["kick", "greet", "--var", "name=Ada", "--send", "-q"];

/// How a lie is made.
type Plant = fn(&Scene, &mut Rng) -> Result<()>;

/// Manipulations of a prompt that earned its status.
const READY: &[(&str, Plant)] = &[
    ("another text", |scene, _| scene.write(TEXT, "Ignore {{name}} and be {{tone}}.\n")),
    ("a letter of the text", |scene, rng| {
        let mut text = scene.read(TEXT)?.into_bytes();
        // One of the first word's.
        text[rng.usize(..5)] ^= 1;
        scene.write(TEXT, text)
    }),
    ("a verifier that accepts everything", |scene, _| script(scene, VERIFIER, "exit 0")),
    ("no verifier", |scene, _| remove(scene, VERIFIER)),
    ("a verifier that may not run", |scene, _| {
        let mode = std::fs::Permissions::from_mode(0o644);
        Ok(std::fs::set_permissions(scene.path(VERIFIER), mode)?)
    }),
    ("a verifier that is empty", |scene, _| {
        scene.write(VERIFIER, "")?;
        executable(scene, VERIFIER)
    }),
    ("a guard that changes inputs", |scene, _| script(scene, GUARD, "echo name=Ada")),
    ("another default", |scene, _| replace(scene, META, "default: warm", "default: cold")),
    ("a default that is gone", |scene, _| replace(scene, META, "    default: warm\n", "")),
    ("another model", |scene, _| replace(scene, META, "title:", "model: tiny\ntitle:")),
    ("promotions deleted", |scene, _| remove(scene, PROMOTIONS)),
    ("the last promotion deleted", |scene, _| first_line_only(scene, PROMOTIONS)),
    ("a promotion of another text", |scene, rng| edit_last(scene, PROMOTIONS, "prompt_hash", rng)),
    ("a promotion with more uses than runs", |scene, _| {
        replace(scene, PROMOTIONS, "\"uses\":10", "\"uses\":99")
    }),
    ("a promotion with something missing", |scene, _| {
        replace(scene, PROMOTIONS, "\"unmet\":[]", "\"unmet\":[\"evaluation\"]")
    }),
    ("runs deleted", |scene, _| remove(scene, USAGE)),
    ("runs cut", |scene, _| first_line_only(scene, USAGE)),
    ("a run edited", |scene, rng| {
        let mut rows = scene.rows(USAGE)?;
        let at = rng.usize(..rows.len());
        edit_at(&mut rows[at], &["duration_ms".to_owned()], rng)?;
        scene.write_rows(USAGE, &rows)
    }),
    ("records deleted", |scene, _| remove(scene, RUNS)),
    ("records cut", |scene, _| first_line_only(scene, RUNS)),
    ("records of another text", |scene, _| {
        let rows = scene.rows(RUNS)?.into_iter().map(|mut row| {
            row["prompt_hash"] = json!("0123456789abcdef");
            row
        });
        scene.write_rows(RUNS, &rows.collect::<Vec<_>>())
    }),
    ("runs of another prompt", |scene, _| {
        for name in [USAGE, RUNS] {
            remove(scene, name)?;
        }
        let text = scene.read(TEXT)?;
        scene.write(TEXT, "{{name}} {{tone}}\n")?;
        send(scene, 10)?;
        scene.write(TEXT, text)
    }),
    ("evaluations deleted", |scene, _| remove(scene, EVALS)),
    ("an evaluation that failed", |scene, _| {
        scene.write("answer.txt", "nothing\n")?;
        scene.run(&words("eva eval greet -q")).map(|_| ())
    }),
    ("an evaluation of another text", |scene, rng| edit_last(scene, EVALS, "prompt_hash", rng)),
    ("an evaluation that does not say of which text", |scene, _| {
        let mut rows = scene.rows(EVALS)?;
        for row in &mut rows {
            super::edit::remove(row, "prompt_hash");
            super::edit::remove(row, "eval_hash");
        }
        scene.write_rows(EVALS, &rows)
    }),
    ("an evaluation with a failed case", |scene, _| {
        replace(scene, EVALS, "\"failed_cases\":[]", "\"failed_cases\":[\"hard\"]")
    }),
    ("easier cases", |scene, _| replace(scene, CASES, "contains: Bob", "contains: e")),
    ("other inputs of a case", |scene, _| scene.write(INPUTS, "name: Bob and Ada\n")),
];

/// Manipulations that make a prompt look promotable.
const UNREADY: &[(&str, &str, Plant)] = &[
    ("a status that was typed", "ready", |_, _| Ok(())),
    ("a typed status with runs and an evaluation", "ready", |scene, _| {
        send(scene, 10)?;
        scene.ok(&["eva", "eval", "greet", "-q"]).map(|_| ())
    }),
    ("a typed status without runs", "tested", |scene, _| {
        scene.ok(&["eva", "eval", "greet", "-q"]).map(|_| ())
    }),
    ("rows that were typed", "draft", |scene, _| {
        scene.write(USAGE, format!("{}\n", typed_row()))?;
        copies(scene, USAGE)
    }),
    ("one run copied", "draft", |scene, _| {
        send(scene, 1)?;
        copies(scene, USAGE)
    }),
    ("one run and its record copied", "draft", |scene, _| {
        send(scene, 1)?;
        copies(scene, USAGE)?;
        copies(scene, RUNS)
    }),
    ("refuted runs called verified", "draft", |scene, _| {
        scene.write("answer.txt", "nothing\n")?;
        send(scene, 3)?;
        replace(scene, USAGE, "\"verified\":false", "\"verified\":true")
    }),
    ("dry runs called sent", "draft", |scene, _| {
        for _ in 0..3 {
            scene.ok(&["kick", "greet", "--var", "name=Ada", "-q"])?;
        }
        replace(scene, USAGE, "\"sent\":false", "\"sent\":true")
    }),
    ("runs with another model", "draft", |scene, _| {
        for _ in 0..3 {
            scene.ok(&[&SEND[..], &["--model", "tiny"]].concat())?;
        }
        Ok(())
    }),
    ("runs without a model's command", "draft", |scene, _| {
        scene.write("eva.yml", "send: [./missing.sh]\njudge: [./judge.sh]\n")?;
        for _ in 0..10 {
            scene.run(&SEND.map(str::to_owned))?;
        }
        Ok(())
    }),
    ("runs of the text before", "tested", |scene, _| {
        send(scene, 10)?;
        scene.write(TEXT, "Forget {{name}}, be {{tone}}.\n")?;
        scene.ok(&["eva", "eval", "greet", "-q"]).map(|_| ())
    }),
    ("no runs asked for", "draft", |scene, _| {
        replace(scene, META, "title:", "promotion: { min_uses: 0, require_eval: false }\ntitle:")
    }),
    ("a forced promotion", "tested", |scene, _| {
        scene.ok(&["eva", "promote", "greet", "--force", "-q"]).map(|_| ())
    }),
];

pub fn evidence() -> Vec<Case> {
    let told = Allowed::Told(&["no evidence", "stale"]);
    let mut cases = Vec::new();
    for (name, plant) in READY {
        let attempts = vec![
            Attempt::refused("eva doctor"),
            Attempt::refused("eva export-skill greet"),
            Attempt::refused("eva export-skill greet --json"),
            Attempt::new("eva list", told),
            Attempt::new("eva show greet", told),
            Attempt::new("eva stats", told),
            Attempt::new("eva demote greet", Allowed::Step),
            Attempt::refused("eva promote greet"),
        ];
        // A promotion that is gone does not take the runs with it: up again from them is right.
        let is_only_the_line = name.contains("promotion");
        let count = if is_only_the_line { attempts.len() - 2 } else { attempts.len() };
        cases.push(Case::new(
            Class::ForgedEvidence,
            *name,
            attempts.into_iter().take(count).collect(),
            move |scene, rng| {
                ready(scene)?;
                plant(scene, rng)
            },
        ));
    }
    for (name, status, plant) in UNREADY {
        let attempts = vec![
            Attempt::refused("eva promote greet"),
            Attempt::refused("eva promote greet --json"),
            Attempt::refused("eva export-skill greet"),
        ];
        cases.push(Case::new(Class::ForgedEvidence, *name, attempts, move |scene, rng| {
            library(scene, status)?;
            plant(scene, rng)
        }));
    }
    cases.push(Case::new(
        Class::ForgedEvidence,
        "a prompt that earned its status",
        vec![
            Attempt::green("eva doctor"),
            Attempt::new("eva list --json", Allowed::GreenWith(is_supported)),
            Attempt::green("eva export-skill greet"),
        ],
        |scene, _| ready(scene),
    ));
    cases
}

fn is_supported(list: &Value) -> bool {
    list["prompts"][0]["status"] == "ready" && list["prompts"][0]["missing_evidence"].is_null()
}

/// Replies of a judge that have no score from 1 to 5, and no decision.
const REPLIES: [&str; 24] = [
    "SCORE=4/100",
    "SCORE=5/10",
    "SCORE=5%",
    "SCORE=5e-3",
    "SCORE=5e0",
    "SCORE=5 / 10",
    "SCORE=5 out of 10 REASON=fine",
    "SCORE=4 of 100",
    "SCORE=50",
    "SCORE=5.5",
    "SCORE=4,5",
    "SCORE=+5",
    "SCORE=05",
    "SCORE=3.99999999999999999999",
    "SCORE=4-5",
    "SCORE=4 or 5",
    "SCORE=NaN",
    "SCORE=inf",
    "SCORE=five",
    "SCORE=1 SCORE=5",
    "SCORE=5 REASON=it was SCORE=1 before",
    "MINSCORE=5",
    "score: 5",
    "",
];

/// Every case of scores that are none.
pub fn scores() -> Vec<Case> {
    let case = |name: &str, reply: &'static str, attempts: Vec<Attempt>| {
        Case::new(Class::UnreadableScore, name.to_owned(), attempts, move |scene, _| {
            library(scene, "draft")?;
            scene.write(
                CASES,
                "cases:\n  - name: kind\n    inputs: { name: Ada }\n    rubric: Is it kind?\n",
            )?;
            scene.write("reply.txt", format!("{reply}\n"))
        })
    };
    let attempts = || {
        vec![
            Attempt::refused("eva eval greet"),
            Attempt::refused("eva eval greet --json"),
            Attempt::refused("eva eval greet --case kind"),
            Attempt::new("eva show greet --json", Allowed::Shown(|shown| shown["eval"] == "red")),
        ]
    };
    let mut cases: Vec<Case> = REPLIES
        .iter()
        .map(|reply| case(&format!("the reply `{reply}`"), reply, attempts()))
        .collect();
    cases.push(case(
        "a score",
        "SCORE=4 REASON=fine",
        vec![
            Attempt::green("eva eval greet"),
            Attempt::new(
                "eva show greet --json",
                Allowed::GreenWith(|shown| shown["eval"] == "green"),
            ),
        ],
    ));
    cases
}

/// The manipulation of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    /// It is sent: there is a row, and it counts for nothing.
    Row,
    /// It is not sent: there is no row.
    NoRow,
    /// Its log can't be read either.
    NoLog,
}

/// Runs that are interrupted, can't be verified or can't be written.
const RUNS_CUT: &[(&str, Left, Plant)] = &[
    ("SIGTERM while it is verified", Left::Row, |scene, _| signalled(scene, VERIFIER, "TERM")),
    ("SIGHUP while it is verified", Left::Row, |scene, _| signalled(scene, VERIFIER, "HUP")),
    ("SIGINT while it is verified", Left::Row, |scene, _| signalled(scene, VERIFIER, "INT")),
    ("SIGQUIT while it is verified", Left::Row, |scene, _| signalled(scene, VERIFIER, "QUIT")),
    ("SIGTERM while the model answers", Left::Row, |scene, _| signalled(scene, "model.sh", "TERM")),
    ("SIGHUP while the model answers", Left::Row, |scene, _| signalled(scene, "model.sh", "HUP")),
    ("SIGTERM while the guard runs", Left::NoRow, |scene, _| signalled(scene, GUARD, "TERM")),
    ("a verifier that is killed", Left::Row, |scene, _| script(scene, VERIFIER, "kill -KILL $$")),
    ("a verifier that crashes", Left::Row, |scene, _| script(scene, VERIFIER, "kill -SEGV $$")),
    ("a verifier that is exchanged meanwhile", Left::Row, |scene, _| {
        script(scene, VERIFIER, "exit 1")?;
        script(scene, "model.sh", "printf '#!/bin/sh\\nexit 0\\n' > prompts/greet/verify.sh; cat")
    }),
    ("a verifier with a missing interpreter", Left::NoRow, |scene, _| {
        unusable(scene, "#!/nowhere/sh\nexit 0\n")
    }),
    ("a verifier with a missing program", Left::NoRow, |scene, _| {
        unusable(scene, "#!/usr/bin/env nowhere-to-be-found\nexit 0\n")
    }),
    ("a verifier with CR LF", Left::NoRow, |scene, _| unusable(scene, "#!/bin/sh\r\nexit 0\r\n")),
    ("an empty verifier", Left::NoRow, |scene, _| unusable(scene, "")),
    ("a verifier of comments", Left::NoRow, |scene, _| unusable(scene, "#!/bin/sh\n# to do\n")),
    ("a log that is a folder", Left::NoLog, |scene, _| folder(scene, USAGE)),
    ("a log that is always full", Left::NoLog, |scene, _| device(scene, USAGE, "/dev/full")),
    ("a log that never ends", Left::NoLog, |scene, _| device(scene, USAGE, "/dev/zero")),
    ("a log that forgets", Left::NoLog, |scene, _| device(scene, USAGE, "/dev/null")),
    ("records in a folder", Left::NoLog, |scene, _| folder(scene, RUNS)),
    ("records on a full device", Left::NoLog, |scene, _| device(scene, RUNS, "/dev/full")),
    ("a log that becomes a folder meanwhile", Left::NoLog, |scene, _| {
        script(
            scene,
            "model.sh",
            "rm -f prompts/greet/.usage.jsonl; mkdir prompts/greet/.usage.jsonl; cat",
        )
    }),
];

/// Every case of interrupted runs.
pub fn runs() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, left, plant) in RUNS_CUT {
        let shown = match left {
            Left::Row => Attempt::new("eva show greet --json", Allowed::Shown(|v| is_left(v, 1))),
            Left::NoRow => Attempt::new("eva show greet --json", Allowed::Shown(|v| is_left(v, 0))),
            Left::NoLog => Attempt::refused("eva show greet --json"),
        };
        let attempts = vec![kick(), shown, Attempt::refused("eva promote greet")];
        cases.push(Case::new(Class::CutRun, *name, attempts, move |scene, rng| {
            library(scene, "draft")?;
            plant(scene, rng)
        }));
    }
    let kept = Attempt::new("eva show greet --json", Allowed::Shown(|v| v["usage"]["sent"] == 1));
    for (name, attempt) in [
        (
            "an answer to a full device",
            Attempt::refused("sh -c").with(&format!("{} > /dev/full", SEND.join(" "))),
        ),
        ("an answer kept on a full device", kick_with(&["--keep-output", "/dev/full"])),
    ] {
        let attempts = vec![attempt, kept.clone()];
        cases.push(Case::new(Class::CutRun, name, attempts, |scene, _| library(scene, "draft")));
    }
    cases.push(Case::new(
        Class::CutRun,
        "an evaluation that can't leave its row",
        vec![Attempt::refused("eva eval greet"), Attempt::refused("eva show greet")],
        |scene, _| {
            library(scene, "draft")?;
            device(scene, EVALS, "/dev/full")
        },
    ));
    cases.push(Case::new(
        Class::CutRun,
        "a run that is left alone",
        vec![
            Attempt { allowed: Allowed::Green, ..kick() },
            Attempt::new(
                "eva show greet --json",
                Allowed::GreenWith(|shown| shown["gate"]["uses"] == 1),
            ),
        ],
        |scene, _| library(scene, "draft"),
    ));
    cases
}

fn kick() -> Attempt {
    kick_with(&[])
}

fn kick_with(more: &[&str]) -> Attempt {
    let args = SEND.iter().chain(more).map(|word| (*word).to_owned()).collect();
    Attempt { args, allowed: Allowed::Refusal }
}

/// Whether there are so many rows, and none counts.
fn is_left(shown: &Value, rows: u64) -> bool {
    shown["usage"]["total"] == rows && shown["gate"]["uses"] == 0
}

/// A library with a prompt whose model says what `answer.txt` holds, or the prompt.
fn library(scene: &Scene, status: &str) -> Result<()> {
    let meta = format!(
        "id: greet\ntitle: Greet\nsummary: Says hello.\nstatus: {status}\nversion: 1.0.0\ncreated: 2026-05-01\n\
         updated: 2026-05-01\ndescription: Greets. Use when a greeting is wanted.\ninputs:\n  - name: name\n    \
         required: true\n  - name: tone\n    default: warm\n"
    );
    scene.write(META, meta)?;
    scene.write(TEXT, "Hello {{name}}, be {{tone}}.\n")?;
    let cases = "cases:\n  - name: easy\n    inputs: { name: Ada }\n    assert: { contains: Ada }\n  - name: hard\n    \
        inputs_from: prompts/greet/bob.yml\n    assert: { contains: Bob }\n";
    scene.write(CASES, cases)?;
    scene.write(INPUTS, "name: Bob\n")?;
    scene.write("eva.yml", "send: [./model.sh]\njudge: [./judge.sh]\n")?;
    script(scene, "model.sh", "if test -f answer.txt; then cat answer.txt; else cat; fi")?;
    script(scene, "judge.sh", "cat > /dev/null; cat reply.txt")?;
    script(scene, VERIFIER, "grep -q Ada \"$EVA_OUTPUT_FILE\"")
}

/// A library whose prompt became ready by its own runs and evaluation.
fn ready(scene: &Scene) -> Result<()> {
    library(scene, "draft")?;
    send(scene, 10)?;
    for command in ["promote", "eval", "promote"] {
        scene.ok(&["eva", command, "greet", "-q"])?;
    }
    Ok(())
}

fn send(scene: &Scene, count: usize) -> Result<()> {
    (0..count).try_for_each(|_| scene.ok(&SEND).map(|_| ()))
}

fn words(command: &str) -> Vec<String> {
    command.split(' ').map(str::to_owned).collect()
}

fn script(scene: &Scene, name: &str, text: &str) -> Result<()> {
    scene.write(name, format!("#!/bin/sh\n{text}\n"))?;
    executable(scene, name)
}

fn executable(scene: &Scene, name: &str) -> Result<()> {
    let mode = std::fs::Permissions::from_mode(0o755);
    Ok(std::fs::set_permissions(scene.path(name), mode)?)
}

/// A script that sends its parent a signal, ignores it itself and says that all is well.
fn signalled(scene: &Scene, name: &str, signal: &str) -> Result<()> {
    script(scene, name, &format!("trap '' {signal}\nkill -{signal} $PPID\nsleep 0.2\nexit 0"))
}

fn unusable(scene: &Scene, text: &str) -> Result<()> {
    scene.write(VERIFIER, text)?;
    executable(scene, VERIFIER)
}

fn folder(scene: &Scene, name: &str) -> Result<()> {
    Ok(std::fs::create_dir(scene.path(name))?)
}

fn device(scene: &Scene, name: &str, device: &str) -> Result<()> {
    Ok(symlink(device, scene.path(name))?)
}

fn remove(scene: &Scene, name: &str) -> Result<()> {
    std::fs::remove_file(scene.path(name)).with_context(|| name.to_owned())
}

fn replace(scene: &Scene, name: &str, old: &str, new: &str) -> Result<()> {
    let text = scene.read(name)?;
    anyhow::ensure!(text.contains(old), "{name} has no {old}");
    scene.write(name, text.replace(old, new))
}

fn first_line_only(scene: &Scene, name: &str) -> Result<()> {
    let text = scene.read(name)?;
    scene.write(name, text.lines().next().map(|line| format!("{line}\n")).unwrap_or_default())
}

fn edit_last(scene: &Scene, name: &str, key: &str, rng: &mut Rng) -> Result<()> {
    let mut rows = scene.rows(name)?;
    let last = rows.last_mut().with_context(|| format!("{name} is empty"))?;
    edit_at(last, &[key.to_owned()], rng)?;
    scene.write_rows(name, &rows)
}

/// Ten copies of every line.
fn copies(scene: &Scene, name: &str) -> Result<()> {
    let text = scene.read(name)?;
    scene.write(name, text.repeat(10))
}

fn typed_row() -> Value {
    json!({
        "ts": "2026-05-05T09:31:00Z", "case": null, "vars_hash": "none", "sent": true, "exit_code": 0,
        "verified": true, "duration_ms": 10, "prompt_words": 2, "output_words": 3,
    })
}
