//! The values of a JSON file, one at a time: of an array, or one after another as in JSON lines.
//!
//! Promises: a file of any size is read in memory for its largest value; a file that ends in the
//! middle is an error, never fewer values.

use std::io::{self, Read};

/// The largest value that is read.
pub(super) const MAX_VALUE: usize = 512 << 20;

const BUFFER: usize = 1 << 20;

/// Why there is no next value.
#[derive(Debug, thiserror::Error)]
pub enum ValuesError {
    /// The file can't be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It ends in the middle.
    #[error(
        "the file ends in the middle of entry {number}, which begins at byte {byte}: is the download whole?"
    )]
    Truncated {
        /// Which value, from 1.
        number: usize,
        byte: u64,
    },
    /// The array is never closed.
    #[error("the file ends after entry {number} without `]`: is the download whole?")]
    Unclosed { number: usize },
    /// Something else than an object stands where one should.
    #[error("byte {byte}: `{found}` where an entry `{{…}}` should begin")]
    Unexpected { byte: u64, found: char },
    /// A value is too large.
    #[error("entry {number} is larger than {} MiB", MAX_VALUE >> 20)]
    TooLarge { number: usize },
}

/// Reads the objects of a file.
pub struct Values<R> {
    reader: R,
    buffer: Vec<u8>,
    /// What of the buffer is not looked at yet.
    at: usize,
    /// Bytes before the buffer.
    before: u64,
    number: usize,
    place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Start,
    InArray,
    InLines,
    End,
}

impl<R: Read> Values<R> {
    /// Reads from the beginning of a file.
    pub fn new(reader: R) -> Self {
        Self { reader, buffer: Vec::new(), at: 0, before: 0, number: 0, place: Place::Start }
    }

    /// The bytes of the next object.
    pub fn next_value(&mut self) -> Result<Option<Vec<u8>>, ValuesError> {
        loop {
            let Some(byte) = self.peek()? else {
                return match self.place {
                    Place::InArray => Err(ValuesError::Unclosed { number: self.number }),
                    Place::Start | Place::InLines | Place::End => Ok(None),
                };
            };
            match (byte, self.place) {
                (b' ' | b'\t' | b'\r' | b'\n', _) | (b',', Place::InArray) => self.at += 1,
                (b'[', Place::Start) => {
                    self.at += 1;
                    self.place = Place::InArray;
                }
                (b']', Place::InArray) => {
                    self.at += 1;
                    self.place = Place::End;
                }
                (0xef | 0xbb | 0xbf, Place::Start) if self.byte() < 3 => self.at += 1,
                (b'{', Place::Start | Place::InLines) => {
                    self.place = Place::InLines;
                    return self.object().map(Some);
                }
                (b'{', Place::InArray) => return self.object().map(Some),
                (found, _) => {
                    let found = char::from(found);
                    return Err(ValuesError::Unexpected { byte: self.byte(), found });
                }
            }
        }
    }

    /// Takes the object that begins here.
    fn object(&mut self) -> Result<Vec<u8>, ValuesError> {
        self.number += 1;
        let begins = self.byte();
        let start = self.at;
        let (mut depth, mut in_string, mut escaped) = (0usize, false, false);
        let mut at = start;
        loop {
            if at == self.buffer.len() {
                let kept = at - start;
                if kept > MAX_VALUE {
                    return Err(ValuesError::TooLarge { number: self.number });
                }
                if !self.fill_keeping(start)? {
                    return Err(ValuesError::Truncated { number: self.number, byte: begins });
                }
                return self.resume(kept, depth, in_string, escaped, begins);
            }
            let ends = step(self.buffer[at], &mut depth, &mut in_string, &mut escaped);
            at += 1;
            if ends {
                self.at = at;
                return Ok(self.buffer[start..at].to_vec());
            }
        }
    }

    /// Goes on with an object of which `kept` bytes at the buffer's beginning are looked at.
    fn resume(
        &mut self,
        kept: usize,
        mut depth: usize,
        mut in_string: bool,
        mut escaped: bool,
        begins: u64,
    ) -> Result<Vec<u8>, ValuesError> {
        let mut at = kept;
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
                return Err(ValuesError::TooLarge { number: self.number });
            }
            if !self.fill_keeping(0)? {
                return Err(ValuesError::Truncated { number: self.number, byte: begins });
            }
        }
    }

    fn peek(&mut self) -> Result<Option<u8>, ValuesError> {
        if self.at == self.buffer.len() && !self.fill_keeping(self.at)? {
            return Ok(None);
        }
        Ok(self.buffer.get(self.at).copied())
    }

    /// The place in the file of what is looked at.
    fn byte(&self) -> u64 {
        self.before + self.at as u64
    }

    /// Reads more, and forgets what lies before `from`; whether there was more.
    fn fill_keeping(&mut self, from: usize) -> Result<bool, ValuesError> {
        self.buffer.drain(..from);
        self.before += from as u64;
        self.at = self.at.saturating_sub(from);
        let kept = self.buffer.len();
        let more = BUFFER.max(kept);
        self.buffer.resize(kept + more, 0);
        let read = loop {
            match self.reader.read(&mut self.buffer[kept..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        let read = read.inspect_err(|_| self.buffer.truncate(kept))?;
        self.buffer.truncate(kept + read);
        Ok(read > 0)
    }
}

/// Takes a byte; whether the object ends with it.
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

    /// Gives a few bytes at a time.
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
        let read = |mut values: Values<Box<dyn Read + '_>>| {
            let mut found = Vec::new();
            loop {
                match values.next_value() {
                    Ok(Some(value)) => found.push(String::from_utf8(value).unwrap()),
                    Ok(None) => return Ok(found),
                    Err(error) => return Err(error.to_string()),
                }
            }
        };
        let whole = read(Values::new(Box::new(text.as_bytes())));
        assert_eq!(whole, read(Values::new(Box::new(Drip(text.as_bytes())))), "{text}");
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
    fn what_is_cut_off_is_no_file() {
        assert!(all(r#"[{"a":1},{"b":"#).unwrap_err().contains("entry 2"));
        assert!(all(r#"[{"a":1},"#).unwrap_err().contains("without `]`"));
        assert!(all(r#"[{"a":1}] x"#).unwrap_err().contains("`x`"));
        assert!(all("[1]").unwrap_err().contains("byte 1"));
        assert!(all("question_id,question").unwrap_err().contains("`q`"));
    }
}
