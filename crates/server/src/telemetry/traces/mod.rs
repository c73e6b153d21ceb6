//! Spans: one per retrieval with a child per stage, one per run of an evaluation, in the words of
//! OpenTelemetry's conventions for generative AI, to an OTLP endpoint that somebody named.
//!
//! Promises: without an endpoint nothing is made and nothing is sent; with one, no caller waits: a
//! trace that finds no room in the queue is dropped whole and counted, failures to send are
//! counted and logged once a minute, and the end of the process waits two seconds at most. The
//! text of a query and the names of pages are in a span only if that was asked for; their length and
//! number always are.
//!
//! Deliberately absent: spans that are open while work is done. A retrieval is timed by itself, so
//! its spans are made afterwards from what it says, in one place and away from the work.

mod export;
mod options;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use gbrain_core::gate::Verdict;
use gbrain_core::id::WorkspaceId;
use gbrain_core::ranking::StageTime;
use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry::trace::{
    Event, SpanBuilder, SpanKind, Status, TraceContextExt, Tracer as _, TracerProvider,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider};
use serde_json::json;

use export::Load;

pub use options::{TraceError, TraceOptions, resolve};

/// How long the end of the process waits for spans that are not sent yet.
pub const DRAIN: Duration = Duration::from_secs(2);

/// How many hits a span names.
const MOST_HITS: usize = 100;

/// A retrieval that is over.
#[derive(Debug, Clone, Copy)]
pub struct RetrievalSpan<'a> {
    pub operation: &'static str,
    pub workspace: &'a WorkspaceId,
    /// When it was taken up.
    pub started: SystemTime,
    /// When it was answered.
    pub finished: SystemTime,
    /// The caller's `traceparent` header, as it came.
    pub parent: Option<&'a str>,
    pub query: &'a str,
    /// How many pages were wanted.
    pub top_k: usize,
    /// What was found: ids with scores, best first.
    pub hits: &'a [(String, f64)],
    /// How long every stage took, in order.
    pub stages: &'a [StageTime],
    /// Names the request in logs and headers.
    pub request_id: &'a str,
    /// What kind of error it ended with.
    pub error: Option<&'a str>,
}

/// A run of an evaluation that is over.
#[derive(Debug, Clone, Copy)]
pub struct EvaluationSpan<'a> {
    /// What was run: gate, replay, …
    pub kind: &'a str,
    /// Whose brain was measured.
    pub workspace: &'a WorkspaceId,
    pub started: SystemTime,
    pub finished: SystemTime,
    pub run_id: &'a str,
    /// How many rows it had.
    pub rows: u64,
    pub verdict: Verdict,
    /// What was measured, if it can be said by numbers.
    pub results: &'a [EvaluationResult<'a>],
}

/// One measure of a run.
#[derive(Debug, Clone, Copy)]
pub struct EvaluationResult<'a> {
    /// The measure, such as `nDCG@10`.
    pub name: &'a str,
    /// Its value, if there is one.
    pub value: Option<f64>,
    /// The verdict on it.
    pub verdict: Verdict,
    /// Why, in words that hold no query.
    pub explanation: Option<&'a str>,
}

/// Makes spans, or does nothing. Clones share the queue.
#[derive(Debug, Clone, Default)]
pub struct Tracer {
    on: Option<Arc<On>>,
}

#[derive(Debug)]
struct On {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    load: Arc<Load>,
    include_content: bool,
}

impl Tracer {
    /// Makes no spans.
    pub fn off() -> Self {
        Self::default()
    }

    /// Sends spans from now on.
    pub fn start(options: &TraceOptions) -> Result<Self, TraceError> {
        let load = Arc::new(Load::default());
        let provider = SdkTracerProvider::builder()
            .with_sampler(Sampler::ParentBased(Box::new(Sampler::AlwaysOn)))
            .with_resource(resource(options))
            .with_span_processor(export::processor(options, load.clone())?)
            .build();
        let tracer = provider.tracer("gbrain");
        let include_content = options.include_content;
        Ok(Self { on: Some(Arc::new(On { provider, tracer, load, include_content })) })
    }

    /// Whether spans are made: who has to work for what goes into one asks first.
    pub fn is_on(&self) -> bool {
        self.on.is_some()
    }

    /// How many spans were dropped since the start.
    pub fn dropped(&self) -> u64 {
        self.on.as_ref().map_or(0, |on| on.load.dropped())
    }

    /// Makes the spans of a retrieval.
    pub fn retrieval(&self, span: &RetrievalSpan<'_>) {
        if let Some(on) = &self.on {
            on.retrieval(span);
        }
    }

    /// Makes the span of a run.
    pub fn evaluation(&self, span: &EvaluationSpan<'_>) {
        if let Some(on) = &self.on {
            on.evaluation(span);
        }
    }

    /// Sends what waits, for [`DRAIN`] at most. Spans made afterwards go nowhere.
    pub fn shutdown(&self) {
        if let Some(on) = &self.on {
            on.shutdown();
        }
    }
}

impl On {
    fn retrieval(&self, span: &RetrievalSpan<'_>) {
        let parent = parent(span.parent);
        if is_left_out(&parent) || !self.load.reserve(1 + span.stages.len()) {
            return;
        }
        let builder = SpanBuilder::from_name(format!("retrieval {}", span.workspace.as_str()))
            .with_kind(SpanKind::Client)
            .with_start_time(span.started)
            .with_attributes(self.attributes(span));
        let context = parent.with_span(self.tracer.build_with_context(builder, &parent));
        self.stages(span, &context);
        let retrieval = context.span();
        if let Some(error) = span.error {
            retrieval.set_attribute(KeyValue::new("error.type", error.to_owned()));
            retrieval.set_status(Status::error(error.to_owned()));
        }
        retrieval.end_with_timestamp(span.finished);
    }

    fn attributes(&self, span: &RetrievalSpan<'_>) -> Vec<KeyValue> {
        let mut attributes = vec![
            KeyValue::new("gen_ai.operation.name", "retrieval"),
            KeyValue::new("gen_ai.provider.name", "gbrain"),
            KeyValue::new("gen_ai.data_source.id", span.workspace.as_str().to_owned()),
            KeyValue::new("gen_ai.request.top_k", whole(span.top_k as u64)),
            KeyValue::new("openinference.span.kind", "RETRIEVER"),
            KeyValue::new("gbrain.operation", span.operation),
            KeyValue::new("gbrain.request_id", span.request_id.to_owned()),
            KeyValue::new("gbrain.query.bytes", whole(span.query.len() as u64)),
            KeyValue::new("gbrain.hits", whole(span.hits.len() as u64)),
        ];
        if self.include_content {
            attributes.push(KeyValue::new("gen_ai.retrieval.query.text", span.query.to_owned()));
            attributes.push(KeyValue::new("gen_ai.retrieval.documents", documents(span.hits)));
        }
        attributes
    }

    /// Stages follow each other, so each starts where the one before it ended.
    fn stages(&self, span: &RetrievalSpan<'_>, context: &Context) {
        let mut at = span.started;
        for StageTime { stage, micros } in span.stages {
            let builder = SpanBuilder::from_name(*stage)
                .with_kind(SpanKind::Internal)
                .with_start_time(at)
                .with_attributes([KeyValue::new("gbrain.stage", *stage)]);
            let child = context.with_span(self.tracer.build_with_context(builder, context));
            let end = at.checked_add(Duration::from_micros(*micros)).unwrap_or(span.finished);
            at = end.min(span.finished).max(at);
            child.span().end_with_timestamp(at);
        }
    }

    fn evaluation(&self, span: &EvaluationSpan<'_>) {
        if !self.load.reserve(1) {
            return;
        }
        let attributes = [
            KeyValue::new("gen_ai.data_source.id", span.workspace.as_str().to_owned()),
            KeyValue::new("gbrain.run.id", span.run_id.to_owned()),
            KeyValue::new("gbrain.run.kind", span.kind.to_owned()),
            KeyValue::new("gbrain.run.rows", whole(span.rows)),
            KeyValue::new("gbrain.run.verdict", span.verdict.name()),
        ];
        let all = EvaluationResult {
            name: span.kind,
            value: None,
            verdict: span.verdict,
            explanation: None,
        };
        let results = std::iter::once(&all).chain(span.results);
        let builder = SpanBuilder::from_name(format!("evaluation {}", span.kind))
            .with_kind(SpanKind::Internal)
            .with_start_time(span.started)
            .with_attributes(attributes)
            .with_events(results.map(|result| event(result, span.finished)).collect());
        let context = Context::new();
        let context = context.with_span(self.tracer.build_with_context(builder, &context));
        context.span().end_with_timestamp(span.finished);
    }

    fn shutdown(&self) {
        // The SDK says so where time was up, and once is enough: a second time is an error of its.
        if let Err(error) = self.provider.shutdown_with_timeout(DRAIN) {
            tracing::debug!(error = %error, "the last spans were not sent");
        }
    }
}

impl Drop for On {
    fn drop(&mut self) {
        self.shutdown();
    }
}

fn resource(options: &TraceOptions) -> Resource {
    let own = [
        KeyValue::new("service.name", options.service_name.clone()),
        KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        KeyValue::new("telemetry.sdk.name", "opentelemetry"),
        KeyValue::new("telemetry.sdk.language", "rust"),
    ];
    let given = options.attributes.iter().map(|(k, v)| KeyValue::new(k.clone(), v.clone()));
    Resource::builder_empty().with_attributes(given).with_attributes(own).build()
}

/// The caller's span, if the header names one. What can't be read starts a trace of its own.
fn parent(traceparent: Option<&str>) -> Context {
    struct Header<'a>(Option<&'a str>);
    impl Extractor for Header<'_> {
        fn get(&self, key: &str) -> Option<&str> {
            self.0.filter(|_| key == "traceparent")
        }

        fn keys(&self) -> Vec<&str> {
            self.0.map(|_| "traceparent").into_iter().collect()
        }
    }
    let propagator = TraceContextPropagator::new();
    propagator.extract_with_context(&Context::new(), &Header(traceparent))
}

/// Whether the caller decided that this trace is not kept.
fn is_left_out(parent: &Context) -> bool {
    let span = parent.span();
    let caller = span.span_context();
    caller.is_valid() && !caller.is_sampled()
}

fn documents(hits: &[(String, f64)]) -> String {
    let named = hits.iter().take(MOST_HITS);
    let named = named.map(|(id, score)| json!({ "id": id, "score": score }));
    serde_json::Value::from_iter(named).to_string()
}

fn event(result: &EvaluationResult<'_>, at: SystemTime) -> Event {
    let EvaluationResult { name, value, verdict, explanation } = result;
    let mut attributes = vec![
        KeyValue::new("gen_ai.evaluation.name", (*name).to_owned()),
        KeyValue::new("gen_ai.evaluation.score.label", verdict.name()),
    ];
    let value = value.map(|value| KeyValue::new("gen_ai.evaluation.score.value", value));
    let explanation =
        explanation.map(|text| KeyValue::new("gen_ai.evaluation.explanation", text.to_owned()));
    attributes.extend(value.into_iter().chain(explanation));
    Event::new("gen_ai.evaluation.result", at, attributes, 0)
}

fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
