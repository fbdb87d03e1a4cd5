//! Between the core's JSON and serde.

use serde::ser::Serialize;

use super::error::Error;
use turnlock::json::Json;
use turnlock::limits;

/// The core's JSON of a value.
///
/// # Errors
/// `json.not_serializable` for a value that serde cannot write as JSON, and what the core refuses
/// in a JSON text.
pub(super) fn to_json(value: &(impl Serialize + ?Sized)) -> Result<Json<'static>, Error> {
    let text = serde_json::to_string(value)
        .map_err(|error| Error::new("json.not_serializable", error.to_string()))?;
    let read = Json::parse_host(text.as_bytes(), limits::HISTORY_BYTES);
    Ok(read.map_err(turnlock::Error::from)?.into_owned())
}
