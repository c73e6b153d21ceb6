//! Formats a mail (RFC 5322).

use jiff::Timestamp;

use super::line::{base64, header_value, stuffed};

/// The longest line that every server accepts unencoded.
const MAX_LINE_BYTES: usize = 990;

/// A plain-text mail with its recipients and thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    pub from: String,
    pub to: Vec<String>,
    pub subject: String,
    pub text: String,
    /// Local part of the Message-ID, the same for each attempt: letters, digits, dots and dashes.
    pub id: String,
    /// Local part of the Message-ID of the thread.
    pub thread: String,
    pub at: Timestamp,
}

impl Mail {
    /// The content of the DATA command, without the final dot.
    pub(super) fn data(&self) -> String {
        let Self { from, to, subject, text, id, thread, at } = self;
        let domain = from.rsplit('@').next().unwrap_or("localhost");
        let date = jiff::fmt::rfc2822::to_string(&at.to_zoned(jiff::tz::TimeZone::UTC))
            .unwrap_or_else(|_| at.to_string());
        // Some servers read a bare CR as a line end, and a following dot as the end of the mail.
        let is_odd = |c: char| c.is_control() && c != '\n' && c != '\t';
        let is_plain = text.is_ascii()
            && !text.contains(is_odd)
            && text.lines().all(|line| line.len() <= MAX_LINE_BYTES);
        let (encoding, body) = match is_plain {
            true => ("7bit", text.clone()),
            false => ("base64", folded(&base64(text.as_bytes()))),
        };
        let headers = [
            ("Date", date),
            ("From", from.clone()),
            ("To", to.join(", ")),
            ("Subject", subject.clone()),
            ("Message-ID", format!("<{id}@{domain}>")),
            ("References", format!("<{thread}@{domain}>")),
            ("MIME-Version", "1.0".to_owned()),
            ("Content-Type", "text/plain; charset=utf-8".to_owned()),
            ("Content-Transfer-Encoding", encoding.to_owned()),
            ("Auto-Submitted", "auto-generated".to_owned()),
        ];
        let head: String = headers
            .iter()
            .map(|(name, value)| format!("{name}: {}\r\n", header_value(value)))
            .collect();
        format!("{head}\r\n{}", stuffed(&body))
    }
}

fn folded(digits: &str) -> String {
    let lines = digits.as_bytes().chunks(76);
    lines.map(|line| String::from_utf8_lossy(line).into_owned() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mail(subject: &str, text: &str) -> Mail {
        Mail {
            from: "gbrain@example.com".to_owned(),
            to: vec!["ops@example.com".to_owned(), "ada@example.com".to_owned()],
            subject: subject.to_owned(),
            text: text.to_owned(),
            id: "default-7-1790000000000".to_owned(),
            thread: "abc".to_owned(),
            at: "2026-11-17T12:00:00Z".parse().unwrap(),
        }
    }

    #[test]
    fn a_mail() {
        let expected = "Date: Tue, 17 Nov 2026 12:00:00 +0000\r\nFrom: gbrain@example.com\r\n\
            To: ops@example.com, ada@example.com\r\nSubject: it fell\r\n\
            Message-ID: <default-7-1790000000000@example.com>\r\nReferences: <abc@example.com>\r\n\
            MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\
            Content-Transfer-Encoding: 7bit\r\nAuto-Submitted: auto-generated\r\n\r\none\r\n..\r\ntwo\r\n";
        assert_eq!(mail("it fell", "one\n.\ntwo\n").data(), expected);
    }

    /// Some servers take a bare CR for the end of a line, and would read the rest as commands.
    #[test]
    fn nothing_in_a_text_ends_the_mail() {
        for text in ["x\r.\rRCPT TO:<eve@example.com>", "a\0b", "bell\u{7}"] {
            let data = mail("x", text).data();
            assert!(data.contains("base64\r\n"), "{data:?}");
        }
        assert!(mail("x", "one\ttwo\n").data().contains("7bit"));
    }

    #[test]
    fn non_ascii_text_is_encoded() {
        let data = mail("für Ada", "größer\n").data();
        assert!(data.is_ascii() && data.contains("base64\r\n"), "{data}");
        assert!(data.ends_with("\r\nZ3LDtsOfZXIK\r\n"), "{data}");
        let data = mail("x", &"y".repeat(2000)).data();
        assert!(data.lines().all(|line| line.len() <= 998), "{data}");
    }

    #[test]
    fn nothing_starts_a_header() {
        let data = mail("x\r\nBcc: all@example.com\r\n\r\nhello", "").data();
        assert!(!data.contains("\nBcc") && data.matches("\r\n\r\n").count() == 1, "{data}");
    }
}
