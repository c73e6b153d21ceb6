//! Requests of browsers: what a page of the console needs to know of them, and what they are
//! answered with when there is no page.

use axum::extract::Request;
use axum::http::header::{ACCEPT, AUTHORIZATION, FORWARDED, ORIGIN};
use axum::http::{HeaderMap, Method};

/// A request that a browser made to show its answer, without credentials of the API.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BrowserRequest {
    pub(super) method: Method,
    /// Path and query.
    pub(super) target: String,
    /// Whether a link of another site was followed.
    pub(super) is_cross_site: bool,
}

impl BrowserRequest {
    /// `None` unless a browser asks for a page of the console.
    pub(crate) fn of(request: &Request) -> Option<Self> {
        let headers = request.headers();
        let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let is_page = super::is_console_path(request.uri().path())
            && accept.contains("text/html")
            && !headers.contains_key(AUTHORIZATION);
        let target = request.uri().path_and_query().map_or("/", |target| target.as_str());
        is_page.then(|| Self {
            method: request.method().clone(),
            target: target.to_owned(),
            is_cross_site: headers.get("sec-fetch-site").is_some_and(|site| site == "cross-site"),
        })
    }

    /// Whether it reads a page, and so can be repeated after signing in.
    pub(super) fn is_reading(&self) -> bool {
        matches!(self.method, Method::GET | Method::HEAD)
    }

    pub(super) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }
}

/// Whether the browser speaks TLS, to a proxy in front of this server. Its forms say so in their
/// origin, all requests in the headers of most proxies.
pub(super) fn is_https(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let first =
        |value: &str| value.split(',').next().unwrap_or_default().trim().to_ascii_lowercase();
    let forwarded = first(text(FORWARDED.as_str()));
    let mut pairs = forwarded.split(';').map(|pair| pair.trim().replace('"', ""));
    first(text("x-forwarded-proto")) == "https"
        || text(ORIGIN.as_str()).starts_with("https://")
        || pairs.any(|pair| pair == "proto=https")
}

/// A path of this server, so that nothing leads to another site; `/` for everything else.
pub(super) fn own_path(path: &str) -> &str {
    let is_own = path.starts_with('/')
        && !path.starts_with("//")
        && path.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if is_own { path } else { "/" }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn request(path: &str, headers: &[(&str, &str)]) -> Request {
        let mut request = Request::builder().uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(Body::empty()).unwrap()
    }

    #[test]
    fn nothing_leads_to_another_site() {
        for path in ["/", "/runs?x=1", "/a/./b", "/pages/wiki%3A%3Aada#history"] {
            assert_eq!(own_path(path), path);
        }
        for path in [
            "",
            "//evil.example",
            "///evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "https://evil.example",
            "javascript:alert(1)",
            "evil.example",
            " //evil.example",
            "/\t/evil.example",
            "/a\r\nset-cookie: x",
            "/a b",
            "/\u{0}/evil.example",
            "/ä",
        ] {
            assert_eq!(own_path(path), "/", "{path:?}");
        }
    }

    #[test]
    fn only_a_browser_at_a_page_is_sent_to_the_form() {
        let html = ("accept", "text/html,application/xhtml+xml");
        let page = BrowserRequest::of(&request("/runs?a=b", &[html])).unwrap();
        assert_eq!((page.target.as_str(), page.path()), ("/runs?a=b", "/runs"));
        assert!(page.is_reading() && !page.is_cross_site);
        let link = BrowserRequest::of(&request("/runs", &[html, ("sec-fetch-site", "cross-site")]));
        assert!(link.unwrap().is_cross_site);
        assert_eq!(BrowserRequest::of(&request("/v1/runs", &[html])), None);
        assert_eq!(BrowserRequest::of(&request("/mcp", &[html])), None);
        assert_eq!(BrowserRequest::of(&request("/runs", &[("accept", "application/json")])), None);
        assert_eq!(
            BrowserRequest::of(&request("/runs", &[html, ("authorization", "Bearer x")])),
            None
        );
    }

    #[test]
    fn tls_in_front_is_seen_in_any_of_its_headers() {
        let check = |name: &str, value: &str| is_https(request("/", &[(name, value)]).headers());
        for (name, value) in [
            ("x-forwarded-proto", "https"),
            ("x-forwarded-proto", "HTTPS, http"),
            ("forwarded", "for=10.0.0.7;proto=https;host=brain.example"),
            ("forwarded", "proto=\"https\""),
            ("origin", "https://brain.example"),
        ] {
            assert!(check(name, value), "{name}: {value}");
        }
        for (name, value) in [
            ("x-forwarded-proto", "http"),
            ("x-forwarded-proto", "http, https"),
            ("forwarded", "proto=http, proto=https"),
            ("origin", "http://localhost:7727"),
            ("host", "https"),
        ] {
            assert!(!check(name, value), "{name}: {value}");
        }
    }
}
