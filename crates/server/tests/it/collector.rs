//! A collector of spans: OTLP over HTTP with JSON, as little of it as a test needs.

use std::time::Duration;

use gbrain_testkit::listener::{Incoming, Listener, respond};
use serde_json::Value;

/// How a collector answers.
#[derive(Clone, Copy)]
pub(crate) enum Manner {
    Status(u16),
    /// Not at all, while the connection stays open.
    Silent,
}

/// A request as it came.
#[derive(Clone)]
pub(crate) struct Received {
    pub(crate) head: String,
    pub(crate) body: Value,
}

pub(crate) struct Collector {
    pub(crate) endpoint: String,
    listener: Listener,
}

impl Collector {
    pub(crate) fn start(manner: Manner) -> Self {
        let listener = Listener::start(64, move |stream, _| match manner {
            Manner::Status(status) => {
                respond(stream, status, "location: http://127.0.0.1:1/\r\n", "{}")
            }
            Manner::Silent => {
                std::thread::sleep(Duration::from_secs(60));
                Some(())
            }
        });
        let listener = listener.unwrap();
        Self { endpoint: format!("{}/v1/traces", listener.url()), listener }
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        let received = |Incoming { method, path, head, body, .. }: Incoming| Received {
            head: format!("{method} {path} \r\n{head}").to_ascii_lowercase(),
            body: serde_json::from_str(&body).unwrap(),
        };
        self.listener.kept().into_iter().map(received).collect()
    }

    /// Every span of every request, in the order they came.
    pub(crate) fn spans(&self) -> Vec<Value> {
        let array = |value: &Value, key: &str| value[key].as_array().unwrap().clone();
        let requests = self.received();
        let resources = requests.iter().flat_map(|request| array(&request.body, "resourceSpans"));
        let scopes = resources.flat_map(|resource| array(&resource, "scopeSpans"));
        scopes.flat_map(|scope| array(&scope, "spans")).collect()
    }
}
