//! The password of the database is shown nowhere, however it is written and wherever it comes from.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::serve::client::Server;
use crate::support::{Home, Ran};

/// Part of every form of the password, percent-encoded or not.
const CANARY: &str = "swordfish";

/// The address of a home's database, by its parts.
struct Address {
    host: String,
    port: String,
    user: String,
    database: String,
}

impl Address {
    fn of(home: &Home) -> Self {
        let part = |name: &str| {
            let mut words = home.url().split(' ').filter_map(|word| word.split_once('='));
            let found = words.rfind(|(key, _)| *key == name);
            found.map(|(_, value)| value.trim_matches('\'').to_owned())
        };
        Self {
            host: part("host").unwrap(),
            port: part("port").unwrap_or_else(|| "5432".to_owned()),
            user: part("user").unwrap(),
            database: part("dbname").unwrap(),
        }
    }

    /// Every way to write a password.
    fn with_passwords(&self) -> Vec<String> {
        let Self { host, port, user, database } = self;
        let encoded: String = host.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let rest = format!("{encoded}:{port}/{database}");
        vec![
            format!("host={host} port={port} user={user} password={CANARY} dbname={database}"),
            format!(
                "password = 'x {CANARY}' host={host} port={port} user={user} dbname={database}"
            ),
            format!("postgres://{user}:{CANARY}@{rest}"),
            format!("postgresql://{user}:x%40{CANARY}%2F@{rest}"),
            format!("postgres://{user}@{rest}?password={CANARY}"),
            format!("postgres://{user}@{rest}?application_name=x&pass%77ord={CANARY}"),
        ]
    }

    /// Addresses that nothing answers at, or that can't be read.
    fn wrong(&self) -> Vec<String> {
        let Self { user, database, .. } = self;
        vec![
            format!("postgres://{user}:{CANARY}@127.0.0.1:1/{database}"),
            format!("postgres://{user}:{CANARY}@h:port/{database}"),
            format!("postgres://{user}@127.0.0.1:1/{database}?pasword={CANARY}"),
            format!("host=/nowhere user={user} pasword={CANARY}"),
            format!("host=/nowhere user={user} password={CANARY} sslmode=maybe"),
            format!("//{user}:{CANARY}@127.0.0.1/{database}"),
            format!("127.0.0.1 password={CANARY}"),
            format!("mysql://{user}:{CANARY}@127.0.0.1/{database}"),
        ]
    }
}

/// Ways to give a URL.
#[derive(Debug, Clone, Copy)]
enum Given {
    Flag,
    Environment,
    File,
}

fn command(home: &Home, given: Given, url: &str, words: &[&str]) -> Command {
    let config = home.path().join("config.json");
    let _ = fs::remove_file(&config);
    let mut command = match given {
        Given::Flag => home.command(&[&["--database-url", url], words].concat()),
        Given::Environment | Given::File => home.command(words),
    };
    command.env_remove("DATABASE_URL");
    match given {
        Given::Flag => (),
        Given::Environment => drop(command.env("DATABASE_URL", url)),
        Given::File => {
            let text = serde_json::json!({ "format": "gbrain/1", "database_url": url });
            fs::write(config, text.to_string()).unwrap();
        }
    }
    command
}

#[track_caller]
fn check_hidden(what: &str, ran: &Ran) {
    for text in [&ran.stdout, &ran.stderr] {
        assert!(!text.contains(CANARY), "{what} shows the password: {text}");
    }
}

#[test]
fn no_command_shows_the_password_of_a_database_that_answers() {
    let home = Home::postgres();
    let commands: &[&[&str]] = &[
        &["config", "list"],
        &["config", "list", "--json"],
        &["config", "get", "database_url"],
        &["config", "get", "database_url", "--json"],
        &["doctor", "--offline"],
        &["doctor", "--offline", "--json"],
        &["init"],
        &["init", "--json"],
        // An empty brain says where it is.
        &["query", "boats"],
        &["stats"],
        &["get", "nothing"],
    ];
    for url in Address::of(&home).with_passwords() {
        for given in [Given::Flag, Given::Environment, Given::File] {
            for words in commands {
                let ran = Ran::of(command(&home, given, &url, words).output().unwrap());
                let what = format!("{words:?} with {url} from {given:?}");
                check_hidden(&what, &ran);
                let expected = if words[0] == "get" { 2 } else { 0 };
                assert_eq!(ran.code, Some(expected), "{what}: {}\n{}", ran.stdout, ran.stderr);
            }
        }
    }
    check_files(home.path());
}

#[test]
fn no_command_shows_the_password_of_an_address_that_is_wrong() {
    let home = Home::postgres();
    for url in Address::of(&home).wrong() {
        for given in [Given::Flag, Given::Environment, Given::File] {
            for words in [&["stats"][..], &["doctor", "--offline", "--json"], &["init"]] {
                let ran = Ran::of(command(&home, given, &url, words).output().unwrap());
                let what = format!("{words:?} with {url} from {given:?}");
                check_hidden(&what, &ran);
                assert_eq!(ran.code, Some(2), "{what}: {}\n{}", ran.stdout, ran.stderr);
            }
        }
    }
}

#[test]
fn a_url_that_was_typed_in_the_wrong_place_is_not_repeated() {
    let home = Home::sqlite();
    home.ok(&["init"]);
    let url = format!("postgres://ada:{CANARY}@127.0.0.1:1/x");
    let keywords = format!("host=h password={CANARY}");
    for url in [&url, &keywords] {
        for words in [
            &["config", "set", "database_url", url][..],
            &["config", "set", "database_url", url, "--json"],
            &["init", url],
            &["init", url, "--json"],
            &[url],
        ] {
            let ran = home.run(words);
            check_hidden(&format!("{words:?}"), &ran);
            assert_eq!(ran.code, Some(2), "{words:?}: {}", ran.stdout);
        }
    }
    // The file may hold a URL that a flag overrides, or none that is text.
    for value in [
        serde_json::json!(url),
        serde_json::json!([url]),
        serde_json::json!({ "password": CANARY }),
        serde_json::json!(format!("mysql://ada:{CANARY}@h/x")),
    ] {
        let text = serde_json::json!({ "database_url": value }).to_string();
        home.write("config.json", text);
        let database = home.path().join("brain.db");
        let database = database.to_str().unwrap();
        for words in [
            &["config", "list"][..],
            &["config", "list", "--json"],
            &["config", "get", "database_url"],
            &["stats"],
        ] {
            check_hidden(&format!("{words:?} with {value}"), &home.run(words));
            let words = [&["--database-url", database], words].concat();
            check_hidden(&format!("{words:?} with {value}"), &home.run(&words));
        }
    }
}

#[test]
fn a_server_shows_no_password_and_writes_none_down() {
    let home = Home::postgres();
    for url in Address::of(&home).with_passwords() {
        let mut serve = command(&home, Given::Environment, &url, &["serve"]);
        serve.env("GBRAIN_LOG", "debug");
        let output = Server::of(serve, &["--log", "debug"]).stop();
        for text in [&output.stdout, &output.stderr] {
            assert!(!text.contains(CANARY), "serve with {url}: {text}");
        }
    }
    check_files(home.path());
}

/// No file of the home but the owner's own settings holds it.
#[track_caller]
fn check_files(dir: &Path) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            check_files(&path);
        } else if path.file_name().is_some_and(|name| name != "config.json") {
            let bytes = fs::read(&path).unwrap();
            let is_there = bytes.windows(CANARY.len()).any(|part| part == CANARY.as_bytes());
            assert!(!is_there, "{} holds the password", path.display());
        }
    }
}
