//! Turns in memory.
/// Keeps turns as long as it lives.
#[derive(Debug, Clone, Default)]
pub struct MemoryStore {}
