//! Traces: one span per retrieval with a child per stage, one span per evaluation run, with the
//! attributes of OpenTelemetry's conventions for generative AI, sent to a configured OTLP endpoint.
//!
//! Guarantees: without an endpoint nothing is created or sent. With one, no caller waits: a trace
//! that does not fit the queue is dropped completely and counted, send failures are counted and
//! logged once a minute, and shutdown waits at most two seconds. Query texts and page names are
//! included only if enabled; their length and number always are.
//!
//! Non-goals: spans that are open while work is done. Spans are built afterwards from the timings
//! of a retrieval, in one place and outside the measured work.

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

use export::SpanQueue;

pub use options::{TraceError, TraceOptions, resolve};

/// How long shutdown waits for unsent spans.
pub const DRAIN: Duration = Duration::from_secs(2);

/// Most hits listed in a span.
const MAX_HITS: usize = 100;

/// The content of the span of a finished retrieval.
#[derive(Debug, Clone, Copy)]
pub struct RetrievalSpan<'a> {
    pub operation: &'static str,
    pub workspace: &'a WorkspaceId,
    pub started: SystemTime,
    pub finished: SystemTime,
    /// The caller's `traceparent` header as received.
    pub parent: Option<&'a str>,
    pub query: &'a str,
    /// The requested number of pages.
    pub top_k: usize,
    /// Page ids with scores, best first.
    pub hits: &'a [(String, f64)],
    /// The duration of every stage, in order.
    pub stages: &'a [StageTime],
    /// The request id in logs and headers.
    pub request_id: &'a str,
    /// The kind of error, if it failed.
    pub error: Option<&'a str>,
}

/// A finished evaluation run.
#[derive(Debug, Clone, Copy)]
pub struct EvaluationSpan<'a> {
    /// The kind of run: gate, replay, …
    pub kind: &'a str,
    pub workspace: &'a WorkspaceId,
    pub started: SystemTime,
    pub finished: SystemTime,
    pub run_id: &'a str,
    pub rows: u64,
    pub verdict: Verdict,
    /// The measured values of the run.
    pub results: &'a [EvaluationResult<'a>],
}

#[derive(Debug, Clone, Copy)]
pub struct EvaluationResult<'a> {
    /// The measure, such as `nDCG@10`.
    pub name: &'a str,
    pub value: Option<f64>,
    pub verdict: Verdict,
    /// An explanation that contains no query.
    pub explanation: Option<&'a str>,
}

/// Creates spans if tracing is on. Clones share the queue.
#[derive(Debug, Clone, Default)]
pub struct Tracer {
    on: Option<Arc<ActiveTracer>>,
}

#[derive(Debug)]
struct ActiveTracer {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    load: Arc<SpanQueue>,
    include_content: bool,
}

impl Tracer {
    /// A tracer that creates no spans.
    pub fn off() -> Self {
        Self::default()
    }

    /// Starts sending spans to the configured endpoint.
    pub fn start(options: &TraceOptions) -> Result<Self, TraceError> {
        let load = Arc::new(SpanQueue::default());
        let provider = SdkTracerProvider::builder()
            .with_sampler(Sampler::ParentBased(Box::new(Sampler::AlwaysOn)))
            .with_resource(resource(options))
            .with_span_processor(export::processor(options, load.clone())?)
            .build();
        let tracer = provider.tracer("gbrain");
        let include_content = options.include_content;
        Ok(Self { on: Some(Arc::new(ActiveTracer { provider, tracer, load, include_content })) })
    }

    /// Whether spans are created; check it before computing their content.
    pub fn is_on(&self) -> bool {
        self.on.is_some()
    }

    pub fn dropped(&self) -> u64 {
        self.on.as_ref().map_or(0, |on| on.load.dropped())
    }

    pub fn retrieval(&self, span: &RetrievalSpan<'_>) {
        if let Some(on) = &self.on {
            on.retrieval(span);
        }
    }

    pub fn evaluation(&self, span: &EvaluationSpan<'_>) {
        if let Some(on) = &self.on {
            on.evaluation(span);
        }
    }

    /// Sends queued spans for at most [`DRAIN`]. Later spans are discarded.
    pub fn shutdown(&self) {
        if let Some(on) = &self.on {
            on.shutdown();
        }
    }
}

impl ActiveTracer {
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

    /// Stages are sequential: each starts where the previous one ended.
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
        // The SDK reports a timeout, and reports an error on a second call.
        if let Err(error) = self.provider.shutdown_with_timeout(DRAIN) {
            tracing::debug!(error = %error, "the last spans were not sent");
        }
    }
}

impl Drop for ActiveTracer {
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

/// The caller's span from the header; without a valid header a new trace starts.
fn parent(traceparent: Option<&str>) -> Context {
    struct TraceparentHeader<'a>(Option<&'a str>);
    impl Extractor for TraceparentHeader<'_> {
        fn get(&self, key: &str) -> Option<&str> {
            self.0.filter(|_| key == "traceparent")
        }

        fn keys(&self) -> Vec<&str> {
            self.0.map(|_| "traceparent").into_iter().collect()
        }
    }
    let propagator = TraceContextPropagator::new();
    propagator.extract_with_context(&Context::new(), &TraceparentHeader(traceparent))
}

/// Whether the caller decided not to sample this trace.
fn is_left_out(parent: &Context) -> bool {
    let span = parent.span();
    let caller = span.span_context();
    caller.is_valid() && !caller.is_sampled()
}

fn documents(hits: &[(String, f64)]) -> String {
    let named = hits.iter().take(MAX_HITS);
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
