//! Renders one scrape: every family once, with the series of the visible workspaces.

use std::fmt::Error;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use gbrain_core::alert::metrics::families;
use gbrain_core::id::WorkspaceId;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, EncodeLabel, EncodeLabelSet,
    EncodeMetric, LabelSetEncoder, NoLabelSet,
};
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::{Registry, Unit};

use super::series::Series;
use super::{MetricReadings, ProcessMetrics, WorkspaceMetrics, process};

struct FamilyInfo<const K: usize> {
    /// Without the unit suffix, which is appended.
    name: &'static str,
    help: &'static str,
    unit: Option<Unit>,
    labels: [&'static str; K],
}

const fn about<const K: usize>(
    name: &'static str,
    help: &'static str,
    unit: Option<Unit>,
    labels: [&'static str; K],
) -> FamilyInfo<K> {
    FamilyInfo { name, help, unit, labels }
}

#[derive(Debug)]
struct ScrapeData {
    workspaces: Vec<(WorkspaceId, Arc<WorkspaceMetrics>)>,
    process: Arc<ProcessMetrics>,
    readings: MetricReadings,
}

/// OpenMetrics text of these workspaces and the process.
pub(super) fn render(
    workspaces: Vec<(WorkspaceId, Arc<WorkspaceMetrics>)>,
    process: Arc<ProcessMetrics>,
    readings: MetricReadings,
) -> String {
    let suites = families(&readings.suites);
    let mut registry = Registry::default();
    registry.register_collector(Box::new(ScrapeData { workspaces, process, readings }));
    let mut text = String::with_capacity(16 * 1024);
    encode(&mut text, &registry)
        .expect("writing to a string cannot fail and no histogram is native");
    // Families of suites are rendered by the code that also writes metric files.
    let end = text.len() - text.strip_suffix(END).map_or(0, |_| END.len());
    text.insert_str(end, &suites);
    text
}

/// The end marker of an OpenMetrics document.
const END: &str = "# EOF\n";

/// Whole seconds since 1970; earlier times count as 1970.
pub(super) fn unix_seconds(at: SystemTime) -> i64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

impl Collector for ScrapeData {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        self.answers(&mut encoder)?;
        self.evaluation(&mut encoder)?;
        self.pressure(&mut encoder)?;
        self.program(&mut encoder)
    }
}

impl ScrapeData {
    fn answers(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
        let help = "Time from receiving a request to its response";
        let requests = about("gbrain_request", help, Some(Unit::Seconds), ["operation", "outcome"]);
        self.by_workspace(encoder, &requests, |w| &w.requests)?;
        let help = "Duration of a retrieval stage";
        let stages = about("gbrain_stage", help, Some(Unit::Seconds), ["stage"]);
        self.by_workspace(encoder, &stages, |w| &w.stages)?;
        let help = "Degraded stages, which the response names";
        let degraded = about("gbrain_degraded", help, None, ["stage", "reason"]);
        self.by_workspace(encoder, &degraded, |w| &w.degraded)
    }

    fn evaluation(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
        let captures = about("gbrain_captures", "Captured requests", None, []);
        self.by_workspace(encoder, &captures, |w| &w.captures)?;
        let help = "Requests whose capture failed";
        let failures = about("gbrain_capture_failures", help, None, ["reason"]);
        self.by_workspace(encoder, &failures, |w| &w.capture_failures)?;
        let verdicts = about("gbrain_verdicts", "Verdicts of runs", None, ["kind", "verdict"]);
        self.by_workspace(encoder, &verdicts, |w| &w.verdicts)?;
        let jobs = about("gbrain_jobs", "Jobs that reached a state", None, ["kind", "state"]);
        self.by_workspace(encoder, &jobs, |w| &w.jobs)?;
        let help = "When the last run of a kind ended";
        let last = about("gbrain_run_last_timestamp", help, Some(Unit::Seconds), ["kind"]);
        self.by_workspace(encoder, &last, |w| &w.run_last)?;
        let rows = about("gbrain_run_rows", "Rows of the last run of a kind", None, ["kind"]);
        self.by_workspace(encoder, &rows, |w| &w.run_rows)
    }

    fn pressure(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
        let help = "Requests refused before authentication";
        let refused = about("gbrain_refused", help, None, ["reason"]);
        write_series(encoder, &refused, [(None, &self.process.refused)])?;
        let help = "Requests waiting for a thread";
        let depth = about("gbrain_queue_depth", help, None, ["lane"]);
        let queues = self.readings.queue_depth.iter().map(|(lane, n)| (None, [*lane], *n));
        write_gauges(encoder, &depth, queues)?;
        let connections = about("gbrain_connections", "Open connections", None, []);
        write_gauges(encoder, &connections, [(None, [], self.readings.connections)])?;
        let help = "Jobs currently in a state";
        let jobs = about("gbrain_jobs_current", help, None, ["state"]);
        let counts = self.readings.jobs.iter();
        let counts = counts.map(|job| (Some(job.workspace.as_str()), [job.state], job.count));
        write_gauges(encoder, &jobs, counts)?;
        let help = "Spans dropped before they reached the collector";
        let spans = about("gbrain_spans_dropped", help, None, []);
        write_counter(encoder, &spans, Some(self.readings.spans_dropped))
    }

    fn program(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), Error> {
        let software = &self.process.software;
        let labels = [("version", software.version.as_str()), ("code", software.code.as_str())];
        let help = "Version and source revision of the server";
        encoder
            .encode_descriptor("gbrain_build", help, None, MetricType::Info)?
            .encode_info(&labels)?;
        let started =
            about("gbrain_start_time", "When the process started", Some(Unit::Seconds), []);
        write_gauges(encoder, &started, [(None, [], unix_seconds(self.process.started))])?;
        let help = "Resident memory";
        let memory = about("gbrain_process_resident_memory", help, Some(Unit::Bytes), []);
        let resident = process::resident_bytes().map(|bytes| (None, [], bytes));
        write_gauges(encoder, &memory, resident)?;
        let cpu = about("gbrain_process_cpu", "CPU time used", Some(Unit::Seconds), []);
        write_counter(encoder, &cpu, process::cpu_seconds())
    }

    fn by_workspace<M: EncodeMetric + TypedMetric, const K: usize>(
        &self,
        encoder: &mut DescriptorEncoder<'_>,
        about: &FamilyInfo<K>,
        pick: impl Fn(&WorkspaceMetrics) -> &Series<M, K>,
    ) -> Result<(), Error> {
        let sets = self.workspaces.iter();
        write_series(encoder, about, sets.map(|(id, set)| (Some(id.as_str()), pick(set))))
    }
}

/// Writes a family of recorded series.
fn write_series<'a, M: EncodeMetric + TypedMetric + 'a, const K: usize>(
    encoder: &mut DescriptorEncoder<'_>,
    about: &FamilyInfo<K>,
    sets: impl IntoIterator<Item = (Option<&'a str>, &'a Series<M, K>)>,
) -> Result<(), Error> {
    let FamilyInfo { name, help, unit, labels } = about;
    let mut family = encoder.encode_descriptor(name, help, unit.as_ref(), M::TYPE)?;
    for (workspace, series) in sets {
        for (values, metric) in series.iter() {
            let labels = SeriesLabels { workspace, names: labels, values };
            metric.encode(family.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

/// Writes a family of gauges that are read at scrape time.
fn write_gauges<'a, V: EncodeGaugeValue, const K: usize>(
    encoder: &mut DescriptorEncoder<'_>,
    about: &FamilyInfo<K>,
    values: impl IntoIterator<Item = (Option<&'a str>, [&'static str; K], V)>,
) -> Result<(), Error> {
    let FamilyInfo { name, help, unit, labels } = about;
    let mut family = encoder.encode_descriptor(name, help, unit.as_ref(), MetricType::Gauge)?;
    for (workspace, words, value) in values {
        let labels = SeriesLabels { workspace, names: labels, values: &words };
        match labels.is_empty() {
            true => family.encode_gauge(&value)?,
            false => family.encode_family(&labels)?.encode_gauge(&value)?,
        }
    }
    Ok(())
}

/// Writes a counter that is read at scrape time.
fn write_counter<V: EncodeCounterValue>(
    encoder: &mut DescriptorEncoder<'_>,
    about: &FamilyInfo<0>,
    value: Option<V>,
) -> Result<(), Error> {
    let FamilyInfo { name, help, unit, labels: [] } = about;
    let mut family = encoder.encode_descriptor(name, help, unit.as_ref(), MetricType::Counter)?;
    match value {
        Some(value) => family.encode_counter::<NoLabelSet, V, f64>(&value, None),
        None => Ok(()),
    }
}

/// The labels of a series. Values are constants and workspace names, which need no escaping; the
/// encoder escapes them anyway.
struct SeriesLabels<'a, const K: usize> {
    workspace: Option<&'a str>,
    names: &'a [&'static str; K],
    values: &'a [&'static str; K],
}

impl<const K: usize> SeriesLabels<'_, K> {
    fn is_empty(&self) -> bool {
        K == 0 && self.workspace.is_none()
    }
}

impl<const K: usize> EncodeLabelSet for SeriesLabels<'_, K> {
    fn encode(&self, encoder: &mut LabelSetEncoder<'_>) -> Result<(), Error> {
        if let Some(workspace) = self.workspace {
            ("workspace", workspace).encode(encoder.encode_label())?;
        }
        for pair in self.names.iter().copied().zip(self.values.iter().copied()) {
            pair.encode(encoder.encode_label())?;
        }
        Ok(())
    }
}
