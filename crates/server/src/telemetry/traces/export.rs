//! Span export: a bounded queue, the SDK's thread and a blocking HTTP client.

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

/// Maximum number of queued spans; further traces are dropped.
pub(super) const QUEUE: usize = 8_192;
/// Most spans per batch.
const BATCH: usize = 512;
/// How long a batch waits to fill up.
const LINGER: Duration = Duration::from_secs(1);
/// Timeout for sending one batch.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How often failures are logged.
const REPORT_INTERVAL: Duration = Duration::from_secs(60);
/// Most bytes read of a response.
const MAX_RESPONSE_BYTES: u64 = 64 * 1024;

/// The processor that sends spans to the endpoint.
pub(super) fn processor(
    options: &TraceOptions,
    load: Arc<SpanQueue>,
) -> Result<BatchSpanProcessor, TraceError> {
    let exporter = opentelemetry_otlp::SpanExporter::builder()
        .with_http()
        .with_http_client(ExportClient::new())
        .with_protocol(Protocol::HttpJson)
        .with_endpoint(options.endpoint.as_str())
        .with_timeout(TIMEOUT)
        .with_headers(options.headers.iter().cloned().collect())
        .build()
        .map_err(|error| TraceError::Exporter(error.into()))?;
    let config = BatchConfigBuilder::default()
        .with_max_queue_size(QUEUE)
        .with_max_export_batch_size(BATCH)
        .with_scheduled_delay(LINGER)
        .build();
    let exporter = CountingExporter { exporter, load };
    Ok(BatchSpanProcessor::builder(exporter).with_batch_config(config).build())
}

/// Numbers of queued and dropped spans.
#[derive(Debug, Default)]
pub(super) struct SpanQueue {
    waiting: AtomicUsize,
    dropped: AtomicU64,
    unreported: Mutex<UnreportedDrops>,
}

#[derive(Debug, Default)]
struct UnreportedDrops {
    spans: u64,
    reported_at: Option<Instant>,
}

impl SpanQueue {
    /// Reserves room for the spans of one trace: all or none, so that no trace is incomplete.
    pub(super) fn reserve(&self, spans: usize) -> bool {
        let with = |waiting: usize| Some(waiting + spans).filter(|all| *all <= QUEUE);
        let order = Ordering::AcqRel;
        let has_room = self.waiting.fetch_update(order, Ordering::Acquire, with).is_ok();
        if !has_room {
            self.lose(spans, "the queue of spans is full");
        }
        has_room
    }

    /// Spans that were not sent because the queue was full or sending failed.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    fn lose(&self, spans: usize, reason: &str) {
        self.dropped.fetch_add(spans as u64, Ordering::Relaxed);
        let mut unreported = self.unreported.lock().unwrap_or_else(PoisonError::into_inner);
        unreported.spans += spans as u64;
        if unreported.reported_at.is_none_or(|reported_at| reported_at.elapsed() >= REPORT_INTERVAL)
        {
            tracing::warn!(spans = unreported.spans, reason, "spans were not sent");
            *unreported = UnreportedDrops { spans: 0, reported_at: Some(Instant::now()) };
        }
    }
}

/// An exporter that counts its spans.
#[derive(Debug)]
struct CountingExporter {
    exporter: opentelemetry_otlp::SpanExporter,
    load: Arc<SpanQueue>,
}

impl SdkExporter for CountingExporter {
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

/// Sends requests from the processor's thread, which may block.
#[derive(Debug)]
struct ExportClient {
    agent: ureq::Agent,
}

impl ExportClient {
    fn new() -> Self {
        // Redirects and proxy variables must not decide where spans are sent.
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .build();
        Self { agent: config.into() }
    }

    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (parts, body) = request.into_parts();
        let (parts, mut body) = self.agent.run(Request::from_parts(parts, &body[..]))?.into_parts();
        let bytes = body.with_config().limit(MAX_RESPONSE_BYTES).read_to_vec()?;
        Ok(Response::from_parts(parts, bytes.into()))
    }
}

type SendFuture<'a> = Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'a>>;

impl HttpClient for ExportClient {
    fn send_bytes<'a, 'b>(&'a self, request: Request<Bytes>) -> SendFuture<'b>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(async move { self.send(request) })
    }
}
