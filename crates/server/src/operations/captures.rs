//! Captures of callers over the wire, as lines, and letting them go.

use std::ops::ControlFlow;
use std::time::Duration;

use bytes::Bytes;
use gbrain_brain::capture::{OWNER, private_names};
use gbrain_core::capture::{CaptureWindow, write_line};
use gbrain_core::fault::Fault;
use gbrain_core::report::json::{PRUNE_VERSION, PruneBody, PruneCounts};
use gbrain_core::request::Operation;
use gbrain_store::CaptureFilter;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::http::{Call, Reply};
use crate::moment::Moment;

/// How many bytes are sent at once.
const CHUNK: usize = 64 << 10;
/// How long a reader may take for a chunk before it is given up.
const PATIENCE: Duration = Duration::from_secs(30);

/// Which captures to read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExportCaptures {
    /// Stored at or after this moment.
    since: Option<Moment>,
    /// Stored before this moment.
    until: Option<Moment>,
    /// query or search.
    tool: Option<Operation>,
    /// With a higher number than this.
    after_id: Option<i64>,
    /// At most this many, the newest.
    #[schemars(range(min = 1))]
    limit: Option<u32>,
}

/// Which captures to let go.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PruneCaptures {
    /// Stored before this moment.
    until: Moment,
}

/// Streams captures, newest first: what `gbrain eval export --remote` prints.
pub(crate) fn export(call: &Call<'_>, input: ExportCaptures) -> Result<Reply, Fault> {
    if input.limit == Some(0) {
        return Err(Fault::usage("a limit is at least 1"));
    }
    let (since, until) = (input.since.map(|since| since.0), input.until.map(|until| until.0));
    let CaptureWindow { since, until } = CaptureWindow::new(since, until, call.now)
        .map_err(|empty| Fault::usage(empty.to_string()))?;
    let filter = CaptureFilter {
        since,
        until: Some(until),
        tool: input.tool,
        remote: Some(true),
        after_id: input.after_id,
        limit: input.limit.map(u64::from),
    };
    let place = call.house.stream();
    let place =
        place.ok_or_else(|| Fault::overloaded("too many captures are being read already"))?;
    let store = call.house.share_store();
    let ws = call.who.workspace.clone();
    // From here on no row can appear in the window: what is read is final.
    store.close_captures(&ws, until)?;
    // What was found once may have been made private since.
    let identity = call.house.suites().identity.map(|key| key.for_workspace(&ws));
    let private = private_names(store.as_ref(), &ws, identity)?;
    let (sender, receiver) = tokio::sync::mpsc::channel(4);
    let runtime = tokio::runtime::Handle::current();
    let send = move |bytes: std::io::Result<Bytes>| {
        let sent =
            runtime.block_on(async { tokio::time::timeout(PATIENCE, sender.send(bytes)).await });
        matches!(sent, Ok(Ok(())))
    };
    // Rows come as fast as they are read: that is no work for a turn in a lane.
    std::thread::spawn(move || {
        let _place = place;
        let mut lines = Vec::with_capacity(CHUNK + 4096);
        let read = store.captures(&ws, &filter, &mut |mut row| {
            private.mask(&mut row);
            write_line(&row, &mut lines);
            if lines.len() < CHUNK {
                return Ok(ControlFlow::Continue(()));
            }
            let is_taken = send(Ok(std::mem::take(&mut lines).into()));
            Ok(if is_taken { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        });
        match read {
            Ok(()) if lines.is_empty() => {}
            Ok(()) => {
                send(Ok(lines.into()));
            }
            // The body ends without its last chunk: its reader knows that it is not whole.
            Err(error) => {
                send(Err(std::io::Error::other(error.to_string())));
            }
        }
    });
    Ok(Reply::Lines(receiver))
}

/// Erases captures of callers over the wire.
pub(crate) fn prune(call: &Call<'_>, input: PruneCaptures) -> Result<Reply, Fault> {
    let until = input.until.0.min(call.now);
    // Now means everything there is, rows that are dated in the future included.
    let end = (until < call.now).then_some(until);
    let filter = CaptureFilter { until: end, remote: Some(true), ..CaptureFilter::default() };
    let (store, workspace) = (call.house.store(), &call.who.workspace);
    let rows = store.prune_captures(workspace, &filter)?;
    let logs = store.prune_live_logs(workspace, end.unwrap_or(Timestamp::MAX), Some(OWNER))?;
    Reply::json(&PruneBody {
        schema_version: PRUNE_VERSION,
        dry_run: false,
        before: format!("{until:.3}"),
        counts: PruneCounts { rows, failures: None, logs: Some(logs) },
    })
}
