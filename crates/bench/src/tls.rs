//! TLS in front of servers on loopback.

use std::error::Error;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// What a server encrypts with: a certificate and its key, as PEM.
pub fn encrypting(chain: &Path, key: &Path) -> Result<Arc<ServerConfig>, Box<dyn Error>> {
    let chain = CertificateDer::pem_file_iter(chain)?.collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_file(key)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    Ok(Arc::new(config))
}

/// Somebody in front of a server who speaks TLS, to the end of the process; at which port.
pub fn front(behind: SocketAddr, config: Arc<ServerConfig>) -> std::io::Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let config = config.clone();
            std::thread::spawn(move || pass_on(stream, config, behind));
        }
    });
    Ok(port)
}

/// Passes one request and its answer on, and ends the connection.
fn pass_on(stream: TcpStream, config: Arc<ServerConfig>, behind: SocketAddr) -> Option<()> {
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
