//! Sessions of the console: a cookie that stands for an API token, and the tokens of forms.
//!
//! A cookie is `<token id>.<end>.<binding>.<mac>`. The MAC is made with the key that verifies tokens,
//! so nothing is stored and every server of a database accepts the cookie. It is checked before
//! anything is looked up: a forged cookie reads no store. The binding is made of the digest of the
//! token, so the cookie ends when the token is revoked, runs out or is replaced.

use gbrain_store::ApiToken;
use jiff::Timestamp;

use crate::token::{TokenKey, hex};

/// Length of the binding in hexadecimal digits. It only tells two tokens of one id apart; a forger
/// needs the MAC.
const BINDING_LENGTH: usize = 16;

/// A session that was signed here and has not ended. Its token may have been revoked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Session<'a> {
    pub(crate) token_id: &'a str,
    binding: &'a str,
}

/// The cookie of a session that ends at this second.
pub(crate) fn issue(key: &TokenKey, token: &ApiToken, end: i64) -> String {
    let (end, binding) = (end.to_string(), binding(key, token));
    let mac = key.sign(&["session", &token.id, &end, &binding]);
    format!("{}.{end}.{binding}.{mac}", token.id)
}

pub(crate) fn verify<'a>(key: &TokenKey, cookie: &'a str, now: Timestamp) -> Option<Session<'a>> {
    let mut parts = cookie.split('.');
    let [token_id, end, binding, mac] =
        [parts.next()?, parts.next()?, parts.next()?, parts.next()?];
    let is_ours =
        parts.next().is_none() && key.is_signed(&["session", token_id, end, binding], mac);
    let has_ended = end.parse::<i64>().is_ok_and(|end| end <= now.as_second());
    (is_ours && !has_ended).then_some(Session { token_id, binding })
}

/// The token of the forms of a session.
pub(crate) fn form_token(key: &TokenKey, cookie: &str) -> String {
    key.sign(&["form", cookie])
}

/// Whether it is the token of the forms of this session, in constant time.
pub(crate) fn is_form_token(key: &TokenKey, cookie: &str, presented: &str) -> bool {
    key.is_signed(&["form", cookie], presented)
}

impl Session<'_> {
    /// Whether it was made for this token.
    pub(crate) fn is_of(&self, key: &TokenKey, token: &ApiToken) -> bool {
        token.id == self.token_id && binding(key, token) == self.binding
    }
}

fn binding(key: &TokenKey, token: &ApiToken) -> String {
    let mut binding = key.sign(&["token", &token.id, &hex(&token.digest.0)]);
    binding.truncate(BINDING_LENGTH);
    binding
}

#[cfg(test)]
mod tests {
    use gbrain_core::access::Scope;
    use gbrain_core::id::WorkspaceId;
    use gbrain_store::TokenDigest;

    use super::*;

    fn token(id: &str, digest: u8) -> ApiToken {
        ApiToken {
            workspace: WorkspaceId::default(),
            id: id.to_owned(),
            name: "ci".to_owned(),
            scope: Scope::Read,
            digest: TokenDigest([digest; 32]),
            rate_per_second: 1,
            created_at: Timestamp::UNIX_EPOCH,
            expires_at: None,
            revoked_at: None,
            last_used_at: None,
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_session_is_of_its_token_until_its_end() {
        let key = TokenKey::random().unwrap();
        let cookie = issue(&key, &token("0123456789ab", 1), 100);
        let session = verify(&key, &cookie, at(99)).unwrap();
        assert!(session.is_of(&key, &token("0123456789ab", 1)));
        assert!(!session.is_of(&key, &token("0123456789ab", 2)), "replaced");
        assert!(!session.is_of(&key, &token("ab0123456789", 1)), "another");
        assert_eq!(verify(&key, &cookie, at(100)), None);
        assert_eq!(verify(&TokenKey::random().unwrap(), &cookie, at(99)), None);
    }

    #[test]
    fn every_changed_character_is_no_session() {
        let key = TokenKey::random().unwrap();
        let cookie = issue(&key, &token("0123456789ab", 1), 100);
        for at_byte in 0..cookie.len() {
            let mut bytes = cookie.clone().into_bytes();
            bytes[at_byte] = if bytes[at_byte] == b'9' { b'8' } else { b'9' };
            let changed = String::from_utf8(bytes).unwrap();
            assert_eq!(verify(&key, &changed, at(0)), None, "{changed}");
        }
        for text in
            ["", "...", "a.b.c.d", &cookie[1..], &format!("{cookie}."), &format!("{cookie}.x")]
        {
            assert_eq!(verify(&key, text, at(0)), None, "{text:?}");
        }
    }

    #[test]
    fn a_form_is_of_one_session() {
        let key = TokenKey::random().unwrap();
        let form = form_token(&key, "a");
        assert!(is_form_token(&key, "a", &form));
        assert!(!is_form_token(&key, "b", &form));
        assert!(!is_form_token(&key, "a", ""));
        // A part of a session is never a form's token.
        let cookie = issue(&key, &token("0123456789ab", 1), 100);
        let mac = cookie.rsplit('.').next().unwrap();
        assert!(!is_form_token(&key, &cookie, mac));
    }
}
