//! Webhook signatures: a receiver with the secret can verify the origin and the time of a body.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// The MAC over the time in whole seconds, a dot, and the body.
fn of(secret: &str, at: i64, body: &[u8]) -> Hmac<Sha256> {
    let mut code = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key has any length");
    code.update(at.to_string().as_bytes());
    code.update(b".");
    code.update(body);
    code
}

/// The value of `X-Gbrain-Signature`: `t=1790000000,v1=` and 64 hexadecimal digits.
pub fn signature(secret: &str, at: i64, body: &[u8]) -> String {
    let code = of(secret, at, body).finalize().into_bytes();
    let digits: String = code.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("t={at},v1={digits}")
}

/// Verifies the signature of a body. Returns the signing time in seconds since 1970.
pub fn verify_signature(secret: &str, header: &str, body: &[u8]) -> Option<i64> {
    let (time, digits) = header.split_once(",v1=")?;
    let at: i64 = time.strip_prefix("t=")?.parse().ok()?;
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let code = digits.as_bytes().chunks(2).map(byte).collect::<Option<Vec<u8>>>()?;
    of(secret, at, body).verify_slice(&code).ok().map(|()| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made with Python's `hmac.new(b"s3cret", b"1790000000.{}", "sha256").hexdigest()`.
    #[test]
    fn as_others_compute_it() {
        let header = signature("s3cret", 1_790_000_000, b"{}");
        let digits = "0d84afbca530158326e0549a7a1c3579755f9b8ba4cceba2c143dbe14147b60f";
        assert_eq!(header, format!("t=1790000000,v1={digits}"));
        assert_eq!(verify_signature("s3cret", &header, b"{}"), Some(1_790_000_000));
        for (secret, header, body) in [
            ("other", header.as_str(), "{}"),
            ("s3cret", &header, "{ }"),
            ("s3cret", &header.replace("179", "178"), "{}"),
            ("s3cret", "t=1790000000,v1=zz", "{}"),
            ("s3cret", "t=1790000000", "{}"),
            ("s3cret", "", "{}"),
        ] {
            assert_eq!(verify_signature(secret, header, body.as_bytes()), None, "{header}");
        }
    }
}
