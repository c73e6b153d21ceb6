//! Records captures of a target: asks it the captured requests and stores its answers.

use gbrain_core::capture::{CapturedRow, TargetCapture};
use gbrain_core::identity::IdentityKey;
use gbrain_core::replay::{SettingsSource, ask};
use gbrain_core::scrub::Scrubber;
use gbrain_core::target::Question;
use jiff::Timestamp;
use serde_json::Value;

use crate::{EvalError, Retriever};

/// A row without a capture of the target, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotRecorded {
    /// The line in the file, from 1.
    pub line: usize,
    pub why: String,
}

/// Asks a target every captured request `repeats` times. Returns rows with its first answer and its
/// shortest time, in the order of the file.
pub fn record(
    retriever: &dyn Retriever,
    rows: &[(Value, CapturedRow)],
    repeats: u32,
    at: Timestamp,
    identity: Option<&IdentityKey>,
    progress: &dyn Fn(usize),
) -> Result<(Vec<Value>, Vec<NotRecorded>), EvalError> {
    let (mut recorded, mut missing) = (Vec::new(), Vec::new());
    let recorder =
        TargetRecorder { retriever, repeats, at, identity, scrubber: Scrubber::default() };
    for (value, row) in rows {
        match recorder.one(value, row) {
            Ok(row) => recorded.push(row),
            Err(why) => missing.push(NotRecorded { line: row.line, why }),
        }
        progress(1);
    }
    Ok((recorded, missing))
}

struct TargetRecorder<'a> {
    retriever: &'a dyn Retriever,
    repeats: u32,
    at: Timestamp,
    identity: Option<&'a IdentityKey>,
    scrubber: Scrubber,
}

impl TargetRecorder<'_> {
    fn one(&self, value: &Value, row: &CapturedRow) -> Result<Value, String> {
        let info = self.retriever.info();
        let asked = ask(row, &info.live, SettingsSource::Live).map_err(|skip| skip.to_string())?;
        let question = Question::of_request(&asked.request, info.max_results);
        let mut answers = Vec::new();
        for _ in 0..self.repeats.max(1) {
            let answer = self.retriever.retrieve(&question);
            answers.push(answer.map_err(|error| info.error_text(&error))?);
        }
        let times = answers.iter().map(|answer| info.latency_of(answer));
        let shortest = times.reduce(|a, b| a.zip(b).map(|(a, b)| a.min(b))).flatten();
        let first = &answers[0];
        let refuse = |why: &str| Err(why.to_owned());
        let (Some(target), Some(latency_ms)) = (&first.provenance.target, shortest) else {
            return refuse("it is not a remote target whose answers take time");
        };
        if !(latency_ms.is_finite() && latency_ms >= 0.0) {
            return refuse("it reported a latency that is not a time");
        }
        if !first.fallbacks.is_empty() {
            return refuse("a stage of the target could not do its work");
        }
        let (pages, repeats) = (&first.pages(), self.repeats.max(1));
        let (at, identity) = (self.at, self.identity);
        let capture = TargetCapture { target, pages, latency_ms, repeats, at, identity };
        Ok(capture.row(value, &self.scrubber))
    }
}
