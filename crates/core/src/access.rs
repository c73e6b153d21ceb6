//! The permissions of a caller. Each scope includes the permissions of the lower ones.

use crate::named;

named! {
    /// The permissions that a token grants.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Scope {
        Read = "read",
        /// Change pages, labels and documents; start jobs.
        Write = "write",
        /// Change sources, settings and tokens.
        Admin = "admin",
    }
}

impl Scope {
    /// Whether this scope includes another one.
    pub fn allows(self, needed: Self) -> bool {
        self >= needed
    }
}

/// The longest name of a token, in characters.
const LONGEST_NAME: usize = 100;

/// Not a name for a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a token's name is 1 to {LONGEST_NAME} characters, without control characters")]
pub struct TokenNameError;

/// Trims and validates the name of a token.
pub fn token_name(text: &str) -> Result<&str, TokenNameError> {
    let name = text.trim();
    let is_name = (1..=LONGEST_NAME).contains(&name.chars().count());
    if is_name && !name.chars().any(char::is_control) { Ok(name) } else { Err(TokenNameError) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_holds_those_below_it() {
        assert!(Scope::Admin.allows(Scope::Write) && Scope::Write.allows(Scope::Read));
        assert!(Scope::Read.allows(Scope::Read));
        assert!(!Scope::Read.allows(Scope::Write) && !Scope::Write.allows(Scope::Admin));
    }

    #[test]
    fn a_token_has_a_name_that_can_be_read() {
        assert_eq!(token_name(" team one "), Ok("team one"));
        assert!(token_name(&"é".repeat(100)).is_ok());
        for bad in ["", "  ", "a\u{7}b", &"é".repeat(101)] {
            assert_eq!(token_name(bad), Err(TokenNameError), "{bad:?}");
        }
    }
}
