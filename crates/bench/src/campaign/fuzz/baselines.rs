//! Invariants of captures, of baselines, and of their reports.

use std::path::Path;

use fastrand::Rng;
use gbrain_brain::capture::AuditLog;
use gbrain_core::baseline::{
    Baseline, BaselineDraft, BaselineIntegrity, BaselineKey, BaselineThresholds, CaptureFile,
    PublishedBaseline, SignatureCheck, publish,
};
use gbrain_core::capture::CapturedRow;
use gbrain_core::format::capture::{read_object, read_row};
use gbrain_core::id::WorkspaceId;
use gbrain_core::replay::{LiveContext, SettingsSource};
use gbrain_eval::{
    EvalError, Input, LocalOptions, LocalRetriever, ReplayCorpus, ReplayOptions, read_baseline,
    read_captures, read_publishable, replay,
};
use serde_json::Value;

use super::mutate::edited;
use super::promises::{Brains, Broken, require};
use super::reports;

/// How often a published baseline is edited.
const EDITS: usize = 12;
/// How many rows are asked of the brain.
const ASKED: usize = 5;

/// Captures: numbers are numbers, lines ascend, and line ends, blank lines and a byte order mark
/// change nothing.
pub(super) fn check_captures(bytes: &[u8]) -> Result<(), Broken> {
    refused_in_words(read_publishable(input(bytes)).map(drop))?;
    refused_in_words(read_baseline(input(bytes)).map(drop))?;
    let captures = match read_captures(input(bytes)) {
        Ok(captures) => captures,
        Err(error) => return refused_in_words(Err(error)),
    };
    check_rows(&captures.rows)?;
    let mut spaced = b"\xef\xbb\xbf".to_vec();
    for line in bytes.split(|byte| *byte == b'\n') {
        spaced.extend_from_slice(line);
        spaced.extend_from_slice(b" \r\n\r\n");
    }
    let again = read_captures(input(&spaced)).map_err(|error| error.to_string())?;
    require(is_same(&again, &captures), || "line ends make other captures".to_owned())
}

fn check_rows(rows: &[CapturedRow]) -> Result<(), Broken> {
    require(rows.is_sorted_by(|a, b| a.line < b.line), || "lines do not ascend".to_owned())?;
    for row in rows {
        let fits = row.latency_ms.is_none_or(|ms| ms.is_finite() && ms >= 0.0);
        require(fits && row.weight > 0, || format!("line {} has {row:?}", row.line))?;
    }
    Ok(())
}

/// A published baseline reads back intact, and no single edit of it reads as intact with another
/// content.
pub(super) fn check_publish(bytes: &[u8], rng: &mut Rng) -> Result<(), Broken> {
    let rows = rows_of(bytes);
    let draft = draft(rng);
    let Ok(published) = publish(rows.clone(), &draft) else { return Ok(()) };
    let again = publish(rows, &draft).map_err(|error| error.to_string())?;
    require(again.text == published.text, || "published twice, it is two files".to_owned())?;
    let text = published.text.as_bytes();
    let baseline = read_back(&published)?;
    for _ in 0..EDITS {
        let edited = edited(text, rng);
        let Ok(read) = read_baseline(input(&edited)) else { continue };
        let is_harmless = read.integrity == BaselineIntegrity::NotTamperEvident
            || read.metadata == baseline.metadata && is_equal(&read.rows, &baseline.rows);
        require(is_harmless, || {
            format!("an edit passes as intact: {}", String::from_utf8_lossy(&edited))
        })?;
    }
    Ok(())
}

/// A baseline that a key signed reads with that key, with no other, and no edit of it reads with the key
/// as other content.
pub(super) fn check_signed(bytes: &[u8], rng: &mut Rng) -> Result<(), Broken> {
    let key = |text: &str| BaselineKey::new(text).map_err(|error| error.to_string());
    let (key, other) = (key("a key of the campaign")?, key("another key, also long")?);
    let draft = BaselineDraft { key: Some(key.clone()), ..draft(rng) };
    let Ok(published) = publish(rows_of(bytes), &draft) else { return Ok(()) };
    let text = published.text.as_bytes();
    let read = |bytes: &[u8], key: &BaselineKey| {
        read_baseline(input(bytes).checking(SignatureCheck::Required(key.clone())))
    };
    let baseline = read(text, &key)
        .map_err(|error| format!("what was signed is refused: {}", words(&error)))?;
    require(read(text, &other).is_err(), || "another key reads it".to_owned())?;
    let signature = baseline.metadata.rows_hmac.as_deref().unwrap_or_default();
    let respelled = published.text.replace(signature, &signature.to_uppercase()).into_bytes();
    let edits = std::iter::once(respelled).chain((0..EDITS).map(|_| edited(text, rng)));
    for edited in edits {
        let Ok(read) = read(&edited, &key) else { continue };
        let is_same = read.metadata == baseline.metadata && is_equal(&read.rows, &baseline.rows);
        require(is_same, || {
            format!("an edit passes as signed: {}", String::from_utf8_lossy(&edited))
        })?;
    }
    // A file from elsewhere is not signed by us.
    require(read(bytes, &other).is_err(), || "a stranger's file passes as signed".to_owned())
}

fn read_back(published: &PublishedBaseline) -> Result<Baseline, Broken> {
    let told = || format!("\n{}", published.text);
    let baseline = read_baseline(input(published.text.as_bytes()))
        .map_err(|error| format!("what was published is refused: {}{}", words(&error), told()))?;
    require(baseline.integrity == BaselineIntegrity::Intact, || format!("not intact{}", told()))?;
    require(baseline.metadata == published.metadata, || {
        format!("{:?} became {:?}", published.metadata, baseline.metadata)
    })?;
    let weight = baseline.rows.iter().fold(0_u64, |sum, row| sum.saturating_add(row.weight));
    require(weight == published.weight_total, || {
        format!("weights add up to {weight}, not {}", published.weight_total)
    })?;
    check_rows(&baseline.rows)?;
    let objects = read_publishable(input(published.text.as_bytes()))
        .map_err(|error| format!("what was published can't be published: {}", words(&error)))?;
    require(objects.len() == baseline.rows.len(), || "rows are lost on the way".to_owned())?;
    Ok(baseline)
}

fn draft(rng: &mut Rng) -> BaselineDraft {
    let word = |rng: &mut Rng| (0..rng.usize(..20)).map(|_| rng.char(..)).collect::<String>();
    let thresholds = BaselineThresholds {
        jaccard: rng.f64(),
        top1: rng.f64(),
        latency_multiplier: 10_f64.powi(rng.i32(-300..300)) * (rng.f64() + 0.1),
    };
    BaselineDraft {
        label: word(rng),
        published_at: jiff::Timestamp::from_millisecond(rng.i64(-9_000_000_000..9_000_000_000_000))
            .unwrap_or(jiff::Timestamp::UNIX_EPOCH),
        thresholds: if rng.bool() { thresholds } else { BaselineThresholds::default() },
        why: rng.bool().then(|| word(rng)),
        previous: None,
        key: None,
    }
}

/// Any row can be asked again, gated and reported.
pub(super) fn check_replay(bytes: &[u8], brains: &Brains, rng: &mut Rng) -> Result<(), Broken> {
    let mut rows: Vec<CapturedRow> = rows_of(bytes).into_iter().map(|(_, row)| row).collect();
    rows.truncate(ASKED);
    let failed = |error: EvalError| format!("an error: {}", words(&error));
    let brain = brains.memory();
    let settings = brain.settings().map_err(|error| error.to_string())?;
    let live = LiveContext { settings, now: jiff::Timestamp::UNIX_EPOCH };
    let target = LocalRetriever::new(brain, LocalOptions::new(live), &|_, _| ()).map_err(failed)?;
    let options = ReplayOptions {
        as_of: if rng.bool() { ReplayCorpus::Now } else { ReplayCorpus::Capture },
        settings: if rng.bool() { SettingsSource::Live } else { SettingsSource::Capture },
        concurrency: 1,
        repeats: 1,
        blame: rng.bool(),
        explain: rng.usize(..3),
        identity: None,
    };
    let replayed = replay(&target, &rows, &options, &|_| ()).map_err(failed)?;
    require(replayed.rows.len() == rows.len(), || "rows are lost on the way".to_owned())?;
    reports::check(&replayed.rows, Vec::new(), rng)
}

/// A complete line of the audit log is read, even if other lines are damaged.
pub(super) fn check_audit(bytes: &[u8]) -> Result<(), Broken> {
    let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
    let whole = concat!(
        r#"{"schema_version":1,"event_id":"whole","ts":"2026-11-16T03:00:00.000Z","#,
        r#""workspace":"default","reason":"db_down","detail":"x"}"#
    );
    let file = [bytes, b"\n", whole.as_bytes(), b"\n"].concat();
    std::fs::write(dir.path().join("capture-failures-2026-W47.jsonl"), file)
        .map_err(|error| error.to_string())?;
    let waiting = AuditLog { dir: dir.path().to_owned() }.waiting(&WorkspaceId::default());
    let found = waiting.iter().any(|failure| failure.event_id == "whole");
    require(found, || "a whole line of the audit log is not read".to_owned())
}

/// The lines that are rows, each by itself.
pub(super) fn rows_of(bytes: &[u8]) -> Vec<(Value, CapturedRow)> {
    let text = String::from_utf8_lossy(bytes);
    let row = |(at, line): (usize, &str)| {
        let value = read_object(line.trim()).ok().filter(|value| value.get("_kind").is_none())?;
        Some((value.clone(), read_row(value, at + 1).ok()?))
    };
    text.lines().enumerate().filter_map(row).collect()
}

fn input(bytes: &[u8]) -> Input<'_> {
    Input::new(Path::new("fuzz"), bytes)
}

fn is_same(a: &CaptureFile, b: &CaptureFile) -> bool {
    a.baseline == b.baseline && is_equal(&a.rows, &b.rows)
}

/// Equal but for the numbers of their lines.
fn is_equal(a: &[CapturedRow], b: &[CapturedRow]) -> bool {
    let same = |(a, b): (&CapturedRow, &CapturedRow)| {
        CapturedRow { line: 0, ..a.clone() } == CapturedRow { line: 0, ..b.clone() }
    };
    a.len() == b.len() && a.iter().zip(b).all(same)
}

/// A refusal names the file and says something about it.
fn refused_in_words(result: Result<(), EvalError>) -> Result<(), Broken> {
    let Err(error) = result else { return Ok(()) };
    let words = words(&error);
    let says = words.starts_with("fuzz: ") && words.len() > 12;
    require(says, || format!("refused with {words:?}"))
}

fn words(error: &EvalError) -> String {
    let source = std::error::Error::source(error);
    source.map_or(error.to_string(), |source| format!("{error}: {source}"))
}
