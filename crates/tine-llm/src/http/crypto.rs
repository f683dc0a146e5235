//! The process-wide TLS provider.

use std::sync::Once;

/// Installs ring as the TLS provider of the process, once. Every constructor of this crate calls it: the HTTP client panics when it is built
/// without a provider. If the embedding program has installed one of its own, that one stays.
pub fn ensure_crypto() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // An error means that there is a provider already, which is all that is wanted.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
