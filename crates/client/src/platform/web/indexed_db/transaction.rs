//! One transaction over all of the database. It ends by itself when nothing is asked of it.

use futures::FutureExt;
use futures::future::LocalBoxFuture;
use js_sys::Array;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{IdbKeyRange, IdbObjectStore, IdbRequest, IdbTransaction};

use super::failure::{closed, thrown};
use super::listener::first;
use super::rows::{EventRow, RecordRow, Row, Turn, under};
use crate::store::StoreError;

/// Reads in the order of asking; what is written is there for all that is asked behind it.
pub(super) struct Transaction {
    raw: IdbTransaction,
    ended: LocalBoxFuture<'static, Option<&'static str>>,
}

impl Transaction {
    pub(super) fn new(raw: IdbTransaction) -> Self {
        let ended = first(&raw, ["complete", "abort"]).boxed_local();
        Self { raw, ended }
    }

    /// Resolves when everything is written.
    pub(super) async fn finish(mut self) -> Result<(), StoreError> {
        match (&mut self.ended).await {
            Some("complete") => Ok(()),
            // Without an error, the connection was taken away: the user cleared the site's data.
            _ => Err(self.error().unwrap_or_else(closed)),
        }
    }

    /// Undoes everything; gives the failure of the transaction itself, if it has failed, in place
    /// of `error`.
    pub(super) fn give_up(self, error: StoreError) -> StoreError {
        // It may have ended by itself.
        let _ = self.raw.abort();
        self.error().unwrap_or(error)
    }

    fn error(&self) -> Option<StoreError> {
        self.raw.error().map(thrown)
    }

    pub(super) async fn get<T: Row>(&self, key: &str) -> Result<Option<T>, StoreError> {
        let found = answer(self.store(T::STORE)?.get(&key.into())).await?;
        if found.is_undefined() { Ok(None) } else { read(found).map(Some) }
    }

    /// As [`Self::get`]; an object that cannot be read counts as none.
    pub(super) async fn get_readable<T: Row>(&self, key: &str) -> Result<Option<T>, StoreError> {
        let found = answer(self.store(T::STORE)?.get(&key.into())).await?;
        Ok(read(found).ok())
    }

    /// The objects of a range that can be read: one that cannot must not hide the others.
    pub(super) async fn readable<T: Row>(&self, range: IdbKeyRange) -> Result<Vec<T>, StoreError> {
        let found = answer(self.store(T::STORE)?.get_all_with_key_and_limit(&range, 0)).await?;
        Ok(found.unchecked_into::<Array>().iter().filter_map(|row| read(row).ok()).collect())
    }

    /// At most so many objects of a range, in the order of their keys; 0 is all of them.
    pub(super) async fn all<T: Row>(
        &self,
        range: IdbKeyRange,
        most: u32,
    ) -> Result<Vec<T>, StoreError> {
        let found = self.store(T::STORE)?.get_all_with_key_and_limit(&range, most);
        let found: Array = answer(found).await?.unchecked_into();
        found.iter().map(read).collect()
    }

    /// The keys of at most so many objects that have expired.
    pub(super) async fn expired(
        &self,
        store: &str,
        now: f64,
        most: u32,
    ) -> Result<Vec<String>, StoreError> {
        let range = IdbKeyRange::upper_bound(&now.into()).map_err(thrown)?;
        let index = self.store(store)?.index("expires").map_err(thrown)?;
        let keys = answer(index.get_all_keys_with_key_and_limit(&range, most)).await?;
        Ok(keys.unchecked_into::<Array>().iter().filter_map(|key| key.as_string()).collect())
    }

    pub(super) async fn has_record(&self, turn: &str, name: &str) -> Result<bool, StoreError> {
        let index = self.store(RecordRow::STORE)?.index("name").map_err(thrown)?;
        let found = answer(index.get_key(&Array::of2(&turn.into(), &name.into()))).await?;
        Ok(!found.is_undefined())
    }

    pub(super) fn put<T: Row>(&self, row: &T) -> Result<(), StoreError> {
        self.store(T::STORE)?.put(&written(row)?).map(drop).map_err(thrown)
    }

    /// As [`Self::put`], but what is there already fails the transaction.
    pub(super) fn add<T: Row>(&self, row: &T) -> Result<(), StoreError> {
        self.store(T::STORE)?.add(&written(row)?).map(drop).map_err(thrown)
    }

    /// Deletes a key, or a range of them.
    pub(super) fn delete(&self, store: &str, what: impl AsRef<JsValue>) -> Result<(), StoreError> {
        self.store(store)?.delete(what.as_ref()).map(drop).map_err(thrown)
    }

    /// Deletes a turn and all under it.
    pub(super) fn drop_turn(&self, turn: &str) -> Result<(), StoreError> {
        self.delete(Turn::STORE, JsValue::from(turn))?;
        self.delete(RecordRow::STORE, under(turn, None)?)?;
        self.delete(EventRow::STORE, under(turn, None)?)
    }

    fn store(&self, name: &str) -> Result<IdbObjectStore, StoreError> {
        self.raw.object_store(name).map_err(thrown)
    }
}

/// What a request comes to; `undefined` where nothing is found.
pub(super) fn answer<R: AsRef<IdbRequest>>(
    request: Result<R, JsValue>,
) -> impl Future<Output = Result<JsValue, StoreError>> + use<R> {
    // Before the first poll: the event may come until then.
    let pending = request.map(|request| (first(request.as_ref(), ["success", "error"]), request));
    async move {
        let (ended, request) = pending.map_err(thrown)?;
        ended.await;
        let request = request.as_ref();
        match request.error().map_err(thrown)? {
            Some(error) => Err(thrown(error)),
            None => request.result().map_err(thrown),
        }
    }
}

fn read<T: Row>(value: JsValue) -> Result<T, StoreError> {
    serde_wasm_bindgen::from_value(value).map_err(|error| no_row(T::STORE, &error))
}

fn written<T: Row>(row: &T) -> Result<JsValue, StoreError> {
    serde_wasm_bindgen::to_value(row).map_err(|error| no_row(T::STORE, &error))
}

fn no_row(store: &str, error: &serde_wasm_bindgen::Error) -> StoreError {
    let message = format!("this cannot be an object of `{store}`: {error}");
    StoreError::new("store.unavailable", message)
}
