//! The location of a store, and how to open it.

use std::fmt;
use std::path::{Path, PathBuf};

use gbrain_core::address::without_passwords;

/// The location of a store.
#[derive(Clone, PartialEq, Eq)]
pub enum Location {
    /// The path of a database file.
    Sqlite(PathBuf),
    /// A PostgreSQL URL or keyword string. It may contain a password: `Debug` and `Display` omit
    /// it.
    Postgres(String),
}

/// Whether opening may create a schema on PostgreSQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// Use the existing schema.
    Use,
    /// Create the schema if it is missing.
    Init,
}

impl Location {
    /// Parses a `database_url`: a PostgreSQL URL or keyword string, `sqlite:PATH`, or a path.
    /// Surrounding blanks and the case of the scheme do not matter. A text that looks like the
    /// address of another database is refused: as a path, it would create a new, empty brain.
    pub fn parse(text: &str) -> Result<Self, LocationError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(LocationError::Empty);
        }
        if let Some(path) = scheme(text).filter(|(scheme, _)| *scheme == "sqlite").map(|(_, p)| p) {
            let path = path.strip_prefix("//").unwrap_or(path);
            return match path {
                "" => Err(LocationError::Empty),
                path => Ok(Self::Sqlite(Path::new(path).to_owned())),
            };
        }
        match scheme(text) {
            Some((name, rest)) if matches!(name.as_str(), "postgres" | "postgresql") => {
                match rest.starts_with("//") {
                    true => Ok(Self::Postgres(format!("{name}:{rest}"))),
                    false => Err(LocationError::NotUrl(name)),
                }
            }
            Some((name, _)) => Err(LocationError::Scheme(name)),
            None => keywords_or_path(text),
        }
    }
}

/// A `database_url` for display: without its password, in any notation.
pub fn masked_url(text: &str) -> String {
    match Location::parse(text) {
        Ok(Location::Postgres(url)) if crate::postgres::has_password(&url) => {
            format!("{} (password not shown)", crate::postgres::address(&url))
        }
        Ok(_) => without_passwords(text).into_owned(),
        Err(_) => "(not shown: not a database URL)".to_owned(),
    }
}

/// Why a text does not name a database.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocationError {
    #[error("the database URL is empty: give postgres://user@host/database, sqlite:PATH or a path")]
    Empty,
    /// It begins with an unsupported scheme.
    #[error(
        "`{0}:` is no database that gbrain can use: give postgres://user@host/database, sqlite:PATH, or a path (one \
         with a colon as ./PATH)"
    )]
    Scheme(String),
    /// A URL without its slashes.
    #[error("`{0}:` needs two slashes: {0}://user@host/database")]
    NotUrl(String),
    /// A server address without its scheme, or a text that contains a password.
    #[error(
        "this looks like the address of a server, not like a path: give postgres://user@host/database, or host=... \
         user=... dbname=..."
    )]
    Address,
    /// It looks like a PostgreSQL keyword string, but its first keyword is unknown.
    #[error(
        "`{0}=` is no keyword of a PostgreSQL address: give host=... dbname=..., or a path with an equals sign as ./PATH"
    )]
    Keyword(String),
}

/// The lower-case scheme of a text, and the text after its colon. A path with a colon is written
/// `./a:b`, and a drive is a single letter.
fn scheme(text: &str) -> Option<(String, &str)> {
    let (name, rest) = text.split_once(':')?;
    let is_scheme = name.len() > 1
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "+-_".contains(c));
    is_scheme.then(|| (name.to_ascii_lowercase(), rest))
}

fn keywords_or_path(text: &str) -> Result<Location, LocationError> {
    if is_keyword_string(text) {
        return Ok(Location::Postgres(text.to_owned()));
    }
    // As a file name it would be displayed with its password. That also covers a scheme with a
    // stray character. A path is recognised by its beginning.
    let is_path = ["/", "./", "../"].iter().any(|start| text.starts_with(start));
    let is_address = text.split_once("//").is_some_and(|(_, rest)| rest.contains('@'));
    let holds_password = !is_path && without_passwords(text) != text;
    if is_address || holds_password || text.to_ascii_lowercase().contains("password=") {
        return Err(LocationError::Address);
    }
    let word = text.split_once('=').map(|(word, _)| word.trim());
    match word {
        Some(word)
            if !word.is_empty() && word.chars().all(|c| c.is_ascii_alphabetic() || c == '_') =>
        {
            Err(LocationError::Keyword(word.to_owned()))
        }
        _ => Ok(Location::Sqlite(Path::new(text).to_owned())),
    }
}

/// A keyword string starts with `word=`, as in `host=/run/postgresql dbname=brain`.
fn is_keyword_string(text: &str) -> bool {
    const WORDS: [&str; 18] = [
        "host",
        "hostaddr",
        "port",
        "user",
        "dbname",
        "password",
        "application_name",
        "sslmode",
        "sslnegotiation",
        "options",
        "connect_timeout",
        "tcp_user_timeout",
        "keepalives",
        "keepalives_idle",
        "keepalives_interval",
        "keepalives_retries",
        "target_session_attrs",
        "channel_binding",
    ];
    text.split_once('=').is_some_and(|(word, _)| WORDS.contains(&word.trim()))
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // A path may be a misread server address.
            Self::Sqlite(path) => f.write_str(&without_passwords(&path.to_string_lossy())),
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
            let location = Location::parse(url).unwrap();
            assert_eq!(location.to_string(), "postgres://ada@db.example:5433/brain");
            assert!(!format!("{location:?}").contains("s3cret"));
        }
        for (text, shown) in [
            ("./a:s3cret@h/d", "./a:***@h/d"),
            ("sqlite:/srv/a:s3cret@h/d", "/srv/a:***@h/d"),
            ("host=h user=adapassword=s3cret dbname=d", "postgres://adapassword=***@h:5432/d"),
            ("postgres://a@h/dpostgres://a:s3cret@/d", "postgres://a@h:5432/dpostgres://a:***@/d"),
        ] {
            let location = Location::parse(text).unwrap();
            assert_eq!(location.to_string(), shown);
            assert!(!format!("{location:?} {}", masked_url(text)).contains("s3cret"), "{text}");
        }
    }

    #[test]
    fn a_url_is_shown_without_its_password_however_it_is_written() {
        for url in [
            "postgres://ada:s3cret@h/d",
            "postgres://ada:s3%63ret@h/d",
            "postgres://ada:s3cret%40x@h/d?sslmode=require",
            "postgres://ada@h/d?password=s3cret",
            "postgres://ada@h/d?sslmode=disable&password=s3cret",
            "postgres://ada@h/d?pass%77ord=s3cret",
            "POSTGRES://ada:s3cret@h/d",
            "host=h user=ada password=s3cret dbname=d",
            "password = 's3cret x' host=h user=ada",
            "host=h user=ada password='s3cret\\'x'",
            "postgres://ada:s3cret@h:port/d",
            "postgres://ada@h/d?pasword=s3cret",
            "mysql://ada:s3cret@h/d",
            "//ada:s3cret@h/d",
            "h password=s3cret",
        ] {
            let shown = masked_url(url);
            assert!(!shown.contains("s3") && !shown.contains("cret"), "{url} is shown as {shown}");
        }
        for url in ["postgres://ada@h/d?sslmode=require", "host=h dbname=d", "/a/b.db"] {
            assert_eq!(masked_url(url), url);
        }
    }

    #[test]
    fn paths_are_sqlite() {
        for (text, path) in [
            ("/a/b.db", "/a/b.db"),
            ("sqlite:b.db", "b.db"),
            ("SQLite:b.db", "b.db"),
            (" /a/b.db ", "/a/b.db"),
            ("./a:b.db", "./a:b.db"),
            ("./a=b.db", "./a=b.db"),
            ("sqlite:a:b", "a:b"),
            ("sqlite:///a/b=c.db", "/a/b=c.db"),
        ] {
            assert_eq!(Location::parse(text), Ok(Location::Sqlite(path.into())), "{text:?}");
        }
    }

    #[test]
    fn postgres_is_understood_however_it_is_written() {
        for (text, url) in [
            ("postgres://h/d", "postgres://h/d"),
            (" postgres://h/d\n", "postgres://h/d"),
            ("POSTGRES://h/D", "postgres://h/D"),
            ("PostgreSQL://h/d", "postgresql://h/d"),
            ("host = h dbname=d", "host = h dbname=d"),
            (" sslmode=disable host=h", "sslmode=disable host=h"),
        ] {
            assert_eq!(Location::parse(text), Ok(Location::Postgres(url.to_owned())), "{text:?}");
        }
    }

    #[test]
    fn addresses_of_other_databases_are_no_paths() {
        for text in [
            "mysql://x",
            " mysql://x",
            "mysql:x",
            "postgre://h/d",
            "postgres:/h/d",
            "postgresql:h",
            "http://h/d",
            "jdbc:postgresql://h/d",
            "hots=h dbname=d",
            "",
            " ",
            "sqlite:",
            "sqlite://",
            "//ada:s3cret@h/d",
            "pos\u{c}gres://ada:s3cret@h/d",
            "db.example password=s3cret",
            "a}da:s3cret@h/d",
            "ad\u{17}a:s3cret@h/d",
            "postgres\u{c}:ada:s3cret@h/d",
            ".ada:s3cret@h/d",
            "ad/a:s3cret@h/d",
        ] {
            assert!(Location::parse(text).is_err(), "{text:?}");
        }
    }
}
