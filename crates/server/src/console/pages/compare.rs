//! Comparisons of runs, baselines and runs of suites, through the endpoint that compares results.

use std::collections::HashMap;

use gbrain_console::Page;
use gbrain_console::page::compare::{self, Source};
use gbrain_core::fault::{Fault, FaultKind};
use gbrain_core::qrels::Qrels;
use serde::Deserialize;
use serde_json::{Value, json};

use super::runs::{document_names, view};
use crate::console::Fields;
use crate::console::call::ConsoleCall;
use crate::console::reports::parsed;

/// The parameters that name results, the reference first.
const RESULTS: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

/// The form, or the comparison of the results that the URL names.
pub(super) fn show(call: &ConsoleCall<'_>, fields: &Fields) -> Result<Page, Fault> {
    let names: Vec<&str> = RESULTS.iter().filter_map(|name| fields.get(name)).collect();
    let qrels = fields.get("qrels");
    if names.len() < 2 {
        return Ok(compare::form(&sources(call)?, &names, qrels));
    }
    let results = names
        .iter()
        .map(|name| result(call, name, qrels))
        .collect::<Result<Vec<Value>, Fault>>()?;
    let is_run = names.iter().any(|name| name.starts_with("baseline:"));
    let mut body = json!({ "results": results });
    if let Some(qrels) = qrels.filter(|_| is_run) {
        body["qrels"] = qrels.into();
    }
    if let Some(primary) = fields.get("primary") {
        body["primary"] = primary.into();
    }
    let body = serde_json::to_vec(&body).map_err(|error| Fault::internal(error.to_string()))?;
    let report = parsed(call.bytes("compare", &[], Some(body.into()))?)?;
    let given: Vec<(&str, &str)> = RESULTS
        .into_iter()
        .chain(["qrels", "primary"])
        .filter_map(|name| Some((name, fields.get(name)?)))
        .collect();
    let view = view(fields, compare::url(&given))?;
    Ok(Page { command: command(&names), ..report.page(&view) })
}

/// The results of runs have a command that writes each; a comparison reads the files.
fn command(names: &[&str]) -> String {
    let runs: Option<Vec<&str>> = names.iter().map(|name| name.strip_prefix("run:")).collect();
    let Some(runs) = runs else { return String::new() };
    let writes: Vec<String> =
        runs.iter().map(|id| format!("gbrain jobs show {id} --result > run-{id}.json")).collect();
    let files: Vec<String> = runs.iter().map(|id| format!("run-{id}.json")).collect();
    format!("{} && gbrain eval compare {}", writes.join(" && "), files.join(" "))
}

/// One result as the endpoint takes it.
fn result(call: &ConsoleCall<'_>, name: &str, qrels: Option<&str>) -> Result<Value, Fault> {
    let wrong = || {
        Fault::usage(format!("`{name}` is no result"))
            .hint("name run:ID, baseline:NAME or suite-run:ID")
    };
    let (kind, id) = name.split_once(':').unwrap_or(("run", name));
    match kind {
        "run" => Ok(
            json!({ "name": format!("run {id}"), "run": id.parse::<i64>().map_err(|_| wrong())? }),
        ),
        "suite-run" => {
            let id = id.parse::<i64>().map_err(|_| wrong())?;
            let run: SuiteRunCases = call.read("show_suite_run", &[("id", &id.to_string())])?;
            Ok(json!({ "name": format!("suite run {id}"), "body": run.rows(id)? }))
        }
        "baseline" => {
            let qrels = qrels.ok_or_else(|| {
                Fault::usage("a baseline holds rankings without judgements")
                    .hint("choose the qrels to measure it with")
            })?;
            Ok(json!({ "name": format!("baseline {id}"), "body": baseline(call, id, qrels)? }))
        }
        _ => Err(wrong()),
    }
}

/// The cases of a run of a suite.
#[derive(Debug, Deserialize)]
struct SuiteRunCases {
    run: Option<Cases>,
}

#[derive(Debug, Deserialize)]
struct Cases {
    #[serde(default)]
    cases: Option<Vec<Case>>,
}

#[derive(Debug, Deserialize)]
struct Case {
    query_id: String,
    #[serde(default)]
    rank: Option<u64>,
    #[serde(default)]
    error: Option<String>,
}

impl SuiteRunCases {
    /// The cases as rows of measures, one a line.
    fn rows(self, id: i64) -> Result<String, Fault> {
        let cases = self.run.and_then(|run| run.cases);
        let cases = cases
            .ok_or_else(|| Fault::conflict(format!("the rows of suite run {id} were pruned")))?;
        Ok(cases.iter().map(|case| format!("{}\n", case.row())).collect())
    }
}

impl Case {
    fn row(&self) -> Value {
        let Self { query_id, rank, error } = self;
        if let Some(error) = error {
            return json!({ "query_id": query_id, "error": error });
        }
        let is_within = |k: u64| rank.is_some_and(|rank| rank <= k);
        let reciprocal =
            rank.filter(|rank| (1..=10).contains(rank)).map_or(0.0, |rank| 1.0 / rank as f64);
        json!({ "query_id": query_id, "recall@5": is_within(5), "recall@10": is_within(10), "RR@10": reciprocal })
    }
}

/// A row of a baseline.
#[derive(Debug, Deserialize)]
struct BaselineRow {
    query: Option<String>,
    #[serde(default)]
    retrieved: Vec<Value>,
}

/// The rankings of a baseline for judged queries, as a run.
fn baseline(call: &ConsoleCall<'_>, name: &str, qrels: &str) -> Result<String, Fault> {
    let judged = call.bytes("get_qrels", &[("name", qrels)], None)?;
    let judged = Qrels::parse(&judged).map_err(|error| Fault::of(FaultKind::Input, &error))?;
    let texts =
        judged.queries.iter().filter_map(|query| Some((query.text.as_deref()?, query.id.as_str())));
    let mut ids: HashMap<&str, &str> = texts.collect();
    let rows = call.bytes("get_baseline", &[("name", name)], None)?;
    let rows = String::from_utf8(rows).map_err(|error| Fault::internal(error.to_string()))?;
    let mut run = String::new();
    for line in rows.lines() {
        let Ok(row) = serde_json::from_str::<BaselineRow>(line) else { continue };
        let Some(id) = row.query.as_deref().and_then(|query| ids.remove(query)) else { continue };
        run.push_str(&format!("{}\n", json!({ "query_id": id, "retrieved": row.retrieved })));
    }
    match run.is_empty() {
        true => Err(Fault::new(
            FaultKind::Input,
            format!("baseline {name} has no query that {qrels} judges"),
        )),
        false => Ok(run),
    }
}

#[derive(Debug, Deserialize)]
struct Runs {
    jobs: Vec<FinishedRun>,
}

#[derive(Debug, Deserialize)]
struct FinishedRun {
    id: i64,
    kind: String,
    created_at: String,
}

/// What this reader may compare.
fn sources(call: &ConsoleCall<'_>) -> Result<Source, Fault> {
    let mut found = Source::default();
    if call.may("run_result") {
        let Runs { jobs } = call.read("list_runs", &[("state", "done"), ("limit", "100")])?;
        let name = |run: &FinishedRun| {
            let day = run.created_at.get(..16).unwrap_or(&run.created_at).replace('T', " ");
            (format!("run:{}", run.id), format!("{} {} of {day} UTC", run.kind, run.id))
        };
        found.results.extend(jobs.iter().map(name));
    }
    if call.may("list_baselines") {
        let name = |name: String| (format!("baseline:{name}"), format!("baseline {name}"));
        found.results.extend(document_names(call, "list_baselines")?.into_iter().map(name));
    }
    found.qrels = document_names(call, "list_qrels")?;
    Ok(found)
}
