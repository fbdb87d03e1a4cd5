//! Values that must not appear in logs.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::json::Json;
use crate::json::table::{At, Describe, Item, Read, Shape, Write};

/// A text that `Debug` does not show. It derefs to its text.
///
/// ```
/// use turnlock::Secret;
///
/// let secret = Secret::from("0123456789abcdef".to_owned());
/// assert_eq!(secret.len(), 16);
/// assert_eq!(format!("{secret:?}"), "Secret");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// Derives bytes for one purpose.
    pub(crate) fn derive(&self, purpose: fmt::Arguments<'_>) -> [u8; 32] {
        Sha256::digest(format!("{}/{purpose}", self.0).as_bytes()).into()
    }
}

impl Deref for Secret {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Default for Secret {
    fn default() -> Self {
        Self::from("")
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl Write for Secret {
    fn write(&self) -> Json<'static> {
        self.0.write()
    }
}

impl Read for Secret {
    fn read(&mut self, json: Json<'static>, at: &At<'_>) -> Result<(), Error> {
        self.0.read(json, at)
    }

    fn expected(&self) -> &'static str {
        "at least 32 characters of randomness"
    }
}

impl Item for Secret {
    fn item() -> Self {
        Self::default()
    }
}

impl Describe for Secret {
    fn shape() -> Shape {
        Shape::Text
    }
}
