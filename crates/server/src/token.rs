//! API tokens: 32 random bytes that are shown once, and what is kept of them.
//!
//! A token is `gbt_<id>_<secret>`, both in hexadecimal. The store keeps the id and a keyed hash of
//! the secret; the key is not in the database, so neither a copy of the database nor a copy of the
//! key lets anybody in.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

const PREFIX: &str = "gbt_";
const ID_BYTES: usize = 6;
const SECRET_BYTES: usize = 32;

/// The key of the hashes.
#[derive(Clone)]
pub struct TokenKey([u8; 32]);

/// A token that was just made.
pub struct Minted {
    /// Its name in the store.
    pub id: String,
    /// The whole token, to be shown once.
    pub token: String,
    /// What the store keeps.
    pub digest: [u8; 32],
}

/// There is no randomness to be had.
#[derive(Debug, thiserror::Error)]
#[error("the system gives no random bytes: {0}")]
pub struct NoRandomness(String);

/// A token as it was presented.
#[derive(PartialEq, Eq)]
pub struct Presented {
    /// Whose it says it is.
    pub id: String,
    secret: [u8; SECRET_BYTES],
}

impl TokenKey {
    /// A new key.
    pub fn random() -> Result<Self, NoRandomness> {
        random_bytes().map(Self)
    }

    /// A key as it is written in its file.
    pub fn from_hex(text: &str) -> Option<Self> {
        bytes_of_hex(text.trim()).map(Self)
    }

    /// The key as it is written in its file.
    pub fn to_hex(&self) -> String {
        hex(&self.0)
    }

    /// Makes a token.
    pub fn mint(&self) -> Result<Minted, NoRandomness> {
        let id = hex(&random_bytes::<ID_BYTES>()?);
        let secret = random_bytes::<SECRET_BYTES>()?;
        let digest = self.mac(&secret).finalize().into_bytes().into();
        let token = format!("{PREFIX}{id}_{}", hex(&secret));
        Ok(Minted { id, token, digest })
    }

    /// Whether a secret is the one that was digested, in a time that does not tell how much of it
    /// is right.
    pub fn verify(&self, presented: &Presented, digest: &[u8]) -> bool {
        self.mac(&presented.secret).verify_slice(digest).is_ok()
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

impl std::fmt::Debug for Presented {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Presented({}, ..)", self.id)
    }
}

impl Presented {
    /// Takes a token apart; none if it is not one.
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

fn hex(bytes: &[u8]) -> String {
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
    fn a_token_is_known_again_and_no_other() {
        let key = TokenKey::random().unwrap();
        let minted = key.mint().unwrap();
        let presented = Presented::parse(&minted.token).unwrap();
        assert_eq!(presented.id, minted.id);
        assert!(key.verify(&presented, &minted.digest));
        let other = Presented::parse(&key.mint().unwrap().token).unwrap();
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
            let changed = Presented::parse(std::str::from_utf8(&bytes).unwrap()).unwrap();
            assert!(!key.verify(&changed, &minted.digest), "{at}");
        }
    }

    #[test]
    fn what_is_no_token_is_none() {
        let token = TokenKey::random().unwrap().mint().unwrap().token;
        let upper = token.to_uppercase();
        for text in
            ["", "gbt_", "gbt__", "x", &token[1..], &token[..token.len() - 1], &upper, "gbt_ä_ä"]
        {
            assert_eq!(Presented::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_key_survives_its_file() {
        let key = TokenKey::random().unwrap();
        let minted = key.mint().unwrap();
        let read = TokenKey::from_hex(&format!("{}\n", key.to_hex())).unwrap();
        assert!(read.verify(&Presented::parse(&minted.token).unwrap(), &minted.digest));
        assert!(TokenKey::from_hex("12").is_none());
    }
}
