//! Streams the objects of a JSON file: of an array, or of JSON lines.
//!
//! Promises: memory is bounded by the largest object; a truncated file is an error, never fewer
//! objects.

use std::io::{self, Read};

/// Size limit of an object.
pub(super) const MAX_VALUE: usize = 512 << 20;

const BUFFER: usize = 1 << 20;

#[derive(Debug, thiserror::Error)]
pub enum DatasetObjectError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(
        "the file ends in the middle of entry {number}, which begins at byte {byte}: is the download complete?"
    )]
    Truncated {
        /// Number of the object, from 1.
        number: usize,
        byte: u64,
    },
    #[error("the file ends after entry {number} without `]`: is the download complete?")]
    Unclosed { number: usize },
    /// Another value where an object was expected.
    #[error("byte {byte}: found `{found}` instead of an entry `{{…}}`")]
    Unexpected { byte: u64, found: char },
    #[error("entry {number} is larger than {} MiB", MAX_VALUE >> 20)]
    TooLarge { number: usize },
}

/// Reads the objects of a file.
pub struct DatasetObjectReader<R> {
    reader: R,
    buffer: Vec<u8>,
    at: usize,
    /// Bytes before the buffer.
    before: u64,
    number: usize,
    state: ParserState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ParserState {
    Start,
    InArray,
    InLines,
    End,
}

impl<R: Read> DatasetObjectReader<R> {
    pub fn new(reader: R) -> Self {
        Self { reader, buffer: Vec::new(), at: 0, before: 0, number: 0, state: ParserState::Start }
    }

    pub fn next_object_bytes(&mut self) -> Result<Option<Vec<u8>>, DatasetObjectError> {
        loop {
            let Some(byte) = self.peek()? else {
                return match self.state {
                    ParserState::InArray => {
                        Err(DatasetObjectError::Unclosed { number: self.number })
                    }
                    ParserState::Start | ParserState::InLines | ParserState::End => Ok(None),
                };
            };
            match (byte, self.state) {
                (b' ' | b'\t' | b'\r' | b'\n', _) | (b',', ParserState::InArray) => self.at += 1,
                (b'[', ParserState::Start) => {
                    self.at += 1;
                    self.state = ParserState::InArray;
                }
                (b']', ParserState::InArray) => {
                    self.at += 1;
                    self.state = ParserState::End;
                }
                (0xef | 0xbb | 0xbf, ParserState::Start) if self.byte() < 3 => self.at += 1,
                (b'{', ParserState::Start | ParserState::InLines) => {
                    self.state = ParserState::InLines;
                    return self.object().map(Some);
                }
                (b'{', ParserState::InArray) => return self.object().map(Some),
                (found, _) => {
                    let found = char::from(found);
                    return Err(DatasetObjectError::Unexpected { byte: self.byte(), found });
                }
            }
        }
    }

    /// Reads the object that begins here.
    fn object(&mut self) -> Result<Vec<u8>, DatasetObjectError> {
        self.number += 1;
        let begins = self.byte();
        let start = self.at;
        let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
        let mut at = start;
        loop {
            if at == self.buffer.len() {
                let scanned = at - start;
                if scanned > MAX_VALUE {
                    return Err(DatasetObjectError::TooLarge { number: self.number });
                }
                if !self.fill_from(start)? {
                    return Err(DatasetObjectError::Truncated {
                        number: self.number,
                        byte: begins,
                    });
                }
                return self.resume(scanned, depth, in_string, escaped, begins);
            }
            let ends = step(self.buffer[at], &mut depth, &mut in_string, &mut escaped);
            at += 1;
            if ends {
                self.at = at;
                return Ok(self.buffer[start..at].to_vec());
            }
        }
    }

    /// Continues an object whose first `kept` bytes are scanned.
    fn resume(
        &mut self,
        scanned: usize,
        mut depth: usize,
        mut in_string: bool,
        mut escaped: bool,
        begins: u64,
    ) -> Result<Vec<u8>, DatasetObjectError> {
        let mut at = scanned;
        loop {
            while at < self.buffer.len() {
                let ends = step(self.buffer[at], &mut depth, &mut in_string, &mut escaped);
                at += 1;
                if ends {
                    self.at = at;
                    return Ok(self.buffer[..at].to_vec());
                }
            }
            if at > MAX_VALUE {
                return Err(DatasetObjectError::TooLarge { number: self.number });
            }
            if !self.fill_from(0)? {
                return Err(DatasetObjectError::Truncated { number: self.number, byte: begins });
            }
        }
    }

    fn peek(&mut self) -> Result<Option<u8>, DatasetObjectError> {
        if self.at == self.buffer.len() && !self.fill_from(self.at)? {
            return Ok(None);
        }
        Ok(self.buffer.get(self.at).copied())
    }

    /// The current position in the file.
    fn byte(&self) -> u64 {
        self.before + self.at as u64
    }

    /// Reads more and discards the buffer before `from`; returns whether there was more.
    fn fill_from(&mut self, from: usize) -> Result<bool, DatasetObjectError> {
        self.buffer.drain(..from);
        self.before += from as u64;
        self.at = self.at.saturating_sub(from);
        let scanned = self.buffer.len();
        let more = BUFFER.max(scanned);
        self.buffer.resize(scanned + more, 0);
        let read = loop {
            match self.reader.read(&mut self.buffer[scanned..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        let read = read.inspect_err(|_| self.buffer.truncate(scanned))?;
        self.buffer.truncate(scanned + read);
        Ok(read > 0)
    }
}

/// Processes a byte; returns whether the object ends with it.
fn step(byte: u8, depth: &mut usize, in_string: &mut bool, escaped: &mut bool) -> bool {
    if *in_string {
        match byte {
            _ if *escaped => *escaped = false,
            b'\\' => *escaped = true,
            b'"' => *in_string = false,
            _ => {}
        }
        return false;
    }
    match byte {
        b'"' => *in_string = true,
        b'{' | b'[' => *depth += 1,
        b'}' | b']' => {
            *depth = depth.saturating_sub(1);
            return *depth == 0;
        }
        _ => {}
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a few bytes at a time.
    struct Drip<'a>(&'a [u8]);

    impl Read for Drip<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let n = self.0.len().min(3).min(into.len());
            into[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    fn all(text: &str) -> Result<Vec<String>, String> {
        let read = |mut values: DatasetObjectReader<Box<dyn Read + '_>>| {
            let mut found = Vec::new();
            loop {
                match values.next_object_bytes() {
                    Ok(Some(value)) => found.push(String::from_utf8(value).unwrap()),
                    Ok(None) => return Ok(found),
                    Err(error) => return Err(error.to_string()),
                }
            }
        };
        let whole = read(DatasetObjectReader::new(Box::new(text.as_bytes())));
        assert_eq!(
            whole,
            read(DatasetObjectReader::new(Box::new(Drip(text.as_bytes())))),
            "{text}"
        );
        whole
    }

    #[test]
    fn arrays_and_lines() {
        let objects = vec![r#"{"a":"]}\"{"}"#.to_owned(), r#"{"b":[{}]}"#.to_owned()];
        assert_eq!(all(&format!("[{}, {}]", objects[0], objects[1])), Ok(objects.clone()));
        assert_eq!(all(&format!("\u{feff}\n{}\n{}\n", objects[0], objects[1])), Ok(objects));
        assert_eq!(all(""), Ok(vec![]));
        assert_eq!(all(" [ ] "), Ok(vec![]));
    }

    #[test]
    fn truncated_files_are_refused() {
        assert!(all(r#"[{"a":1},{"b":"#).unwrap_err().contains("entry 2"));
        assert!(all(r#"[{"a":1},"#).unwrap_err().contains("without `]`"));
        assert!(all(r#"[{"a":1}] x"#).unwrap_err().contains("`x`"));
        assert!(all("[1]").unwrap_err().contains("byte 1"));
        assert!(all("question_id,question").unwrap_err().contains("`q`"));
    }
}
