//! Files that are lost, cut or changed under a running server: it goes on answering, makes its index again, and its
//! readiness says what can't be helped.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::client::{Call, Reply, Server};
use crate::support::{Home, demo_home, keys, wait_until};

const QUERY: &str = "/v1/query";

fn question() -> Call {
    let now = "2026-06-01T00:00:00Z";
    Call::json("POST", QUERY, &json!({ "query": "who owns the berth planner?", "now": now }))
}

fn put(slug: &str, text: &str) -> Call {
    Call::json("PUT", format!("/v1/pages/{slug}"), &json!({ "content": text }))
}

/// The directory of the one index.
fn index_dir(home: &Home) -> PathBuf {
    let mut dirs = fs::read_dir(home.path().join("index")).unwrap();
    dirs.find_map(|entry| Some(entry.unwrap().path()).filter(|path| path.is_dir())).unwrap()
}

fn index_files(home: &Home) -> Vec<PathBuf> {
    let entries = fs::read_dir(index_dir(home)).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_file()).collect()
}

fn behind(reply: &Reply) -> Value {
    reply.json()["served"]["behind"].clone()
}

fn is_whole(home: &Home) -> bool {
    let meta = index_dir(home).join("meta.json");
    fs::metadata(meta).is_ok_and(|meta| meta.len() > 0)
}

#[test]
fn a_lost_index_is_made_again_while_the_server_answers() {
    for home in Home::both() {
        let home = demo_home(home);
        let server = Server::start(&home, &[]);
        let expected = keys(&server.send(&question()).json());
        assert!(!expected.is_empty());
        let damages: [(&str, &dyn Fn()); 4] = [
            ("the directory removed", &|| fs::remove_dir_all(index_dir(&home)).unwrap()),
            ("meta.json emptied", &|| drop(File::create(index_dir(&home).join("meta.json")))),
            ("meta.json removed", &|| fs::remove_file(index_dir(&home).join("meta.json")).unwrap()),
            ("every file cut", &|| {
                for path in index_files(&home) {
                    drop(File::create(path));
                }
            }),
        ];
        for (number, (what, damage)) in damages.into_iter().enumerate() {
            damage();
            let reply = server.send(&question());
            assert_eq!(reply.status, 200, "{what}: {}", reply.text());
            assert_eq!(keys(&reply.json()), expected, "{what}");
            assert_eq!(server.send(&Call::get("/v1/ready")).status, 200, "{what}");
            wait_until(what, || {
                assert_eq!(server.send(&question()).status, 200, "{what}");
                home.path().join("index").exists() && is_whole(&home)
            });
            // Pages written afterwards are found.
            let slug = format!("after-{number}");
            assert_eq!(server.send(&put(&slug, &format!("Quenelle {number}."))).status, 200);
            let find = Call::json("POST", "/v1/search", &json!({ "query": "quenelle" }));
            wait_until(what, || {
                let reply = server.send(&find);
                assert_eq!(reply.status, 200, "{what}: {}", reply.text());
                keys(&reply.json()).contains(&format!("default::{slug}"))
            });
        }
        let log = server.stop().stderr;
        assert!(log.contains("a damaged index was replaced"), "{log}");
        let verified = home.ok(&["reindex", "--verify"]);
        assert!(verified.starts_with("clean: "), "{verified}\n{log}");
    }
}

#[test]
fn readiness_says_that_an_index_cannot_be_made_again() {
    let home = demo_home(Home::sqlite());
    let server = Server::start(&home, &[]);
    let expected = keys(&server.send(&question()).json());
    assert_eq!(server.send(&Call::get("/v1/ready")).status, 200);
    // Where the directory was is a file: no index can be made there.
    let index = home.path().join("index");
    fs::remove_dir_all(&index).unwrap();
    fs::write(&index, "").unwrap();
    wait_until("not ready", || server.send(&Call::get("/v1/ready")).status == 503);
    let message = server.send(&Call::get("/v1/ready")).text();
    assert!(message.contains("index") && !message.contains("/index"), "{message}");
    let reply = server.send(&question());
    assert_eq!((reply.status, keys(&reply.json())), (200, expected.clone()));
    // Written, and not in the corpus that is open: the answer says so.
    assert_eq!(server.send(&put("late", "Quenelle.")).status, 200);
    let reply = server.send(&question());
    assert_eq!((reply.status, behind(&reply)), (200, json!(1)), "{}", reply.text());
    assert_eq!(reply.json()["degraded"][0]["stage"], "index", "{}", reply.text());
    fs::remove_file(&index).unwrap();
    wait_until("ready again", || server.send(&Call::get("/v1/ready")).status == 200);
    wait_until("caught up", || behind(&server.send(&question())) == json!(0));
    server.stop();
}

#[test]
fn a_server_that_cannot_make_its_first_index_is_not_ready_until_it_can() {
    let home = demo_home(Home::sqlite());
    let index = home.path().join("index");
    fs::remove_dir_all(&index).unwrap();
    fs::write(&index, "").unwrap();
    let server = Server::start(&home, &[]);
    assert_eq!(server.send(&question()).status, 500);
    assert_eq!(server.send(&Call::get("/v1/ready")).status, 503);
    fs::remove_file(&index).unwrap();
    // No question is needed: a load balancer sends none to a server that is not ready.
    wait_until("ready again", || server.send(&Call::get("/v1/ready")).status == 200);
    let reply = server.send(&question());
    assert_eq!((reply.status, behind(&reply)), (200, json!(0)), "{}", reply.text());
    server.stop();
}

/// Truncating a file that is mapped into memory ends the process that reads it.
#[test]
fn a_database_that_is_removed_takes_no_writes_and_is_not_ready() {
    let home = demo_home(Home::sqlite());
    let server = Server::start(&home, &[]);
    let expected = keys(&server.send(&question()).json());
    assert_eq!(server.send(&put("kept", "Kept.")).status, 200);
    let (database, aside) = (home.path().join("brain.db"), home.path().join("aside.db"));
    fs::rename(&database, &aside).unwrap();
    let refused = server.send(&put("lost", "Lost."));
    assert_eq!(refused.status, 503, "{}", refused.text());
    wait_until("not ready", || server.send(&Call::get("/v1/ready")).status == 503);
    let message = server.send(&Call::get("/v1/ready")).text();
    assert!(message.contains("database file was removed"), "{message}");
    assert_eq!(keys(&server.send(&question()).json()), expected, "what is open is read");
    // Another file in its place is not it.
    fs::copy(&aside, &database).unwrap();
    assert_eq!(server.send(&put("lost", "Lost.")).status, 503);
    fs::rename(&aside, &database).unwrap();
    wait_until("ready again", || server.send(&Call::get("/v1/ready")).status == 200);
    assert_eq!(server.send(&put("found", "Found.")).status, 200);
    // Without its log, what is written is lost too.
    fs::rename(log_of(&database), &aside).unwrap();
    assert_eq!(server.send(&put("lost", "Lost.")).status, 503);
    fs::rename(&aside, log_of(&database)).unwrap();
    server.stop();
    let slugs: Vec<Value> = home.json(&["list", "--limit", "500"])["pages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|page| page["slug"].clone())
        .collect();
    for (slug, is_there) in [("kept", true), ("found", true), ("lost", false)] {
        assert_eq!(slugs.contains(&json!(slug)), is_there, "{slug}: {slugs:?}");
    }
}

fn log_of(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}
