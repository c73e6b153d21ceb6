//! Callers who want to break something: nothing is a 5xx, a panic or a hang, and nothing leaks.

mod bytes;
mod texts;

use super::client::{Call, Server, token};
use crate::capture::capturing;
use crate::support::Home;

/// A server under attack that must still answer a well-behaved client afterwards.
struct Besieged {
    home: Home,
    server: Server,
    token: String,
}

impl Besieged {
    fn new(home: Home, flags: &[&str]) -> Self {
        let home = capturing(home);
        home.put("people/ada", "---\ntitle: Ada\n---\nAda paints boats.");
        let token = token(&home, "admin");
        let flags: Vec<&str> = flags.iter().copied().chain(["--log", "debug"]).collect();
        let server = Server::start(&home, &flags);
        Self { home, server, token }
    }

    /// The server still answers, and nothing went wrong inside of it.
    #[track_caller]
    fn relieve(self) {
        let Self { home, server, token } = self;
        let ready = server.send(&Call::get("/v1/ready"));
        assert_eq!(ready.status, 200, "{}", ready.whole());
        let question = serde_json::json!({ "query": "who paints boats?" });
        let answer = server.send(&Call::json("POST", "/v1/query", &question).token(&token));
        assert_eq!(answer.status, 200, "{}", answer.whole());
        assert_eq!(answer.json()["hits"][0]["slug"], "people/ada");
        let log = server.stop().stderr;
        assert!(log.contains(" status=200 "), "requests are logged");
        let broken =
            log.lines().find(|line| line.contains(" status=5") || line.contains(" ERROR "));
        assert_eq!(broken, None);
        home.ok(&["reindex", "--verify"]);
    }
}
