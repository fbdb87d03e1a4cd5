//! Divides bytes into JSON objects: a whole body, a line each (NDJSON), or the items of an array.

use crate::limits;

/// The state between two chunks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Values {
    /// The beginning of an object whose end has not arrived.
    held: Vec<u8>,
    depth: u32,
    in_string: bool,
    escaped: bool,
    /// An array around the objects was opened.
    listed: bool,
    /// An object has ended.
    pub(super) any: bool,
}

/// The bytes are no JSON objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    TooLarge,
    Syntax,
}

impl Values {
    /// Takes the next chunk and dispatches each object that it completes. What is between the
    /// brackets is not checked here.
    pub(super) fn feed(
        &mut self,
        chunk: &[u8],
        dispatch: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Broken> {
        // Where in the chunk the current object begins or goes on.
        let mut from = 0;
        for (at, byte) in chunk.iter().copied().enumerate() {
            if self.depth == 0 {
                match byte {
                    b'{' => from = at,
                    b'[' if !self.listed && !self.any => self.listed = true,
                    b',' | b']' if self.listed => {}
                    _ if byte.is_ascii_whitespace() => {}
                    _ => return Err(Broken::Syntax),
                }
                self.depth = u32::from(byte == b'{');
                continue;
            }
            if self.in_string {
                self.in_string = self.escaped || byte != b'"';
                self.escaped = !self.escaped && byte == b'\\';
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth = self.depth.saturating_add(1),
                b'}' | b']' => self.depth -= 1,
                _ => {}
            }
            if self.depth == 0 {
                self.any = true;
                let tail = chunk.get(from..=at).unwrap_or_default();
                if self.held.len() + tail.len() > limits::SSE_EVENT_BYTES {
                    return Err(Broken::TooLarge);
                }
                if self.held.is_empty() {
                    dispatch(tail);
                } else {
                    self.held.extend_from_slice(tail);
                    dispatch(&self.held);
                    self.held.clear();
                }
            }
        }
        if self.depth > 0 {
            self.held.extend_from_slice(chunk.get(from..).unwrap_or_default());
        }
        if self.held.len() > limits::SSE_EVENT_BYTES { Err(Broken::TooLarge) } else { Ok(()) }
    }

    /// Takes the beginning of an object whose end never came; empty if there is none.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}
