//! Compares evaluation results query by query.

use std::borrow::Cow;

use gbrain_core::access::Scope;
use gbrain_core::compare::{
    CompareError, CompareOptions, Comparison, ResultTable, compare_metered,
};
use gbrain_core::fault::{Fault, FaultKind};
use gbrain_core::format::body;
use gbrain_core::format::result::{Judge, read_metered};
use gbrain_core::job::JobState;
use gbrain_core::measure::{Measure, defaults};
use gbrain_core::reading::meter::ReadingMeter;
use gbrain_core::reading::shape::{ReadingCost, Shape};
use gbrain_core::report::json::CompareReport;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::bounds::at_most;
use super::documents::{NAME_PATTERN, qrels_for_call};
use super::limits::CallLimits;
use crate::http::{MemoryReservation, NoParameters, OperationCall, Reply};
use crate::jobs::RUNS;

const MAX_RESULTS: usize = 20;

/// Memory cost of parsing the body: results stay unparsed and are read one after the other.
pub(crate) const BODY_COST: ReadingCost = ReadingCost { copies: 3, per_value: 0, per_object: 0 };

/// Memory cost of parsing one result. The reader counts its own allocations.
const RESULT_COST: ReadingCost = ReadingCost { copies: 0, ..ReadingCost::JSON };

/// A result: of a run on this server, or sent in the request.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("oneOf" = one_of_run_and_body()))]
pub(crate) struct ResultOrRun {
    /// A display name for the result.
    #[serde(default)]
    #[schemars(length(max = 200))]
    name: Option<String>,
    /// The id of a finished run; needs scope admin.
    #[serde(default)]
    run: Option<i64>,
    /// A result as printed by `--json`, or the text of a TREC run.
    #[serde(default)]
    #[schemars(with = "Option<Value>")]
    body: Option<Box<RawValue>>,
}

/// The schema constraint: exactly one of `run` and `body`.
fn one_of_run_and_body() -> Value {
    let (given, not) = (json!({ "not": { "type": "null" } }), json!({ "type": "null" }));
    json!([
        { "required": ["run"], "properties": { "run": given, "body": not } },
        { "required": ["body"], "properties": { "body": given, "run": not } },
    ])
}

/// The results to compare.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Compare")]
#[serde(deny_unknown_fields)]
pub(crate) struct CompareRequest {
    /// The results; the first is the reference.
    #[serde(deserialize_with = "few_results")]
    #[schemars(length(min = 2, max = 20))]
    results: Vec<ResultOrRun>,
    /// The name of stored qrels to evaluate runs against.
    #[serde(default)]
    #[schemars(length(min = 1, max = 100), regex(pattern = NAME_PATTERN))]
    qrels: Option<String>,
    /// The measures of runs, separated by spaces.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    measures: Option<String>,
    /// Compare even if k, the dataset or the qrels differ.
    #[serde(default)]
    force_incomparable: bool,
    /// The primary measures, separated by spaces; by default one, depending on the kind of result.
    #[serde(default)]
    #[schemars(length(max = 1000))]
    primary: Option<String>,
}

fn few_results<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ResultOrRun>, D::Error> {
    body::objects_at_most(deserializer, MAX_RESULTS)
}

/// Compares results, as printed by `gbrain eval compare --json`.
pub(crate) fn compare(
    call: &OperationCall<'_>,
    _: NoParameters,
    body: CompareRequest,
) -> Result<Reply, Fault> {
    if !(2..=MAX_RESULTS).contains(&body.results.len()) {
        return Err(Fault::usage("`results` must have 2 to 20 entries"));
    }
    at_most("the list of measures", body.measures.as_deref(), 1000)?;
    at_most("the list of primary measures", body.primary.as_deref(), 1000)?;
    // The parsed body is smaller than the raw one.
    call.memory.shrink_to(body.results.iter().map(ResultOrRun::bytes).sum());
    let limits = CallLimits::new(call);
    let (reserve, is_stopped) = (|bytes| limits.reserve(bytes), || limits.is_stopped());
    let mut meter = ReadingMeter::new(&reserve, &is_stopped);
    let results = measured(call, &body, &limits, &mut meter)?;
    let comparison = compared(&results, &body, &limits, &mut meter)?;
    drop(results);
    Reply::json(&CompareReport::new(&comparison))
}

/// Reads the results one after the other.
fn measured(
    call: &OperationCall<'_>,
    body: &CompareRequest,
    limits: &CallLimits<'_>,
    meter: &mut ReadingMeter<'_>,
) -> Result<Vec<ResultTable>, Fault> {
    let judged = body.qrels.as_deref().map(|name| qrels_for_call(call, name, limits, meter));
    let judged = judged.transpose()?;
    let measures = match &body.measures {
        None => defaults(),
        Some(names) => {
            Measure::parse_list(names).map_err(|error| Fault::of(FaultKind::Input, &error))?
        }
    };
    let judge = judged.as_ref().map(|qrels| Judge { qrels, measures: &measures });
    let mut results = Vec::with_capacity(body.results.len());
    for (at, one) in body.results.iter().enumerate() {
        call.check_stop()?;
        let ResultDocument { name, bytes, _reserved } = document(call, at, one)?;
        let _reading = call.memory.reserve(reading_cost(&name, &bytes)?)?;
        let read = read_metered(&name, &bytes, judge, meter);
        results.push(read.map_err(|error| limits.fault(&error, error.meter_error()))?);
    }
    Ok(results)
}

/// Memory cost of parsing a result. Text that is not JSON is read line by line.
fn reading_cost(name: &str, bytes: &[u8]) -> Result<usize, Fault> {
    match Shape::of(bytes) {
        Shape { objects: 0, depth: 0, .. } => Ok(0),
        shape => RESULT_COST
            .of(shape)
            .map_err(|error| Fault::too_large(format!("cannot read `{name}`: {error}"))),
    }
}

fn compared(
    results: &[ResultTable],
    body: &CompareRequest,
    limits: &CallLimits<'_>,
    meter: &mut ReadingMeter<'_>,
) -> Result<Comparison, Fault> {
    let (reference, others) = results.split_first().expect("there are two at least");
    let names = body.primary.as_deref().unwrap_or_default().split_whitespace();
    let options = CompareOptions {
        is_forced: body.force_incomparable,
        primary: names.map(str::to_owned).collect(),
    };
    let compared = compare_metered(reference, others, &options, meter);
    compared.map_err(|error| match error {
        CompareError::Interrupted(error) => limits.fault(&error, Some(error)),
        CompareError::Incomparable(reasons) => {
            let reason_texts: Vec<String> = reasons.iter().map(ToString::to_string).collect();
            Fault::new(FaultKind::Input, format!("not comparable: {}", reason_texts.join("; ")))
        }
    })
}

impl ResultOrRun {
    /// Size of the result in the body.
    fn bytes(&self) -> usize {
        self.body.as_ref().map_or(0, |body| body.get().len())
    }
}

/// The text of a result, with its memory reservation.
struct ResultDocument<'o, 'm, 'a> {
    name: String,
    bytes: Cow<'o, [u8]>,
    _reserved: Option<MemoryReservation<'m, 'a>>,
}

fn document<'o, 'm, 'a>(
    call: &OperationCall<'a>,
    at: usize,
    one: &'o ResultOrRun,
) -> Result<ResultDocument<'o, 'm, 'a>, Fault>
where
    'a: 'm,
{
    let place = at + 1;
    at_most("the name of a result", one.name.as_deref(), 200)?;
    match (one.run, &one.body) {
        (Some(_), None) if call.principal.scope < Scope::Admin => {
            Err(Fault::forbidden("results of runs contain queries: this token may not see them")
                .hint("use a token of scope admin, or send the result"))
        }
        (Some(id), None) => {
            let name = one.name.clone().unwrap_or_else(|| format!("run {id}"));
            let bytes = result_of_run(call, id)?.into_bytes();
            let reserved = call.memory.add_document(bytes.len())?;
            Ok(ResultDocument { name, bytes: Cow::Owned(bytes), _reserved: Some(reserved) })
        }
        (None, Some(body)) => {
            let name = one.name.clone().unwrap_or_else(|| format!("result {place}"));
            sent(call, name, body.get(), place)
        }
        _ => Err(Fault::usage(format!("result {place} must have either `run` or `body`"))),
    }
}

fn result_of_run(call: &OperationCall<'_>, id: i64) -> Result<String, Fault> {
    let job = call.registry.store().job(&call.principal.workspace, id)?;
    let job = job.filter(|job| RUNS.contains(&job.info.kind.as_str()));
    let result = job.filter(|job| job.info.state == JobState::Done).and_then(|job| job.result);
    result.ok_or_else(|| Fault::not_found(format!("run {id} does not exist or has no result")))
}

/// A result sent in the request: a JSON string is unquoted, anything else is used as is.
fn sent<'o, 'm, 'a>(
    call: &OperationCall<'a>,
    name: String,
    body: &'o str,
    place: usize,
) -> Result<ResultDocument<'o, 'm, 'a>, Fault>
where
    'a: 'm,
{
    if !body.starts_with('"') {
        return Ok(ResultDocument { name, bytes: Cow::Borrowed(body.as_bytes()), _reserved: None });
    }
    // Parsing grows a buffer and copies the text out of it.
    let reserved = call.memory.reserve(2 * body.len())?;
    let text: String = serde_json::from_str(body)
        .map_err(|error| Fault::usage(format!("cannot read result {place}: {error}")))?;
    Ok(ResultDocument { name, bytes: Cow::Owned(text.into_bytes()), _reserved: Some(reserved) })
}
