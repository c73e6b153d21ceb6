//! A reader of the console: signs in, opens pages and sends their forms.

use crate::serve::client::{Call, Reply, Server};

const FORM: &str = "application/x-www-form-urlencoded";
/// What browsers accept when they open a page.
const HTML: &str = "text/html,application/xhtml+xml,*/*;q=0.8";

/// A session of the console, or a reader on this machine without one.
pub(crate) struct Reader<'a> {
    server: &'a Server,
    /// As a browser sends it.
    cookie: Option<String>,
}

impl<'a> Reader<'a> {
    #[track_caller]
    pub(crate) fn sign_in(server: &'a Server, token: &str) -> Self {
        Self { server, cookie: Some(sign_in(server, token)) }
    }

    /// A reader of a server without tokens.
    pub(crate) fn local(server: &'a Server) -> Self {
        Self { server, cookie: None }
    }

    fn call(&self, call: &Call) -> Reply {
        match &self.cookie {
            Some(cookie) => self.server.send(&call.clone().header("cookie", cookie)),
            None => self.server.send(call),
        }
    }

    /// Opens a page, whatever its status.
    #[track_caller]
    pub(crate) fn open(&self, path: &str) -> Reply {
        self.call(&page(path))
    }

    /// The text of a page that must open.
    #[track_caller]
    pub(crate) fn page(&self, path: &str) -> String {
        let reply = self.open(path);
        assert_eq!(reply.status, 200, "{path}: {}", reply.whole());
        reply.text()
    }

    /// The text of a page that must contain these parts.
    #[track_caller]
    pub(crate) fn shows(&self, path: &str, parts: &[&str]) -> String {
        let text = self.page(path);
        has(&text, parts);
        text
    }

    /// The token of the forms of a page.
    #[track_caller]
    pub(crate) fn csrf(&self, path: &str) -> String {
        csrf_of(&self.open(path))
    }

    /// Sends a form with the token of the page it is on.
    #[track_caller]
    pub(crate) fn send(&self, on: &str, path: &str, fields: &[(&str, &str)]) -> Reply {
        let csrf = self.csrf(on);
        self.send_without_token(path, &[&[("csrf", csrf.as_str())], fields].concat())
    }

    /// Sends a form as it is.
    #[track_caller]
    pub(crate) fn send_without_token(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        self.call(&form(path, fields))
    }

    /// Sends a form that must be accepted, and gives the page that it leads to.
    #[track_caller]
    pub(crate) fn submit(&self, on: &str, path: &str, fields: &[(&str, &str)]) -> String {
        let reply = self.send(on, path, fields);
        assert_eq!(reply.status, 303, "{path}: {}", reply.whole());
        reply.header("location").unwrap().to_owned()
    }
}

/// A request as a browser sends it to open a page.
pub(super) fn page(path: impl Into<String>) -> Call {
    Call::get(path).header("accept", HTML)
}

/// A form as a browser sends it.
pub(super) fn form(path: impl Into<String>, fields: &[(&str, &str)]) -> Call {
    let pairs = fields.iter().map(|(name, value)| format!("{name}={}", encoded(value)));
    let body = pairs.collect::<Vec<_>>().join("&");
    Call::new("POST", path).header("accept", HTML).body(FORM, body)
}

/// The cookie of a new session, as a browser sends it.
#[track_caller]
pub(super) fn sign_in(server: &Server, token: &str) -> String {
    let reply = server.send(&form("/sign-in", &[("token", token)]));
    assert_eq!(reply.status, 303, "{}", reply.whole());
    cookie_of(&reply)
}

#[track_caller]
pub(super) fn cookie_of(reply: &Reply) -> String {
    let header = reply.header("set-cookie").unwrap_or_else(|| panic!("{}", reply.whole()));
    header.split(';').next().unwrap().to_owned()
}

/// The token of the forms of a page.
#[track_caller]
pub(super) fn csrf_of(reply: &Reply) -> String {
    let text = reply.text();
    let found = text.split("name=\"csrf\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    found.unwrap_or_else(|| panic!("no form: {text}")).to_owned()
}

/// Text as a value of a form or as a segment of a path.
pub(crate) fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let one =
        |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(one).collect()
}

#[track_caller]
pub(super) fn has(page: &str, expected: &[&str]) {
    for one in expected {
        assert!(page.contains(one), "missing {one:?} in\n{page}");
    }
}

#[track_caller]
pub(super) fn lacks(page: &str, unwanted: &[&str]) {
    for one in unwanted {
        assert!(!page.contains(one), "unwanted {one:?} in\n{page}");
    }
}
