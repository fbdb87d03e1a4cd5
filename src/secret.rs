//! The randomness of the host.

use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};

/// Randomness of the host, from which nonces, keys and jitter are derived. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(Arc<str>);

impl Secret {
    pub(crate) fn new(secret: &str) -> Self {
        Self(secret.into())
    }

    /// Derives bytes for one purpose.
    pub(crate) fn derive(&self, purpose: fmt::Arguments<'_>) -> [u8; 32] {
        Sha256::digest(format!("{}/{purpose}", self.0).as_bytes()).into()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
