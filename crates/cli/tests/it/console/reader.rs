//! A reader of the console: signs in, opens pages and sends their forms.

use crate::serve::client::{Call, Reply, Server};

const FORM: &str = "application/x-www-form-urlencoded";
const HTML: &str = "text/html,application/xhtml+xml,*/*;q=0.8";

/// A session of the console.
pub(super) struct Reader<'a> {
    server: &'a Server,
    cookie: String,
}

impl<'a> Reader<'a> {
    #[track_caller]
    pub(super) fn sign_in(server: &'a Server, token: &str) -> Self {
        let reply = server.send(&form("/sign-in", &[("token", token)]));
        assert_eq!(reply.status, 303, "{}", reply.whole());
        let cookie = reply.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        Self { server, cookie }
    }

    /// Opens a page, whatever its status.
    pub(super) fn open(&self, path: &str) -> Reply {
        let call = Call::get(path).header("accept", HTML).header("cookie", &self.cookie);
        self.server.send(&call)
    }

    /// The text of a page that must open.
    #[track_caller]
    pub(super) fn page(&self, path: &str) -> String {
        let reply = self.open(path);
        assert_eq!(reply.status, 200, "{path}: {}", reply.whole());
        reply.text()
    }

    /// Sends a form with the token of the page it is on.
    pub(super) fn send(&self, page: &str, path: &str, fields: &[(&str, &str)]) -> Reply {
        let text = self.page(page);
        let csrf = text.split("name=\"csrf\" value=\"").nth(1).unwrap().split('"').next().unwrap();
        let mut fields = fields.to_vec();
        fields.push(("csrf", csrf));
        self.send_without_token(path, &fields)
    }

    /// Sends a form as another site would have it sent.
    pub(super) fn send_without_token(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        self.server.send(&form(path, fields).header("cookie", &self.cookie))
    }
}

fn form(path: &str, fields: &[(&str, &str)]) -> Call {
    let body = fields.iter().map(|(name, value)| format!("{name}={}", encoded(value)));
    let body = body.collect::<Vec<_>>().join("&");
    Call::new("POST", path).header("accept", HTML).body(FORM, body)
}

fn encoded(value: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let one =
        |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    value.bytes().map(one).collect()
}
