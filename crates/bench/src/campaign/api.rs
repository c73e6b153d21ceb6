//! `campaign api`: requests that a fuzzer makes of the OpenAPI document.
//!
//! The fuzzer is schemathesis, which we did not write: it reads `/v1/openapi.json` from a running
//! server, sends what the document allows and what it does not, and compares each answer with what
//! the document says. Nothing may be a 5xx, break a schema, take what does not fit or refuse what
//! does. What it is told to overlook, and why, is in `api/schemathesis.toml`.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use gbrain_testkit::process::Gbrain;
use gbrain_testkit::served::Served;
use serde_json::{Value, json};

use super::scaffold::{CampaignArgs, Part, Setup};
use super::violations::Violations;

const CONFIG: &str = include_str!("api/schemathesis.toml");
/// Names a Python that has schemathesis beside it; `cargo xtask` sets it.
const PYTHON: &str = "GBRAIN_TEST_PYTHON";

/// The work for each engine.
#[derive(Debug, Clone, Args)]
pub struct ApiPlan {
    /// Random requests for each operation, in each phase.
    #[arg(long, default_value_t = 200)]
    pub examples: usize,
    /// Ways of making requests, as schemathesis calls them.
    #[arg(skip = "coverage,fuzzing,stateful")]
    pub phases: &'static str,
}

#[derive(Debug, Default)]
pub struct Report {
    pub operations: u64,
    pub requests: u64,
    pub violations: Vec<String>,
}

/// Runs the campaign on the engines that were asked for.
pub fn run(args: &CampaignArgs<ApiPlan>) -> Result<ExitCode> {
    args.each(|setup, plan| {
        let Report { operations, requests, violations } = run_on_engine(setup, plan)?;
        Ok(Part::new(format!("{requests} requests to {operations} operations"), violations))
    })
}

pub fn run_on_engine(setup: &Setup, plan: &ApiPlan) -> Result<Report> {
    let brain = setup.brain()?;
    let config = json!({ "format": "gbrain/1", "eval": { "capture": true } });
    let violations = Violations::default();
    violations.expect("init", &brain.run(&["init"])?);
    std::fs::write(brain.home().join("config.json"), config.to_string())?;
    let server = Served::start(brain.command(&["serve", "--log", "debug"]))?;
    // No token is needed until one exists.
    furnish(&server)?;
    let token = token(&brain)?;
    let (summary, said) = schemathesis(setup.seed, plan, &server, &token)?;
    for failure in summary["failures"].as_array().into_iter().flatten() {
        violations.add(format!("{} at {}", failure["title"], failure["operations"]));
    }
    let ended = server.stop()?;
    violations.expect("serve", &ended);
    for line in ended.stderr.lines().filter(|line| line.contains(" status=5")) {
        violations.add(format!("a server error: {line}"));
    }
    if violations.any() {
        violations.add(said);
    }
    Ok(Report {
        operations: count(&summary["operations"]["tested"])?,
        requests: count(&summary["test_cases"]["generated"])?,
        violations: violations.into_list(),
    })
}

/// A token that opens everything, and may ask as fast as it can.
fn token(brain: &Gbrain) -> Result<String> {
    let args = ["tokens", "create", "--name", "fuzzer", "--scope", "admin", "--rate", "1000000"];
    let made = brain.run(&[&args[..], &["--json"]].concat())?.json()?;
    Ok(made["token"].as_str().context("no token was made")?.to_owned())
}

/// Puts something of each kind into the brain, so that not everything is missing.
fn furnish(server: &Served) -> Result<()> {
    let mut caller = server.connect()?;
    let question = json!({ "query": "crane" });
    let label = json!({ "query": "crane", "page": "0", "grade": 1 });
    let import = json!({ "kind": "import", "pages": [{ "slug": "00", "content": "Two cranes." }] });
    let steps = [
        ("PUT", "/v1/pages/0", json!({ "content": "# Crane\n\nA crane at the berth. [[00]]" })),
        ("POST", "/v1/query", question.clone()),
        ("POST", "/v1/search", question),
        ("POST", "/v1/labels", json!({ "labels": [label] })),
        ("POST", "/v1/jobs", import),
    ];
    for (method, path, body) in steps {
        let answer = caller.send(method, path, &body)?;
        ensure!(answer.status < 300, "{method} {path}: {} {}", answer.status, answer.text());
    }
    Ok(())
}

/// Lets schemathesis loose; what it counted, and what it said.
fn schemathesis(
    seed: u64,
    plan: &ApiPlan,
    server: &Served,
    token: &str,
) -> Result<(Value, String)> {
    let Ok(python) = std::env::var(PYTHON) else {
        bail!("{PYTHON} is not set: run `cargo xtask test` or `cargo xtask campaign`");
    };
    let dir = tempfile::Builder::new().prefix("gbrain-api-").tempdir()?;
    let (config, report) = (dir.path().join("schemathesis.toml"), dir.path().join("report.json"));
    std::fs::write(&config, CONFIG)?;
    let mut command = Command::new(Path::new(&python).with_file_name("schemathesis"));
    command.arg("--config-file").arg(&config).args(["--no-color", "run"]);
    command.arg(format!("http://{}/v1/openapi.json", server.address()));
    command.args(["--header", &format!("Authorization: Bearer {token}")]);
    command.args(["--phases", plan.phases, "--continue-on-failure", "--workers", "2"]);
    command.args(["--request-timeout", "60", "--suppress-health-check", "all"]);
    command.args(["--seed", &seed.to_string(), "--max-examples", &plan.examples.to_string()]);
    command.arg("--report-json-path").arg(&report).current_dir(dir.path());
    let output = command.output().with_context(|| format!("{command:?} can't be run"))?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let text = std::fs::read_to_string(&report)
        .with_context(|| format!("{} {}", said(&output.stdout), said(&output.stderr)))?;
    Ok((serde_json::from_str(&text)?, said(&output.stdout)))
}

fn count(value: &Value) -> Result<u64> {
    value.as_u64().context("schemathesis did not count")
}
