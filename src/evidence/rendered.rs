//! Results as text.

use std::fmt;
use std::marker::PhantomData;

use super::results::{BundleSummary, EvidenceBundle};
use crate::error::Error;
use crate::json::Json;
use crate::json::table::{Describe, Shape, Write};

/// A summary or a bundle as the JSON text of `T`.
///
/// Both are written as text at once and never built as values: their caps are on bytes of this
/// text, and a bundle may hold 128 replicates of 4 MiB each, which most hosts only pass on.
/// [`read`](Rendered::read) returns the value.
pub struct Rendered<T> {
    json: String,
    of: PhantomData<fn() -> T>,
}

impl<T> Rendered<T> {
    /// Wraps the JSON text of `T`, which is not checked.
    pub fn new(json: impl Into<String>) -> Self {
        Self { json: json.into(), of: PhantomData }
    }

    /// Returns the JSON text.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.json
    }

    /// Returns the JSON text.
    #[must_use]
    pub fn into_json(self) -> String {
        self.json
    }

    fn parsed(&self) -> Result<Json<'static>, Error> {
        Ok(Json::parse_host(self.json.as_bytes(), usize::MAX)?.into_owned())
    }
}

impl Rendered<BundleSummary> {
    /// Returns the summary.
    ///
    /// # Errors
    /// `json.*` and `options.invalid` for a text that is not that of a summary; never for one that
    /// comes from this crate.
    pub fn read(&self) -> Result<BundleSummary, Error> {
        BundleSummary::from_json(self.parsed()?)
    }
}

impl Rendered<EvidenceBundle> {
    /// Returns the bundle.
    ///
    /// # Errors
    /// `json.*` and `options.invalid` for a text that is not that of a bundle; never for one that
    /// comes from this crate.
    pub fn read(&self) -> Result<EvidenceBundle, Error> {
        EvidenceBundle::from_json(self.parsed()?)
    }
}

// Not derived: that would ask the same of `T`.
impl<T> Clone for Rendered<T> {
    fn clone(&self) -> Self {
        Self::new(self.json.clone())
    }
}

impl<T> PartialEq for Rendered<T> {
    fn eq(&self, other: &Self) -> bool {
        self.json == other.json
    }
}

impl<T> Eq for Rendered<T> {}

impl<T> fmt::Debug for Rendered<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.json)
    }
}

impl<T> fmt::Display for Rendered<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.json)
    }
}

impl<T> Write for Rendered<T> {
    fn write(&self) -> Json<'static> {
        self.parsed().unwrap_or_default()
    }

    fn append(&self, out: &mut String) {
        out.push_str(&self.json);
    }
}

impl<T: Describe> Describe for Rendered<T> {
    fn shape() -> Shape {
        T::shape()
    }
}
