//! What a caller may do. A scope holds all that the ones below it do.

use crate::named;

/// What a token lets its bearer do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Ask and look.
    Read,
    /// Change pages, labels and documents; start jobs.
    Write,
    /// Change sources, settings and tokens.
    Admin,
}

named! { Scope { Read = "read", Write = "write", Admin = "admin" } }

impl Scope {
    /// Whether this scope is enough for what needs another.
    pub fn allows(self, needed: Self) -> bool {
        self >= needed
    }
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
}
