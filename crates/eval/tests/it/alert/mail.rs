//! Mail: with STARTTLS, TLS from the start, AUTH, and servers that say no.

use gbrain_net::Secret;
use gbrain_net::mail::{Login, Mail, MailEncryption, MailFailureKind, MailServer};
use gbrain_testkit::mailbox::{Mailbox, MailboxOptions};
use gbrain_testkit::tls::{file, server_config};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

use super::*;

fn authorities() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    for one in CertificateDer::pem_file_iter(file("ca.pem")).unwrap() {
        roots.add(one.unwrap()).unwrap();
    }
    roots
}

fn server(mailbox: &Mailbox, encryption: MailEncryption, with_login: bool) -> MailServer {
    let secret = |text: &str| Secret::new(text).unwrap();
    let login = Login { username: secret("ada"), password: secret(SECRETS[3]) };
    MailServer {
        host: "localhost".to_owned(),
        port: mailbox.port(),
        encryption,
        login: with_login.then_some(login),
        authorities: Some(authorities()),
    }
}

fn mail() -> Mail {
    Mail {
        from: "gbrain@example.com".to_owned(),
        to: vec!["ops@example.com".to_owned(), "bad@example.com".to_owned()],
        subject: "für Ada\r\nBcc: all@example.com".to_owned(),
        text: "one\n.\nRCPT TO:<x>\n".to_owned(),
        id: "default-7-1".to_owned(),
        thread: "abc".to_owned(),
        at: "2026-11-17T12:00:00Z".parse().unwrap(),
    }
}

const WITHIN: Duration = Duration::from_secs(5);

#[test]
fn mails_are_taken_over_every_connection() {
    let check = |options: MailboxOptions,
                 encryption: MailEncryption,
                 with_login: bool,
                 login: &[&str]| {
        let is_encrypted = encryption != MailEncryption::None;
        let mailbox = Mailbox::start(options).unwrap();
        let said = server(&mailbox, encryption, with_login).send(&mail(), WITHIN).unwrap();
        assert!(said.contains("taken"), "{said}");
        let mails = mailbox.mails();
        assert_eq!(mails.len(), 1);
        assert_eq!(
            (mails[0].is_encrypted, mails[0].login.as_slice()),
            (is_encrypted, login_of(login).as_slice())
        );
        assert_eq!(mails[0].to, mail().to);
        assert!(mails[0].data.ends_with("\n\none\n.\nRCPT TO:<x>\n"), "{}", mails[0].data);
        assert!(mails[0].data.contains("Message-ID: <default-7-1@example.com>"));
        assert!(!mails[0].data.lines().any(|line| line.starts_with("Bcc")), "{}", mails[0].data);
    };
    let tls = || Some(server_config().unwrap());
    let plain = ["AGFkYQBtYWlsLXBhc3MtNA=="];
    let login = ["YWRh", "bWFpbC1wYXNzLTQ="];
    let with = |auth: Option<&'static str>, from_start: bool| MailboxOptions {
        tls: tls(),
        from_start,
        auth,
        says: Vec::new(),
    };
    check(MailboxOptions::default(), MailEncryption::None, false, &[]);
    check(with(None, false), MailEncryption::StartTls, false, &[]);
    check(with(Some("PLAIN LOGIN"), false), MailEncryption::StartTls, true, &plain);
    check(with(Some("LOGIN"), true), MailEncryption::Tls, true, &login);
    // To this machine a password may go in the clear.
    let local = MailboxOptions { auth: Some("PLAIN"), ..MailboxOptions::default() };
    check(local, MailEncryption::None, true, &plain);
}

fn login_of(login: &[&str]) -> Vec<String> {
    login.iter().map(|one| (*one).to_owned()).collect()
}

#[test]
fn servers_that_say_no() {
    let check = |says: (&'static str, &'static str), kind: MailFailureKind| {
        let auth = Some("PLAIN");
        let options = MailboxOptions {
            tls: Some(server_config().unwrap()),
            auth,
            says: vec![says],
            ..MailboxOptions::default()
        };
        let mailbox = Mailbox::start(options).unwrap();
        let failure =
            server(&mailbox, MailEncryption::StartTls, true).send(&mail(), WITHIN).unwrap_err();
        assert_eq!(failure.kind, kind, "{failure}");
        assert!(
            !failure.message.contains(SECRETS[3]) && !failure.message.contains("bWFpbC1wYXNzLTQ"),
            "{failure}"
        );
        assert_eq!(mailbox.mails(), []);
    };
    use MailFailureKind::{Insecure, Refused, Temporary, Unreachable};
    check(("EHLO", "421 too many"), Temporary);
    check(("STARTTLS", "454 not now"), Temporary);
    check(("EHLO", "250 nothing here"), Insecure);
    check(("STARTTLS", "220 go\r\n250-injected\r\n250 AUTH PLAIN"), Insecure);
    check(("AUTH", "535 wrong: AGFkYQBtYWlsLXBhc3MtNA== mail-pass-4"), Refused);
    check(("MAIL", "451 later"), Temporary);
    check(("MAIL", "550 never"), Refused);
    check(("RCPT", "450 greylisted"), Temporary);
    check(("RCPT", "550 no such user"), Refused);
    check(("DATA", "552 too much"), Refused);
    check(("EHLO", "hello to you"), Unreachable);
}

/// An unknown recipient does not prevent delivery to the others.
#[test]
fn one_of_two_is_refused() {
    let says = vec![("RCPT TO:<bad@", "550 no such user")];
    let mailbox = Mailbox::start(MailboxOptions { says, ..MailboxOptions::default() }).unwrap();
    let said = server(&mailbox, MailEncryption::None, false).send(&mail(), WITHIN).unwrap();
    assert!(
        said.contains("taken") && said.contains("but") && said.contains("bad@example.com"),
        "{said}"
    );
    assert_eq!(mailbox.mails()[0].to, ["ops@example.com"]);
}

#[test]
fn unknown_certificates_are_refused() {
    let options =
        MailboxOptions { tls: Some(server_config().unwrap()), ..MailboxOptions::default() };
    let mailbox = Mailbox::start(options).unwrap();
    let stranger = MailServer {
        authorities: Some(RootCertStore::empty()),
        ..server(&mailbox, MailEncryption::StartTls, true)
    };
    let failure = stranger.send(&mail(), WITHIN).unwrap_err();
    assert_eq!(failure.kind, MailFailureKind::Insecure, "{failure}");
    let name = MailServer {
        host: "127.0.0.1".to_owned(),
        ..server(&mailbox, MailEncryption::StartTls, true)
    };
    assert_eq!(name.send(&mail(), WITHIN).unwrap_err().kind, MailFailureKind::Insecure);
    assert!(mailbox.lines().iter().all(|line| !line.starts_with("AUTH")), "{:?}", mailbox.lines());
}

#[test]
fn a_server_that_drips_or_is_not_there() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            use std::io::Write as _;
            while stream.write_all(b"2").is_ok() {
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    });
    let mailbox = Mailbox::start(MailboxOptions::default()).unwrap();
    let dripping = MailServer { port, ..server(&mailbox, MailEncryption::None, false) };
    let begun = Instant::now();
    let failure = dripping.send(&mail(), Duration::from_millis(500)).unwrap_err();
    assert_eq!(failure.kind, MailFailureKind::Timeout, "{failure}");
    assert!(begun.elapsed() < Duration::from_secs(60), "a server that drips has no end");
    let gone = MailServer { port: 1, ..dripping };
    assert_eq!(gone.send(&mail(), WITHIN).unwrap_err().kind, MailFailureKind::Unreachable);
}

/// Through the queue: what is later comes again under the same name, what is never is dead.
#[test]
fn mails_through_the_queue() {
    let mailbox =
        Mailbox::start(MailboxOptions { auth: Some("PLAIN"), ..MailboxOptions::default() })
            .unwrap();
    let says = vec![("DATA", "550 never")];
    let rude = Mailbox::start(MailboxOptions { says, ..MailboxOptions::default() }).unwrap();
    let says = vec![("DATA", "451 later")];
    let busy = Mailbox::start(MailboxOptions { says, ..MailboxOptions::default() }).unwrap();
    let channel = |mailbox: &Mailbox, with_login: bool| {
        let mut channel = json!({ "kind": "email", "host": "127.0.0.1", "port": mailbox.port(), "tls": "none",
            "from": "gbrain@example.com", "to": ["ops@example.com"] });
        if with_login {
            channel["username_env"] = json!("USER");
            channel["password_env"] = json!("PASS");
        }
        channel
    };
    let room = Room::new(json!({
        "mail": channel(&mailbox, true), "rude": channel(&rude, false), "busy": channel(&busy, false),
    }));
    let ids = ["mail", "rude", "busy"]
        .map(|name| room.queue(name, "gbrain/default/s/run", DeliveryAction::Trigger));
    assert_eq!(room.send(), DeliveryTally { sent: 1, failed: 1, dead: 1 });
    room.is(ids[0], DeliveryState::Sent, "");
    room.is(ids[1], DeliveryState::Dead, "550 never");
    room.is(ids[2], DeliveryState::Queued, "451 later");
    let mail = mailbox.mails().remove(0);
    let id = format!("Message-ID: <default-{}-", ids[0]);
    assert!(
        mail.data.contains(&id) && mail.data.contains("Subject: [gbrain] Notice: about"),
        "{}",
        mail.data
    );
    assert!(!mail.data.contains(SECRETS[3]));
}
