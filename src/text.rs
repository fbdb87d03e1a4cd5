//! Searching in text. The standard library's search for a text in a text adds some 5 KB to the wasm.

/// The place of the first `needle` in `text`, in bytes. Takes the product of both lengths at worst,
/// so a long needle must not come from another party.
pub(crate) fn find(text: &str, needle: &str) -> Option<usize> {
    let first = *needle.as_bytes().first()?;
    let starts = text.bytes().enumerate().filter(|(_, byte)| *byte == first);
    let mut places = starts.map(|(place, _)| place);
    places.find(|place| {
        text.as_bytes().get(*place..).is_some_and(|rest| rest.starts_with(needle.as_bytes()))
    })
}

/// Whether `needle` occurs in `text`; at the cost of [`find`].
pub(crate) fn holds(text: &str, needle: &str) -> bool {
    find(text, needle).is_some()
}
