//! Results against results, query by query.

use std::borrow::Cow;

use gbrain_core::access::Scope;
use gbrain_core::compare::{CompareOptions, compare as compare_results};
use gbrain_core::fault::Fault;
use gbrain_core::format::body;
use gbrain_core::format::compare::CompareReport;
use gbrain_core::format::result::{Judge, read};
use gbrain_core::format::shape::{ReadingCost, Shape};
use gbrain_core::job::JobState;
use gbrain_core::measure::{Measure, defaults};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::bounds::at_most;
use super::documents::{NAME_PATTERN, qrels};
use crate::http::{Call, NoParameters, Reply};
use crate::jobs::RUNS;

/// A result: that of a run of this server, or one that is sent.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = one_of_run_and_body()))]
pub(crate) struct OneResult {
    /// What to call it.
    #[serde(default)]
    #[schemars(length(max = 200))]
    name: Option<String>,
    /// The number of a run that is done; for admin only, as its result is.
    #[serde(default)]
    run: Option<i64>,
    /// A result as `--json` prints it, or the text of a TREC run.
    #[serde(default)]
    #[schemars(with = "Option<Value>")]
    body: Option<Box<RawValue>>,
}

/// What the schema says of a result: the number of a run or a body, one of them.
fn one_of_run_and_body() -> Value {
    let (given, not) = (json!({ "not": { "type": "null" } }), json!({ "type": "null" }));
    json!([
        { "required": ["run"], "properties": { "run": given, "body": not } },
        { "required": ["body"], "properties": { "body": given, "run": not } },
    ])
}

/// What to compare.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Compare {
    /// The results; the first is the reference.
    #[serde(deserialize_with = "body::objects")]
    #[schemars(length(min = 2, max = 20))]
    results: Vec<OneResult>,
    /// The name of stored judgements that runs are measured against.
    #[serde(default)]
    #[schemars(length(min = 1, max = 100), regex(pattern = NAME_PATTERN))]
    qrels: Option<String>,
    /// What to measure of runs, separated by blanks.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    measures: Option<String>,
    /// Compare although k, the dataset or the judgements differ.
    #[serde(default)]
    force_incomparable: bool,
    /// The measures that decide, separated by blanks; by default one, by the kind of result.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    primary: Option<String>,
}

/// Compares: what `gbrain eval compare --json` prints.
pub(crate) fn compare(call: &Call<'_>, _: NoParameters, body: Compare) -> Result<Reply, Fault> {
    if !(2..=20).contains(&body.results.len()) {
        return Err(Fault::usage("2 to 20 results are compared"));
    }
    at_most("the list of measures", body.measures.as_deref(), 1000)?;
    at_most("the list of primary measures", body.primary.as_deref(), 1000)?;
    let judged = body.qrels.as_deref().map(|name| qrels(call.house, &call.who.workspace, name));
    let judged = judged.transpose()?;
    let measures = match &body.measures {
        None => defaults(),
        Some(names) => Measure::parse_list(names).map_err(|error| Fault::of("input", &error))?,
    };
    let judge = judged.as_ref().map(|qrels| Judge { qrels, measures: &measures });
    let mut results = Vec::with_capacity(body.results.len());
    for (at, one) in body.results.iter().enumerate() {
        call.check_stop()?;
        let (name, bytes) = bytes_of(call, at, one)?;
        results.push(read(&name, &bytes, judge).map_err(|error| Fault::of("input", &error))?);
    }
    let (reference, others) = results.split_first().expect("there are two at least");
    let names = body.primary.as_deref().unwrap_or_default().split_whitespace();
    let options = CompareOptions {
        is_forced: body.force_incomparable,
        primary: names.map(str::to_owned).collect(),
    };
    let comparison = compare_results(reference, others, &options).map_err(|reasons| {
        let told: Vec<String> = reasons.iter().map(ToString::to_string).collect();
        Fault::new("input", format!("not comparable: {}", told.join("; ")))
    })?;
    Reply::json(&CompareReport::new(&comparison))
}

fn bytes_of<'a>(
    call: &Call<'_>,
    at: usize,
    one: &'a OneResult,
) -> Result<(String, Cow<'a, [u8]>), Fault> {
    let place = at + 1;
    at_most("the name of a result", one.name.as_deref(), 200)?;
    match (one.run, &one.body) {
        (Some(_), None) if call.who.scope < Scope::Admin => Err(Fault::forbidden(
            "results of runs hold what was asked: this token may not see them",
        )
        .hint("use a token of scope admin, or send the result")),
        (Some(id), None) => {
            let name = one.name.clone().unwrap_or_else(|| format!("run {id}"));
            let job = call.house.store().job(&call.who.workspace, id)?;
            let job = job.filter(|job| RUNS.contains(&job.info.kind.as_str()));
            let result =
                job.filter(|job| job.info.state == JobState::Done).and_then(|job| job.result);
            let result = result
                .ok_or_else(|| Fault::not_found(format!("there is no result of a run {id}")))?;
            Ok((name, Cow::Owned(result.into_bytes())))
        }
        (None, Some(body)) => {
            let name = one.name.clone().unwrap_or_else(|| format!("result {place}"));
            Ok((name, sent(body.get(), place)?))
        }
        _ => Err(Fault::usage(format!("result {place} names a run or has a body, and not both"))),
    }
}

/// A result that was sent: a text as what it says, anything else as it was written.
fn sent(body: &str, place: usize) -> Result<Cow<'_, [u8]>, Fault> {
    if !body.starts_with('"') {
        return Ok(Cow::Borrowed(body.as_bytes()));
    }
    let text: String = serde_json::from_str(body)
        .map_err(|error| Fault::usage(format!("result {place} can't be read: {error}")))?;
    // The scan of the body did not look into its texts.
    ReadingCost::JSON
        .of(Shape::of(text.as_bytes()))
        .map_err(|error| Fault::too_large(format!("result {place}: {error}")))?;
    Ok(Cow::Owned(text.into_bytes()))
}
