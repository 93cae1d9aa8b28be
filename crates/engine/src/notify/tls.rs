//! Which certificates are trusted; the same for webhooks and brokers.
//!
//! The authorities are the system's, or those of `SSL_CERT_FILE` and `SSL_CERT_DIR`. They are read when a connection is made,
//! and not by commands that make none.

use std::path::Path;
use std::sync::Arc;

use dogwatch_store::read_regular;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

/// More than the certificates of any system.
const MOST_CERTIFICATES: u64 = 16 * 1024 * 1024;

/// For a webhook.
pub fn for_http() -> Result<TlsConfig, String> {
    let roots = system()?;
    let roots = roots.iter().map(|root| Certificate::from_der(root).to_owned());
    let roots: RootCerts = roots.collect::<Vec<_>>().into();
    Ok(TlsConfig::builder()
        .root_certs(roots)
        .unversioned_rustls_crypto_provider(provider())
        .build())
}

/// For a broker; with `ca_file`, only its authorities are trusted.
pub fn for_broker(ca_file: Option<&Path>) -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    let certificates = ca_file.map_or_else(system, of_file)?;
    if let (0, _) = roots.add_parsable_certificates(certificates) {
        let whose = ca_file.map_or("the system".into(), |file| file.display().to_string());
        return Err(format!("{whose} has no usable certificate"));
    }
    let config =
        ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    let config = config.map_err(|error| error.to_string())?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn system() -> Result<Vec<CertificateDer<'static>>, String> {
    let found = rustls_native_certs::load_native_certs();
    // One bad file among many is no reason to refuse all.
    match found.errors.first() {
        Some(error) if found.certs.is_empty() => Err(format!("the system's certificates: {error}")),
        _ => Ok(found.certs),
    }
}

fn of_file(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let failed = |error: String| format!("{} cannot be read: {error}", file.display());
    let bytes = read_regular(file, MOST_CERTIFICATES).map_err(|error| failed(error.to_string()))?;
    CertificateDer::pem_slice_iter(&bytes)
        .collect::<Result<_, _>>()
        .map_err(|error| failed(error.to_string()))
}
