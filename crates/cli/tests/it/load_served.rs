//! The short form of `cargo xtask campaign serve`.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use gbrain_bench::campaign::serve::{ServePlan, serve};
use gbrain_testkit::engine::Engine;
use gbrain_testkit::process::Gbrain;
use gbrain_testkit::served::Served;

use crate::support::setup;

fn bears(engine: Engine) {
    let (time, crowds) = (Duration::from_secs(6), Duration::from_secs(2));
    let report = serve(&setup(engine, 7), &ServePlan { time, crowds, pages: 60 }).unwrap();
    assert!(report.violations.is_empty(), "{:#?}", report.violations);
    assert!(report.questions > 0 && report.acknowledged > 0, "{report:?}");
    assert!(report.captures > 0 && report.aftermath.jobs > 0, "{report:?}");
}

#[test]
fn a_server_bears_mixed_load_on_sqlite() {
    bears(Engine::Sqlite);
}

#[test]
fn a_server_bears_mixed_load_on_postgres() {
    bears(Engine::Postgres);
}

/// The status of a request with a body that no buffer between the two ends holds.
fn send_much(address: SocketAddr, token: &str) -> std::io::Result<String> {
    let body = format!("{{\"query\": \"{}\"}}", "x".repeat(12 << 20));
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "POST /v1/query HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )?;
    stream.write_all(body.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.split(' ').nth(1).unwrap_or_default().to_owned())
}

#[test]
fn rate_limited_clients_get_a_retry_after_header() {
    let brain = Gbrain::new(env!("CARGO_BIN_EXE_gbrain").as_ref(), Engine::Sqlite).unwrap();
    brain.run(&["init"]).unwrap();
    let minted = brain.run(&["tokens", "create", "--name", "slow", "--rate", "1", "--json"]);
    let minted = minted.unwrap().json().unwrap();
    let server = Served::start(brain.command(&["serve"])).unwrap();
    let token = minted["token"].as_str().unwrap();
    let statuses: Vec<String> =
        (0..6).map(|_| send_much(server.address(), token).unwrap()).collect();
    assert_eq!(statuses[0], "400", "a question of that length is none: {statuses:?}");
    assert!(statuses.contains(&"429".to_owned()), "{statuses:?}");
    assert!(server.stop().unwrap().complaint().is_none());
}
