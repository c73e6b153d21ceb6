//! The key that signs baselines.
//!
//! `rows_hash` has no key: an editor of the file can compute it again, so it shows accidental edits only.
//! `rows_hmac` is HMAC-SHA-256 of the text of `rows_hash` under a key that is not in the file, so only a
//! holder of the key can change the file unnoticed.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::hash::Hash;

/// The shortest key, in bytes.
const SHORTEST: usize = 16;

/// Prefix of the input of a key's id, so that an id is not a signature of any file.
const ID_TEXT: &[u8] = b"gbrain baseline key id";

/// A secret that signs baselines.
#[derive(Clone, PartialEq, Eq)]
pub struct BaselineKey(Vec<u8>);

/// A text that is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a baseline key has at least {SHORTEST} bytes, and this one has {bytes}")]
pub struct BaselineKeyError {
    /// Length of the text in bytes, without surrounding blanks.
    pub bytes: usize,
}

impl BaselineKey {
    /// A key from its text; blanks and line ends around it do not count.
    pub fn new(text: &str) -> Result<Self, BaselineKeyError> {
        let bytes = text.trim().as_bytes();
        if bytes.len() < SHORTEST {
            return Err(BaselineKeyError { bytes: bytes.len() });
        }
        Ok(Self(bytes.to_vec()))
    }

    /// Names the key without giving it away: 16 hexadecimal digits.
    pub fn id(&self) -> String {
        Hash(self.mac(ID_TEXT).finalize().into_bytes().into()).short()
    }

    /// Signs the hash of a file.
    pub(super) fn sign(&self, rows_hash: &str) -> String {
        Hash(self.mac(rows_hash.as_bytes()).finalize().into_bytes().into()).to_hex()
    }

    /// Whether a signature was made with this key over this hash. It has one spelling, in lower case, so that a file that
    /// reads as signed is the file that was signed.
    pub(super) fn has_signed(&self, rows_hash: &str, signature: &str) -> bool {
        let Some(hash) = Hash::from_hex(signature) else { return false };
        let is_ours = self.mac(rows_hash.as_bytes()).verify_slice(&hash.0).is_ok();
        is_ours && hash.to_hex() == signature
    }

    fn mac(&self, text: &[u8]) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key has any length");
        mac.update(text);
        mac
    }
}

impl fmt::Debug for BaselineKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BaselineKey({})", self.id())
    }
}

/// Whether the signature of a file is checked while it is read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SignatureCheck {
    /// No key is configured: the signature is not checked.
    #[default]
    NoKey,
    /// A signature must be right; a file without one is read.
    IfSigned(BaselineKey),
    /// The file must be signed with this key.
    Required(BaselineKey),
}

impl SignatureCheck {
    /// Requires signatures if there is a key.
    pub fn required(key: Option<&BaselineKey>) -> Self {
        key.cloned().map_or(Self::NoKey, Self::Required)
    }

    /// Checks signatures that are there, if there is a key.
    pub fn if_signed(key: Option<&BaselineKey>) -> Self {
        key.cloned().map_or(Self::NoKey, Self::IfSigned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_what_other_tools_compute() {
        // printf %s abc | openssl dgst -sha256 -hmac 0123456789abcdef
        let key = BaselineKey::new(" 0123456789abcdef\n").unwrap();
        let signature = key.sign("abc");
        let theirs = "bcaa92843247bc258080d2824bddeba4afb1bd61b4688ca65f60a214e1d9759e";
        assert_eq!(signature, theirs);
        assert!(key.has_signed("abc", &signature));
        assert!(!key.has_signed("abd", &signature));
        assert!(!key.has_signed("abc", "zz"));
        assert!(!key.has_signed("abc", &signature.to_uppercase()));
        assert!(!key.has_signed("abc", &signature.replacen('e', "E", 1)));
        assert!(!BaselineKey::new("0123456789abcdeg").unwrap().has_signed("abc", &signature));
    }

    #[test]
    fn a_key_is_long_enough_and_not_shown() {
        assert_eq!(BaselineKey::new(" short "), Err(BaselineKeyError { bytes: 5 }));
        let key = BaselineKey::new("a secret that is long").unwrap();
        assert!(!format!("{key:?}").contains("secret"));
        assert_ne!(key.id(), BaselineKey::new("another secret, long").unwrap().id());
    }
}
