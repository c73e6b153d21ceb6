//! The server that a database URL refers to, and the TLS protection of the connection.

use std::path::PathBuf;
use std::time::Duration;

use gbrain_core::address::without_passwords;
use postgres::Config;
use postgres::config::{Host, SslMode};

use crate::{Result, StoreError};

/// Connection timeout, unless the URL sets one.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
pub(super) struct ConnectionTarget {
    pub config: Config,
    pub protection: TlsMode,
}

/// The TLS protection of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TlsMode {
    None,
    /// Encrypt without verifying the server.
    Encrypted,
    /// Encrypt, and verify the server against the system's roots or those in a file.
    Verified {
        roots: Option<PathBuf>,
    },
}

pub(super) fn parse(url: &str) -> Result<ConnectionTarget> {
    let (mode, rest) = take_setting(url, "sslmode");
    let (roots, rest) = take_setting(&rest, "sslrootcert");
    // The parser's own message may quote the URL with its password.
    let bad = |detail: &str| StoreError::Url { detail: detail.to_owned() };
    let mut config: Config = rest.parse().map_err(|_| {
        bad("it is neither postgres://USER@HOST/DATABASE nor host=... user=... dbname=...")
    })?;
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        return Err(bad("it names no host"));
    }
    let (ssl, protection) = protection(mode.as_deref(), roots, &config).ok_or_else(|| {
        bad("sslmode is disable, allow, prefer, require, verify-ca or verify-full")
    })?;
    config.ssl_mode(ssl);
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    if config.get_application_name().is_none() {
        config.application_name("gbrain");
    }
    Ok(ConnectionTarget { config, protection })
}

fn protection(
    mode: Option<&str>,
    roots: Option<String>,
    config: &Config,
) -> Option<(SslMode, TlsMode)> {
    let hosts = config.get_hosts();
    if !hosts.is_empty() && hosts.iter().all(|host| matches!(host, Host::Unix(_))) {
        return Some((SslMode::Disable, TlsMode::None));
    }
    let roots = roots.map(PathBuf::from);
    match mode.unwrap_or("prefer") {
        "disable" => Some((SslMode::Disable, TlsMode::None)),
        "allow" | "prefer" => Some((SslMode::Prefer, TlsMode::Encrypted)),
        "require" if roots.is_none() => Some((SslMode::Require, TlsMode::Encrypted)),
        "require" | "verify-ca" | "verify-full" => {
            Some((SslMode::Require, TlsMode::Verified { roots }))
        }
        _ => None,
    }
}

/// Removes a setting from a URL's query or a keyword string.
fn take_setting(url: &str, name: &str) -> (Option<String>, String) {
    let (before, settings, separator) = match url.split_once('?') {
        Some((before, query)) if url.contains("://") => (format!("{before}?"), query, '&'),
        _ if url.contains("://") => return (None, url.to_owned()),
        _ => (String::new(), url, ' '),
    };
    let mut value = None;
    let remaining: Vec<&str> = settings
        .split(separator)
        .filter(|setting| match setting.split_once('=') {
            Some((key, found)) if key == name => {
                value = Some(found.trim_matches('\'').to_owned());
                false
            }
            _ => true,
        })
        .collect();
    let rest = format!("{before}{}", remaining.join(&separator.to_string()));
    (value, rest.trim_end_matches('?').to_owned())
}

/// Whether a URL or keyword string contains a password. One that cannot be parsed may.
pub(crate) fn has_password(url: &str) -> bool {
    parse(url).map_or(true, |target| target.config.get_password().is_some())
}

/// The address of a URL, without its password. A mistake in a URL can make a password part of
/// another field.
pub(crate) fn address(url: &str) -> String {
    let Ok(ConnectionTarget { config, .. }) = parse(url) else { return "postgres".to_owned() };
    let user = config.get_user().map(|user| format!("{}@", without_passwords(user)));
    let user = user.unwrap_or_default();
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let database = without_passwords(config.get_dbname().unwrap_or_default());
    match config.get_hosts().first() {
        Some(Host::Tcp(host)) => {
            format!("postgres://{user}{}:{port}/{database}", without_passwords(host))
        }
        Some(Host::Unix(path)) => {
            let path = path.to_string_lossy();
            format!("postgres://{user}:{port}/{database}?host={}", without_passwords(&path))
        }
        None => format!("postgres://{user}:{port}/{database}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protection_of(url: &str) -> (SslMode, TlsMode) {
        let target = parse(url).unwrap();
        (target.config.get_ssl_mode(), target.protection)
    }

    #[test]
    fn sslmode_means_what_libpq_means() {
        let encrypted = TlsMode::Encrypted;
        assert_eq!(protection_of("postgres://h/d"), (SslMode::Prefer, encrypted.clone()));
        assert_eq!(protection_of("host=h sslmode=require"), (SslMode::Require, encrypted));
        let verified = TlsMode::Verified { roots: None };
        let full = "postgres://u:p@h/d?sslmode=verify-full&application_name=x";
        assert_eq!(protection_of(full), (SslMode::Require, verified));
        let rooted = TlsMode::Verified { roots: Some("/ca.pem".into()) };
        let require = "host=h sslrootcert=/ca.pem user=u sslmode=require";
        assert_eq!(protection_of(require), (SslMode::Require, rooted));
        let off = (SslMode::Disable, TlsMode::None);
        assert_eq!(protection_of("postgres://h/d?sslmode=disable"), off);
        assert_eq!(protection_of("host=/run/postgresql sslmode=require"), off);
        assert!(parse("host=h sslmode=maybe").is_err());
    }

    #[test]
    fn a_bad_url_is_not_quoted() {
        let error = parse("postgres://ada:s3cret@h:port/x").unwrap_err().to_string();
        assert!(!error.contains("s3cret"), "{error}");
    }
}
