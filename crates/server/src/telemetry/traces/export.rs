//! The way out: a bounded queue, a thread of the SDK's, one blocking HTTP client.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, SpanData, SpanExporter as SdkExporter,
};

use super::options::{TraceError, TraceOptions};

/// How many spans wait at most.
pub(super) const QUEUE: usize = 8_192;
/// How many are sent at once.
const BATCH: usize = 512;
/// How long a batch waits to become full.
const LINGER: Duration = Duration::from_secs(1);
/// How long one batch may take to be sent.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often failures are spoken of.
const SAY_EVERY: Duration = Duration::from_secs(60);
/// How much of an answer is read.
const LARGEST_ANSWER: u64 = 64 * 1024;

/// The processor that sends spans to an endpoint.
pub(super) fn processor(
    options: &TraceOptions,
    load: Arc<Load>,
) -> Result<BatchSpanProcessor, TraceError> {
    let exporter = opentelemetry_otlp::SpanExporter::builder()
        .with_http()
        .with_http_client(Client::new())
        .with_protocol(Protocol::HttpJson)
        .with_endpoint(options.endpoint.as_str())
        .with_timeout(PATIENCE)
        .with_headers(options.headers.iter().cloned().collect())
        .build()
        .map_err(|error| TraceError::Exporter(error.into()))?;
    let config = BatchConfigBuilder::default()
        .with_max_queue_size(QUEUE)
        .with_max_export_batch_size(BATCH)
        .with_scheduled_delay(LINGER)
        .build();
    let exporter = Counted { exporter, load };
    Ok(BatchSpanProcessor::builder(exporter).with_batch_config(config).build())
}

/// How many spans wait and how many were lost.
#[derive(Debug, Default)]
pub(super) struct Load {
    waiting: AtomicUsize,
    dropped: AtomicU64,
    unsaid: Mutex<Unsaid>,
}

#[derive(Debug, Default)]
struct Unsaid {
    spans: u64,
    said: Option<Instant>,
}

impl Load {
    /// Takes room for spans that belong together: all or none, so that no trace is half there.
    pub(super) fn reserve(&self, spans: usize) -> bool {
        let with = |waiting: usize| Some(waiting + spans).filter(|all| *all <= QUEUE);
        let order = Ordering::AcqRel;
        let has_room = self.waiting.fetch_update(order, Ordering::Acquire, with).is_ok();
        if !has_room {
            self.lose(spans, "the queue of spans is full");
        }
        has_room
    }

    /// Spans that were not sent, for want of room or because sending failed.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    fn lose(&self, spans: usize, reason: &str) {
        self.dropped.fetch_add(spans as u64, Ordering::Relaxed);
        let mut unsaid = self.unsaid.lock().unwrap_or_else(PoisonError::into_inner);
        unsaid.spans += spans as u64;
        if unsaid.said.is_none_or(|said| said.elapsed() >= SAY_EVERY) {
            tracing::warn!(spans = unsaid.spans, reason, "spans were not sent");
            *unsaid = Unsaid { spans: 0, said: Some(Instant::now()) };
        }
    }
}

/// An exporter that knows what becomes of its spans.
#[derive(Debug)]
struct Counted {
    exporter: opentelemetry_otlp::SpanExporter,
    load: Arc<Load>,
}

impl SdkExporter for Counted {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len();
        self.load.waiting.fetch_sub(spans, Ordering::AcqRel);
        let sent = self.exporter.export(batch).await;
        if let Err(error) = &sent {
            self.load.lose(spans, &error.to_string());
        }
        sent
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

/// Sends requests from the processor's own thread, which may block.
#[derive(Debug)]
struct Client {
    agent: ureq::Agent,
}

impl Client {
    fn new() -> Self {
        // Neither a redirect nor a proxy of the environment decides where spans go.
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .build();
        Self { agent: config.into() }
    }

    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (parts, body) = request.into_parts();
        let (parts, mut body) = self.agent.run(Request::from_parts(parts, &body[..]))?.into_parts();
        let bytes = body.with_config().limit(LARGEST_ANSWER).read_to_vec()?;
        Ok(Response::from_parts(parts, bytes.into()))
    }
}

type Sending<'a> = Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'a>>;

impl HttpClient for Client {
    fn send_bytes<'a, 'b>(&'a self, request: Request<Bytes>) -> Sending<'b>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move { self.send(request) })
    }
}
