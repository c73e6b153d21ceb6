//! TLS: only who is trusted gets the question and the key.
//!
//! The certificates in `tls/` are of an authority made for these tests, whose key is thrown away.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;

use gbrain_core::target::{Question, TargetErrorKind};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;

use super::conformance::conforms;
use super::http::{server, settings};
use super::{target, try_target, world};
use crate::retrieval::Fault;

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/target/tls").join(name);
    path.to_str().unwrap().to_owned()
}

/// Somebody in front of a server who speaks TLS; where.
fn front(behind: SocketAddr) -> u16 {
    let certificates = CertificateDer::pem_file_iter(file("server.pem")).unwrap();
    let certificates: Vec<_> = certificates.collect::<Result<_, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_file(file("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let config = config.clone();
            std::thread::spawn(move || pass_on(stream, config, behind));
        }
    });
    port
}

/// Passes one request and its answer on, and ends the connection.
fn pass_on(stream: TcpStream, config: Arc<rustls::ServerConfig>, behind: SocketAddr) -> Option<()> {
    let connection = rustls::ServerConnection::new(config).ok()?;
    let mut outside = rustls::StreamOwned::new(connection, stream);
    let mut request = Vec::new();
    let mut block = [0; 4096];
    let length = loop {
        let read = outside.read(&mut block).ok().filter(|read| *read > 0)?;
        request.extend_from_slice(&block[..read]);
        let text = String::from_utf8_lossy(&request).to_lowercase();
        let Some((head, _)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        break head.len() + 4 + length.and_then(|length| length.parse().ok()).unwrap_or(0);
    };
    while request.len() < length {
        let read = outside.read(&mut block).ok().filter(|read| *read > 0)?;
        request.extend_from_slice(&block[..read]);
    }
    let mut inside = TcpStream::connect(behind).ok()?;
    inside.write_all(&request).ok()?;
    inside.shutdown(std::net::Shutdown::Write).ok()?;
    let mut answer = Vec::new();
    inside.read_to_end(&mut answer).ok()?;
    outside.write_all(&answer).ok()?;
    outside.conn.send_close_notify();
    outside.flush().ok()
}

#[test]
fn an_authority_of_the_settings_is_trusted_and_no_other() {
    let server = server(|_| Fault::None);
    let behind = server.url().trim_start_matches("http://").parse().unwrap();
    let url = format!("https://localhost:{}", front(behind));
    let trusting = settings("lightfast-v1", &url, json!({ "ca_file": file("ca.pem") }));
    conforms(target(trusting).as_ref(), &world());
    let asked = server.requests();
    let error =
        target(settings("lightfast-v1", &url, json!({}))).ask(&Question::new("a", 5)).unwrap_err();
    assert_eq!(error.kind, TargetErrorKind::Unreachable, "{error}");
    // Another name than the certificate's.
    let other = url.replace("localhost", "127.0.0.2");
    let other = settings("lightfast-v1", &other, json!({ "ca_file": file("ca.pem") }));
    let error = target(other).ask(&Question::new("a", 5)).unwrap_err();
    assert_eq!(error.kind, TargetErrorKind::Unreachable, "{error}");
    assert_eq!(server.requests(), asked, "nothing is sent to whom nobody trusts");
    let none = settings("lightfast-v1", &url, json!({ "ca_file": file("server.key") }));
    assert_eq!(try_target(none).err().unwrap().kind, TargetErrorKind::NoKey);
}
