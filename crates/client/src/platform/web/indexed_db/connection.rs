//! The database of an `IndexedDbStore`: opened when needed, and again when it was closed.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::{Either, LocalBoxFuture, Shared, select};
use js_sys::{Array, Reflect};
use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::spawn_local;
use web_sys::{
    IdbDatabase, IdbFactory, IdbIndexParameters, IdbObjectStoreParameters, IdbOpenDbRequest,
    IdbTransaction,
};

use super::failure::{closed, denied, thrown};
use super::listener::Listener;
use super::rows::{EventRow, RecordRow, Reusable, Row, Turn};
use super::transaction::{Transaction, answer};
use crate::clock;
use crate::store::StoreError;

const VERSION: u32 = 1;
const STORES: [&str; 4] = [Turn::STORE, RecordRow::STORE, EventRow::STORE, Reusable::STORE];

// The stable part of web-sys does not know of durability.
#[wasm_bindgen]
extern "C" {
    type Begins;
    #[wasm_bindgen(method, catch)]
    fn transaction(
        this: &Begins,
        stores: &Array,
        mode: &str,
        options: &JsValue,
    ) -> Result<IdbTransaction, JsValue>;
}

#[derive(Serialize)]
struct TransactionOptions {
    durability: &'static str,
}

/// What a transaction may do.
#[derive(Clone, Copy)]
pub(super) enum Mode {
    Read,
    /// Its writes are on the disk before it is complete.
    Strict,
    Relaxed,
}

/// Gives transactions over all of the database.
pub(super) struct Connection {
    name: String,
    open_timeout: Duration,
    opened: Slot,
}

type Slot = Rc<RefCell<Option<Opening>>>;
type Opening = Shared<LocalBoxFuture<'static, Result<Rc<Open>, StoreError>>>;

/// An open database, until it is dropped.
struct Open {
    raw: IdbDatabase,
    /// Hear that the database is wanted elsewhere, or was taken away.
    _listeners: [Listener; 2],
}

impl Drop for Open {
    fn drop(&mut self) {
        // Behind the transactions that are under way.
        self.raw.close();
    }
}

impl Connection {
    pub(super) fn new(name: &str, open_timeout: Duration) -> Self {
        Self { name: name.to_owned(), open_timeout, opened: Slot::default() }
    }

    pub(super) async fn transaction(&self, mode: Mode) -> Result<Transaction, StoreError> {
        if let Ok(tx) = self.ready().await?.transaction(mode) {
            return Ok(tx);
        }
        // Closed since it was opened: once more on a connection of now.
        self.opened.take();
        self.ready().await?.transaction(mode).map_err(thrown)
    }

    /// The database; several that wait for it open it once.
    async fn ready(&self) -> Result<Rc<Open>, StoreError> {
        let before = self.opened.borrow().clone();
        let opening = before.unwrap_or_else(|| {
            let work = open(self.name.clone(), self.open_timeout, Rc::clone(&self.opened));
            let opening = work.boxed_local().shared();
            *self.opened.borrow_mut() = Some(opening.clone());
            opening
        });
        let opened = opening.clone().await;
        if opened.is_err() {
            let mut slot = self.opened.borrow_mut();
            if slot.as_ref().is_some_and(|stands| stands.ptr_eq(&opening)) {
                *slot = None;
            }
        }
        opened
    }
}

impl Open {
    fn transaction(&self, mode: Mode) -> Result<Transaction, JsValue> {
        let options = |durability| serde_wasm_bindgen::to_value(&TransactionOptions { durability });
        let (mode, options) = match mode {
            Mode::Read => ("readonly", JsValue::UNDEFINED),
            Mode::Strict => ("readwrite", options("strict")?),
            Mode::Relaxed => ("readwrite", options("relaxed")?),
        };
        let stores: Array = STORES.into_iter().map(JsValue::from).collect();
        let begins: &Begins = self.raw.unchecked_ref();
        begins.transaction(&stores, mode, &options).map(Transaction::new)
    }
}

async fn open(name: String, timeout: Duration, slot: Slot) -> Result<Rc<Open>, StoreError> {
    let raw = request(&name, timeout).await?;
    let listeners = ["versionchange", "close"].map(|kind| {
        // Not held: the slot holds this database.
        let (slot, closing) = (Rc::downgrade(&slot), raw.clone());
        Listener::new(&raw, kind, move |_| {
            // Another page may want to upgrade or delete the database, and wait for this one.
            closing.close();
            drop(slot.upgrade().and_then(|slot| slot.take()));
        })
    });
    Ok(Rc::new(Open { raw, _listeners: listeners }))
}

async fn request(name: &str, timeout: Duration) -> Result<IdbDatabase, StoreError> {
    let request = factory()?.open_with_u32(name, VERSION).map_err(thrown)?;
    let upgraded = request.clone();
    let upgrade = Listener::new(&request, "upgradeneeded", move |_| {
        if create(&upgraded).is_err()
            && let Some(upgrade) = upgraded.transaction()
        {
            // No half of it stays, and whoever opens is told. It may have ended by itself.
            let _ = upgrade.abort();
        }
    });
    let (tell, told) = oneshot::channel();
    spawn_local(async move {
        let opened = answer(Ok(request.clone())).await.map(JsCast::unchecked_into::<IdbDatabase>);
        let opened = opened.map_err(|error| refusal(&request).unwrap_or(error));
        drop(upgrade);
        // Nobody waits any more.
        if let Err(Ok(late)) = tell.send(opened) {
            late.close();
        }
    });
    // Not the `blocked` event: it tells nothing of a deletion that is held up before this one.
    match select(told, clock::sleep(timeout.as_secs_f64() * 1000.0)).await {
        Either::Left((opened, _)) => opened.unwrap_or_else(|_| Err(closed())),
        Either::Right(_) => {
            let message = "another page holds the database back; close the other tabs of this site";
            Err(StoreError::new("store.blocked", message))
        }
    }
}

/// Firefox answers so in a private window of old, and for a profile that it cannot write.
fn refusal(request: &IdbOpenDbRequest) -> Option<StoreError> {
    let error = request.error().ok()??;
    (error.name() == "InvalidStateError").then(denied)
}

fn factory() -> Result<IdbFactory, StoreError> {
    // Merely looking at it throws in a sandboxed frame.
    let found = Reflect::get(&js_sys::global(), &"indexedDB".into()).map_err(thrown)?;
    let missing = |_| StoreError::new("store.denied", "there is no IndexedDB here");
    found.dyn_into().map_err(missing)
}

fn create(request: &IdbOpenDbRequest) -> Result<(), JsValue> {
    let db: IdbDatabase = request.result()?.unchecked_into();
    let store = |name: &str, key: &JsValue| {
        let params = IdbObjectStoreParameters::new();
        params.set_key_path(key);
        db.create_object_store_with_optional_parameters(name, &params)
    };
    let keys =
        |keys: [&str; 2]| JsValue::from(keys.into_iter().map(JsValue::from).collect::<Array>());
    store(Turn::STORE, &"turn".into())?.create_index_with_str("expires", "expires")?;
    let unique = IdbIndexParameters::new();
    unique.set_unique(true);
    store(RecordRow::STORE, &keys(["turn", "n"]))?
        .create_index_with_str_sequence_and_optional_parameters(
            "name",
            &keys(["turn", "name"]),
            &unique,
        )?;
    store(EventRow::STORE, &keys(["turn", "last"]))?;
    store(Reusable::STORE, &"key".into())?.create_index_with_str("expires", "expires")?;
    Ok(())
}
