//! Reads files within size limits. `output.rs` writes them.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use gbrain_core::baseline::{Baseline, BaselineError, BaselineReader, CaptureFile, SignatureCheck};
use gbrain_core::capture::CapturedRow;
use serde_json::Value;

use crate::EvalError;

/// Maximum length of a line in a file of rows.
pub const MAX_LINE: usize = 4 << 20;
/// Maximum size of a file that is read as one document.
pub const MAX_DOCUMENT: u64 = 512 << 20;

/// A line-based input with its path for messages.
pub struct Input<'a> {
    path: &'a Path,
    reader: Box<dyn BufRead + 'a>,
    signature: SignatureCheck,
}

impl<'a> Input<'a> {
    /// Opens a file; `-` is stdin.
    pub fn open(path: &'a Path) -> Result<Self, EvalError> {
        if path == Path::new("-") {
            return Ok(Self::new(path, std::io::stdin().lock()));
        }
        let file =
            File::open(path).map_err(|source| EvalError::Io { path: path.to_owned(), source })?;
        Ok(Self::new(path, BufReader::with_capacity(1 << 16, file)))
    }

    /// An input from any reader, named by a path.
    pub fn new(path: &'a Path, reader: impl BufRead + 'a) -> Self {
        Self { path, reader: Box::new(reader), signature: SignatureCheck::NoKey }
    }

    /// The same input, with its signature checked if it is a baseline.
    #[must_use]
    pub fn checking(self, signature: SignatureCheck) -> Self {
        Self { signature, ..self }
    }

    fn each_line(
        mut self,
        mut take: impl FnMut(&str) -> Result<(), BaselineError>,
    ) -> Result<(), EvalError> {
        let path = || self.path.to_owned();
        let mut buffer = Vec::new();
        let mut line = 0;
        loop {
            buffer.clear();
            line += 1;
            let mut limited = (&mut self.reader).take(MAX_LINE as u64 + 1);
            let read = limited.read_until(b'\n', &mut buffer);
            let read = read.map_err(|source| EvalError::Io { path: path(), source })?;
            if read == 0 {
                return Ok(());
            }
            if buffer.len() > MAX_LINE {
                return Err(EvalError::LongLine { path: path(), line, limit: MAX_LINE });
            }
            let text = std::str::from_utf8(&buffer)
                .map_err(|_| EvalError::NotText { path: path(), line })?;
            take(text).map_err(|source| EvalError::Baseline { path: path(), source })?;
        }
    }
}

/// Reads captures or a baseline; a baseline is verified.
pub fn read_captures(input: Input<'_>) -> Result<CaptureFile, EvalError> {
    let path = input.path.to_owned();
    let mut reader = BaselineReader::default().checking(input.signature.clone());
    input.each_line(|text| reader.line(text))?;
    reader.finish().map_err(|source| EvalError::Baseline { path, source })
}

/// Reads a baseline and verifies it.
pub fn read_baseline(input: Input<'_>) -> Result<Baseline, EvalError> {
    let path = input.path.to_owned();
    let mut reader = BaselineReader::default().checking(input.signature.clone());
    input.each_line(|text| reader.line(text))?;
    reader.finish_baseline().map_err(|source| EvalError::Baseline { path, source })
}

/// Reads captures for publishing: each row with the object it was read from. A baseline is verified.
pub fn read_publishable(input: Input<'_>) -> Result<Vec<(Value, CapturedRow)>, EvalError> {
    let path = input.path.to_owned();
    let mut reader = BaselineReader::keeping_objects().checking(input.signature.clone());
    input.each_line(|text| reader.line(text))?;
    reader.finish_publishable().map_err(|source| EvalError::Baseline { path, source })
}

/// Reads a file as one document, within the size limit. A file with the extension `.gz` is
/// unpacked.
pub fn read_document(path: &Path) -> Result<Vec<u8>, EvalError> {
    let failed = |source| EvalError::Io { path: path.to_owned(), source };
    let too_large = || EvalError::LargeDocument { path: path.to_owned(), limit: MAX_DOCUMENT };
    let file = File::open(path).map_err(failed)?;
    // A pipe has no length, so its content is limited while reading.
    let length = file.metadata().map_err(failed)?.len();
    if length > MAX_DOCUMENT {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    let is_packed = path.extension().is_some_and(|extension| extension == "gz");
    let reader: Box<dyn Read> =
        if is_packed { Box::new(MultiGzDecoder::new(file)) } else { Box::new(file) };
    reader.take(MAX_DOCUMENT + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > MAX_DOCUMENT { Err(too_large()) } else { Ok(bytes) }
}
