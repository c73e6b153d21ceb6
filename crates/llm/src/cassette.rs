//! Cassettes: what models said, recorded, so that judges run again without a key and without a network.
//!
//! An answer is kept under the model, the hash of the prompt, the hash of the input and the number of the
//! repeat. A prompt that changed makes what was recorded of it stale: that is told apart from what was
//! never recorded, because the first means that the cassette has to be made again.
//!
//! A file holds one JSON object a line: a header, then answers, the latest of a key counting. A last line
//! that a killed process did not finish is not there. Inputs are kept as hashes only, and secrets in
//! answers are taken out before they are written.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use gbrain_core::hash::Hash;
use gbrain_core::scrub::{Family, MARKER, Scrubber};
use serde::{Deserialize, Serialize};
use serde_json::Value;

const VERSION: u32 = 1;
const KIND: &str = "gbrain_cassette";
/// What is a secret in any file. Addresses and numbers are what a judge may have to talk about.
const SECRETS: [Family; 6] = [
    Family::Jwt,
    Family::Bearer,
    Family::ApiKey,
    Family::Secret,
    Family::PrivateKey,
    Family::ConnectionString,
];

/// What to do about a question that is not on the cassette.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CassetteMode {
    /// Ask, and record the answer.
    Record,
    ReplayOnly,
}

/// Why a cassette can't be used.
#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    /// The file can't be read or written.
    #[error("the cassette {} can't be used: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    /// The file is not a cassette.
    #[error("the cassette {} is broken at line {line}: {reason}", path.display())]
    Broken {
        path: PathBuf,
        line: usize,
        /// What is wrong there.
        reason: String,
    },
}

/// What an answer is kept under.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) model: String,
    pub(crate) prompt: Hash,
    pub(crate) input: Hash,
    pub(crate) repeat: u32,
}

/// What a cassette knows of a key.
#[derive(Debug, PartialEq)]
pub(crate) enum Recalled {
    Said(Value),
    /// Of the same input, but of another prompt.
    Stale,
    Unknown,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    schema_version: u32,
    kind: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    model: String,
    prompt_sha256: String,
    input_sha256: String,
    repeat: u32,
    answer: Value,
}

/// Recorded answers.
#[derive(Debug)]
pub struct Cassette {
    mode: CassetteMode,
    path: PathBuf,
    tape: Mutex<Tape>,
    scrubber: Scrubber,
}

#[derive(Debug, Default)]
struct Tape {
    answers: HashMap<Key, Value>,
    /// Keys without their prompts.
    inputs: HashMap<(String, Hash, u32), Hash>,
    file: Option<File>,
}

impl Cassette {
    /// Opens a cassette. To record, one is made if none is there; to replay it must be there.
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
        let scrubber = Scrubber::new(&[]).expect("no pattern of the user is no bad pattern");
        Ok(Self { mode, path: path.to_owned(), tape: Mutex::new(tape), scrubber })
    }

    /// What to do about what is not on it.
    pub fn mode(&self) -> CassetteMode {
        self.mode
    }

    pub(crate) fn find(&self, key: &Key) -> Recalled {
        let tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = tape.answers.get(key) {
            return Recalled::Said(answer.clone());
        }
        let input = (key.model.clone(), key.input, key.repeat);
        if tape.inputs.contains_key(&input) { Recalled::Stale } else { Recalled::Unknown }
    }

    /// Records an answer, without the secrets in it; what is now on the cassette.
    pub(crate) fn keep(&self, key: &Key, answer: Value) -> Result<Value, CassetteError> {
        let answer = without_secrets(&self.scrubber, answer);
        let line = Line {
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
    fn insert(&mut self, key: Key, answer: Value) {
        self.inputs.insert((key.model.clone(), key.input, key.repeat), key.prompt);
        self.answers.insert(key, answer);
    }
}

/// The file to append to, cut to its whole lines and with a header.
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
        let line: Line = serde_json::from_slice(line).map_err(|error| broken(error.to_string()))?;
        let hash =
            |hex: &str| Hash::from_hex(hex).ok_or_else(|| broken("a hash is none".to_owned()));
        let key = Key {
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
    let known = header.schema_version == VERSION;
    known.then_some(()).ok_or_else(|| {
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
    let mut kept = String::with_capacity(text.len());
    let mut from = 0;
    for found in scrubber.find(text).iter().filter(|found| SECRETS.contains(&found.family)) {
        kept.push_str(&text[from..found.start]);
        kept.push_str(MARKER);
        from = found.end;
    }
    kept.push_str(&text[from..]);
    kept
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key(prompt: &str, input: &str, repeat: u32) -> Key {
        let hash = |text: &str| Hash::of(text.as_bytes());
        Key { model: "a:b".to_owned(), prompt: hash(prompt), input: hash(input), repeat }
    }

    #[test]
    fn what_is_recorded_is_replayed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/tape.ndjson");
        assert!(Cassette::open(&path, CassetteMode::ReplayOnly).is_err(), "none is there");
        let tape = Cassette::open(&path, CassetteMode::Record).unwrap();
        assert_eq!(tape.find(&key("p", "i", 0)), Recalled::Unknown);
        tape.keep(&key("p", "i", 0), json!({ "text": "one" })).unwrap();
        tape.keep(&key("p", "i", 1), json!({ "text": "two" })).unwrap();
        drop(tape);
        for mode in [CassetteMode::ReplayOnly, CassetteMode::Record] {
            let tape = Cassette::open(&path, mode).unwrap();
            assert_eq!(tape.find(&key("p", "i", 0)), Recalled::Said(json!({ "text": "one" })));
            assert_eq!(tape.find(&key("p", "i", 1)), Recalled::Said(json!({ "text": "two" })));
            assert_eq!(tape.find(&key("p", "i", 2)), Recalled::Unknown);
            assert_eq!(tape.find(&key("p2", "i", 0)), Recalled::Stale);
            assert_eq!(tape.find(&key("p", "j", 0)), Recalled::Unknown);
        }
    }

    #[test]
    fn an_unfinished_line_is_not_there_and_a_broken_one_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tape");
        let tape = Cassette::open(&path, CassetteMode::Record).unwrap();
        tape.keep(&key("p", "i", 0), json!("one")).unwrap();
        tape.keep(&key("p", "j", 0), json!("two")).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 9]).unwrap();
        let tape = Cassette::open(&path, CassetteMode::Record).unwrap();
        assert_eq!(tape.find(&key("p", "j", 0)), Recalled::Unknown);
        tape.keep(&key("p", "k", 0), json!("three")).unwrap();
        let tape = Cassette::open(&path, CassetteMode::ReplayOnly).unwrap();
        assert_eq!(tape.find(&key("p", "k", 0)), Recalled::Said(json!("three")));
        assert_eq!(tape.find(&key("p", "i", 0)), Recalled::Said(json!("one")));

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
        let said = json!({ "text": format!("the key is {secret}, ada@example.com owns it") });
        let kept = tape.keep(&key("p", "i", 0), said).unwrap();
        assert_eq!(kept["text"], format!("the key is {MARKER}, ada@example.com owns it"));
        assert!(!std::fs::read_to_string(&path).unwrap().contains(&secret));
    }
}
