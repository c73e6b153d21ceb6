//! The one shape of an error at the edge: what `--json` prints, the HTTP API returns and a tool
//! call answers when the work could not be done.
//!
//! Libraries have typed errors; each crate maps its own to a kind of fault beside them. The exit
//! code of a process and the status of a connection are decided there.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::address::without_passwords;
use crate::named;

/// The reason why an operation failed, as reported to the caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// Decides the HTTP status, the MCP code and the exit code.
    pub kind: FaultKind,
    /// The full error message.
    pub message: String,
    /// Steps that fix the problem.
    pub hints: Vec<String>,
}

/// Lists the kinds with their wire names, and gives a constructor to each kind that needs only a
/// message.
macro_rules! kinds {
    ($(#[doc = $meaning:literal] $kind:ident = $name:literal $(, $function:ident)?;)+) => {
        /// Why a fault happened, as a stable word for programs. A new kind needs an HTTP status
        /// (`server/http/reply.rs`), an MCP code (`server/mcp/outcome.rs`) and an exit code (`cli/error.rs`).
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum FaultKind {
            $(#[doc = $meaning] $kind,)+
        }

        named! { FaultKind { $($kind = $name),+ } }

        impl Fault {
            $($(
                #[doc = $meaning]
                pub fn $function(message: impl Into<String>) -> Self {
                    Self::new(FaultKind::$kind, message)
                }
            )?)+
        }
    };
}

kinds! {
    /// The request is invalid as written.
    Usage = "usage", usage;
    /// A setting is wrong.
    Config = "config", config;
    /// A file or document can't be understood.
    Input = "input";
    /// A file could not be read or written.
    Io = "io";
    /// A text is not a page.
    Page = "page";
    /// There is no such thing, or not for this caller.
    NotFound = "not_found", not_found;
    /// There is no such workspace.
    UnknownWorkspace = "unknown_workspace";
    /// There is no such source.
    UnknownSource = "unknown_source";
    /// The state of things forbids it: a name is taken, or something is in the way.
    Conflict = "conflict", conflict;
    /// It would show captures of real use to others.
    Private = "private", private;
    /// The caller sent no credentials, or unknown ones.
    Unauthorised = "unauthorised", unauthorised;
    /// The caller is known, and may not do this.
    Forbidden = "forbidden", forbidden;
    /// The address does not take this method.
    MethodNotAllowed = "method_not_allowed", method_not_allowed;
    /// The body is not of a type that is read here.
    UnsupportedMediaType = "unsupported_media_type", unsupported_media_type;
    /// The request is larger than the limit.
    TooLarge = "too_large", too_large;
    /// The caller asks too often: try again later.
    RateLimited = "rate_limited", rate_limited;
    /// The server is overloaded: try again later.
    Overloaded = "overloaded", overloaded;
    /// It took too long.
    Timeout = "timeout", timeout;
    /// The operation was cancelled.
    Cancelled = "cancelled", cancelled;
    /// It may cost more than is allowed.
    OverBudget = "over_budget", over_budget;
    /// A model could not be called, or did not answer.
    Model = "model";
    /// A target could not be queried, or did not answer.
    Target = "target";
    /// Every worker that tried was lost.
    AttemptsExhausted = "attempts_exhausted", attempts_exhausted;
    /// The service is starting or ending: try again later.
    Unavailable = "unavailable", unavailable;
    /// The database does not answer: try again later.
    Unreachable = "unreachable";
    /// Another process held a needed resource for too long: try again.
    Busy = "busy";
    /// The database has no schema yet.
    NotInitialised = "not_initialised";
    /// The database reported an error.
    Store = "store";
    /// The search index reported an error.
    Index = "index";
    /// A mistake of ours.
    Internal = "internal", internal;
}

impl Fault {
    /// A message without passwords, and the remedy for a full disk where one is the reason.
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        let message: String = message.into();
        let message = without_passwords(&message).into_owned();
        let hints = disk_hint(&message).map(str::to_owned).into_iter().collect();
        Self { kind, message, hints }
    }

    /// A fault that an error is the reason of: its message is the whole [`chain`].
    pub fn of(kind: FaultKind, error: &dyn Error) -> Self {
        Self::new(kind, chain(error))
    }

    /// A file that could not be read or written.
    pub fn io(what: impl std::fmt::Display, error: &std::io::Error) -> Self {
        Self::new(FaultKind::Io, format!("{what}: {error}"))
    }

    /// A file or document that was read and says nothing that can be understood.
    pub fn input(what: impl std::fmt::Display, error: &dyn Error) -> Self {
        Self::new(FaultKind::Input, format!("{what}: {}", chain(error)))
    }

    /// The same fault with a remedy.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(without_passwords(&hint.into()).into_owned());
        self
    }

    /// The message and its hints, for the terminal.
    pub fn to_text(&self) -> String {
        let mut text = format!("error: {}\n", one_line(&self.message));
        for hint in &self.hints {
            writeln!(text, "hint: {}", one_line(hint)).expect("writing to a string succeeds");
        }
        text
    }

    /// The wire form of the fault.
    pub fn wire_body(&self) -> FaultBody {
        let Self { kind, message, hints } = self;
        let (kind, message) = (Cow::Borrowed(kind.name()), one_line(message));
        FaultBody {
            status: FaultMarker::Error,
            error: FaultDetail { kind, message, hints: hints.clone() },
        }
    }

    /// The [`wire_body`](Self::wire_body) as a value.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self.wire_body()).expect("a fault has text keys only")
    }
}

/// A fault on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FaultBody {
    /// Distinguishes a fault from an answer.
    pub status: FaultMarker,
    /// The details of the error.
    pub error: FaultDetail,
}

/// The word that distinguishes a fault from an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum FaultMarker {
    /// The only status of a fault.
    Error,
}

/// The details of an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FaultDetail {
    /// A stable word for programs.
    #[schemars(extend("enum" = FaultKind::ALL))]
    pub kind: Cow<'static, str>,
    /// The error message on one line.
    pub message: String,
    /// Steps that fix the problem.
    pub hints: Vec<String>,
}

/// The remedy for a full disk, quota or file. Libraries wrap the error of the operating system in
/// many ways, but all of them keep its text.
fn disk_hint(message: &str) -> Option<&'static str> {
    const FULL: [(&str, &str); 3] = [
        (
            "No space left on device",
            "the disk is full (`df -h` shows which, `df -i` whether only its inodes are): free some space, then run the \
             command again",
        ),
        (
            "Disk quota exceeded",
            "the quota of this user is used up (`quota` shows it): free some space, then run the command again",
        ),
        (
            "File too large",
            "the limit on the size of a file was reached (`ulimit -f` shows it): raise it, then run the command again",
        ),
    ];
    FULL.iter().find(|(words, _)| message.contains(words)).map(|(_, hint)| *hint)
}

/// The longest message, in characters.
const LONGEST: usize = 1000;

/// A message that may quote a file: its control characters are escaped, and its middle is left out
/// where it is too long to be read.
pub fn one_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len().min(2 * LONGEST));
    for c in shortened(text).chars() {
        if c.is_control() {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// A text without its middle where it is too long to be read.
pub fn shortened(text: &str) -> Cow<'_, str> {
    let length = text.chars().count();
    if length <= LONGEST {
        return Cow::Borrowed(text);
    }
    let place = |at: usize| text.char_indices().nth(at).map_or(text.len(), |(place, _)| place);
    let (start, end) = (place(LONGEST / 2), place(length - LONGEST / 2));
    Cow::Owned(format!("{} … {}", &text[..start], &text[end..]))
}

/// The message in the error body of another service, in the shapes that are in use.
pub fn message_in(body: &serde_json::Value) -> Option<&str> {
    let error = &body["error"];
    let own = [&error["message"], &body["message"], &body["detail"], error];
    own.into_iter().find_map(serde_json::Value::as_str)
}

/// An error and its sources, each once.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            write!(text, ": {cause_text}").expect("writing to a string succeeds");
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_that_can_be_read() {
        assert_eq!(one_line("größe: `a\u{1b}[31m\nb`"), "größe: `a\\u{1b}[31m\\nb`");
        let long = one_line(&format!("start {} end", "ü".repeat(5000)));
        assert!(long.starts_with("start ü") && long.ends_with("ü end"), "{long}");
        assert_eq!(long.chars().count(), LONGEST + 3);
    }

    #[test]
    fn a_fault_reads_back_from_what_it_prints() {
        let fault = Fault::not_found("there is no page `a`\n").hint("did you mean `b`?");
        assert_eq!(
            fault.to_json().to_string(),
            r#"{"status":"error","error":{"kind":"not_found","message":"there is no page `a`\\n","hints":["did you mean `b`?"]}}"#
        );
        let read: FaultBody = serde_json::from_value(fault.to_json()).unwrap();
        assert_eq!(read, fault.wire_body());
        assert_eq!(fault.to_text(), "error: there is no page `a`\\n\nhint: did you mean `b`?\n");
    }

    #[test]
    fn a_full_disk_has_a_remedy_however_it_is_wrapped() {
        for (code, words) in [(28, "`df -h`"), (122, "`quota`"), (27, "`ulimit -f`")] {
            let error = std::io::Error::from_raw_os_error(code);
            let wrapped = std::io::Error::other(format!("could not save: {error}"));
            for fault in [
                Fault::io("report.xml", &error),
                Fault::of(FaultKind::Index, &wrapped),
                Fault::input("x", &wrapped),
            ] {
                assert!(fault.hints.len() == 1 && fault.hints[0].contains(words), "{fault:?}");
            }
        }
        let other = std::io::Error::from_raw_os_error(2);
        assert_eq!(Fault::io("report.xml", &other).hints, Vec::<String>::new());
    }

    #[test]
    fn kinds_are_words_and_each_is_listed_once() {
        let mut names: Vec<&str> = FaultKind::ALL.iter().map(|kind| kind.name()).collect();
        assert!(names.iter().all(|name| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_')));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FaultKind::ALL.len());
    }
}
