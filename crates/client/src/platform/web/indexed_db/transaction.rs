//! One transaction over all of the database. It ends by itself when nothing is asked of it.

use std::cell::RefCell;
use std::rc::Rc;

use futures::channel::oneshot;
use idb::{ObjectStore, Query};
use js_sys::Array;
use wasm_bindgen::JsValue;
use web_sys::IdbTransaction;

use super::failure::{closed, failure, named};
use super::rows::{EventRow, RecordRow, Row, Turn, under};
use crate::store::StoreError;

/// Reads in the order of asking; what is written is there for all that is asked behind it.
pub(super) struct Transaction {
    raw: IdbTransaction,
    /// Holds what hears of the end.
    handle: idb::Transaction,
    ended: oneshot::Receiver<End>,
}

#[derive(PartialEq)]
enum End {
    Complete,
    Aborted,
}

impl Drop for Transaction {
    fn drop(&mut self) {
        // Their closures go, and the end may be to come.
        self.raw.set_oncomplete(None);
        self.raw.set_onabort(None);
    }
}

impl Transaction {
    pub(super) fn new(raw: IdbTransaction) -> Self {
        // Not idb's own future of a transaction: it ends with the first request that fails, when
        // nobody knows yet what the transaction fails with.
        let mut handle = idb::Transaction::from(raw.clone());
        let (tell, ended) = oneshot::channel();
        let tell = Rc::new(RefCell::new(Some(tell)));
        let end = move |end| {
            if let Some(tell) = tell.take() {
                // Nobody waits any more.
                let _ = tell.send(end);
            }
        };
        let abort = end.clone();
        handle.on_complete(move |_| end(End::Complete));
        handle.on_abort(move |_| abort(End::Aborted));
        Self { raw, handle, ended }
    }

    /// Resolves when everything is written.
    pub(super) async fn finish(mut self) -> Result<(), StoreError> {
        match (&mut self.ended).await {
            Ok(End::Complete) => Ok(()),
            // Without an error, the connection was taken away: the user cleared the site's data.
            Ok(End::Aborted) | Err(_) => Err(self.error().unwrap_or_else(closed)),
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
        self.raw.error().map(|error| named(&error.name(), &error.message()))
    }

    pub(super) async fn get<T: Row>(&self, key: &str) -> Result<Option<T>, StoreError> {
        let request =
            self.store(T::STORE)?.get(JsValue::from(key)).map_err(|error| failure(&error))?;
        let found = request.await.map_err(|error| failure(&error))?;
        found.map(read).transpose()
    }

    /// At most so many objects of a range, in the order of their keys.
    pub(super) async fn all<T: Row>(
        &self,
        range: idb::KeyRange,
        most: Option<u32>,
    ) -> Result<Vec<T>, StoreError> {
        let store = self.store(T::STORE)?;
        let request = store.get_all(Some(range.into()), most).map_err(|error| failure(&error))?;
        let found = request.await.map_err(|error| failure(&error))?;
        found.into_iter().map(read).collect()
    }

    /// The keys of at most so many objects that have expired.
    pub(super) async fn expired(
        &self,
        store: &str,
        now: f64,
        most: u32,
    ) -> Result<Vec<String>, StoreError> {
        let range = idb::KeyRange::upper_bound(&JsValue::from_f64(now), None);
        let index = self.store(store)?.index("expires");
        let request = index
            .and_then(|index| index.get_all_keys(Some(range?.into()), Some(most)))
            .map_err(|error| failure(&error))?;
        let keys = request.await.map_err(|error| failure(&error))?;
        Ok(keys.into_iter().filter_map(|key| key.as_string()).collect())
    }

    pub(super) async fn has_record(&self, turn: &str, name: &str) -> Result<bool, StoreError> {
        let key = JsValue::from(Array::of2(&turn.into(), &name.into()));
        let index = self.store(RecordRow::STORE)?.index("name");
        let request =
            index.and_then(|index| index.get_key(key)).map_err(|error| failure(&error))?;
        let found = request.await.map_err(|error| failure(&error))?;
        Ok(found.is_some())
    }

    pub(super) fn put<T: Row>(&self, row: &T) -> Result<(), StoreError> {
        let put = self.store(T::STORE)?.put(&written(row)?, None);
        put.map(drop).map_err(|error| failure(&error))
    }

    /// As [`Self::put`], but what is there already fails the transaction.
    pub(super) fn add<T: Row>(&self, row: &T) -> Result<(), StoreError> {
        let add = self.store(T::STORE)?.add(&written(row)?, None);
        add.map(drop).map_err(|error| failure(&error))
    }

    pub(super) fn delete(&self, store: &str, what: impl Into<Query>) -> Result<(), StoreError> {
        let delete = self.store(store)?.delete(what);
        delete.map(drop).map_err(|error| failure(&error))
    }

    /// Deletes a turn and all under it.
    pub(super) fn drop_turn(&self, turn: &str) -> Result<(), StoreError> {
        self.delete(Turn::STORE, JsValue::from(turn))?;
        self.delete(RecordRow::STORE, under(turn, None)?)?;
        self.delete(EventRow::STORE, under(turn, None)?)
    }

    fn store(&self, name: &str) -> Result<ObjectStore, StoreError> {
        self.handle.object_store(name).map_err(|error| failure(&error))
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
