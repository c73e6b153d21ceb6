//! Faults of a target elsewhere: a retrieval API on loopback, in each of its shapes.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use fastrand::Rng;
use gbrain_testkit::engine::Engine;
use gbrain_testkit::process::Gbrain;
use gbrain_testkit::retrieval::{Fault, Hit, Question, Reply, RetrievalServer, Stages};
use serde_json::json;

use super::kind::Kind;
use super::world::{SUITE, import_queries, ok};

/// Questions of the suite.
const QUESTIONS: usize = 25;
const SHAPES: [&str; 3] = ["lightfast-internal", "lightfast-v1", "lightfast-2026"];

/// A home whose suite asks a target that has a fault.
pub struct Asking {
    pub home: Gbrain,
    /// The target; none if nothing listens.
    pub server: Option<RetrievalServer>,
}

/// A home with questions, for copies.
pub fn template(program: &Path, engine: Engine) -> Result<Gbrain> {
    let home = Gbrain::new(program, engine)?;
    ok(&home, &["init"])?;
    let line = |at: usize| json!({ "id": format!("q{at:03}"), "query": text(at), "source": "github", "expected": [document(at)] });
    import_queries(&home, &(0..QUESTIONS).map(line).collect::<Vec<_>>())?;
    Ok(home)
}

fn text(at: usize) -> String {
    format!("question number {at:03}")
}

fn document(at: usize) -> String {
    format!("doc-{at:03}")
}

/// Has a home's suite ask a target with a fault.
pub fn plant(home: Gbrain, kind: Kind, rng: &mut Rng) -> Result<Asking> {
    let every = rng.u64(3..=8);
    let after = rng.u64(..every);
    let fault = fault(kind, rng);
    let stages = stages(kind, rng);
    let answers = move |question: &Question| answer(question, stages);
    let faults = move |question: &Question| {
        if question.number % every == after { fault } else { Fault::None }
    };
    let server = RetrievalServer::start(answers, faults)?;
    let api = SHAPES[rng.usize(..SHAPES.len())];
    let url = server.url();
    let suites = format!(
        "targets: {{ prod: {{ kind: http, api: {api}, url: '{url}', timeout_seconds: 1, deadline_seconds: 2, attempts: 1 }} }}\n\
         suites: [{{ name: {SUITE}, type: regression, target: prod, owners: ['@a'], concurrency: 8 }}]\n"
    );
    std::fs::write(home.home().join("suites.yaml"), suites)?;
    let server = if kind == Kind::Refused { None } else { Some(server) };
    Ok(Asking { home, server })
}

fn fault(kind: Kind, rng: &mut Rng) -> Fault {
    match kind {
        Kind::Status => Fault::Status([500, 502, 503, 504][rng.usize(..4)], None),
        Kind::Hang => Fault::Hang(Duration::from_millis(1500)),
        Kind::Garbage => {
            [Fault::Garbage, Fault::Cut, Fault::WrongShape, Fault::NullIds][rng.usize(..4)]
        }
        Kind::RateLimited => Fault::Status(429, None),
        _ => Fault::None,
    }
}

/// How long the stages say they took.
fn stages(kind: Kind, rng: &mut Rng) -> Stages {
    let mut stages =
        Stages { dense: 40.0, rerank: 30.0, hydration: 20.0, total: 0.0, lexical: 10.0 };
    if kind == Kind::SlowStage {
        let late = rng.f64() * 600.0 + 90.0;
        match rng.usize(..3) {
            0 => stages.dense += late,
            1 => stages.rerank += late,
            _ => stages.hydration += late,
        }
    }
    stages
}

fn answer(question: &Question, stages: Stages) -> Reply {
    let number = question.text.rsplit(' ').next().and_then(|digits| digits.parse().ok());
    let mut hits = vec![Hit::new(document(number.unwrap_or(999)), 0.9)];
    hits.extend((1..question.k).map(|at| Hit::new(format!("other-{at}"), 0.5 / at as f64)));
    Reply { hits, stages, mode: Some("hybrid".to_owned()), ..Reply::default() }
}
