//! E-mail addresses in ASCII: `[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}`, found from the `@`.
//!
//! Neither side contains an `@`, so that no byte is looked at from more than two of them.

use memchr::memchr_iter;

use super::sink::Sink;
use super::text::ScannedText;

pub(super) fn find(text: &ScannedText<'_>, sink: &mut Sink) {
    let mut from = 0;
    for at in memchr_iter(b'@', text.bytes) {
        let start = text.start_of(at, from, is_local);
        from = at + 1;
        if start == at {
            continue;
        }
        if let Some(end) = domain_end(text, at + 1) {
            if !is_repository(text, start, end) {
                sink.offer(start, end);
            }
            from = end;
        }
    }
}

/// Whether this is the address of a repository and no mailbox: `git@github.com:owner/name`,
/// `ssh://git@host/path`.
fn is_repository(text: &ScannedText<'_>, start: usize, end: usize) -> bool {
    const ACCOUNTS: [&[u8]; 3] = [b"git@", b"hg@", b"svn@"];
    const HOSTS: [&str; 4] = ["github.com", "gitlab.com", "bitbucket.org", "codeberg.org"];
    let address = &text.bytes[start..end];
    let Some(account) = ACCOUNTS.iter().find(|account| address.starts_with(account)) else {
        return false;
    };
    let host = &text.str[start + account.len()..end];
    let has_path = matches!(text.at(end), b':' | b'/') && !text.at(end + 1).is_ascii_whitespace();
    let is_hosted = HOSTS.iter().any(|known| host.eq_ignore_ascii_case(known));
    has_path || is_hosted || text.window_before(start, 3) == b"://"
}

/// Where the longest domain with a top level of two letters or more ends.
fn domain_end(text: &ScannedText<'_>, start: usize) -> Option<usize> {
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
