//! `gbrain alerts`, word by word.

use gbrain_core::format::alert::{ChannelTestBody, SilenceBody};
use gbrain_core::format::schema::of_body;
use gbrain_testkit::mailbox::{Mailbox, MailboxOptions};
use gbrain_testkit::receivers::Refusal;
use gbrain_testkit::tls::{file, front, server_config};

use super::*;
use crate::conforms::assert_conforms;

#[test]
fn a_channel_is_tested() {
    let receivers = Receivers::start_with(|_, path| match path {
        "/hook" => Refusal::Status(403, None),
        _ => Refusal::None,
    })
    .unwrap();
    let home = failing(Home::sqlite(), &receivers, "");
    let test = |channel: &str| {
        let ran = known(&home, &receivers, &["alerts", "test", channel, "--json"]);
        let body = ran.json();
        (ran.code, body)
    };
    let (code, body) = test("pager");
    assert_conforms(of_body::<ChannelTestBody>().as_value(), &body);
    assert!(code == Some(0) && body["answer"].as_str().unwrap().starts_with("202"), "{body}");
    assert_eq!(sent(&receivers), ["pagerduty resolve", "pagerduty trigger"], "nothing stays open");
    let (code, body) = test("chat");
    assert_eq!((code, &body["answer"]), (Some(0), &json!("200 ok")));
    let (code, body) = test("hook");
    assert!(code == Some(1) && body["answer"].as_str().unwrap().contains("status 403"), "{body}");
    home.run(&["alerts", "test", "hook"])
        .exits(1)
        .stdout_has("environment variable ALERT_HOOK is not set");
    home.run(&["alerts", "test", "hok"]).exits(2).stderr_has("did you mean `hook`");
    assert_eq!(deliveries(&home), [] as [Value; 0], "a test is beside the queue");
}

/// Through STARTTLS, trusted by the system's own list.
#[test]
fn a_mail_is_tested() {
    let config = server_config().unwrap();
    let options =
        MailboxOptions { tls: Some(config), auth: Some("PLAIN"), ..MailboxOptions::default() };
    let mailbox = Mailbox::start(options).unwrap();
    let home = Home::sqlite();
    let channel = json!({ "channels": { "mail": { "kind": "email", "host": "localhost", "port": mailbox.port(),
        "username_env": "MAIL_USER", "password_env": "MAIL_PASS", "from": "gbrain@example.com", "to": ["ops@example.com"] } } });
    home.write("config.json", channel.to_string());
    let test = |authorities: &str| {
        let mut command = home.command(&["alerts", "test", "mail"]);
        command.env("MAIL_USER", "ada").env("MAIL_PASS", "mail-pass-9");
        command.env("SSL_CERT_FILE", file(authorities)).env_remove("SSL_CERT_DIR");
        Ran::of(command.output().unwrap())
    };
    test("ca.pem").exits(0).stdout_has("250 2.0.0 taken");
    let mail = mailbox.mails().remove(0);
    assert!(
        mail.is_encrypted
            && mail.data.contains("Subject: [gbrain] Notice: a test of the channel mail"),
        "{mail:?}"
    );
    let ran = test("nothing.pem");
    assert_eq!((ran.code, mailbox.mails().len()), (Some(1), 1), "{}", ran.stdout);
    assert!(!ran.stdout.contains("mail-pass-9") && !ran.stderr.contains("mail-pass-9"));
}

/// Receivers inside of a company have certificates of its own authority.
#[test]
fn a_receiver_is_trusted_by_the_authorities_that_the_environment_names() {
    let config = server_config().unwrap();
    let receivers = Receivers::start().unwrap();
    let behind = receivers.url("").trim_start_matches("http://").parse().unwrap();
    let home = Home::sqlite();
    let url = format!("https://localhost:{}/hook", front(behind, config).unwrap());
    let channel = json!({ "channels": { "hook": { "kind": "webhook", "url": url, "secret_env": "ALERT_HOOK" } } });
    home.write("config.json", channel.to_string());
    let test = |authorities: Option<&str>| {
        let mut command = knowing(&home, &receivers, &["alerts", "test", "hook"]);
        command.env_remove("SSL_CERT_FILE").env_remove("SSL_CERT_DIR");
        command.envs(authorities.map(|name| ("SSL_CERT_FILE", file(name))));
        Ran::of(command.output().unwrap())
    };
    for (stranger, why) in [
        (None, "certificate"),
        (Some("nothing.pem"), "SSL_CERT_FILE="),
        (Some("server.key"), "SSL_CERT_FILE="),
    ] {
        let ran = test(stranger);
        assert_eq!((ran.code, receivers.requests()), (Some(1), 0), "{stranger:?}: {}", ran.stdout);
        assert!(ran.stdout.contains(why), "{stranger:?}: {}", ran.stdout);
    }
    test(Some("ca.pem")).exits(0);
    assert_eq!(sent(&receivers), ["hook notice"]);
}

#[test]
fn silences_are_stored_and_ended() {
    for home in Home::both() {
        let receivers = Receivers::start().unwrap();
        let home = failing(home, &receivers, ", alerts: { notify: [hook] }");
        let silence =
            ["alerts", "silence", "gbrain/default/s/*", "--for", "2h", "--reason", "reindexing"];
        let made = home.json(&silence);
        assert_conforms(of_body::<SilenceBody>().as_value(), &made);
        known(&home, &receivers, &["suites", "run", "s"]);
        assert_eq!(receivers.requests(), 0);
        let list = home.json(&["alerts", "list"]);
        assert!(
            list["alerts"].as_array().unwrap().iter().all(|one| one["silenced"] == true),
            "{list:#}"
        );
        assert_eq!(list["silences"][0]["reason"], "reindexing");
        assert!(home.ok(&["alerts", "list"]).contains("silenced"));
        home.ok(&["alerts", "unsilence", &made["id"].to_string()]);
        known(&home, &receivers, &["alerts", "deliver"]);
        assert_eq!(
            sent(&receivers),
            ["hook trigger", "hook trigger"],
            "what still fires is told then"
        );
        assert_eq!(home.run(&["alerts", "unsilence", "9"]).code, Some(2));
        for wrong in [["x", "1h", "why"], ["gbrain/*", "1h", " "], ["gbrain/*", "soon", "why"]] {
            let [key, time, reason] = wrong;
            let ran = home.run(&["alerts", "silence", key, "--for", time, "--reason", reason]);
            assert_eq!(ran.code, Some(2), "{wrong:?}");
        }
    }
}

#[test]
fn dead_messages_can_be_requeued() {
    for home in Home::both() {
        let receivers = Receivers::start_with(|number, _| match number {
            1 => Refusal::Status(400, None),
            _ => Refusal::None,
        })
        .unwrap();
        let home = failing(home, &receivers, ", alerts: { page: [hook] }");
        known(&home, &receivers, &["suites", "run", "s"]);
        let dead = home.json(&["alerts", "history", "--state", "dead"])["deliveries"].clone();
        let id = dead[0]["id"].to_string();
        assert!(dead[0]["error"].as_str().unwrap().contains("status 400"), "{dead:#}");
        assert!(home.ok(&["alerts", "list"]).contains("1 given up"));
        home.ok(&["alerts", "retry", &id]);
        assert_eq!(known(&home, &receivers, &["alerts", "deliver"]).code, Some(0));
        assert_eq!(sent(&receivers), ["hook trigger"]);
        home.run(&["alerts", "retry", &id]).exits(2).stderr_has("given up");
        keeps_secrets(&home, &receivers);
    }
}

#[test]
fn queued_messages_can_be_dropped() {
    for home in Home::both() {
        let receivers = Receivers::start().unwrap();
        let home = failing(home, &receivers, ", alerts: { page: [hook] }");
        // The secret is not set here, so the message waits.
        home.run(&["suites", "run", "s"]);
        let id = deliveries(&home)[0]["id"].to_string();
        let drop = |reason: &str| home.run(&["alerts", "drop", &id, "--reason", reason]);
        assert_eq!(drop(" ").code, Some(2), "somebody will wonder");
        let dropped = home.json(&["alerts", "drop", &id, "--reason", "the channel is gone"]);
        assert_eq!(dropped["state"], "dead");
        assert_eq!(deliveries(&home)[0]["error"], "dropped by hand: the channel is gone");
        drop("again").exits(2).stderr_has("queued");
        known(&home, &receivers, &["alerts", "deliver"]);
        assert_eq!(receivers.requests(), 0);
        home.ok(&["alerts", "retry", &id]);
        known(&home, &receivers, &["alerts", "deliver"]);
        assert_eq!(sent(&receivers), ["hook trigger"]);
    }
}

#[test]
fn an_alert_is_closed_by_hand() {
    for home in Home::both() {
        let receivers = Receivers::start().unwrap();
        let home = failing(home, &receivers, ", alerts: { notify: [hook] }");
        let key = "gbrain/default/s/recall@5/all";
        let close = |home: &Home| home.run(&["alerts", "close", key, "--reason", "it is planned"]);
        assert_eq!(close(&home).code, Some(2), "it does not fire");
        known(&home, &receivers, &["suites", "run", "s"]);
        assert_eq!(home.run(&["alerts", "close", key, "--reason", " "]).code, Some(2));
        let closed = close(&home);
        assert!(closed.code == Some(0) && closed.stdout.contains("queued for hook"), "{closed:?}");
        known(&home, &receivers, &["alerts", "deliver"]);
        let over = receivers.taken().into_iter().find(|one| one.body["action"] == "resolve");
        let over = over.expect("those who were told are told").body;
        assert_eq!(over["dedup_key"], key);
        assert!(over["summary"].as_str().unwrap().ends_with("closed by hand: it is planned"));
        let firing = home.json(&["alerts", "list"])["alerts"].to_string();
        assert!(!firing.contains(key) && firing.contains("recall@10"), "the others go on");
        // The next run that measures the breach notifies again.
        known(&home, &receivers, &["suites", "run", "s"]);
        assert!(home.json(&["alerts", "list"])["alerts"].to_string().contains(key));
    }
}

#[test]
fn rules_dashboard_and_numbers() {
    let receivers = Receivers::start().unwrap();
    let home = failing(Home::sqlite(), &receivers, ", alerts: { silent_after_days: 3 }");
    home.run(&["suites", "run", "s"]);
    let export = |format: &str| home.ok(&["alerts", "export", "--format", format]);
    let rules = export("prometheus");
    assert!(rules.contains("recall@5\",segment=\"all\"} < 0.92"), "{rules}");
    assert!(
        rules.contains("latency_p95_ms\",segment=\"all\"} > 60000"),
        "the suite's own table: {rules}"
    );
    assert!(!rules.contains("GbrainSuiteSilent"), "it is not on: {rules}");
    home.ok(&["suites", "enable", "s"]);
    let rules = export("prometheus");
    assert!(rules.contains("{workspace=\"default\",suite=~\"s\"} > 259200"), "{rules}");
    let dashboard: Value = serde_json::from_str(&export("grafana")).unwrap();
    assert_eq!(dashboard["uid"], "gbrain-suites");
    let numbers = export("metrics");
    assert!(numbers.ends_with("# EOF\n"), "{numbers}");
    assert!(numbers.contains("gbrain_suite_measure{workspace=\"default\",suite=\"s\",measure=\"recall@5\",segment=\"all\"} 0\n"), "{numbers}");
    assert!(
        numbers.contains("gbrain_alerts_firing{workspace=\"default\",severity=\"critical\"} 1\n"),
        "{numbers}"
    );
}
