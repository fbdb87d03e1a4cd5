//! Requests that providers took.
