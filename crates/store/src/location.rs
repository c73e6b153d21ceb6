//! Where a store lives, and how to open it.

use std::fmt;
use std::path::{Path, PathBuf};

/// Where a store lives.
#[derive(Clone, PartialEq, Eq)]
pub enum Location {
    /// A database file of its own.
    Sqlite(PathBuf),
    /// A PostgreSQL URL or keyword string. May hold a password: `Debug` and `Display` leave it out.
    Postgres(String),
}

/// Whether opening may create a schema on PostgreSQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// Use what is there.
    Use,
    /// Create what is missing.
    Init,
}

impl Location {
    /// Reads a `database_url`: PostgreSQL's URLs and keyword strings, `sqlite:PATH`, or a path.
    pub fn parse(text: &str) -> Self {
        let is_url = text.starts_with("postgres://") || text.starts_with("postgresql://");
        if is_url || is_keyword_string(text) {
            return Self::Postgres(text.to_owned());
        }
        let path = text.strip_prefix("sqlite://").or_else(|| text.strip_prefix("sqlite:"));
        Self::Sqlite(Path::new(path.unwrap_or(text)).to_owned())
    }
}

/// A keyword string starts with `word=`, as in `host=/run/postgresql dbname=brain`.
fn is_keyword_string(text: &str) -> bool {
    const WORDS: [&str; 7] =
        ["host", "hostaddr", "port", "user", "dbname", "password", "application_name"];
    text.split_once('=').is_some_and(|(word, _)| WORDS.contains(&word.trim()))
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "{}", path.display()),
            Self::Postgres(url) => f.write_str(&crate::postgres::address(url)),
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Location({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_stay_out_of_sight() {
        for url in [
            "postgres://ada:s3cret@db.example:5433/brain",
            "host=db.example port=5433 user=ada password=s3cret dbname=brain",
        ] {
            let location = Location::parse(url);
            assert_eq!(location.to_string(), "postgres://ada@db.example:5433/brain");
            assert!(!format!("{location:?}").contains("s3cret"));
        }
    }

    #[test]
    fn paths_are_sqlite() {
        assert_eq!(Location::parse("/a/b.db"), Location::Sqlite("/a/b.db".into()));
        assert_eq!(Location::parse("sqlite:b.db"), Location::Sqlite("b.db".into()));
        assert_eq!(Location::parse("sqlite:///a/b=c.db"), Location::Sqlite("/a/b=c.db".into()));
    }
}
