//! Host and origin checks.
//!
//! A browser lured to a name that resolves to this machine (DNS rebinding) sends that name as Host
//! and the attacking page as Origin. Neither is allowed, so the request is refused before anything
//! else is read.

use std::net::IpAddr;

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, Uri};
use gbrain_core::fault::Fault;

/// The allowed hosts and origins.
#[derive(Debug, Clone, Default)]
pub struct OriginGuard {
    /// Host names allowed in addition to `localhost` and IP addresses.
    pub hosts: Vec<String>,
    /// Origins whose pages may call this server.
    pub origins: Vec<String>,
}

impl OriginGuard {
    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Fault> {
        let host = host(uri, headers)?;
        if !self.knows(&host) {
            return Err(Fault::forbidden("the Host header names an unknown host")
                .hint("allow it with --allow-host"));
        }
        // Browsers send no Origin with images and links, but say where they come from. Another port
        // of this host is another site, although the cookies of a host go to all of its ports. A link
        // that opens a page is allowed: the other site cannot read it.
        if headers
            .get("sec-fetch-site")
            .is_some_and(|site| site == "cross-site" || site == "same-site")
            && !headers.contains_key(ORIGIN)
            && !is_navigation(headers)
        {
            return Err(Fault::forbidden("pages of other sites may not call this server"));
        }
        let mut origins = headers.get_all(ORIGIN).iter();
        match (origins.next(), origins.next()) {
            (None, _) => Ok(()),
            (Some(origin), None) if self.allows(origin.to_str().unwrap_or_default(), &host) => {
                Ok(())
            }
            _ => Err(Fault::forbidden("pages of this origin may not call this server")
                .hint("allow it with --allow-origin")),
        }
    }

    /// Checks that a form of the console was sent by a page of this server. Origins that may call the
    /// API may not send forms: a form acts with the session of the browser.
    pub(crate) fn check_form(uri: &Uri, headers: &HeaderMap) -> Result<(), Fault> {
        let host = host(uri, headers)?;
        let is_own = |origin: &HeaderValue| is_own(origin.to_str().unwrap_or_default(), &host);
        if headers.get_all(ORIGIN).iter().all(is_own) {
            return Ok(());
        }
        Err(Fault::forbidden("this form was sent by a page of another origin")
            .hint("open the page in this console, then send the form"))
    }

    fn knows(&self, authority: &str) -> bool {
        let name = without_port(authority);
        let name = name.strip_suffix('.').unwrap_or(name);
        let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        name.eq_ignore_ascii_case("localhost")
            || bare.parse::<IpAddr>().is_ok()
            || self.hosts.iter().any(|known| {
                known.eq_ignore_ascii_case(name) || known.eq_ignore_ascii_case(authority)
            })
    }

    /// Whether the page is from this server or from an allowed origin.
    fn allows(&self, origin: &str, host: &str) -> bool {
        is_own(origin, host) || self.origins.iter().any(|known| known == origin)
    }
}

fn is_own(origin: &str, host: &str) -> bool {
    let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    rest.is_some_and(|rest| rest.eq_ignore_ascii_case(host))
}

/// Whether the browser opens the response as a page in a tab of its own.
fn is_navigation(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-mode").is_some_and(|mode| mode == "navigate")
        && headers.get("sec-fetch-dest").is_some_and(|dest| dest == "document")
}

/// The Host header, which must be unique and agree with the URL.
fn host(uri: &Uri, headers: &HeaderMap) -> Result<String, Fault> {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(first), None) = (hosts.next(), hosts.next()) else {
        return Err(Fault::usage("a request must have exactly one Host header"));
    };
    let host = first.to_str().map_err(|_| Fault::usage("the Host header is not ASCII"))?;
    if host.is_empty() || uri.authority().is_some_and(|named| named.as_str() != host) {
        return Err(Fault::usage("the Host header and the URL do not agree"));
    }
    Ok(host.to_owned())
}

fn without_port(authority: &str) -> &str {
    if authority.starts_with('[') {
        let name = authority.rsplit_once(':').filter(|(name, _)| name.ends_with(']'));
        return match name {
            Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
            _ => authority,
        };
    }
    match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(guard: &OriginGuard, host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        guard.check(&Uri::from_static("/v1/query"), &headers).is_ok()
    }

    #[test]
    fn names_of_other_hosts_are_refused() {
        let guard = OriginGuard { hosts: vec!["brain.example".to_owned()], origins: Vec::new() };
        for host in [
            "localhost",
            "localhost:7727",
            "LOCALHOST",
            "127.0.0.1:7727",
            "[::1]:7727",
            "10.0.0.7",
            "brain.example:443",
            "brain.example",
        ] {
            assert!(check(&guard, host, None), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "brain.example.evil",
            "evil.example:7727",
            "x@localhost",
            "",
        ] {
            assert!(!check(&guard, host, None), "{host}");
        }
    }

    #[test]
    fn pages_of_other_origins_are_refused() {
        let guard =
            OriginGuard { hosts: Vec::new(), origins: vec!["https://app.example".to_owned()] };
        let host = "localhost:7727";
        for origin in ["http://localhost:7727", "https://app.example"] {
            assert!(check(&guard, host, Some(origin)), "{origin}");
        }
        for origin in [
            "null",
            "https://evil.example",
            "http://localhost:80",
            "https://app.example.evil",
            "http://app.example",
            "file://",
            "",
        ] {
            assert!(!check(&guard, host, Some(origin)), "{origin}");
        }
    }

    #[test]
    fn links_and_images_of_other_sites_are_refused() {
        let request = |site: &'static str, mode: &'static str, destination: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, "localhost".parse().unwrap());
            headers.insert("sec-fetch-site", site.parse().unwrap());
            headers.insert("sec-fetch-mode", mode.parse().unwrap());
            headers.insert("sec-fetch-dest", destination.parse().unwrap());
            OriginGuard::default().check(&Uri::from_static("/v1/captures"), &headers).is_ok()
        };
        for site in ["cross-site", "same-site"] {
            assert!(!request(site, "no-cors", "image"), "{site}");
            assert!(!request(site, "navigate", "iframe"), "{site}");
            assert!(request(site, "navigate", "document"), "{site}: a link");
        }
        assert!(request("none", "no-cors", "image") && request("same-origin", "no-cors", "image"));
    }

    #[test]
    fn forms_are_from_this_server_only() {
        let form = |origins: &[&str]| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, "localhost:7727".parse().unwrap());
            for origin in origins {
                headers.append(ORIGIN, origin.parse().unwrap());
            }
            OriginGuard::check_form(&Uri::from_static("/sign-in"), &headers).is_ok()
        };
        assert!(form(&[]), "not a browser");
        assert!(form(&["http://localhost:7727"]) && form(&["https://LOCALHOST:7727"]));
        for origins in [
            &["null"][..],
            &["https://app.example"],
            &["http://localhost:7728"],
            &["http://localhost"],
            &["http://localhost:7727", "https://app.example"],
        ] {
            assert!(!form(origins), "{origins:?}");
        }
    }

    #[test]
    fn one_host_and_no_contradiction() {
        let guard = OriginGuard::default();
        let mut headers = HeaderMap::new();
        assert!(guard.check(&Uri::from_static("/"), &headers).is_err(), "none");
        headers.append(HOST, "localhost".parse().unwrap());
        assert!(guard.check(&Uri::from_static("http://evil.example/"), &headers).is_err());
        headers.append(HOST, "evil.example".parse().unwrap());
        assert!(guard.check(&Uri::from_static("/"), &headers).is_err(), "two");
    }
}
