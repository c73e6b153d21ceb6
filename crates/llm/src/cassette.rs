//! Cassettes: recorded model replies, so that judges can be rerun without a key or network.
//!
//! A reply is stored under the model, the hash of the prompt, the hash of the input and the number
//! of the repeat. A reply recorded for another version of the prompt is stale, which is reported
//! separately from a missing one: the cassette must be recorded again.
//!
//! A file contains one JSON object per line: a header, then replies; the last one of a key counts.
//! An incomplete last line of a killed process is ignored. Inputs are stored only as hashes, and
//! secrets in replies are redacted before they are written.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use gbrain_core::hash::Hash;
use gbrain_core::scrub::{MARKER, ScrubFamily, Scrubber};
use serde::{Deserialize, Serialize};
use serde_json::Value;

const VERSION: u32 = 1;
const KIND: &str = "gbrain_cassette";
/// Scrubber families that are secrets in any file. Personal data stays, because a judge may need
/// it.
const SECRETS: [ScrubFamily; 6] = [
    ScrubFamily::Jwt,
    ScrubFamily::Bearer,
    ScrubFamily::ApiKey,
    ScrubFamily::Secret,
    ScrubFamily::PrivateKey,
    ScrubFamily::ConnectionString,
];

/// How to handle a reply that is not on the cassette.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CassetteMode {
    /// Call the model and record its reply.
    Record,
    ReplayOnly,
}

/// Why a cassette cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    #[error("cannot use the cassette {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("the cassette {} is invalid at line {line}: {reason}", path.display())]
    Broken { path: PathBuf, line: usize, reason: String },
}

/// The key of a recorded reply.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CassetteKey {
    pub(crate) model: String,
    pub(crate) prompt: Hash,
    pub(crate) input: Hash,
    pub(crate) repeat: u32,
}

#[derive(Debug, PartialEq)]
pub(crate) enum CassetteLookup {
    Found(Value),
    /// Recorded for the same input with another prompt.
    Stale,
    NotRecorded,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    schema_version: u32,
    kind: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CassetteLine {
    model: String,
    prompt_sha256: String,
    input_sha256: String,
    repeat: u32,
    answer: Value,
}

#[derive(Debug)]
pub struct Cassette {
    mode: CassetteMode,
    path: PathBuf,
    tape: Mutex<Tape>,
    scrubber: Scrubber,
}

#[derive(Debug, Default)]
struct Tape {
    answers: HashMap<CassetteKey, Value>,
    /// Keys without their prompts, to recognise stale replies.
    inputs: HashMap<(String, Hash, u32), Hash>,
    file: Option<File>,
}

impl Cassette {
    /// Opens a cassette. For recording it is created if it does not exist; for replay it must
    /// exist.
    pub fn open(path: &Path, mode: CassetteMode) -> Result<Self, CassetteError> {
        let failed = |source| CassetteError::Io { path: path.to_owned(), source };
        let text = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error)
                if error.kind() == io::ErrorKind::NotFound && mode == CassetteMode::Record =>
            {
                Vec::new()
            }
            Err(error) => return Err(failed(error)),
        };
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let mut tape = read(path, &text[..whole])?;
        if mode == CassetteMode::Record {
            tape.file = Some(recording(path, whole).map_err(failed)?);
        }
        let scrubber = Scrubber::new(&[]).expect("a scrubber without user patterns is valid");
        Ok(Self { mode, path: path.to_owned(), tape: Mutex::new(tape), scrubber })
    }

    pub fn mode(&self) -> CassetteMode {
        self.mode
    }

    pub(crate) fn find(&self, key: &CassetteKey) -> CassetteLookup {
        let tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = tape.answers.get(key) {
            return CassetteLookup::Found(answer.clone());
        }
        let input = (key.model.clone(), key.input, key.repeat);
        if tape.inputs.contains_key(&input) {
            CassetteLookup::Stale
        } else {
            CassetteLookup::NotRecorded
        }
    }

    /// Records a reply with its secrets redacted, and returns the redacted reply.
    pub(crate) fn record(&self, key: &CassetteKey, answer: Value) -> Result<Value, CassetteError> {
        let answer = without_secrets(&self.scrubber, answer);
        let line = CassetteLine {
            model: key.model.clone(),
            prompt_sha256: key.prompt.to_hex(),
            input_sha256: key.input.to_hex(),
            repeat: key.repeat,
            answer: answer.clone(),
        };
        let mut text = serde_json::to_string(&line).expect("a line is JSON");
        text.push('\n');
        let mut tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = &mut tape.file {
            let failed = |source| CassetteError::Io { path: self.path.clone(), source };
            file.write_all(text.as_bytes()).map_err(failed)?;
        }
        tape.insert(key.clone(), answer.clone());
        Ok(answer)
    }
}

impl Tape {
    fn insert(&mut self, key: CassetteKey, answer: Value) {
        self.inputs.insert((key.model.clone(), key.input, key.repeat), key.prompt);
        self.answers.insert(key, answer);
    }
}

/// Opens the file for appending, truncated to its complete lines and with a header.
fn recording(path: &Path, whole: usize) -> io::Result<File> {
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        std::fs::create_dir_all(parent)?;
    }
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    file.set_len(whole as u64)?;
    if whole == 0 {
        let header = Header { schema_version: VERSION, kind: KIND.to_owned() };
        let mut text = serde_json::to_string(&header).expect("a header is JSON");
        text.push('\n');
        file.write_all(text.as_bytes())?;
    }
    Ok(file)
}

fn read(path: &Path, text: &[u8]) -> Result<Tape, CassetteError> {
    let mut tape = Tape::default();
    for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let broken =
            |reason: String| CassetteError::Broken { path: path.to_owned(), line: at + 1, reason };
        if line.is_empty() {
            continue;
        }
        if at == 0 {
            header(line).map_err(broken)?;
            continue;
        }
        let line: CassetteLine =
            serde_json::from_slice(line).map_err(|error| broken(error.to_string()))?;
        let hash = |hex: &str| Hash::from_hex(hex).ok_or_else(|| broken("invalid hash".to_owned()));
        let key = CassetteKey {
            prompt: hash(&line.prompt_sha256)?,
            input: hash(&line.input_sha256)?,
            model: line.model,
            repeat: line.repeat,
        };
        tape.insert(key, line.answer);
    }
    Ok(tape)
}

fn header(line: &[u8]) -> Result<(), String> {
    let header: Header = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    if header.kind != KIND {
        return Err(format!("it is a {:?}, not a {KIND}", header.kind));
    }
    let is_known = header.schema_version == VERSION;
    is_known.then_some(()).ok_or_else(|| {
        format!("it has version {}, and this gbrain reads {VERSION}", header.schema_version)
    })
}

fn without_secrets(scrubber: &Scrubber, value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(hidden(scrubber, &text)),
        Value::Array(items) => {
            items.into_iter().map(|item| without_secrets(scrubber, item)).collect()
        }
        Value::Object(members) => {
            let member = |(name, value)| (name, without_secrets(scrubber, value));
            members.into_iter().map(member).collect()
        }
        other => other,
    }
}

fn hidden(scrubber: &Scrubber, text: &str) -> String {
    let mut scrubbed = String::with_capacity(text.len());
    let mut from = 0;
    for found in scrubber.find(text).iter().filter(|found| SECRETS.contains(&found.family)) {
        scrubbed.push_str(&text[from..found.start]);
        scrubbed.push_str(MARKER);
        from = found.end;
    }
    scrubbed.push_str(&text[from..]);
    scrubbed
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(prompt: &str, input: &str, repeat: u32) -> CassetteKey {
        let hash = |text: &str| Hash::of(text.as_bytes());
        CassetteKey { model: "a:b".to_owned(), prompt: hash(prompt), input: hash(input), repeat }
    }

    #[test]
    fn recorded_calls_are_replayed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/tape.ndjson");
        assert!(Cassette::open(&path, CassetteMode::ReplayOnly).is_err(), "none is there");
        let tape = Cassette::open(&path, CassetteMode::Record).unwrap();
        assert_eq!(tape.find(&key("p", "i", 0)), CassetteLookup::NotRecorded);
        tape.record(&key("p", "i", 0), json!({ "text": "one" })).unwrap();
        tape.record(&key("p", "i", 1), json!({ "text": "two" })).unwrap();
        drop(tape);
        for mode in [CassetteMode::ReplayOnly, CassetteMode::Record] {
            let tape = Cassette::open(&path, mode).unwrap();
            assert_eq!(
                tape.find(&key("p", "i", 0)),
                CassetteLookup::Found(json!({ "text": "one" }))
            );
            assert_eq!(
                tape.find(&key("p", "i", 1)),
                CassetteLookup::Found(json!({ "text": "two" }))
            );
            assert_eq!(tape.find(&key("p", "i", 2)), CassetteLookup::NotRecorded);
            assert_eq!(tape.find(&key("p2", "i", 0)), CassetteLookup::Stale);
            assert_eq!(tape.find(&key("p", "j", 0)), CassetteLookup::NotRecorded);
        }
    }

    #[test]
    fn an_unfinished_line_is_not_there_and_a_broken_one_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tape");
        let tape = Cassette::open(&path, CassetteMode::Record).unwrap();
        tape.record(&key("p", "i", 0), json!("one")).unwrap();
        tape.record(&key("p", "j", 0), json!("two")).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 9]).unwrap();
        let tape = Cassette::open(&path, CassetteMode::Record).unwrap();
        assert_eq!(tape.find(&key("p", "j", 0)), CassetteLookup::NotRecorded);
        tape.record(&key("p", "k", 0), json!("three")).unwrap();
        let tape = Cassette::open(&path, CassetteMode::ReplayOnly).unwrap();
        assert_eq!(tape.find(&key("p", "k", 0)), CassetteLookup::Found(json!("three")));
        assert_eq!(tape.find(&key("p", "i", 0)), CassetteLookup::Found(json!("one")));

        let header = text.lines().next().unwrap();
        for bad in [
            format!("{header}\n{{\n"),
            format!("{header}\n{{\"model\":\"a:b\"}}\n"),
            "{\"schema_version\":2,\"kind\":\"gbrain_cassette\"}\n".to_owned(),
            "{\"schema_version\":1,\"kind\":\"other\"}\n".to_owned(),
            "\u{0}\u{1}\n".to_owned(),
        ] {
            std::fs::write(&path, &bad).unwrap();
            let opened = Cassette::open(&path, CassetteMode::ReplayOnly);
            assert!(matches!(opened, Err(CassetteError::Broken { .. })), "{bad:?}");
        }
    }

    #[test]
    fn secrets_never_enter() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tape");
        let tape = Cassette::open(&path, CassetteMode::Record).unwrap();
        // Put together here, so that no file of ours holds what looks like a key.
        let secret = format!("ghp_{}", "abcdefghij1234567890ABCDEFGHIJ123456");
        let reply = json!({ "text": format!("the key is {secret}, ada@example.com owns it") });
        let scrubbed = tape.record(&key("p", "i", 0), reply).unwrap();
        assert_eq!(scrubbed["text"], format!("the key is {MARKER}, ada@example.com owns it"));
        assert!(!std::fs::read_to_string(&path).unwrap().contains(&secret));
    }
}
