//! TLS by rustls, on connections that are not Unix sockets.

use std::path::Path;
use std::sync::Arc;

use postgres::{Client, NoTls};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::target::{ConnectionTarget, TlsMode};
use crate::{Result, StoreError};

/// Connects with the target's protection.
pub(super) fn connect(target: &ConnectionTarget) -> Result<Client> {
    let client = match &target.protection {
        TlsMode::None => target.config.connect(NoTls),
        TlsMode::Encrypted => target.config.connect(MakeRustlsConnect::new(encrypt_only()?)),
        TlsMode::Verified { roots } => {
            target.config.connect(MakeRustlsConnect::new(verify(roots.as_deref())?))
        }
    };
    client.map_err(|error| match error.into() {
        StoreError::Other { detail } => StoreError::Down { detail },
        other => other,
    })
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn failed(error: impl std::fmt::Display) -> StoreError {
    StoreError::Url { detail: format!("TLS cannot be set up: {error}") }
}

fn verify(file: Option<&Path>) -> Result<ClientConfig> {
    let mut roots = RootCertStore::empty();
    match file {
        Some(path) => {
            for certificate in CertificateDer::pem_file_iter(path).map_err(failed)? {
                roots.add(certificate.map_err(failed)?).map_err(failed)?;
            }
        }
        // Some systems have unreadable roots; the others are used.
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let builder = ClientConfig::builder_with_provider(provider());
    let builder = builder.with_safe_default_protocol_versions().map_err(failed)?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

fn encrypt_only() -> Result<ClientConfig> {
    let builder = ClientConfig::builder_with_provider(provider());
    let builder = builder.with_safe_default_protocol_versions().map_err(failed)?;
    let verifier = Arc::new(AnyServer(provider()));
    Ok(builder.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

/// Accepts any certificate, like `sslmode=require`; the handshake must still be signed by it.
#[derive(Debug)]
struct AnyServer(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
