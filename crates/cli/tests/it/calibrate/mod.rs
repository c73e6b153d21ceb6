//! Calibration as a user does it, with a reranker of ours behind the documented wire format; and what is
//! logged and said of live answers.

mod faults;
mod live;
mod pairs;
mod remote;
mod said;
mod workflow;

use std::sync::{Arc, Mutex};

use gbrain_core::id::WorkspaceId;
use gbrain_store::{RetrievalFilter, RetrievalLog};
use gbrain_testkit::providers::{Asked, Fault};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::models::Provided;
use crate::support::{Home, Ran};

/// How the reranker behaves.
#[derive(Default)]
struct Mood {
    /// Taken from every score.
    less: f64,
    /// Said of every passage instead of a score.
    says: Option<Value>,
    /// The fault from the request of this number on.
    fault: Option<(u64, Fault)>,
    /// How many requests came.
    requests: u64,
}

/// A home with a reranker whose scores stand in the passages: `scored 0.47`.
struct Lab {
    provided: Provided,
    mood: Arc<Mutex<Mood>>,
}

/// The score that stands in a text; what has none is good.
fn score_in(text: &str) -> f64 {
    let number = text.split("scored ").nth(1).unwrap_or("0.9");
    let end = number.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(number.len());
    number[..end].trim_end_matches('.').parse().unwrap()
}

fn says(mood: &Mood, asked: &Asked) -> String {
    let Asked::Rerank { documents, .. } = asked else { return String::new() };
    let score =
        |text: &String| mood.says.clone().unwrap_or_else(|| json!(score_in(text) - mood.less));
    json!({ "scores": documents.iter().map(score).collect::<Vec<_>>() }).to_string()
}

impl Lab {
    fn new(home: Home) -> Self {
        let mood = Arc::new(Mutex::new(Mood::default()));
        let (saying, failing) = (mood.clone(), mood.clone());
        let provided = Provided::new(
            home,
            move |asked| says(&saying.lock().unwrap(), asked),
            move |_| {
                let mut mood = failing.lock().unwrap();
                mood.requests += 1;
                let number = mood.requests;
                mood.fault
                    .filter(|(from, _)| number >= *from)
                    .map_or(Fault::None, |(_, fault)| fault)
            },
        );
        provided.configure(json!({ "eval": { "capture": true } }));
        let lab = Self { provided, mood };
        lab.ok(&["config", "set", "models.rerank", "jina:m"]);
        lab
    }

    /// One on each engine.
    fn both() -> [Self; 2] {
        Home::both().map(Self::new)
    }

    fn home(&self) -> &Home {
        &self.provided.home
    }

    fn mood(&self, change: impl FnOnce(&mut Mood)) {
        change(&mut self.mood.lock().unwrap());
    }

    fn run(&self, args: &[&str]) -> Ran {
        self.provided.run(args)
    }

    #[track_caller]
    fn ok(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!(ran.code, Some(0), "{args:?}\n{}\n{}", ran.stdout, ran.stderr);
        ran.stdout
    }

    /// Runs with `--json`; the code and what it printed.
    #[track_caller]
    fn json(&self, args: &[&str]) -> (Option<i32>, Value) {
        let ran = self.run(&[args, &["--json"]].concat());
        let body = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| {
            panic!("{args:?}\n{}\n{}", ran.stdout, ran.stderr);
        });
        (ran.code, body)
    }

    #[track_caller]
    fn collect(&self, pairs: &[Value]) -> Value {
        let path = self.home().path().join("pairs.jsonl");
        let lines: String = pairs.iter().map(|pair| format!("{pair}\n")).collect();
        std::fs::write(&path, lines).unwrap();
        let (code, body) = self.json(&["calibrate", "collect", "--from", path.to_str().unwrap()]);
        assert_eq!(code, Some(0), "{body:#}");
        body
    }

    /// The rows of the log, newest first.
    fn logs(&self) -> Vec<RetrievalLog> {
        logs(self.home())
    }
}

fn logs(home: &Home) -> Vec<RetrievalLog> {
    home.store().retrieval_logs(&WorkspaceId::default(), &RetrievalFilter::default()).unwrap()
}

fn body_of(log: &RetrievalLog) -> Value {
    serde_json::from_str(log.fields.body.as_deref().unwrap()).unwrap()
}

/// Pairs of eight queries whose borderline scores are 0.35, 0.36 and so on.
fn judged(borderline: usize, irrelevant: usize) -> Vec<Value> {
    let pair = |at: usize, label: &str, score: f64| {
        json!({
            "query": format!("calibration query {}", at % 8), "document": format!("doc-{label}-{at}"),
            "label": label, "text": format!("passage {at}, scored {score:.2}"),
        })
    };
    let middle = (0..borderline).map(|at| pair(at, "borderline", 0.35 + at as f64 / 100.0));
    let bad = (0..irrelevant).map(|at| pair(at, "irrelevant", 0.05 + at as f64 / 100.0));
    let good = (0..4).map(|at| pair(at, "relevant", 0.9));
    middle.chain(bad).chain(good).collect()
}

/// Twenty pages that must be found and as many that score low, with queries for the first.
fn harbour(lab: &Lab) {
    let dir = lab.home().path().join("harbour");
    std::fs::create_dir_all(&dir).unwrap();
    let mut queries = Vec::new();
    for at in 0..20 {
        let word = format!("zubro{at:02}");
        let good =
            format!("# Good {at}\n\nThe lighthouse {word} keeps its lamp lit. scored 0.90\n");
        let low = format!("# Low {at}\n\nHere {word} is a word about a lamp. scored 0.10\n");
        std::fs::write(dir.join(format!("good-{at:02}.md")), good).unwrap();
        std::fs::write(dir.join(format!("low-{at:02}.md")), low).unwrap();
        queries.push(json!({
            "id": format!("q{at:02}"), "query": format!("which lighthouse {word} keeps a lamp"),
            "source": "wiki", "expected": [format!("wiki::good-{at:02}")],
        }));
    }
    lab.ok(&["import", dir.to_str().unwrap(), "--source", "wiki", "--quiet"]);
    crate::suites::queries(lab.home(), &queries);
}
