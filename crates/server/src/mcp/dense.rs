//! Messages on lines, without those that would take too much memory to read.
//!
//! The protocol's reader makes a value of all of a message, and a small one may become a hundred times as
//! large. Values are counted while the bytes go by; the rest of a line that has too many for its length is left
//! out, so that it is no message any more and is passed over like everything that is none.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use gbrain_core::format::shape::{ReadingCost, Shape};
use tokio::io::{AsyncRead, ReadBuf};

/// An input whose lines can be read in the memory for one body.
pub(super) struct WithoutDenseLines<R> {
    input: R,
    line: Line,
}

/// What is known of the line that is being read.
#[derive(Debug, Clone, Copy)]
struct Line {
    bytes: usize,
    values: usize,
    is_in_text: bool,
    is_escaped: bool,
    is_left_out: bool,
}

impl Line {
    const NEW: Self =
        Self { bytes: 0, values: 1, is_in_text: false, is_escaped: false, is_left_out: false };

    /// Takes one byte in, and says whether it goes on to the reader.
    fn takes(&mut self, byte: u8) -> bool {
        if byte == b'\n' {
            *self = Self::NEW;
            return true;
        }
        if self.is_left_out {
            return false;
        }
        self.bytes += 1;
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' if self.is_in_text => self.is_escaped = true,
            b'"' => self.is_in_text = !self.is_in_text,
            b',' | b'[' | b'{' if !self.is_in_text => {
                self.values += 1;
                let shape = Shape { bytes: self.bytes, values: self.values, depth: 0 };
                self.is_left_out = ReadingCost::VALUE.of(shape).is_err();
            }
            _ => {}
        }
        !self.is_left_out
    }
}

impl<R> WithoutDenseLines<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, line: Line::NEW }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for WithoutDenseLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let start = into.filled().len();
            ready!(Pin::new(&mut self.input).poll_read(context, into))?;
            let read = into.filled().len();
            let mut end = start;
            for at in start..read {
                let byte = into.filled()[at];
                if self.line.takes(byte) {
                    into.filled_mut()[end] = byte;
                    end += 1;
                }
            }
            into.set_filled(end);
            // Nothing at all would be taken for the end of the input.
            if end > start || read == start {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    async fn read(input: &[u8]) -> String {
        let mut text = String::new();
        WithoutDenseLines::new(input).read_to_string(&mut text).await.unwrap();
        text
    }

    #[tokio::test]
    async fn only_dense_lines_are_left_out() {
        let decent = format!("{{\"a\":\"{}\\\",[[[\"}}\n", ",".repeat(1 << 20));
        assert_eq!(read(decent.as_bytes()).await, decent);
        let dense = format!("{{\"a\":[{}0]}}", "{\"\":0},".repeat(1 << 16));
        let lines = format!("{{\"id\":1}}\n{dense}\n{{\"id\":2}}\n{dense}");
        let left = read(lines.as_bytes()).await;
        let left: Vec<&str> = left.split('\n').collect();
        assert_eq!((left.len(), left[0], left[2]), (4, "{\"id\":1}", "{\"id\":2}"));
        assert!(left[1].len() < 64 << 10, "{}", left[1].len());
        assert!(dense.starts_with(left[1]) && dense.starts_with(left[3]));
    }
}
