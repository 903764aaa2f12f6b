//! Encryption of the way to a server. Who the server is, is checked where the address asks for it (`verify-ca`, `verify-full`, or a
//! root certificate), as PostgreSQL's own clients do; the name is then always checked too.

use crate::dataset::trouble::{Fault, Trouble};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio_postgres_rustls::MakeRustlsConnect;

/// Whom to believe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Whoever answers: against listeners, not against impostors.
    Whoever,
    /// Only a server whose certificate leads to these roots, or to those of the system.
    Verified { roots: Option<PathBuf> },
}

/// What the driver encrypts with.
pub fn connector(trust: &Trust) -> Result<MakeRustlsConnect, Trouble> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| Trouble::new(Fault::Other, error.to_string()))?;
    let config = match trust {
        Trust::Whoever => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anyone(provider))),
        Trust::Verified { roots } => builder.with_root_certificates(match roots {
            None => of_system()?,
            Some(file) => of_file(file)?,
        }),
    };
    Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
}

fn of_system() -> Result<RootCertStore, Trouble> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    match roots.is_empty() {
        true => Err(Trouble::new(
            Fault::Other,
            "this system has no root certificates to verify the server with; name some by sslrootcert=FILE",
        )),
        false => Ok(roots),
    }
}

fn of_file(file: &Path) -> Result<RootCertStore, Trouble> {
    let unusable = |why: String| Trouble::format(format!("sslrootcert {}: {why}", file.display()));
    let mut roots = RootCertStore::empty();
    let certificates =
        CertificateDer::pem_file_iter(file).map_err(|error| unusable(error.to_string()))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| unusable(error.to_string()))?;
        roots
            .add(certificate)
            .map_err(|error| unusable(error.to_string()))?;
    }
    match roots.is_empty() {
        true => Err(unusable("there is no certificate in it".to_owned())),
        false => Ok(roots),
    }
}

/// Takes any certificate, but only from whoever has its key.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(
            message,
            certificate,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(
            message,
            certificate,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
