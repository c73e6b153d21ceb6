//! Messages on lines, without those that would take too much memory to read.
//!
//! The protocol's reader makes a value of all of a message, and a small one may become a hundred times as
//! large. A line is held until it is whole, at most as long as a message may be, and is judged as the body of
//! an HTTP request is. In the place of a request that is not read, a small one comes with its id, which
//! [`refusal`] recognises, so that it can be answered; what is no request is left out.

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

/// The method of what comes in the place of a request that is not read.
const REFUSED: &str = "gbrain/refused";

/// The longest id that is answered.
const MAX_ID: usize = 256;

/// How much is read at once.
const PIECE: usize = 16 << 10;

/// An input whose lines can be read in the memory for one body.
pub(super) struct WithoutDenseLines<R> {
    input: R,
    max_line: usize,
    /// What was read of the line that is not whole yet.
    line: Vec<u8>,
    /// Whether that line is longer than any may be.
    is_too_long: bool,
    /// Lines that go on to the reader, and how much of them went.
    judged: Vec<u8>,
    given: usize,
}

impl<R> WithoutDenseLines<R> {
    pub(super) fn new(input: R, max_line: usize) -> Self {
        let (line, judged) = (Vec::new(), Vec::new());
        Self { input, max_line, line, is_too_long: false, judged, given: 0 }
    }

    /// Takes bytes in, and judges the lines that end in them.
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
        let judged = match ReadingCost::VALUE.of(Shape::of(&line)) {
            Ok(_) => line,
            Err(error) => in_place_of(&line, &error.to_string()),
        };
        match self.judged.is_empty() {
            true => self.judged = judged,
            false => self.judged.extend_from_slice(&judged),
        }
    }

    /// Gives on as much as there is room for.
    fn give(&mut self, into: &mut ReadBuf<'_>) {
        let rest = &self.judged[self.given..];
        let part = &rest[..rest.len().min(into.remaining())];
        into.put_slice(part);
        self.given += part.len();
        if self.given == self.judged.len() {
            (self.judged, self.given) = (Vec::new(), 0);
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for WithoutDenseLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut piece = [0; PIECE];
        while self.judged.is_empty() {
            let mut read = ReadBuf::new(&mut piece);
            ready!(Pin::new(&mut self.input).poll_read(context, &mut read))?;
            if read.filled().is_empty() {
                // The end: a line without its end is no message.
                return Poll::Ready(Ok(()));
            }
            self.take(read.filled());
        }
        self.give(into);
        Poll::Ready(Ok(()))
    }
}

/// What is looked at of a message that is not read.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(rename = "method")]
    _method: IgnoredAny,
}

/// A small request with the id of one that is not read; nothing for what is no request.
fn in_place_of(line: &[u8], reason: &str) -> Vec<u8> {
    let head = serde_json::from_slice::<Head<'_>>(line).ok();
    let id = head.map(|head| head.id).filter(|id| id.get().len() <= MAX_ID);
    let Some(id) = id else {
        tracing::warn!(reason, "a message can't be read and was dropped");
        return Vec::new();
    };
    let small =
        json!({ "jsonrpc": "2.0", "id": id, "method": REFUSED, "params": { "reason": reason } });
    format!("{small}\n").into_bytes()
}

/// The answer to what comes in the place of a request that was not read; the message itself otherwise.
pub(super) fn refusal(
    message: RxJsonRpcMessage<RoleServer>,
) -> Result<RxJsonRpcMessage<RoleServer>, Box<TxJsonRpcMessage<RoleServer>>> {
    let JsonRpcMessage::Request(request) = &message else { return Ok(message) };
    let ClientRequest::CustomRequest(custom) = &request.request else { return Ok(message) };
    if custom.method != REFUSED {
        return Ok(message);
    }
    let reason = custom.params.as_ref().and_then(|params| params.get("reason")?.as_str());
    let told = format!("the message can't be read: {}", reason.unwrap_or_default());
    let error = ErrorData::invalid_request(told, None);
    Err(Box::new(JsonRpcMessage::error(error, Some(request.id.clone()))))
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    const MOST: usize = 4 << 20;

    async fn read(input: &[u8]) -> Vec<String> {
        let mut text = String::new();
        WithoutDenseLines::new(input, MOST).read_to_string(&mut text).await.unwrap();
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
