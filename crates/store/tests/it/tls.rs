//! TLS to a server: what each `sslmode` accepts.
//!
//! The test server accepts TLS, uses the test kit's certificate for `localhost`, and refuses the
//! client with a message that only an encrypted connection could have carried.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use gbrain_store::{Location, OpenMode, Store, StoreError};
use gbrain_testkit::tls::{file, server_config};
use rustls::{ServerConnection, Stream};

use crate::fixture::at;

const GREETING: &str = "you have reached the test server";

/// An `ErrorResponse` of PostgreSQL's protocol.
fn turning_away() -> Vec<u8> {
    let fields = format!("SFATAL\0C28000\0M{GREETING}\0\0");
    let length = u32::try_from(fields.len() + 4).unwrap();
    [b"E".as_slice(), &length.to_be_bytes(), fields.as_bytes()].concat()
}

/// Answers one client. A client that rejects the certificate disconnects.
fn answer(mut socket: TcpStream) -> std::io::Result<()> {
    let mut request = [0; 8];
    socket.read_exact(&mut request)?;
    assert_eq!(request[4..], 80_877_103_u32.to_be_bytes(), "the client asks for TLS first");
    socket.write_all(b"S")?;
    let mut connection = ServerConnection::new(server_config().unwrap()).unwrap();
    let mut stream = Stream::new(&mut connection, &mut socket);
    let _startup = stream.read(&mut [0; 512])?;
    stream.write_all(&turning_away())?;
    stream.flush()
}

/// The error of a client that connects to `host` with these settings.
fn connect(host: &str, settings: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        let _ = answer(socket);
    });
    let url = format!("host={host} hostaddr=127.0.0.1 port={port} user=u dbname=d {settings}");
    let error = Store::open(&Location::Postgres(url), OpenMode::Use, at(0)).err().unwrap();
    server.join().unwrap();
    assert!(matches!(error, StoreError::Down { .. }), "{error:?}");
    error.to_string()
}

#[test]
fn sslmode_require_encrypts_without_verification() {
    for settings in ["sslmode=require", "sslmode=prefer", ""] {
        let said = connect("localhost", settings);
        assert!(said.contains(GREETING), "{settings}: {said}");
    }
}

#[test]
fn verify_full_checks_authority_and_name() {
    let ours = format!("sslmode=verify-full sslrootcert={}", file("ca.pem").display());
    assert!(connect("localhost", &ours).contains(GREETING));
    for (host, settings) in [("localhost", "sslmode=verify-full"), ("example.com", &ours)] {
        let said = connect(host, settings);
        assert!(said.contains("certificate") && !said.contains(GREETING), "{settings}: {said}");
    }
}
