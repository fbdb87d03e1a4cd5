//! The words of refusals.
