//! The wire formats of the providers, by name.
//!
//! ```
//! use turnlock::Dialect;
//!
//! assert_eq!(Dialect::parse("deepseek")?, Dialect::DeepSeek);
//! assert_eq!("deepseek".parse::<Dialect>()?.to_string(), "deepseek");
//! let unknown = Dialect::parse("openai").unwrap_err();
//! assert_eq!(unknown.code(), "dialect.unknown");
//! assert!(unknown.to_string().starts_with("unknown dialect `openai`: expected openai-chat, "));
//! assert!(Dialect::ALL.contains(&Dialect::DeepSeek));
//! # Ok::<(), turnlock::Error>(())
//! ```

use std::fmt;
use std::str::FromStr;

#[doc(inline)]
pub use crate::provider::Dialect;

use crate::error::Error;
use crate::json::Json;
use crate::json::table::{At, Definition, Describe, Item, Read, Shape, Write};

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// As [`Dialect::parse`].
impl FromStr for Dialect {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::parse(name)
    }
}

impl Write for Dialect {
    fn write(&self) -> Json<'static> {
        self.name().into()
    }
}

impl Read for Dialect {
    fn read(&mut self, json: Json<'static>, at: &At<'_>) -> Result<(), Error> {
        *self = Self::parse(json.as_str().ok_or_else(|| at.wrong("a string"))?)?;
        Ok(())
    }

    fn expected(&self) -> &'static str {
        "a dialect"
    }
}

#[cfg(feature = "serde")]
crate::json::by_text!(Dialect);

impl Item for Dialect {
    fn item() -> Self {
        Self::OpenAiChat
    }
}

impl Describe for Dialect {
    fn shape() -> Shape {
        Shape::Named(|| {
            let names = Self::ALL.map(|one| (one.name(), &[][..]));
            Definition::names("Dialect", &[" A provider's wire format."], &names)
        })
    }
}
