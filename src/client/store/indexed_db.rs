//! Turns in the browser's IndexedDB.
/// Keeps turns in IndexedDB.
#[derive(Debug, Clone)]
pub struct IndexedDbStore {}
