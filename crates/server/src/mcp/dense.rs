//! Filters JSON-RPC lines that would take too much memory to parse.
//!
//! The protocol's reader parses a whole message into a value, which may be a hundred times larger.
//! A line is buffered, up to the size limit, and checked like the body of an HTTP request. A
//! request that is too expensive is replaced by a small one with the same id, which [`refusal`]
//! recognises and answers; other messages are dropped.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use gbrain_core::reading::shape::{ReadingCost, Shape};
use rmcp::ErrorData;
use rmcp::RoleServer;
use rmcp::model::{ClientRequest, JsonRpcMessage};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, ReadBuf};

/// Method of the request that replaces a refused one.
const REFUSED: &str = "gbrain/refused";

/// The longest request id that is answered.
const MAX_ID: usize = 256;

/// Size of the read buffer, in bytes.
const READ_BYTES: usize = 16 << 10;

/// An input that passes on only lines that fit the memory limit.
pub(super) struct DenseLineFilter<R> {
    input: R,
    max_line: usize,
    /// The incomplete line read so far.
    line: Vec<u8>,
    /// Whether that line exceeds the size limit.
    is_too_long: bool,
    /// Checked lines for the reader, and how many of their bytes were read.
    checked: Vec<u8>,
    consumed: usize,
}

impl<R> DenseLineFilter<R> {
    pub(super) fn new(input: R, max_line: usize) -> Self {
        let (line, checked) = (Vec::new(), Vec::new());
        Self { input, max_line, line, is_too_long: false, checked, consumed: 0 }
    }

    /// Adds bytes and checks the lines that end in them.
    fn take(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + part.len() > self.max_line {
                self.is_too_long = true;
                self.line = Vec::new();
            }
            if !self.is_too_long {
                self.line.extend_from_slice(part);
            }
            if part.ends_with(b"\n") {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_too_long) {
            tracing::warn!(longest = self.max_line, "a message is too long and was dropped");
            return;
        }
        let checked = match ReadingCost::VALUE.of(Shape::of(&line)) {
            Ok(_) => line,
            Err(error) => in_place_of(&line, &error.to_string()),
        };
        match self.checked.is_empty() {
            true => self.checked = checked,
            false => self.checked.extend_from_slice(&checked),
        }
    }

    /// Copies as much as the buffer takes.
    fn give(&mut self, into: &mut ReadBuf<'_>) {
        let rest = &self.checked[self.consumed..];
        let part = &rest[..rest.len().min(into.remaining())];
        into.put_slice(part);
        self.consumed += part.len();
        if self.consumed == self.checked.len() {
            (self.checked, self.consumed) = (Vec::new(), 0);
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for DenseLineFilter<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut piece = [0; READ_BYTES];
        while self.checked.is_empty() {
            let mut read = ReadBuf::new(&mut piece);
            ready!(Pin::new(&mut self.input).poll_read(context, &mut read))?;
            if read.filled().is_empty() {
                // End of input: an incomplete line is not a message.
                return Poll::Ready(Ok(()));
            }
            self.take(read.filled());
        }
        self.give(into);
        Poll::Ready(Ok(()))
    }
}

/// The parsed part of a message that is refused.
#[derive(Deserialize)]
struct MessageHead<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(rename = "method")]
    _method: IgnoredAny,
}

/// A small request with the id of a refused one; empty if the line is not a request.
fn in_place_of(line: &[u8], reason: &str) -> Vec<u8> {
    let head = serde_json::from_slice::<MessageHead<'_>>(line).ok();
    let id = head.map(|head| head.id).filter(|id| id.get().len() <= MAX_ID);
    let Some(id) = id else {
        tracing::warn!(reason, "a message cannot be parsed and was dropped");
        return Vec::new();
    };
    let small =
        json!({ "jsonrpc": "2.0", "id": id, "method": REFUSED, "params": { "reason": reason } });
    format!("{small}\n").into_bytes()
}

/// The error response to a replaced request; any other message is returned unchanged.
pub(super) fn refusal(
    message: RxJsonRpcMessage<RoleServer>,
) -> Result<RxJsonRpcMessage<RoleServer>, Box<TxJsonRpcMessage<RoleServer>>> {
    let JsonRpcMessage::Request(request) = &message else { return Ok(message) };
    let ClientRequest::CustomRequest(custom) = &request.request else { return Ok(message) };
    if custom.method != REFUSED {
        return Ok(message);
    }
    let reason = custom.params.as_ref().and_then(|params| params.get("reason")?.as_str());
    let message = format!("cannot read the message: {}", reason.unwrap_or_default());
    let error = ErrorData::invalid_request(message, None);
    Err(Box::new(JsonRpcMessage::error(error, Some(request.id.clone()))))
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    const MOST: usize = 4 << 20;

    async fn read(input: &[u8]) -> Vec<String> {
        let mut text = String::new();
        DenseLineFilter::new(input, MOST).read_to_string(&mut text).await.unwrap();
        text.lines().map(str::to_owned).collect()
    }

    fn dense() -> String {
        format!("[{}0]", "{\"\":0},".repeat(1 << 16))
    }

    #[tokio::test]
    async fn decent_lines_are_read_as_they_are() {
        let decent = format!("{{\"a\":\"{}\\\",[[[\"}}", ",".repeat(1 << 20));
        let lines = ["{\"id\":1}", &decent, "no message", "{\"id\":2}"];
        assert_eq!(read(format!("{}\n", lines.join("\n")).as_bytes()).await, lines);
    }

    /// Values before a long text are judged by the length of the whole message.
    #[tokio::test]
    async fn a_message_is_judged_as_a_whole() {
        let (values, text) = ("0,".repeat(3000), "a".repeat(MOST / 2));
        let line = format!(
            "{{\"id\":1,\"method\":\"ping\",\"params\":{{\"few\":[{values}0],\"text\":\"{text}\"}}}}"
        );
        assert!(ReadingCost::VALUE.of(Shape::of(&line.as_bytes()[..8000])).is_err());
        assert_eq!(read(format!("{line}\n").as_bytes()).await, [line]);
    }

    #[tokio::test]
    async fn a_dense_request_is_replaced_by_one_that_is_answered() {
        let request = format!("{{\"method\":\"ping\",\"params\":{},\"id\":\"x\"}}", dense());
        let note = format!("{{\"method\":\"ping\",\"params\":{}}}", dense());
        let long = format!("{{\"id\":3,\"method\":\"{}\"}}", "a".repeat(MOST));
        let lines = format!("{{\"id\":1}}\n{request}\n{note}\n{long}\n{{\"id\":2}}\n{request}");
        let found = read(lines.as_bytes()).await;
        assert_eq!((found.len(), &*found[0], &*found[2]), (3, "{\"id\":1}", "{\"id\":2}"));
        let message = serde_json::from_str(&found[1]).unwrap();
        let answer = serde_json::to_value(refusal(message).unwrap_err()).unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("x"), &json!(-32600)));
        let told = answer["error"]["message"].as_str().unwrap();
        assert!(told.contains("values in"), "{told}");
    }
}
