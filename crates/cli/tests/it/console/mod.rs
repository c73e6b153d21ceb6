//! The console, as a browser meets it: pages of a real server, sessions, forms.

mod browser;
mod captures;
mod explain;
mod hostile;
mod labels;
mod memory;
mod monitor;
mod reader;
mod runs;
mod sessions;
mod site;

use serde_json::Value;

use crate::serve::client::{Call, Reply, Server};

/// A browser that signed in with a token.
pub(crate) struct Browser<'a> {
    server: &'a Server,
    cookie: String,
}

impl<'a> Browser<'a> {
    #[track_caller]
    pub(crate) fn sign_in(server: &'a Server, token: &str) -> Self {
        let form = format!("token={token}&next=%2F");
        let call = Call::new("POST", "/sign-in").body("application/x-www-form-urlencoded", form);
        let reply = server.send(&call);
        assert_eq!(reply.status, 303, "{}", reply.whole());
        let cookie = reply.header("set-cookie").unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        Self { server, cookie }
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Reply {
        let call = Call::get(path).header("cookie", &self.cookie).header("accept", "text/html");
        self.server.send(&call)
    }

    /// A page that must be there.
    #[track_caller]
    pub(crate) fn page(&self, path: &str) -> String {
        let reply = self.get(path);
        assert_eq!(reply.status, 200, "{path}: {}", reply.whole());
        reply.text()
    }

    /// The form token of a page.
    #[track_caller]
    pub(crate) fn csrf(&self, path: &str) -> String {
        let page = self.page(path);
        let (_, rest) = page.split_once("name=\"csrf\" value=\"").expect("a form");
        rest.split('"').next().unwrap().to_owned()
    }

    /// Sends a form as it is.
    #[track_caller]
    pub(crate) fn post(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let form: Vec<String> =
            fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let call = Call::new("POST", path)
            .header("cookie", &self.cookie)
            .body("application/x-www-form-urlencoded", form.join("&"));
        self.server.send(&call)
    }

    /// Sends a form with the token of a page; gives where it leads.
    #[track_caller]
    pub(crate) fn submit(&self, on: &str, path: &str, fields: &[(&str, &str)]) -> String {
        let csrf = self.csrf(on);
        let fields: Vec<(&str, &str)> =
            [("csrf", csrf.as_str())].into_iter().chain(fields.iter().copied()).collect();
        let reply = self.post(path, &fields);
        assert_eq!(reply.status, 303, "{path}: {}", reply.whole());
        reply.header("location").unwrap().to_owned()
    }
}

pub(crate) fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[track_caller]
fn has(page: &str, expected: &[&str]) {
    for one in expected {
        assert!(page.contains(one), "missing {one:?} in\n{page}");
    }
}

#[track_caller]
fn lacks(page: &str, unwanted: &[&str]) {
    for one in unwanted {
        assert!(!page.contains(one), "unwanted {one:?} in\n{page}");
    }
}

/// The captures of remote callers.
fn captures(server: &Server, token: &str) -> Vec<Value> {
    let reply = server.send(&Call::get("/v1/captures").token(token));
    let text = reply.text();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
