//! Fields of lines, split at blanks, as slices of the text. Nothing is copied.

/// Walks a text field by field.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Fields<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Goes to the first field of the next line that says something; false at the end.
    pub(super) fn line(&mut self) -> bool {
        let bytes = self.text.as_bytes();
        loop {
            while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
                self.at += 1;
            }
            match bytes.get(self.at) {
                None => return false,
                Some(b'#') => self.skip_line(),
                Some(_) => return true,
            }
        }
    }

    /// The next field of this line; empty when there is none.
    pub(super) fn field(&mut self) -> &'a str {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        while bytes.get(at).is_some_and(|byte| byte.is_ascii_whitespace() && *byte != b'\n') {
            at += 1;
        }
        let start = at;
        while bytes.get(at).is_some_and(|byte| !byte.is_ascii_whitespace()) {
            at += 1;
        }
        self.at = at;
        &self.text[start..at]
    }

    /// Whether `prefix` and a blank come next; if so, goes past them.
    pub(super) fn skip_prefix(&mut self, prefix: &str) -> bool {
        let rest = &self.text.as_bytes()[self.at..];
        let is_next = rest.starts_with(prefix.as_bytes())
            && rest.get(prefix.len()).is_some_and(|byte| matches!(byte, b' ' | b'\t'));
        if is_next {
            self.at += prefix.len();
        }
        is_next
    }

    /// Goes to the end of the line.
    pub(super) fn skip_line(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at = memchr::memchr(b'\n', rest).map_or(self.text.len(), |end| self.at + end);
    }

    /// The number of this line, from 1.
    pub(super) fn line_number(&self) -> usize {
        1 + memchr::memchr_iter(b'\n', &self.text.as_bytes()[..self.at]).count()
    }
}
