//! The database of an `IndexedDbStore`: opened when needed, and again when it was closed.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::{Either, LocalBoxFuture, Shared, select};
use idb::event::VersionChangeEvent;
use idb::{
    Database, DatabaseEvent, Error, Event, Factory, IndexParams, KeyPath, ObjectStoreParams,
    Request,
};
use js_sys::Array;
use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::spawn_local;
use web_sys::{IdbDatabase, IdbTransaction};

use super::failure::{closed, denied, failure, thrown};
use super::rows::{EventRow, RecordRow, Reusable, Row, Turn};
use super::transaction::Transaction;
use crate::clock;
use crate::store::StoreError;

const VERSION: u32 = 1;
const STORES: [&str; 4] = [Turn::STORE, RecordRow::STORE, EventRow::STORE, Reusable::STORE];

// Neither idb nor the stable part of web-sys knows of durability.
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
    Write(Durability),
}

#[derive(Clone, Copy)]
pub(super) enum Durability {
    /// On the disk before it is complete.
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
    /// Holds what hears that the database is wanted elsewhere, or was taken away.
    _handlers: Database,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.raw.set_onclose(None);
        self.raw.set_onversionchange(None);
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
        self.ready().await?.transaction(mode).map_err(|cause| thrown(&cause))
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
        let (mode, durability) = match mode {
            Mode::Read => ("readonly", None),
            Mode::Write(Durability::Strict) => ("readwrite", Some("strict")),
            Mode::Write(Durability::Relaxed) => ("readwrite", Some("relaxed")),
        };
        let options = match durability {
            Some(durability) => serde_wasm_bindgen::to_value(&TransactionOptions { durability })?,
            None => JsValue::UNDEFINED,
        };
        let stores: Array = STORES.into_iter().map(JsValue::from).collect();
        let begins: &Begins = self.raw.unchecked_ref();
        begins.transaction(&stores, mode, &options).map(Transaction::new)
    }
}

async fn open(name: String, timeout: Duration, slot: Slot) -> Result<Rc<Open>, StoreError> {
    let raw: IdbDatabase = request(&name, timeout).await?.into();
    let mut handlers = Database::from(raw.clone());
    // Not held: the slot holds this database.
    let slot = Rc::downgrade(&slot);
    let forget = move || slot.upgrade().and_then(|slot| slot.take());
    let (forget_closed, closing) = (forget.clone(), raw.clone());
    // Another page wants to upgrade or delete the database, and waits for this one.
    handlers.on_version_change(move |_| {
        closing.close();
        forget();
    });
    handlers.on_close(move |_| {
        forget_closed();
    });
    Ok(Rc::new(Open { raw, _handlers: handlers }))
}

async fn request(name: &str, timeout: Duration) -> Result<Database, StoreError> {
    let factory = Factory::new().map_err(|error| no_factory(&error))?;
    let mut request = factory.open(name, Some(VERSION)).map_err(|error| failure(&error))?;
    request.on_upgrade_needed(|event| {
        if create(&event).is_err() {
            abort(&event);
        }
    });
    let (tell, told) = oneshot::channel();
    spawn_local(async move {
        // Nobody waits any more.
        if let Err(Ok(late)) = tell.send(request.await) {
            late.close();
        }
    });
    // Not the `blocked` event: it tells nothing of a deletion that is held up before this one.
    match select(told, clock::sleep(timeout.as_secs_f64() * 1000.0)).await {
        Either::Left((Ok(opened), _)) => opened.map_err(|error| refusal(&error)),
        Either::Left((Err(_), _)) => Err(closed()),
        Either::Right(_) => {
            let message = "another page holds the database back; close the other tabs of this site";
            Err(StoreError::new("store.blocked", message))
        }
    }
}

fn no_factory(error: &Error) -> StoreError {
    match error {
        // Merely looking at it throws in a sandboxed frame.
        Error::IndexedDbNotFound(cause) if cause.is_instance_of::<js_sys::Error>() => thrown(cause),
        _ => StoreError::new("store.denied", "there is no IndexedDB here"),
    }
}

fn refusal(error: &Error) -> StoreError {
    match error {
        // Firefox answers so in a private window of old, and for a profile that it cannot write.
        Error::DomException(cause) if cause.name() == "InvalidStateError" => denied(),
        _ => failure(error),
    }
}

fn create(event: &VersionChangeEvent) -> Result<(), Error> {
    let db = event.database()?;
    let store = |name: &str, key: KeyPath| {
        let mut params = ObjectStoreParams::new();
        params.key_path(Some(key));
        db.create_object_store(name, params)
    };
    let single = KeyPath::new_single;
    store(Turn::STORE, single("turn"))?.create_index("expires", single("expires"), None)?;
    let mut unique = IndexParams::new();
    unique.unique(true);
    store(RecordRow::STORE, KeyPath::new_array(["turn", "n"]))?.create_index(
        "name",
        KeyPath::new_array(["turn", "name"]),
        Some(unique),
    )?;
    store(EventRow::STORE, KeyPath::new_array(["turn", "last"]))?;
    store(Reusable::STORE, single("key"))?.create_index("expires", single("expires"), None)?;
    Ok(())
}

/// Gives an upgrade up, so that no half of it stays; whoever opens is told.
fn abort(event: &VersionChangeEvent) {
    let upgrade = event.target().ok().and_then(|request| request.transaction());
    if let Some(upgrade) = upgrade {
        // It has ended by itself otherwise.
        let _ = upgrade.abort();
    }
}
