//! Servers and workers: they raise and send by themselves, through restarts and receivers that are down.

use gbrain_core::format::alert::AlertsBody;
use gbrain_core::format::schema::of_body;
use gbrain_testkit::receivers::Refusal;

use super::*;
use crate::conforms::assert_conforms;
use crate::serve::client::{Call, Server, token, token_of};
use crate::support::wait_until;

/// The receiver is down, the server is ended and started again: then everything arrives.
#[test]
fn a_server_sends_what_a_run_left() {
    for home in Home::both() {
        let receivers = Receivers::start().unwrap();
        let address = receivers.address();
        let home = failing(home, &receivers, ", alerts: { notify: [hook] }");
        let serve = |command: std::process::Command| Server::of(command, &["--autopilot", "200ms"]);
        let first = knowing(&home, &receivers, &["serve"]);
        let second = knowing(&home, &receivers, &["serve"]);
        drop(receivers);
        home.run(&["suites", "run", "s"]);
        let server = serve(first);
        wait_until("it is tried", || {
            deliveries(&home).iter().any(|one| one["attempts"].as_u64() > Some(0))
        });
        let log = server.stop().stderr;
        shows_nothing(&log);
        assert!(log.contains("message delivery will be retried") && !log.contains(ASKED), "{log}");
        let receivers = Receivers::start_at(address, |_, _| Refusal::None).unwrap();
        let server = serve(second);
        wait_until("it is sent", || receivers.count() >= 2);
        wait_until("it is known", || deliveries(&home).iter().all(|one| one["state"] == "sent"));
        shows_nothing(&server.stop().stderr);
        assert_eq!(sent(&receivers), ["hook trigger", "hook trigger"], "once each");
        keeps_secrets(&home, &receivers);
    }
}

/// Over HTTP a caller sees the alerts and the numbers of its own workspace.
#[test]
fn alerts_and_numbers_over_a_wire() {
    for home in Home::both() {
        let receivers = Receivers::start().unwrap();
        let home = failing(home, &receivers, "");
        home.run(&["suites", "run", "s"]);
        let read = token(&home, "read");
        home.ok(&["workspaces", "add", "other"]);
        let other = token_of(&home, "other", "read");
        let server = Server::start(&home, &[]);
        let get = |path: &str, token: &str| {
            let reply = server.send(&Call::get(path).token(token));
            assert_eq!(reply.status, 200, "{path}: {}", reply.whole());
            reply
        };
        let list = get("/v1/alerts", &read).json();
        assert_conforms(of_body::<AlertsBody>().as_value(), &list);
        assert_eq!(list["alerts"].as_array().unwrap().len(), 2, "{list:#}");
        assert_eq!(list["deliveries"]["queued"], 6);
        assert!(!list.to_string().contains(ASKED) && !list.to_string().contains("ALERT_"));
        let over = get("/v1/alerts?state=resolved", &read).json();
        assert_eq!(over["alerts"], json!([]));
        assert_eq!(server.send(&Call::get("/v1/alerts?state=odd").token(&read)).status, 400);
        let strange = get("/v1/alerts", &other).json();
        assert_eq!((&strange["alerts"], &strange["deliveries"]["queued"]), (&json!([]), &json!(0)));
        let numbers = get("/metrics", &read).whole();
        for line in [
            "gbrain_suite_measure{workspace=\"default\",suite=\"s\",measure=\"recall@5\",segment=\"all\"} 0",
            "gbrain_suite_verdict{workspace=\"default\",suite=\"s\",verdict=\"fail\"} 1",
            "gbrain_alerts_firing{workspace=\"default\",severity=\"critical\"} 1",
            "gbrain_alert_deliveries{workspace=\"default\",state=\"queued\"} 6",
        ] {
            assert!(numbers.contains(line), "{line} in {numbers}");
        }
        assert!(numbers.contains(
            "gbrain_suite_last_run_timestamp_seconds{workspace=\"default\",suite=\"s\"} 1"
        ));
        let theirs = get("/metrics", &other).whole();
        assert!(!theirs.contains("workspace=\"default\""), "{theirs}");
        server.stop();
    }
}
