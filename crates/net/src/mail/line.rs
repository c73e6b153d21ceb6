//! Encodes text for SMTP and for mail headers.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base64 with padding (RFC 4648).
pub(super) fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= three.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

/// The credentials of AUTH PLAIN (RFC 4616).
pub(super) fn plain(username: &str, password: &str) -> String {
    base64(format!("\0{username}\0{password}").as_bytes())
}

/// Replaces control characters, so that a text cannot start a new line.
pub(super) fn on_one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// A header value: RFC 2047 encoded words of at most 75 bytes if it is not ASCII.
pub(super) fn header_value(text: &str) -> String {
    let text = on_one_line(text);
    if text.is_ascii() {
        return text;
    }
    let mut words = Vec::new();
    let mut piece = String::new();
    for c in text.chars() {
        // 45 bytes become 60 digits, and the delimiters of the word take 12.
        if piece.len() + c.len_utf8() > 45 {
            words.push(std::mem::take(&mut piece));
        }
        piece.push(c);
    }
    words.push(piece);
    let word = |piece: &String| format!("=?UTF-8?B?{}?=", base64(piece.as_bytes()));
    words.iter().map(word).collect::<Vec<_>>().join("\r\n ")
}

/// The lines of DATA with CRLF line ends and dot stuffing, so that no line ends the mail early.
pub(super) fn stuffed(text: &str) -> String {
    let mut data = String::with_capacity(text.len() + 16);
    for line in text.lines() {
        if line.starts_with('.') {
            data.push('.');
        }
        data.push_str(line.trim_end_matches('\r'));
        data.push_str("\r\n");
    }
    data
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_of_rfc_4648() {
        let check = |text: &str, expected: &str| assert_eq!(base64(text.as_bytes()), expected);
        check("", "");
        check("f", "Zg==");
        check("fo", "Zm8=");
        check("foo", "Zm9v");
        check("foob", "Zm9vYg==");
        check("fooba", "Zm9vYmE=");
        check("foobar", "Zm9vYmFy");
        assert_eq!(base64(&[255, 254, 253]), "//79");
        assert_eq!(plain("tim", "tanstaaftanstaaf"), "AHRpbQB0YW5zdGFhZnRhbnN0YWFm");
    }

    #[test]
    fn no_value_starts_a_header() {
        assert_eq!(header_value("x\r\nBcc: all@example.com"), "x  Bcc: all@example.com");
        assert_eq!(header_value("für Ada"), "=?UTF-8?B?ZsO8ciBBZGE=?=");
        let long = header_value(&"ä".repeat(100));
        assert!(long.split("\r\n ").all(|word| word.len() <= 75 && word.ends_with("?=")), "{long}");
    }

    #[test]
    fn no_line_ends_the_mail() {
        assert_eq!(stuffed("a\n.\n..b\r\nc"), "a\r\n..\r\n...b\r\nc\r\n");
        assert_eq!(stuffed(""), "");
    }
}
