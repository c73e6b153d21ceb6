//! Results against results, query by query.

use std::borrow::Cow;

use gbrain_core::access::Scope;
use gbrain_core::compare::{CompareError, CompareOptions, Comparison, Measured, compare_metered};
use gbrain_core::fault::{Fault, FaultKind};
use gbrain_core::format::body;
use gbrain_core::format::result::{Judge, read_metered};
use gbrain_core::job::JobState;
use gbrain_core::measure::{Measure, defaults};
use gbrain_core::reading::meter::Meter;
use gbrain_core::reading::shape::{ReadingCost, Shape};
use gbrain_core::report::json::CompareReport;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::bounds::at_most;
use super::documents::{NAME_PATTERN, qrels_for_call};
use super::limits::CallLimits;
use crate::http::{Call, NoParameters, Reply, Reserved};
use crate::jobs::RUNS;

/// The most results that are compared at once.
const MOST: usize = 20;

/// What reading the body takes: results are kept as they were sent, and are read one after the other.
pub(crate) const BODY_COST: ReadingCost = ReadingCost { copies: 3, per_value: 0, per_object: 0 };

/// What reading one result takes beside its bytes. The reader counts what it makes of it.
const RESULT_COST: ReadingCost = ReadingCost { copies: 0, ..ReadingCost::JSON };

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
    #[serde(deserialize_with = "few_results")]
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

fn few_results<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<OneResult>, D::Error> {
    body::objects_at_most(deserializer, MOST)
}

/// Compares: what `gbrain eval compare --json` prints.
pub(crate) fn compare(call: &Call<'_>, _: NoParameters, body: Compare) -> Result<Reply, Fault> {
    if !(2..=MOST).contains(&body.results.len()) {
        return Err(Fault::usage("2 to 20 results are compared"));
    }
    at_most("the list of measures", body.measures.as_deref(), 1000)?;
    at_most("the list of primary measures", body.primary.as_deref(), 1000)?;
    // The body was read, and this is what stays of it.
    call.memory.shrink_to(body.results.iter().map(OneResult::bytes).sum());
    let limits = CallLimits::new(call);
    let (reserve, is_stopped) = (|bytes| limits.reserve(bytes), || limits.is_stopped());
    let mut meter = Meter::new(&reserve, &is_stopped);
    let results = measured(call, &body, &limits, &mut meter)?;
    let comparison = compared(&results, &body, &limits, &mut meter)?;
    drop(results);
    Reply::json(&CompareReport::new(&comparison))
}

/// Reads the results, one after the other.
fn measured(
    call: &Call<'_>,
    body: &Compare,
    limits: &CallLimits<'_>,
    meter: &mut Meter<'_>,
) -> Result<Vec<Measured>, Fault> {
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
        let Document { name, bytes, _reserved } = document(call, at, one)?;
        let _reading = call.memory.reserve(reading_cost(&name, &bytes)?)?;
        let read = read_metered(&name, &bytes, judge, meter);
        results.push(read.map_err(|error| limits.fault(&error, error.meter_error()))?);
    }
    Ok(results)
}

/// What a result takes as a document. What is no JSON is read line by line.
fn reading_cost(name: &str, bytes: &[u8]) -> Result<usize, Fault> {
    match Shape::of(bytes) {
        Shape { objects: 0, depth: 0, .. } => Ok(0),
        shape => RESULT_COST
            .of(shape)
            .map_err(|error| Fault::too_large(format!("`{name}` can't be read: {error}"))),
    }
}

fn compared(
    results: &[Measured],
    body: &Compare,
    limits: &CallLimits<'_>,
    meter: &mut Meter<'_>,
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
            let told: Vec<String> = reasons.iter().map(ToString::to_string).collect();
            Fault::new(FaultKind::Input, format!("not comparable: {}", told.join("; ")))
        }
    })
}

impl OneResult {
    /// How many bytes of the body it is.
    fn bytes(&self) -> usize {
        self.body.as_ref().map_or(0, |body| body.get().len())
    }
}

/// A result as text, and the memory that is counted for it.
struct Document<'o, 'm, 'a> {
    name: String,
    bytes: Cow<'o, [u8]>,
    _reserved: Option<Reserved<'m, 'a>>,
}

fn document<'o, 'm, 'a>(
    call: &Call<'a>,
    at: usize,
    one: &'o OneResult,
) -> Result<Document<'o, 'm, 'a>, Fault>
where
    'a: 'm,
{
    let place = at + 1;
    at_most("the name of a result", one.name.as_deref(), 200)?;
    match (one.run, &one.body) {
        (Some(_), None) if call.who.scope < Scope::Admin => Err(Fault::forbidden(
            "results of runs hold what was asked: this token may not see them",
        )
        .hint("use a token of scope admin, or send the result")),
        (Some(id), None) => {
            let name = one.name.clone().unwrap_or_else(|| format!("run {id}"));
            let bytes = result_of_run(call, id)?.into_bytes();
            let reserved = call.memory.add_document(bytes.len())?;
            Ok(Document { name, bytes: Cow::Owned(bytes), _reserved: Some(reserved) })
        }
        (None, Some(body)) => {
            let name = one.name.clone().unwrap_or_else(|| format!("result {place}"));
            sent(call, name, body.get(), place)
        }
        _ => Err(Fault::usage(format!("result {place} names a run or has a body, and not both"))),
    }
}

fn result_of_run(call: &Call<'_>, id: i64) -> Result<String, Fault> {
    let job = call.house.store().job(&call.who.workspace, id)?;
    let job = job.filter(|job| RUNS.contains(&job.info.kind.as_str()));
    let result = job.filter(|job| job.info.state == JobState::Done).and_then(|job| job.result);
    result.ok_or_else(|| Fault::not_found(format!("there is no result of a run {id}")))
}

/// A result that was sent: a text as what it says, anything else as it was written.
fn sent<'o, 'm, 'a>(
    call: &Call<'a>,
    name: String,
    body: &'o str,
    place: usize,
) -> Result<Document<'o, 'm, 'a>, Fault>
where
    'a: 'm,
{
    if !body.starts_with('"') {
        return Ok(Document { name, bytes: Cow::Borrowed(body.as_bytes()), _reserved: None });
    }
    // The text is made in a buffer that grows, and copied from there.
    let reserved = call.memory.reserve(2 * body.len())?;
    let text: String = serde_json::from_str(body)
        .map_err(|error| Fault::usage(format!("result {place} can't be read: {error}")))?;
    Ok(Document { name, bytes: Cow::Owned(text.into_bytes()), _reserved: Some(reserved) })
}
