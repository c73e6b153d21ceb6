//! E-mail addresses in ASCII: `[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}`, found from the `@`.
//!
//! Neither side contains an `@`, so that no byte is looked at from more than two of them.

use memchr::memchr_iter;

use super::sink::Sink;
use super::text::Text;

pub(super) fn find(text: &Text<'_>, sink: &mut Sink) {
    let mut from = 0;
    for at in memchr_iter(b'@', text.bytes) {
        let start = text.start_of(at, from, is_local);
        from = at + 1;
        if start == at {
            continue;
        }
        if let Some(end) = domain_end(text, at + 1) {
            sink.offer(start, end);
            from = end;
        }
    }
}

/// Where the longest domain with a top level of two letters or more ends.
fn domain_end(text: &Text<'_>, start: usize) -> Option<usize> {
    let end = text.end_of(start, is_domain);
    let mut tail = end;
    while tail > start {
        let dot = start + memchr::memrchr(b'.', &text.bytes[start..tail])?;
        let letters = text.end_of(dot + 1, |byte| byte.is_ascii_alphabetic());
        if letters - dot > 2 && dot > start {
            return Some(letters);
        }
        tail = dot;
    }
    None
}

pub(super) fn is_local(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'%' | b'+' | b'-')
}

pub(super) fn is_domain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-')
}
