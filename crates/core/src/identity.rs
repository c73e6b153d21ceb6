//! The identity key: distinguishes scrubbed names without revealing them.
//!
//! Scrubbing gives different pages, and different queries, the same text. Where it changed a name, a
//! keyed hash of the original stands beside it, so that two names are compared by what they were. The
//! key stays in the home directory and is never written to a capture, a baseline or a report; files
//! carry only its id. Without the key a hash can neither be made nor tested against a guess.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::hash::Hash;
use crate::id::{PageKey, WorkspaceId};

/// Bytes of a key.
pub const KEY_BYTES: usize = 32;
/// Hexadecimal digits of a hash in a file: 128 bits.
pub(crate) const HASH_DIGITS: usize = 32;
/// Hexadecimal digits of a key's id.
pub(crate) const KEY_ID_DIGITS: usize = 16;

/// A secret key of a brain, for hashes that only this brain can make.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct IdentityKey([u8; KEY_BYTES]);

impl fmt::Debug for IdentityKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IdentityKey({}, ..)", self.id())
    }
}

impl IdentityKey {
    /// A key of random bytes.
    pub const fn new(bytes: [u8; KEY_BYTES]) -> Self {
        Self(bytes)
    }

    /// Reads 64 hexadecimal digits, white space around them ignored.
    pub fn from_hex(text: &str) -> Option<Self> {
        Hash::from_hex(text.trim()).map(|Hash(bytes)| Self(bytes))
    }

    pub fn to_hex(&self) -> String {
        Hash(self.0).to_hex()
    }

    /// The key of one workspace: tenants of one home can't test guesses on each other's files.
    #[must_use]
    pub fn for_workspace(&self, workspace: &WorkspaceId) -> Self {
        Self(self.mac("workspace", workspace.as_str()).0)
    }

    /// Names the key without revealing it.
    pub fn id(&self) -> String {
        self.digits("key id", "", KEY_ID_DIGITS)
    }

    /// The keyed hash of a page's whole key.
    pub fn keyed_page_hash(&self, key: &PageKey) -> String {
        self.keyed_page_hash_of(key.source.as_str(), key.slug.as_str())
    }

    /// The keyed hash of `source::slug`, whether or not these are names that this brain would accept.
    pub fn keyed_page_hash_of(&self, source: &str, slug: &str) -> String {
        self.digits("page", &format!("{source}::{slug}"), HASH_DIGITS)
    }

    /// The keyed hash of a text.
    pub fn keyed_text_hash(&self, text: &str) -> String {
        self.digits("text", text, HASH_DIGITS)
    }

    fn digits(&self, purpose: &str, text: &str, digits: usize) -> String {
        let mut hex = self.mac(purpose, text).to_hex();
        hex.truncate(digits);
        hex
    }

    fn mac(&self, purpose: &str, text: &str) -> Hash {
        let mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("a key has any length");
        // No purpose has a zero byte in it, so no two purposes share an input.
        let mac = mac.chain_update(purpose).chain_update([0]).chain_update(text);
        Hash(mac.finalize().into_bytes().into())
    }
}

/// Whether a text has the form of a hash in a file.
pub fn is_identity_hash(text: &str) -> bool {
    is_lower_hex(text, HASH_DIGITS)
}

/// Whether a text has the form of a key's id.
pub(crate) fn is_key_id(text: &str) -> bool {
    is_lower_hex(text, KEY_ID_DIGITS)
}

fn is_lower_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> IdentityKey {
        IdentityKey::new([byte; KEY_BYTES])
    }

    #[test]
    fn a_hash_depends_on_key_purpose_source_and_slug() {
        let of = |source, slug| key(1).keyed_page_hash_of(source, slug);
        let mut all = vec![
            of("default", "people/ada-at-example-com"),
            of("default", "people/bob-at-example-com"),
            of("wiki", "people/ada-at-example-com"),
            key(2).keyed_page_hash_of("default", "people/ada-at-example-com"),
            key(1).keyed_text_hash("default::people/ada-at-example-com"),
            key(1)
                .for_workspace(&WorkspaceId::default())
                .keyed_page_hash_of("default", "people/ada-at-example-com"),
        ];
        assert!(all.iter().all(|hash| is_identity_hash(hash)));
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 6);
    }

    #[test]
    fn a_key_is_read_as_it_was_written_and_shows_only_its_id() {
        assert_eq!(IdentityKey::from_hex(&format!("{}\n", key(7).to_hex())), Some(key(7)));
        assert_eq!(IdentityKey::from_hex("07"), None);
        let shown = format!("{:?}", key(7));
        assert!(shown.contains(&key(7).id()) && !shown.contains("0707"), "{shown}");
        assert!(is_key_id(&key(7).id()));
    }
}
