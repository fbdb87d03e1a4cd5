//! The wire formats of the providers, by name.
//!
//! ```
//! use turnlock::Dialect;
//!
//! assert_eq!(Dialect::parse("deepseek")?, Dialect::DeepSeek);
//! assert_eq!(Dialect::DeepSeek.name(), "deepseek");
//! assert_eq!(Dialect::parse("telex").unwrap_err().code(), "dialect.unknown");
//! assert!(Dialect::ALL.contains(&Dialect::DeepSeek));
//! # Ok::<(), turnlock::Error>(())
//! ```

#[doc(inline)]
pub use crate::provider::Dialect;
