//! TLS in front of servers on loopback.

use std::io::{Read, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A file of `tls/`: `ca.pem`, an authority made for tests whose key is thrown away, and `server.pem` and `server.key`,
/// its certificate for `localhost` and 127.0.0.1.
pub fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tls").join(name)
}

/// The certificate and key of a server.
pub fn server_config() -> Result<Arc<ServerConfig>> {
    let chain =
        CertificateDer::pem_file_iter(file("server.pem"))?.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(file("server.key"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    Ok(Arc::new(config))
}

/// Starts a TLS proxy in front of a server, which runs until the process ends, and returns its port.
pub fn front(behind: SocketAddr, config: Arc<ServerConfig>) -> std::io::Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let config = config.clone();
            std::thread::spawn(move || forward(stream, config, behind));
        }
    });
    Ok(port)
}

/// Forwards the requests of one connection, one after another, until the client ends it. The connection
/// stays open between them, because the client keeps it for its next request.
fn forward(stream: TcpStream, config: Arc<ServerConfig>, behind: SocketAddr) -> Option<()> {
    let connection = rustls::ServerConnection::new(config).ok()?;
    let mut outside = rustls::StreamOwned::new(connection, stream);
    loop {
        let request = read_request(&mut outside)?;
        let mut inside = TcpStream::connect(behind).ok()?;
        inside.write_all(&request).ok()?;
        inside.shutdown(std::net::Shutdown::Write).ok()?;
        let mut answer = Vec::new();
        inside.read_to_end(&mut answer).ok()?;
        outside.write_all(&answer).ok()?;
        outside.flush().ok()?;
    }
}

/// One whole request, head and body.
fn read_request(stream: &mut impl Read) -> Option<Vec<u8>> {
    let mut request = Vec::new();
    let mut block = [0; 4096];
    let mut length = None;
    while length.is_none_or(|length| request.len() < length) {
        let read = stream.read(&mut block).ok().filter(|read| *read > 0)?;
        request.extend_from_slice(&block[..read]);
        let text = String::from_utf8_lossy(&request).to_lowercase();
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let body = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            length = Some(head.len() + 4 + body.and_then(|body| body.parse().ok()).unwrap_or(0));
        }
    }
    Some(request)
}
