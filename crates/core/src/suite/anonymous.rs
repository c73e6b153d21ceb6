//! Removes thread references from a query.
//!
//! Scrubbing removes personal data. This module removes references to conversations: message
//! timestamps, message URLs, and ids after the word "thread". Every reference becomes the same
//! marker; the hash of the original text distinguishes queries about different threads.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// The replacement for a thread reference.
pub const THREAD: &str = "[THREAD]";

static NAMES: LazyLock<[Regex; 3]> = LazyLock::new(|| {
    [
        // The URL of a message or a thread.
        r"(?i)https?://[^\s/]+/(?:archives|channels|messages|threads?|t)/[^\s?#]*\d[^\s]*",
        // A message timestamp with six decimal digits.
        r"\b\d{10}\.\d{6}\b",
        // An id after the word "thread".
        r"(?i)\bthread(?:[\p{Zs}_-]?(?:id|ts|key))?\p{Zs}*[:=#]\p{Zs}*[\w.-]*\d[\w.-]*",
    ]
    .map(|pattern| Regex::new(pattern).expect("the pattern is well formed"))
});

/// Replaces thread references by [`THREAD`].
pub fn anonymous(text: &str) -> String {
    let mut text = Cow::Borrowed(text);
    for pattern in NAMES.iter() {
        let next = pattern.replace_all(&text, THREAD).into_owned();
        text = Cow::Owned(next);
    }
    text.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_threads_go() {
        let check = |text: &str, expected: &str| {
            assert_eq!(anonymous(text), expected);
            assert_eq!(anonymous(expected), expected, "twice is once");
        };
        check("what did we decide in 1700000000.123456?", "what did we decide in [THREAD]?");
        check(
            "see https://x.slack.com/archives/C024BE91L/p1358546515000008 please",
            "see [THREAD] please",
        );
        check("https://discord.com/channels/1/2/3", "[THREAD]");
        check("thread_ts=1700000000.123456 about berths", "thread_ts=[THREAD] about berths");
        check("Thread #4711 on berths", "[THREAD] on berths");
        check("thread id: ab-12", "[THREAD]");
        check("thread\u{a0}id:\u{a0}ab-12", "[THREAD]");
        check("which thread pool has 16 threads?", "which thread pool has 16 threads?");
        check("thread safety of #123", "thread safety of #123");
        check("who owns the planner?", "who owns the planner?");
    }
}
