//! API tokens: 32 random bytes that are shown once, and the digest that is stored.
//!
//! A token is `gbt_<id>_<secret>`, both in hexadecimal. The store contains the id and an HMAC of
//! the secret. The key is not in the database, so neither a copy of the database nor of the key is
//! enough to authenticate.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

const PREFIX: &str = "gbt_";
const ID_BYTES: usize = 6;
const SECRET_BYTES: usize = 32;

/// Key of the HMAC.
#[derive(Clone)]
pub struct TokenKey([u8; 32]);

/// A newly created token.
pub struct MintedToken {
    pub id: String,
    /// The whole token, to be shown once.
    pub token: String,
    /// The digest that is stored.
    pub digest: [u8; 32],
}

#[derive(Debug, thiserror::Error)]
#[error("the system provides no random bytes: {0}")]
pub struct NoRandomness(String);

/// A token as presented by a client.
#[derive(PartialEq, Eq)]
pub struct ParsedToken {
    /// The id it claims.
    pub id: String,
    secret: [u8; SECRET_BYTES],
}

impl TokenKey {
    pub fn random() -> Result<Self, NoRandomness> {
        random_bytes().map(Self)
    }

    /// Parses the key from its file format.
    pub fn from_hex(text: &str) -> Option<Self> {
        bytes_of_hex(text.trim()).map(Self)
    }

    /// Formats the key for its file.
    pub fn to_hex(&self) -> String {
        hex(&self.0)
    }

    /// Creates a token with a random id and secret.
    pub fn mint(&self) -> Result<MintedToken, NoRandomness> {
        let id = hex(&random_bytes::<ID_BYTES>()?);
        let secret = random_bytes::<SECRET_BYTES>()?;
        let digest = self.mac(&secret).finalize().into_bytes().into();
        let token = format!("{PREFIX}{id}_{}", hex(&secret));
        Ok(MintedToken { id, token, digest })
    }

    /// Whether the secret matches the digest, in constant time.
    pub fn verify(&self, presented: &ParsedToken, digest: &[u8]) -> bool {
        self.mac(&presented.secret).verify_slice(digest).is_ok()
    }

    /// Signs texts of the console: sessions and forms.
    pub(crate) fn sign(&self, parts: &[&str]) -> String {
        hex(&self.console_mac(parts).finalize().into_bytes())
    }

    /// Whether [`TokenKey::sign`] made this signature of the same parts, in constant time.
    pub(crate) fn is_signed(&self, parts: &[&str], signature: &str) -> bool {
        bytes_of_hex::<32>(signature)
            .is_some_and(|bytes| self.console_mac(parts).verify_slice(&bytes).is_ok())
    }

    /// With a key of its own, so that no digest of a token is a signature. Lengths keep parts apart.
    fn console_mac(&self, parts: &[&str]) -> Hmac<Sha256> {
        let key = self.mac(b"key of console signatures").finalize().into_bytes();
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("a key of any length will do");
        for part in parts {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part.as_bytes());
        }
        mac
    }

    fn mac(&self, secret: &[u8]) -> Hmac<Sha256> {
        let mac = Hmac::<Sha256>::new_from_slice(&self.0);
        mac.expect("a key of any length will do").chain_update(secret)
    }
}

impl std::fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TokenKey(..)")
    }
}

impl std::fmt::Debug for ParsedToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ParsedToken({}, ..)", self.id)
    }
}

impl ParsedToken {
    /// Parses a token; `None` if it is malformed.
    pub fn parse(text: &str) -> Option<Self> {
        let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
        bytes_of_hex::<ID_BYTES>(id)?;
        Some(Self { id: id.to_owned(), secret: bytes_of_hex(secret)? })
    }
}

fn random_bytes<const N: usize>() -> Result<[u8; N], NoRandomness> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| NoRandomness(error.to_string()))?;
    Ok(bytes)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes_of_hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    if text.len() != 2 * N || !text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    let mut bytes = [0; N];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_of_its_parts_and_its_key() {
        let (key, other) = (TokenKey([1; 32]), TokenKey([2; 32]));
        let signature = key.sign(&["a", "bc"]);
        assert!(key.is_signed(&["a", "bc"], &signature));
        assert!(!key.is_signed(&["ab", "c"], &signature));
        assert!(!other.is_signed(&["a", "bc"], &signature));
        assert!(!key.is_signed(&["a", "bc"], ""));
    }

    #[test]
    fn a_token_is_known_again_and_no_other() {
        let key = TokenKey::random().unwrap();
        let minted = key.mint().unwrap();
        let presented = ParsedToken::parse(&minted.token).unwrap();
        assert_eq!(presented.id, minted.id);
        assert!(key.verify(&presented, &minted.digest));
        let other = ParsedToken::parse(&key.mint().unwrap().token).unwrap();
        assert!(!key.verify(&other, &minted.digest));
        assert!(!TokenKey::random().unwrap().verify(&presented, &minted.digest));
        assert!(!key.verify(&presented, b""));
    }

    #[test]
    fn every_changed_character_is_another_token() {
        let key = TokenKey::random().unwrap();
        let minted = key.mint().unwrap();
        for at in minted.token.len() - 64..minted.token.len() {
            let mut bytes = minted.token.clone().into_bytes();
            bytes[at] = if bytes[at] == b'0' { b'1' } else { b'0' };
            let changed = ParsedToken::parse(std::str::from_utf8(&bytes).unwrap()).unwrap();
            assert!(!key.verify(&changed, &minted.digest), "{at}");
        }
    }

    #[test]
    fn malformed_tokens_are_refused() {
        let token = TokenKey::random().unwrap().mint().unwrap().token;
        let upper = token.to_uppercase();
        for text in
            ["", "gbt_", "gbt__", "x", &token[1..], &token[..token.len() - 1], &upper, "gbt_ä_ä"]
        {
            assert_eq!(ParsedToken::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_key_survives_its_file() {
        let key = TokenKey::random().unwrap();
        let minted = key.mint().unwrap();
        let read = TokenKey::from_hex(&format!("{}\n", key.to_hex())).unwrap();
        assert!(read.verify(&ParsedToken::parse(&minted.token).unwrap(), &minted.digest));
        assert!(TokenKey::from_hex("12").is_none());
    }
}
